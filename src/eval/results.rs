//! Result files: boxes that other trackers publish, and ours for other tools.
//!
//! | layout | file of a sequence |
//! | --- | --- |
//! | OTB, LaSOT, `ExperimentOTB` | `Deer.txt`, `Jogging-1.txt` or `Jogging.1.txt` |
//! | GOT-10k | `GOT-10k_Val_000001/GOT-10k_Val_000001_001.txt` |
//!
//! Any separator is read. Names match in any case, and with `.`, `_` or `-` before their number; an exact name wins.
//! Numbers have the base of the sequence's truth file; those of MOT are 1-based.
//!
//! Rows of MOT name their images; the file has one target. Other rows belong to the evaluated frames, or to all images of
//! the folder: the row that agrees with the first label tells which.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::dataset::{LabelledSequence, is_number, key};
use super::metrics::{NO_BOX, Toolkit};
use super::protocols::Start;
use super::runner::Trace;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::annotation::{Annotations, text_files};

/// Levels of folders below a results folder that are searched for files.
const LEVELS: usize = 2;

/// The result files of one tracker.
#[derive(Clone, Debug)]
pub struct ResultFiles {
    /// The tracker's name.
    pub name: String,
    /// Whether a file with fewer rows than frames is scored.
    allow_short: bool,
    folder: PathBuf,
    /// Sequence name and file, by [`key`].
    files: BTreeMap<String, Vec<(String, PathBuf)>>,
}

impl ResultFiles {
    /// Lists the files in `folder`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, [`Error::Evaluation`] when it has no text file.
    pub fn open(name: &str, folder: &Path) -> Result<Self> {
        let found = text_files(folder, LEVELS).map_err(|e| Error::io(folder, e))?;
        let mut files = BTreeMap::<String, Vec<(String, PathBuf)>>::new();
        for path in found {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // Other tools write the times of the frames beside the boxes.
            if stem.ends_with("_time") {
                continue;
            }
            // `bag/bag_001.txt`: the first of several runs is used.
            let parent = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
            let run = stem.strip_prefix(parent.as_str()).and_then(|rest| rest.strip_prefix('_')).is_some_and(is_number);
            let sequence = if run { parent } else { stem };
            let known = files.entry(key(&sequence)).or_default();
            if !run || !known.iter().any(|(name, other)| *name == sequence && other.parent() == path.parent()) {
                known.push((sequence, path));
            }
        }
        if files.is_empty() {
            return Err(Error::evaluation(
                format!("results of {name} in {}", folder.display()),
                "there is no file <sequence>.txt",
            ));
        }
        Ok(Self { name: name.to_owned(), allow_short: false, folder: folder.to_path_buf(), files })
    }

    /// Sets whether files with fewer rows than frames are scored.
    pub fn allowing_short(self, allow: bool) -> Self {
        Self { allow_short: allow, ..self }
    }

