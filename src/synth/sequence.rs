//! A scene on disk in the layout of OTB, and a scene as a source of frames.

use std::fs;
use std::path::Path;
use std::time::Instant;

use image::{DynamicImage, ExtendedColorType, RgbImage};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Scene, SceneParams, Truth};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameBuf};
use crate::media::annotation::Base;
use crate::media::{Demand, Info, Item, Source, Span, Stream, demanded};
use crate::{atomic_file, encode};

/// How frames are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Format {
    /// JPEG of quality 90
    Jpg,
    /// Lossless PNG
    Png,
}

impl Format {
    fn encode(self, picture: &RgbImage) -> std::io::Result<Vec<u8>> {
        match self {
            // Chroma at full resolution: coarser chroma would blur the target's edge.
            Self::Jpg => encode::jpeg(&Frame::try_from(picture).map_err(std::io::Error::other)?, 90, false),
            Self::Png => encode::png(picture, picture.dimensions(), ExtendedColorType::Rgb8),
        }
    }
}

/// The document `scene.json`: the parameters of the frames, and the truth of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneFile {
    /// `kcf-track-scene/1`.
    pub schema: String,
    /// The version of this crate.
    pub version: String,
    /// The command that made the sequence, if one did.
    pub command: Option<String>,
    /// All parameters, the seed among them.
    pub params: SceneParams,
    /// The truth of each frame; boxes are 0-based here.
    pub frames: Vec<Truth>,
}

/// Renders all frames of a scene, on all threads, into the new or empty folder `out`:
///
/// - `img/0001.jpg` and so on,
/// - `groundtruth_rect.txt`: a line `x,y,w,h` a frame, **1-based** as in OTB, to four decimals. A box that reaches over
///   the image's border is written whole; a hidden target keeps its box; a target outside of the image is `0,0,0,0`,
///   which is invalid in OTB's scoring,
/// - `scene.json`: a [`SceneFile`] with the exact truth; `command` is the command that made the sequence, if one did.
///
/// `groundtruth_rect.txt` is written last: a folder without it is incomplete. `progress` is called after each frame,
/// from any thread; its error ends the writing.
///
/// # Errors
/// [`Error::Parameter`] for a folder that has content. [`Error::Io`] with the path of a file that cannot be written.
pub fn write_sequence(
    scene: &Scene,
    out: &Path,
    format: Format,
    command: Option<String>,
    progress: impl Fn() -> Result<()> + Sync,
) -> Result<()> {
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::parameter("out", out.display(), "the folder is not empty: choose another"));
    }
    let frames: Vec<Truth> = (0..scene.frames()).into_par_iter().map(|index| scene.truth(index)).collect();
    let rows: String = frames.iter().map(otb_line).collect();
    let (schema, version) = ("kcf-track-scene/1".into(), env!("CARGO_PKG_VERSION").into());
    let file = SceneFile { schema, version, command, params: scene.params().clone(), frames };
    atomic_file::write_json(&out.join("scene.json"), &file)?;
    let extension = if format == Format::Png { "png" } else { "jpg" };
    (0..scene.frames()).into_par_iter().try_for_each(|index| {
        let path = out.join(format!("img/{:04}.{extension}", index + 1));
        let encoded = format.encode(&scene.render(index).0).map_err(|e| Error::io(&path, e))?;
        atomic_file::write(&path, &encoded)?;
        progress()
    })?;
    atomic_file::write(&out.join("groundtruth_rect.txt"), rows.as_bytes())
}

/// One line of `groundtruth_rect.txt`.
fn otb_line(truth: &Truth) -> String {
    let [x, y, w, h] = Base::One.to_numbers(&truth.bbox);
    if truth.in_view { format!("{x:.4},{y:.4},{w:.4},{h:.4}\n") } else { "0,0,0,0\n".into() }
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
        Ok(Box::new((span.first.max(1)..=last).map(move |position| {
            let begun = Instant::now();
            let picture = DynamicImage::from(scene.render(position - 1).0);
            let decoded = FrameBuf::try_from(picture).map(|rgb| demanded(rgb, demand));
            let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
            Item { name: format!("{position:04}"), ..Item::numbered(position, None, decoded, decode_ms) }
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(frames: usize) -> Scene {
        let params =
            SceneParams { frames, width: 64, height: 48, target_width: 12, target_height: 16, ..Default::default() };
        Scene::new(SceneParams { out_of_view: true, motion: 4.0, ..params }).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn the_folder_holds_frames_boxes_and_the_scene() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("new/deep");
        let scene = scene(100);
        write_sequence(&scene, &out, Format::Png, Some("made by a test".into()), || Ok(())).unwrap();
        assert_eq!(names(&out), ["groundtruth_rect.txt", "img", "scene.json"]);
        let images = names(&out.join("img"));
        assert_eq!((images.len(), images[0].as_str(), images[99].as_str()), (100, "0001.png", "0100.png"));
        let last = image::load_from_memory(&fs::read(out.join("img/0100.png")).unwrap()).unwrap().into_rgb8();
        assert!(last == scene.render(99).0);

        let text = fs::read_to_string(out.join("groundtruth_rect.txt")).unwrap();
        let rows: Vec<Vec<f64>> = text.lines().map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
        assert_eq!(rows.len(), 100);
        for (index, row) in rows.iter().enumerate() {
            let Truth { bbox: b, in_view, .. } = scene.truth(index);
            let expected = if in_view { [b.x + 1.0, b.y + 1.0, b.w, b.h] } else { [0.0; 4] };
            assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{row:?}");
        }
        assert!(rows.iter().filter(|row| row[..] == [0.0; 4]).count() > 5);

        // The scene file makes the same scene again.
        let file: SceneFile = serde_json::from_slice(&fs::read(out.join("scene.json")).unwrap()).unwrap();
        assert_eq!(file.command.as_deref(), Some("made by a test"));
        assert!(Scene::new(file.params).unwrap().render(42) == scene.render(42));
        assert!(file.frames.iter().enumerate().all(|(index, truth)| *truth == scene.truth(index)));
    }

    #[test]
    fn a_folder_with_content_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.tex"), "mine").unwrap();
        let error = write_sequence(&scene(3), folder.path(), Format::Png, None, || Ok(())).unwrap_err();
        assert!(matches!(&error, Error::Parameter { name: "out", .. }), "{error}");
        assert_eq!(names(folder.path()), ["thesis.tex"]);
        let file = folder.path().join("thesis.tex");
        let error = write_sequence(&scene(1), &file, Format::Png, None, || Ok(())).unwrap_err();
        assert!(matches!(&error, Error::Io { .. }) && error.to_string().contains("thesis.tex"), "{error}");
    }
}
