//! An answer.

use std::io::Write;

use serde_json::json;

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
    pub(super) fn write(&self, to: &mut impl Write, last: bool) -> std::io::Result<()> {
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
