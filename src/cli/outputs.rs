//! Flags of outputs, checked together; all outputs are opened before anything is tracked.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use crate::export::{
    CropOptions, CropShape, Destination, Exports, Form, Frames, Hidden, Layout, OverlayOptions, Overlays, ResponseMaps,
    Style, TOLERANCE, TargetRecord, Veil, check_distinct, is_video,
};
use crate::media::{Info, has_extension};

/// Any number of outputs at once; `-` is the standard output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// By its ending: .json, .jsonl, .csv, .txt (OTB, MOT), video or folder
    #[arg(long, short, alias = "output", value_name = "PATH")]
    out: Vec<PathBuf>,
    /// One JSON document, written when the run ends
    #[arg(long, value_name = "FILE|-")]
    json: Option<Destination>,
    /// One JSON object per frame and target, while frames are tracked
    #[arg(long, value_name = "FILE|-")]
    jsonl: Option<Destination>,
    /// OTB text: x,y,w,h, 1-based
    #[arg(long, value_name = "FILE|-")]
    otb: Option<Destination>,
    /// Table with a header line
    #[arg(long, value_name = "FILE|-")]
    csv: Option<Destination>,
    /// MOT text: frame,id,x,y,w,h,confidence,-1,-1,-1, 1-based
    #[arg(long, value_name = "FILE|-")]
    mot: Option<Destination>,
    /// COCO annotations
    #[arg(long, value_name = "FILE|-")]
    coco: Option<Destination>,
    /// CVAT annotations, as XML
    #[arg(long, value_name = "FILE|-")]
    cvat: Option<Destination>,
    /// Label Studio annotations
    #[arg(long, value_name = "FILE|-")]
    label_studio: Option<Destination>,
    /// YOLO dataset: a text a frame, data.yaml, classes.txt
    #[arg(long, value_name = "DIR")]
    yolo: Option<Destination>,
    /// The pictures that COCO and YOLO name; for YOLO the folder DIR/images
    #[arg(long, value_name = "DIR")]
    frames: Option<Destination>,
    /// Pixels by which interpolated frames of CVAT and Label Studio may differ; 0 writes all frames [default: 1]
    #[arg(long, hide_short_help = true, value_name = "PX", default_value_t = TOLERANCE, value_parser = tolerance)]
    #[arg(hide_default_value = true)]
    tolerance: f64,
    /// Rotated boxes of rotated targets for CVAT and Label Studio, in place of the upright ones
    #[arg(long, hide_short_help = true)]
    turned: bool,
    /// Folder of response maps: raw floats (.npy) and heat maps (.png)
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    response: Option<Destination>,
    /// Frames with boxes and states drawn on them: a folder or a video
    #[arg(long, value_name = "DIR|VIDEO")]
    overlay: Option<Destination>,
    /// What the overlay shows: full (boxes, trails, captions), box or none
    #[arg(long, value_name = "STYLE", default_value = "full", hide_possible_values = true, hide_default_value = true)]
    style: Style,
    /// Blur the target in the overlay; --blur=rest blurs all but the target
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "target")]
    #[arg(hide_possible_values = true)]
    blur: Option<Hidden>,
    /// Pixelate the target in the overlay; --pixelate=rest pixelates all but the target
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "target")]
    #[arg(hide_short_help = true, hide_possible_values = true, conflicts_with = "blur")]
    pixelate: Option<Hidden>,
    /// Crop the overlay to a size or a ratio, and follow the target
    #[arg(long, value_name = "WxH|A:B", value_parser = crop)]
    crop: Option<CropShape>,
    /// Zoom the crop so that the target keeps its size
    #[arg(long, hide_short_help = true, requires = "crop")]
    zoom: bool,
    /// Draw the response into a corner of the overlay
    #[arg(long, hide_short_help = true)]
    inset: bool,
    /// Replace files that are not from kcf-track
    #[arg(long)]
    force: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let pixels = text.parse().ok().filter(|pixels: &f64| *pixels >= 0.0 && pixels.is_finite());
    pixels.ok_or_else(|| "it must be 0 or more pixels".into())
}

