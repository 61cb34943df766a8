//! `kcf-track explain`: one step of the paper's tracker as a page.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::failure::{scoped, watch_signals};
use super::settings::{self, SettingsArgs};
use super::source::{self, RangeArgs, ReadArgs};
use super::targets::TargetArgs;
use crate::cancel::CancelToken;
use crate::export::{Destination, Replay, write_whole};
use crate::media::{Demand, Prefetch, Span};
use crate::{Error, Params};

/// Explain one step of the paper's tracker on a page: patch, spectra, kernel, response
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Folder of images or video
    source: PathBuf,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    read: ReadArgs,
    /// The frame to explain, from 1, not before the given box
    #[arg(long, value_name = "N")]
    frame: usize,
    /// Show a second tracker with this setting beside the first, and the difference
    #[arg(long, value_name = "PATH=VALUE", value_parser = settings::pair)]
    compare: Option<(String, String)>,
    /// The page; - for the standard output
    #[arg(long, short, value_name = "FILE|-", default_value = "explain.html")]
    out: Destination,
    /// Replace a file that is not from kcf-track
    #[arg(long)]
    force: bool,
    /// Preset: paper, paper-dcf or paper-gray
    #[arg(long, short, value_name = "NAME", default_value = "paper", value_parser = settings::preset_names())]
    #[arg(hide_possible_values = true)]
    preset: String,
    #[command(flatten)]
    settings: SettingsArgs,
}

pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let params = args.settings.resolve(Some(&args.preset))?.params;
    let changed = args.compare.as_ref().map(|change| {
        args.settings.resolve_with(Some(&args.preset), std::slice::from_ref(change)).map(|changed| changed.params)
    });
    let changed = changed.transpose()?;
    let cancel = watch_signals();
    scoped(&cancel, || explain(args, &params, changed.as_ref(), &cancel))
}

/// Writes the page.
fn explain(args: &ExplainArgs, params: &Params, changed: Option<&Params>, cancel: &CancelToken) -> Result<(), Failure> {
    let (source, _) = source::open(&args.source, args.read.options(), args.targets.is_empty(), cancel)?;
    let info = source.info();
    let wanted = args.targets.read(info)?;
    let span = source::span(source.as_ref(), RangeArgs::default(), wanted.first(), cancel)?;
    let Some((start, bbox)) =
        wanted.within(span, info, " or --init-file FILE")?.first().and_then(|target| target.boxes().next())
    else {
        return Ok(());
    };
    if info.reads(args.out.path()) {
        return Err(Failure::usage(format!("--out {}: this is an input", args.out)));
    }
    if args.frame < start {
        let reason = format!("--frame {}: the first box is of frame {start}: give {start} or more", args.frame);
        return Err(Failure::usage(reason));
    }
    let span = Span { last: Some(args.frame), ..span };
    let (mut replay, mut other): (Option<Replay>, Option<Replay>) = (None, None);
    for item in Prefetch::open(source.as_ref(), span, Demand { color: true, ..params.channels().into() }, cancel)? {
        let position = item.position;
        let shown = item.picture();
        let frame = match &item.frame {
            Ok(frame) => frame.as_frame(),
            Err(error) => return Err(Failure::failed(format!("frame {position}: {error}"))),
        };
        if position < start {
            continue;
        }
        if replay.is_none() {
            replay = Some(Replay::new(params, &frame, position, bbox)?);
            other = changed.map(|changed| Replay::new(changed, &frame, position, bbox)).transpose()?;
        } else if position < args.frame {
            replay.iter_mut().chain(&mut other).for_each(|replay| replay.update(&frame));
        }
        if let Some(replay) = replay.as_mut().filter(|_| position == args.frame) {
            let change = args.compare.as_ref().map_or(String::new(), |(path, value)| format!("{path}={value}"));
            let other = other.as_mut().map(|other| (other, change.as_str()));
            let page = replay.page(&info.name, position, &frame, &shown.unwrap_or(frame), other)?;
            write_whole(&args.out.forced(args.force), page.as_bytes())?;
            if !args.out.is_stdout() {
                writeln!(std::io::stdout(), "{}", args.out)?;
            }
            return Ok(());
        }
    }
    Err(Error::sequence(&args.source, format!("there is no frame {}", args.frame)).into())
}
