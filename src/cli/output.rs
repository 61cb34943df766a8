//! Where results go: the flags of all outputs, checked together and opened before anything is tracked.

use std::path::{Path, PathBuf};

use clap::Args;
use kcf_track::Error;
use kcf_track::export::{
    self, Coco, Csv, Cvat, Destination, Exports, Json, JsonLines, LabelStudio, Mot, Otb, OverlayOptions, Overlays,
    ResponseMaps, is_video,
};
use kcf_track::source::Source;

use super::{Failure, inputs};

/// Any number of outputs at once; `-` is the standard output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Any output, as its ending says: .json, .jsonl, .csv, .txt (as --otb, or --mot of several targets), .mp4 or
    /// another video of overlays, or none for a folder of them; as often as needed
    #[arg(long, short, value_name = "PATH")]
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
    /// An annotation document of tracks as CVAT takes it
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
    inset: bool,
}

/// What an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    JsonLines,
    Otb,
    Csv,
    Mot,
    Coco,
    Cvat,
    LabelStudio,
    Response,
    Overlay,
}

impl Form {
    /// The form that a path's ending stands for.
    fn of(path: &Path, several: bool) -> Result<Self, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            _ if path == Path::new("-") => {
                Err(Failure::usage("--out -: the standard output has no ending: say --jsonl - or another form"))
            }
            Some("json") => Ok(Self::Json),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("csv") => Ok(Self::Csv),
            Some("txt") if several => Ok(Self::Mot),
            Some("txt") => Ok(Self::Otb),
            None => Ok(Self::Overlay),
            Some(_) if is_video(path) => Ok(Self::Overlay),
            // A folder may be called anything.
            Some(_) if path.is_dir() => Ok(Self::Overlay),
            Some(_) => Err(Failure::usage(format!(
                "--out {}: its ending must be .json, .jsonl, .csv, .txt or that of a video, or it must have none, for \
                 a folder of overlays",
                path.display()
            ))),
        }
    }

    fn is_folder(self, path: &Path) -> bool {
        match self {
            Self::Response => true,
            Self::Overlay => !is_video(path),
            _ => false,
        }
    }
}

/// One output: its flag without dashes, its form and its place.
type Output = (&'static str, Form, Destination);

impl OutputArgs {
    fn all(&self, several: bool) -> Result<Vec<Output>, Failure> {
        let file = |name, form, to: &Option<Destination>| to.clone().map(|to| (name, form, to));
        let folder = |name, form, path: &Option<PathBuf>| Some((name, form, Destination::File(path.clone()?)));
        let named = [
            file("json", Form::Json, &self.json),
            file("jsonl", Form::JsonLines, &self.jsonl),
            file("otb", Form::Otb, &self.otb),
            file("csv", Form::Csv, &self.csv),
            file("mot", Form::Mot, &self.mot),
            file("coco", Form::Coco, &self.coco),
            file("cvat", Form::Cvat, &self.cvat),
            file("label-studio", Form::LabelStudio, &self.label_studio),
            folder("response", Form::Response, &self.response),
            folder("overlay", Form::Overlay, &self.overlay),
        ];
        let mut outputs: Vec<Output> = named.into_iter().flatten().collect();
        for path in &self.out {
            outputs.push(("out", Form::of(path, several)?, Destination::File(path.clone())));
        }
        Ok(outputs)
    }

    /// Checks and opens all outputs before anything is computed; `several` targets are told apart in them.
    pub fn create(&self, source: &dyn Source, several: bool) -> Result<Exports, Failure> {
        let outputs = self.all(several)?;
        if several && self.otb.is_some() {
            return Err(Failure::usage("--otb has no place for several targets: use --mot"));
        }
        if self.inset && !outputs.iter().any(|(_, form, _)| *form == Form::Overlay) {
            return Err(Failure::usage("--inset draws on an overlay, and there is none: add --overlay DIR|VIDEO"));
        }
        let of = |folders: Option<bool>| -> Vec<(&'static str, &Destination)> {
            let wanted = outputs
                .iter()
                .filter(|(_, form, to)| folders.is_none_or(|folders| form.is_folder(to.path()) == folders));
            wanted.map(|(flag, _, to)| (*flag, to)).collect()
        };
        export::check_distinct(&of(None))?;
        export::check_outside(&of(Some(false)), &of(Some(true)))?;
        inputs::refuse(source, &of(None))?;
        let mut exports = Exports::default();
        let options = OverlayOptions { inset: self.inset, rate: source.rate() };
        for (_, form, to) in &outputs {
            open(*form, to, options, &mut exports)?;
        }
        Ok(exports)
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.all(false).is_ok_and(|outputs| outputs.is_empty())
    }

    /// Whether one of them is the standard output.
    pub fn uses_stdout(&self) -> bool {
        self.all(false).is_ok_and(|outputs| outputs.iter().any(|(_, _, to)| *to == Destination::Stdout))
    }
}

fn open(form: Form, to: &Destination, options: OverlayOptions, exports: &mut Exports) -> Result<(), Error> {
    match form {
        Form::Json => exports.push(Json::create(to)?),
        Form::JsonLines => exports.push(JsonLines::create(to)?),
        Form::Otb => exports.push(Otb::create(to)?),
        Form::Csv => exports.push(Csv::create(to)?),
        Form::Mot => exports.push(Mot::create(to)?),
        Form::Coco => exports.push(Coco::create(to)?),
        Form::Cvat => exports.push(Cvat::create(to)?),
        Form::LabelStudio => exports.push(LabelStudio::create(to)?),
        Form::Response => exports.push(ResponseMaps::create(to.path())?),
        Form::Overlay => exports.push(Overlays::create(to.path(), options)?),
    }
    Ok(())
}
