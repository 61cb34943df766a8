//! How the folders of benchmarks are laid out, OTB, VOT, GOT-10k and MOT: where images and truth files lie, and what a
//! sequence is called.

use std::path::{Path, PathBuf};

use super::folder::{file_name, list};
use super::otb;
use crate::error::{Error, Result};

/// The document in the folder of an evaluation.
pub(crate) const EVALUATION: &str = "evaluation.json";

/// The names of all files that a run has put into a folder, one a line, so that the next run knows its own.
pub(crate) const INDEX: &str = ".kcf-files";

/// Sub-folders that hold the images of a sequence: OTB's, VOT's and MOT's.
pub(super) const IMAGE_FOLDERS: [&str; 3] = ["img", "color", "img1"];

/// The only truth file of a folder: OTB's, that of VOT and GOT-10k, and MOT's, which holds all targets.
pub(crate) const TRUTH_FILES: [&str; 3] = ["groundtruth_rect.txt", "groundtruth.txt", "gt/gt.txt"];

/// Levels below a dataset's folder on which sequences may lie: GOT-10k's splits and VOT's workspace are one between.
const NESTING: usize = 2;

/// The truth files of a folder that has one for all its targets; where there are several, the first one is read.
pub fn plain_truths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    TRUTH_FILES.iter().map(|name| folder.join(name)).filter(|path| path.is_file())
}

/// The truth files `groundtruth_rect.N.txt` of a folder, by `N`; none in a folder that may not be listed.
pub fn numbered_truths(folder: &Path) -> Vec<(u32, PathBuf)> {
    let paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths
        .filter_map(|path| Some((target_of(&file_name(&path))?, path)))
        .filter(|(_, path)| path.is_file())
        .collect();
    found.sort();
    found
}

/// All truth files of a folder.
pub(super) fn truths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    plain_truths(folder).chain(numbered_truths(folder).into_iter().map(|(_, path)| path))
}

/// The `N` of `groundtruth_rect.N.txt`.
pub fn target_of(file_name: &str) -> Option<u32> {
    file_name.strip_prefix("groundtruth_rect.")?.strip_suffix(".txt")?.parse().ok()
}

/// Whether a folder is meant to be a sequence: it has a truth file, or a folder of images of the known names. That it
/// can be read is seen later, so that a broken one is named.
pub fn is_sequence(folder: &Path) -> bool {
    plain_truths(folder).next().is_some()
        || !numbered_truths(folder).is_empty()
        || IMAGE_FOLDERS.iter().any(|name| folder.join(name).is_dir())
}

/// The folders of sequences in a dataset.
#[derive(Debug, Default)]
pub struct Listed {
    /// In natural order; those that lie nearer come first.
    pub sequences: Vec<PathBuf>,
    /// Folders that may not be listed, and why: nobody knows what is in them.
    pub unread: Vec<(PathBuf, Error)>,
    /// Folders that look as sequences do but for a truth file.
    pub without_truth: Vec<PathBuf>,
}

/// The folders of sequences in a dataset's `folder`, and in the folders in it. The folder may be a sequence itself.
///
/// # Errors
/// [`Error::Io`] when it cannot be listed.
pub fn sequences(folder: &Path) -> Result<Listed> {
    let mut found = Listed::default();
    find(folder, NESTING, &mut found)?;
    Ok(found)
}

fn find(folder: &Path, depth: usize, found: &mut Listed) -> Result<()> {
    if is_sequence(folder) {
        found.sequences.push(folder.to_path_buf());
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
    found.sequences.extend(here);
    for path in deeper {
        let before = (found.sequences.len(), found.without_truth.len());
        if depth > 1 {
            if let Err(error) = find(&path, depth - 1, found) {
                found.unread.push((path, error));
                continue;
            }
        } else if let Err(error) = std::fs::read_dir(&path) {
            found.unread.push((path.clone(), Error::io(path, error)));
            continue;
        }
        // Pictures beside folders of sequences only show what is in these.
        if before == (found.sequences.len(), found.without_truth.len()) && lacks_truth(&path) {
            found.without_truth.push(path);
        }
    }
    Ok(())
}

/// Whether a folder that is no sequence has the images of one: several, that this program has not drawn itself.
fn lacks_truth(folder: &Path) -> bool {
    let ours = [EVALUATION, INDEX].iter().any(|mark| folder.join(mark).is_file());
    !ours && list(folder).is_ok_and(|listing| listing.images.len() > 1)
}

/// A folder's name, also of `.` and the like.
pub fn folder_name(folder: &Path) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    name(folder).or_else(|| name(&folder.canonicalize().ok()?)).unwrap_or_else(|| "sequence".into())
}

/// The sequences of one folder, their names and targets: as many as it has targets, but those that the benchmark has
/// where it is a folder of OTB's.
pub fn targets(folder: &Path) -> Vec<(String, Option<u32>)> {
    let name = folder_name(folder);
    let known: Vec<_> = otb::all().iter().filter(|s| s.name.eq_ignore_ascii_case(&name)).collect();
    let several = numbered_truths(folder);
    match (&known[..], &several[..]) {
        // Human4's second file is the only one with boxes.
        ([one], _) => vec![(name, one.target)],
        ([_, _, ..], [_, ..]) => {
            known.iter().filter_map(|s| Some((format!("{name}-{}", s.target?), s.target))).collect()
        }
        (_, [_, _, ..]) => several.iter().map(|&(n, _)| (format!("{name}-{n}"), Some(n))).collect(),
        _ => vec![(name, None)],
    }
}
