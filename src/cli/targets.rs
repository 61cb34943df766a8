//! The targets of a run: boxes from flags and files.

use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgGroup, Args, ValueEnum};
use serde_json::Value;

use super::Failure;
use super::settings::{Resolved, SettingsArgs};
use crate::bbox::BBox;
use crate::export::{LabelOptions, Labels, TargetRecord};
use crate::media::annotation::MAX_PIXELS;
use crate::media::{Info, Span};
use crate::run::MAX_TARGETS;

/// Boxes that are given.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("labels").multiple(true))]
pub struct TargetArgs {
    /// Box of a target; FRAME:X,Y,W,H for a later start; repeatable
    ///
    /// Left, top (from 0), width, height in pixels. The default is the first box of the truth.
    #[arg(long, short, value_name = "X,Y,W,H", allow_hyphen_values = true)]
    pub init: Vec<GivenBox>,
    /// Meaning of the four numbers of --init and --init-file [default: xywh]
    #[arg(long, hide_short_help = true, value_name = "FORM", default_value = "xywh", hide_possible_values = true)]
    #[arg(hide_default_value = true)]
    init_format: BoxFormat,
    /// Given boxes: lines id,frame,x,y,w,h, or labels of any format
    ///
    /// Labels are what --json, --jsonl, --mot, --coco, --cvat, --label-studio and --yolo write. The
    /// first box of an id begins a target, each later one corrects it. A line may go on with class,name. If
    /// labels mark given boxes, only these are taken, else all boxes.
    #[arg(long, value_name = "FILE", group = "labels")]
    pub init_file: Option<PathBuf>,
    /// Clip, task or folder that is read of --init-file or --detections, where it has several
    #[arg(long, hide_short_help = true, value_name = "NAME", requires = "labels")]
    labels_clip: Option<String>,
    /// Number of the first frame in --init-file or --detections, if they do not tell: 0 or 1
    #[arg(long, hide_short_help = true, value_name = "0|1", requires = "labels")]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=1))]
    labels_base: Option<u8>,
}

impl TargetArgs {
    /// Whether no box is given.
    pub fn is_empty(&self) -> bool {
        self.init.is_empty() && self.init_file.is_none()
    }

    /// What is said about labels, and about detections.
    pub fn labels(&self) -> LabelOptions {
        let base = self.labels_base.map(usize::from);
        LabelOptions { clip: self.labels_clip.clone(), base, corners: false }
    }

    /// The settings of the document that the targets come from, unless flags give others.
    ///
    /// # Errors
    /// Wrong usage for settings that are not known.
    pub fn settings(
        &self,
        preset: Option<&str>,
        flags: &SettingsArgs,
        targets: &Targets,
    ) -> Result<Option<Resolved>, Failure> {
        let file = self.init_file.as_deref().unwrap_or(Path::new(""));
        flags.of_document(preset, format_args!("--init-file {}", file.display()), &targets.parameters)
    }