    /// Reads the run of a sequence. Rows beyond the last frame are ignored, and missing rows become NaN where they are
    /// allowed; a warning says so.
    ///
    /// # Errors
    /// [`Error::Evaluation`] when there is no file, no box, or too few of them for the sequence, [`Error::Io`] and [`Error::Annotation`]
    /// when the file cannot be read.
    pub(super) fn read(&self, sequence: &LabelledSequence, toolkit: Toolkit) -> Result<(Trace, Option<String>)> {
        let wrong = |reason: String| Error::evaluation(format!("results of {}", self.name), reason);
        let known = sequence.file_names().find_map(|name| self.files.get(&key(&name))).map_or(&[][..], Vec::as_slice);
        let exact: Vec<_> = known.iter().filter(|(name, _)| *name == sequence.name).collect();
        let path = match if exact.is_empty() { known.iter().collect() } else { exact }[..] {
            [] => return Err(wrong(format!("there is no file for {} in {}", sequence.name, self.folder.display()))),
            [(_, path)] => path,
            [(_, one), (_, other), ..] => {
                let (one, other) = (one.display(), other.display());
                let name = &sequence.name;
                return Err(wrong(format!("{one} and {other} both match {name}: give the folder of one tracker")));
            }
        };
        let text = crate::pipe::read(path).map_err(|e| Error::io(path, e))?;
        let annotations = Annotations::parse(&text, path, sequence.base)?;
        if annotations.targets().len() > 1 {
            return Err(wrong(format!("{} has several targets: give a file of one", path.display())));
        }
        let mut boxes: Vec<BBox> = annotations.rows().iter().map(|row| row.base().to_bbox(row.numbers())).collect();
        if boxes.is_empty() {
            return Err(wrong(format!("{} is empty", path.display())));
        }
        // Published files of David have 770 rows, the first of which is that of image 300.
        let by_image = annotations.target().is_some()
            || sequence.skipped > 0
                && boxes.len() > sequence.truth.len()
                && agreement(&boxes, sequence.skipped, sequence) > agreement(&boxes, 0, sequence);
        let skipped = if by_image { sequence.skipped } else { 0 };
        if boxes.len() <= skipped {
            let (path, last, name) = (path.display(), boxes.len(), &sequence.name);
            return Err(wrong(format!("{path} ends with image {last}, but {name} begins with image {}", skipped + 1)));
        }
        boxes.drain(..skipped);
        let (rows, frames) = (boxes.len(), sequence.truth.len());
        let from = if skipped == 0 { String::new() } else { format!(" from image {} on", skipped + 1) };
        let lengths = format!("{rows} rows{from} for {frames} frames");
        let refused = |what: &str| Err(wrong(format!("{} has {lengths}{what}", path.display())));
        // Rows of MOT say their frames.
        if rows != frames && annotations.target().is_none() && !begins_with_label(&boxes, sequence) {
            return refused(", and its first row is not for certain that of the first frame");
        }
        if rows < frames && !self.allow_short {
            return refused(": --allow-short takes the last ones for missing");
        }
        boxes.resize(sequence.truth.len(), NO_BOX);
        let lengths = |what: &str| Some(format!("{lengths}: {what}"));
        let warning = match (rows.cmp(&frames), toolkit) {
            _ if is_moved_by_one(boxes[0], sequence) => {
                Some("the first box is the label moved by (1, 1): one of them is 1-based, the other 0-based".into())
            }
            (Ordering::Equal, _) => None,
            (Ordering::Greater, _) => lengths("the last rows are ignored"),
            (Ordering::Less, Toolkit::Otb) => lengths("the last box is repeated"),
            (Ordering::Less, Toolkit::Got10k) => lengths("frames without a box are misses"),
        };
        let start = Start { frame: 0, init: boxes[0] };
        let warning = warning.map(|warning| format!("{}, {}: {warning}", self.name, sequence.name));
        Ok((Trace::of_boxes(start, boxes), warning))
    }
}

/// Whether the first row is the box that a tracker was given, and is not written twice.
fn begins_with_label(boxes: &[BBox], sequence: &LabelledSequence) -> bool {
    let is_twice = boxes.len() == sequence.truth.len() + 1 && boxes[0] == boxes[1];
    !is_twice && (agreement(boxes, 0, sequence) > 0.95 || is_moved_by_one(boxes[0], sequence))
}

/// Whether a box is the first label moved by one pixel in both directions.
fn is_moved_by_one(first: BBox, sequence: &LabelledSequence) -> bool {
    let by_one = |a: f64, b: f64| (a - b - 1.0).abs() < 1e-9;
    let moved = |a: BBox, b: BBox| by_one(a.x, b.x) && by_one(a.y, b.y) && (a.w, a.h) == (b.w, b.h);
    sequence.truth.first().copied().flatten().is_some_and(|label| moved(first, label) || moved(label, first))
}

