//! The live view: a page to draw targets, track them and correct them.
//!
//! One thread, the controller, owns the frames and the trackers and handles the commands of pages. It writes a shared
//! state that any number of connections read. A connection encodes the newest frame when its page asks for it, so a
//! slow page gets fewer frames and delays nobody.
//!
//! Given boxes cut a target into pieces. A tracker that is given a box starts afresh, so a correction recomputes
//! neither the frames before it nor those from the next given box on. The boxes of a piece equal those of the command
//! line for the same frames and the same first box.

mod commands;
mod controller;
mod fill;
mod frame_cache;
mod http;
mod results;
mod routes;
mod state;
#[cfg(test)]
mod tests;
mod track;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

pub use self::frame_cache::{FrameCache, MAX_CACHE_BYTES};
pub use self::http::requests;
pub use self::results::free_beside;
pub use self::state::Work;

use self::controller::{Controller, Goal, Handled, Message, POLL_INTERVAL};
use self::http::Server;
use self::results::{Results, autosave};
use self::routes::{Gate, Routes, make_token};
use self::state::{SharedState, Status, ViewState};
use crate::bbox::BBox;
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result};
use crate::export::{Destination, FrameRecord, Json, SourceRecord, TargetRecord};
use crate::media::{Demand, Item, Source};
use crate::run::Command;
use crate::tracker::Params;

/// How long a command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);

/// How long [`View::close`] waits for the controller.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The address of a view.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Page")]
pub struct Address {
    /// Port of the page; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = PORT)]
    pub port: u16,
    /// Address to serve the page at
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    pub host: String,
    /// Token that opens the page: 8 or more letters, digits, - or _ [default: random]
    #[arg(long, value_name = "TEXT", value_parser = token)]
    pub token: Option<String>,
}

/// The parser of a token.
pub fn token(text: &str) -> Result<String, String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    match text.len() >= 8 && text.len() <= 128 && text.bytes().all(known) {
        true => Ok(text.into()),
        false => Err("must be 8 to 128 of the letters a to z, digits, - and _".into()),
    }
}

/// The frames, the trackers' settings and the outputs of a view.
#[derive(Debug)]
pub struct Setup {
    /// The frames.
    pub cache: FrameCache,
    /// The path or address of the source.
    pub path: String,
    /// The preset that the settings started from.
    pub preset: String,
    /// The settings of every target's tracker.
    pub params: Params,
    /// Whether the user gave ids, so that outputs name even a single target.
    pub named: bool,
    /// The file of the session.
    pub session: Option<PathBuf>,
    /// The targets that it begins with, and their records.
    pub targets: Vec<TargetRecord>,
    pub frames: Vec<FrameRecord>,
    /// The frame to show first.
    pub position: Option<usize>,
    /// Work of an earlier view of the source, in place of the targets.
    pub work: Option<Work>,
    /// Progress of each clip.
    pub clips: Vec<Overview>,
    /// The place of the source among several clips, from 1, and their number.
    pub clip: Option<(usize, usize)>,
    /// First message of the page.
    pub said: String,
    /// Whether the page only asks for a first box.
    pub pick: bool,
    /// Ends commands that wait for a frame.
    pub stop: CancelToken,
}

/// Progress of a clip.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Overview {
    /// The name of its file.
    pub name: String,
    /// How many targets there are.
    pub targets: usize,
    /// How many boxes.
    pub boxes: usize,
    /// How many frames, as far as is known.
    pub length: Option<usize>,
    /// Whether all targets are tracked to the end.
    pub completed: bool,
}

/// A running view.
#[derive(Debug)]
pub struct View {
    shared: Arc<SharedState>,
    messages: Sender<Message>,
    controller: JoinHandle<()>,
    ended: Receiver<Result<()>>,
    server: Server,
    host: String,
    token: String,
}

