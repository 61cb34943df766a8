//! A scene on disk in the layout of OTB, and a scene as a source of frames.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use image::{ExtendedColorType, RgbImage};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Scene, SceneParams, Truth};
use crate::atomic_file::{self, remove};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::frame::{Channels, Frame, FrameBuf, PixelFormat};
use crate::media::annotation::Base;
use crate::media::{Demand, Info, Item, Source, Span, Stream};
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

    /// The name of frame `index` (0-based) of `frames`.
    fn file_name(self, index: usize, frames: usize) -> String {
        let digits = frames.to_string().len().max(4);
        format!("{:0digits$}.{}", index + 1, self.extension())
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
/// - `scene.json`: a [`SceneFile`], the exact truth. It is written first and `groundtruth_rect.txt` last: a folder without the latter
///   is incomplete.
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
    prepare(out, &images, options.force)?;
    let frames: Vec<Truth> = (0..scene.frames()).into_par_iter().map(|index| scene.truth(index)).collect();
    let rows: String = frames.iter().map(otb_line).collect();
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
    atomic_file::write(&path, document.as_bytes())?;
    let (bytes, done) = (AtomicU64::new(0), AtomicUsize::new(0));
    (0..scene.frames()).into_par_iter().try_for_each(|index| {
        let path = images.join(options.format.file_name(index, scene.frames()));
        let encoded = options.format.encode(&scene.render(index).0).map_err(|e| Error::io(&path, e))?;
        atomic_file::write(&path, &encoded)?;
        bytes.fetch_add(encoded.len() as u64, Ordering::Relaxed);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(())
    })?;
    atomic_file::write(&out.join("groundtruth_rect.txt"), rows.as_bytes())?;
    Ok(Written { frames: scene.frames(), bytes: bytes.into_inner() })
}

/// Creates the folders. With `force`, removes the sequence that this program rendered into them before.
fn prepare(out: &Path, images: &Path, force: bool) -> Result<()> {
    let refuse = |expected: &str| {
        let value = out.display().to_string();
        Err(Error::Parameter { name: "out", value, expected: expected.into() })
    };
    let occupied = match fs::read_dir(out) {
        Ok(mut entries) => entries.next().is_some(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => false,
        Err(e) => return Err(Error::io(out, e)),
    };
    if occupied && !force {
        return refuse("the folder is not empty: choose another, or overwrite it (--force)");
    }
    let (scene, truth) = (out.join("scene.json"), out.join("groundtruth_rect.txt"));
    let old = fs::read(&scene).ok().and_then(|bytes| serde_json::from_slice::<SceneFile>(&bytes).ok());
    match old {
        Some(old) => {
            let frames = (0..old.frames.len()).map(|index| images.join(old.format.file_name(index, old.frames.len())));
            for path in std::iter::once(truth).chain(frames) {
                remove(&path).map_err(|e| Error::io(&path, e))?;
            }
        }
        None if scene.exists() || truth.exists() || images.exists() => {
            return refuse("it holds images or a truth that this program did not render: choose another folder");
        }
        None => {}
    }
    fs::create_dir_all(images).map_err(|e| Error::io(images, e))
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

impl Source for Scene {
    fn info(&self) -> &Info {
        self.info.get_or_init(|| {
            let truths = (0..self.frames()).map(|index| self.truth(index));
            Info {
                name: "scene".into(),
                length: Some(self.frames()),
                size: Some((self.params.width as usize, self.params.height as usize)),
                truth: truths.map(|truth| truth.in_view.then_some(truth.bbox)).collect(),
                ..Info::default()
            }
        })
    }

    fn stream(&self, span: Span, demand: Demand, _: &CancelToken) -> Result<Stream> {
        let scene = self.clone();
        let last = span.last.map_or(self.frames(), |last| last.min(self.frames()));
        Ok(Box::new((span.first.max(1)..=last).map(move |position| scene.item(position, demand))))
    }
}

impl Scene {
    fn item(&self, position: usize, demand: Demand) -> Item {
        let begun = Instant::now();
        let (picture, _) = self.render(position - 1);
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        let rgb = FrameBuf::new(picture.into_raw(), width, height, PixelFormat::Rgb8);
        let (frame, color) = match (rgb, demand.channels) {
            (Ok(rgb), Channels::Luma) => (Ok(rgb.to_luma()), demand.color.then_some(rgb)),
            (rgb, _) => (rgb, None),
        };
        let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
        Item { position, name: format!("{position:04}"), path: None, timestamp: None, frame, color, decode_ms }
    }
}

#[cfg(test)]
mod sequence_tests {
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
    fn force_replaces_only_a_rendered_sequence() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        fs::write(out.join("thesis.tex"), "mine").unwrap();
        let options = WriteOptions::default();
        let refused = write_sequence(&scene(3), out, &options, |_| ()).unwrap_err();
        assert!(matches!(&refused, Error::Parameter { name: "out", .. }), "{refused}");
        assert_eq!(names(out), ["thesis.tex"]);
        let forced = WriteOptions { force: true, ..options };
        write_sequence(&scene(5), out, &forced, |_| ()).unwrap();
        fs::write(out.join("img/notes.txt"), "mine too").unwrap();
        // An interrupted run leaves no rows, and can be replaced.
        let interrupt = |_| panic!("interrupted");
        assert!(std::panic::catch_unwind(|| write_sequence(&scene(4), out, &forced, interrupt)).is_err());
        assert!(!out.join("groundtruth_rect.txt").exists());
        let png = WriteOptions { format: Format::Png, ..forced.clone() };
        write_sequence(&scene(2), out, &png, |_| ()).unwrap();
        assert_eq!(names(&out.join("img")), ["0001.png", "0002.png", "notes.txt"]);
        assert_eq!(names(out), ["groundtruth_rect.txt", "img", "scene.json", "thesis.tex"]);

        for file in ["img/0001.jpg", "groundtruth_rect.txt", "scene.json"] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("img")).unwrap();
            fs::write(folder.path().join(file), "foreign").unwrap();
            assert!(write_sequence(&scene(2), folder.path(), &forced, |_| ()).is_err());
            assert_eq!(fs::read_to_string(folder.path().join(file)).unwrap(), "foreign");
        }
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
