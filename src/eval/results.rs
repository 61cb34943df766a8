//! Other people's results: per-sequence text files in the layouts of OTB, GOT-10k and VOT.
//! [`saving`](super::saving) writes them.
//!
//! | layout | file of a sequence |
//! | --- | --- |
//! | OTB, LaSOT, `ExperimentOTB` | `Deer.txt`, `Jogging-1.txt` or `Jogging.1.txt` |
//! | GOT-10k | `GOT-10k_Val_000001/GOT-10k_Val_000001_001.txt` |
//! | VOT | `baseline/bag/bag_001.txt`, with lines of one number where a run is started or has failed |
//!
//! Separators are free, names are compared without case and without `.`, `_` and `-` before their number; a file that
//! bears the very name is the one. Numbers are in the base of the sequence's own truth file, as all these tools hand
//! its first row to the tracker as it stands; those of MOT are 1-based.
//!
//! Rows of MOT name their images and targets: of several, the one that overlaps the first label best is meant. Other
//! rows are those of the evaluated frames, or of all images: of a sequence that is evaluated from a later image on, the
//! first row or the one of that image is the label, which tells. So it is where images were taken out of a folder.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::dataset::LabelledSequence;
use super::metrics::Toolkit;
use super::names::{is_number, key, other_name_of};
use super::protocol::Start;
use super::rows;
use super::runner::Trace;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::row_of_each;

/// Folders of folders are looked into so deep: `baseline/bag/bag_001.txt`.
const DEPTH: usize = 3;

/// Overlap with the first label of a row that a tracker begins with: it is the label, but for rounding.
const BEGUN: f64 = 0.9;

/// The files of one tracker.
#[derive(Clone, Debug)]
pub struct ResultFiles {
    /// The tracker's name.
    pub name: String,
    folder: PathBuf,
    /// By [`key`]; those that have one in common are told apart by their whole names.
    files: BTreeMap<String, Vec<Named>>,
    seconds: BTreeMap<String, PathBuf>,
}

/// A file, and the name of the sequence that it is of.
#[derive(Clone, Debug)]
struct Named {
    sequence: String,
    path: PathBuf,
}

/// Boxes that were read, and what was odd about them.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadResult {
    /// One box for each frame of the sequence; a frame without one has numbers that are NaN.
    pub boxes: Vec<BBox>,
    /// Rows in the file, less those that are passed over.
    pub rows: usize,
    /// Rows that are passed over, as they are of images before the first evaluated one.
    pub passed_over: usize,
    /// Frames per second, over the frames whose time was written.
    pub fps: Option<f64>,
    /// Whether the first box is the label moved by a pixel in both directions: what is 1-based was taken for 0-based,
    /// or the other way round.
    pub moved: bool,
}

impl ReadResult {
    /// What a person should know: that there is not one row a frame, and what the toolkit then does.
    pub fn warning(&self, tracker: &str, sequence: &str, toolkit: Toolkit) -> Option<String> {
        if self.moved {
            return Some(format!(
                "{tracker}, {sequence}: the first box is the label moved by (1, 1): its numbers seem to be 1-based \
                 where the sequence's are 0-based, or the other way round"
            ));
        }
        let (rows, frames) = (self.rows, self.boxes.len());
        let before = match self.passed_over {
            0 => String::new(),
            n => format!(" from image {} on", n + 1),
        };
        let what = match (rows.cmp(&frames), toolkit) {
            (Ordering::Equal, _) => return None,
            (Ordering::Greater, _) => "the last ones are left out",
            (Ordering::Less, Toolkit::Otb) => "the last box stands for those that are missing",
            (Ordering::Less, _) => "the frames without one count as misses",
        };
        Some(format!("{tracker}, {sequence}: {rows} rows{before} for {frames} frames: {what}"))
    }
}

impl ResultFiles {
    /// Lists the files in `folder`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, [`Error::Evaluation`] when there is no text file in it.
    pub fn open(name: &str, folder: &Path) -> Result<Self> {
        let mut found = Vec::new();
        list(folder, DEPTH, &mut found).map_err(|e| Error::io(folder, e))?;
        found.sort();
        let (mut files, mut seconds) = (BTreeMap::<String, Vec<Named>>::new(), BTreeMap::new());
        for path in found {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(of) = stem.strip_suffix("_time") {
                seconds.entry(key(of)).or_insert(path);
                continue;
            }
            // `bag/bag_001.txt`: the first of several runs stands for the tracker.
            let of_folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
            let run = stem.strip_prefix(of_folder.as_str()).filter(|rest| is_run_number(rest)).is_some();
            let sequence = if run { of_folder } else { stem };
            let there = files.entry(key(&sequence)).or_default();
            let beside = |other: &Named| other.sequence == sequence && other.path.parent() == path.parent();
            if !run || !there.iter().any(beside) {
                there.push(Named { sequence, path });
            }
        }
        if files.is_empty() {
            return Err(Error::Evaluation {
                what: format!("results of {name} in {}", folder.display()),
                reason: "there is no result file <sequence>.txt in it".into(),
            });
        }
        Ok(Self { name: name.to_owned(), folder: folder.to_path_buf(), files, seconds })
    }

