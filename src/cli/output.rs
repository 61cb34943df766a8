//! Where results go: the flags of all outputs, checked together and opened before anything is tracked.

use std::path::{Path, PathBuf};

use clap::Args;
use kcf_track::Error;
use kcf_track::export::{self, Csv, Destination, Exports, Json, JsonLines, Otb, Overlays, ResponseMaps};
use kcf_track::source::Source;

use super::{Failure, inputs};

/// Any number of outputs at once; `-` is the standard output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Any output, as its ending says: .json, .jsonl, .csv, .txt (as --otb), or none for a folder of overlays; as often
    /// as needed
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
    /// A folder for the filter's response to each frame: raw floats (.npy) and a heat map (.png)
    #[arg(long, value_name = "DIR")]
    response: Option<PathBuf>,
    /// A folder for the frames with the box, its score and the truth drawn on them
    #[arg(long, value_name = "DIR")]
    overlay: Option<PathBuf>,
}

/// What an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    JsonLines,
    Otb,
    Csv,
    Response,
    Overlay,
}

impl Form {
    /// The form that a path's ending stands for.
    fn of(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            _ if path == Path::new("-") => {
                Err(Failure::usage("--out -: the standard output has no ending: say --jsonl - or another form"))
            }
            Some("json") => Ok(Self::Json),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("csv") => Ok(Self::Csv),
            Some("txt") => Ok(Self::Otb),
            None => Ok(Self::Overlay),
            // A folder may be called anything.
            Some(_) if path.is_dir() => Ok(Self::Overlay),
            Some(_) => Err(Failure::usage(format!(
                "--out {}: its ending must be .json, .jsonl, .csv or .txt, or it must have none, for a folder of \
                 overlays",
                path.display()
            ))),
        }
    }

    fn is_folder(self) -> bool {
        matches!(self, Self::Response | Self::Overlay)
    }
}

/// One output: its flag without dashes, its form and its place.
type Output = (&'static str, Form, Destination);

impl OutputArgs {
    fn all(&self) -> Result<Vec<Output>, Failure> {
        let file = |name, form, to: &Option<Destination>| to.clone().map(|to| (name, form, to));
        let folder = |name, form, path: &Option<PathBuf>| Some((name, form, Destination::File(path.clone()?)));
        let named = [
            file("json", Form::Json, &self.json),
            file("jsonl", Form::JsonLines, &self.jsonl),
            file("otb", Form::Otb, &self.otb),
            file("csv", Form::Csv, &self.csv),
            folder("response", Form::Response, &self.response),
            folder("overlay", Form::Overlay, &self.overlay),
        ];
        let mut outputs: Vec<Output> = named.into_iter().flatten().collect();
        for path in &self.out {
            outputs.push(("out", Form::of(path)?, Destination::File(path.clone())));
        }
        Ok(outputs)
    }

    /// Checks and opens all outputs before anything is computed.
    pub fn create(&self, source: &dyn Source) -> Result<Exports, Failure> {
        let outputs = self.all()?;
        let of = |folders: Option<bool>| -> Vec<(&'static str, &Destination)> {
            let wanted =
                outputs.iter().filter(|(_, form, _)| folders.is_none_or(|folders| form.is_folder() == folders));
            wanted.map(|(flag, _, to)| (*flag, to)).collect()
        };
        export::check_distinct(&of(None))?;
        export::check_outside(&of(Some(false)), &of(Some(true)))?;
        inputs::refuse(source, &of(None))?;
        let mut exports = Exports::default();
        for (_, form, to) in &outputs {
            open(*form, to, &mut exports)?;
        }
        Ok(exports)
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.all().is_ok_and(|outputs| outputs.is_empty())
    }

    /// Whether one of them is the standard output.
    pub fn uses_stdout(&self) -> bool {
        self.all().is_ok_and(|outputs| outputs.iter().any(|(_, _, to)| *to == Destination::Stdout))
    }
}

fn open(form: Form, to: &Destination, exports: &mut Exports) -> Result<(), Error> {
    match form {
        Form::Json => exports.push(Json::create(to)?),
        Form::JsonLines => exports.push(JsonLines::create(to)?),
        Form::Otb => exports.push(Otb::create(to)?),
        Form::Csv => exports.push(Csv::create(to)?),
        Form::Response => exports.push(ResponseMaps::create(to.path())?),
        Form::Overlay => exports.push(Overlays::create(to.path())?),
    }
    Ok(())
}
