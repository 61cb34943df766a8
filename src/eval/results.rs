//! Other people's results: per-sequence text files in the layouts of OTB, GOT-10k and pysot, read and written.
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

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::dataset::LabelledSequence;
use super::names::{is_number, key};
use super::protocol::Start;
use super::rules::{InvalidPrediction, Rules};
use super::runner::Trace;
use super::store::{file_name, write_whole};
use crate::annotation::{Annotations, Base};
use crate::error::{Error, Result};
use crate::geometry::BBox;

/// Folders of folders are looked into so deep: `baseline/bag/bag_001.txt`.
const DEPTH: usize = 3;

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
    /// Rows in the file.
    pub rows: usize,
    /// Frames per second, the mean over the frames whose time was written.
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
        let what = match (rows.cmp(&frames), rules.invalid_prediction) {
            (Ordering::Equal, _) => return None,
            (Ordering::Greater, _) => "the last ones are left out",
            (Ordering::Less, InvalidPrediction::PreviousBox) => "the last box stands for those that are missing",
            (Ordering::Less, _) => "the frames without one count as misses",
        };
        Some(format!("{tracker}, {sequence}: {rows} rows for {frames} frames: {what}"))
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
    /// [`Error::Evaluation`] when there is no file or no box in it, [`Error::Io`] and [`Error::Annotation`] when it
    /// cannot be read.
    pub fn read(&self, sequence: &LabelledSequence) -> Result<ReadResult> {
        let wrong = |reason: String| Error::Evaluation { what: format!("results of {}", self.name), reason };
        let there = self.files.get(&key(&sequence.name)).map_or(&[][..], Vec::as_slice);
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
        let annotations = Annotations::parse(&without_codes(&text), path, sequence.base)?;
        let none = BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN);
        let mut boxes: Vec<BBox> = annotations.rows().iter().map(|row| row.base().to_bbox(row.numbers())).collect();
        if boxes.is_empty() {
            return Err(wrong(format!("{} is empty", path.display())));
        }
        let rows = boxes.len();
        boxes.resize(sequence.truth.len(), none);
        let by = |at: f64, label: f64| ((at - label).abs() - 1.0).abs() < 1e-9;
        let moved = boxes.first().zip(sequence.truth.first().copied().flatten()).is_some_and(|(first, label)| {
            let same_way = (first.x - label.x) * (first.y - label.y) > 0.0;
            same_way && by(first.x, label.x) && by(first.y, label.y) && (first.w, first.h) == (label.w, label.h)
        });
        Ok(ReadResult { boxes, rows, fps: self.fps(&sequence.name), moved })
    }

    /// As got10k counts: the mean of the frames' rates.
    fn fps(&self, sequence: &str) -> Option<f64> {
        let text = fs::read_to_string(self.seconds.get(&key(sequence))?).ok()?;
        let rates: Vec<f64> = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter_map(|word| word.parse::<f64>().ok())
            .filter(|&seconds| seconds > 0.0 && seconds.is_finite())
            .map(|seconds| 1.0 / seconds)
            .collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    }
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

/// VOT's files have a single number where a run is started (1), has failed (2) or waits to start again (0): rows
/// without a box.
fn without_codes(text: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(text) else { return text.to_vec() };
    let is_code =
        |line: &str| matches!(line.trim().trim_end_matches(['.', '0']), "" | "1" | "2") && !line.trim().is_empty();
    let lines: Vec<&str> = text.lines().map(|line| if is_code(line) { "NaN" } else { line }).collect();
    lines.join("\n").into_bytes()
}

/// What a tool calls a sequence with several targets in one folder.
fn with_separator(name: &str, separator: &str) -> String {
    match name.rsplit_once('-') {
        Some((folder, target)) if !folder.is_empty() && (target == "1" || target == "2") => {
            format!("{folder}{separator}{target}")
        }
        _ => name.to_owned(),
    }
}

