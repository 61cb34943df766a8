//! What is to be followed, as flags.

use std::path::{Path, PathBuf};

use crate::job::{BoxFormat, Given, Targets};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::Failure;

/// Boxes to begin with.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// A target's box: left, top (0-based), width, height in pixels; before it, where it is not the start frame, the
    /// target's first frame and a colon. As often as there are targets [default: the ground truth's]
    #[arg(long, short, value_name = "X,Y,W,H", allow_hyphen_values = true)]
    pub init: Vec<Given>,
    /// What the four numbers of --init and --init-file are [default: xywh]
    #[arg(long, value_name = "FORM", value_parser = formats())]
    init_format: Option<BoxFormat>,
    /// More targets, a line each: id,frame,x,y,w,h
    #[arg(long, value_name = "FILE")]
    init_file: Option<PathBuf>,
}

impl TargetArgs {
    /// The file of more targets.
    pub fn file(&self) -> Option<&Path> {
        self.init_file.as_deref()
    }

    /// Reads them all. None where the truth shall say it.
    pub fn read(&self) -> Result<Targets, Failure> {
        Ok(Targets::read(&self.init, self.init_format, self.init_file.as_deref())?)
    }
}

fn formats() -> impl TypedValueParser<Value = BoxFormat> {
    let names = std::iter::zip(BoxFormat::NAMES, BoxFormat::OTHER_NAMES);
    let names = names.map(|((name, what), other)| PossibleValue::new(name).alias(other).help(what));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<BoxFormat>())
}
