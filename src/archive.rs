//! Saved parts as bytes: a name, a version, a checksum, and values in a fixed order. One function of each part writes and
//! reads the part.

use rustfft::num_complex::Complex32;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// The version of the bytes.
const VERSION: u16 = 2;
/// Bytes of a version and of a checksum.
const HEAD: usize = 2 + 4;

/// Bytes that are written or read.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    mode: Mode<'a>,
    wrong: Option<&'static str>,
}

/// The direction of the transfer.
#[derive(Debug)]
enum Mode<'a> {
    Write(Vec<u8>),
    Read(&'a [u8]),
}

impl<'a> Archive<'a> {
    /// An archive that takes values.
    pub fn writer() -> Self {
        Self { mode: Mode::Write(Vec::new()), wrong: None }
    }

    /// An archive that gives the values of these bytes.
    pub fn reader(bytes: &'a [u8]) -> Self {
        Self { mode: Mode::Read(bytes), wrong: None }
    }

    /// Marks the part as one that cannot be saved.
    pub fn refuse(&mut self, why: &'static str) {
        self.wrong = Some(why);
    }

    /// Transfers a value of any kind.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) {
        let done = match &mut self.mode {
            Mode::Write(bytes) => postcard::to_extend(&*value, std::mem::take(bytes)).map(|all| *bytes = all),
            Mode::Read(bytes) => postcard::take_from_bytes(bytes).map(|(read, rest)| (*value, *bytes) = (read, rest)),
        };
        if done.is_err() {
            self.refuse("the bytes have other values than expected");
        }
    }

    /// Transfers a part that both sides have, or neither.
    pub fn optional<P>(&mut self, part: &mut Option<P>, transfer: impl FnOnce(&mut P, &mut Self)) {
        if let Some(part) = part {
            transfer(part, self);
        }
    }

    /// Transfers numbers whose count both sides know.
    pub fn floats<'f>(&mut self, floats: impl IntoIterator<Item = &'f mut f32>) {
        for float in floats {
            match &mut self.mode {
                Mode::Write(bytes) => bytes.extend(float.to_le_bytes()),
                Mode::Read(bytes) => match bytes.split_first_chunk() {
                    Some((read, rest)) => (*float, *bytes) = (f32::from_le_bytes(*read), rest),
                    None => self.wrong = Some("the bytes end too early"),
                },
            }
        }
    }

    /// Transfers complex numbers whose count both sides know.
    pub fn complex(&mut self, numbers: &mut [Complex32]) {
        self.floats(numbers.iter_mut().flat_map(|number| [&mut number.re, &mut number.im]));
    }

    /// Transfers numbers of double precision whose count both sides know.
    pub fn doubles<'f>(&mut self, doubles: impl IntoIterator<Item = &'f mut f64>) {
        doubles.into_iter().for_each(|double| self.value(double));
    }

    /// The written bytes; an error unless all bytes were read.
    pub fn finish(self) -> Result<Vec<u8>, &'static str> {
        match (self.wrong, self.mode) {
            (Some(why), _) => Err(why),
            (None, Mode::Write(bytes)) => Ok(bytes),
            (None, Mode::Read([])) => Ok(Vec::new()),
            (None, Mode::Read(_)) => Err("there are bytes after its end"),
        }
    }
}

/// The error for what cannot be saved or read.
pub(crate) fn refused(what: &str, why: &str) -> Error {
    Error::Saved { what: what.to_owned(), reason: why.to_owned() }
}

/// Bytes with the name of what they are, the version and a checksum in front of them.
#[doc(hidden)]
pub fn sealed(what: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = format!("kcf-track {what}\n").into_bytes();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(crc32fast::hash(content).to_le_bytes());
    bytes.extend(content);
    bytes
}

/// The content of [`sealed`] bytes.
///
/// # Errors
/// [`Error::Saved`] for bytes of something else or of another version, and for those that were cut or changed.
#[doc(hidden)]
pub fn opened<'b>(what: &str, bytes: &'b [u8]) -> Result<&'b [u8]> {
    let rest = bytes.strip_prefix(format!("kcf-track {what}\n").as_bytes());
    let rest = rest.ok_or_else(|| refused(what, "these bytes are something else"))?;
    let (head, content) = rest.split_at_checked(HEAD).ok_or_else(|| refused(what, "the bytes end too early"))?;
    let version = u16::from_le_bytes([head[0], head[1]]);
    if version != VERSION {
        return Err(refused(what, &format!("the bytes have version {version}, this program reads {VERSION}")));
    }
    if crc32fast::hash(content).to_le_bytes() != head[2..] {
        return Err(refused(what, "the bytes were cut or changed"));
    }
    Ok(content)
}
