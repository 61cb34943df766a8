//! The labelled sequences of a benchmark's folder, and the names that people and tools give them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::summary::LeftOut;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::annotation::{Annotations, Base, Row};
use crate::media::otb::{self, OtbSequence};
use crate::media::{
    IMAGE_FOLDERS, INDEX, OpenOptions, Sequence, Source, TRUTH_FILES, file_name, list, numbered_truths, plain_truths,
};
use crate::tracker::is_too_small;

/// The document in the folder of an evaluation.
pub(crate) const EVALUATION: &str = "evaluation.json";

/// Maximum depth of a sequence below the dataset's folder: GOT-10k's splits, LaSOT's classes and VOT's workspace add a
/// level, and a folder of benchmarks another one.
const NESTING: usize = 3;

/// A sequence with a label for each frame.
#[derive(Clone, Debug)]
pub struct LabelledSequence {
    /// Its name, with the target's number where a folder has several: `Jogging-2`.
    pub name: String,
    /// The evaluated frames, in order.
    pub frames: Vec<PathBuf>,
    /// Number of images in its folder before the first evaluated frame.
    pub skipped: usize,
    /// The label of each frame, 0-based and possibly empty; `None` for a row without numbers.
    pub truth: Vec<Option<BBox>>,
    /// Its OTB attributes, abbreviated.
    pub attributes: Vec<String>,
    /// The base of the truth file. Result files of the sequence share it.
    pub base: Base,
}

/// The sequences of a folder.
#[derive(Debug, Default)]
pub struct Dataset {
    /// The sequences, sorted by name.
    pub sequences: Vec<LabelledSequence>,
    /// Sequences that cannot be used.
    pub left_out: Vec<LeftOut>,
    /// Remarks on the sequences that are used.
    pub warnings: Vec<String>,
}

impl Dataset {
    /// Finds the sequences in `folder`: OTB, VOT, GOT-10k, or any folders of images with a truth file. The folder may
    /// itself be a sequence.
    ///
    /// `wanted` selects sequences by name; empty selects all. `Jogging` matches both of its targets. A sequence of OTB
    /// that is missing from the folder is left out. `base` overrides the base that the truth file's name implies.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be read, [`Error::Sequence`] when it has no sequence, [`Error::Parameter`]
    /// for a wanted name that neither the folder nor OTB has.
    pub fn open(folder: &Path, wanted: &[String], base: Option<Base>) -> Result<Self> {
        let mut found = Found::default();
        found.add(folder, NESTING)?;
        let mut dataset = Self::default();
        let mut leave_out = |sequence: String, reason: String| {
            dataset.left_out.push(LeftOut { sequence, tracker: None, reason });
        };
        let mut matched = vec![false; wanted.len()];
        let mut is_wanted = |name: &str| {
            let hits: Vec<usize> = (0..wanted.len()).filter(|&i| is_called(name, &wanted[i])).collect();
            hits.iter().for_each(|&i| matched[i] = true);
            wanted.is_empty() || !hits.is_empty()
        };
        for (path, error) in found.unread.into_iter().filter(|_| wanted.is_empty()) {
            leave_out(folder_name(&path), error.to_string());
        }
        for path in found.without_truth {
            let sequence = folder_name(&path);
            if is_wanted(&sequence) {
                leave_out(sequence, no_truth(path).to_string());
            }
        }
        let mut seen: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut names = Vec::new();
        for folder in found.sequences {
            for (name, target) in targets(&folder) {
                names.push(name.clone());
                if !is_wanted(&name) {
                    continue;
                }
                if let Some(first) = seen.get(&name) {
                    let (first, other) = (first.display(), folder.display());
                    leave_out(name, format!("two sequences have this name: {first} is used, {other} is not"));
                    continue;
                }
                seen.insert(name.clone(), folder.clone());
                match LabelledSequence::open(&folder, &name, target, base, &mut dataset.warnings) {
                    Ok(sequence) => dataset.sequences.push(sequence),
                    Err(error) => leave_out(name, error.to_string()),
                }
            }
        }
        if names.is_empty() {
            let reason =
                "no sequence: a sequence is a folder of images (in img/, color/ or directly) with a truth file";
            return Err(Error::sequence(folder, reason));
        }
        for (name, _) in wanted.iter().zip(matched).filter(|(_, matched)| !matched) {
            if !otb::all().iter().any(|s| is_called(&s.result_name(), name)) {
                names.sort();
                let expected = format!("must be one of {} in {}", names.join(", "), folder.display());
                return Err(Error::parameter("sequences", name, expected));
            }
            let reason = format!("not in {}", folder.display());
            dataset.left_out.push(LeftOut { sequence: name.clone(), tracker: None, reason });
        }
        dataset.sequences.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(dataset)
    }
}

