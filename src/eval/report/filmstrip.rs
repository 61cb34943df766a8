//! Where a tracker failed: frames around the loss of the target, with the label and the tracker's box.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::DynamicImage;
use image::imageops::FilterType;

use crate::bbox::BBox;
use crate::eval::dataset::LabelledSequence;
use crate::eval::metrics::frame_errors;
use crate::eval::{Evaluated, Evaluation};
use crate::frame::{Frame, FrameBuf, PixelFormat};
use crate::jpeg;
use crate::media::{Channels, decode};

/// How many sequences are shown.
const STRIPS: usize = 6;
/// Largest size of a picture, in pixels.
const PICTURE: (u32, u32) = (320, 240);
const QUALITY: u8 = 80;

/// The pictures of one sequence.
pub struct Strip {
    /// The sequence.
    pub sequence: String,
    /// Its AUC, over all runs of the protocol; all else is of the first.
    pub auc: f64,
    /// First frame without any overlap, from 1; `None` when there is none.
    pub lost_at: Option<usize>,
    /// Number of frames.
    pub frames: usize,
    /// The pictures in order.
    pub pictures: Vec<Picture>,
}

/// One frame.
pub struct Picture {
    /// Its number in the sequence, from 1.
    pub number: usize,
    /// Why it is shown.
    pub caption: &'static str,
    /// Overlap of the two boxes; `None` in a frame without a usable label.
    pub overlap: Option<f64>,
    /// Size of the frame in pixels.
    pub size: (usize, usize),
    /// The label.
    pub truth: Option<BBox>,
    /// The tracker's box, as it was scored.
    pub predicted: BBox,
    /// The frame as JPEG in Base64; `None` when it cannot be read.
    pub jpeg: Option<String>,
}

/// The sequences on which `tracker` failed worst, at most six: lowest AUC first, of those where it covers the target
/// less than half of the time.
pub fn worst(evaluation: &Evaluation, evaluated: &Evaluated, tracker: &str) -> Vec<Strip> {
    let Some(report) = evaluated.report.trackers.iter().find(|t| t.name == tracker) else { return Vec::new() };
    let mut order: Vec<(&String, f64)> =
        report.sequences.iter().filter(|(_, s)| s.overlap_rate_50 < 0.5).map(|(name, s)| (name, s.auc)).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(b.0)));
    order
        .into_iter()
        .take(STRIPS)
        .filter_map(|(name, auc)| {
            let sequence = evaluation.dataset.sequences.iter().find(|s| s.name == *name)?;
            let boxes = evaluated.boxes.get(tracker)?.get(name)?;
            strip(evaluation, sequence, boxes, auc)
        })
        .collect()
}

fn strip(evaluation: &Evaluation, sequence: &LabelledSequence, boxes: &[BBox], auc: f64) -> Option<Strip> {
    // A run lasts to the end of the sequence, but may start behind its first frame.
    let from = sequence.truth.len().checked_sub(boxes.len())?;
    let (truth, files) = (&sequence.truth[from..], sequence.frames.get(from..)?);
    let errors = frame_errors(truth, boxes, evaluation.toolkit).ok()?;
    let lost = (0..errors.overlap.len())
        .find(|&i| errors.labelled[i] && (errors.overlap[i] <= 0.0 || errors.overlap[i].is_nan()));
    let pictures = moments(&errors.overlap, lost)
        .into_iter()
        .filter_map(|(i, caption)| {
            let frame = decode(files.get(i)?, Channels::Color).ok();
            let view = frame.as_ref().map(|f| f.as_frame());
            Some(Picture {
                number: from + i + 1,
                caption,
                overlap: errors.labelled[i].then_some(errors.overlap[i]),
                size: view.map_or((4, 3), |v| (v.width(), v.height())),
                truth: truth[i].filter(BBox::is_valid),
                predicted: errors.boxes[i],
                jpeg: view.and_then(|v| base64(&v)),
            })
        })
        .collect();
    Some(Strip {
        sequence: sequence.name.clone(),
        auc,
        lost_at: lost.map(|i| from + i + 1),
        frames: files.len() + from,
        pictures,
    })
}

