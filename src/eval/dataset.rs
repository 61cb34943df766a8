//! The labelled sequences of a benchmark's folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::names::is_called;
use super::summary::LeftOut;
use crate::annotation::{Base, Row};
use crate::error::{Error, Result};
use crate::geometry::BBox;
use crate::source::{Sequence, SequenceOptions, Truth, layout, otb};
use crate::tracker::is_too_small;

/// A sequence to be evaluated: its frames and a label for each.
#[derive(Clone, Debug)]
pub struct LabelledSequence {
    /// Its name; the target's number is part of it where a folder has several: `Jogging-2`.
    pub name: String,
    /// The frames that count, in order.
    pub frames: Vec<PathBuf>,
    /// The label of each frame, 0-based, as it stands in the file: it may be of no size. `None` where there is no
    /// number.
    pub truth: Vec<Option<BBox>>,
    /// Its attributes, abbreviated.
    pub attributes: Vec<String>,
    /// The base of the truth file, which results for the sequence share.
    pub base: Base,
}

/// What a folder gave.
#[derive(Debug, Default)]
pub struct Dataset {
    /// The sequences, by name.
    pub sequences: Vec<LabelledSequence>,
    /// Those that were left out, and why.
    pub left_out: Vec<LeftOut>,
    /// What a person should know about those that are there.
    pub warnings: Vec<String>,
}

impl Dataset {
    /// Finds the sequences in `folder`: OTB, VOT, GOT-10k, or any folders with images and a truth file. The folder may
    /// be a sequence itself.
    ///
    /// With `wanted`, only the sequences of these names (in any case; `Jogging` stands for both of its targets, and
    /// `Jogging.2` for `Jogging-2`). One of OTB's 100 that is not in the folder is left out.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be read, [`Error::Sequence`] when there is no sequence in it,
    /// [`Error::Parameter`] for a wanted name that is neither there nor in OTB.
    pub fn open(folder: &Path, wanted: &[String]) -> Result<Self> {
        let found = layout::sequences(folder)?;
        let mut dataset = Self::default();
        let mut seen: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut matched = vec![false; wanted.len()];
        let mut names = Vec::new();
        for (path, error) in found.unread.into_iter().filter(|_| wanted.is_empty()) {
            let sequence = layout::folder_name(&path);
            dataset.left_out.push(LeftOut { sequence, tracker: None, reason: error.to_string() });
        }
        for folder in found.sequences {
            for (name, target) in layout::targets(&folder) {
                names.push(name.clone());
                let hits: Vec<usize> = (0..wanted.len()).filter(|&i| is_called(&name, &wanted[i])).collect();
                hits.iter().for_each(|&i| matched[i] = true);
                if hits.is_empty() && !wanted.is_empty() {
                    continue;
                }
                if let Some(first) = seen.get(&name) {
                    let reason = format!(
                        "two sequences have this name: {} is used, {} is not",
                        first.display(),
                        folder.display()
                    );
                    dataset.left_out.push(LeftOut { sequence: name, tracker: None, reason });
                    continue;
                }
                seen.insert(name.clone(), folder.clone());
                match open_one(&folder, &name, target, &mut dataset.warnings) {
                    Ok(sequence) => dataset.sequences.push(sequence),
                    Err(error) => {
                        dataset.left_out.push(LeftOut { sequence: name, tracker: None, reason: error.to_string() })
                    }
                }
            }
        }
        if names.is_empty() {
            return Err(Error::Sequence {
                path: folder.to_path_buf(),
                reason:
                    "no sequence here: folders with images (in img/, color/ or directly) and a truth file are needed"
                        .into(),
            });
        }
        for (name, _) in wanted.iter().zip(matched).filter(|(_, matched)| !matched) {
            if !otb::all().iter().any(|s| is_called(&s.result_name(), name)) {
                names.sort();
                return Err(Error::Parameter {
                    name: "sequences",
                    value: name.clone(),
                    expected: format!(
                        "there is no such sequence in {}; there are {}",
                        folder.display(),
                        names.join(", ")
                    ),
                });
            }
            let reason = format!("it is not in {}", folder.display());
            dataset.left_out.push(LeftOut { sequence: name.clone(), tracker: None, reason });
        }
        dataset.sequences.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(dataset)
    }
}