    /// All targets of a source; none where the truth gives the box.
    ///
    /// # Errors
    /// Boxes without area, two targets with one id, a file or a line that cannot be read.
    pub fn read(&self, info: &Info) -> Result<Targets, Failure> {
        let mut all = Targets { typed: self.init.len(), ..Targets::default() };
        // Asked for once, as it may decode an image.
        let size = LazyCell::new(|| info.frame_size());
        for (given, id) in self.init.iter().zip(1..) {
            let bbox = self.init_format.to_bbox(given.numbers);
            let bbox = bbox.map_err(|error| Failure::usage(format!("--init: {error}")))?;
            all.wanted.push(TargetRecord::new(id, given.frame.unwrap_or(0), bbox));
            let [x, y, right, bottom] = given.numbers;
            let are_corners = |&(w, h): &(usize, usize)| {
                let (w, h) = (w as f64, h as f64);
                right <= w && bottom <= h && (x + right > w || y + bottom > h)
            };
            if self.init_format == BoxFormat::Xywh
                && BoxFormat::Xyxy.to_bbox(given.numbers).is_ok()
                && size.as_ref().is_some_and(are_corners)
            {
                all.warnings = vec!["the box reaches beyond the frame; --init-format xyxy takes two corners".into()];
            }
        }
        if let Some(path) = &self.init_file {
            let shown = format!("--init-file {}", path.display());
            let options = LabelOptions { corners: self.init_format == BoxFormat::Xyxy, ..self.labels() };
            let labels = Labels::read(path, Some(info), None, &options).map_err(|reason| {
                let separator = if reason.starts_with("line ") { ", " } else { ": " };
                Failure::usage(format!("{shown}{separator}{reason}"))
            })?;
            if labels.targets.is_empty() {
                return Err(Failure::usage(format!("{shown}: there is no target in it")));
            }
            all.warnings.extend(labels.notes.into_iter().map(|note| format!("{shown}: {note}")));
            all.parameters = labels.document.map_or(Value::Null, |document| document.parameters);
            all.named = true;
            for target in labels.targets {
                if all.wanted.iter().any(|other| other.id == target.id) {
                    let reason = format!("two targets have the id {} (those of --init are 1, 2, …)", target.id);
                    return Err(Failure::usage(reason));
                }
                all.wanted.push(target);
            }
        }
        if all.typed > MAX_TARGETS {
            return Err(Failure::usage(format!("--init: there are {} targets, of at most {MAX_TARGETS}", all.typed)));
        }
        all.named |= all.wanted.len() > 1;
        Ok(all)
    }
}

/// Meaning of the four numbers of a box, in 0-based pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BoxFormat {
    /// Left, top, width, height
    #[value(alias = "ltwh")]
    Xywh,
    /// Left, top, right, bottom
    #[value(alias = "ltrb")]
    Xyxy,
}

impl BoxFormat {
    fn to_bbox(self, [x, y, a, b]: [f64; 4]) -> Result<BBox, String> {
        let (w, h) = match self {
            Self::Xywh => (a, b),
            Self::Xyxy => (a - x, b - y),
        };
        match w > 0.0 && h > 0.0 {
            true => Ok(BBox::new(x, y, w, h)),
            false => Err(format!("width and height must be above 0, not {w} and {h}")),
        }
    }
}

/// A box and its frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GivenBox {
    /// Number of the frame, from 1; `None` for the first frame of the run.
    pub frame: Option<usize>,
    /// The numbers as they were given.
    pub numbers: [f64; 4],
}

impl FromStr for GivenBox {
    type Err = String;

    /// Four numbers; before them a frame and a colon.
    fn from_str(text: &str) -> Result<Self, String> {
        let (frame, numbers) = match text.split_once(':') {
            Some((frame, numbers)) => (Some(parse_frame(frame)?), numbers),
            None => (None, text),
        };
        Ok(Self { frame, numbers: parse_numbers(numbers)? })
    }
}

fn parse_frame(text: &str) -> Result<usize, String> {
    let frame = text.trim().parse::<usize>().ok().filter(|&frame| frame > 0);
    frame.ok_or_else(|| format!("the frame `{text}` is not a positive integer"))
}

/// Four finite numbers separated by commas or blanks.
fn parse_numbers(text: &str) -> Result<[f64; 4], String> {
    let separator = if text.contains(',') { "," } else { " " };
    let parts = text.trim().split(separator).map(str::trim).filter(|part| separator == "," || !part.is_empty());
    let numbers = parts
        .map(|part| part.parse::<f64>().map_err(|_| format!("`{part}` is not a number; write 10,20,30,40, in pixels")))
        .collect::<Result<Vec<_>, _>>()?;
    let numbers: [f64; 4] = numbers
        .try_into()
        .map_err(|numbers: Vec<f64>| format!("four numbers are needed, as in 10,20,30,40, not {}", numbers.len()))?;
    match numbers.iter().all(|number| number.abs() <= MAX_PIXELS) {
        true => Ok(numbers),
        false => Err("the numbers must be pixels, at most a million".into()),
    }
}

