//! The formats of outputs by their names and endings.

use std::path::Path;

use super::output::{Destination, is_video};
use super::{Coco, Cvat, Exporter, Json, JsonLines, LabelStudio, Table, Yolo};
use crate::error::Result;

/// The format of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    JsonLines,
    Otb,
    Csv,
    Mot,
    Coco,
    Cvat,
    LabelStudio,
    Yolo,
    Frames,
    Response,
    Overlay,
}

/// What the formats of boxes need to know besides the boxes.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Frames of the source, exact or expected.
    pub length: Option<usize>,
    /// Frames per second of the source.
    pub rate: Option<f64>,
    /// Pixels by which interpolated frames may differ.
    pub tolerance: f64,
    /// Whether the frames are written as pictures too.
    pub with_frames: bool,
}

impl Form {
    /// The formats of boxes, by the names of their flags.
    pub const BOXES: [(&str, Self); 9] = [
        ("json", Self::Json),
        ("jsonl", Self::JsonLines),
        ("csv", Self::Csv),
        ("otb", Self::Otb),
        ("mot", Self::Mot),
        ("coco", Self::Coco),
        ("cvat", Self::Cvat),
        ("label-studio", Self::LabelStudio),
        ("yolo", Self::Yolo),
    ];

    /// The form that a path's ending stands for.
    ///
    /// # Errors
    /// What the ending must be.
    pub fn of(path: &Path, several: bool) -> Result<Self, String> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("json") => Ok(Self::Json),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("csv") => Ok(Self::Csv),
            Some("txt") if several => Ok(Self::Mot),
            Some("txt") => Ok(Self::Otb),
            None => Ok(Self::Overlay),
            Some(_) if is_video(path) || path.is_dir() => Ok(Self::Overlay),
            Some(_) => {
                Err("the ending must be .json, .jsonl, .csv, .txt, that of a video, or none for a folder".into())
            }
        }
    }

    /// Opens a format of boxes; `None` for one of pictures.
    pub fn boxes(self, to: &Destination, layout: &Layout) -> Option<Result<Box<dyn Exporter>>> {
        fn boxed(exporter: Result<impl Exporter + 'static>) -> Option<Result<Box<dyn Exporter>>> {
            Some(exporter.map(|exporter| Box::new(exporter) as _))
        }
        let Layout { length, rate, tolerance, with_frames } = *layout;
        match self {
            Self::Json => boxed(Json::create(to)),
            Self::JsonLines => boxed(JsonLines::create(to)),
            Self::Otb => boxed(Table::otb(to)),
            Self::Csv => boxed(Table::csv(to)),
            Self::Mot => boxed(Table::mot(to)),
            Self::Coco => boxed(Coco::create(to, with_frames)),
            Self::Cvat => boxed(Cvat::create(to, length, tolerance)),
            Self::LabelStudio => boxed(LabelStudio::create(to, rate, tolerance)),
            Self::Yolo => boxed(Yolo::create(to.path())),
            Self::Frames | Self::Response | Self::Overlay => None,
        }
    }
}
