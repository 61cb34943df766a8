//! A small HTTP/1.1 server, of the view and of tests of downloads: one thread per connection, with limits on sizes,
//! connections and times.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cancel::{lock, spawn};
use crate::error::{Error, Result};
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

/// How often new connections are accepted, and those ended whose time is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum bytes of all answers but downloads that clients have not read yet.
const MAX_UNREAD: usize = 128 << 20;

/// Answers a request.
pub type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// Answers requests until it is dropped.
pub struct Server {
    /// The address at which the server listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// What the threads of all connections share.
struct Shared {
    handler: Box<Handler>,
    stop: AtomicBool,
    /// The open connections, the oldest first. The thread of a connection holds it too.
    connections: Mutex<Vec<Arc<Connection>>>,
    /// Bytes of answers under way.
    unread: AtomicUsize,
}

struct Connection {
    stream: TcpStream,
    client: IpAddr,
    /// Whether a request of it was admitted. Others are strangers.
    admitted: AtomicBool,
    /// When it is ended; `None` while an answer is made.
    until: Mutex<Option<Instant>>,
}

impl Connection {
    fn new(stream: TcpStream, client: IpAddr) -> Self {
        let until = Mutex::new(Some(Instant::now() + REQUEST_TIMEOUT));
        Self { stream, client, admitted: AtomicBool::default(), until }
    }

    /// Sets the end of all that follows.
    fn allow(&self, time: Duration) {
        *lock(&self.until) = Some(Instant::now() + time);
    }
}

impl Server {
    /// Accepts connections on `listener` from now on.
    ///
    /// # Errors
    /// [`Error::Io`] when no thread can be started.
    pub fn start(listener: TcpListener, address: SocketAddr, handler: Box<Handler>) -> Result<Self> {
        // A thread that waits for a connection could not be ended.
        listener.set_nonblocking(true).map_err(|source| Error::io(address.to_string(), source))?;
        let (stop, connections, unread) = Default::default();
        let shared = Arc::new(Shared { handler, stop, connections, unread });
        let all = Arc::clone(&shared);
        let accepting = spawn("accept", move || all.accept(&listener))?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }
}

/// Accepts no more connections, and ends those that are open: at once, or with their current answer.
impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let _ = self.accepting.take().map(JoinHandle::join);
        for open in lock(&self.shared.connections).iter() {
            let _ = open.stream.shutdown(Shutdown::Read);
        }
    }
}

