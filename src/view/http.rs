//! A small HTTP/1.1 server for the page: one thread per connection, with limits on sizes, connections and times.
//!
//! `httparse` parses requests. A client that sends garbage or never reads holds one thread for a few seconds.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use constant_time_eq::constant_time_eq;
use serde_json::json;

use crate::error::{Error, Result};

/// Most connections at a time. A browser keeps up to six.
pub const MAX_CONNECTIONS: usize = 64;

/// How long an answer may wait for a client that does not read.
const UNREAD: Duration = Duration::from_secs(5);

/// Makes an answer of a request.
type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// Answers requests until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Takes connections on `listener` from now on.
    ///
    /// # Errors
    /// [`Error::Io`] when no thread can be started.
    pub fn start(
        listener: TcpListener,
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Result<Self> {
        let address = listener.local_addr().map_err(|source| Error::io("the port", source))?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, handler): (_, Arc<Handler>) = (Arc::clone(&stop), Arc::new(handler));
        let accept = move || accept(&listener, &handler, &stopped);
        let thread = std::thread::Builder::new().name("accept".into()).spawn(accept);
        let thread = thread.map_err(|source| Error::io("a thread to serve on", source))?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Takes no more connections; those that are open end with the answer that they are at.
impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A connection is what wakes a thread that waits for one.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() });
        }
        if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, handler: &Arc<Handler>, stop: &Arc<AtomicBool>) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let accepted = listener.accept();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            // No more file descriptors, most likely: connections that end give some back.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
            let _ = Response::refused(503, "there are too many connections").write(&mut &stream, true);
            continue;
        }
        let (handler, stopped, counted) = (Arc::clone(handler), Arc::clone(stop), Counted(Arc::clone(&open)));
        let work = move || {
            let _counted = counted;
            connection(&stream, handler.as_ref(), &stopped);
        };
        // Without a thread the connection is closed; the next one may have more luck.
        let _ = std::thread::Builder::new().name("http".into()).spawn(work);
    }
}

/// One connection, counted until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers the requests of one connection, until it is to end.
fn connection(stream: &TcpStream, handler: &Handler, stop: &AtomicBool) {
    // Small answers are not held back to be sent with later ones.
    let ready = stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(UNREAD)));
    let (Ok(()), Ok(reading)) = (ready, stream.try_clone()) else { return };
    let mut incoming = Incoming::new(reading);
    loop {
        let (response, last) = match incoming.next() {
            Ok(request) => (handler(&request), request.last),
            Err(NoRequest::Wrong(response)) => (response, true),
            Err(NoRequest::Gone) => break,
        };
        let last = last || stop.load(Ordering::Relaxed);
        if response.write(&mut &*stream, last).is_err() || last {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    drain(stream);
}

/// Reads what a client still sends, for a moment: a connection that is closed over unread bytes takes the answer with
/// it.
fn drain(mut stream: &TcpStream) {
    let mut piece = [0; 16 << 10];
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    for _ in 0..64 {
        if !stream.read(&mut piece).is_ok_and(|count| count > 0) {
            return;
        }
    }
}

/// Most bytes of a request's line and headers.
pub const MAX_HEAD: usize = 16 << 10;

/// Most bytes of a request's body.
pub const MAX_BODY: usize = 64 << 10;

/// Most headers of a request.
const MAX_HEADERS: usize = 64;

/// How long a connection may wait for its next request.
const IDLE: Duration = Duration::from_secs(60);

/// How long a request may take from its first byte to its last.
const WHOLE: Duration = Duration::from_secs(10);

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// To read something.
    Get,
    /// To change something.
    Post,
}

/// A request whose form is right; whether it may be answered is for the [`Gate`](super::Gate) to say.
#[derive(Debug)]
pub struct Request {
    /// What it wants.
    pub method: Method,
    /// What it is about, without the query.
    pub path: String,
    /// At most [`MAX_BODY`] bytes.
    pub body: Vec<u8>,
    /// The address of this program that the connection was made to.
    pub local: SocketAddr,
    /// Whether the connection ends with the answer.
    last: bool,
    query: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
}

