//! YUV4MPEG2 (Y4M) and frames without a header through a pipe, which any program can write.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Instant;

use super::images::{Decoded, MAX_PIXELS, check_size, demanded, stretched};
use super::probe::ratio;
use super::{Demand, Info, Item, Source, Span, Stream};
use crate::cancel::{CancelToken, lock};
use crate::error::{Error, Result};
use crate::frame::yuv::{Chroma, Levels, Packed, Planes, Standard};
use crate::frame::{FrameBuf, PixelFormat};

/// Maximum bytes of a header line; a real one has about a hundred.
const MAX_LINE: usize = 1024;

/// A pipe or a file of Y4M frames with 8-bit samples: 4:2:0, 4:2:2, 4:4:4 or gray. A pipe can be read once.
///
/// Gray is the luma plane, stretched if black is 16; colours are by BT.601.
pub struct Y4m {
    info: Info,
    /// `None` once the pipe is read; a file is opened again.
    reader: Mutex<Option<Reader>>,
}

impl Y4m {
    /// Waits for the header of `reader`; `name` is used in messages.
    ///
    /// # Errors
    /// [`Error::Sequence`] for a stream that is empty, not Y4M, or of an unsupported format.
    pub fn open(name: impl Into<String>, reader: impl Read + Send + 'static) -> Result<Self> {
        let name = name.into();
        let reader = Reader::open(reader).map_err(|reason| Error::sequence(PathBuf::from(&name), reason))?;
        Ok(Self::new(name, reader))
    }

    /// Frames of a stated format without any header.
    pub fn raw(name: impl Into<String>, reader: impl Read + Send + 'static, format: RawFormat) -> Self {
        let input = Box::new(BufReader::with_capacity(1 << 16, reader));
        Self::new(name.into(), Reader { input, format, is_y4m: false, frames: 0 })
    }

    fn new(name: String, reader: Reader) -> Self {
        let RawFormat { width, height, rate, .. } = reader.format;
        let (size, constant_rate) = (Some((width, height)), rate.is_some());
        let info = Info { name, rate, size, constant_rate, live: true, ..Info::default() };
        Self { info, reader: Mutex::new(Some(reader)) }
    }

    /// Opens a file or a named pipe.
    ///
    /// # Errors
    /// As [`Y4m::open`]; [`Error::Io`] if it cannot be opened.
    pub fn open_file(path: &Path) -> Result<Self> {
        let io = |source| Error::io(path, source);
        let file = File::open(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?;
        let Self { mut info, reader } = Self::open(path.to_string_lossy(), file)?;
        info.inputs.push(path.into());
        info.live = !bytes.is_file();
        let frame = lock(&reader).as_ref().map(|reader| reader.format.bytes());
        let count = frame.map(|frame| bytes.len() as usize / (frame + b"FRAME\n".len()));
        info.expected_length = count.filter(|_| !info.live);
        Ok(Self { info, reader })
    }
}

impl std::fmt::Debug for Y4m {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Y4m").field(&self.info).finish()
    }
}

impl Source for Y4m {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, span: Span, demand: Demand, _: &CancelToken) -> Result<Stream> {
        let path = PathBuf::from(&self.info.name);
        let wrong = |reason: String| Error::sequence(&path, reason);
        let taken = lock(&self.reader).take();
        let mut reader = Some(match (taken, &*self.info.inputs) {
            (Some(reader), _) => reader,
            (None, [file]) if !self.info.live => {
                let file = File::open(file).map_err(|source| Error::io(file, source))?;
                Reader::open(file).map_err(wrong)?
            }
            _ => return Err(wrong("a pipe can be read only once".into())),
        });
        Ok(Box::new(std::iter::from_fn(move || {
            loop {
                let stream = reader.as_mut()?;
                let position = stream.frames + 1;
                if span.last.is_some_and(|last| position > last) {
                    reader = None;
                    return None;
                }
                let read = match stream.read().transpose() {
                    None if position == 1 => Err("it ends before the first frame".into()),
                    read => read?,
                };
                if read.is_ok() && position < span.first {
                    continue;
                }
                // The time of decoding is without the wait for the writer.
                let begun = Instant::now();
                let format = stream.format;
                let decoded =
                    read.and_then(|picture| format.decoded(picture, demand).map_err(|error| error.to_string()));
                let timestamp = format.rate.map(|rate| (position - 1) as f64 / rate);
                if decoded.is_err() {
                    reader = None;
                }
                let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
                let decoded = decoded.map_err(|reason| Error::Ended { path: path.clone(), reason });
                return Some(Item::numbered(position, timestamp, decoded, decode_ms));
            }
        })))
    }
}