impl View {
    /// Reads the first frame and serves the page.
    ///
    /// # Errors
    /// [`Error::Io`] for an address or a port that cannot be listened on; errors of the settings and of the output.
    pub fn open(setup: Setup, address: &Address) -> Result<Self> {
        setup.params.check()?;
        let host = bare(&address.host);
        let (listener, local) = listen(host, address.port)?;
        let token = address.token.clone().map_or_else(make_token, Ok)?;
        let host = host.to_owned();
        let Setup { cache, path, preset, params, named, session, targets, frames, clip, said, pick, stop, .. } = setup;
        let (clips, work) = (setup.clips, setup.work);
        let (info, span) = (cache.info(), cache.span);
        let info_live = info.live;
        let left = work.as_ref().map(|work| work.position).or(setup.position);
        let status = Status {
            run: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string(),
            source: info.name.clone(),
            preset: preset.clone(),
            clip,
            pick,
            first: span.first,
            last: cache.last,
            expected_last: info.length.or(info.expected_length),
            live: info.live,
            oldest: span.first,
            rate: info.rate,
            // A camera sets the pace itself; a pace of our own would fall behind it.
            speed: (!info.live || info.rate.is_some()).then_some(1.0),
            ..Status::default()
        };
        let shared = Arc::new(SharedState::new(status));
        let (messages, received) = channel();
        let (end, ended) = channel();
        let source = SourceRecord::new(path, info, span);
        let (frames_of, parameters) = (Arc::clone(&cache.source), params.document(&preset));
        let results = Arc::new(Results { source, frames: frames_of, stop: stop.clone(), parameters, named });
        let last_id = shared.prepare(|state| {
            if !said.is_empty() {
                state.say(said);
            }
            state.left = left.unwrap_or_default();
            let last_id = restore(state, session.as_deref(), targets, frames);
            match work {
                Some(work) => last_id.max(state.resume(work)),
                None => last_id,
            }
        });
        let saver = session.map(|path| Saver::start(path, Arc::clone(&results), Arc::clone(&shared))).transpose()?;
        let is_known = |at: &usize| !info_live && *at >= span.first && cache.last.is_none_or(|last| *at <= last);
        let begin = left.filter(is_known).unwrap_or(span.first);
        let mut controller = Controller::new(Arc::clone(&shared), received, cache, stop, params);
        controller.last_id = last_id;
        controller.goal = Some(Goal { position: begin, track: begin == span.first });
        let run = move || {
            controller.run();
            // The receiver may be gone.
            let _ = end.send(saver.map_or(Ok(()), Saver::finish));
        };
        let controller = spawn("view", run)?;
        let gate = Gate::new(local, &host, token.clone());
        let clips = serde_json::to_string(&clips).unwrap_or_default();
        let (downloads, messages_of) = (Arc::default(), messages.clone());
        let routes = Routes { gate, shared: Arc::clone(&shared), messages: messages_of, results, clips, downloads };
        let server = Server::start(listener, local, move |request| routes.answer(request))?;
        Ok(Self { shared, messages, controller, ended, server, host, token })
    }

    /// The address for a browser; `HOST` stands for the machine's name if the view listens at all addresses.
    pub fn url(&self) -> String {
        let address = self.server.address;
        let host = match address.ip() {
            ip if ip.is_unspecified() => "HOST".to_owned(),
            _ if self.host.parse::<std::net::IpAddr>().is_err() => self.host.clone(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            ip => ip.to_string(),
        };
        format!("http://{host}:{}/?token={}", address.port(), self.token)
    }

    /// A note on the address if a browser cannot open it as printed.
    pub fn url_note(&self) -> Option<&'static str> {
        let any = self.server.address.ip().is_unspecified();
        any.then_some("HOST stands for the name or the address by which this machine is reached")
    }

    /// Handles a command as if a page had sent it.
    ///
    /// # Errors
    /// The reason.
    pub fn command(&self, command: Command) -> std::result::Result<(), String> {
        call(&self.messages, command).map(drop)
    }

    /// Address of the page, with the port and the token that were chosen.
    pub fn address(&self) -> Address {
        Address { host: self.host.clone(), port: self.server.address.port(), token: Some(self.token.clone()) }
    }

    /// The clip that the page asks for, from 1.
    pub fn next_clip(&self) -> Option<usize> {
        self.shared.look(|state| state.next_clip)
    }

    /// The work for the next view of this source, and the progress of the clip, for a view that [has
    /// ended](Self::has_ended).
    pub fn take_work(&self, name: String) -> (Work, Overview) {
        self.shared.prepare(|state| {
            let tracks = state.tracks.values();
            let boxes = tracks.clone().map(|track| track.records().count()).sum();
            let length = state.status.last.or(state.status.expected_last);
            let is_done = |last| tracks.clone().all(|track| track.missing(last).next().is_none());
            let completed = tracks.len() > 0 && state.status.last.is_some_and(is_done);
            let overview = Overview { name, targets: tracks.len(), boxes, length, completed };
            (state.take_work(), overview)
        })
    }

    /// The picked box, once it is drawn.
    pub fn picked(&self) -> Option<BBox> {
        self.shared.look(|state| state.picked)
    }

    /// Whether another clip was asked for.
    pub fn has_ended(&self) -> bool {
        self.controller.is_finished()
    }

    /// Stops and saves the session.
    ///
    /// # Errors
    /// When it could not be saved.
    pub fn close(self) -> Result<()> {
        // A controller that has ended no longer receives; its result is in `ended`.
        let _ = self.messages.send(Message::Stop);
        let late = || Error::io("the end of tracking", std::io::ErrorKind::TimedOut.into());
        let ended = self.ended.recv_timeout(CLOSE_TIMEOUT).unwrap_or_else(|_| Err(late()));
        drop(self.server);
        // Wakes the pages that wait for news: they ask the next clip's view.
        self.shared.change(|_| ());
        ended
    }
}