impl LabelledSequence {
    fn open(
        folder: &Path,
        name: &str,
        target: Option<u32>,
        base: Option<Base>,
        warnings: &mut Vec<String>,
    ) -> Result<Self> {
        let sequence = Sequence::open(folder, &OpenOptions { target, ..OpenOptions::default() })?;
        let info = sequence.info();
        let wrong = |reason: &str| Error::sequence(folder, reason);
        if info.truth_path.is_none() {
            return Err(no_truth(folder.to_path_buf()));
        }
        if info.truth.iter().all(Option::is_none) {
            return Err(wrong(info.unused_truth.as_deref().unwrap_or("the truth file has no box")));
        }
        let span = info.span(None, None)?;
        let (first, last) = (span.first - 1, span.last.unwrap_or(info.images.len()));
        let rows = &sequence.rows()[first..last];
        let file_base = info.truth_base.unwrap_or(Base::Zero);
        let is_mot = info.truth_path.as_ref().is_some_and(|path| path.ends_with("gt/gt.txt"));
        let base = base.filter(|_| !is_mot).unwrap_or(file_base);
        let label = |row: &Row| row.numbers().iter().all(|v| v.is_finite()).then(|| base.to_bbox(row.numbers()));
        let truth: Vec<Option<BBox>> = rows.iter().map(|row| row.as_ref().and_then(label)).collect();
        if !truth.iter().skip(1).flatten().any(BBox::is_valid) {
            return Err(wrong("the truth ends with the first frame, so there is nothing to score"));
        }
        // OTB itself says where its sequences begin and end, and targets of MOT come and go.
        let is_whole = sequence.otb().is_none() && !is_mot;
        if first > 0 && is_whole {
            warnings.push(format!("{name}: the first {first} images have no label and are not evaluated"));
        }
        let end = rows.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        if end < truth.len() && is_whole {
            warnings.push(format!("{name}: the last {} images have no label and are not evaluated", truth.len() - end));
        }
        if let Some(BBox { w, h, .. }) = truth.iter().flatten().next().filter(|start| is_too_small(start)) {
            warnings.push(format!("{name}: the first box is {w}x{h} pixels, too small to track"));
        }
        warnings.extend(info.warnings.iter().map(|warning| format!("{name}: {warning}")));
        // A part of an OTB sequence has its attributes. Other benchmarks also have a `david` or a `girl`, but not with
        // the box in which OTB begins.
        let folder_name = folder_name(folder);
        let begins =
            |s: &&OtbSequence| rows.iter().flatten().any(|row| row.bbox().is_some_and(|b| b.overlap(&s.init()) > 0.9));
        let by_name = || otb::find(&folder_name, target).or_else(|| otb_of(&folder_name)).filter(begins);
        let attributes = sequence.otb().or_else(by_name);
        let attributes = attributes.map_or(Vec::new(), |s| s.attributes.clone());
        Ok(Self {
            name: name.to_owned(),
            frames: info.images[first..first + end].to_vec(),
            skipped: first,
            truth: truth[..end].to_vec(),
            attributes: attributes.into_iter().filter(|a| !a.is_empty()).collect(),
            base,
        })
    }

    /// The names under which its result files may be stored.
    pub(super) fn file_names(&self) -> impl Iterator<Item = String> {
        let other = otb_alias(&self.name).filter(|_| self.base == Base::One);
        [Some(self.name.clone()), other].into_iter().flatten()
    }
}

fn no_truth(path: PathBuf) -> Error {
    Error::sequence(path, format!("images, but no truth file ({})", TRUTH_FILES.join(", ")))
}

/// The folders of sequences in a dataset.
#[derive(Default)]
struct Found {
    /// In natural order, the nearer ones first.
    sequences: Vec<PathBuf>,
    /// Folders that cannot be listed.
    unread: Vec<(PathBuf, Error)>,
    /// Folders of images without a truth file.
    without_truth: Vec<PathBuf>,
}

