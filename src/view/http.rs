//! A small HTTP/1.1 server for the page: one thread per connection, with limits on sizes, connections and times.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cancel::{lock, spawn};
use crate::error::Result;
use crate::text::shown;

/// Maximum connections at a time. A browser keeps up to six.
const MAX_CONNECTIONS: usize = 64;

/// Maximum connections of one address.
const MAX_OF_CLIENT: usize = 32;

/// Maximum bytes of a request's line and headers.
const MAX_HEAD: usize = 16 << 10;

/// Maximum bytes of a request's body.
const MAX_BODY: usize = 64 << 10;

/// Maximum headers of a request.
const MAX_HEADERS: usize = 64;

/// How long a connection of an admitted client may rest between requests.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a request may take from its first byte to its last, and a stranger's from the connection on.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an answer may wait for a client that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes a second that a client reads at least, after [`WRITE_TIMEOUT`].
const MIN_RATE: u64 = 64 << 10;

/// Maximum bytes of all answers that clients have not read yet.
const MAX_UNREAD: usize = 128 << 20;

/// Answers a request.
type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// Answers requests until it is dropped.
#[derive(Debug)]
pub struct Server {
    /// The address at which the server listens.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    connections: Arc<Connections>,
    thread: Option<JoinHandle<()>>,
}

/// The connections; those that have ended too, until the next one comes.
type Connections = Mutex<Vec<Known>>;

/// A connection as the thread that accepts it knows it.
#[derive(Debug)]
struct Known {
    stream: Weak<TcpStream>,
    client: IpAddr,
    /// Whether a request of it was admitted.
    admitted: Arc<AtomicBool>,
}

/// State that the threads of all connections share.
struct Shared {
    handler: Box<Handler>,
    stop: Arc<AtomicBool>,
    /// Bytes of answers under way.
    unread: AtomicUsize,
}

impl Server {
    /// Accepts connections on `listener` from now on.
    ///
    /// # Errors
    /// [`Error::Io`] when no thread can be started.
    pub fn start(
        listener: TcpListener,
        address: SocketAddr,
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(Connections::default());
        let shared = Shared { handler: Box::new(handler), stop: Arc::clone(&stop), unread: AtomicUsize::new(0) };
        let known = Arc::clone(&connections);
        let thread = spawn("accept", move || accept(&listener, &Arc::new(shared), &known))?;
        Ok(Self { address, stop, connections, thread: Some(thread) })
    }
}

/// Accepts no more connections, and ends those that are open: at once, or with their current answer.
impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A connection wakes the thread that waits for one.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() });
        }
        if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
        for stream in lock(&self.connections).iter().filter_map(|known| known.stream.upgrade()) {
            let _ = stream.shutdown(Shutdown::Read);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, connections: &Connections) {
    loop {
        let accepted = listener.accept();
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok((stream, from)) = accepted else {
            // Probably out of file descriptors: connections that end free some.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let mut open = lock(connections);
        if !make_room(&mut open, from.ip()) {
            let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
            let _ = (&stream).write_all(&Response::refused(503, "there are too many connections").head(true));
            continue;
        }
        let (stream, admitted) = (Arc::new(stream), Arc::new(AtomicBool::new(false)));
        open.push(Known { stream: Arc::downgrade(&stream), client: from.ip(), admitted: Arc::clone(&admitted) });
        let shared = Arc::clone(shared);
        // A client that is gone needs no answer.
        let work = move || drop(serve(&stream, &shared, &admitted));
        // Without a thread the connection is closed; the client tries again.
        let _ = spawn("http", work);
    }
}

/// Whether one more connection of `client` may be open: where there are too many, the oldest stranger gives way.
fn make_room(open: &mut Vec<Known>, client: IpAddr) -> bool {
    open.retain(|known| known.stream.strong_count() > 0);
    let of_client = open.iter().filter(|known| known.client == client).count() >= MAX_OF_CLIENT;
    if !of_client && open.len() < MAX_CONNECTIONS {
        return true;
    }
    let is_stranger = |known: &Known| !known.admitted.load(Ordering::Relaxed) && (!of_client || known.client == client);
    let Some(oldest) = open.iter().position(is_stranger) else { return false };
    if let Some(stream) = open.remove(oldest).stream.upgrade() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    true
}

/// A connection whose reads and writes end at a time.
struct Timed<'a> {
    stream: &'a TcpStream,
    until: Cell<Instant>,
}

