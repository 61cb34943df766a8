//! YOLO datasets, and the frames as pictures.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::output::Folder;
use super::record::{Run, rounded};
use super::{Exporter, FrameRecord, FrameResult, Summary};
use crate::atomic_file;
use crate::bbox::BBox;
use crate::encode;
use crate::error::{Error, Result};
use crate::text::csv_line;
use crate::tracker::State;

/// The file beside the labels that says which line is which target, and what it was: YOLO itself has neither ids nor given
/// boxes.
pub(super) const TRACKS: &str = "tracks.csv";

/// The files beside the labels.
const FILES: [&str; 3] = ["data.yaml", "classes.txt", TRACKS];

/// Decimals of a share of the frame's size: less than a thousandth of a pixel.
const DIGITS: i32 = 8;

/// A YOLO dataset: `labels/NAME.txt` with a line `class x y w h` per visible target (centre and size as shares of the
/// frame's size, clipped to it), `data.yaml`, `classes.txt`, and [`TRACKS`]. For a rotated target the upright box around
/// it. [`Frames`] writes the pictures into `images`.
#[derive(Debug)]
pub struct Yolo {
    folder: Folder,
    labels: Folder,
    tracks: String,
}

impl Yolo {
    /// Opens the folder.
    ///
    /// # Errors
    /// [`Error::Output`] when it cannot be written, or has a dataset from elsewhere.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Folder::create(path)?;
        FILES.iter().try_for_each(|name| folder.check(name))?;
        let labels = Folder::create(&path.join("labels"))?;
        Ok(Self { folder, labels, tracks: csv_line(&["file", "frame", "id", "given", "label"]) })
    }
}

/// Centre and size of a visible target as shares of the frame's size; `None` for one outside of the frame.
fn place(record: &FrameRecord, run: &Run) -> Option<[f64; 4]> {
    let around = record.polygon.and_then(|corners| BBox::around_polygon(&corners));
    let BBox { x, y, w, h } = around.or(record.finite_box()).filter(|_| record.is_visible())?;
    let share = |from: f64, length: f64, side: usize| {
        let [from, to] = [from, from + length].map(|at| (at / side as f64).clamp(0.0, 1.0));
        (rounded((from + to) / 2.0, DIGITS), rounded(to - from, DIGITS))
    };
    let ((x, w), (y, h)) = (share(x, w, run.source.width), share(y, h, run.source.height));
    (w > 0.0 && h > 0.0).then_some([x, y, w, h])
}

impl Exporter for Yolo {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        // A picture without labels shows nothing, for YOLO too.
        if frame.records.is_empty() {
            return Ok(());
        }
        let picture = frame.picture_name();
        let name = self.labels.name_for(&picture, "txt");
        let stem = Path::new(&picture).file_stem().unwrap_or_default().to_string_lossy();
        if name != format!("{stem}.txt") {
            let reason = format!("YOLO does not tell {picture} from another picture {stem}: rename one of them");
            return Err(Error::Output { path: name.into(), reason });
        }
        let mut text = String::new();
        for record in frame.records {
            let Some([x, y, w, h]) = place(record, frame.run) else { continue };
            let label = format!("{} {x} {y} {w} {h}", frame.run.class_place(record.id));
            let (id, given) = (record.id.unwrap_or(1), record.state == State::Initial);
            let [index, id, given] = [record.index.to_string(), id.to_string(), given.to_string()];
            self.tracks += &csv_line(&[&*stem, &index, &id, &given, &label]);
            text += &(label + "\n");
        }
        atomic_file::write(&self.labels.claim(&name)?, text.as_bytes())
    }

    fn finish(mut self: Box<Self>, run: &Run, _: &Summary) -> Result<()> {
        let classes = run.classes();
        let mut data =
            "# Without `path`, folders lie beside this file.\ntrain: images\nval: images\nnames:\n".to_owned();
        (0..).zip(&classes).for_each(|(place, class)| data += &format!("  {place}: {}\n", json!(class)));
        let list = classes.iter().map(|class| class.replace(['\r', '\n'], " ") + "\n").collect();
        for (name, text) in FILES.into_iter().zip([data, list, std::mem::take(&mut self.tracks)]) {
            atomic_file::write(&self.folder.claim(name)?, text.as_bytes())?;
        }
        Ok(())
    }
}

/// Quality of the JPEG, 1 to 100.
const QUALITY: u8 = 95;

/// The frames as pictures in a folder: copies of image files, JPEG of other frames.
#[derive(Debug)]
pub struct Frames(Folder);

impl Frames {
    /// Opens the folder.
    ///
    /// # Errors
    /// [`Error::Output`] when it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        Folder::create(path).map(Self)
    }
}

impl Exporter for Frames {
    fn draws(&self) -> bool {
        true
    }

    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        let Some(pixels) = &frame.pixels else { return Ok(()) };
        let path = self.0.claim(&frame.picture_name())?;
        let bytes = match frame.path {
            Some(file) => fs::read(file),
            None => encode::jpeg(pixels, QUALITY, false),
        };
        atomic_file::write(&path, &bytes.map_err(|source| Error::io(&path, source))?)
    }

    fn finish(self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run;

    #[test]
    fn a_box_across_the_border_ends_at_it() {
        let (run, records) = run();
        let at = |x, y| place(&FrameRecord { bbox: BBox::new(x, y, 32.0, 24.0), ..records[1].clone() }, &run);
        assert_eq!(at(16.0, 12.0), Some([0.5, 0.5, 0.5, 0.5]));
        assert_eq!(at(48.0, 36.0), Some([0.875, 0.875, 0.25, 0.25]));
        assert_eq!(at(-16.0, -12.0), Some([0.125, 0.125, 0.25, 0.25]));
        assert_eq!((at(64.0, 12.0), at(16.0, -24.0)), (None, None), "outside");
    }
}
