//! The live view: a page on which targets are drawn, followed, corrected and followed on.
//!
//! One thread, the controller, owns the frames and the trackers and does what pages ask for; it writes what is to
//! be seen on a board, from which any number of connections read. A connection encodes the newest frame when its
//! page asks for it: a page that is slow gets fewer frames, and nothing waits for it.
//!
//! A target is cut into pieces by the boxes that are given: a tracker that is given a box forgets what
//! it knew, so that a correction recomputes nothing before it, and nothing from the next given box on. The boxes of a
//! piece are those that the command line gives for the same frames and the same first box.

mod board;
mod controller;
#[cfg(test)]
mod fixtures;
mod heads;
mod http;
mod log;
mod maps;
mod order;
mod pick;
mod picture;
mod reel;
mod results;
mod routes;
#[cfg(all(test, feature = "synth"))]
mod tests;
mod track;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use self::order::{Order, Refusal};
pub use self::pick::{PORT, pick};
pub use self::picture::LONGEST_SIDE;
pub use self::reel::{KEPT_BYTES, Reel};

use self::board::Board;
use self::controller::{Call, Controller, Obeyed};
use self::log::Log;
use self::results::Results;
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::export::Destination;
use crate::tracker::Params;
use http::{Gate, Server, make_token};

/// How long an order may take.
const ORDER_TIME: Duration = Duration::from_secs(20);

/// How long the end is waited for.
const END_TIME: Duration = Duration::from_secs(5);

/// Where a view is served.
#[derive(Clone, Debug)]
pub struct Address {
    /// A name or an address of this machine.
    pub host: String,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// What clients must know. Beyond the loopback a token is made where none is given.
    pub token: Option<String>,
}

/// What is followed, and by what.
#[derive(Debug)]
pub struct Setup {
    /// The frames.
    pub reel: Reel,
    /// What the source was called by.
    pub path: String,
    /// The preset that the settings started from.
    pub preset: String,
    /// The settings of every target's tracker.
    pub params: Params,
    /// Where JSON lines go, as frames are tracked.
    pub lines: Option<Destination>,
    /// Whether targets are named by ids that a person gave them, so that every output names even an only one.
    pub named: bool,
    /// Whether the page only asks for a first box.
    pub pick: bool,
    /// Ends what an order waits for.
    pub stop: CancelToken,
}

/// A view that is served until it is closed.
#[derive(Debug)]
pub struct View {
    board: Arc<Board>,
    calls: Sender<Call>,
    controller: JoinHandle<()>,
    ended: Receiver<Result<()>>,
    server: Server,
    host: String,
    token: Option<String>,
}

impl View {
    /// Reads the first frame and serves the page.
    ///
    /// # Errors
    /// [`Error::Listen`] for an address or a port that cannot be listened on; what the output of lines and the
    /// tracker's settings say.
    pub fn open(setup: Setup, address: &Address) -> Result<Self> {
        setup.params.check()?;
        let host = bare(&address.host);
        let (listener, local) = listen(host, address.port)?;
        let token = match &address.token {
            None if !local.ip().is_loopback() => Some(make_token()?),
            given => given.clone(),
        };
        let host = host.to_owned();
        let Setup { reel, path, preset, params, lines, named, pick, stop } = setup;
        let log = Log::create(lines)?;
        let board = Arc::new(Board::default());
        board.change(|state| {
            let (source, status) = (reel.source(), &mut state.status);
            let span = reel.span();
            status.run = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
            (status.source, status.preset, status.pick) = (source.name().to_owned(), preset.clone(), pick);
            (status.first, status.last, status.oldest) = (span.first, span.last, span.first);
            (status.live, status.rate) = (source.is_live(), source.rate());
            status.expected_last = source.expected_length();
            // A camera sets the pace itself; a pace of our own would fall behind it.
            status.speed = (!source.is_live() || source.rate().is_some()).then_some(1.0);
        });
        let (calls, received) = channel();
        let (end, ended) = channel();
        let results = Results { path, span: reel.span(), parameters: params.document(&preset), named };
        let controller = Controller::new(Arc::clone(&board), received, reel, stop, params, log);
        let run = move || {
            // Nobody may be there any more to hear of it.
            let _ = end.send(controller.run());
        };
        let controller = std::thread::Builder::new().name("view".into()).spawn(run);
        let controller = controller.map_err(|source| Error::io("a thread to track on", source))?;
        let name = host.parse::<std::net::IpAddr>().is_err().then(|| host.clone());
        let gate = Gate { token: token.clone(), name, anywhere: local.ip().is_unspecified() };
        let routes = routes::Routes { board: Arc::clone(&board), calls: calls.clone(), results };
        let server = Server::start(listener, move |request| match gate.check(request) {
            Ok(()) => routes.answer(request, gate.keep(request.local)),
            Err(refused) => refused,
        })?;
        Ok(Self { board, calls, controller, ended, server, host, token })
    }