impl Timed<'_> {
    /// Sets the end of all that follows.
    fn allow(&self, time: Duration) {
        self.until.set(Instant::now() + time);
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.get().saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for &Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

impl Write for &Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?.min(WRITE_TIMEOUT)))?;
        let mut stream = self.stream;
        stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers the requests of one connection until its end.
fn serve(stream: &TcpStream, shared: &Shared, admitted: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let timed = Timed { stream, until: Cell::new(Instant::now() + REQUEST_TIMEOUT) };
    let mut reader = BufReader::new(&timed);
    loop {
        if admitted.load(Ordering::Relaxed) {
            timed.allow(IDLE_TIMEOUT);
            if reader.fill_buf()?.is_empty() {
                break;
            }
            timed.allow(REQUEST_TIMEOUT);
        }
        let mut headers_only = false;
        let (response, last) = match read(&mut reader)? {
            // The request came over an open connection after the last change, and would wait for another one.
            Ok(_) if shared.stop.load(Ordering::Relaxed) => (Response::refused(503, "the view has ended"), true),
            Ok(mut request) => {
                headers_only = request.method == "HEAD";
                if headers_only {
                    request.method = "GET".into();
                }
                let response = (shared.handler)(&request);
                let is_stranger = matches!(response.status, 403 | 421);
                admitted.fetch_or(!is_stranger, Ordering::Relaxed);
                (response, request.last || is_stranger || shared.stop.load(Ordering::Relaxed))
            }
            Err(refused) => (refused, true),
        };
        shared.write(&timed, response, last, headers_only)?;
        if last {
            break;
        }
    }
    stream.shutdown(Shutdown::Write)?;
    // Closing over unread bytes would reset the connection and lose the answer.
    timed.allow(Duration::from_millis(200));
    io::copy(&mut reader.take(1 << 20), &mut io::sink()).map(drop)
}

impl Shared {
    /// Writes an answer, if those that are not read yet leave room for it; `last` says that the connection then ends.
    fn write(&self, mut to: &Timed<'_>, response: Response, last: bool, headers_only: bool) -> io::Result<()> {
        let length = if headers_only { 0 } else { response.body.len() };
        let is_full = self.unread.fetch_add(length, Ordering::Relaxed) + length > MAX_UNREAD && length > MAX_HEAD;
        let busy = is_full.then(|| Response::refused(503, "other answers are not read yet: try again"));
        let response = busy.unwrap_or(response);
        to.allow(WRITE_TIMEOUT + Duration::from_secs(length as u64 / MIN_RATE));
        let body = if headers_only { &[] } else { &response.body[..] };
        let written = to.write_all(&response.head(last)).and_then(|()| to.write_all(body));
        self.unread.fetch_sub(length, Ordering::Relaxed);
        written
    }
}

/// Reads a request; the inner error refuses it.
fn read(reader: &mut impl BufRead) -> io::Result<Result<Request, Response>> {
    let mut head = Vec::new();
    loop {
        let (left, begun) = (MAX_HEAD - head.len(), head.len());
        if left == 0 {
            return Ok(Err(Response::refused(431, "the head of the request is longer than 16 KB")));
        }
        if reader.by_ref().take(left as u64).read_until(b'\n', &mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match &head[begun..] {
            // An empty line is left over from a former request.
            b"\r\n" if begun == 0 => head.clear(),
            b"\r\n" => break,
            line if line.ends_with(b"\n") && !line.ends_with(b"\r\n") => {
                return Ok(Err(Response::refused(400, "this is not an HTTP request: its lines must end in CR LF")));
            }
            _ => {}
        }
    }
    let (mut request, length) = match parse(&head) {
        Ok(parsed) => parsed,
        Err(refused) => return Ok(Err(refused)),
    };
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body)?;
    Ok(Ok(request))
}

/// Reads all requests of `bytes`; returns their number. A server does the same with what a connection sends.
pub fn requests(mut bytes: &[u8]) -> usize {
    std::iter::from_fn(|| read(&mut bytes).ok()?.ok()).count()
}