/// Parses the first line without its end. A gray stream has full levels unless its header says otherwise.
fn header(line: &str) -> Result<RawFormat, String> {
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    if words.next() != Some("YUV4MPEG2") {
        return Err("this is not Y4M, which `ffmpeg -f yuv4mpegpipe` writes".into());
    }
    let (mut size, mut rate, mut levels, mut chroma) = ([0; 2], None, None, "420jpeg");
    for word in words {
        let mut rest = word.chars();
        let tag = rest.next();
        let value = rest.as_str();
        match (tag, value) {
            (Some('W'), _) => size[0] = value.parse().unwrap_or(0),
            (Some('H'), _) => size[1] = value.parse().unwrap_or(0),
            (Some('F'), _) => rate = ratio(value, ':'),
            (Some('C'), _) => chroma = value,
            (Some('X'), "COLORRANGE=FULL") => levels = Some(Levels::Full),
            (Some('X'), "COLORRANGE=LIMITED") => levels = Some(Levels::Limited),
            _ => {}
        }
    }
    let [width, height] = size;
    if width == 0 || height == 0 {
        return Err(format!("its header `{line}` has no valid width and height"));
    }
    check_size(width, height)?;
    let chroma = match chroma {
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => Chroma::C420,
        "422" => Chroma::C422,
        "444" => Chroma::C444,
        "mono" => Chroma::Mono,
        other => {
            return Err(format!("C{other} is not supported; convert it by `-pix_fmt yuv420p -f yuv4mpegpipe`"));
        }
    };
    let default = if chroma == Chroma::Mono { Levels::Full } else { Levels::Limited };
    let planes = Planes { width, height, chroma, levels: levels.unwrap_or(default), standard: Standard::Bt601 };
    Ok(RawFormat::planes(planes, rate))
}

/// A stream after its header.
struct Reader {
    input: Box<dyn BufRead + Send>,
    format: RawFormat,
    is_y4m: bool,
    frames: usize,
}

impl Reader {
    /// Waits for the header.
    fn open(input: impl Read + Send + 'static) -> Result<Self, String> {
        let mut input: Box<dyn BufRead + Send> = Box::new(BufReader::with_capacity(1 << 16, input));
        let other = |reason| format!("this is not Y4M, which `ffmpeg -f yuv4mpegpipe` writes, or {reason}");
        let line = line(&mut input).map_err(other)?.ok_or("it is empty")?;
        let format = header(&String::from_utf8_lossy(&line))?;
        Ok(Self { input, format, is_y4m: true, frames: 0 })
    }

    /// Reads the next frame; `None` at the end of the stream.
    fn read(&mut self) -> Result<Option<Vec<u8>>, String> {
        let position = self.frames + 1;
        if self.is_y4m {
            let line = line(&mut self.input).map_err(|reason| format!("frame {position}: {reason}"))?;
            match line.as_deref() {
                None => return Ok(None),
                Some(line) if line == b"FRAME" || line.starts_with(b"FRAME ") => {}
                Some(_) => return Err(format!("frame {position} does not begin with the word FRAME")),
            }
        }
        let bytes = self.format.bytes();
        // The first frame grows as bytes arrive, so that a wrong header reserves no memory.
        let mut picture = Vec::with_capacity(if self.frames > 0 { bytes } else { 0 });
        let read = (&mut self.input).take(bytes as u64).read_to_end(&mut picture);
        let got = read.map_err(|error| error.to_string())?;
        if got == 0 && !self.is_y4m {
            return Ok(None);
        }
        if got < bytes {
            return Err(format!("it ends within frame {position}: {got} of its {bytes} bytes are there"));
        }
        self.frames = position;
        Ok(Some(picture))
    }
}