impl Shared {
    /// Accepts connections, and ends those whose time is over.
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        while !self.stop.load(Ordering::Relaxed) {
            // Without file descriptors there is an error: connections that end free some.
            for (stream, from) in std::iter::from_fn(|| listener.accept().ok()).take(MAX_CONNECTIONS) {
                // A client that is gone needs no answer. Without a thread the connection is closed; the client tries again.
                let _ = self.open(stream, from.ip());
            }
            let is_late = |known: &&Arc<Connection>| lock(&known.until).is_some_and(|until| until < Instant::now());
            for late in lock(&self.connections).iter().filter(is_late) {
                let _ = late.stream.shutdown(Shutdown::Both);
            }
            std::thread::sleep(POLL_INTERVAL);
            lock(&self.connections).retain(|known| Arc::strong_count(known) > 1);
        }
    }

    /// Starts the thread of a connection, or refuses it.
    fn open(self: &Arc<Self>, mut stream: TcpStream, client: IpAddr) -> Result<()> {
        let wrong = |source| Error::io(client.to_string(), source);
        // Some systems hand on the listener's mode.
        stream.set_nonblocking(false).map_err(wrong)?;
        let mut open = lock(&self.connections);
        if !make_room(&mut open, client) {
            stream.set_write_timeout(Some(Duration::from_millis(100))).map_err(wrong)?;
            return stream
                .write_all(&Response::refused(503, "there are too many connections").head(true))
                .map_err(wrong);
        }
        let connection = Arc::new(Connection::new(stream, client));
        open.push(Arc::clone(&connection));
        let shared = Arc::clone(self);
        spawn("http", move || drop(shared.serve(&connection))).map(drop)
    }

    /// Answers the requests of one connection until its end.
    fn serve(&self, connection: &Connection) -> io::Result<()> {
        let Connection { stream, admitted, .. } = connection;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let mut reader = BufReader::new(stream);
        loop {
            if admitted.load(Ordering::Relaxed) {
                connection.allow(IDLE_TIMEOUT);
                if reader.fill_buf()?.is_empty() {
                    break;
                }
                connection.allow(REQUEST_TIMEOUT);
            }
            let (read, mut headers_only) = (read(&mut reader)?, false);
            *lock(&connection.until) = None;
            let (response, last) = match read {
                // It came over an open connection after the last change, which it would wait for.
                Ok(_) if self.stop.load(Ordering::Relaxed) => (Response::refused(503, "the view has ended"), true),
                Ok(request) => {
                    let response = (self.handler)(&request);
                    let is_stranger = matches!(response.status, 403 | 421);
                    admitted.fetch_or(!is_stranger, Ordering::Relaxed);
                    headers_only = request.headers_only;
                    (response, request.last || is_stranger || self.stop.load(Ordering::Relaxed))
                }
                Err(refused) => (refused, true),
            };
            self.write(connection, response, last, headers_only)?;
            if last {
                break;
            }
        }
        stream.shutdown(Shutdown::Write)?;
        // Closing over unread bytes would reset the connection and lose the answer.
        connection.allow(Duration::from_millis(200));
        io::copy(&mut reader.take(1 << 20), &mut io::sink()).map(drop)
    }

    /// Writes an answer, if those that are not read yet leave room for it; `last` says that the connection then ends.
    fn write(&self, to: &Connection, response: Response, last: bool, headers_only: bool) -> io::Result<()> {
        let length = if headers_only { 0 } else { response.body.len() };
        // Downloads have a limit of their own: one of pictures can be larger than all other answers.
        let counted = if response.place.is_some() { 0 } else { length };
        let is_full = self.unread.fetch_add(counted, Ordering::Relaxed) + counted > MAX_UNREAD && counted > MAX_HEAD;
        let busy = is_full.then(|| Response::refused(503, "other answers are not read yet: try again"));
        let response = busy.unwrap_or(response);
        to.allow(WRITE_TIMEOUT + Duration::from_secs(length as u64 / MIN_RATE));
        let body = if headers_only { &[] } else { &response.body[..] };
        let mut stream = &to.stream;
        let written = stream.write_all(&response.head(last)).and_then(|()| stream.write_all(body));
        self.unread.fetch_sub(counted, Ordering::Relaxed);
        written
    }
}

/// Whether one more connection of `client` may be open: where there are too many, the oldest stranger gives way.
fn make_room(open: &mut Vec<Arc<Connection>>, client: IpAddr) -> bool {
    let of_client = open.iter().filter(|known| known.client == client).count() >= MAX_OF_CLIENT;
    if !of_client && open.len() < MAX_CONNECTIONS {
        return true;
    }
    let gives_way =
        |known: &Arc<Connection>| !known.admitted.load(Ordering::Relaxed) && (!of_client || known.client == client);
    let Some(oldest) = open.iter().position(gives_way) else { return false };
    let _ = open.remove(oldest).stream.shutdown(Shutdown::Both);
    true
}

