//! A view that is being served, and a client of it over plain connections.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::helper::{Place, interruptible, signal};

/// A view that is being served.
pub struct Served {
    pub child: Child,
    /// What the program printed besides the address.
    stderr: BufReader<std::process::ChildStderr>,
    pub url: String,
    pub host: String,
    /// The header that a browser sends once it has opened the address.
    pub cookie: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn serve(place: &Place, line: &str) -> Served {
    serve_frames(place, &place.seq(), line)
}

pub fn serve_frames(place: &Place, frames: &Path, line: &str) -> Served {
    let mut command = interruptible();
    command.args(["view", "--port", "0", "--preset", "paper"]).arg(frames);
    started(command.args(place.words(line)), "view: ")
}

/// A view of a pipe.
pub fn serve_pipe(feed: impl FnOnce(PipeWriter) + Send + 'static, line: &str) -> Served {
    let mut command = interruptible();
    command.args(["view", "-", "--port", "0", "--preset", "paper"]).args(line.split_whitespace());
    started(command.stdin(fed(feed)), "view: ")
}

/// The end of a pipe that is read, while `feed` writes to the other one.
pub fn fed(feed: impl FnOnce(PipeWriter) + Send + 'static) -> PipeReader {
    let (reader, writer) = std::io::pipe().unwrap();
    std::thread::spawn(move || feed(writer));
    reader
}

/// Starts a program that prints an address behind `word`.
pub fn started(command: &mut Command, word: &str) -> Served {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    let url = loop {
        let mut line = String::new();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "the program ended: {said}");
        if let Some(url) = line.strip_prefix(word) {
            break url.trim().to_owned();
        }
        said += &line;
    };
    let (host, token) = url.trim_start_matches("http://").split_once("/?token=").unwrap();
    let cookie = format!("Cookie: kcf-track-{}={token}", host.rsplit(':').next().unwrap());
    Served { child, stderr, host: host.to_owned(), cookie, url }
}

/// A status, the headers and the body.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn said(&self) -> String {
        self.json()["error"].as_str().unwrap().to_owned()
    }
}

impl Served {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes on a connection of their own, and reads the answer to its end.
    pub fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // Of a request that is refused before its end, the rest may find nobody.
        let _ = stream.write_all(bytes);
        answer(&mut BufReader::new(stream))
    }

    pub fn get(&self, path: &str) -> Answer {
        let Self { host, cookie, .. } = self;
        self.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\nConnection: close\r\n\r\n").as_bytes())
    }

    /// As [`get`](Self::get), of somebody who has not opened the printed address.
    pub fn get_as_stranger(&self, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.host).as_bytes())
    }

    pub fn post(&self, order: &Value) -> Answer {
        let body = order.to_string();
        let Self { host, cookie, .. } = self;
        let head = format!("Host: {host}\r\n{cookie}\r\nOrigin: http://{host}\r\nContent-Type: application/json");
        let length = body.len();
        self.send(format!("POST /command HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes())
    }

    pub fn order(&self, order: Value) {
        let answer = self.post(&order);
        assert_eq!(answer.status, 200, "{order}: {}", String::from_utf8_lossy(&answer.body));
    }

    /// What a page that knows nothing is told, without pictures.
    pub fn news(&self) -> Value {
        parts(&self.get("/news")).0
    }

    pub fn stands_at(&self, position: usize) -> Value {
        let begun = Instant::now();
        loop {
            let news = self.news();
            if news["status"]["position"] == position && news["status"]["playing"] == false {
                return news;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", news["status"]);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Steps by some frames, which leads to `position`.
    pub fn step(&self, by: i64, position: usize) -> Value {
        self.order(json!({ "do": "step", "by": by }));
        self.stands_at(position)
    }

    /// Plays without pauses up to the last frame.
    pub fn play_to(&self, last: usize) -> Value {
        self.order(json!({ "do": "speed", "times": null }));
        self.order(json!({ "do": "play" }));
        self.stands_at(last)
    }

    pub fn interrupt(mut self) -> (Option<i32>, String) {
        signal(&self.child, "INT");
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

pub fn answer(reader: &mut impl BufRead) -> Answer {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "no answer: {head}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Answer { status, head, body }
}

/// The JSON, the JPEG and the levels of a message.
pub fn parts(answer: &Answer) -> (Value, &[u8], &[u8]) {
    let body = &answer.body;
    let length = u32::from_be_bytes(body[..4].try_into().unwrap()) as usize;
    let told: Value = serde_json::from_slice(&body[4..4 + length]).unwrap();
    let jpeg = 4 + length + told["jpeg"].as_u64().unwrap_or(0) as usize;
    (told, &body[4 + length..jpeg], &body[jpeg..])
}
