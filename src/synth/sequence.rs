//! A scene on disk: the folder that OTB made usual, and the scene itself beside it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use image::{ExtendedColorType, RgbImage};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::place::{UNFINISHED, prepare, write_whole};
use super::{Scene, SceneParams, Truth};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::media::annotation::Base;
use crate::{jpeg, png};

/// The first word of a scene file and its version.
const SCHEMA: &str = "kcf-track-scene/1";

/// How frames are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JPEG of a quality from 1 (small) to 100 (good).
    Jpg {
        /// The encoder's quality.
        quality: u8,
    },
    /// PNG: lossless.
    Png,
}

impl Format {
    /// A JPEG of a checked quality.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a quality that is not 1 to 100.
    pub fn jpg(quality: u8) -> Result<Self> {
        if (1..=100).contains(&quality) {
            Ok(Self::Jpg { quality })
        } else {
            let expected = "must be 1 (small) to 100 (good)".into();
            Err(Error::Parameter { name: "quality", value: quality.to_string(), expected })
        }
    }

    /// The ending of a file's name, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpg { .. } => "jpg",
            Self::Png => "png",
        }
    }

    fn encode(self, picture: &RgbImage) -> std::io::Result<Vec<u8>> {
        match self {
            // Colours at their full size, as edges between them are where a target ends.
            Self::Jpg { quality } => Frame::try_from(picture)
                .ok()
                .and_then(|frame| jpeg::encode(&frame, quality, false))
                .ok_or_else(|| std::io::Error::other("the picture does not fit into a JPEG")),
            Self::Png => {
                png::encode(picture, picture.dimensions(), ExtendedColorType::Rgb8).map_err(std::io::Error::other)
            }
        }
    }
}

/// How a sequence is written.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// How frames are stored.
    pub format: Format,
    /// Whether to write into a folder that is not empty. A sequence that was rendered into it before is removed first,
    /// whole or not; all other files stay.
    pub force: bool,
    /// The command that made the sequence, for the scene file.
    pub command: Option<String>,
}

impl Default for WriteOptions {
    /// JPEG of quality 90, into a new or empty folder.
    fn default() -> Self {
        Self { format: Format::Jpg { quality: 90 }, force: false, command: None }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Number of frames.
    pub frames: usize,
    /// Bytes of all images.
    pub bytes: u64,
}

/// The document `scene.json`: what the frames were made from, and what is true of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneFile {
    /// `kcf-track-scene/1`.
    pub schema: String,
    /// The version of this crate.
    pub version: String,
    /// The command that made the sequence, if one did.
    pub command: Option<String>,
    /// How the frames are stored.
    pub format: Format,
    /// All parameters, the seed among them.
    pub params: SceneParams,
    /// The truth of each frame; boxes are 0-based here.
    pub frames: Vec<Truth>,
}

/// Renders all frames of a scene, on all threads, into the folder `out`:
///
/// - `img/0001.jpg` and so on (more digits where there are more than 9999 frames),
/// - `groundtruth_rect.txt`: a line `x,y,w,h` a frame, **1-based** as in OTB, to four decimals. A box that reaches over
///   the image's border is written whole (OTB's own scoring calls it invalid when x or y is not positive); a target
///   without a common pixel with the image is `0,0,0,0`, which OTB's files use and which its scoring calls invalid. A
///   hidden target keeps its box,
/// - `scene.json`: a [`SceneFile`], the exact truth. It is written last, so a folder that has it is whole.
///
/// Each file appears whole or not at all. `progress` is told how many frames are done, from any thread.
///
/// # Errors
/// [`Error::Parameter`] for a folder that has content, unless forced, and for one that holds frames or a truth which
/// were not rendered, in any case; for a JPEG quality outside 1 to 100. [`Error::Io`] with the path of whatever cannot
/// be written.
pub fn write_sequence(
    scene: &Scene,
    out: &Path,
    options: &WriteOptions,
    progress: impl Fn(usize) + Sync,
) -> Result<Written> {
    write(scene, out, options, &progress)
}

