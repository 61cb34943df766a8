//! Where results go: outputs by their flags, checked together and opened before anything is tracked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Failure, aside};
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::export::{
    Coco, Csv, Cvat, Destination, Export, Exports, Json, JsonLines, LabelStudio, Mot, Otb, TargetRecord,
    check_distinct, check_outside, is_video,
};
use crate::media::{Source, Span};

/// What an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON document.
    Json,
    /// A JSON object a line.
    JsonLines,
    /// OTB's boxes.
    Otb,
    /// A table.
    Csv,
    /// MOT's boxes.
    Mot,
    /// COCO's annotations.
    Coco,
    /// CVAT's annotations.
    Cvat,
    /// Label Studio's annotations.
    LabelStudio,
    /// A folder of response maps, which are [drawn](Drawing).
    Response,
    /// A folder or a video of [drawn](Drawing) frames.
    Overlay,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Json,
        Self::JsonLines,
        Self::Otb,
        Self::Csv,
        Self::Mot,
        Self::Coco,
        Self::Cvat,
        Self::LabelStudio,
        Self::Response,
        Self::Overlay,
    ];

    /// Its flag without dashes.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Otb => "otb",
            Self::Csv => "csv",
            Self::Mot => "mot",
            Self::Coco => "coco",
            Self::Cvat => "cvat",
            Self::LabelStudio => "label-studio",
            Self::Response => "response",
            Self::Overlay => "overlay",
        }
    }

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
            Some(_) => Err(Failure::Usage(format!(
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

/// An output that was opened.
pub type Opened = Result<Box<dyn Export>>;

/// What opens the forms that are pictures. The program that draws brings it; none is compiled into one that does not.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    /// Response maps, to a folder.
    pub response: fn(&Path) -> Opened,
    /// Overlays of the frames of a source, to a folder or a video; whether the response is drawn into a corner.
    pub overlay: fn(&Path, &dyn Source, bool) -> Opened,
}

/// The largest id that evaluations of MOT's text surely bear: they make tables of numbers, some as long as it.
const LARGEST_ID: u32 = 10_000_000;

/// All outputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// Each with its flag without dashes.
    all: Vec<(&'static str, Form, Destination)>,
    drawing: Option<Drawing>,
}

impl Outputs {
    /// Those that were named by their form, and those of `--out`; `several` targets are told apart in them. Without
    /// `drawing` none of them is a picture.
    ///
    /// # Errors
    /// Wrong usage for an ending that stands for nothing, for a form that has no place for several targets, for
    /// pictures to the standard output, and for pictures that nothing draws.
    pub fn new(
        named: impl IntoIterator<Item = (Form, Destination)>,
        out: &[PathBuf],
        several: bool,
        drawing: Option<Drawing>,
    ) -> Result<Self, Failure> {
        let mut all: Vec<_> = named.into_iter().map(|(form, to)| (form.flag(), form, to)).collect();
        for path in out {
            all.push(("out", Form::of(path, several)?, Destination::File(path.clone())));
        }
        if several && all.iter().any(|(flag, ..)| *flag == "otb") {
            return Err(Failure::usage("--otb has no place for several targets: use --mot"));
        }
        let draws = |(_, form, _): &&(_, Form, Destination)| matches!(form, Form::Response | Form::Overlay);
        if let Some((flag, ..)) = all.iter().filter(draws).find(|(_, _, to)| to.path() == Path::new("-")) {
            let or = if *flag == "overlay" { " or a video" } else { "" };
            return Err(Failure::Usage(format!(
                "--{flag} -: pictures do not go to the standard output: name a folder{or} (./- is one of that name)"
            )));
        }
        match all.iter().find(draws) {
            Some((flag, _, to)) if drawing.is_none() => {
                Err(Failure::Usage(format!("--{flag} {to}: it would be drawn, and the Rust program alone draws")))
            }
            _ => Ok(Self { all, drawing }),
        }
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether one of them has this form.
    pub fn has(&self, form: Form) -> bool {
        self.all.iter().any(|(_, known, _)| *known == form)
    }

    /// Whether one of them is the standard output.
    pub fn uses_stdout(&self) -> bool {
        self.all.iter().any(|(_, _, to)| *to == Destination::Stdout)
    }

    /// What to say of ids that the programs which read some of these files have no place for.
    pub fn odd_ids(&self, targets: &[TargetRecord]) -> Vec<String> {
        let named = |forms: &[Form]| {
            let flags =
                self.all.iter().filter(|(_, form, _)| forms.contains(form)).map(|(flag, ..)| format!("--{flag}"));
            flags.collect::<Vec<_>>().join(" and ")
        };
        let ids = || targets.iter().map(|target| target.id);
        let mut said = Vec::new();
        let zero = named(&[Form::Mot, Form::Cvat]);
        if !zero.is_empty() && ids().any(|id| id == 0) {
            said.push(format!(
                "{zero}: a target has the id 0, which stands for no target in what reads such files (datumaro leaves \
                 it out, CVAT has it in no group): number targets from 1"
            ));
        }
        let tables = named(&[Form::Mot]);
        if let Some(id) = ids().filter(|id| *id > LARGEST_ID).max().filter(|_| !tables.is_empty()) {
            said.push(format!(
                "{tables}: the id {id} is so large that what evaluates such files may run out of memory (trackeval \
                 makes a table as long as the largest id): number targets from 1"
            ));
        }
        let groups = named(&[Form::Cvat]);
        if let Some(id) = ids().find(|id| i32::try_from(*id).is_err()).filter(|_| !groups.is_empty()) {
            said.push(format!(
                "{groups}: CVAT has no group for the id {id}, so nothing tells the target's track: its ids end with {}",
                i32::MAX
            ));
        }
        said
    }

    /// The frames to be read for a run of `span`. Annotations for CVAT must know whether there is a frame behind the
    /// last one, where no source says that for certain: then it is read, too. Who plays live is not waited for.
    pub fn to_be_read(&self, source: &dyn Source, span: Span) -> Span {
        let uncertain = self.has(Form::Cvat) && source.length().is_none() && !source.is_live();
        Span { last: span.last.map(|last| last.saturating_add(uncertain.into())), ..span }
    }

    /// Checks that none of them is the file at `path`, if there is one, which is read by the flag `read`.
    ///
    /// # Errors
    /// Wrong usage that says which.
    pub fn spare(&self, read: &str, path: Option<&Path>) -> Result<(), Failure> {
        let Some(path) = path else { return Ok(()) };
        let given = Destination::File(path.to_path_buf());
        match self.all.iter().find(|(_, _, to)| to.is_same(&given)) {
            Some((flag, _, to)) => {
                Err(Failure::Usage(format!("--{flag} {to}: this is what {read} reads; name another place")))
            }
            None => Ok(()),
        }
    }

    /// Checks that none of them is a part of `source`.
    ///
    /// # Errors
    /// Wrong usage that says which.
    pub fn refuse(&self, source: &dyn Source) -> Result<(), Failure> {
        for (flag, _, destination) in &self.all {
            let Destination::File(path) = destination else { continue };
            if let Some(what) = source.occupies(path) {
                return Err(Failure::Usage(format!("--{flag} {}: this {what}; name another place", path.display())));
            }
        }
        Ok(())
    }

    /// As [`Outputs::open`], unless `asked`, which is called again and again while it lasts, says that somebody wants
    /// the run to end: a named pipe is opened once somebody reads it. The outputs heed `stop`, which is set then.
    ///
    /// # Errors
    /// As [`Outputs::open`], and [`Failure::Interrupted`].
    pub fn open_unless(
        &self,
        source: &Arc<dyn Source>,
        inset: bool,
        stop: &CancelToken,
        asked: impl FnMut() -> bool,
    ) -> Result<Exports, Failure> {
        let (outputs, source) = (self.clone(), Arc::clone(source));
        let opened = aside(move || outputs.open(source.as_ref(), inset), stop, asked)?;
        let mut exports = opened.ok_or(Failure::Interrupted)??;
        exports.heed(stop);
        Ok(exports)
    }

    /// Checks them together and opens them; `inset` draws the response into a corner of overlays.
    ///
    /// # Errors
    /// Two that are the same place, one that would replace what is read, one that cannot be written.
    pub fn open(&self, source: &dyn Source, inset: bool) -> Result<Exports, Failure> {
        if inset && !self.has(Form::Overlay) {
            return Err(Failure::usage("--inset draws on an overlay, and there is none: add --overlay DIR|VIDEO"));
        }
        let of = |folders: Option<bool>| -> Vec<(&'static str, &Destination)> {
            let wanted =
                |form: &Form, to: &Destination| folders.is_none_or(|folders| form.is_folder(to.path()) == folders);
            self.all.iter().filter(|(_, form, to)| wanted(form, to)).map(|(flag, _, to)| (*flag, to)).collect()
        };
        check_distinct(&of(None))?;
        check_outside(&of(Some(false)), &of(Some(true)))?;
        self.refuse(source)?;
        let mut exports = Exports::default();
        for (_, form, to) in &self.all {
            match form {
                Form::Json => exports.push(Json::create(to)?),
                Form::JsonLines => exports.push(JsonLines::create(to)?),
                Form::Otb => exports.push(Otb::create(to)?),
                Form::Csv => exports.push(Csv::create(to)?),
                Form::Mot => exports.push(Mot::create(to)?),
                Form::Coco => exports.push(Coco::create(to)?),
                Form::Cvat => exports.push(Cvat::create(to)?.of_frames(source.length(), source.expected_length())),
                Form::LabelStudio => exports.push(LabelStudio::create(to)?.at_rate(source.rate())),
                // Without what draws these were refused by `new`.
                Form::Response => {
                    let Some(drawing) = self.drawing else { continue };
                    exports.add((drawing.response)(to.path())?);
                }
                Form::Overlay => {
                    let Some(drawing) = self.drawing else { continue };
                    exports.add((drawing.overlay)(to.path(), source, inset)?);
                }
            }
        }
        Ok(exports)
    }
}
