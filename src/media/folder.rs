//! The images of a folder, in the order a person counts them.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Extensions that are taken for images, in lower case.
pub(super) const EXTENSIONS: [&str; 11] =
    ["jpg", "jpeg", "png", "bmp", "tif", "tiff", "webp", "pnm", "pbm", "pgm", "ppm"];

/// What a folder holds.
pub(super) struct Listing {
    /// Images in natural order: 1, 2, 10.
    pub images: Vec<PathBuf>,
    /// Other files that are not hidden, unsorted.
    pub files: usize,
    /// Folders that are not hidden.
    pub folders: usize,
}

/// Lists a folder. Hidden files and everything that is not a file are left out.
///
/// # Errors
/// [`Error::Sequence`] when `folder` is a file, [`Error::Io`] when it cannot be read.
pub(super) fn list(folder: &Path) -> Result<Listing> {
    let io = |source| Error::io(folder, source);
    if !std::fs::metadata(folder).map_err(io)?.is_dir() {
        let reason = "this is a file: give the folder that holds the images".into();
        return Err(Error::Sequence { path: folder.to_path_buf(), reason });
    }
    let mut listing = Listing { images: Vec::new(), files: 0, folders: 0 };
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let path = entry.path();
        let mut kind = entry.file_type().map_err(|source| Error::io(&path, source))?;
        if kind.is_symlink() {
            // A dangling link stays in the list: that a frame is missing must not go unnoticed.
            kind = std::fs::metadata(&path).map_or(kind, |target| target.file_type());
        }
        if kind.is_dir() {
            listing.folders += 1;
        } else if (kind.is_file() || kind.is_symlink()) && is_image(&path) {
            listing.images.push(path);
        } else {
            listing.files += 1;
        }
    }
    // The crate's order of paths that are no UTF-8 mixes two orders; that of their readable form is one.
    let mut keyed: Vec<_> = listing.images.into_iter().map(|path| (file_name(&path), path)).collect();
    keyed.sort_by(|(a, path_a), (b, path_b)| alphanumeric_sort::compare_str(a, b).then_with(|| path_a.cmp(path_b)));
    listing.images = keyed.into_iter().map(|(_, path)| path).collect();
    Ok(listing)
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(super) fn is_image(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    EXTENSIONS.contains(&extension.as_str())
}

/// The number in a file's name: its last run of digits before the extension.
pub(super) fn number(path: &Path) -> Option<usize> {
    let stem = path.file_stem()?.to_string_lossy().into_owned();
    let end = stem.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = stem[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| {
        // The character before the digits may be longer than a byte.
        at + stem[at..].chars().next().map_or(1, char::len_utf8)
    });
    stem[start..end].parse().ok()
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
    fn extensions_of_any_case_count_and_other_files_do_not() {
        let files =
            ["1.JPG", "2.Jpeg", "3.PNG", "4.bmp", "5.TIF", "6.tiff", "7.webp", "8.pnm", "9.pbm", "10.pgm", "11.ppm"];
        let mut all = files.to_vec();
        all.extend(["cfg.mat", "groundtruth.txt", ".1.jpg", "._2.jpg", "thumbs.db", "jpg", "12.gif"]);
        assert_eq!(names(&all), files);
    }

    #[test]
    fn folders_named_as_images_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("0.jpg")).unwrap();
        std::fs::write(folder.path().join("1.jpg"), b"").unwrap();
        let listing = list(folder.path()).unwrap();
        assert_eq!((listing.images.len(), listing.folders, listing.files), (1, 1, 0));
    }

    #[test]
    fn the_last_digits_of_a_name_are_its_number() {
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
        fn sorting_never_panics(names in prop::collection::vec("[a-c0-2é點_ ()-]{0,6}", 0..60)) {
            let mut names = names;
            names.sort_by(|a, b| alphanumeric_sort::compare_str(a, b).then_with(|| a.cmp(b)));
        }

        #[test]
        fn no_name_panics(name in "\\PC{0,20}") {
            let _ = number(Path::new(&name));
            let _ = is_image(Path::new(&name));
        }
    }
}
