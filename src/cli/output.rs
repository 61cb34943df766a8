//! Where results go, as flags.

use std::path::PathBuf;

use crate::export::{Destination, OverlayOptions, Overlays, ResponseMaps};
use crate::job::{Drawing, Form, Outputs};
use clap::Args;

use super::Failure;

const DRAWING: Drawing = Drawing {
    response: |folder| Ok(Box::new(ResponseMaps::create(folder)?)),
    overlay: |to, source, inset| {
        let (rate, pixel_aspect) = (source.rate(), source.pixel_aspect());
        Ok(Box::new(Overlays::create(to, OverlayOptions { inset, rate, pixel_aspect })?))
    },
};

/// Any number of outputs at once; `-` is the standard output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Any output, as its ending says: .json, .jsonl, .csv, .txt (as --otb, or --mot of several targets), .mp4 or
    /// another video of overlays, or none for a folder of them; as often as needed
    #[arg(long, short, alias = "output", value_name = "PATH")]
    out: Vec<PathBuf>,
    /// One JSON document, written when the run is over
    #[arg(long, value_name = "FILE|-")]
    json: Option<Destination>,
    /// One JSON object a line and frame, written as frames are tracked
    #[arg(long, value_name = "FILE|-")]
    jsonl: Option<Destination>,
    /// Boxes as OTB has them: x,y,w,h a line, 1-based
    #[arg(long, value_name = "FILE|-")]
    otb: Option<Destination>,
    /// A table with a header line
    #[arg(long, value_name = "FILE|-")]
    csv: Option<Destination>,
    /// Boxes of any number of targets as the MOT challenge has them: frame,id,x,y,w,h,confidence,-1,-1,-1 a line,
    /// 1-based
    #[arg(long, value_name = "FILE|-")]
    mot: Option<Destination>,
    /// An annotation document as COCO has it
    #[arg(long, value_name = "FILE|-")]
    coco: Option<Destination>,
    /// Tracks for CVAT: .xml is what a task uploads (CVAT for video 1.1), any other ending the annotations.json of a
    /// backup
    #[arg(long, value_name = "FILE|-")]
    cvat: Option<Destination>,
    /// An annotation document as Label Studio imports it
    #[arg(long, value_name = "FILE|-")]
    label_studio: Option<Destination>,
    /// A folder for the filter's response to each frame: raw floats (.npy) and a heat map (.png)
    #[arg(long, value_name = "DIR")]
    response: Option<PathBuf>,
    /// The frames with boxes, states and the truth drawn on them: a folder, or a video (.mp4, .mkv, .mov, .avi, .webm,
    /// .gif, .webp), which ffmpeg encodes
    #[arg(long, value_name = "DIR|VIDEO")]
    overlay: Option<PathBuf>,
    /// Draw the filter's response into a corner of the overlay
    #[arg(long)]
    pub inset: bool,
}

impl OutputArgs {
    /// All of them; `several` targets are told apart in them.
    pub fn all(&self, several: bool) -> Result<Outputs, Failure> {
        let folder = |path: &Option<PathBuf>| path.clone().map(Destination::File);
        let named = [
            (Form::Json, self.json.clone()),
            (Form::JsonLines, self.jsonl.clone()),
            (Form::Otb, self.otb.clone()),
            (Form::Csv, self.csv.clone()),
            (Form::Mot, self.mot.clone()),
            (Form::Coco, self.coco.clone()),
            (Form::Cvat, self.cvat.clone()),
            (Form::LabelStudio, self.label_studio.clone()),
            (Form::Response, folder(&self.response)),
            (Form::Overlay, folder(&self.overlay)),
        ];
        let named = named.into_iter().filter_map(|(form, to)| Some((form, to?)));
        Ok(Outputs::new(named, &self.out, several, Some(DRAWING))?)
    }
}
