//! The sections that show runs frame by frame: pictures around the loss of the target, and the overlap over time.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::plot::color_of;
use super::styles;
use crate::bbox::BBox;
use crate::encode::page_jpeg;
use crate::eval::dataset::LabelledSequence;
use crate::eval::metrics::frame_errors;
use crate::eval::runner::Trace;
use crate::eval::{Evaluated, Evaluation, Protocol};
use crate::frame::Channels;
use crate::media::decode;
use crate::text::escape;

/// How many sequences are shown.
const STRIPS: usize = 6;
/// Largest size of a picture, in pixels.
const PICTURE: (usize, usize) = (320, 240);
const QUALITY: u8 = 80;

/// The worst sequences of `tracker`, at most six, as pictures: those where it covers the target less than half of the
/// time, lowest AUC first.
pub(super) fn failures(evaluation: &Evaluation, evaluated: &Evaluated, tracker: &str) -> String {
    let report = evaluated.report.trackers.iter().find(|t| t.name == tracker);
    let scores = report.into_iter().flat_map(|report| &report.sequences);
    let mut worst: Vec<_> = scores.filter(|(_, s)| s.overlap_rate_50 < 0.5).map(|(name, s)| (name, s.auc)).collect();
    worst.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(b.0)));
    let mut text = match worst.is_empty() {
        true => {
            let tracker = escape(tracker);
            format!("<p>{tracker} covers the target at least half of the time in each of its sequences.</p>\n")
        }
        false => format!(
            "<p>The sequences on which <b>{}</b> does worst.<span class=\"key t\"></span>label<span class=\"key \
             p\"></span>{0}</p>\n",
            escape(tracker)
        ),
    };
    for (name, auc) in worst.into_iter().take(STRIPS) {
        let sequence = evaluation.dataset.sequences.iter().find(|s| s.name == *name);
        let run = evaluated.traces.get(tracker).and_then(|runs| runs.get(name));
        text.extend(sequence.zip(run).and_then(|(sequence, run)| strip(evaluation, sequence, run, auc)));
    }
    text
}

/// The pictures of one run. `auc` is that of all runs of the protocol.
fn strip(evaluation: &Evaluation, sequence: &LabelledSequence, run: &Trace, auc: f64) -> Option<String> {
    // A run lasts to the end of the sequence, but may start behind its first frame.
    let from = run.start.frame;
    let (truth, files) = (sequence.truth.get(from..)?, sequence.frames.get(from..)?);
    let errors = frame_errors(truth, &run.boxes, evaluation.toolkit).ok()?;
    let lost = errors.iter().position(|error| error.labelled && (error.overlap <= 0.0 || error.overlap.is_nan()));
    let overlaps: Vec<f64> = errors.iter().map(|error| error.overlap).collect();
    let pictures = moments(&overlaps, lost).into_iter().filter_map(|(i, caption)| {
        let overlap = errors[i].labelled.then_some(overlaps[i]);
        let label = truth[i].filter(BBox::is_valid);
        Some(picture(files.get(i)?, from + i + 1, caption, label, errors[i].bbox, overlap))
    });
    let frames = sequence.frames.len();
    let lost = lost.map(|i| format!("target lost at frame {} of {frames}", from + i + 1));
    let auc = match evaluation.protocol {
        Protocol::Ope => format!("AUC {auc:.3}, "),
        Protocol::Tre | Protocol::Sre => format!("AUC of all runs {auc:.3}; first run: "),
    };
    Some(format!(
        "<div class=\"strip\"><h3>{} <span class=\"soft\">{auc}{}</span></h3>\n<div \
         class=\"frames\">\n{}</div></div>\n",
        escape(&sequence.name),
        lost.unwrap_or("never without any overlap".into()),
        pictures.collect::<String>()
    ))
}