/// Which frames tell the story: the start, the last good one, the loss, half-way on, the end.
fn moments(overlap: &[f64], lost: Option<usize>) -> Vec<(usize, &'static str)> {
    let Some(last) = overlap.len().checked_sub(1) else { return Vec::new() };
    let mut picked: Vec<(usize, &'static str)> = vec![(0, "start")];
    match lost {
        Some(lost) => {
            if let Some(good) = (1..lost).rev().find(|&i| overlap[i] > 0.5) {
                picked.push((good, "last good"));
            }
            picked.push((lost, "lost"));
            picked.push((lost + (last - lost) / 2, "later"));
        }
        None => {
            // It never left the target altogether: where it covers it worst, between quarters.
            let worst = (0..=last).filter(|&i| overlap[i] >= 0.0).min_by(|&a, &b| overlap[a].total_cmp(&overlap[b]));
            picked.extend([(last / 4, "later"), (last / 2, "later")]);
            picked.extend(worst.map(|i| (i, "worst")));
        }
    }
    picked.push((last, "end"));
    picked.sort_by_key(|p| p.0);
    picked.dedup_by_key(|p| p.0);
    picked
}

fn base64(frame: &Frame<'_>) -> Option<String> {
    let (width, height) = (u32::try_from(frame.width()).ok()?, u32::try_from(frame.height()).ok()?);
    let bytes: Vec<u8> = (0..frame.height()).flat_map(|y| frame.row(y)).copied().collect();
    let picture = match frame.format() {
        PixelFormat::Gray8 => DynamicImage::ImageLuma8(image::GrayImage::from_raw(width, height, bytes)?),
        PixelFormat::Rgb8 => DynamicImage::ImageRgb8(image::RgbImage::from_raw(width, height, bytes)?),
        _ => return None,
    };
    let small = if width > PICTURE.0 || height > PICTURE.1 {
        picture.resize(PICTURE.0, PICTURE.1, FilterType::Triangle)
    } else {
        picture
    };
    let small = FrameBuf::try_from(small).ok()?;
    Some(STANDARD.encode(jpeg::encode(&small.as_frame(), QUALITY, false)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::dataset::Dataset;
    use crate::eval::dataset::tests::{rows, write_sequence};
    use crate::eval::{Protocol, Toolkit};
    use crate::media::decode_bytes;

    #[test]
    fn the_story_of_a_loss() {
        let mut overlap = vec![0.8; 50];
        overlap[30..].fill(0.0);
        overlap[29] = 0.2;
        let picked = moments(&overlap, Some(30));
        assert_eq!(picked, [(0, "start"), (28, "last good"), (30, "lost"), (39, "later"), (49, "end")]);
        assert_eq!(moments(&overlap[..1], None), [(0, "start")]);
        assert!(moments(&[], None).is_empty());
        assert_eq!(moments(&[1.0, 0.0], Some(1)), [(0, "start"), (1, "lost")]);
    }

    /// Six frames of one sequence, in a folder that lasts as long as it does.
    fn of_six_frames(protocol: Protocol) -> (tempfile::TempDir, Evaluation) {
        let dir = tempfile::tempdir().unwrap();
        write_sequence(&dir.path().join("Toy"), "img", 6, "groundtruth_rect.txt", &rows(6));
        let dataset = Dataset::open(dir.path(), &[], None).unwrap();
        (dir, Evaluation { dataset, runners: vec![], results: vec![], protocol, toolkit: Toolkit::Otb })
    }

    #[test]
    fn pictures_show_the_boxes_that_were_scored() {
        let (_dir, evaluation) = of_six_frames(Protocol::Ope);
        let toy = &evaluation.dataset.sequences[0];
        let mut boxes: Vec<BBox> = toy.truth.iter().map(|label| label.unwrap()).collect();
        // The box before replaces an invalid one, and the label replaces the first.
        boxes[0] = boxes[0].translated(30.0, 0.0);
        boxes[5] = BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN);
        let strip = strip(&evaluation, toy, &boxes, 0.5).unwrap();
        for picture in &strip.pictures {
            let shown = picture.predicted.overlap(&picture.truth.unwrap());
            assert_eq!(picture.overlap, Some(shown), "{}", picture.number);
        }
        assert_eq!(strip.pictures.last().map(|p| (p.number, p.predicted)), Some((6, boxes[4])));
    }

    #[test]
    fn a_run_that_starts_late_is_beside_its_own_frames() {
        let (_dir, evaluation) = of_six_frames(Protocol::Tre);
        let toy = &evaluation.dataset.sequences[0];
        // From the third frame on, and lost in the fifth.
        let mut boxes: Vec<BBox> = toy.truth[2..].iter().map(|label| label.unwrap()).collect();
        boxes[2] = boxes[2].translated(30.0, 0.0);
        let strip = strip(&evaluation, toy, &boxes, 0.5).unwrap();
        assert_eq!((strip.lost_at, strip.frames), (Some(5), 6));
        let shown: Vec<_> = strip.pictures.iter().map(|p| (p.number, p.truth == toy.truth[p.number - 1])).collect();
        assert_eq!(shown, [(3, true), (4, true), (5, true), (6, true)]);
        assert!(strip.pictures.iter().all(|p| p.jpeg.is_some()));
    }

    #[test]
    fn pictures_are_small_jpegs() {
        let pixels = vec![90u8; 800 * 600];
        let text = base64(&Frame::gray(&pixels, 800, 600).unwrap()).unwrap();
        let bytes = STANDARD.decode(text).unwrap();
        let picture = decode_bytes(&bytes, "small", Channels::Color).unwrap();
        assert_eq!((picture.as_frame().width(), picture.as_frame().height()), (320, 240));
    }
}