/// The same, compiled once whatever listens.
fn write(scene: &Scene, out: &Path, options: &WriteOptions, progress: &(dyn Fn(usize) + Sync)) -> Result<Written> {
    if let Format::Jpg { quality } = options.format {
        Format::jpg(quality)?;
    }
    let images = out.join("img");
    prepare(out, &images, options.force, (scene.frames(), options.format.extension()))?;
    let digits = scene.frames().to_string().len().max(4);
    let (bytes, done) = (AtomicU64::new(0), AtomicUsize::new(0));
    let frames = (0..scene.frames())
        .into_par_iter()
        .map(|index| {
            let (picture, truth) = scene.render(index);
            let path = images.join(format!("{:0digits$}.{}", index + 1, options.format.extension()));
            let encoded = options.format.encode(&picture).map_err(|e| Error::io(&path, e))?;
            write_whole(&path, &encoded)?;
            bytes.fetch_add(encoded.len() as u64, Ordering::Relaxed);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            Ok(truth)
        })
        .collect::<Result<Vec<Truth>>>()?;

    let lines: String = frames.iter().map(otb_line).collect();
    write_whole(&out.join("groundtruth_rect.txt"), lines.as_bytes())?;
    let file = SceneFile {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        command: options.command.clone(),
        format: options.format,
        params: scene.params().clone(),
        frames,
    };
    let path = out.join("scene.json");
    let document = file.to_json().map_err(|e| Error::io(&path, e.into()))?;
    write_whole(&path, document.as_bytes())?;
    let mark = out.join(UNFINISHED);
    fs::remove_file(&mark).map_err(|e| Error::io(&mark, e))?;
    Ok(Written { frames: file.frames.len(), bytes: bytes.into_inner() })
}

impl SceneFile {
    /// JSON, a line for each frame.
    fn to_json(&self) -> serde_json::Result<String> {
        let mut head = Self { frames: Vec::new(), ..self.clone() };
        head.frames.clear();
        let head = serde_json::to_string_pretty(&head)?;
        let rows = self.frames.iter().map(serde_json::to_string).collect::<serde_json::Result<Vec<_>>>()?;
        // The frames come last: an empty list stands where theirs goes.
        let start = head.strip_suffix("[]\n}").unwrap_or(&head);
        Ok(format!("{start}[\n    {}\n  ]\n}}\n", rows.join(",\n    ")))
    }
}