/// The overlap of a row with the first label.
fn agreement(boxes: &[BBox], row: usize, sequence: &LabelledSequence) -> f64 {
    let label = sequence.truth.first().copied().flatten();
    let row = boxes.get(row).filter(|row| row.is_valid());
    row.zip(label).map_or(0.0, |(row, label)| row.overlap(&label))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;
    use crate::media::annotation::Base;

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

    fn read(files: &[(&str, &str)], sequence: &LabelledSequence) -> Result<(Trace, Option<String>)> {
        ResultFiles::open("t", written(files).path()).unwrap().read(sequence, Toolkit::Otb)
    }

    #[test]
    fn reads_every_layout_and_separator() {
        for (path, text) in [
            ("Jogging-2.txt", "1,2,10,12\n2,2,10,12\n"),
            ("Jogging.2.txt", "1\t2\t10\t12\r\n2\t2\t10\t12\r\n"),
            ("jogging_2.txt", "1 2 10 12\n2 2 10 12"),
            ("Jogging-2/Jogging-2_001.txt", "1.0000,2.0000,10.0000,12.0000\n2,2,10,12\n"),
        ] {
            let files = [(path, text), ("times/Jogging-2_time.txt", "0.5\n0.5")];
            let (run, warning) = read(&files, &sequence("Jogging-2", 2, Base::One)).unwrap();
            assert_eq!(run.boxes[1], BBox::new(1.0, 1.0, 10.0, 12.0), "{path}");
            assert_eq!((run.micros, warning), (Vec::new(), None), "{path}");
        }
        for file in ["Human4.txt", "Human4-2.txt"] {
            assert!(read(&[(file, "1,2,10,12\n")], &sequence("Human4", 1, Base::One)).is_ok(), "{file}");
        }
    }

    #[test]
    fn rows_of_mot_are_one_based_and_of_one_target() {
        let rows = |target: usize, x: usize, images: &[usize]| {
            images.iter().map(|image| format!("{image},{target},{x},2,10,12,1,-1,-1,-1\n")).collect::<String>()
        };
        let car = sequence("car", 2, Base::Zero);
        let (run, warning) = read(&[("car.txt", &rows(1, 1, &[1, 2]))], &car).unwrap();
        assert_eq!((&run.boxes[..], warning), (&[BBox::new(0.0, 1.0, 10.0, 12.0); 2][..], None));
        let error = read(&[("car.txt", &(rows(3, 60, &[1, 2]) + &rows(5, 90, &[1, 2])))], &car).unwrap_err();
        assert!(error.to_string().contains("several targets"), "{error}");
        // Plain rows in the wrong base get a warning.
        let (_, warning) = read(&[("car.txt", "1,2,10,12\n1,2,10,12\n")], &car).unwrap();
        assert!(warning.unwrap().contains("t, car: the first box is the label moved by (1, 1)"));
    }

    #[test]
    fn assigns_rows_to_the_evaluated_frames() {
        // Evaluated from the third image on.
        let late = LabelledSequence { skipped: 2, ..sequence("late", 3, Base::Zero) };
        let plain = |xs: &[usize]| xs.iter().map(|x| format!("{x},1,10,12\n")).collect::<String>();
        let mot = |frames: &[usize]| {
            frames.iter().map(|frame| format!("{frame},1,{},2,10,12,1,-1,-1,-1\n", frame + 1)).collect::<String>()
        };
        for (text, xs, expected) in [
            // A row per evaluated frame, then with rows beyond the last.
            (plain(&[0, 1, 2]), [0.0, 1.0, 2.0], None),
            (plain(&[0, 1, 2, 3, 4]), [0.0, 1.0, 2.0], Some("5 rows for 3 frames")),
            // A row per image, with and without boxes before the first evaluated one.
            (plain(&[5, 4, 0, 1, 2]), [0.0, 1.0, 2.0], None),
            (format!("NaN,NaN,NaN,NaN\nNaN,NaN,NaN,NaN\n{}", plain(&[0, 1, 2])), [0.0, 1.0, 2.0], None),
            // Rows that name their images.
            (mot(&[3, 4, 5]), [3.0, 4.0, 5.0], None),
            (mot(&[1, 2, 3, 4, 5, 6]), [3.0, 4.0, 5.0], Some("4 rows from image 3 on for 3 frames")),
        ] {
            let (run, warning) = read(&[("late.txt", &text)], &late).unwrap();
            assert_eq!(run.boxes.iter().map(|b| b.x).collect::<Vec<f64>>(), xs, "{text}");
            match expected {
                Some(expected) => assert!(warning.unwrap().contains(expected)),
                None => assert_eq!(warning, None),
            }
        }
        let error = read(&[("late.txt", &mot(&[1, 2]))], &late).unwrap_err().to_string();
        assert!(error.contains("ends with image 2, but late begins with image 3"), "{error}");
    }

    #[test]
    fn an_exact_name_wins_and_ambiguous_files_are_refused() {
        let dir = written(&[("car-1.txt", "0,1,10,12\n"), ("car_1.txt", "5,5,10,12\n")]);
        let files = ResultFiles::open("t", dir.path()).unwrap();
        let first =
            |name: &str| files.read(&sequence(name, 1, Base::Zero), Toolkit::Otb).map(|(run, _)| run.boxes[0].x);
        assert_eq!((first("car-1").unwrap(), first("car_1").unwrap()), (0.0, 5.0));
        assert!(first("car.1").unwrap_err().to_string().contains("both match car.1"));
        let runs = [("car/car_001.txt", "0,1,10,12\n"), ("car/car_002.txt", "5,5,10,12\n")];
        assert_eq!(read(&runs, &sequence("car", 1, Base::Zero)).unwrap().0.boxes[0].x, 0.0);
    }

    #[test]
    fn warns_of_other_lengths_by_the_rules_of_the_toolkit() {
        let toy = sequence("Toy", 2, Base::One);
        let files = |dir: &tempfile::TempDir| ResultFiles::open("t", dir.path()).unwrap();
        let warning = |text: &str, toolkit| {
            let dir = written(&[("Toy.txt", text)]);
            files(&dir).allowing_short(true).read(&toy, toolkit).unwrap().1
        };
        let row = "1,2,10,12\n";
        assert_eq!(warning(&row.repeat(2), Toolkit::Otb), None);
        let more = format!("{row}2,2,10,12\n3,2,10,12\n");
        assert!(warning(&more, Toolkit::Otb).unwrap().contains("3 rows for 2 frames: the last rows are"));
        assert!(warning(row, Toolkit::Otb).unwrap().contains("the last box is repeated"));
        assert!(warning(row, Toolkit::Got10k).unwrap().contains("frames without a box are misses"));
        let error = read(&[("Toy.txt", row)], &toy).unwrap_err().to_string();
        assert!(error.contains("1 rows for 2 frames") && error.contains("--allow-short"), "{error}");
        // The first box written twice, and none for the first frame.
        for text in [format!("{row}{row}2,2,10,12\n"), "4,2,10,12\n".into()] {
            let error = read(&[("Toy.txt", &text)], &toy).unwrap_err().to_string();
            assert!(error.contains("its first row is not for certain"), "{error}");
        }
    }

    #[test]
    fn names_unreadable_results() {
        for (text, expected) in [("", "empty"), ("1,2,three,4", "line 1")] {
            let error = read(&[("Toy.txt", text)], &sequence("Toy", 2, Base::One)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = read(&[("Toy.txt", "1,2,3,4")], &sequence("Girl", 2, Base::One)).unwrap_err().to_string();
        assert!(error.contains("no file for Girl"), "{error}");
        assert!(ResultFiles::open("none", tempfile::tempdir().unwrap().path()).is_err());
        assert!(ResultFiles::open("none", Path::new("/nowhere")).is_err());
    }
}