impl Found {
    /// Adds the sequences in `folder`, which may be one itself, and in its folders down to `depth`.
    fn add(&mut self, folder: &Path, depth: usize) -> Result<()> {
        if is_sequence(folder) {
            self.sequences.push(folder.to_path_buf());
            return Ok(());
        }
        let io = |e| Error::io(folder, e);
        let mut below = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if !file_name(&path).starts_with('.') && path.is_dir() {
                below.push(path);
            }
        }
        below.sort_by(|a, b| alphanumeric_sort::compare_path(a, b).then_with(|| a.cmp(b)));
        let (here, deeper): (Vec<_>, Vec<_>) = below.into_iter().partition(|path| is_sequence(path));
        self.sequences.extend(here);
        for path in deeper {
            let before = (self.sequences.len(), self.without_truth.len());
            let listed = match depth {
                ..=1 => std::fs::read_dir(&path).map(drop).map_err(|error| Error::io(&path, error)),
                _ => self.add(&path, depth - 1),
            };
            match listed {
                Err(error) => self.unread.push((path, error)),
                // Pictures beside folders of sequences are previews, not frames.
                Ok(()) if before == (self.sequences.len(), self.without_truth.len()) && lacks_truth(&path) => {
                    self.without_truth.push(path);
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }
}

/// Whether a folder has a truth file or a folder of images of a known name.
fn is_sequence(folder: &Path) -> bool {
    plain_truths(folder).next().is_some()
        || !numbered_truths(folder).is_empty()
        || IMAGE_FOLDERS.iter().any(|name| folder.join(name).is_dir())
}

/// Whether a folder without a truth has several images that are not from this program.
fn lacks_truth(folder: &Path) -> bool {
    let ours = [EVALUATION, INDEX].iter().any(|mark| folder.join(mark).is_file());
    !ours && list(folder).is_ok_and(|listing| listing.images.len() > 1)
}

/// The name of a folder, also of `.` and `..`.
fn folder_name(folder: &Path) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    name(folder).or_else(|| name(&folder.canonicalize().ok()?)).unwrap_or_else(|| "sequence".into())
}

/// The names and targets of the sequences in one folder: one for each of its targets, but for a folder of OTB those of
/// the benchmark.
fn targets(folder: &Path) -> Vec<(String, Option<u32>)> {
    let name = folder_name(folder);
    let known: Vec<_> = otb::all().iter().filter(|s| s.name.eq_ignore_ascii_case(&name)).collect();
    let several: Vec<u32> = numbered_truths(folder).into_iter().map(|(target, _)| target).collect();
    if let (true, counted @ [_, _, ..]) = (several.is_empty(), &mot_targets(folder)[..]) {
        return counted.iter().map(|&n| (format!("{name}-{n}"), Some(n))).collect();
    }
    match (&known[..], &several[..]) {
        // Only the second file of Human4 has boxes.
        ([one], several) => vec![(name, one.target.filter(|target| several.contains(target)))],
        ([_, _, ..], [_, ..]) => {
            known.iter().filter_map(|s| Some((format!("{name}-{}", s.target?), s.target))).collect()
        }
        (_, [_, _, ..]) => several.iter().map(|&n| (format!("{name}-{n}"), Some(n))).collect(),
        _ => vec![(name, None)],
    }
}

/// The targets that count in the MOT file of a folder; none without one.
fn mot_targets(folder: &Path) -> Vec<u32> {
    let truth = plain_truths(folder).next().and_then(|path| Annotations::read(&path, Base::of_truth_file(&path)).ok());
    let counted = truth.iter().flat_map(|truth| truth.entries()).filter(|entry| entry.confidence != 0.0);
    counted.map(|entry| entry.target).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether `wanted`, as a user writes it, names the sequence `name`.
fn is_called(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (key(name), key(wanted));
    if otb_alias(&name).is_some_and(|alias| key(&alias) == wanted) {
        return true;
    }
    let folder = name.rsplit_once('-').filter(|(_, target)| is_number(target)).map(|(folder, _)| folder);
    name == wanted || folder == Some(wanted.as_str())
}

/// The part of a sequence's name that all tools agree on: `jogging-2` for `Jogging.2`, `Jogging_2` and `jogging-2`.
pub(super) fn key(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let digits = lower.len() - lower.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (head, tail) = lower.split_at(lower.len() - digits);
    match head.strip_suffix(['.', '_', '-']) {
        Some(head) if !tail.is_empty() => format!("{head}-{tail}"),
        _ => lower,
    }
}

/// The name with a target's number that some tools use for an OTB sequence: `Human4-2` for `Human4`.
fn otb_alias(name: &str) -> Option<String> {
    otb::all().iter().find(|sequence| key(&sequence.name) == key(name))?.numbered_name()
}

/// The OTB sequence with this name in any spelling: `Jogging_1`, `Human4-2`.
fn otb_of(name: &str) -> Option<&'static OtbSequence> {
    let name = key(name);
    let is = |other: &str| key(other) == name;
    otb::all().iter().find(|s| is(&s.result_name()) || s.numbered_name().is_some_and(|other| is(&other)))
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Longest name of a file, in bytes. With suffixes it stays below the 143 bytes of an encrypted disk.
const MAX_FILE_NAME: usize = 100;

/// A name that is valid as one part of a path on any system. A changed name ends with a checksum, so different names
/// have different files.
pub(super) fn safe_file_name(name: &str) -> String {
    let safe: String = name.chars().map(|c| if c.is_alphanumeric() || "-_.+ ".contains(c) { c } else { '_' }).collect();
    let safe = safe.trim_matches(['.', ' ']);
    let ends = safe.char_indices().map(|(at, c)| at + c.len_utf8());
    let safe = &safe[..ends.take_while(|&end| end <= MAX_FILE_NAME).last().unwrap_or(0)];
    if safe == name {
        return name.into();
    }
    format!("{safe}-{:08x}", crc32fast::hash(name.as_bytes()))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;

    fn save(picture: &image::GrayImage, path: &Path) {
        picture.save_with_format(path, image::ImageFormat::Png).unwrap();
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

    fn all(folder: &Path) -> Dataset {
        Dataset::open(folder, &[], None).unwrap()
    }

    #[test]
    fn finds_all_layouts_with_their_bases() {
        let dir = tempfile::tempdir().unwrap();
        // The last row is the box in which OTB begins.
        let crossing = [rows(2), vec!["205,151,17,50".into()]].concat();
        write_sequence(&dir.path().join("Crossing"), "img", 3, "groundtruth_rect.txt", &crossing);
        write_sequence(&dir.path().join("uav/otb/Car1"), "img", 3, "groundtruth_rect.txt", &rows(3));
        let polygon = ["1,1,9,1,9,9,1,9".into(), "2,2,3,3".into(), "2,2,3,3".into()];
        write_sequence(&dir.path().join("vot/bag"), "color", 3, "groundtruth.txt", &polygon);
        write_sequence(&dir.path().join("val/GOT-10k_Val_000001"), "", 3, "groundtruth.txt", &rows(3));
        write_sequence(&dir.path().join("vot/david"), "color", 3, "groundtruth.txt", &rows(3));
        fs::create_dir(dir.path().join("notes")).unwrap();
        let dataset = all(dir.path());
        let names: Vec<_> = dataset.sequences.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["Car1", "Crossing", "GOT-10k_Val_000001", "bag", "david"]);
        let [car, others @ ..] = &dataset.sequences[..] else { panic!() };
        assert!(car.attributes.is_empty(), "a car of another benchmark");
        assert!(dataset.left_out.is_empty(), "{:?}", dataset.left_out);
        assert_eq!(others[0].truth[0], Some(BBox::new(4.0, 9.0, 20.0, 16.0)));
        assert_eq!(others[1].truth[0], Some(BBox::new(5.0, 10.0, 20.0, 16.0)));
        assert_eq!(others[2].truth[0], Some(BBox::new(1.0, 1.0, 8.0, 8.0)));
        assert!(others[0].attributes.contains(&"SV".to_string()));
        assert!(others[3].attributes.is_empty(), "VOT's david is not OTB's");
        assert_eq!(all(&dir.path().join("Crossing")).sequences.len(), 1, "a sequence's own folder");
        // A given base overrides the name of the truth file.
        for (base, x) in [(Base::Zero, 5.0), (Base::One, 4.0)] {
            let forced = Dataset::open(dir.path(), &["Crossing".into()], Some(base)).unwrap();
            assert_eq!((forced.sequences[0].truth[0].unwrap().x, forced.sequences[0].base), (x, base));
            assert!(!forced.sequences[0].attributes.is_empty());
        }
        // MOT counts from 1 always.
        fs::create_dir_all(dir.path().join("mot/gt")).unwrap();
        let mot: Vec<_> = rows(3).iter().zip(1..).map(|(row, frame)| format!("{frame},1,{row},1,1,1")).collect();
        write_sequence(&dir.path().join("mot"), "img1", 3, "gt/gt.txt", &mot);
        let mot = Dataset::open(&dir.path().join("mot"), &[], Some(Base::Zero)).unwrap();
        assert_eq!((mot.sequences[0].truth[0].unwrap().x, mot.sequences[0].base), (4.0, Base::One));
    }

    #[test]
    fn names_image_folders_without_a_truth_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let pictures = |folder: &str, n: usize| {
            fs::create_dir_all(at(folder)).unwrap();
            (0..n).for_each(|i| save(&image::GrayImage::new(4, 3), &at(folder).join(format!("{i}.png"))));
        };
        write_sequence(&at("Crossing"), "img", 3, "groundtruth_rect.txt", &rows(3));
        // Our own reports are not sequences.
        pictures("report", 4);
        fs::write(at("report/evaluation.json"), "{}").unwrap();
        assert!(all(dir.path()).left_out.is_empty());
        pictures("Deer", 2);
        let left_out = all(dir.path()).left_out;
        assert!(left_out.len() == 1 && left_out[0].reason.contains("images, but no truth file"), "{left_out:?}");
        assert!(Dataset::open(dir.path(), &["Crossing".into()], None).unwrap().left_out.is_empty());
        assert_eq!(Dataset::open(dir.path(), &["deer".into(), "Crossing".into()], None).unwrap().left_out, left_out);
    }

    #[test]
    fn warns_of_images_without_labels_at_the_ends() {
        let dir = tempfile::tempdir().unwrap();
        let late = [vec!["NaN,NaN,NaN,NaN".into(), "0,0,0,0".into()], rows(3)].concat();
        write_sequence(&dir.path().join("late"), "img", 7, "groundtruth.txt", &late);
        let dataset = all(dir.path());
        for expected in [
            "late: the first 2 images have no label and are not evaluated",
            "late: the last 2 images have no label and are not evaluated",
        ] {
            assert!(dataset.warnings.iter().any(|warning| warning == expected), "{:?}", dataset.warnings);
        }
        // The images that are left have the labels that are left.
        let [LabelledSequence { frames, truth, .. }] = &dataset.sequences[..] else { panic!() };
        assert!(frames[0].ends_with("0003.png") && frames[2].ends_with("0005.png"), "{frames:?}");
        assert_eq!((frames.len(), truth.len()), (3, 3));
        // OTB's David begins with image 300, whose row is the first of its file.
        let david = dir.path().join("benchmark/David");
        write_sequence(&david, "img", 770, "groundtruth_rect.txt", &rows(471));
        let david = all(&david);
        assert_eq!((david.sequences[0].skipped, &david.warnings[..]), (299, &[][..]));
        assert!(david.sequences[0].frames[0].ends_with("0300.png") && david.sequences[0].frames.len() == 471);
    }

    #[test]
    fn each_target_of_a_folder_is_a_sequence() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("Jogging");
        write_sequence(&folder, "img", 3, "groundtruth_rect.1.txt", &rows(3));
        fs::write(folder.join("groundtruth_rect.2.txt"), "30,10,20,16\n31,10,20,16\n32,10,20,16").unwrap();
        let found = all(dir.path());
        assert_eq!(found.sequences.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["Jogging-1", "Jogging-2"]);
        assert_eq!(found.sequences[1].truth[0].unwrap().x, 29.0);
        for (wanted, n) in [("jogging", 2), ("Jogging.2", 1), ("Jogging_1", 1)] {
            assert_eq!(Dataset::open(dir.path(), &[wanted.into()], None).unwrap().sequences.len(), n, "{wanted}");
        }
    }

