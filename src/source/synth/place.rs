//! The folder that a scene is written to: what may lie there already, and what a killed run leaves.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::replace::{replace, sweep};

/// A file that lies in the folder until all others do.
pub(super) const UNFINISHED: &str = ".kcf-unfinished";

/// Makes the folders, or clears those of an earlier sequence when that is wanted.
pub(super) fn prepare(out: &Path, images: &Path, force: bool) -> Result<()> {
    let refuse = |expected: &str| {
        let value = out.display().to_string();
        Err(Error::Parameter { name: "out", value, expected: expected.into() })
    };
    match fs::read_dir(out) {
        Ok(mut entries) => {
            if !force && entries.next().is_some() {
                return refuse("the folder has content already: choose another, or overwrite it");
            }
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::io(out, e)),
    }
    let parts = ["scene.json", "groundtruth_rect.txt"].map(|name| out.join(name));
    let old = old_images(images)?;
    if !is_rendered(out) && (parts.iter().any(|part| part.exists()) || old.iter().any(|path| is_frame(path))) {
        return refuse(
            "it holds images or a truth that were not rendered by this program, and none of them is removed: choose \
             another",
        );
    }
    fs::create_dir_all(images).map_err(|e| Error::io(images, e))?;
    [out, images].into_iter().for_each(sweep);
    // The mark comes first and goes last: what a killed run leaves is known, and does not look like a whole sequence.
    write_whole(&out.join(UNFINISHED), b"The sequence beside this file is not finished.\n")?;
    // Old rows and frames would belong to none of the new ones.
    for path in parts.into_iter().chain(old) {
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&path, e)),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a sequence of this program lies in a folder, be it one that was never finished.
fn is_rendered(out: &Path) -> bool {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head = fs::read(out.join("scene.json")).ok().and_then(|text| serde_json::from_slice::<Head>(&text).ok());
    head.is_some_and(|head| head.schema.starts_with("kcf-track-scene/")) || out.join(UNFINISHED).is_file()
}

/// What of an earlier sequence may lie in `images`.
fn old_images(images: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(images) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(images, e)),
    };
    let paths = entries.map(|entry| Ok(entry.map_err(|e| Error::io(images, e))?.path()));
    let paths = paths.collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| is_frame(path)).collect())
}

/// Whether a file in `img/` is a numbered frame.
fn is_frame(path: &Path) -> bool {
    let part = |part: Option<&std::ffi::OsStr>| part.and_then(|s| s.to_str()).unwrap_or_default().to_owned();
    let (stem, extension) = (part(path.file_stem()), part(path.extension()));
    let number = !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_digit());
    number && matches!(extension.as_str(), "jpg" | "png")
}

/// Writes a file so that it is never seen half written.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, |file| file.write_all(bytes)).map(drop).map_err(|e| Error::io(path, e))
}
