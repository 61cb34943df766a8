//! A request as it comes from the network, within bounds.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::response::Response;

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
    pub(super) last: bool,
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
pub(super) struct Incoming {
    stream: TcpStream,
    bytes: Vec<u8>,
}

/// Why there is no request.
pub(super) enum NoRequest {
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

#[cfg(test)]
mod tests {
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