    #[test]
    fn each_target_of_a_mot_file_that_counts_is_a_sequence() {
        let dir = tempfile::tempdir().unwrap();
        let line =
            |frame: usize, target: usize, x: usize, conf: u8| format!("{frame},{target},{x},10,20,16,{conf},1,1");
        let of = |target: usize, x: usize, conf: u8| (1..=3).map(move |frame| line(frame, target, x + frame, conf));
        let lines: Vec<_> = of(7, 1, 1).chain(of(8, 20, 0)).chain(of(9, 30, 1)).collect();
        fs::create_dir_all(dir.path().join("crowd/gt")).unwrap();
        write_sequence(&dir.path().join("crowd"), "img1", 3, "gt/gt.txt", &lines);
        let found = all(dir.path());
        let first: Vec<_> = found.sequences.iter().map(|s| (s.name.as_str(), s.truth[0].unwrap().x)).collect();
        assert_eq!(first, [("crowd-7", 1.0), ("crowd-9", 30.0)], "{:?}", found.left_out);
        assert_eq!(Dataset::open(dir.path(), &["crowd-9".into()], None).unwrap().sequences.len(), 1);
    }

    #[test]
    fn names_broken_missing_and_duplicate_sequences() {
        let dir = tempfile::tempdir().unwrap();
        write_sequence(&dir.path().join("a/Toy"), "img", 3, "groundtruth_rect.txt", &rows(3));
        write_sequence(&dir.path().join("b/Toy"), "img", 3, "groundtruth_rect.txt", &rows(3));
        write_sequence(&dir.path().join("b/words"), "img", 2, "groundtruth.txt", &["one,two,3,4".into()]);
        write_sequence(&dir.path().join("b/nothing"), "img", 2, "groundtruth.txt", &[]);
        write_sequence(&dir.path().join("b/other"), "img", 2, "truth.txt", &rows(2));
        let dataset = all(dir.path());
        assert_eq!(dataset.sequences.len(), 1);
        let reasons: Vec<_> = dataset.left_out.iter().map(|l| format!("{}: {}", l.sequence, l.reason)).collect();
        let reasons = reasons.join("\n");
        for part in ["Toy: two sequences", "words: ", "line 1", "nothing: ", "other: ", "no truth file"] {
            assert!(reasons.contains(part), "{part} in {reasons}");
        }
        let known = Dataset::open(dir.path(), &["Toy".into(), "Basketball".into()], None).unwrap();
        assert_eq!(known.left_out.iter().filter(|l| l.sequence == "Basketball").count(), 1);
        let error = Dataset::open(dir.path(), &["Tyo".into()], None).unwrap_err().to_string();
        assert!(error.contains("sequences Tyo") && error.contains("Toy"), "{error}");
        assert!(Dataset::open(&dir.path().join("none"), &[], None).is_err());
    }

