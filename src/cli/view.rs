//! `kcf-track view`: a page in the browser on which targets are drawn, followed and corrected.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::export::{Destination, TargetRecord};
use crate::media::{Demand, Item, OpenOptions, Prefetch, Source, Span};
use crate::view::{self, Address, Command, FrameCache, MAX_CACHE_BYTES, PORT, Refusal, Setup, View};
use clap::Args;

use super::outputs::{Form, Outputs};
use super::settings::{self, Resolved, SettingsArgs};
use super::source::{self, Position, SourceRequest};
use super::targets::TargetArgs;
use super::{Failure, signals};
use crate::bbox::BBox;
use crate::cancel::CancelToken;

/// How often it is asked whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What the view says of `--init`: it begins with no target of its own.
const INIT: &str = "A target's box: left, top (0-based), width, height in pixels; before it, where it is not the start \
                    frame, the target's first frame and a colon. As often as there are targets [default: none, they \
                    are drawn on the page]";

/// Draw targets in a browser, follow them, correct them, and follow them on
///
/// Prints the address of a page and serves it until Ctrl-C. Drag a box around each target in the first frame, and play;
/// where a box has left its target, pause and drag a new one: what was before it stays, what comes after it is followed
/// anew. The page downloads JSON, MOT and OTB; --jsonl writes as frames are tracked.
#[derive(Debug, Args)]
#[command(override_usage = "kcf-track view [OPTIONS] <SRC>", mut_arg("init", |arg| arg.help(INIT).long_help(INIT)))]
pub struct ViewArgs {
    /// A folder of images, a video that ffmpeg reads, a camera (/dev/video0), an address (rtsp, http), or -, a Y4M pipe
    #[arg(value_name = "SRC", required_unless_present = "print_config")]
    source: Option<PathBuf>,
    #[command(flatten)]
    address: AddressArgs,
    #[command(flatten)]
    targets: TargetArgs,
    /// First frame, its position from 1, or its time (80s, 00:01:20.5; a number with a point, as 0.5, is seconds)
    /// [default: the first with truth, else 1]
    #[arg(long, value_name = "N|TIME", allow_hyphen_values = true)]
    start: Option<Position>,
    /// Last frame, its position from 1, or its time [default: the last]
    #[arg(long, value_name = "N|TIME", allow_hyphen_values = true)]
    end: Option<Position>,
    /// One JSON object a line, frame and target, written as frames are tracked; of a frame that is tracked anew after a
    /// correction the last line counts, and at the end a file holds no other
    #[arg(long, value_name = "FILE|-")]
    jsonl: Option<Destination>,
    /// Settings to start from, which all others change [default: robust]
    #[arg(long, short, value_name = "NAME", value_parser = settings::preset_names(), help_heading = "Settings")]
    preset: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Print no warnings
    #[arg(long, short, action = clap::ArgAction::Count)]
    quiet: u8,
}

/// Where the page is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "Page")]
pub struct AddressArgs {
    /// Port of the page; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = PORT)]
    port: u16,
    /// Address to serve the page at. A token is demanded at any address but this machine's own (127.0.0.1, ::1,
    /// localhost)
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    host: String,
    /// What a browser must know to see the page, 8 or more of the letters, digits, - and _
    /// [default: made by chance where one is demanded]
    #[arg(long, value_name = "TEXT", value_parser = token)]
    token: Option<String>,
}

impl AddressArgs {
    fn address(&self) -> Address {
        Address { host: self.host.clone(), port: self.port, token: self.token.clone() }
    }
}

fn token(text: &str) -> Result<String, String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    match text.len() >= 8 && text.len() <= 128 && text.bytes().all(known) {
        true => Ok(text.into()),
        false => Err("must be 8 to 128 of the letters a to z, digits, - and _".into()),
    }
}

