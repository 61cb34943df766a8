//! Other people's results: per-sequence text files in the layouts of OTB, GOT-10k and pysot.
//! [`saving`](super::saving) writes them.
//!
//! | layout | file of a sequence |
//! | --- | --- |
//! | OTB, LaSOT, pysot, `ExperimentOTB` | `Deer.txt`, `Jogging-1.txt` or `Jogging.1.txt` |
//! | GOT-10k | `GOT-10k_Val_000001/GOT-10k_Val_000001_001.txt` |
//! | pysot for VOT | `baseline/bag/bag_001.txt`, with lines of one number where a run is started or has failed |
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
use super::names::{is_number, key, name_of_pysot};
use super::protocol::Start;
use super::rows;
use super::rules::{InvalidPrediction, Rules};
use super::runner::Trace;
use crate::error::{Error, Result};
use crate::geometry::BBox;
use crate::source::row_of_each;

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
    /// What a person should know: that there is not one row a frame, and what a toolkit of these rules then does.
    pub fn warning(&self, tracker: &str, sequence: &str, rules: &Rules) -> Option<String> {
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
        let what = match (rows.cmp(&frames), rules.invalid_prediction) {
            (Ordering::Equal, _) => return None,
            (Ordering::Greater, _) => "the last ones are left out",
            (Ordering::Less, InvalidPrediction::PreviousBox) => "the last box stands for those that are missing",
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
    [Some(sequence.name.clone()), name_of_pysot(sequence)].into_iter().flatten()
}

/// Results as the trace of a one-pass run, to be scored like one.
pub fn as_trace(boxes: Vec<BBox>) -> Trace {
    let init = boxes.first().copied().unwrap_or_default();
    Trace { start: Start { frame: 0, init }, boxes, micros: Vec::new() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::annotation::Base;
    use crate::eval::metrics::score;
    use crate::eval::rules::Toolkit;

    pub(crate) fn sequence(name: &str, n: usize, base: Base) -> LabelledSequence {
        LabelledSequence {
            name: name.into(),
            frames: vec![PathBuf::from("x.jpg"); n],
            skipped: 0,
            truth: vec![Some(BBox::new(0.0, 1.0, 10.0, 12.0)); n],
            attributes: vec![],
            base,
        }
    }

    fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    /// Images 6 to 9 of a folder of nine, with a target that runs to the right.
    #[test]
    fn rows_of_images_that_are_left_out_are_passed_over() {
        let at = |x: usize| BBox::new(10.0 * x as f64, 1.0, 10.0, 12.0);
        let frames = (6..=9).map(|number| PathBuf::from(format!("{number:04}.jpg"))).collect();
        let truth = (6..=9).map(|x| Some(at(x))).collect();
        let sequence = LabelledSequence { frames, truth, ..sequence("run", 4, Base::Zero) };
        let rows =
            |of: std::ops::RangeInclusive<usize>| of.map(|x| format!("{},1,10,12\n", 10 * x)).collect::<String>();
        // One that is lost by now, and was near the place of the first label before.
        let lost = "55,1,10,12\n".repeat(5) + &"500,1,10,12\n".repeat(4);
        let dir = written(&[("run.txt", &lost)]);
        let read = ResultFiles::open("lost", dir.path()).unwrap().read(&sequence).unwrap();
        assert_eq!(read.boxes, [BBox::new(500.0, 1.0, 10.0, 12.0); 4]);
        let mot: String = (1..=9).map(|x| format!("{x},1,{},2,10,12,1,-1,-1,-1\n", 10 * x + 1)).collect();
        for (name, text) in [("all", rows(1..=9)), ("left", rows(6..=9)), ("from-them", rows(6..=14)), ("mot", mot)] {
            let dir = written(&[("run.txt", &text)]);
            let read = ResultFiles::open(name, dir.path()).unwrap().read(&sequence).unwrap();
            assert_eq!(read.boxes, [6, 7, 8, 9].map(at), "{name}");
        }
        // One from the middle: both ways begin with the same row.
        let kept = [6, 8, 9].map(|x| x - 5);
        let frames = kept.iter().map(|number| PathBuf::from(format!("{number:04}.jpg"))).collect();
        let truth = kept.iter().map(|&x| Some(at(x))).collect();
        let sequence = LabelledSequence { frames, truth, ..sequence };
        let dir = written(&[("run.txt", &rows(1..=4))]);
        assert_eq!(ResultFiles::open("gap", dir.path()).unwrap().read(&sequence).unwrap().boxes, kept.map(at));
    }

    #[test]
    fn rows_of_mot_are_one_based_for_any_sequence() {
        let sequence = sequence("car", 2, Base::Zero);
        let dir = written(&[("car.txt", "1,1,1,2,10,12,1,-1,-1,-1\n2,1,1,2,10,12,1,-1,-1,-1\n")]);
        let read = ResultFiles::open("t", dir.path()).unwrap().read(&sequence).unwrap();
        assert_eq!(read.boxes, [BBox::new(0.0, 1.0, 10.0, 12.0); 2]);
        assert!(!read.moved);
        // The same without the columns that tell: it is seen that something is wrong.
        let dir = written(&[("car.txt", "1,2,10,12\n1,2,10,12\n")]);
        let read = ResultFiles::open("t", dir.path()).unwrap().read(&sequence).unwrap();
        assert!(read.warning("t", "car", &Toolkit::Otb.rules()).unwrap().contains("moved by (1, 1)"));
    }

    #[test]
    fn rows_belong_to_the_images_that_they_are_of() {
        // Evaluated from the third image on, whose label is the box of `sequence`.
        let late = LabelledSequence { skipped: 2, ..sequence("late", 3, Base::Zero) };
        let plain = |xs: &[usize]| xs.iter().map(|x| format!("{x},1,10,12\n")).collect::<String>();
        let mot = |frames: &[usize]| {
            frames.iter().map(|frame| format!("{frame},1,{},2,10,12,1,-1,-1,-1\n", frame + 1)).collect::<String>()
        };
        let read = |text: &str| {
            let read = ResultFiles::open("t", written(&[("late.txt", text)]).path()).unwrap().read(&late);
            read.map(|read| (read.boxes.iter().map(|b| b.x).collect::<Vec<f64>>(), read.rows, read.passed_over))
        };
        for (text, xs, rows, passed_over) in [
            // A row an evaluated frame; more of them, of which the first is the label.
            (plain(&[0, 1, 2]), [0.0, 1.0, 2.0], 3, 0),
            (plain(&[0, 1, 2, 3, 4]), [0.0, 1.0, 2.0], 5, 0),
            // A row an image, with boxes before the first evaluated one and without.
            (plain(&[5, 4, 0, 1, 2]), [0.0, 1.0, 2.0], 3, 2),
            (format!("NaN,NaN,NaN,NaN\nNaN,NaN,NaN,NaN\n{}", plain(&[0, 1, 2])), [0.0, 1.0, 2.0], 3, 2),
            // These name their images.
            (mot(&[3, 4, 5]), [3.0, 4.0, 5.0], 3, 2),
            (mot(&[1, 2, 3, 4, 5]), [3.0, 4.0, 5.0], 3, 2),
        ] {
            assert_eq!(read(&text).unwrap(), (xs.to_vec(), rows, passed_over), "{text}");
        }
        let (boxes, rows, _) = read(&mot(&[3, 4])).unwrap();
        assert!(boxes[2].is_nan() && rows == 2);
        let error = read(&mot(&[1, 2])).unwrap_err().to_string();
        assert!(error.contains("ends with image 2, and late is evaluated from image 3 on"), "{error}");
    }

    #[test]
    fn the_very_name_wins_and_two_that_may_be_meant_are_named() {
        let dir = written(&[("car-1.txt", "0,1,10,12\n"), ("car_1.txt", "5,5,10,12\n")]);
        let files = ResultFiles::open("t", dir.path()).unwrap();
        let first = |name: &str| files.read(&sequence(name, 1, Base::Zero)).map(|read| read.boxes[0].x);
        assert_eq!((first("car-1").unwrap(), first("car_1").unwrap()), (0.0, 5.0));
        assert!(first("car.1").unwrap_err().to_string().contains("may both be of car.1"));
        // The folder of several trackers; several runs of one are one.
        let dir = written(&[("a/car.txt", "0,1,10,12\n"), ("b/car.txt", "5,5,10,12\n")]);
        let several = ResultFiles::open("t", dir.path()).unwrap().read(&sequence("car", 1, Base::Zero));
        assert!(several.unwrap_err().to_string().contains("give the folder of one tracker"));
        let dir = written(&[("car/car_001.txt", "0,1,10,12\n"), ("car/car_002.txt", "5,5,10,12\n")]);
        assert_eq!(ResultFiles::open("t", dir.path()).unwrap().read(&sequence("car", 1, Base::Zero)).unwrap().rows, 1);
    }

    #[test]
    fn every_layout_and_separator_is_read() {
        for (path, text) in [
            ("Jogging-2.txt", "1,2,10,12\n2,2,10,12\n"),
            ("Jogging.2.txt", "1\t2\t10\t12\r\n2\t2\t10\t12\r\n"),
            ("jogging_2.txt", "1 2 10 12\n2 2 10 12"),
            ("Jogging-2/Jogging-2_001.txt", "1.0000,2.0000,10.0000,12.0000\n2,2,10,12\n"),
            ("baseline/Jogging-2/Jogging-2_001.txt", "1\n2,2,10,12\n"),
        ] {
            let dir = written(&[(path, text), ("times/Jogging-2_time.txt", "0.5\n0.5")]);
            let read =
                ResultFiles::open("other", dir.path()).unwrap().read(&sequence("Jogging-2", 2, Base::One)).unwrap();
            assert_eq!(read.boxes[1], BBox::new(1.0, 1.0, 10.0, 12.0), "{path}");
            assert_eq!((read.rows, read.fps), (2, Some(2.0)), "{path}");
        }
    }

    #[test]
    fn human4_is_read_under_the_names_of_each_tool() {
        let human = sequence("Human4", 2, Base::One);
        for file in ["Human4.txt", "Human4-2.txt", "human4_2.txt", "Human4.2.txt"] {
            let dir = written(&[(file, "1,2,10,12\n1,2,10,12\n"), ("times/Human4_time.txt", "0.5\n0.5")]);
            let read = ResultFiles::open("t", dir.path()).unwrap().read(&human).unwrap();
            assert_eq!((read.rows, read.fps), (2, Some(2.0)), "{file}");
        }
        // Other benchmarks may number what they like.
        let dir = written(&[("Human4-2.txt", "1,2,10,12\n")]);
        let files = ResultFiles::open("t", dir.path()).unwrap();
        assert!(files.read(&sequence("Human4", 1, Base::Zero)).is_err());
        assert!(files.read(&sequence("Human3", 1, Base::One)).is_err());
    }

    #[test]
    fn other_lengths_are_scored_with_a_warning() {
        let dir = written(&[("Deer.txt", "1,2,10,12\n1,2,10,12\n1,2,10,12\n"), ("Toy.txt", "1,2,10,12\n")]);
        let files = ResultFiles::open("other", dir.path()).unwrap();
        let longer = files.read(&sequence("Deer", 2, Base::One)).unwrap();
        assert_eq!(longer.boxes.len(), 2);
        let said = |read: &ReadResult, toolkit: Toolkit| read.warning("other", "Deer", &toolkit.rules()).unwrap();
        assert!(said(&longer, Toolkit::Otb).contains("3 rows for 2 frames: the last ones are left out"));
        let shorter = files.read(&sequence("Toy", 3, Base::One)).unwrap();
        assert_eq!(shorter.boxes.len(), 3);
        assert!(shorter.boxes[1].x.is_nan() && said(&shorter, Toolkit::Otb).contains("1 rows for 3"));
    }

    #[test]
    fn a_file_that_is_too_short_is_warned_about_in_words_of_what_the_toolkit_does() {
        let dir = written(&[("Toy.txt", "1,2,10,12\n")]);
        let toy = sequence("Toy", 3, Base::One);
        let read = ResultFiles::open("other", dir.path()).unwrap().read(&toy).unwrap();
        for toolkit in Toolkit::ALL {
            let said = read.warning("other", "Toy", &toolkit.rules()).unwrap();
            // The one box is the label, so what stands in for the others decides.
            let success = score(&toy.truth, &read.boxes, toolkit).unwrap().success[10];
            let repeated = said.contains("the last box stands for those that are missing");
            assert_eq!(
                (repeated, said.contains("count as misses")),
                (success == 1.0, success < 0.5),
                "{toolkit}: {said}"
            );
        }
    }

    #[test]
    fn unreadable_results_are_said() {
        let dir = written(&[("Deer.txt", ""), ("Toy.txt", "1,2,three,4"), ("nan.txt", "1,2,10,12\nNaN,NaN,NaN,NaN\n")]);
        let files = ResultFiles::open("other", dir.path()).unwrap();
        assert!(files.read(&sequence("Deer", 2, Base::One)).unwrap_err().to_string().contains("empty"));
        assert!(files.read(&sequence("Toy", 2, Base::One)).unwrap_err().to_string().contains("line 1"));
        assert!(files.read(&sequence("Girl", 2, Base::One)).unwrap_err().to_string().contains("no file for Girl"));
        assert!(files.read(&sequence("nan", 2, Base::One)).unwrap().boxes[1].x.is_nan());
        assert!(ResultFiles::open("none", tempfile::tempdir().unwrap().path()).is_err());
        assert!(ResultFiles::open("none", Path::new("/nowhere")).is_err());
    }
}