/// A frame with the label and the box as it was scored. A frame that cannot be read is left empty.
fn picture(
    file: &Path,
    number: usize,
    caption: &str,
    label: Option<BBox>,
    predicted: BBox,
    overlap: Option<f64>,
) -> String {
    let frame = decode(file, Channels::Color).ok();
    let view = frame.as_ref().map(|f| f.as_frame());
    let (width, height) = view.map_or((4, 3), |v| (v.width(), v.height()));
    let image = view.and_then(|v| page_jpeg(&v, PICTURE, QUALITY, false)).map_or(String::new(), |jpeg| {
        let data = STANDARD.encode(jpeg);
        format!(
            "<image href=\"data:image/jpeg;base64,{data}\" width=\"{width}\" height=\"{height}\" \
             preserveAspectRatio=\"none\"/>"
        )
    });
    let rect = |class: &str, BBox { x, y, w, h }: BBox| {
        format!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"/>")
    };
    let shown = Some(predicted).filter(BBox::is_valid);
    let rects: String = [("truth", label), ("predicted", shown)]
        .into_iter()
        .filter_map(|(class, bbox)| Some(rect(class, bbox?)))
        .collect();
    let outside = predicted.intersection(&BBox::new(0.0, 0.0, width as f64, height as f64)) <= 0.0;
    let outside = if outside { ", box outside the frame" } else { "" };
    let overlap = overlap.map_or("no label".into(), |o| format!("overlap {o:.2}"));
    format!(
        "<figure><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"frame \
         {number}\">{image}{rects}</svg><figcaption>#{number} {caption}, {overlap}{outside}</figcaption></figure>\n"
    )
}

/// The frames to show: the start, the last frame with the target, the loss, half-way from there to the end, and the
/// end.
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
            // Without a loss, the frame with the smallest overlap replaces it.
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

/// Most points of a line. Of several frames the smallest overlap is drawn, so that a loss is seen.
const POINTS: usize = 400;
const HEIGHT: f64 = 100.0;

/// The plots of the first run of each tracker.
pub(super) fn overlaps(evaluation: &Evaluation, evaluated: &Evaluated) -> String {
    let report = &evaluated.report;
    let mut text = String::new();
    for facts in &report.sequences {
        let Some(sequence) = evaluation.dataset.sequences.iter().find(|s| s.name == facts.name) else { continue };
        let lines = report.trackers.iter().zip(styles(report)).filter_map(|(tracker, style)| {
            let run = evaluated.traces.get(&tracker.name)?.get(&sequence.name)?;
            let truth = sequence.truth.get(run.start.frame..)?;
            let errors = frame_errors(truth, &run.boxes, evaluation.toolkit).ok()?;
            let overlap: Vec<_> = errors.iter().map(|error| error.labelled.then_some(error.overlap)).collect();
            let path = path(&overlap, run.start.frame);
            let (color, name) = (color_of(style), escape(&tracker.name));
            Some(format!("<path d=\"{path}\" stroke=\"{color}\"><title>{name}</title></path>"))
        });
        let lines: String = lines.collect();
        let (name, frames) = (escape(&facts.name), facts.frames);
        text += &format!(
            "<figure class=\"overlap\"><figcaption><b>{name}</b> 1 to {frames}</figcaption><svg viewBox=\"0 0 {frames} \
             {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"overlap over time, {name}\"><path \
             class=\"half\" d=\"M0 50H{frames}\"/>{lines}</svg></figure>\n"
        );
    }
    text
}