/// A line without its end; `None` at the end of the stream.
fn line(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, String> {
    let mut line = Vec::new();
    input.take(MAX_LINE as u64).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) => Err(format!("a header is cut off or has more than {MAX_LINE} bytes")),
    }
}

/// Pixels of raw frames, by their names in ffmpeg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawPixels {
    Interleaved(PixelFormat),
    Packed(Packed),
    Planes(Planes),
    /// Gray with two bytes a sample, and the levels of black and white.
    Deep((u16, u16)),
}

/// The format of raw frames, as `rgb24:640x480@30`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawFormat {
    pub(super) pixels: RawPixels,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Frames per second.
    pub(super) rate: Option<f64>,
}

impl FromStr for RawFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (name, rest) = text.split_once(':')?;
            let (size, rate) = rest.split_once('@').map_or((rest, None), |(size, rate)| (size, Some(rate)));
            let (width, height) = size.split_once('x')?;
            let pixels = match name {
                "gray" => RawPixels::Interleaved(PixelFormat::Gray8),
                "rgb24" => RawPixels::Interleaved(PixelFormat::Rgb8),
                "bgr24" => RawPixels::Interleaved(PixelFormat::Bgr8),
                "nv12" => RawPixels::Packed(Packed::Nv12),
                "yuyv422" => RawPixels::Packed(Packed::Yuyv),
                _ => return None,
            };
            let rate = rate.map(|rate| rate.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0));
            if rate == Some(None) {
                return None;
            }
            Some(Self { pixels, width: width.parse().ok()?, height: height.parse().ok()?, rate: rate.flatten() })
        };
        let format: Self = parse().ok_or(
            "expected pixels (rgb24, bgr24, gray, nv12, yuyv422), size and frames per second, such as rgb24:640x480@30",
        )?;
        let (width, height) = (format.width, format.height);
        let is_odd = matches!(format.pixels, RawPixels::Packed(_)) && (width % 2 != 0 || height % 2 != 0);
        match width.checked_mul(height) {
            Some(1..=MAX_PIXELS) if !is_odd => Ok(format),
            Some(1..=MAX_PIXELS) => Err("nv12 and yuyv422 need an even width and height".into()),
            _ => Err(format!("frames have from 1 to {MAX_PIXELS} pixels")),
        }
    }
}

impl RawFormat {
    /// The format of frames of planes.
    fn planes(planes: Planes, rate: Option<f64>) -> Self {
        Self { pixels: RawPixels::Planes(planes), width: planes.width, height: planes.height, rate }
    }

    /// Bytes of a frame.
    pub(super) fn bytes(&self) -> usize {
        match self.pixels {
            RawPixels::Interleaved(format) => self.width * self.height * format.bytes(),
            RawPixels::Packed(packed) => packed.rows(self.width, self.height).map_or(0, |(row, rows)| row * rows),
            RawPixels::Planes(planes) => planes.bytes().unwrap_or_default(),
            RawPixels::Deep(_) => 2 * self.width * self.height,
        }
    }