    #[test]
    fn matches_names_in_any_spelling() {
        for (name, wanted, is) in [
            ("dog-agility", "dog", false),
            ("dog", "dog", true),
            ("Jogging-1", "jogging", true),
            ("Jogging-1", "Jogging.1", true),
            ("Human4", "human4_2", true),
            ("Human4", "Human4-1", false),
            ("Human3", "Human3-2", false),
        ] {
            assert_eq!(is_called(name, wanted), is, "{name}, {wanted}");
        }
        let of = |name: &str| otb_of(name).map(|s| (s.name.as_str(), s.target));
        assert_eq!(of("jogging_1"), Some(("Jogging", Some(1))));
        assert_eq!((of("Human4"), of("human4_2")), (Some(("Human4", Some(2))), Some(("Human4", Some(2)))));
        assert_eq!((of("Jogging"), of("Human4-1"), of("Deer-1")), (None, None, None));
        assert_eq!(key("GOT-10k_Val_000001"), "got-10k_val-000001");
    }

    #[test]
    fn file_names_are_safe_and_distinct() {
        assert_eq!(safe_file_name("../../etc"), "_.._etc-13c1bb1e");
        assert_eq!(safe_file_name(".."), "-9608161c");
        assert_ne!(safe_file_name("a:b"), safe_file_name("a?b"));
        assert_eq!(safe_file_name("Jogging-1"), "Jogging-1");
        for long in ["paper+".to_owned() + &"padding=2.125+".repeat(40), "é".repeat(300)] {
            assert!(
                (MAX_FILE_NAME..MAX_FILE_NAME + 10).contains(&safe_file_name(&long).len()),
                "{}",
                safe_file_name(&long)
            );
            assert_ne!(safe_file_name(&long), safe_file_name(&format!("{long}+")));
        }
    }
}