    /// The address for a browser on this machine, or on another one where it listens for these.
    pub fn url(&self) -> String {
        let address = self.server.address();
        let host = match address.ip() {
            ip if ip.is_unspecified() => "HOST".to_owned(),
            _ if self.host.parse::<std::net::IpAddr>().is_err() => self.host.clone(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            ip => ip.to_string(),
        };
        let token = self.token.as_ref().map_or(String::new(), |token| format!("?token={token}"));
        format!("http://{host}:{}/{token}", address.port())
    }

    /// What to say of the address where it is not to be opened as it stands.
    pub fn url_in_words(&self) -> Option<&'static str> {
        let any = self.server.address().ip().is_unspecified();
        any.then_some("HOST stands for the name or the address by which this machine is reached")
    }

    /// Does what a page could ask for.
    ///
    /// # Errors
    /// Why not, and whether it may be asked for again.
    pub fn order(&self, order: Order) -> std::result::Result<(), Refusal> {
        call(&self.calls, order).map(drop)
    }

    /// The first box, once somebody who was asked for it has given it.
    pub fn picked(&self) -> Option<BBox> {
        self.board.look(|state| state.picked)
    }

    /// Whether tracking has ended by itself, which is a failure: [`View::close`] says which.
    pub fn has_ended(&self) -> bool {
        self.controller.is_finished()
    }

    /// Stops, and completes what is written.
    ///
    /// # Errors
    /// When an output could not be written.
    pub fn close(self) -> Result<()> {
        // One that has ended hears nothing, and has said how it ended.
        let _ = self.calls.send(Call::Stop);
        let late = || Error::io("the end of tracking", std::io::ErrorKind::TimedOut.into());
        self.ended.recv_timeout(END_TIME).unwrap_or_else(|_| Err(late()))
    }
}

/// Hands an order to the controller and waits for what becomes of it.
fn call(calls: &Sender<Call>, order: Order) -> Obeyed {
    let (reply, answer) = sync_channel(1);
    calls.send(Call::Order(order, reply)).map_err(|_| Refusal::Ended)?;
    answer.recv_timeout(ORDER_TIME).unwrap_or(Err(Refusal::Ended))
}

/// An IPv6 address without the brackets that it has in front of a port.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn listen(host: &str, port: u16) -> Result<(TcpListener, SocketAddr)> {
    let wrong = |error: std::io::Error| {
        let reason = match error.kind() {
            std::io::ErrorKind::AddrInUse => "another program listens on this port: name another one, or 0 for any \
                                              that is free"
                .into(),
            std::io::ErrorKind::PermissionDenied => format!("{error}: ports below 1024 need rights, name another one"),
            std::io::ErrorKind::AddrNotAvailable => format!("{error}: it is no address of this machine"),
            _ if host.contains([':', '/']) && host.parse::<std::net::IpAddr>().is_err() => {
                format!("{error}: name the host alone, and the port by --port")
            }
            _ => error.to_string(),
        };
        Error::Listen { address: format!("{host}:{port}"), reason }
    };
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(wrong)?.collect();
    let listener = TcpListener::bind(&addresses[..]).map_err(wrong)?;
    let local = listener.local_addr().map_err(wrong)?;
    Ok((listener, local))
}