    /// The frame in [`RawFormat::bytes`] bytes.
    pub(super) fn decoded(&self, data: Vec<u8>, demand: Demand) -> Result<Decoded> {
        let (width, height) = (self.width, self.height);
        let (planes, picture) = match self.pixels {
            RawPixels::Interleaved(format) => {
                return FrameBuf::new(data, width, height, format).map(|picture| demanded(picture, demand));
            }
            RawPixels::Packed(packed) => {
                let row = packed.rows(width, height).map_or(0, |(row, _)| row);
                packed.planes(&data, width, height, row)?
            }
            RawPixels::Planes(planes) => (planes, data),
            RawPixels::Deep(levels) => {
                let samples = data.as_chunks::<2>().0.iter();
                let gray = samples.map(|sample| stretched(u16::from_le_bytes(*sample), levels)).collect();
                return FrameBuf::new(gray, width, height, PixelFormat::Gray8).map(|picture| (picture, None));
            }
        };
        planes.decoded(picture, demand.channels, demand.color)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Channels;

    #[test]
    fn parses_headers() {
        let read = |line| match header(line).unwrap() {
            RawFormat { pixels: RawPixels::Planes(planes), rate, .. } => (planes, rate),
            other => panic!("{other:?}"),
        };
        let ffmpeg = read("YUV4MPEG2 W64 H48 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG");
        let planes =
            Planes { width: 64, height: 48, chroma: Chroma::C420, levels: Levels::Limited, standard: Standard::Bt601 };
        assert_eq!((ffmpeg.0, ffmpeg.1.map(|rate| (rate * 1e3) as u32)), (planes, Some(29_970)));
        let gray = read("YUV4MPEG2 W65 H1 F0:0 Ip A1:1 Cmono");
        assert_eq!((gray.0.chroma, gray.0.levels, gray.1), (Chroma::Mono, Levels::Full, None));
        let levels = |line| read(line).0.levels;
        assert_eq!(levels("YUV4MPEG2 W2 H2 C444 XYSCSS=444 XCOLORRANGE=FULL"), Levels::Full);
        assert_eq!(levels("YUV4MPEG2 W2 H2 Cmono XCOLORRANGE=LIMITED"), Levels::Limited);
        // 4:2:0 is the default.
        assert_eq!(read("YUV4MPEG2 H2 W2").0.chroma, Chroma::C420);
    }

    #[test]
    fn refuses_unsupported_headers() {
        for (line, reason) in [
            ("", "not Y4M"),
            ("YUV4MPEG2 W2", "no valid width and height"),
            ("YUV4MPEG2 W-3 H2", "no valid width and height"),
            ("YUV4MPEG2 W60000 H60000", "60000x60000 pixels"),
            ("YUV4MPEG2 W18446744073709551615 H18446744073709551615", "pixels, more than"),
            ("YUV4MPEG2 W2 H2 C420p10", "C420p10"),
            ("YUV4MPEG2 W2 H2 Cmono16", "-pix_fmt yuv420p"),
        ] {
            let error = header(line).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }

    #[test]
    fn formats_have_pixels_a_size_and_a_rate() {
        let format: RawFormat = "bgr24:640x480@29.97".parse().unwrap();
        assert_eq!((format.width, format.height, format.rate, format.bytes()), (640, 480, Some(29.97), 921_600));
        let bytes = |text: &str| text.parse::<RawFormat>().unwrap().bytes();
        assert_eq!([bytes("gray:5x3"), bytes("nv12:6x4@1"), bytes("yuyv422:6x4@1")], [15, 36, 48]);
        for wrong in [
            "",
            "rgb24",
            "rgb24:640",
            "rgb:6x4",
            "rgb24:0x4",
            "nv12:5x4",
            "rgb24:6x4@0",
            "rgb24:6x4@x",
            "rgb24:99999x99999",
        ] {
            assert!(wrong.parse::<RawFormat>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_same_picture_is_read_in_each_format() {
        let gray = |text: &str, data: &[u8]| {
            let (frame, _) = text.parse::<RawFormat>().unwrap().decoded(data.into(), Channels::Luma.into()).unwrap();
            frame.into_bytes()
        };
        assert_eq!(gray("gray:2x2", &[0, 255, 255, 0]), [0, 255, 255, 0]);
        assert_eq!(gray("nv12:2x2", &[16, 235, 235, 16, 128, 128]), [0, 255, 255, 0]);
        assert_eq!(gray("yuyv422:2x2", &[16, 128, 235, 128, 235, 128, 16, 128]), [0, 255, 255, 0]);
        let red = [200, 100, 50].repeat(2);
        let blue_first: Vec<u8> = red.chunks(3).flat_map(|pixel| pixel.iter().rev().copied()).collect();
        assert_eq!(gray("rgb24:2x1", &red), gray("bgr24:2x1", &blue_first));
    }
}
