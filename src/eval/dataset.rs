//! The labelled sequences of a benchmark's folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::labelled;
pub use super::labelled::LabelledSequence;
use super::names::is_called;
use super::summary::LeftOut;
use crate::error::{Error, Result};
use crate::media::annotation::Base;
use crate::media::{layout, otb};

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
    /// Reads the numbers of all truth files anew as 0- or 1-based, whatever the names of the files stand for.
    pub fn set_base(&mut self, base: Base) {
        for sequence in self.sequences.iter_mut().filter(|s| s.base != base) {
            let by = sequence.base as u8 as f64 - base as u8 as f64;
            sequence.truth.iter_mut().flatten().for_each(|label| *label = label.translated(by, by));
            sequence.base = base;
        }
    }

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
        for path in found.without_truth {
            let sequence = layout::folder_name(&path);
            let hits: Vec<usize> = (0..wanted.len()).filter(|&i| is_called(&sequence, &wanted[i])).collect();
            hits.iter().for_each(|&i| matched[i] = true);
            if wanted.is_empty() || !hits.is_empty() {
                let reason = format!("images, but no truth file ({})", layout::TRUTH_FILES.join(", "));
                let reason = Error::Sequence { path, reason }.to_string();
                dataset.left_out.push(LeftOut { sequence, tracker: None, reason });
            }
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
                match labelled::open(&folder, &name, target, &mut dataset.warnings) {
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

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;
    use crate::bbox::BBox;

    /// Writes a picture as PNG.
    fn save(picture: &image::GrayImage, path: &Path) {
        let bytes = crate::png::encode(picture, picture.dimensions(), image::ExtendedColorType::L8).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes a sequence of `n` small pictures with the rows of a truth file.
    pub(crate) fn write_sequence(folder: &Path, images: &str, n: usize, truth: &str, rows: &[String]) {
        let image_folder = folder.join(images);
        fs::create_dir_all(&image_folder).unwrap();
        for i in 1..=n {
            let picture = image::GrayImage::from_fn(64, 48, |x, y| image::Luma([((x * 5 + y * 3) as usize + i) as u8]));
            save(&picture, &image_folder.join(format!("{i:04}.png")));
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
        let mut rebased = Dataset::open(dir.path(), &[]).unwrap();
        rebased.set_base(Base::Zero);
        assert_eq!(rebased.sequences[0].truth[0], Some(BBox::new(5.0, 10.0, 20.0, 16.0)));
        assert_eq!(rebased.sequences[1].truth, dataset.sequences[1].truth);
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
    fn images_without_a_truth_file_are_named_and_other_pictures_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let pictures = |folder: &str, n: usize| {
            fs::create_dir_all(at(folder)).unwrap();
            (0..n).for_each(|i| save(&image::GrayImage::new(4, 3), &at(folder).join(format!("{i}.png"))));
        };
        write_sequence(&at("Crossing"), "img", 3, "groundtruth_rect.txt", &rows(3));
        write_sequence(&at("val/one"), "", 3, "groundtruth.txt", &rows(3));
        // A preview beside sequences, a lone picture, our own reports, overlays and maps.
        for (folder, n) in [("val", 2), ("about", 1), ("report", 4), ("overlays", 3), ("val/maps", 3)] {
            pictures(folder, n);
        }
        fs::write(at("report/evaluation.json"), "{}").unwrap();
        fs::write(at("overlays/.kcf-files"), "0.png\n").unwrap();
        fs::write(at("val/maps/.kcf-files"), "0.png\n").unwrap();
        assert!(Dataset::open(dir.path(), &[]).unwrap().left_out.is_empty());

        pictures("Deer", 2);
        pictures("val/two", 3);
        fs::write(at("val/two/groundtruth.csv"), "1,1,2,2").unwrap();
        let left = |wanted: &[String]| -> Vec<String> {
            let dataset = Dataset::open(dir.path(), wanted).unwrap();
            dataset.left_out.iter().map(|l| format!("{}: {}", l.sequence, l.reason)).collect()
        };
        let all = left(&[]);
        assert!(all.len() == 2 && all.iter().all(|l| l.contains("images, but no truth file")), "{all:?}");
        assert!(all[0].starts_with("Deer: ") && all[1].starts_with("two: "), "{all:?}");
        assert!(left(&["Crossing".into()]).is_empty());
        assert_eq!(left(&["Crossing".into(), "deer".into()]), all[..1]);
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
    fn images_before_the_first_label_and_after_the_last_are_warned_about() {
        let dir = tempfile::tempdir().unwrap();
        let late = [vec!["NaN,NaN,NaN,NaN".into(), "0,0,0,0".into()], rows(3)].concat();
        write_sequence(&dir.path().join("late"), "img", 7, "groundtruth.txt", &late);
        // OTB's Deer is of 71 images; this one only has its name.
        write_sequence(&dir.path().join("Deer"), "img", 5, "groundtruth_rect.txt", &late);
        let dataset = Dataset::open(dir.path(), &[]).unwrap();
        for said in [
            "late: the first 2 images have no label and are not evaluated",
            "late: the last 2 images have no label and are not evaluated",
            "Deer: the first 2 images have no label and are not evaluated",
        ] {
            assert!(dataset.warnings.iter().any(|warning| warning == said), "{said}: {:?}", dataset.warnings);
        }
        // David begins with its image 300, whose row is the first of its file.
        let david = dir.path().join("benchmark/David");
        write_sequence(&david, "img", 770, "groundtruth_rect.txt", &rows(471));
        let david = Dataset::open(&david, &[]).unwrap();
        assert_eq!((david.sequences[0].skipped, &david.warnings[..]), (299, &[][..]));
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
    fn targets_of_otb_are_known_in_folders_of_other_names() {
        let dir = tempfile::tempdir().unwrap();
        // A folder a target; and Human4's, in lower case, whose first file is empty.
        for name in ["Jogging-1", "Jogging_2", "Human4-2"] {
            write_sequence(&dir.path().join("each").join(name), "img", 3, "groundtruth_rect.txt", &rows(3));
        }
        let human = dir.path().join("all/human4");
        write_sequence(&human, "img", 3, "groundtruth_rect.1.txt", &[]);
        fs::write(human.join("groundtruth_rect.2.txt"), rows(3).join("\n")).unwrap();
        let each = Dataset::open(&dir.path().join("each"), &[]).unwrap();
        assert!(each.sequences.iter().all(|s| !s.attributes.is_empty()), "{:?}", each.sequences);
        assert_ne!(each.sequences[0].attributes, each.sequences[1].attributes);
        assert_eq!(each.sequences[1].attributes, each.sequences[2].attributes, "Jogging's");
        let all = Dataset::open(&dir.path().join("all"), &[]).unwrap();
        let found: Vec<_> = all.sequences.iter().map(|s| (s.name.as_str(), &s.attributes)).collect();
        assert_eq!(found, [("human4", &each.sequences[0].attributes)]);
        assert!(all.left_out.is_empty(), "{:?}", all.left_out);
        for wanted in ["Human4-2", "human4"] {
            assert_eq!(
                Dataset::open(&dir.path().join("all"), &[wanted.into()]).unwrap().sequences.len(),
                1,
                "{wanted}"
            );
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
        save(&image::GrayImage::new(4, 3), &picture);
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
            assert_eq!(sequence.skipped as f64, number - first as f64, "{name}");
            assert_eq!(sequence.truth[0].unwrap().x, number - 1.0, "{name}");
        }
    }
}