/// Serves the page until it is told to end, which is how a view ends and no error; the exit code says what ended it.
pub fn run(args: &ViewArgs) -> Result<(), Failure> {
    let resolved = args.settings.resolve(args.preset.as_deref())?;
    if args.settings.print_config {
        return settings::print(&resolved);
    }
    let given = args.source.as_ref().ok_or_else(|| Failure::usage("the source is missing"))?;
    let wanted = args.targets.read()?;
    let cancel = signals::watch();
    let request = SourceRequest { path: given, options: OpenOptions::default(), needs_truth: false };
    let (source, mut warnings) = request.open(&cancel)?;
    let info = source.info();
    let span = source::span(source.as_ref(), args.start, args.end, None, &cancel)?;
    let targets = if wanted.is_empty() { Vec::new() } else { wanted.within(span, info)? };
    let outputs = Outputs::one("--jsonl", Form::JsonLines, args.jsonl.clone());
    let files = [("--init-file", args.targets.file()), ("--config", args.settings.file())];
    outputs.check_inputs(info, &files)?;
    let mut err = std::io::stderr();
    warnings.extend(source::warnings(info, span, &wanted, &targets, (args.start, args.end)));
    for warning in warnings.iter().filter(|_| args.quiet == 0) {
        let _ = writeln!(err, "warning: {warning}");
    }
    let demand = Demand { channels: resolved.params.channels(), color: true };
    let setup = Setup {
        cache: FrameCache::new(Arc::from(source), span, demand, MAX_CACHE_BYTES),
        path: given.to_string_lossy().into(),
        preset: resolved.preset,
        params: resolved.params,
        lines: args.jsonl.clone(),
        named: args.targets.file().is_some(),
        pick: false,
        stop: cancel.clone(),
    };
    let view = View::open(setup, &args.address.address())?;
    let placed = place(&view, &targets, &cancel)?;
    if !targets.is_empty() {
        // The page begins at the beginning, whichever frame the last of them is of.
        let _ = view.command(Command::Seek { position: span.first });
    }
    if placed {
        let _ = writeln!(err, "view: {}", view.url());
        if let Some(said) = view.url_in_words() {
            let _ = writeln!(err, "{said}");
        }
    }
    while placed && !cancel.is_cancelled() && !view.has_ended() {
        std::thread::sleep(POLL_INTERVAL);
    }
    view.close()?;
    if !cancel.is_cancelled() {
        // One that has ended without an error still did not do what it was asked to.
        return if placed { Ok(()) } else { Err(Failure::failed(Refusal::Ended)) };
    }
    Err(Failure::Interrupted)
}

/// Gives the targets their boxes. Waits for a frame of a camera or far on in a video until the run is cancelled.
/// Returns whether the view goes on.
fn place(view: &View, targets: &[TargetRecord], cancel: &CancelToken) -> Result<bool, Failure> {
    for target in targets {
        let command = Command::Add { id: Some(target.id), position: target.start, bbox: target.bbox };
        let mut told = false;
        loop {
            match view.command(command) {
                // Whatever has become of it: an interrupt ends the source, too.
                _ if cancel.is_cancelled() => return Ok(false),
                Ok(()) => break,
                Err(Refusal::NotYet { position }) => {
                    if !std::mem::replace(&mut told, true) {
                        let _ = writeln!(std::io::stderr(), "waiting for frame {position}");
                    }
                }
                Err(Refusal::Ended) => return Ok(false),
                Err(Refusal::No(said)) => return Err(Failure::usage(format!("target {}: {said}", target.id))),
            }
        }
    }
    Ok(!cancel.is_cancelled())
}

/// A box that was drawn on a page.
pub struct Picked {
    pub bbox: BBox,
    /// The frame that it is of and the frames after it, of a source that gives each frame once.
    pub begun: Option<(Item, Prefetch)>,
}

/// Shows the first frame of `span` on a page until a box is drawn on it.
///
/// # Errors
/// A source without frames, a page that cannot be served, and a cancelled wait.
pub fn pick(source: &dyn Source, span: Span, resolved: &Resolved, cancel: &CancelToken) -> Result<Picked, Failure> {
    let demand = Demand { channels: resolved.params.channels(), color: true };
    let mut frames = Prefetch::open(source, span, demand, cancel)?;
    let info = source.info();
    let first = match frames.next() {
        Some(item) => item,
        None if cancel.is_cancelled() => return Err(Failure::Interrupted),
        None => return Err(source::no_frame(info, span, true)),
    };
    let print = |url: &str| {
        let _ = writeln!(std::io::stderr(), "pick: {url}");
    };
    let picked = view::pick(&first, &info.name, resolved.params.clone(), print, || cancel.is_cancelled())?;
    let bbox = picked.ok_or(Failure::Interrupted)?;
    Ok(Picked { bbox, begun: info.live.then_some((first, frames)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_short_and_has_no_odd_letters() {
        for good in ["abcdefgh", "A-b_9999"] {
            assert_eq!(token(good).as_deref(), Ok(good));
        }
        for wrong in ["", "short", "with blank", "semi;colon", "percent%41", "ümlautümlaut", &"x".repeat(129)] {
            assert!(token(wrong).is_err(), "{wrong}");
        }
    }
}
