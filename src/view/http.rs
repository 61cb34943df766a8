//! A small HTTP/1.1 server for the page: one thread per connection, with limits on sizes, connections and times.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;

use crate::cancel::{lock, spawn};
use crate::error::Result;

/// Maximum connections at a time. A browser keeps up to six.
const MAX_CONNECTIONS: usize = 64;

/// Maximum bytes of a request's line and headers.
const MAX_HEAD: usize = 16 << 10;

/// Maximum bytes of a request's body.
const MAX_BODY: usize = 64 << 10;

/// Maximum headers of a request.
const MAX_HEADERS: usize = 64;

/// How long a connection may wait for the next part of a request.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// How long an answer may wait for a client that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers a request.
type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// Answers requests until it is dropped.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    connections: Arc<Connections>,
    thread: Option<JoinHandle<()>>,
}

/// The connections; those that have ended too, until the next one comes.
type Connections = Mutex<Vec<Weak<TcpStream>>>;

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
        let (stopped, handler): (_, Arc<Handler>) = (Arc::clone(&stop), Arc::new(handler));
        let known = Arc::clone(&connections);
        let thread = spawn("accept", move || accept(&listener, &handler, &stopped, &known))?;
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
        for stream in lock(&self.connections).iter().filter_map(Weak::upgrade) {
            let _ = stream.shutdown(Shutdown::Read);
        }
    }
}

fn accept(listener: &TcpListener, handler: &Arc<Handler>, stop: &Arc<AtomicBool>, connections: &Connections) {
    loop {
        let accepted = listener.accept();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            // Probably out of file descriptors: connections that end free some.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let mut open = lock(connections);
        open.retain(|known| known.strong_count() > 0);
        if open.len() >= MAX_CONNECTIONS {
            let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
            let _ = Response::refused(503, "there are too many connections").write(&stream, true);
            continue;
        }
        let stream = Arc::new(stream);
        open.push(Arc::downgrade(&stream));
        let (handler, stopped) = (Arc::clone(handler), Arc::clone(stop));
        // A client that is gone needs no answer.
        let work = move || drop(serve(&stream, handler.as_ref(), &stopped));
        // Without a thread the connection is closed; the client tries again.
        let _ = spawn("http", work);
    }
}

/// Answers the requests of one connection until its end.
fn serve(stream: &TcpStream, handler: &Handler, stop: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let mut reader = BufReader::new(stream);
    loop {
        let (response, last) = match read(&mut reader)? {
            // It came over an open connection after the last change, which it would wait for.
            Ok(_) if stop.load(Ordering::Relaxed) => (Response::refused(503, "the view has ended"), true),
            Ok(request) => (handler(&request), request.last || stop.load(Ordering::Relaxed)),
            Err(refused) => (refused, true),
        };
        response.write(stream, last)?;
        if last {
            break;
        }
    }
    stream.shutdown(Shutdown::Write)?;
    // Closing over unread bytes would reset the connection and lose the answer.
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    io::copy(&mut reader.take(1 << 20), &mut io::sink()).map(drop)
}

/// Reads a request; the inner error refuses it.
fn read(reader: &mut impl BufRead) -> io::Result<Result<Request, Response>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let left = MAX_HEAD - head.len();
        if left == 0 {
            return Ok(Err(Response::refused(431, "the head of the request is longer than 16 KB")));
        }
        if reader.by_ref().take(left as u64).read_until(b'\n', &mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
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

/// The request of a head, without its body, and the length of the body.
fn parse(head: &[u8]) -> Result<(Request, usize), Response> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let refused = |error| Response::refused(400, &format!("this is not an HTTP request: {error}"));
    parsed.parse(head).map_err(refused)?;
    let (path, query) =
        parsed.path.unwrap_or_default().split_once('?').unwrap_or((parsed.path.unwrap_or_default(), ""));
    let header = |header: &httparse::Header<'_>| {
        (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_owned())
    };
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: parsed.headers.iter().map(header).collect(),
        body: Vec::new(),
        last: parsed.version == Some(0),
    };
    request.last |= request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    if request.has_header("transfer-encoding") {
        return Err(Response::refused(411, "the body needs a Content-Length"));
    }
    let length = match request.header("content-length") {
        None if request.has_header("content-length") => None,
        None => Some(0),
        Some(text) => text.parse().ok(),
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
    /// `GET` or `POST`.
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
}

impl Response {
    /// A body of this media type.
    pub fn ok(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: vec![("Content-Type", media.to_owned())], body: body.into() }
    }

    /// The reason for a refusal, as JSON: `{"error": sentence}`.
    pub fn refused(status: u16, sentence: &str) -> Self {
        Self { status, ..Self::ok("application/json", json!({ "error": sentence }).to_string()) }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Writes it; `last` says that the connection then ends.
    fn write(&self, mut to: &TcpStream, last: bool) -> io::Result<()> {
        let Self { status, headers, body } = self;
        let (length, connection) = (body.len(), if last { "close" } else { "keep-alive" });
        let mut whole = format!(
            "HTTP/1.1 {status} \r\nContent-Length: {length}\r\nConnection: {connection}\r\nCache-Control: no-store\r\n\
             Content-Security-Policy: {POLICY}\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        );
        for (name, value) in headers {
            whole += &format!("{name}: {value}\r\n");
        }
        whole += "\r\n";
        to.write_all(&[whole.as_bytes(), body].concat())
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
    fn wrong_requests_have_a_status_of_their_own() {
        let post = |header: &str| status(format!("POST / HTTP/1.1\r\n{header}\r\n\r\n").as_bytes());
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