/// Puts targets into the state; returns the highest id.
fn restore(state: &mut ViewState, session: Option<&Path>, targets: Vec<TargetRecord>, frames: Vec<FrameRecord>) -> u32 {
    state.status.session = session.map(|path| path.display().to_string());
    let last_id = targets.iter().map(|target| target.id).max().unwrap_or(0);
    let mut records: BTreeMap<u32, Vec<FrameRecord>> = BTreeMap::new();
    for record in frames {
        let id = record.id.unwrap_or(1);
        records.entry(id).or_default().push(FrameRecord { id: Some(id), ..record });
    }
    for target in targets {
        let records = records.remove(&target.id).unwrap_or_default();
        state.restore(target, records.into_iter());
    }
    last_id
}

/// The thread that saves a session.
struct Saver {
    stop: CancelToken,
    thread: JoinHandle<Result<()>>,
}

impl Saver {
    fn start(path: PathBuf, results: Arc<Results>, shared: Arc<SharedState>) -> Result<Self> {
        // A place that cannot be written to is an error at once. What stands there was read as a session.
        drop(Json::create(&Destination::replaced(&path))?);
        let stop = CancelToken::default();
        let token = stop.clone();
        let opened = shared.look(|state| state.revision);
        let thread = spawn("session", move || autosave(&results, &shared, &path, opened, &token))?;
        Ok(Self { stop, thread })
    }

    /// Saves for the last time.
    fn finish(self) -> Result<()> {
        self.stop.cancel();
        self.thread.join().unwrap_or_else(|_| Err(Error::io("the session", std::io::ErrorKind::Other.into())))
    }
}

/// The default port.
const PORT: u16 = 8787;

/// Serves a page on which a user draws a box on the frame `item` of `source`; `None` if `stop` is cancelled first. The
/// page accepts a box that can be tracked with `params`. It is served at `port`, or else at [`PORT`] or, if that is taken,
/// at any free port; `on_url` gets its address.
///
/// # Errors
/// When the frame could not be read, or no port can be used.
pub fn pick(
    source: Arc<dyn Source>,
    item: &Item,
    params: Params,
    port: Option<u16>,
    on_url: impl FnOnce(&str),
    stop: &CancelToken,
) -> Result<Option<BBox>> {
    let (name, position) = (source.info().name.clone(), item.position);
    let frame = item.frame.as_ref().map_err(|error| {
        let reason = format!("frame {position} could not be read: {error}");
        Error::Sequence { path: name.clone().into(), reason }
    })?;
    let pictures = Ok((frame.clone(), item.color.clone()));
    let shown = Item { name: item.name.clone(), ..Item::numbered(position, None, pictures, 0.0) };
    let demand = Demand { color: true, ..params.channels().into() };
    let mut cache = FrameCache::new(source, (position..=position).into(), demand, MAX_CACHE_BYTES);
    cache.keep(&Arc::new(shown));
    let setup = Setup {
        cache,
        path: name,
        preset: String::new(),
        params,
        named: false,
        session: None,
        targets: Vec::new(),
        frames: Vec::new(),
        position: None,
        work: None,
        clips: Vec::new(),
        clip: None,
        said: String::new(),
        pick: true,
        stop: stop.clone(),
    };
    let at = |port| Address { host: "127.0.0.1".into(), port, token: None };
    let is_taken = port.is_none() && listen("127.0.0.1", PORT).is_err();
    let view = View::open(setup, &at(if is_taken { 0 } else { port.unwrap_or(PORT) }))?;
    on_url(&view.url());
    while view.picked().is_none() && !stop.is_cancelled() {
        std::thread::sleep(POLL_INTERVAL);
    }
    let picked = view.picked();
    view.close()?;
    Ok(picked)
}

/// Sends a command to the controller and waits for the result.
fn call(messages: &Sender<Message>, command: Command) -> Handled {
    let (reply, answer) = sync_channel(1);
    let ended = || "tracking has ended: start the program again".to_owned();
    messages.send(Message::Command(command, reply)).map_err(|_| ended())?;
    answer.recv_timeout(COMMAND_TIMEOUT).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => Err("busy for 20 s; the command is queued".into()),
        RecvTimeoutError::Disconnected => Err(ended()),
    })
}

/// Strips the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn listen(host: &str, port: u16) -> Result<(TcpListener, SocketAddr)> {
    let wrong = |error: std::io::Error| {
        let error = match error.kind() {
            std::io::ErrorKind::AddrInUse => std::io::Error::other(
                "another program listens on this port: name another one, or 0 for any that is free",
            ),
            _ => error,
        };
        Error::io(format!("{host}:{port}"), error)
    };
    let listener = TcpListener::bind((host, port)).map_err(wrong)?;
    let local = listener.local_addr().map_err(wrong)?;
    Ok((listener, local))
}