/// The line of these overlaps, whose first is of frame `from`; it is broken where there is no label.
fn path(overlap: &[Option<f64>], from: usize) -> String {
    let step = overlap.len().div_ceil(POINTS).max(1);
    let (mut text, mut is_drawn) = (String::new(), false);
    for (i, some) in overlap.chunks(step).enumerate() {
        let least = some.iter().flatten().map(|o| if o.is_finite() { *o } else { 0.0 }).reduce(f64::min);
        if let Some(least) = least {
            let command = if is_drawn { 'L' } else { 'M' };
            text += &format!("{command}{} {:.0}", from + i * step, HEIGHT * (1.0 - least.clamp(0.0, 1.0)));
        }
        is_drawn = least.is_some();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Toolkit;
    use crate::eval::dataset::Dataset;
    use crate::eval::dataset::tests::{rows, write_sequence};
    use crate::eval::protocols::Start;
    use crate::media::decode_bytes;

    #[test]
    fn shows_the_frames_around_a_loss() {
        let mut overlap = vec![0.8; 50];
        overlap[30..].fill(0.0);
        overlap[29] = 0.2;
        let picked = moments(&overlap, Some(30));
        assert_eq!(picked, [(0, "start"), (28, "last good"), (30, "lost"), (39, "later"), (49, "end")]);
        assert_eq!(moments(&overlap[..1], None), [(0, "start")]);
        assert!(moments(&[], None).is_empty());
        assert_eq!(moments(&[1.0, 0.0], Some(1)), [(0, "start"), (1, "lost")]);
    }

    /// A sequence of six frames, and its folder, which is removed when dropped.
    fn of_six_frames(protocol: Protocol) -> (tempfile::TempDir, Evaluation) {
        let dir = tempfile::tempdir().unwrap();
        write_sequence(&dir.path().join("Toy"), "img", 6, "groundtruth_rect.txt", &rows(6));
        let dataset = Dataset::open(dir.path(), &[], None).unwrap();
        (dir, Evaluation { dataset, runners: vec![], results: vec![], baseline: None, protocol, toolkit: Toolkit::Otb })
    }

    #[test]
    fn pictures_show_the_boxes_that_were_scored() {
        let (_dir, evaluation) = of_six_frames(Protocol::Ope);
        let toy = &evaluation.dataset.sequences[0];
        let mut boxes: Vec<BBox> = toy.truth.iter().map(|label| label.unwrap()).collect();
        // The box before replaces an invalid one, and the label replaces the first.
        boxes[0] = boxes[0].translated(30.0, 0.0);
        boxes[5] = BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN);
        let boxes5 = boxes[4];
        let start = Start { frame: 0, init: boxes[0] };
        let text = strip(&evaluation, toy, &Trace::of_boxes(start, boxes), 0.5).unwrap();
        assert!(text.contains("AUC 0.500, never without any overlap"), "{text}");
        assert!(text.contains("#1 start, overlap 1.00"), "{text}");
        let overlap = boxes5.overlap(&toy.truth[5].unwrap());
        assert!(text.contains(&format!("#6 worst, overlap {overlap:.2}")), "{text}");
    }

    #[test]
    fn a_late_run_is_shown_on_its_own_frames() {
        let (_dir, evaluation) = of_six_frames(Protocol::Tre);
        let toy = &evaluation.dataset.sequences[0];
        // A run from the third frame on that loses the target in the fifth.
        let mut boxes: Vec<BBox> = toy.truth[2..].iter().map(|label| label.unwrap()).collect();
        boxes[2] = boxes[2].translated(30.0, 0.0);
        let start = Start { frame: 2, init: boxes[0] };
        let text = strip(&evaluation, toy, &Trace::of_boxes(start, boxes), 0.5).unwrap();
        assert!(text.contains("AUC of all runs 0.500; first run: target lost at frame 5 of 6"), "{text}");
        for shown in ["#3 start, overlap 1.00", "#4 last good, overlap 1.00", "#5 lost, overlap 0.00", "#6 end"] {
            assert!(text.contains(shown), "{shown} in {text}");
        }
        assert_eq!(text.matches("data:image/jpeg;base64,").count(), 4);
    }

    #[test]
    fn pictures_are_small_jpegs() {
        let pixels = vec![90u8; 800 * 600];
        let frame = crate::Frame::gray(&pixels, 800, 600).unwrap();
        let bytes = page_jpeg(&frame, PICTURE, QUALITY, false).unwrap();
        let picture = decode_bytes(&bytes, "small", Channels::Color).unwrap();
        assert_eq!((picture.as_frame().width(), picture.as_frame().height()), (320, 240));
    }

    #[test]
    fn a_line_breaks_without_a_label_and_keeps_losses() {
        assert_eq!(path(&[Some(1.0), Some(0.5), None, Some(f64::NAN)], 2), "M2 0L3 50M5 100");
        let mut long = vec![Some(1.0); 2 * POINTS];
        long[7] = Some(0.0);
        assert!(path(&long, 0).starts_with("M0 0L2 0L4 0L6 100L8 0"));
    }
}
