//! Starts of the runs of one sequence: one-pass, temporal and spatial robustness evaluation (Wu, Lim & Yang, CVPR
//! 2013).

use serde::{Deserialize, Serialize};

use super::metrics::counts_for_otb;
use crate::bbox::BBox;
use crate::error::{Error, Result};

/// Number of starts of the temporal robustness evaluation.
const TRE_SEGMENTS: usize = 20;
/// Minimum frames from the last start to the end, its own included.
const TRE_MIN_FRAMES: usize = 20;

/// Number and starts of a tracker's runs over a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Protocol {
    /// One-pass evaluation: one run, from the label of the first frame.
    #[default]
    Ope,
    /// Temporal robustness: 20 runs, from labels spread over the sequence to its end.
    Tre,
    /// Spatial robustness: 12 runs over the whole sequence, from the first label moved by 10 % of its size to four
    /// sides, enlarged by 10 % at each of its corners, and scaled by 0.8, 0.9, 1.1 and 1.2.
    Sre,
}

impl Protocol {
    /// The starts of this protocol for a sequence with the given labels (one per frame) and frames of `width` x
    /// `height` pixels. A disturbance of SRE that leaves nothing of the box on the image is left out.
    ///
    /// # Errors
    /// [`Error::Evaluation`] when the first frame has no usable label, or there is no start.
    pub fn starts(self, truth: &[Option<BBox>], width: usize, height: usize) -> Result<Vec<Start>> {
        let Some(first) = truth.first().copied().flatten().filter(BBox::is_valid) else {
            return Err(Error::evaluation(
                format!("protocol {self}"),
                "the first frame has no usable label to start from",
            ));
        };
        let starts: Vec<Start> = match self {
            Self::Ope => vec![Start { frame: 0, init: first }],
            Self::Tre => temporal(truth),
            Self::Sre => {
                let disturbed = Shift::all().map(|shift| shift.apply(&first, width, height));
                disturbed.filter(BBox::is_valid).map(|init| Start { frame: 0, init }).collect()
            }
        };
        if starts.is_empty() {
            let reason = match self {
                Self::Sre => format!("the label of the first frame, {first}, lies beside its {width}x{height} pixels"),
                _ => "no frame has a label to start from: all their numbers would have to be above 0".into(),
            };
            return Err(Error::evaluation(format!("protocol {self}"), reason));
        }
        Ok(starts)
    }
}

named! { Protocol, "protocol" }

/// One run of a protocol: the frame it starts from, and the box it starts with. It lasts to the end of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// 0-based frame of the sequence.
    pub frame: usize,
    /// The initial box, 0-based.
    pub init: BBox,
}

/// The starts of TRE. The usable frames are those with a usable label, up to the last one that leaves 20 frames. They
/// are cut into 19 equal parts; a run starts at the beginning of each part, rounded down, and at the last usable frame.
///
/// The OTB toolkit's `splitSeqTRE.m` does the same, but leaves out the frames of its lists of occluded frames
/// (`initOmit`; `USE_INIT_OMIT` in Python). The lists do not belong to the sequences, so they are ignored here. In
/// FaceOcc1, Girl and a few more, runs may therefore start on an occluded target, and scores are a little lower.
fn temporal(truth: &[Option<BBox>]) -> Vec<Start> {
    let usable: Vec<Start> = truth
        .iter()
        .enumerate()
        .filter_map(|(frame, label)| label.filter(counts_for_otb).map(|init| Start { frame, init }))
        .collect();
    let last = usable.iter().rposition(|s| truth.len() - s.frame >= TRE_MIN_FRAMES);
    // A sequence of less than 20 frames, for which the toolkit has no answer, is run once from its first frame.
    let Some(last) = last else { return usable.into_iter().take(1).collect() };
    let end = (last + 1) as f64;
    let step = end / (TRE_SEGMENTS - 1) as f64;
    let mut picked: Vec<usize> = (0..TRE_SEGMENTS - 1)
        .map(|i| 1.0 + i as f64 * step)
        .take_while(|&at| at <= end)
        .map(|at| at.floor() as usize - 1)
        .collect();
    picked.push(last);
    // Less than 20 usable frames cannot give 20 different starts.
    picked.dedup();
    picked.into_iter().map(|i| usable[i]).collect()
}