/// One line of `groundtruth_rect.txt`.
fn otb_line(truth: &Truth) -> String {
    if truth.in_view {
        let [x, y, w, h] = Base::One.to_numbers(&truth.bbox);
        format!("{x:.4},{y:.4},{w:.4},{h:.4}\n")
    } else {
        "0,0,0,0\n".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::Preset;

    fn scene(frames: usize) -> Scene {
        let params = SceneParams {
            frames,
            width: 64,
            height: 48,
            target_width: 12,
            target_height: 16,
            out_of_view: true,
            ..Preset::Medium.params()
        };
        Scene::new(params).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_folder_holds_frames_boxes_and_the_scene() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("new/deep");
        let scene = scene(100);
        let most = AtomicUsize::new(0);
        let options = WriteOptions { format: Format::Png, force: false, command: Some("made by a test".into()) };
        let progress = |done| {
            most.fetch_max(done, Ordering::Relaxed);
        };
        let written = write_sequence(&scene, &out, &options, progress).unwrap();
        assert_eq!((written.frames, most.into_inner()), (100, 100));
        assert_eq!(names(&out), ["groundtruth_rect.txt", "img", "scene.json"]);
        let images = names(&out.join("img"));
        assert_eq!((images.len(), images[0].as_str(), images[99].as_str()), (100, "0001.png", "0100.png"));
        let stored: u64 = images.iter().map(|n| fs::metadata(out.join("img").join(n)).unwrap().len()).sum();
        assert_eq!(stored, written.bytes);
        let last = image::load_from_memory(&fs::read(out.join("img/0100.png")).unwrap()).unwrap().into_rgb8();
        assert!(last == scene.render(99).0);

        let text = fs::read_to_string(out.join("groundtruth_rect.txt")).unwrap();
        let rows: Vec<Vec<f64>> = text.lines().map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
        assert_eq!(rows.len(), 100);
        let mut away = 0;
        for (index, row) in rows.iter().enumerate() {
            let truth = scene.truth(index);
            let b = truth.bbox;
            if truth.in_view {
                let exact = [b.x + 1.0, b.y + 1.0, b.w, b.h];
                assert!(row.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-4));
            } else {
                assert_eq!(row, &[0.0; 4]);
                away += 1;
            }
        }
        assert!(away > 5);

        // The scene file makes the same scene again.
        let file: SceneFile = serde_json::from_slice(&fs::read(out.join("scene.json")).unwrap()).unwrap();
        assert_eq!((file.schema.as_str(), file.command.as_deref()), (SCHEMA, Some("made by a test")));
        assert_eq!((&file.params, file.format, file.frames.len()), (scene.params(), Format::Png, 100));
        let again = Scene::new(file.params).unwrap();
        assert!(again.render(42) == scene.render(42));
    }

    #[test]
    fn other_content_is_refused_and_forced_runs_leave_no_old_frames() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        fs::write(out.join("thesis.tex"), "mine").unwrap();
        let options = WriteOptions::default();
        let refused = write_sequence(&scene(3), out, &options, |_| ()).unwrap_err();
        let named = out.display().to_string();
        assert!(matches!(&refused, Error::Parameter { name: "out", value, .. } if *value == named), "{refused}");
        assert_eq!(names(out), ["thesis.tex"]);

        let forced = WriteOptions { force: true, ..options };
        write_sequence(&scene(5), out, &forced, |_| ()).unwrap();
        fs::write(out.join("img/.kcf-Ab12.tmp"), "half a frame").unwrap();
        fs::write(out.join("img/notes.txt"), "mine too").unwrap();
        let png = WriteOptions { format: Format::Png, ..forced };
        write_sequence(&scene(2), out, &png, |_| ()).unwrap();
        assert_eq!(names(&out.join("img")), ["0001.png", "0002.png", "notes.txt"]);
        assert_eq!(names(out), ["groundtruth_rect.txt", "img", "scene.json", "thesis.tex"]);
    }

    #[test]
    fn force_removes_nothing_that_was_not_rendered() {
        let parent = tempfile::tempdir().unwrap();
        let forced = WriteOptions { force: true, format: Format::Png, ..WriteOptions::default() };
        for (case, file) in [("a", "img/0001.jpg"), ("b", "groundtruth_rect.txt"), ("c", "scene.json")] {
            let out = parent.path().join(case);
            fs::create_dir_all(out.join("img")).unwrap();
            fs::write(out.join(file), "somebody's").unwrap();
            let before = (names(&out), names(&out.join("img")));
            let refused = write_sequence(&scene(2), &out, &forced, |_| ()).unwrap_err().to_string();
            assert!(refused.contains("not rendered by this program"), "{refused}");
            assert_eq!((names(&out), names(&out.join("img"))), before);
            assert_eq!(fs::read_to_string(out.join(file)).unwrap(), "somebody's");
        }
        // Beside what was rendered: a number that was not, or another form.
        for (case, file) in [("d", "0003.png"), ("e", "0001.jpg"), ("f", "1.png")] {
            let out = parent.path().join(case);
            write_sequence(&scene(2), &out, &forced, |_| ()).unwrap();
            fs::write(out.join("img").join(file), "somebody's").unwrap();
            let before = names(&out.join("img"));
            let refused = write_sequence(&scene(4), &out, &forced, |_| ()).unwrap_err().to_string();
            assert!(refused.contains("not rendered by this program"), "{refused}");
            assert_eq!(names(&out.join("img")), before);
        }
    }

    #[test]
    fn what_an_interrupted_run_leaves_has_no_old_truth_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (out, images) = (folder.path(), folder.path().join("img"));
        let forced = WriteOptions { force: true, format: Format::Png, ..WriteOptions::default() };
        write_sequence(&scene(5), out, &forced, |_| ()).unwrap();
        // Interrupted when the first frame is there: the old rows and frames are gone before that.
        let stop = |_| panic!("interrupted");
        assert!(std::panic::catch_unwind(|| write_sequence(&scene(4), out, &forced, stop)).is_err());
        assert_eq!(names(out), [UNFINISHED, "img"]);
        assert!(names(&images).len() <= 4);
        // Of a run that was killed while it removed the old frames, these may be left, in their own form.
        fs::write(images.join("0005.png"), "old").unwrap();
        write_sequence(&scene(3), out, &forced, |_| ()).unwrap();
        assert_eq!(names(out), ["groundtruth_rect.txt", "img", "scene.json"]);
        assert_eq!(names(&images), ["0001.png", "0002.png", "0003.png"]);
    }

    #[test]
    fn errors_name_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a-file");
        fs::write(&file, "").unwrap();
        for out in [file.clone(), file.join("below")] {
            let error = write_sequence(&scene(1), &out, &WriteOptions::default(), |_| ()).unwrap_err();
            assert!(matches!(&error, Error::Io { .. }) && error.to_string().contains("a-file"), "{error}");
        }
        let bad = WriteOptions { format: Format::Jpg { quality: 0 }, ..WriteOptions::default() };
        let error = write_sequence(&scene(1), &folder.path().join("x"), &bad, |_| ()).unwrap_err();
        assert!(matches!(error, Error::Parameter { name: "quality", .. }));
    }
}