impl Request {
    /// The value of a header, given in lower case; `None` where there is none, or more than one.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        found.next().filter(|_| found.next().is_none())
    }

    /// Whether there is a header of this name, given in lower case.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    /// The text of a parameter of the query, as it stands there.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, text)| text)
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.headers.iter().filter(|(known, _)| known == "cookie").map(|(_, value)| value);
        let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Bytes of a connection that were read and not yet used.
struct Incoming {
    stream: TcpStream,
    bytes: Vec<u8>,
}

/// Why there is no request.
enum NoRequest {
    /// The client has gone, or has nothing to say.
    Gone,
    /// What it sent makes no sense; to be answered by this, and the connection ended.
    Wrong(Response),
}

impl Incoming {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, bytes: Vec::new() }
    }

    /// Waits for the next request.
    pub fn next(&mut self) -> Result<Request, NoRequest> {
        let mut deadline = (!self.bytes.is_empty()).then(|| Instant::now() + WHOLE);
        loop {
            if let Some((mut request, head, body)) = parse(&self.bytes).map_err(NoRequest::Wrong)?
                && self.bytes.len() >= head + body
            {
                request.body = self.bytes[head..head + body].to_vec();
                self.bytes.drain(..head + body);
                request.local = self.stream.local_addr().map_err(|_| NoRequest::Gone)?;
                return Ok(request);
            }
            if self.fill(deadline)? == 0 {
                let cut = || NoRequest::Wrong(Response::refused(400, "the request is cut"));
                return Err(if self.bytes.is_empty() { NoRequest::Gone } else { cut() });
            }
            deadline.get_or_insert_with(|| Instant::now() + WHOLE);
        }
    }

    /// Reads what is there, until the deadline of a request that has begun.
    fn fill(&mut self, deadline: Option<Instant>) -> Result<usize, NoRequest> {
        let late = || NoRequest::Wrong(Response::refused(408, "the request did not come to its end in time"));
        let left = deadline.map_or(IDLE, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Err(late());
        }
        self.stream.set_read_timeout(Some(left)).map_err(|_| NoRequest::Gone)?;
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(count) => {
                self.bytes.extend_from_slice(&piece[..count]);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => self.fill(deadline),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(if deadline.is_some() { late() } else { NoRequest::Gone })
            }
            Err(_) => Err(NoRequest::Gone),
        }
    }
}