/// The twelve disturbances of SRE, after the OTB toolkit's `shiftInitBB.m`.
///
/// The toolkit's Python version changes the width instead of the row in its `down`; here the row changes, as it does in
/// MATLAB.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shift {
    /// Moved by 10 % of the size plus half a pixel, rounded: columns, rows.
    Move(f64, f64),
    /// The named corner moved out by 10 %, the opposite one kept: −1 left or top, 1 right or bottom.
    Corner(f64, f64),
    /// Scaled about its centre.
    Scale(f64),
}

impl Shift {
    fn all() -> impl Iterator<Item = Self> {
        let moves = [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)].map(|(right, down)| Self::Move(right, down));
        let corners =
            [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)].map(|(right, down)| Self::Corner(right, down));
        moves.into_iter().chain(corners).chain([0.8, 0.9, 1.1, 1.2].map(Self::Scale))
    }

    /// The disturbed box, kept on an image of the given size. Boxes are 0-based, the toolkit's arithmetic is 1-based.
    fn apply(self, init: &BBox, width: usize, height: usize) -> BBox {
        let BBox { x, y, w, h } = init.translated(1.0, 1.0);
        let (mut x, mut y, mut w, mut h) = match self {
            Self::Move(right, down) => (x + right * (0.1 * w + 0.5).round(), y + down * (0.1 * h + 0.5).round(), w, h),
            Self::Corner(right, down) => {
                let (x_end, y_end) = (x + w - 1.0, y + h - 1.0);
                let left = if right < 0.0 { (x - 0.1 * w).round() } else { x };
                let top = if down < 0.0 { (y - 0.1 * h).round() } else { y };
                let x_end = if right > 0.0 { (x_end + 0.1 * w).round() } else { x_end };
                let y_end = if down > 0.0 { (y_end + 0.1 * h).round() } else { y_end };
                (left, top, x_end - left + 1.0, y_end - top + 1.0)
            }
            Self::Scale(ratio) => {
                let (cx, cy) = (x + w / 2.0, y + h / 2.0);
                let (w, h) = (ratio * w, ratio * h);
                ((cx - w / 2.0).round(), (cy - h / 2.0).round(), w.round(), h.round())
            }
        };
        x = x.max(1.0);
        y = y.max(1.0);
        if x + w - 1.0 > width as f64 {
            w = width as f64 - x + 1.0;
        }
        if y + h - 1.0 > height as f64 {
            h = height as f64 - y + 1.0;
        }
        BBox::new(x - 1.0, y - 1.0, w, h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(n: usize) -> Vec<Option<BBox>> {
        (0..n).map(|i| Some(BBox::new(i as f64, 50.0, 40.0, 30.0))).collect()
    }

    #[test]
    fn one_pass_starts_at_the_first_label() {
        let starts = Protocol::Ope.starts(&truth(3), 640, 480).unwrap();
        assert_eq!(starts, [Start { frame: 0, init: BBox::new(0.0, 50.0, 40.0, 30.0) }]);
        assert!(Protocol::Ope.starts(&[None], 640, 480).is_err());
    }

    #[test]
    fn temporal_starts_are_twenty_and_leave_twenty_frames() {
        // 209 usable frames, of which 190 leave 20: floor(1, 11, 21, …, 181) and 190, 1-based.
        let starts: Vec<usize> = Protocol::Tre.starts(&truth(209), 640, 480).unwrap().iter().map(|s| s.frame).collect();
        let expected: Vec<usize> = (0..19).map(|i| i * 10).chain([189]).collect();
        assert_eq!(starts, expected);
    }

    #[test]
    fn temporal_starts_avoid_frames_without_a_label() {
        let mut labels = truth(100);
        labels[4] = None;
        labels[80] = Some(BBox::new(-1.0, 5.0, 10.0, 10.0));
        let starts = Protocol::Tre.starts(&labels, 640, 480).unwrap();
        assert_eq!(starts.len(), 20);
        assert_eq!(
            starts[1].frame, 5,
            "the second start, frame 5 in the toolkit's counting, moves on to the next label"
        );
        assert_eq!(starts[19].frame, 79);
        assert!(starts.windows(2).all(|w| w[0].frame < w[1].frame));
    }

    #[test]
    fn unusable_labels_are_an_error() {
        let beside = vec![Some(BBox::new(-3.0, 5.0, 10.0, 10.0)); 30];
        assert!(Protocol::Tre.starts(&beside, 640, 480).unwrap_err().to_string().contains("no frame has a label"));
    }

    #[test]
    fn short_sequences_have_fewer_starts() {
        assert_eq!(Protocol::Tre.starts(&truth(5), 640, 480).unwrap().len(), 1);
        let starts = Protocol::Tre.starts(&truth(22), 640, 480).unwrap();
        assert_eq!(starts.iter().map(|s| s.frame).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn the_twelve_disturbances() {
        // 1-based (101, 51, 40, 30), worked out by hand with the toolkit's formulas.
        let init = BBox::new(100.0, 50.0, 40.0, 30.0);
        let labels = vec![Some(init)];
        let shifted: Vec<[f64; 4]> = Protocol::Sre
            .starts(&labels, 640, 480)
            .unwrap()
            .iter()
            .map(|s| s.init.translated(1.0, 1.0).into())
            .collect();
        let expected = [
            [96.0, 51.0, 40.0, 30.0],
            [106.0, 51.0, 40.0, 30.0],
            [101.0, 47.0, 40.0, 30.0],
            [101.0, 55.0, 40.0, 30.0],
            [97.0, 48.0, 44.0, 33.0],
            [101.0, 48.0, 44.0, 33.0],
            [97.0, 51.0, 44.0, 33.0],
            [101.0, 51.0, 44.0, 33.0],
            [105.0, 54.0, 32.0, 24.0],
            [103.0, 53.0, 36.0, 27.0],
            [99.0, 50.0, 44.0, 33.0],
            [97.0, 48.0, 48.0, 36.0],
        ];
        assert_eq!(shifted, expected);
    }

    #[test]
    fn disturbed_boxes_stay_on_the_image() {
        let labels = vec![Some(BBox::new(0.0, 0.0, 40.0, 30.0))];
        let starts = Protocol::Sre.starts(&labels, 40, 30).unwrap();
        assert!(starts.iter().all(|s| s.init.x >= 0.0 && s.init.y >= 0.0));
        assert!(starts.iter().all(|s| s.init.x + s.init.w <= 40.0 && s.init.y + s.init.h <= 30.0));
        // One box reaches to the last column of the image.
        assert!(starts.iter().any(|s| s.init == BBox::new(5.0, 0.0, 35.0, 30.0)), "{starts:?}");
    }

    #[test]
    fn disturbed_boxes_that_leave_the_image_are_no_starts() {
        for (init, count) in
            [([635.0, 10.0, 20.0, 20.0], 12), ([638.0, 478.0, 2.0, 2.0], 12), ([639.5, 10.0, 1.0, 5.0], 9)]
        {
            let starts = Protocol::Sre.starts(&[Some(init.into())], 640, 480).unwrap();
            assert!(starts.iter().all(|start| start.init.is_valid()), "{starts:?}");
            assert_eq!(starts.len(), count, "{init:?}: {starts:?}");
        }
        let beside = [Some(BBox::new(700.0, 10.0, 20.0, 20.0))];
        let error = Protocol::Sre.starts(&beside, 640, 480).unwrap_err().to_string();
        assert!(error.contains("640x480"), "{error}");
    }
}