/// Reads a request; the inner error refuses it.
fn read(reader: &mut impl BufRead) -> io::Result<Result<Request, Response>> {
    let mut head = Vec::new();
    while ![&b"\n\r\n"[..], b"\n\n"].iter().any(|end| head.ends_with(end)) {
        let left = MAX_HEAD - head.len();
        if left == 0 {
            return Ok(Err(Response::refused(431, "the head of the request is longer than 16 KB")));
        }
        if reader.by_ref().take(left as u64).read_until(b'\n', &mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    if !head.split_inclusive(|byte| *byte == b'\n').all(|line| line.ends_with(b"\r\n")) {
        return Ok(Err(malformed("its lines must end in CR LF")));
    }
    let mut request = match parse(&head) {
        Ok(request) => request,
        Err(refused) => return Ok(Err(refused)),
    };
    reader.read_exact(&mut request.body)?;
    Ok(Ok(request))
}

/// Reads all requests of `bytes`; returns their number. A server does the same with what a connection sends.
pub fn requests(mut bytes: &[u8]) -> usize {
    std::iter::from_fn(|| read(&mut bytes).ok()?.ok()).count()
}

fn malformed(reason: impl Display) -> Response {
    Response::refused(400, &format!("this is not an HTTP request: {reason}"))
}

/// The request of a head, with room for its body.
fn parse(head: &[u8]) -> Result<Request, Response> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    if parsed.parse(head).map_err(malformed)?.is_partial() {
        return Err(malformed("it begins with empty lines"));
    }
    let method = parsed.method.unwrap_or_default();
    if !["GET", "HEAD", "POST"].contains(&method) {
        return Err(Response::refused(405, "the method must be GET, HEAD or POST").with("Allow", "GET, HEAD, POST"));
    }
    let mut headers = HashMap::new();
    for header in parsed.headers {
        let value = Some(String::from_utf8_lossy(header.value).trim().to_owned());
        headers.entry(header.name.to_ascii_lowercase()).and_modify(|known| *known = None).or_insert(value);
    }
    if parsed.version == Some(1) && headers.get("host").is_none_or(Option::is_none) {
        return Err(malformed("it must have one Host"));
    }
    let mut target = parsed.path.unwrap_or_default();
    // The form for a proxy, which names the host itself.
    if let Some((_, rest)) = target.split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("http://")) {
        let (host, place) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        headers.insert("host".into(), Some(host.into()));
        target = place;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (is_head, path) = (method == "HEAD", if path.is_empty() { "/" } else { path });
    let mut request = Request {
        method: if is_head { "GET" } else { method }.into(),
        path: path.into(),
        body: Vec::new(),
        headers_only: is_head,
        last: parsed.version == Some(0),
        query: query.into(),
        headers,
    };
    request.last |= request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    if request.has_header("transfer-encoding") {
        return Err(Response::refused(411, "the body needs a Content-Length"));
    }
    let length = if request.has_header("content-length") { request.header("content-length") } else { Some("0") };
    let length =
        length.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())).and_then(|text| text.parse().ok());
    match length {
        Some(length) if length <= MAX_BODY => request.body.resize(length, 0),
        Some(_) => return Err(Response::refused(413, "the body is longer than 64 KB")),
        None => return Err(Response::refused(400, "the Content-Length is not a length")),
    }
    Ok(request)
}

/// A well-formed request. The handler says whether it may be answered: the statuses 403 and 421 are those of a stranger.
#[derive(Debug)]
pub struct Request {
    /// `GET` (also of a `HEAD`, whose answer is written without its body) or `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// At most [`MAX_BODY`] bytes.
    pub body: Vec<u8>,
    headers_only: bool,
    /// Whether the connection ends with the answer.
    last: bool,
    query: String,
    /// By their names in lower case; `None` for one that is repeated.
    headers: HashMap<String, Option<String>>,
}

impl Request {
    /// The value of a header, named in lower case; `None` for a header that is missing or repeated.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.as_deref()
    }

    /// Whether there is a header of this name, in lower case.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    /// The text of a parameter of the query, not decoded.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        pair(self.query.split('&'), name)
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        pair(self.header("cookie")?.split(';').map(str::trim), name)
    }
}

/// The value of the first `name=value`.
fn pair<'a>(pairs: impl IntoIterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    pairs.into_iter().filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
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
    /// The place of a download, which is freed once the response is written.
    place: Option<Arc<()>>,
}

impl Response {
    /// A body of this media type.
    pub fn ok(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: vec![("Content-Type", media.to_owned())], body: body.into(), place: None }
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

    /// Holds a place among the downloads that are under way until it is written.
    #[must_use]
    pub fn holding(self, place: Arc<()>) -> Self {
        Self { place: Some(place), ..self }
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
        let client = IpAddr::from([127, 0, 0, 1]);
        let connect = |_| {
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            Arc::new(Connection::new(stream, client))
        };
        let connections: Vec<_> = (0..MAX_OF_CLIENT).map(connect).collect();
        let mut open = connections.clone();
        connections[0].admitted.store(true, Ordering::Relaxed);
        assert!(make_room(&mut open, IpAddr::from([127, 0, 0, 2])) && open.len() == MAX_OF_CLIENT);
        assert!(make_room(&mut open, client) && open.len() == MAX_OF_CLIENT - 1);
        assert!(open.iter().all(|known| !Arc::ptr_eq(known, &connections[1])), "the second one gave way");
        open.push(Arc::clone(&connections[1]));
        connections.iter().for_each(|known| known.admitted.store(true, Ordering::Relaxed));
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
        assert_eq!(status(b"GET / HTTP/1.1\nHost: a\r\n\r\n"), Some(400));
        assert_eq!(status(b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), Some(400));
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