/// The head of the request that `bytes` begin with, and the lengths of its head and its body; `None` while there is not
/// enough of it.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Response> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head)) if head <= MAX_HEAD => head,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD => return Ok(None),
        Ok(_) => return Err(Response::refused(431, "the head of the request is longer than 16 KB")),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Response::refused(431, "the request has more than 64 headers"));
        }
        Err(error) => return Err(Response::refused(400, &format!("this is no HTTP request: {error}"))),
    };
    let method = match parsed.method {
        Some("GET") => Method::Get,
        Some("POST") => Method::Post,
        _ => return Err(Response::refused(405, "only GET and POST are answered").with("Allow", "GET, POST")),
    };
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let known = parsed.headers.iter().map(|header| {
        let value = std::str::from_utf8(header.value).map_err(|_| Response::refused(400, "a header is no text"))?;
        Ok((header.name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    let headers = known.collect::<Result<Vec<_>, Response>>()?;
    let local = SocketAddr::from(([0, 0, 0, 0], 0));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut request =
        Request { method, path, query, headers, body: Vec::new(), local, last: parsed.version == Some(0) };
    request.last |= request.header("connection").is_some_and(|said| said.eq_ignore_ascii_case("close"));
    if request.has_header("transfer-encoding") {
        return Err(Response::refused(411, "the body must come with its Content-Length"));
    }
    let body = match request.header("content-length") {
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None if !request.has_header("content-length") => Some(0),
        _ => None,
    };
    match body {
        Some(body) if body <= MAX_BODY => Ok(Some((request, head, body))),
        Some(_) => Err(Response::refused(413, "the body is longer than 64 KB")),
        None => Err(Response::refused(400, "the Content-Length is no length")),
    }
}

/// What the page may load: its own files, and pictures that it made itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A status, headers and a body.
#[derive(Debug)]
pub struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Response {
    /// What was asked for, of this media type.
    pub fn ok(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: vec![("Content-Type", media.to_owned())], body: body.into() }
    }

    /// Why it is not answered, as JSON: `{"error": sentence}`.
    pub fn refused(status: u16, sentence: &str) -> Self {
        let body = json!({ "error": sentence }).to_string();
        Self { status, ..Self::ok("application/json", body) }
    }

    /// The same with a header more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    #[cfg(test)]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Writes it; `last` says that the connection then ends.
    fn write(&self, to: &mut impl Write, last: bool) -> std::io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            409 => "Conflict",
            411 => "Length Required",
            413 => "Content Too Large",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            _ => "Service Unavailable",
        };
        let mut whole = format!("HTTP/1.1 {} {reason}\r\n", self.status).into_bytes();
        let length = self.body.len().to_string();
        let always = [
            ("Content-Length", length.as_str()),
            ("Connection", if last { "close" } else { "keep-alive" }),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", POLICY),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
        ];
        let own = self.headers.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in always.into_iter().chain(own) {
            whole.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        whole.extend_from_slice(b"\r\n");
        whole.extend_from_slice(&self.body);
        to.write_all(&whole)?;
        to.flush()
    }
}

/// What a request must know and say to be answered.
///
/// A page of another site can make a browser send requests here. It can neither give another `Origin` than its own, nor
/// another `Host` than the name that it was reached by, nor send JSON without being asked first, which is refused: none
/// of its requests is answered.
///
/// A program that listens at all addresses does not know by which names it is reached: this machine's own, or one that
/// a router or a `hosts` file gives it. There a request may name any host, if it knows the token. That lets in
/// nobody who was kept out before. A page of another site that has its own name stand for this machine (DNS rebinding)
/// has a browser send the cookies of that name, among which ours is not, and does not know the token otherwise; and the
/// `Origin` of a request must still be the very host that it names. Where no token is demanded, which only happens
/// where this machine alone is listened to, nothing but the known names is let in.
#[derive(Clone, Debug)]
pub struct Gate {
    /// What a client must know, where that is demanded.
    pub token: Option<String>,
    /// The name by which the program was told to be reached, besides its addresses.
    pub name: Option<String>,
    /// Whether it listens at all addresses. A client that knows the token may then call it by any name.
    pub anywhere: bool,
}

impl Gate {
    /// Lets a request pass, or says why not.
    ///
    /// # Errors
    /// The answer to send in its place.
    pub fn check(&self, request: &Request) -> std::result::Result<(), Response> {
        let host = request.header("host").unwrap_or_default();
        let told = self.token.as_ref().map(|token| self.knows(request, token));
        let by_any_name = self.anywhere && told == Some(true) && !host.is_empty();
        if !by_any_name && !self.names(request.local).iter().any(|name| name.eq_ignore_ascii_case(host)) {
            let said = format!("this is not the host {host:?}: use the address that the program printed");
            return Err(Response::refused(421, &said));
        }
        if request.has_header("origin")
            && !request.header("origin").is_some_and(|origin| origin.eq_ignore_ascii_case(&format!("http://{host}")))
        {
            return Err(Response::refused(403, "the request comes from a page of another site"));
        }
        let json = |media: &str| media.split(';').next().is_some_and(|media| media.trim() == "application/json");
        if request.method == Method::Post && !request.header("content-type").is_some_and(json) {
            return Err(Response::refused(400, "the body must be of the type application/json"));
        }
        match told {
            Some(false) => {
                Err(Response::refused(403, "the token is missing or wrong: use the address that the program printed"))
            }
            _ => Ok(()),
        }
    }

    /// The header that lets a browser keep the token of a request that passed, so that it need not stand in addresses.
    pub fn keep(&self, local: SocketAddr) -> Option<String> {
        let token = self.token.as_ref()?;
        Some(format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", cookie(local)))
    }

    fn knows(&self, request: &Request, token: &str) -> bool {
        let said = [request.parameter("token"), request.cookie(&cookie(request.local))];
        said.into_iter().flatten().any(|said| constant_time_eq(said.as_bytes(), token.as_bytes()))
    }

    /// What the `Host` of a request to `local` may be.
    fn names(&self, local: SocketAddr) -> Vec<String> {
        // An IPv4 client of an IPv6 socket.
        let local = SocketAddr::new(local.ip().to_canonical(), local.port());
        let mut names = vec![local.to_string()];
        let loopback = local.ip().is_loopback().then(|| "localhost".to_owned());
        names.extend(loopback.into_iter().chain(self.name.clone()).map(|name| format!("{name}:{}", local.port())));
        if local.port() == 80 {
            let bare: Vec<String> = names.iter().map(|name| name.trim_end_matches(":80").to_owned()).collect();
            names.extend(bare);
        }
        names
    }
}

/// Cookies do not know ports: two programs on one machine need two names.
fn cookie(local: SocketAddr) -> String {
    format!("kcf-track-{}", local.port())
}

/// A token that nobody guesses: 128 bits.
///
/// # Errors
/// [`Error::Io`] when the system has no random numbers.
pub fn make_token() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::io("random numbers for a token", std::io::Error::other(error)))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod request_tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<(Request, usize, usize)>, u16> {
        parse(text.as_bytes()).map_err(|response| response.status())
    }

    #[test]
    fn a_request_is_read_to_its_end_and_no_further() {
        let text = "POST /do?a=1&b=x%20y HTTP/1.1\r\nHost: here\r\nCookie: k=v; other=w\r\nContent-Length: 3\r\n\r\n";
        let (request, head, body) = parsed(&format!("{text}abcGET /")).unwrap().unwrap();
        assert_eq!((head, body), (text.len(), 3));
        assert_eq!((request.method, request.path.as_str()), (Method::Post, "/do"));
        assert_eq!((request.parameter("a"), request.parameter("b")), (Some("1"), Some("x%20y")));
        assert_eq!((request.cookie("other"), request.cookie("x")), (Some("w"), None));
        assert_eq!(request.header("host"), Some("here"));
        assert!(parsed(&text[..text.len() - 1]).unwrap().is_none());
    }

    #[test]
    fn nonsense_has_a_status_of_its_own() {
        let post = |header: &str| parsed(&format!("POST / HTTP/1.1\r\n{header}\r\n\r\n")).err();
        assert_eq!(post("Content-Length: 70000"), Some(413));
        assert_eq!(post("Content-Length: -1"), Some(400));
        assert_eq!(post("Content-Length: 99999999999999999999999"), Some(400));
        assert_eq!(post("Content-Length: 1\r\nContent-Length: 2"), Some(400));
        assert_eq!(post("Transfer-Encoding: chunked"), Some(411));
        assert_eq!(parsed("BREW / HTTP/1.1\r\n\r\n").err(), Some(405));
        assert_eq!(parsed("\x16\x03\x01\x02 nonsense\r\n\r\n").err(), Some(400));
        assert_eq!(parsed(&format!("GET /{} ", "a".repeat(MAX_HEAD))).err(), Some(431));
        assert_eq!(parsed(&format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65))).err(), Some(431));
        assert!(parse(b"GET / HTTP/1.1\r\nA: \xff\r\n\r\n").is_err());
    }
}