/// All targets of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Targets {
    /// The targets, those of `--init` first. Frame 0 is the first of the run.
    wanted: Vec<TargetRecord>,
    /// Number of targets of `--init`.
    typed: usize,
    /// Whether outputs tell targets apart by their ids.
    pub named: bool,
    /// Notes on what was left out or decided, and on a name or format that does not match.
    pub warnings: Vec<String>,
    /// The settings in the document of the targets; null without one.
    pub parameters: Value,
}

impl Targets {
    /// Whether the truth gives the box.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The first frame that any target needs; `None` for the first of the run.
    pub fn first(&self) -> Option<usize> {
        self.wanted.iter().map(TargetRecord::start).min().filter(|&first| first > 0)
    }

    /// The last frame in which a box is given.
    pub fn last(&self) -> Option<usize> {
        self.wanted.iter().flat_map(TargetRecord::boxes).map(|(frame, _)| frame).max()
    }

    /// Ids of the given targets that are not among `targets`.
    pub fn left_out(&self, targets: &[TargetRecord]) -> Vec<u32> {
        let ids = self.wanted.iter().map(|target| target.id);
        ids.filter(|id| targets.iter().all(|target| target.id != *id)).collect()
    }

    /// The targets of a run of `span`, with the boxes given in it; without any target, the one of the truth. A target
    /// of a file without a box in the span is left out.
    ///
    /// # Errors
    /// Wrong usage for a target of `--init` that begins outside `span`, where none is left, and where there is no truth,
    /// with `advice`.
    pub fn within(&self, span: Span, info: &Info, advice: &str) -> Result<Vec<TargetRecord>, Failure> {
        if self.is_empty() {
            let bbox = info.initial_box(span.first);
            let bbox =
                bbox.map_err(|error| Failure::usage(format!("{error}: give the box by --init x,y,w,h{advice}")))?;
            return Ok(vec![TargetRecord::new(1, span.first, bbox)]);
        }
        let (mut placed, mut outside) = (Vec::new(), None);
        for (number, mut target) in self.wanted.iter().cloned().enumerate() {
            if let Some(given) = target.given.first_mut().filter(|given| given.frame == 0) {
                given.frame = span.first;
            }
            let start = target.start();
            target.given.retain(|given| span.contains(given.frame));
            let begins = target.given.iter().position(|given| given.bbox.is_some());
            if begins.is_none() || number < self.typed && !span.contains(start) {
                let last = span.last.map_or("its end".into(), |last| last.to_string());
                let reason = format!(
                    "target {} begins in frame {start}, and the run goes from frame {} to {last}",
                    target.id, span.first
                );
                if number < self.typed {
                    return Err(Failure::usage(reason));
                }
                outside.get_or_insert(reason);
            } else {
                target.given.drain(..begins.unwrap_or_default());
                placed.push(target);
            }
        }
        match outside {
            Some(reason) if placed.is_empty() => Err(Failure::usage(reason)),
            _ => Ok(placed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_four_numbers_and_an_optional_frame() {
        let parsed = |text: &str| text.parse::<GivenBox>();
        let numbers = [10.0, -20.5, 30.0, 40.0];
        for text in ["10,-20.5,30,40", " 10, -20.5 ,30,40 ", "10 -20.5  30 40"] {
            assert_eq!(parsed(text), Ok(GivenBox { frame: None, numbers }), "{text}");
        }
        assert_eq!(parsed("7:10,-20.5,30,40").unwrap().frame, Some(7));
        for wrong in
            ["", "1,2,3", "1,2,3,4,5", "a,2,3,4", "1,,3,4", "0:1,2,3,4", "x:1,2,3,4", "1,2,3,nan", "1,2,3,1e10"]
        {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        assert_eq!(BoxFormat::Xyxy.to_bbox([10.0, 20.0, 40.0, 60.0]), Ok(BBox::new(10.0, 20.0, 30.0, 40.0)));
        assert!(BoxFormat::Xyxy.to_bbox([10.0, 20.0, 5.0, 60.0]).is_err());
    }
}
