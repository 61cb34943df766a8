//! The folder that a scene is written to: what may lie there already, and what a killed run leaves.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Format;
use crate::atomic_file::{remove, replace};
use crate::error::{Error, Result};

/// A file that lies in the folder until all others do.
pub(super) const UNFINISHED: &str = ".kcf-unfinished";

/// Which frames of `img/` a run has rendered, or may have.
struct Rendered {
    /// The number of the last one.
    frames: usize,
    /// The endings of their names.
    endings: Vec<String>,
}

/// Makes the folders, or clears those of an earlier sequence when that is wanted, for `frames` frames whose names have
/// this ending.
pub(super) fn prepare(out: &Path, images: &Path, force: bool, (frames, ending): (usize, &str)) -> Result<()> {
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
    let rendered = Rendered::read(out);
    let foreign = |path: &PathBuf| !rendered.as_ref().is_some_and(|rendered| rendered.holds(path));
    if rendered.is_none() && parts.iter().any(|part| part.exists()) || old.iter().any(foreign) {
        return refuse(
            "it holds images or a truth that were not rendered by this program, and none of them is removed: choose \
             another",
        );
    }
    fs::create_dir_all(images).map_err(|e| Error::io(images, e))?;
    // The mark comes first and goes last: what a killed run leaves is known, and does not look like a whole sequence.
    let mut left = rendered.unwrap_or(Rendered { frames, endings: Vec::new() });
    left.frames = left.frames.max(frames);
    left.endings.push(ending.into());
    let mark = format!("The sequence beside this file is not finished.\n{} {}\n", left.frames, left.endings.join(" "));
    write_whole(&out.join(UNFINISHED), mark.as_bytes())?;
    // Old rows and frames would belong to none of the new ones.
    for path in parts.into_iter().chain(old) {
        remove(&path).map_err(|e| Error::io(&path, e))?;
    }
    Ok(())
}

impl Rendered {
    /// What a sequence of this program in a folder consists of, be it one that was never finished; `None` where there
    /// is none.
    fn read(out: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
            format: Format,
            params: Params,
        }
        #[derive(Deserialize)]
        struct Params {
            frames: usize,
        }
        if let Ok(mark) = fs::read_to_string(out.join(UNFINISHED)) {
            let mut words = mark.lines().nth(1).unwrap_or_default().split_whitespace();
            let Some(frames) = words.next().and_then(|frames| frames.parse().ok()) else {
                // Of a version that did not say it.
                return Some(Self { frames: usize::MAX, endings: ["jpg", "png"].map(String::from).into() });
            };
            return Some(Self { frames, endings: words.map(String::from).collect() });
        }
        let head: Head = serde_json::from_slice(&fs::read(out.join("scene.json")).ok()?).ok()?;
        let endings = vec![head.format.extension().into()];
        head.schema.starts_with("kcf-track-scene/").then_some(Self { frames: head.params.frames, endings })
    }

    /// Whether a numbered picture is one of these.
    fn holds(&self, path: &Path) -> bool {
        let part = |part: Option<&std::ffi::OsStr>| part.and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        let (stem, ending) = (part(path.file_stem()), part(path.extension()));
        let number = stem.parse().is_ok_and(|number: usize| (1..=self.frames).contains(&number));
        number && stem.len() >= 4 && self.endings.contains(&ending)
    }
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
    replace(path, |file| file.write_all(bytes)).map_err(|e| Error::io(path, e))
}