/// The request of a head, without its body, and the length of the body.
fn parse(head: &[u8]) -> Result<(Request, usize), Response> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let refused = |error| Response::refused(400, &format!("this is not an HTTP request: {error}"));
    parsed.parse(head).map_err(refused)?;
    let header = |header: &httparse::Header<'_>| {
        (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_owned())
    };
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: String::new(),
        query: String::new(),
        headers: parsed.headers.iter().map(header).collect(),
        body: Vec::new(),
        last: parsed.version == Some(0),
    };
    if !["GET", "HEAD", "POST"].contains(&request.method.as_str()) {
        return Err(Response::refused(405, "the method must be GET, HEAD or POST").with("Allow", "GET, HEAD, POST"));
    }
    if parsed.version == Some(1) && request.header("host").is_none() {
        return Err(Response::refused(400, "this is not an HTTP request: it must have one Host"));
    }
    let mut target = parsed.path.unwrap_or_default();
    // The form for a proxy, which names the host itself.
    if let Some((scheme, rest)) = target.split_at_checked(7).filter(|(start, _)| start.eq_ignore_ascii_case("http://"))
    {
        let (authority, _) = rest.split_once(['/', '?']).unwrap_or((rest, ""));
        target = &target[scheme.len() + authority.len()..];
        request.headers.retain(|(name, _)| name != "host");
        request.headers.push(("host".into(), authority.into()));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (request.path, request.query) = (if path.is_empty() { "/" } else { path }.to_owned(), query.to_owned());
    request.last |= request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    if request.has_header("transfer-encoding") {
        return Err(Response::refused(411, "the body needs a Content-Length"));
    }
    let length = match request.header("content-length") {
        None if request.has_header("content-length") => None,
        None => Some(0),
        Some(text) => text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())),
    };
    match length {
        Some(length) if length <= MAX_BODY => Ok((request, length)),
        Some(_) => Err(Response::refused(413, "the body is longer than 64 KB")),
        None => Err(Response::refused(400, "the Content-Length is not a length")),
    }
}

/// A well-formed request. The [`Gate`](super::routes::Gate) says whether it may be answered.
#[derive(Debug)]
pub struct Request {
    /// `GET` (also of a `HEAD`, whose answer is written without its body) or `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// At most [`MAX_BODY`] bytes.
    pub body: Vec<u8>,
    /// Whether the connection ends with the answer.
    last: bool,
    query: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
}

impl Request {
    /// The value of a header, named in lower case; `None` for a header that is missing or repeated.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        found.next().filter(|_| found.next().is_none())
    }

    /// Whether there is a header of this name, in lower case.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    /// The text of a parameter of the query, not decoded.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, text)| text)
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let mut pairs = self.header("cookie")?.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Lets the page load its own files and pictures that it made itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A status, headers and a body.
#[derive(Debug)]
pub struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// A place that is freed once the response is written.
    _held: Option<Arc<()>>,
}