/// A size in pixels or a ratio of sides.
fn crop(text: &str) -> Result<CropShape, String> {
    let sides = text.split_once(':').map(|(a, b)| (a.parse::<u32>().unwrap_or(0), b.parse::<u32>().unwrap_or(0)));
    match sides {
        None => size(text).map(|(w, h)| CropShape::Size(w, h)).map_err(|error| error + ", or a ratio, as in 9:16"),
        Some((a, b)) if a.max(b) <= 10_000 && a.min(b) > 0 && a.max(b) <= 10 * a.min(b) => Ok(CropShape::Ratio(a, b)),
        Some(_) => Err("a ratio is of two whole numbers, at most 1:10, as in 9:16".into()),
    }
}

/// A size in pixels such as 640x360.
pub fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once(['x', 'X']).and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    let sides = sides.filter(|(w, h)| (8..=8192).contains(w) && (8..=8192).contains(h));
    sides.ok_or_else(|| "it is a width and a height from 8 to 8192, as in 640x360".into())
}

/// Frames and bytes of a GIF above which a warning says so.
const GIF_FRAMES: usize = 200;
const GIF_BYTES: u64 = 20_000_000;

/// All outputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// Each output with its flag.
    all: Vec<(&'static str, Form, Destination)>,
    overlay: OverlayOptions,
    tolerance: f64,
    turned: bool,
}

impl OutputArgs {
    /// Whether an output shows the response.
    pub fn shows_response(&self) -> bool {
        self.response.is_some() || self.inset
    }

    /// All outputs. `several` targets are told apart in them.
    ///
    /// # Errors
    /// Wrong usage for an unknown ending, OTB text of several targets, and pictures to the standard output.
    pub fn outputs(&self, several: bool) -> Result<Outputs, Failure> {
        let named = [
            ("--json", Form::Json, self.json.clone()),
            ("--jsonl", Form::JsonLines, self.jsonl.clone()),
            ("--otb", Form::Otb, self.otb.clone()),
            ("--csv", Form::Csv, self.csv.clone()),
            ("--mot", Form::Mot, self.mot.clone()),
            ("--coco", Form::Coco, self.coco.clone()),
            ("--cvat", Form::Cvat, self.cvat.clone()),
            ("--label-studio", Form::LabelStudio, self.label_studio.clone()),
            ("--yolo", Form::Yolo, self.yolo.clone()),
            ("--frames", Form::Frames, self.frames.clone()),
            ("--response", Form::Response, self.response.clone()),
            ("--overlay", Form::Overlay, self.overlay.clone()),
        ];
        let mut all: Vec<_> = named.into_iter().filter_map(|(flag, form, to)| Some((flag, form, to?))).collect();
        for path in &self.out {
            let form = match path == Path::new("-") {
                true => Err("use --jsonl - or another format".into()),
                false => Form::of(path, several),
            };
            let form = form.map_err(|error| Failure::of_file("--out", path, error))?;
            all.push(("--out", form, path.as_path().into()));
        }
        all.iter_mut().for_each(|(.., to)| *to = to.forced(self.force));
        if let Some(to) = self.overlay.as_ref().filter(|to| Form::of(to.path(), several) != Ok(Form::Overlay)) {
            let reason = "the ending must be that of a video, as .mp4, or none for a folder";
            return Err(Failure::of_file("--overlay", to.path(), reason));
        }
        if several && all.iter().any(|(flag, ..)| *flag == "--otb") {
            return Err(Failure::usage("--otb has no place for several targets: use --mot"));
        }
        let hidden = [(Veil::Blur, self.blur), (Veil::Pixelate, self.pixelate)];
        let hidden = hidden.into_iter().find_map(|(veil, what)| Some((veil, what?)));
        let (style, inset) = (self.style, self.inset);
        let crop = self.crop.map(|shape| CropOptions { shape, zoom: self.zoom });
        let overlay = OverlayOptions { style, hidden, crop, inset, ..OverlayOptions::default() };
        let outputs = Outputs { all, overlay, tolerance: self.tolerance, turned: self.turned };
        if outputs.all.iter().any(|(_, form, to)| is_folder(*form, to) && to.is_stdout()) {
            return Err(Failure::usage("pictures do not go to the standard output: name a folder or a video"));
        }
        if outputs.overlay != OverlayOptions::default() && !outputs.has(Form::Overlay) {
            let flags = "--style, --blur, --pixelate, --crop and --inset";
            return Err(Failure::usage(format!("{flags} need --overlay DIR|VIDEO")));
        }
        Ok(outputs)
    }
}

