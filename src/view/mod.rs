//! The live view: a page to draw targets, track them and correct them.
//!
//! One thread, the controller, owns the frames and the trackers and handles the commands of pages. It writes a shared
//! state that any number of connections read. A connection encodes the newest frame when its page asks for it, so a
//! slow page gets fewer frames and delays nobody.
//!
//! Given boxes cut a target into pieces. A tracker that is given a box starts afresh, so a correction recomputes
//! neither the frames before it nor those from the next given box on. The boxes of a piece equal those of the command
//! line for the same frames and the same first box.

mod controller;
mod frame_cache;
mod pieces;
mod results;
mod routes;
mod state;
mod track;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

pub use self::frame_cache::{FrameCache, MAX_CACHE_BYTES};
pub use self::state::Work;

use self::controller::{Controller, Handled, Message};

use self::results::{Results, Saver};
use self::routes::{Gate, Routes, make_token};
use self::state::{SharedState, Status};
use self::track::Track;
use crate::bbox::BBox;
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result};
use crate::export::Document;
use crate::http::Server;
use crate::run::Command;
use crate::tracker::{Params, Tracker};

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
    /// The source and its settings, the targets that it begins with, their records, and the frame to show first.
    pub document: Document,
    /// The settings of every target's tracker.
    pub params: Params,
    /// What the page shows first.
    pub status: Status,
    /// Where the session is saved.
    pub session: Option<PathBuf>,
    /// What an earlier view of the source has left, in place of the document's targets.
    pub work: Option<Work>,
    /// Progress of each clip.
    pub clips: Vec<Overview>,
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
pub struct View {
    results: Arc<Results>,
    messages: Sender<Message>,
    controller: JoinHandle<()>,
    ended: Receiver<Result<()>>,
    server: Server,
    /// Where it is served, with the port and the token that were chosen.
    pub address: Address,
}

impl Overview {
    /// The progress of a clip by its document.
    pub fn of(name: String, document: &Document) -> Self {
        let (targets, boxes, length) = (document.targets.len(), document.frames.len(), document.source.frames);
        Self { name, targets, boxes, length, completed: document.completed && targets > 0 }
    }
}

impl Setup {
    /// A page of one source that saves nothing.
    pub fn new(cache: FrameCache, document: Document, params: Params, stop: &CancelToken) -> Self {
        let (info, span) = (cache.info(), cache.span);
        let status = Status {
            run: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string(),
            source: info.name.clone(),
            first: span.first,
            last: cache.last,
            expected_last: info.likely_length(),
            live: info.live,
            // A camera sets the pace itself; a pace of our own would fall behind it.
            speed: (!info.live || info.rate.is_some()).then_some(1.0),
            ..Status::default()
        };
        Self { cache, document, params, status, session: None, work: None, clips: Vec::new(), stop: stop.clone() }
    }
}

impl View {
    /// Reads the first frame and serves the page.
    ///
    /// # Errors
    /// [`Error::Io`] for an address or a port that cannot be listened on; errors of the settings and of the output.
    pub fn open(mut setup: Setup, address: &Address) -> Result<Self> {
        let tracker = Tracker::new(setup.params.clone())?;
        // Without the brackets of an IPv6 address.
        let host = address.host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (listener, local) = listen(&host, address.port)?;
        let token = address.token.clone().map_or_else(make_token, Ok)?;
        let session = setup.session.take();
        setup.status.session = session.as_ref().map(|path| path.display().to_string());
        let shared = Arc::<SharedState>::default();
        let clips = serde_json::to_string(&setup.clips).unwrap_or_default();
        shared.prepare(|state| {
            state.status = std::mem::take(&mut setup.status);
            state.restore(&mut setup.document);
            setup.work.take().into_iter().for_each(|work| state.resume(work));
        });
        let (blank, frames, stop) = (setup.document.clone(), Arc::clone(&setup.cache.source), setup.stop.clone());
        let results = Arc::new(Results { shared: Arc::clone(&shared), blank, frames, stop });
        let saver = session.map(|path| Saver::start(path, Arc::clone(&results))).transpose()?;
        let (messages, received) = channel();
        let (end, ended) = channel();
        let controller = Controller::new(shared, received, tracker, setup);
        let run = move || {
            controller.run();
            // The receiver may be gone.
            let _ = end.send(saver.map_or(Ok(()), Saver::finish));
        };
        let controller = spawn("view", run)?;
        let routes = Routes {
            gate: Gate::new(local, &host, token.clone()),
            messages: messages.clone(),
            results: Arc::clone(&results),
            clips,
            downloads: Arc::default(),
        };
        let answer = move |request: &_| routes.answer(request).unwrap_or_else(|refused| refused);
        let server = Server::start(listener, local, Box::new(answer))?;
        let address = Address { host, port: local.port(), token: Some(token) };
        Ok(Self { results, messages, controller, ended, server, address })
    }

    /// The address for a browser; `HOST` stands for the machine's name if the view listens at all addresses.
    pub fn url(&self) -> String {
        let Address { host, port, token } = &self.address;
        let place = match self.server.address {
            any if any.ip().is_unspecified() => format!("HOST:{port}"),
            _ if host.parse::<IpAddr>().is_err() => format!("{host}:{port}"),
            address => address.to_string(),
        };
        format!("http://{place}/?token={}", token.as_deref().unwrap_or_default())
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

    /// The clip that the page asks for, from 1.
    pub fn next_clip(&self) -> Option<usize> {
        self.results.shared.look(|state| state.next_clip)
    }

    /// The work for the next view of this source, and the progress of the clip, for a view that [has
    /// ended](Self::has_ended).
    pub fn take_work(&self, name: String) -> (Work, Overview) {
        let mut overview = Overview::of(name, &self.results.document());
        self.results.shared.prepare(|state| {
            overview.length = state.status.last.or(overview.length);
            (state.take_work(), overview)
        })
    }

    /// The first box of the first target, once it is drawn.
    pub fn picked(&self) -> Option<BBox> {
        self.results.shared.look(|state| state.tracks.values().flat_map(Track::given).find_map(|given| given.bbox))
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
        self.results.shared.change(|_| ());
        ended
    }
}

/// The default port.
pub const PORT: u16 = 8787;

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

fn listen(host: &str, port: u16) -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((host, port)).and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) = listener.map_err(|error| {
        let taken = "another program listens on this port: name another one, or 0 for any that is free";
        let is_taken = error.kind() == std::io::ErrorKind::AddrInUse;
        Error::io(format!("{host}:{port}"), if is_taken { std::io::Error::other(taken) } else { error })
    })?;
    Ok((listener, address))
}

#[cfg(test)]
mod tests;