fn open_one(folder: &Path, name: &str, target: Option<u32>, warnings: &mut Vec<String>) -> Result<LabelledSequence> {
    // A folder with one plain truth file has no target to ask for.
    let numbered = layout::numbered_truths(folder);
    let numbered = target.filter(|target| numbered.iter().any(|(number, _)| number == target));
    let sequence = Sequence::open(folder, &SequenceOptions { target: numbered, truth: Truth::Beside })?;
    let wrong = |reason: &str| Error::Sequence { path: folder.to_path_buf(), reason: reason.into() };
    if !sequence.has_truth() {
        return Err(wrong("there is no truth file with a box in it"));
    }
    let range = sequence.range(None, None)?;
    let (first, last) = (*range.start() - 1, *range.end());
    let rows = &sequence.rows()[first..last];
    let truth: Vec<Option<BBox>> = rows
        .iter()
        .map(|row| {
            let row = row.as_ref()?;
            let numbers = row.numbers();
            numbers.iter().all(|v| v.is_finite()).then(|| row.base().to_bbox(numbers))
        })
        .collect();
    if !truth.iter().skip(1).flatten().any(BBox::is_valid) {
        return Err(wrong("there is no truth beyond its first frame: nothing to compare with"));
    }
    // Frames after the last row cannot be scored; those of Football1 and Diving the benchmark leaves out by itself.
    let end = rows.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
    if end < truth.len() {
        warnings.push(format!("{name}: the last {} images have no label and are not evaluated", truth.len() - end));
    }
    if let Some(BBox { w, h, .. }) = truth.iter().flatten().next().filter(|start| is_too_small(start)) {
        warnings.push(format!("{name}: the first box is {w}x{h} pixels, too little of a target to follow it"));
    }
    let plain = |said: &String| format!("{name}: {}", said.replace(", `target` chooses another", ""));
    warnings.extend(sequence.warnings().iter().map(plain));
    let base = rows.iter().flatten().next().map_or(Base::Zero, Row::base);
    // A part of an OTB sequence has its attributes, but other benchmarks have sequences called david and girl as well:
    // those have truth files of another name.
    let name_of_otb = || otb::find(&layout::folder_name(folder), target).filter(|_| base == Base::One);
    let attributes = sequence
        .otb()
        .or_else(name_of_otb)
        .map(|s| s.attributes.iter().filter(|a| !a.is_empty()).cloned().collect())
        .unwrap_or_default();
    Ok(LabelledSequence {
        name: name.to_owned(),
        frames: sequence.images()[first..first + end].to_vec(),
        truth: truth[..end].to_vec(),
        attributes,
        base,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;

    /// Writes a sequence of `n` small pictures with the rows of a truth file.
    pub(crate) fn write_sequence(folder: &Path, images: &str, n: usize, truth: &str, rows: &[String]) {
        let image_folder = folder.join(images);
        fs::create_dir_all(&image_folder).unwrap();
        for i in 1..=n {
            let picture = image::GrayImage::from_fn(64, 48, |x, y| image::Luma([((x * 5 + y * 3) as usize + i) as u8]));
            picture.save(image_folder.join(format!("{i:04}.png"))).unwrap();
        }
        fs::write(folder.join(truth), rows.join("\n")).unwrap();
    }

    pub(crate) fn rows(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("{},10,20,16", 5 + i)).collect()
    }

    #[test]
    fn all_layouts_are_found() {
        let dir = tempfile::tempdir().unwrap();
        write_sequence(&dir.path().join("Crossing"), "img", 3, "groundtruth_rect.txt", &rows(3));
        write_sequence(
            &dir.path().join("vot/bag"),
            "color",
            3,
            "groundtruth.txt",
            &["1,1,9,1,9,9,1,9".into(), "2,2,3,3".into(), "2,2,3,3".into()],
        );
        write_sequence(&dir.path().join("val/GOT-10k_Val_000001"), "", 3, "groundtruth.txt", &rows(3));
        fs::create_dir(dir.path().join("notes")).unwrap();
        let dataset = Dataset::open(dir.path(), &[]).unwrap();
        let names: Vec<_> = dataset.sequences.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["Crossing", "GOT-10k_Val_000001", "bag"]);
        assert!(dataset.left_out.is_empty(), "{:?}", dataset.left_out);
        // OTB's files are 1-based, the others are not; a polygon is the box around it.
        assert_eq!(dataset.sequences[0].truth[0], Some(BBox::new(4.0, 9.0, 20.0, 16.0)));
        assert_eq!(dataset.sequences[1].truth[0], Some(BBox::new(5.0, 10.0, 20.0, 16.0)));
        assert_eq!(dataset.sequences[2].truth[0], Some(BBox::new(1.0, 1.0, 8.0, 8.0)));
        assert!(dataset.sequences[0].attributes.contains(&"SV".to_string()));
        // A sequence's own folder is a dataset of one.
        assert_eq!(Dataset::open(&dir.path().join("Crossing"), &[]).unwrap().sequences.len(), 1);
    }

    #[test]
    fn sequences_of_other_benchmarks_have_no_attributes_of_otb() {
        let dir = tempfile::tempdir().unwrap();
        write_sequence(&dir.path().join("david"), "color", 3, "groundtruth.txt", &rows(3));
        write_sequence(&dir.path().join("Girl"), "", 3, "groundtruth.txt", &rows(3));
        write_sequence(&dir.path().join("surfer"), "img", 3, "groundtruth_rect.txt", &rows(3));
        let found = Dataset::open(dir.path(), &[]).unwrap().sequences;
        let facts: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.attributes.is_empty())).collect();
        assert_eq!(facts, [("Girl", true), ("david", true), ("surfer", false)]);
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_may_not_be_listed_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        write_sequence(&dir.path().join("one"), "", 3, "groundtruth.txt", &rows(3));
        let shut = dir.path().join("shut");
        fs::create_dir(&shut).unwrap();
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o0)).unwrap();
        let dataset = Dataset::open(dir.path(), &[]).unwrap();
        // Nothing is shut for root.
        let expected = usize::from(fs::read_dir(&shut).is_err());
        assert_eq!(dataset.left_out.iter().filter(|left| left.sequence == "shut").count(), expected);
        assert_eq!(dataset.sequences.len(), 1);
    }

    #[test]
    fn two_targets_are_two_sequences() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("Jogging");
        write_sequence(&folder, "img", 3, "groundtruth_rect.1.txt", &rows(3));
        fs::write(folder.join("groundtruth_rect.2.txt"), "30,10,20,16\n31,10,20,16\n32,10,20,16").unwrap();
        let all = Dataset::open(dir.path(), &[]).unwrap();
        assert_eq!(all.sequences.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["Jogging-1", "Jogging-2"]);
        assert_eq!(all.sequences[1].truth[0].unwrap().x, 29.0);
        for (wanted, n) in [("jogging", 2), ("Jogging.2", 1), ("Jogging_1", 1)] {
            assert_eq!(Dataset::open(dir.path(), &[wanted.into()]).unwrap().sequences.len(), n, "{wanted}");
        }
    }

    #[test]
    fn twelve_targets_are_twelve_sequences() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("crowd");
        write_sequence(&folder, "img", 3, "groundtruth_rect.1.txt", &rows(3));
        for target in 2..=12 {
            fs::write(folder.join(format!("groundtruth_rect.{target}.txt")), format!("{target},10,20,16\n").repeat(2))
                .unwrap();
        }
        let all = Dataset::open(dir.path(), &[]).unwrap();
        assert_eq!(all.sequences.len(), 12, "{:?}", all.left_out);
        for target in 2..=12 {
            let sequence = all.sequences.iter().find(|s| s.name == format!("crowd-{target}")).unwrap();
            assert_eq!(sequence.truth[0].unwrap().x, f64::from(target) - 1.0);
        }
        assert_eq!(Dataset::open(dir.path(), &["crowd.12".into()]).unwrap().sequences[0].name, "crowd-12");
        // Only numbers of two digits: a sequence all the same.
        let odd = dir.path().join("odd");
        write_sequence(&odd, "", 2, "groundtruth_rect.10.txt", &rows(2));
        assert_eq!(Dataset::open(dir.path(), &["odd".into()]).unwrap().sequences.len(), 1);
    }

    #[test]
    fn broken_missing_and_doubled_sequences_are_named() {
        let dir = tempfile::tempdir().unwrap();
        write_sequence(&dir.path().join("a/Toy"), "img", 3, "groundtruth_rect.txt", &rows(3));
        write_sequence(&dir.path().join("b/Toy"), "img", 3, "groundtruth_rect.txt", &rows(3));
        write_sequence(&dir.path().join("b/words"), "img", 2, "groundtruth.txt", &["one,two,3,4".into()]);
        write_sequence(&dir.path().join("b/nothing"), "img", 2, "groundtruth.txt", &[]);
        fs::create_dir_all(dir.path().join("b/empty/img")).unwrap();
        let dataset = Dataset::open(dir.path(), &[]).unwrap();
        assert_eq!(dataset.sequences.len(), 1);
        let reasons: Vec<_> = dataset.left_out.iter().map(|l| format!("{}: {}", l.sequence, l.reason)).collect();
        let all = reasons.join("\n");
        for part in ["Toy: two sequences", "words: ", "line 1", "nothing: ", "empty: "] {
            assert!(all.contains(part), "{part} in {all}");
        }
        // Known to OTB but not here: left out. Known to nobody: an error that lists what there is.
        let known = Dataset::open(dir.path(), &["Toy".into(), "Basketball".into()]).unwrap();
        assert_eq!(known.left_out.iter().filter(|l| l.sequence == "Basketball").count(), 1);
        let error = Dataset::open(dir.path(), &["Tyo".into()]).unwrap_err().to_string();
        assert!(error.contains("sequences Tyo") && error.contains("Toy"), "{error}");
        assert!(Dataset::open(&dir.path().join("b/empty/img"), &[]).is_err());
        assert!(Dataset::open(&dir.path().join("none"), &[]).is_err());
    }

    #[test]
    fn unlabelled_frames_at_the_end_are_not_evaluated() {
        let dir = tempfile::tempdir().unwrap();
        write_sequence(&dir.path().join("short"), "", 5, "groundtruth.txt", &rows(3));
        let dataset = Dataset::open(dir.path(), &[]).unwrap();
        assert_eq!(dataset.sequences[0].frames.len(), 3);
        assert!(dataset.warnings.iter().any(|w| w.contains("short")), "{:?}", dataset.warnings);
    }

    #[test]
    fn a_target_too_small_to_be_seen_is_said() {
        let dir = tempfile::tempdir().unwrap();
        for (name, row) in [("seen", "3,3,20,6"), ("small", "3,3,20,5")] {
            write_sequence(&dir.path().join(name), "", 2, "groundtruth.txt", &[row.into(), row.into()]);
        }
        let warnings = Dataset::open(dir.path(), &[]).unwrap().warnings;
        assert_eq!(warnings, ["small: the first box is 20x5 pixels, too little of a target to follow it"]);
    }

    #[test]
    fn a_start_alone_is_not_evaluated() {
        let dir = tempfile::tempdir().unwrap();
        // As in GOT-10k's test part.
        write_sequence(&dir.path().join("hidden"), "", 5, "groundtruth.txt", &rows(1));
        write_sequence(&dir.path().join("gone"), "", 2, "groundtruth.txt", &[rows(1), vec!["0,0,0,0".into()]].concat());
        let dataset = Dataset::open(dir.path(), &[]).unwrap();
        assert!(dataset.sequences.is_empty());
        assert_eq!(dataset.left_out.iter().filter(|l| l.reason.contains("beyond its first frame")).count(), 2);
    }

    #[test]
    fn the_benchmark_says_where_sequences_start() {
        let dir = tempfile::tempdir().unwrap();
        let picture = dir.path().join("one.png");
        image::GrayImage::new(4, 3).save(&picture).unwrap();
        // Name, number of the first image, number of images, rows of the truth, and what is evaluated: frames, and the
        // first of them.
        for (name, first, images, rows, frames, begins) in [
            ("David", 1, 770, 471, 471, "0300.png"),
            ("Tiger1", 1, 354, 354, 349, "0006.png"),
            ("BlurCar1", 247, 742, 742, 742, "0247.png"),
            ("Football1", 1, 81, 74, 74, "0001.png"),
        ] {
            let folder = dir.path().join("data").join(name);
            fs::create_dir_all(folder.join("img")).unwrap();
            for number in first..first + images {
                fs::hard_link(&picture, folder.join(format!("img/{number:04}.png"))).unwrap();
            }
            // The row says the image that it belongs to.
            let from = if name == "David" { 300 } else { first };
            let text: String = (from..from + rows).map(|number| format!("{number},5,20,16\n")).collect();
            fs::write(folder.join("groundtruth_rect.txt"), text).unwrap();
            let dataset = Dataset::open(&folder, &[]).unwrap();
            let sequence = &dataset.sequences[0];
            assert_eq!((sequence.frames.len(), sequence.truth.len()), (frames, frames), "{name}");
            assert!(sequence.frames[0].ends_with(begins), "{name}: {:?}", sequence.frames[0]);
            let number: f64 = begins[..4].parse().unwrap();
            assert_eq!(sequence.truth[0].unwrap().x, number - 1.0, "{name}");
        }
    }
}
