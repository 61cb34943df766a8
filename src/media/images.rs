//! Folders of image files in natural order, the truth files beside them, and the images decoded in order.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::decode::decode_with;
use super::{Demand, Item};
use crate::error::{Error, Result};

/// Extensions of images, in lower case.
pub(super) const EXTENSIONS: [&str; 11] =
    ["jpg", "jpeg", "png", "bmp", "tif", "tiff", "webp", "pnm", "pbm", "pgm", "ppm"];

/// Names of truth files that hold all targets of a folder: of OTB, of VOT and GOT-10k, of MOT.
pub(crate) const TRUTH_FILES: [&str; 3] = ["groundtruth_rect.txt", "groundtruth.txt", "gt/gt.txt"];

/// The index of the files that a run has put into a folder, one a line. The next run replaces only these.
pub(crate) const INDEX: &str = ".kcf-files";

/// What a folder holds.
pub(crate) struct Listing {
    /// Images in natural order: 1, 2, 10.
    pub images: Vec<PathBuf>,
    /// Other files that are not hidden, unsorted.
    pub files: usize,
    /// Folders that are not hidden.
    pub folders: usize,
}

/// Lists a folder without its hidden files.
///
/// # Errors
/// [`Error::Sequence`] when `folder` is a file, [`Error::Io`] when it cannot be read.
pub(crate) fn list(folder: &Path) -> Result<Listing> {
    let io = |source| Error::io(folder, source);
    if !std::fs::metadata(folder).map_err(io)?.is_dir() {
        let reason = "this is a file: give the folder that holds the images".into();
        return Err(Error::Sequence { path: folder.to_path_buf(), reason });
    }
    let mut listing = Listing { images: Vec::new(), files: 0, folders: 0 };
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = entry.path();
        if file_name(&path).starts_with('.') {
            continue;
        }
        // A dangling link counts as a file: decoding it reports the missing frame.
        if entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink() && path.is_dir()) {
            listing.folders += 1;
        } else if is_image(&path) {
            listing.images.push(path);
        } else {
            listing.files += 1;
        }
    }
    listing.images.sort();
    listing.images.sort_by(|a, b| alphanumeric_sort::compare_str(a.to_string_lossy(), b.to_string_lossy()));
    Ok(listing)
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(super) fn is_image(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    EXTENSIONS.contains(&extension.as_str())
}

/// The number in a file's name: the last digits before the extension.
pub(super) fn number(path: &Path) -> Option<usize> {
    let stem = path.file_stem()?.to_string_lossy();
    let stem = stem.trim_end_matches(|c: char| !c.is_ascii_digit());
    stem[stem.trim_end_matches(|c: char| c.is_ascii_digit()).len()..].parse().ok()
}

/// The truth files of a folder that hold all its targets; the first is the one to read.
pub(crate) fn plain_truths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    TRUTH_FILES.iter().map(|name| folder.join(name)).filter(|path| path.is_file())
}

/// The truth files `groundtruth_rect.N.txt` of a folder, by `N`; none if the folder cannot be listed.
pub(crate) fn numbered_truths(folder: &Path) -> Vec<(u32, PathBuf)> {
    let paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths
        .filter_map(|path| Some((target_of(&file_name(&path))?, path)))
        .filter(|(_, path)| path.is_file())
        .collect();
    found.sort();
    found
}

/// The `N` of `groundtruth_rect.N.txt`.
pub(super) fn target_of(file_name: &str) -> Option<u32> {
    file_name.strip_prefix("groundtruth_rect.")?.strip_suffix(".txt")?.parse().ok()
}

/// Decodes image files in order. An image that cannot be decoded is an item with an error; the next ones follow.
#[derive(Debug)]
pub struct Images {
    files: std::vec::IntoIter<(usize, PathBuf)>,
    demand: Demand,
    bytes: Vec<u8>,
}

impl Images {
    /// Decodes `files`, pairs of position and path.
    pub fn new(files: Vec<(usize, PathBuf)>, demand: impl Into<Demand>) -> Self {
        Self { files: files.into_iter(), demand: demand.into(), bytes: Vec::new() }
    }
}

impl Iterator for Images {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let (position, path) = self.files.next()?;
        let begun = Instant::now();
        let decoded = decode_with(&path, self.demand, &mut self.bytes);
        let item = Item::numbered(position, None, decoded, begun.elapsed().as_secs_f64() * 1e3);
        Some(Item { name: file_name(&path), path: Some(path), ..item })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.files.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(files: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(folder.path().join(file), b"").unwrap();
        }
        list(folder.path()).unwrap().images.iter().map(|path| file_name(path)).collect()
    }

    #[test]
    fn order_is_natural() {
        assert_eq!(names(&["10.jpg", "2.jpg", "1.jpg"]), ["1.jpg", "2.jpg", "10.jpg"]);
        assert_eq!(names(&["img10.png", "img9.png", "img0.png"]), ["img0.png", "img9.png", "img10.png"]);
        assert_eq!(names(&["0002.jpg", "0010.jpg", "0001.jpg"]), ["0001.jpg", "0002.jpg", "0010.jpg"]);
        assert_eq!(names(&["frame (10).png", "frame (9).png"]), ["frame (9).png", "frame (10).png"]);
    }

    #[test]
    fn lists_images_by_extension_in_any_case() {
        let files =
            ["1.JPG", "2.Jpeg", "3.PNG", "4.bmp", "5.TIF", "6.tiff", "7.webp", "8.pnm", "9.pbm", "10.pgm", "11.ppm"];
        let mut all = files.to_vec();
        all.extend(["cfg.mat", "groundtruth.txt", ".1.jpg", "._2.jpg", "thumbs.db", "jpg", "12.gif"]);
        assert_eq!(names(&all), files);
    }

    #[test]
    fn leaves_out_folders_that_are_named_like_images() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("0.jpg")).unwrap();
        std::fs::write(folder.path().join("1.jpg"), b"").unwrap();
        let listing = list(folder.path()).unwrap();
        assert_eq!((listing.images.len(), listing.folders, listing.files), (1, 1, 0));
    }

    #[test]
    fn takes_the_last_digits_of_a_name_as_its_number() {
        let of = |name: &str| number(Path::new(name));
        assert_eq!(of("a/0247.jpg"), Some(247));
        assert_eq!(of("a/cam2_0013.png"), Some(13));
        assert_eq!(of("a/00000042é.png"), Some(42));
        assert_eq!(of("a/é7.png"), Some(7));
        assert_eq!(of("a7/x.png"), None);
        assert_eq!(of("99999999999999999999999999.png"), None);
    }

    proptest! {
        #[test]
        fn accepts_any_name(name in "\\PC{0,20}") {
            let _ = number(Path::new(&name));
            let _ = is_image(Path::new(&name));
        }
    }
}
