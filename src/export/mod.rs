//! What a run leaves behind: documents, lines and pictures, one export a file.
//!
//! | export | what | where |
//! | --- | --- | --- |
//! | [`Json`] | one versioned document (`assets/result.schema.json`) | a file or `-` |
//! | [`JsonLines`] | one object a frame | a file or `-` |
//! | [`Otb`] | one 1-based `x,y,w,h` a frame | a file or `-` |
//! | [`Csv`] | a table of all fields but the polygon | a file or `-` |
//! | [`Mot`] | MOT-challenge text, any number of targets | a file or `-` |
//! | [`Coco`], [`Cvat`], [`LabelStudio`] | documents for annotators | a file or `-` |
//! | [`ResponseMaps`] | each frame's response as `.npy` and as a heat map (feature `cli`) | a folder |
//! | [`Overlays`] | each frame with its boxes drawn on it (feature `cli`) | a folder, or a video |
//!
//! Documents and pictures are written beside their place and renamed when they are complete; a run that fails is
//! finished too, with `"completed": false` and the reason. Lines are written one by one. Where something is to be written
//! is checked when an export is created, before anything is tracked.
//!
//! # Use
//! ```
//! use kcf_track::BBox;
//! use kcf_track::export::{Csv, Exports, FrameRecord, FrameView, Json, Run, SourceRecord, Tally};
//! use kcf_track::tracker::State;
//!
//! # fn main() -> kcf_track::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (json, csv) = (folder.path().join("run.json"), folder.path().join("run.csv"));
//! let mut exports = Exports::default();
//! exports.push(Json::create(&json.as_path().into())?);
//! exports.push(Csv::create(&csv.as_path().into())?);
//! let source = SourceRecord { path: "cars".into(), start: 1, end: Some(1), width: 640, height: 480 };
//! exports.begin(&Run::new(source, serde_json::json!({ "preset": "paper" })))?;
//! let mut tally = Tally::default();
//! let record = FrameRecord {
//!     index: 1,
//!     file: "0001.jpg".into(),
//!     time: None,
//!     id: None,
//!     bbox: BBox::new(10.0, 20.0, 30.0, 40.0),
//!     polygon: None,
//!     peak: None,
//!     psr: None,
//!     apce: None,
//!     decision: None,
//!     refit_kept: false,
//!     state: State::Initial,
//!     confidence: None,
//!     long_term: None,
//!     decode_ms: 2.5,
//!     track_ms: 1.25,
//! };
//! tally.add(&record);
//! exports.frame(&record, &FrameView::default())?;
//! exports.finish(&tally.completed(None))?;
//! assert!(std::fs::read_to_string(csv).unwrap().contains("1,0001.jpg,10,20,30,40,,,,,false,initial,,,2.5,1.25,"));
//! # Ok(())
//! # }
//! ```

mod coco;
mod cvat;
#[cfg(feature = "cli")]
mod drawing;
mod journal;
pub(crate) mod json;
mod label_studio;
mod output;
#[cfg(feature = "cli")]
mod overlay;
#[cfg(feature = "cli")]
mod overlay_video;
mod record;
#[cfg(feature = "cli")]
mod response;
#[cfg(test)]
mod schema;
mod text;

use std::path::Path;

pub use self::coco::Coco;
pub use self::cvat::Cvat;
pub use self::journal::{Exports, Journal, StateCounts, Summary, Tally, TargetSummary, TruthSummary};
pub use self::json::Json;
pub use self::label_studio::LabelStudio;
pub use self::output::{Destination, check_distinct, is_video};
#[cfg(feature = "cli")]
pub use self::overlay::{OverlayOptions, Overlays};
pub use self::record::{FrameRecord, Run, SCHEMA, SCHEMA_OF_MANY, SourceRecord, TargetRecord};
#[cfg(feature = "cli")]
pub use self::response::ResponseMaps;
pub use self::text::{Csv, JsonLines, Mot, Otb};

use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;
use crate::tracker::ResponseMap;

/// What an export may look at besides the record: all of it is borrowed, and copied only by an export that needs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameView<'a> {
    /// The image file, which no export writes over.
    pub path: Option<&'a Path>,
    /// The frame's pixels, in colour where [`Export::draws`] asked for it; none of a frame that could not be read.
    pub pixels: Option<Frame<'a>>,
    /// The true box.
    pub truth: Option<BBox>,
    /// The detector's response to the target in this frame.
    pub response: Option<ResponseMap<'a>>,
    /// How many more targets of the same frame follow.
    pub further: usize,
}

/// Something that a run is written to.
///
/// `begin` once, `frame` for every frame in order and in it for every target, `finish` once: of a run that failed, too.
/// An export that is dropped without `finish` leaves whole lines or the old file.
pub trait Export: Send {
    /// Whether it draws on the frames, which should then be in colour.
    fn draws(&self) -> bool {
        false
    }

    /// Takes note of the run, before its first frame.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) with the path.
    fn begin(&mut self, run: &Run) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// Writes one target in one frame.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) with the path: the disk is full, the reader of a pipe has gone.
    fn frame(&mut self, record: &FrameRecord, view: &FrameView<'_>) -> Result<()>;

    /// Writes what remains and makes the file visible.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) with the path.
    fn finish(self: Box<Self>, summary: &Summary) -> Result<()> {
        let _ = summary;
        Ok(())
    }
}

impl std::fmt::Debug for dyn Export + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Export").field("draws", &self.draws()).finish_non_exhaustive()
    }
}
