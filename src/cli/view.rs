//! `kcf-track view`: a page in the browser on which targets are drawn, followed and corrected.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;

use super::Failure;
use super::failure::{print_warnings, scoped, watch_signals};
use super::settings::{self, Resolved, SettingsArgs};
use super::source::{self, RangeArgs, ReadArgs};
use super::targets::TargetArgs;
use crate::Params;
use crate::atomic_file::{free_beside, written};
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::export::{Document, SourceRecord, is_video};
use crate::media::{Demand, Item, OpenOptions, Prefetch, Sequence, Source, Span, Truth, file_name};
use crate::run::Command;
use crate::text::shown;
use crate::tracker::check_start;
use crate::view::{self, Address, FrameCache, MAX_CACHE_BYTES, Overview, Setup, View, Work};

/// How often the program checks whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Help of `--init`: unlike a run, a view may begin without targets.
const INIT: &str = "Box of a target: left, top (from 0), width, height; FRAME:X,Y,W,H for a later start; repeatable \
                    [default: none, draw them on the page]";

/// Draw targets in a browser, follow them and correct their boxes
///
/// Prints the address of a page and serves it until Ctrl-C. Drag a box around each target in the first frame, and play.
/// If a box leaves its target, pause and drag a new one: the frames before it stay, the frames after it are tracked
/// again. The page saves labels in seven formats; --session keeps the work for the next start.
#[derive(Debug, Args)]
#[command(override_usage = "kcf-track view [OPTIONS] <SRC>", mut_arg("init", |arg| arg.help(INIT).long_help(INIT)))]
pub struct ViewArgs {
    /// Folder of images or of videos, video, camera (/dev/video0), address (rtsp, http), or - for a Y4M pipe
    #[arg(value_name = "SRC", required_unless_present = "print_config")]
    source: Option<PathBuf>,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    range: RangeArgs,
    #[command(flatten)]
    read: ReadArgs,
    /// Document that is opened, if it is there, and saved while you work; of several clips a folder
    ///
    /// It has the form of --json, and --init-file reads it too. Its settings hold unless others are given.
    #[arg(long, value_name = "FILE")]
    session: Option<PathBuf>,
    /// Play at once
    #[arg(long)]
    play: bool,
    /// Go on after a frame of a video that cannot be read; far frames take longer to find
    #[arg(long, hide_short_help = true)]
    skip_bad_frames: bool,
    /// Print no warnings
    #[arg(long, short, action = clap::ArgAction::Count)]
    quiet: u8,
    // These have help headings, which cover all that follows.
    #[command(flatten)]
    address: Address,
    /// Preset to start from [default: robust]
    #[arg(long, short, value_name = "NAME", value_parser = settings::preset_names(), help_heading = "Settings")]
    preset: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Serves the page until a signal ends it. The exit code names the signal.
pub fn run(args: &ViewArgs) -> Result<(), Failure> {
    if args.settings.print_config {
        return settings::print(&args.settings.resolve(args.preset.as_deref())?, false);
    }
    let given = args.source.as_ref().ok_or_else(|| Failure::usage("the source is missing"))?;
    let cancel = watch_signals();
    let mut clips = clips(given);
    let mut place = Place::default();
    if clips.is_empty() {
        return serve(args, given, args.session.as_deref(), &mut place, &cancel).map(drop);
    }
    if !args.targets.is_empty() {
        let reason = "a folder of clips takes no --init and --init-file: draw on the page, and use --session DIR";
        return Err(Failure::usage(reason));
    }
    // `a.mp4` and `a.avi` have sessions of their own.
    let session_of = |clip: &Path| args.session.as_ref().map(|folder| folder.join(file_name(clip) + ".json"));
    place.clips = clips.iter().map(|clip| (clip.clone(), overview(clip, session_of(clip).as_deref()))).collect();
    let mut at = 0;
    loop {
        let clip = &clips[at];
        if let Some(folder) = &args.session {
            let wrong = |error| Failure::of_file("--session", folder, format!("clips need a folder: {error}"));
            std::fs::create_dir_all(folder).map_err(wrong)?;
        }
        let session = session_of(clip);
        place.clip = Some((at + 1, clips.len()));
        match serve(args, clip, session.as_deref(), &mut place, &cancel) {
            Ok(Some(next)) => at = next - 1,
            Ok(None) => return Ok(()),
            // The page goes on with the other clips, if it is the clip that is at fault.
            Err(failure)
                if clips.len() > 1
                    && !cancel.is_cancelled()
                    && (place.address.is_some()
                        || source::open(clip, args.read.options(), false, &cancel).is_err()) =>
            {
                place.said.push(format!("{} is left out: {}", clip.display(), failure.reason()));
                failure.report();
                place.clips.remove(at);
                clips.remove(at);
                at = at.min(clips.len() - 1);
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// The videos of a folder that is no sequence of images, in natural order.
fn clips(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut clips: Vec<_> = files.filter(|file| is_video(file) && file.is_file()).collect();
    let options = OpenOptions { truth: Truth::Ignore, ..OpenOptions::default() };
    if clips.is_empty() || Sequence::open(folder, &options).is_ok() {
        return Vec::new();
    }
    clips.sort_by(|a, b| alphanumeric_sort::compare_path(a, b));
    clips
}

/// Reads the session of a source. Its settings count unless flags give others: then its boxes are left out and tracked
/// anew, which the flag in the result says.
fn read_session(
    args: &ViewArgs,
    path: &Path,
    source: &SourceRecord,
    resolved: &mut Resolved,
) -> Result<(Document, bool), Failure> {
    let flag = format!("--session {}", path.display());
    let wrong = |reason| Failure::usage(format!("{flag}: {reason}"));
    let mut session = Document::read(path).map_err(wrong)?;
    session.check_source(source).map_err(wrong)?;
    if !args.targets.is_empty() && !session.targets.is_empty() {
        return Err(wrong("it has targets already: leave out --init and --init-file".into()));
    }
    if let Some(stored) = args.settings.of_document(args.preset.as_deref(), &flag, &session.parameters)? {
        *resolved = stored;
        return Ok((session, false));
    }
    let stored = Resolved::of(&session.parameters);
    let differ = stored.map_or(true, |stored| stored.is_some_and(|stored| stored.params != resolved.params));
    let is_anew = differ && !std::mem::take(&mut session.frames).is_empty();
    Ok((session, is_anew))
}

/// Address and context of a served source.
#[derive(Default)]
struct Place {
    /// The place among several clips, from 1, and their number.
    clip: Option<(usize, usize)>,
    /// The address of the clip before.
    address: Option<Address>,
    /// Errors of the clips before, for the next page.
    said: Vec<String>,
    /// The work of each clip that was shown, and when its session was written then.
    work: BTreeMap<PathBuf, (Work, Option<SystemTime>)>,
    /// Progress of each clip.
    clips: Vec<(PathBuf, Overview)>,
}

/// Progress of a clip by its session; none of a session that cannot be read, which is reported once the clip is opened.
fn overview(clip: &Path, session: Option<&Path>) -> Overview {
    let read = session.filter(|path| path.exists()).and_then(|path| Document::read(path).ok());
    let name = file_name(clip);
    read.map_or(Overview { name: name.clone(), ..Overview::default() }, |session| Overview::of(name, &session))
}

/// Copies a session whose boxes are left out; returns a warning.
fn keep_former(session: &Path) -> Result<String, Failure> {
    let former = free_beside(session, "former");
    std::fs::copy(session, &former).map_err(|source| Error::io(&former, source))?;
    let former = former.display();
    Ok(format!("the settings are others, so all is tracked anew; the former boxes are in {former}"))
}

/// Opens a source with its session. Warnings are printed.
fn setup(
    args: &ViewArgs,
    given: &Path,
    session_path: Option<&Path>,
    place: &mut Place,
    cancel: &CancelToken,
) -> Result<Setup, Failure> {
    let mut resolved = args.settings.resolve(args.preset.as_deref())?;
    let options = OpenOptions { lenient: args.skip_bad_frames, ..args.read.options() };
    let (source, mut warnings) = source::open(given, options, false, cancel)?;
    let info = source.info();
    let span = source::span(source.as_ref(), args.range, None, cancel)?;
    let size = info.frame_size();
    let (width, height) = size.unwrap_or_default();
    let source_record = SourceRecord { width, height, ..SourceRecord::new(given.to_string_lossy().into(), info, span) };
    let session = session_path.filter(|path| path.exists());
    let session = session.map(|path| read_session(args, path, &source_record, &mut resolved)).transpose()?;
    let wanted = args.targets.read(info)?;
    resolved = args.targets.settings(args.preset.as_deref(), &args.settings, &wanted)?.unwrap_or(resolved);
    let initial = if wanted.is_empty() { Vec::new() } else { wanted.within(span, info, "")? };
    for (target, (_, bbox)) in initial.iter().flat_map(|target| target.boxes().map(move |given| (target, given))) {
        let checked = size.map_or(Ok(()), |size| check_start(size, bbox));
        checked.map_err(|error| Failure::usage(format!("target {}: {error}", target.id)))?;
    }
    let is_anew = session.as_ref().is_some_and(|(_, is_anew)| *is_anew);
    if let Some(path) = session_path.filter(|_| is_anew) {
        warnings.push(keep_former(path)?);
    }
    warnings.extend(source::warnings(info, span, &wanted, &initial, args.range));
    print_warnings(warnings.iter().filter(|_| args.quiet == 0));
    let demand = Demand { color: true, ..resolved.params.channels().into() };
    let mut cache = FrameCache::new(Arc::clone(&source), span, demand, MAX_CACHE_BYTES);
    let mut document = Document::blank(source_record, resolved.params.document(&resolved.preset));
    if let Some((session, _)) = &session {
        cache.last = cache.last.or(session.known_end());
        document.position = session.position.filter(|_| !is_anew);
    }
    (document.targets, document.frames, document.named) = match session {
        Some((session, _)) if initial.is_empty() => (session.targets, session.frames, session.named),
        _ => (initial, Vec::new(), args.targets.init_file.is_some()),
    };
    // Unless another program has written the session meanwhile.
    let work = place.work.remove(given).filter(|(_, time)| *time == session_path.and_then(written));
    let mut setup = Setup::new(cache, document, resolved.params, cancel);
    setup.work = work.map(|(work, _)| work);
    setup.clips = place.clips.iter().map(|(_, done)| done.clone()).collect();
    setup.session = session_path.map(Path::to_path_buf);
    let said = std::mem::take(&mut place.said);
    setup.status.said = (u64::from(!said.is_empty()), said.join("; "));
    (setup.status.clip, setup.status.preset) = (place.clip, resolved.preset);
    Ok(setup)
}

/// Serves the page of one source. Returns the place of the clip, from 1, that the page asks for.
fn serve(
    args: &ViewArgs,
    given: &Path,
    session: Option<&Path>,
    place: &mut Place,
    cancel: &CancelToken,
) -> Result<Option<usize>, Failure> {
    let setup = scoped(cancel, || setup(args, given, session, place, cancel))?;
    // The next clip is served at the same address.
    let is_next = place.address.is_some();
    let view = View::open(setup, &place.address.take().unwrap_or_else(|| args.address.clone()))?;
    place.address = Some(view.address.clone());
    if args.play {
        let _ = view.command(Command::Play);
    }
    let mut err = std::io::stderr();
    if let Some((at, count)) = place.clip.filter(|_| is_next) {
        let _ = writeln!(err, "clip {at} of {count}: {}", shown(&given.to_string_lossy()));
    } else {
        let _ = writeln!(err, "view: {}", view.url());
        if let Some(note) = view.url_note() {
            let _ = writeln!(err, "{note}");
        }
    }
    while !cancel.is_cancelled() && !view.has_ended() {
        std::thread::sleep(POLL_INTERVAL);
    }
    let next = view.next_clip();
    if next.is_some() {
        let (work, done) = view.take_work(file_name(given));
        place.work.insert(given.into(), (work, session.and_then(written)));
        place.clips.iter_mut().filter(|(clip, _)| clip == given).for_each(|(_, known)| known.clone_from(&done));
    }
    match view.close().map_err(Failure::from) {
        // The clip stays in the list.
        Err(failure) if next.is_some() && !cancel.is_cancelled() => {
            place.said.push(failure.reason().to_owned());
            failure.report();
        }
        ended => ended?,
    }
    if cancel.is_cancelled() { Err(Failure::Interrupted) } else { Ok(next) }
}

/// Shows the first frame of `span` on a page until a box is drawn on it that can be tracked, and returns the box. The page
/// is served at `port`, or else at the usual one or, if that is taken, at any that is free. For a source that gives each
/// frame once it also returns the frame and the frames after it.
///
/// # Errors
/// A source without frames or whose first one cannot be read, a page that cannot be served, and a cancelled wait.
pub fn pick(
    source: &Arc<dyn Source>,
    span: Span,
    params: &Params,
    port: Option<u16>,
    cancel: &CancelToken,
) -> Result<(BBox, Option<(Item, Prefetch)>), Failure> {
    let demand = Demand { color: true, ..params.channels().into() };
    let mut frames = Prefetch::open(source.as_ref(), span, demand, cancel)?;
    let info = source.info();
    let first = match frames.next() {
        Some(item) => item,
        None if cancel.is_cancelled() => return Err(Failure::Interrupted),
        None => return Err(source::no_frame(info, span, true)),
    };
    let (name, position) = (info.name.clone(), first.position);
    let wrong = |error: &Error| Error::sequence(&name, format!("frame {position} could not be read: {error}"));
    let frame = first.frame.as_ref().map_err(wrong)?;
    let pictures = Ok((frame.clone(), first.color.clone()));
    let shown = Item { name: first.name.clone(), ..Item::numbered(position, None, pictures, 0.0) };
    let only = Span::from(position..=position);
    let mut cache = FrameCache::new(Arc::clone(source), only, demand, MAX_CACHE_BYTES);
    cache.keep(&Arc::new(shown));
    let document = Document::blank(SourceRecord::new(name, info, only), params.document(""));
    let mut setup = Setup::new(cache, document, params.clone(), cancel);
    setup.status.pick = true;
    let host = "127.0.0.1";
    let is_taken = port.is_none() && TcpListener::bind((host, view::PORT)).is_err();
    let port = if is_taken { 0 } else { port.unwrap_or(view::PORT) };
    let view = View::open(setup, &Address { host: host.into(), port, token: None })?;
    let _ = writeln!(std::io::stderr(), "pick: {}", view.url());
    let begun = Instant::now();
    while view.picked().is_none() && !cancel.is_cancelled() {
        std::thread::sleep(POLL_INTERVAL);
    }
    let picked = view.picked();
    view.close()?;
    let bbox = picked.ok_or(Failure::Interrupted)?;
    let late = begun.elapsed().as_secs();
    if info.live && late > 0 {
        let _ =
            writeln!(std::io::stderr(), "pick: the box took {late} s; frames that came meanwhile are tracked first");
    }
    Ok((bbox, info.live.then_some((first, frames))))
}

#[cfg(test)]
mod tests {
    use crate::view::token;

    #[test]
    fn tokens_are_long_enough_and_need_no_escape() {
        for good in ["abcdefgh", "A-b_9999"] {
            assert_eq!(token(good).as_deref(), Ok(good));
        }
        for wrong in ["", "short", "with blank", "semi;colon", "percent%41", "ümlautümlaut", &"x".repeat(129)] {
            assert!(token(wrong).is_err(), "{wrong}");
        }
    }
}