impl Response {
    /// A body of this media type.
    pub fn ok(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: vec![("Content-Type", media.to_owned())], body: body.into(), _held: None }
    }

    /// The reason for a refusal, as JSON: `{"error": sentence}`.
    pub fn refused(status: u16, sentence: &str) -> Self {
        Self { status, ..Self::ok("application/json", json!({ "error": shown(sentence) }).to_string()) }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Holds a place among the answers that are under way until it is written.
    #[must_use]
    pub fn holding(self, place: Arc<()>) -> Self {
        Self { _held: Some(place), ..self }
    }

    /// The head of the response; `last` says that the connection then ends.
    fn head(&self, last: bool) -> Vec<u8> {
        let Self { status, headers, body, .. } = self;
        let (length, connection) = (body.len(), if last { "close" } else { "keep-alive" });
        let mut whole = format!(
            "HTTP/1.1 {status} \r\nContent-Length: {length}\r\nConnection: {connection}\r\nCache-Control: no-store\r\n\
             Content-Security-Policy: {POLICY}\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        );
        for (name, value) in headers {
            whole += &format!("{name}: {value}\r\n");
        }
        (whole + "\r\n").into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(bytes: &[u8]) -> Option<u16> {
        read(&mut &bytes[..]).unwrap().err().map(|response| response.status)
    }

    #[test]
    fn a_request_is_read_to_its_end_and_no_further() {
        let text = "POST /do?a=1&b=x%20y HTTP/1.1\r\nHost: here\r\nCookie: k=v; other=w\r\nContent-Length: 3\r\n\r\n";
        let whole = format!("{text}abcGET /");
        let mut rest = whole.as_bytes();
        let request = read(&mut rest).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str(), &request.body[..]), ("POST", "/do", &b"abc"[..]));
        assert_eq!((request.parameter("a"), request.parameter("b")), (Some("1"), Some("x%20y")));
        assert_eq!((request.cookie("other"), request.cookie("x")), (Some("w"), None));
        assert_eq!((request.header("host"), rest), (Some("here"), &b"GET /"[..]));
        assert!(read(&mut &text.as_bytes()[..text.len() - 1]).is_err());
    }

    #[test]
    fn a_target_with_a_host_is_that_of_its_path() {
        for (target, path, query) in
            [("/a?b=c", "/a", "c"), ("http://here:80/a?b=c", "/a", "c"), ("HTTP://here:80?b=c", "/", "c")]
        {
            let text = format!("\r\nGET {target} HTTP/1.1\r\nHost: here:80\r\n\r\n");
            let request = read(&mut text.as_bytes()).unwrap().unwrap();
            assert_eq!((request.path.as_str(), request.parameter("b")), (path, Some(query)), "{target}");
            assert_eq!(request.header("host"), Some("here:80"), "{target}");
        }
        // The host of the target counts.
        let text = "GET http://evil/ HTTP/1.1\r\nHost: here\r\n\r\n";
        assert_eq!(read(&mut text.as_bytes()).unwrap().unwrap().header("host"), Some("evil"));
    }

    #[test]
    fn strangers_give_way_and_admitted_clients_do_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let streams: Vec<_> =
            (0..MAX_OF_CLIENT).map(|_| Arc::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap())).collect();
        let client = IpAddr::from([127, 0, 0, 1]);
        let known = |stream| Known { stream: Arc::downgrade(stream), client, admitted: Arc::default() };
        let mut open: Vec<_> = streams.iter().map(known).collect();
        open[0].admitted.store(true, Ordering::Relaxed);
        assert!(make_room(&mut open, IpAddr::from([127, 0, 0, 2])) && open.len() == MAX_OF_CLIENT);
        assert!(make_room(&mut open, client) && open.len() == MAX_OF_CLIENT - 1);
        assert!(open[0].admitted.load(Ordering::Relaxed), "the second one gave way");
        open.push(known(&streams[1]));
        open.iter().for_each(|known| known.admitted.store(true, Ordering::Relaxed));
        assert!(!make_room(&mut open, client));
    }

    #[test]
    fn wrong_requests_have_a_status_of_their_own() {
        let post = |header: &str| status(format!("POST / HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n").as_bytes());
        assert_eq!(post("Content-Length: +14"), Some(400));
        assert_eq!(post("Host: b"), Some(400));
        assert_eq!(status(b"GET / HTTP/1.1\r\n\r\n"), Some(400));
        assert_eq!(status(b"PUT / HTTP/1.1\r\nHost: a\r\n\r\n"), Some(405));
        assert_eq!(status(b"GET / HTTP/1.1\nHost: a\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), Some(400));
        assert_eq!(post("Content-Length: 70000"), Some(413));
        assert_eq!(post("Content-Length: -1"), Some(400));
        assert_eq!(post("Content-Length: 99999999999999999999999"), Some(400));
        assert_eq!(post("Content-Length: 1\r\nContent-Length: 2"), Some(400));
        assert_eq!(post("Transfer-Encoding: chunked"), Some(411));
        assert_eq!(status(b"\x16\x03\x01\x02 nonsense\r\n\r\n"), Some(400));
        assert_eq!(status(format!("GET /{} ", "a".repeat(MAX_HEAD)).as_bytes()), Some(431));
        assert_eq!(status(format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65)).as_bytes()), Some(400));
    }
}