    /// Reads the boxes for a sequence.
    ///
    /// Rows beyond the last frame are left out, missing ones become boxes that are none: see [`ReadResult::warning`].
    ///
    /// # Errors
    /// [`Error::Evaluation`] when there is no file, no box in it, or none of several targets at the first label,
    /// [`Error::Io`] and [`Error::Annotation`] when it cannot be read.
    pub fn read(&self, sequence: &LabelledSequence) -> Result<ReadResult> {
        let wrong = |reason: String| Error::Evaluation { what: format!("results of {}", self.name), reason };
        let there = names(sequence).find_map(|name| self.files.get(&key(&name))).map_or(&[][..], Vec::as_slice);
        let exact: Vec<_> = there.iter().filter(|named| named.sequence == sequence.name).collect();
        let path = match if exact.is_empty() { there.iter().collect() } else { exact }[..] {
            [] => return Err(wrong(format!("there is no file for {} in {}", sequence.name, self.folder.display()))),
            [named] => &named.path,
            [one, other, ..] => {
                return Err(wrong(format!(
                    "{} and {} may both be of {}: give the folder of one tracker",
                    one.path.display(),
                    other.path.display(),
                    sequence.name
                )));
            }
        };
        let text = fs::read(path).map_err(|e| Error::io(path, e))?;
        let annotations = rows::parse(&text, path, sequence)?;
        let none = BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN);
        let mut boxes: Vec<BBox> = annotations.rows().iter().map(|row| row.base().to_bbox(row.numbers())).collect();
        if boxes.is_empty() {
            return Err(wrong(format!("{} is empty", path.display())));
        }
        // Of all images of a folder from which some were taken out, as its truth, unless they begin with the label.
        let begins = |first| {
            let at_once = agreement(&boxes, 0, sequence);
            first == 0 || at_once < BEGUN || agreement(&boxes, first, sequence) > at_once
        };
        if sequence.skipped == 0
            && let Some(of_each) = row_of_each(&sequence.frames, boxes.len(), annotations.last_frame())
            && of_each.first().is_some_and(|&first| begins(first))
        {
            boxes = of_each.iter().map(|&row| boxes.get(row).copied().unwrap_or(none)).collect();
        }
        let by_image = annotations.target().is_some() || begins_before(&boxes, sequence);
        let passed_over = if by_image { sequence.skipped } else { 0 };
        if boxes.len() <= passed_over {
            return Err(wrong(format!(
                "{} ends with image {}, and {} is evaluated from image {} on",
                path.display(),
                boxes.len(),
                sequence.name,
                passed_over + 1
            )));
        }
        boxes.drain(..passed_over);
        let rows = boxes.len();
        boxes.resize(sequence.truth.len(), none);
        let by = |at: f64, label: f64| ((at - label).abs() - 1.0).abs() < 1e-9;
        let moved = boxes.first().zip(sequence.truth.first().copied().flatten()).is_some_and(|(first, label)| {
            let same_way = (first.x - label.x) * (first.y - label.y) > 0.0;
            same_way && by(first.x, label.x) && by(first.y, label.y) && (first.w, first.h) == (label.w, label.h)
        });
        Ok(ReadResult { boxes, rows, passed_over, fps: self.fps(sequence), moved })
    }

    /// Frames by their time, as our own runs are counted. (got10k takes the mean of the frames' rates instead, in which
    /// a few quick frames hide many slow ones.)
    fn fps(&self, sequence: &LabelledSequence) -> Option<f64> {
        let text = fs::read_to_string(names(sequence).find_map(|name| self.seconds.get(&key(&name)))?).ok()?;
        let seconds: Vec<f64> = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter_map(|word| word.parse().ok())
            .filter(|&seconds: &f64| seconds > 0.0 && seconds.is_finite())
            .collect();
        (!seconds.is_empty()).then(|| seconds.len() as f64 / seconds.iter().sum::<f64>())
    }
}

/// Whether rows that name no images begin with the first image of the folder, and not with the first evaluated one. A
/// tracker begins with the label: published files of David have 770 rows, the first of which is that of image 300.
fn begins_before(boxes: &[BBox], sequence: &LabelledSequence) -> bool {
    sequence.skipped > 0
        && boxes.len() > sequence.truth.len()
        && agreement(boxes, sequence.skipped, sequence) > agreement(boxes, 0, sequence)
}

/// The overlap of a row with the first label.
fn agreement(boxes: &[BBox], row: usize, sequence: &LabelledSequence) -> f64 {
    let label = sequence.truth.first().copied().flatten();
    let row = boxes.get(row).filter(|row| row.is_valid());
    row.zip(label).map_or(0.0, |(row, label)| row.overlap(&label))
}

fn is_run_number(rest: &str) -> bool {
    rest.strip_prefix('_').is_some_and(is_number)
}

fn list(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if depth > 1 {
                list(&path, depth - 1, found)?;
            }
        } else if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("txt")) {
            found.push(path);
        }
    }
    Ok(())
}

/// What files of a sequence are called.
fn names(sequence: &LabelledSequence) -> impl Iterator<Item = String> {
    [Some(sequence.name.clone()), other_name_of(sequence)].into_iter().flatten()
}

/// Results as the trace of a one-pass run, to be scored like one.
pub fn as_trace(boxes: Vec<BBox>) -> Trace {
    let init = boxes.first().copied().unwrap_or_default();
    Trace { start: Start { frame: 0, init }, boxes, micros: Vec::new() }
}

#[cfg(test)]
pub(crate) mod tests;