/// Whether an output is a folder.
fn is_folder(form: Form, to: &Destination) -> bool {
    match form {
        Form::Response | Form::Yolo | Form::Frames => true,
        Form::Overlay => !is_video(to.path()),
        _ => false,
    }
}

impl Outputs {
    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn has(&self, form: Form) -> bool {
        self.all.iter().any(|(_, known, _)| *known == form)
    }

    /// Whether an output shows the frames in colour.
    pub fn draws(&self) -> bool {
        self.has(Form::Overlay) || self.has(Form::Frames)
    }

    /// Whether one of the outputs is the standard output.
    pub fn uses_stdout(&self) -> bool {
        self.all.iter().any(|(_, _, to)| to.is_stdout())
    }

    /// A warning about ids that readers of MOT and CVAT take for no target.
    pub fn id_warning(&self, targets: &[TargetRecord]) -> Option<String> {
        let concerned = (self.has(Form::Mot) || self.has(Form::Cvat)) && targets.iter().any(|target| target.id == 0);
        concerned.then(|| "MOT and CVAT take the id 0 for no target: number targets from 1".into())
    }

    /// A warning about a GIF of this many frames, or one that is large now that it is `done`.
    pub fn gif_warning(&self, frames: usize, done: bool) -> Option<String> {
        let (.., to) =
            self.all.iter().find(|(_, form, to)| *form == Form::Overlay && has_extension(to.path(), &["gif"]))?;
        let bytes = std::fs::metadata(to.path()).ok().filter(|_| done).map_or(0, |there| there.len());
        let what = match (frames > GIF_FRAMES, bytes > GIF_BYTES) {
            (_, true) => format!("a GIF of {} MB", bytes / 1_000_000),
            (true, _) => format!("a GIF of {frames} frames is large"),
            _ => return None,
        };
        Some(format!("{to}: {what}: .mp4 and .webp are many times smaller, --start, --end and --crop leave out a part"))
    }

    /// Checks that no output is a file that is read.
    ///
    /// # Errors
    /// Wrong usage that says which.
    pub fn check_inputs(&self, info: &Info, files: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
        for (flag, _, to) in &self.all {
            for (read, path) in files {
                if path.is_some_and(|path| to.is_same(&path.into())) {
                    return Err(Failure::usage(format!("{flag} {to}: {read} reads this file")));
                }
            }
            if !to.is_stdout() && info.reads(to.path()) {
                return Err(Failure::usage(format!("{flag} {to}: this is an input, of this run or the next run")));
            }
        }
        Ok(())
    }

    /// Opens all outputs.
    ///
    /// # Errors
    /// Two outputs at one place, and one that cannot be written.
    pub fn open(&self, info: &Info) -> Result<Exports, Failure> {
        let all: Vec<_> = self.all.iter().map(|(flag, form, to)| (*flag, is_folder(*form, to), to)).collect();
        check_distinct(&all).map_err(Failure::usage)?;
        let Self { tolerance, turned, .. } = *self;
        let layout = Layout { tolerance, turned, with_frames: self.has(Form::Frames) };
        let mut exports = Exports::default();
        for (_, form, to) in &self.all {
            exports.0.push(match (form.boxes(to, &layout), form) {
                (Some(boxes), _) => boxes?,
                (None, Form::Frames) => Box::new(Frames::create(to)?),
                (None, Form::Response) => Box::new(ResponseMaps::create(to)?),
                _ => {
                    let (sound, colors) = (info.sound.clone(), info.colors.clone());
                    let (rate, pixel_aspect) = (info.base_rate.or(info.rate), info.pixel_aspect);
                    let options = OverlayOptions { sound, colors, rate, pixel_aspect, ..self.overlay.clone() };
                    Box::new(Overlays::create(to, options)?)
                }
            });
        }
        Ok(exports)
    }
}