/// Writes the run of `tracker` as other tools look for it below `folder`: for got10k
/// `got10k/OTB2015/<tracker>/<sequence>.txt` (with `times/`), to be given as `result_dir` to `ExperimentOTB`; for a
/// sequence that is not OTB's `got10k/GOT-10k/<tracker>/<sequence>/`; for pysot `pysot/<tracker>/<sequence>.txt`.
///
/// # Errors
/// [`Error::Io`] when a file cannot be written.
pub fn save(folder: &Path, tracker: &str, sequence: &LabelledSequence, trace: &Trace) -> Result<()> {
    let tracker = file_name(tracker);
    let text = |digits: Option<usize>| -> String {
        // No tracker knows a box better than to a ten-thousandth of a pixel.
        let short = |v: f64| ((v * 1e4).round() / 1e4).to_string();
        let number = |v: f64| digits.map_or_else(|| short(v), |digits| format!("{v:.digits$}"));
        let row = |b: &BBox| sequence.base.to_numbers(b).map(number).join(",") + "\n";
        trace.boxes.iter().map(row).collect()
    };
    let seconds: String = trace.micros.iter().map(|&m| format!("{:.8}\n", f64::from(m) / 1e6)).collect();
    let got10k = folder.join("got10k");
    let (rows, times) = if sequence.base == Base::One {
        let (name, home) = (file_name(&with_separator(&sequence.name, ".")), got10k.join("OTB2015").join(&tracker));
        (home.join(format!("{name}.txt")), home.join("times").join(format!("{name}_time.txt")))
    } else {
        let name = file_name(&sequence.name);
        let home = got10k.join("GOT-10k").join(&tracker).join(&name);
        (home.join(format!("{name}_001.txt")), home.join(format!("{name}_time.txt")))
    };
    // Three decimals are got10k's own form.
    write_whole(&rows, text(Some(3)).as_bytes())?;
    write_whole(&times, seconds.as_bytes())?;
    let pysot = folder.join("pysot").join(&tracker).join(format!("{}.txt", file_name(&sequence.name)));
    write_whole(&pysot, text(None).as_bytes())
}

/// Results as the trace of a one-pass run, to be scored like one.
pub fn as_trace(boxes: Vec<BBox>) -> Trace {
    let init = boxes.first().copied().unwrap_or_default();
    Trace { start: Start { frame: 0, init }, boxes, micros: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::metrics::score;
    use crate::eval::rules::Toolkit;

    fn sequence(name: &str, n: usize, base: Base) -> LabelledSequence {
        LabelledSequence {
            name: name.into(),
            frames: vec![PathBuf::from("x.jpg"); n],
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

    #[test]
    fn what_is_saved_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let jogging = sequence("Jogging-2", 2, Base::One);
        let boxes = vec![BBox::new(0.0, 1.0, 10.0, 12.0), BBox::new(1.25, 1.5, 10.0, 12.0)];
        let trace = Trace { micros: vec![2000, 4000], ..as_trace(boxes.clone()) };
        save(dir.path(), "paper", &jogging, &trace).unwrap();
        let home = dir.path().join("got10k/OTB2015/paper");
        assert_eq!(
            fs::read_to_string(home.join("Jogging.2.txt")).unwrap(),
            "1.000,2.000,10.000,12.000\n2.250,2.500,10.000,12.000\n"
        );
        assert_eq!(fs::read_to_string(home.join("times/Jogging.2_time.txt")).unwrap(), "0.00200000\n0.00400000\n");
        for folder in [home, dir.path().join("pysot/paper")] {
            assert_eq!(ResultFiles::open("us", &folder).unwrap().read(&jogging).unwrap().boxes, boxes);
        }
        let val = sequence("GOT-10k_Val_000001", 2, Base::Zero);
        save(dir.path(), "paper", &val, &trace).unwrap();
        let home = dir.path().join("got10k/GOT-10k/paper");
        assert_eq!(ResultFiles::open("us", &home).unwrap().read(&val).unwrap().boxes, boxes);
        assert_eq!(ResultFiles::open("us", &home).unwrap().read(&val).unwrap().fps, Some(375.0));
    }
}
