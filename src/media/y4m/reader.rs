//! Reads a YUV4MPEG2 stream frame by frame.

use std::fmt;
use std::io::{BufRead, ErrorKind, Read};

use super::header::{Header, MAX_LINE};
use crate::error::Result;
use crate::frame::{Channels, FrameBuf};
use crate::media::Demand;
use crate::media::yuv::{Levels, Planes};

/// A stream behind its header, and the frame that was read last.
pub(in crate::media) struct Reader<R> {
    input: R,
    header: Header,
    frames: usize,
    picture: Vec<u8>,
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { header, frames, .. } = self;
        f.debug_struct("Reader").field("header", header).field("frames", frames).finish_non_exhaustive()
    }
}

impl<R: BufRead> Reader<R> {
    /// Waits for the header. A gray stream that says nothing else has the levels `gray`. The reason why the stream
    /// cannot be read otherwise.
    pub fn open(mut input: R, gray: Levels) -> Result<Self, String> {
        let (line, whole) = match line(&mut input)? {
            Line::Whole(line) => (line, true),
            Line::Cut(line) => (line, false),
            Line::None => return Err("it is empty: nothing was written to it".into()),
        };
        let header = Header::parse(&String::from_utf8_lossy(&line), gray)?;
        if !whole {
            let long = line.len() >= MAX_LINE;
            let reason = if long {
                format!("its header is longer than {MAX_LINE} bytes")
            } else {
                "it ends in its header".into()
            };
            return Err(reason);
        }
        Ok(Self { input, header, frames: 0, picture: Vec::new() })
    }

    /// The form of the frames.
    pub fn planes(&self) -> &Planes {
        &self.header.planes
    }

    /// Frames per second, where it is known.
    pub fn rate(&self) -> Option<f64> {
        self.header.rate
    }

    /// How many frames have been read.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Reads the next frame; `None` at the end of the stream. The reason why there is none otherwise.
    pub fn read(&mut self) -> Result<Option<()>, String> {
        let position = self.frames + 1;
        let line = match line(&mut self.input)? {
            Line::Whole(line) => line,
            Line::None => return Ok(None),
            Line::Cut(line) if line.len() >= MAX_LINE => {
                return Err(format!("the header of frame {position} is longer than {MAX_LINE} bytes"));
            }
            Line::Cut(_) => return Err(format!("it ends in the header of frame {position}")),
        };
        if line != b"FRAME" && !line.starts_with(b"FRAME ") {
            return Err(format!("frame {position} does not begin with the word FRAME: the stream is garbled"));
        }
        let bytes = self.header.planes.bytes().unwrap_or_default();
        // Grows as bytes come: a header is no reason to take memory, frames before this one are.
        self.picture.clear();
        if self.frames > 0 {
            self.picture.reserve(bytes);
        }
        let read = (&mut self.input).take(bytes as u64).read_to_end(&mut self.picture);
        let got = read.map_err(|error| error.to_string())?;
        if got < bytes {
            return Err(format!("it ends within frame {position}: {got} of its {bytes} bytes are there"));
        }
        self.frames = position;
        Ok(Some(()))
    }

    /// The planes of the frame that was read last, until it is decoded.
    pub fn picture(&self) -> &[u8] {
        &self.picture
    }

    /// The frame that was read last, once, and its colours besides where they are to be shown.
    pub fn decode(&mut self, demand: Demand) -> Result<(FrameBuf, Option<FrameBuf>)> {
        let planes = &self.header.planes;
        match demand.channels {
            Channels::Luma => {
                let color = demand.color.then(|| planes.color(&self.picture)).transpose()?;
                Ok((planes.luma(std::mem::take(&mut self.picture))?, color))
            }
            Channels::Color => Ok((planes.color(&self.picture)?, None)),
        }
    }
}

/// A line of a header.
enum Line {
    /// There is nothing more.
    None,
    /// It ends as it should; the end is left out.
    Whole(Vec<u8>),
    /// The stream ends within it, or it does not end where any line would.
    Cut(Vec<u8>),
}

fn line(input: &mut impl BufRead) -> Result<Line, String> {
    let mut line = Vec::new();
    loop {
        match input.by_ref().take((MAX_LINE - line.len()) as u64).read_until(b'\n', &mut line) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
            Ok(_) => break,
        }
    }
    Ok(match line.pop() {
        None => Line::None,
        Some(b'\n') => Line::Whole(line),
        Some(last) => {
            line.push(last);
            Line::Cut(line)
        }
    })
}
