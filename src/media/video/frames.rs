//! The frames that ffmpeg writes, one after the other.

use std::io::{BufRead, BufReader, Read};
use std::process::ChildStdout;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::VideoOptions;
use super::cut::ends_within;
use super::input::Input;
use super::probe::begins_whole;
use super::says::Shown;
use super::timeline::{Entry, Mark, Ticks, Timeline};
use super::watched::{Ending, Ffmpeg, lock};
use crate::error::{Error, Result};
use crate::frame::{Channels, FrameBuf, PixelFormat};
use crate::media::decode::MAX_PIXELS;
use crate::media::y4m::Reader;
use crate::media::yuv::Levels;
use crate::media::{Demand, Item, Span};

/// Share of the frames that a stream should have, below which it has broken off.
const WHOLE: f64 = 0.9;

/// Longest header of a picture: two letters, three numbers.
const MAX_HEADER: u64 = 64;

/// What ffmpeg writes.
pub(super) enum Form {
    /// Binary PGM or PPM pictures, each with its size.
    Pnm,
    /// A Y4M stream: luma and chroma as they are stored. Where there is luma alone and the stream does not say so, it
    /// has these levels.
    Y4m(Levels),
}

/// Bytes to pictures.
enum Decoder {
    Pnm(BufReader<ChildStdout>),
    /// The output until its header is read, and what reads the frames behind it.
    Y4m {
        out: Option<BufReader<ChildStdout>>,
        gray: Levels,
        reader: Option<Reader<BufReader<ChildStdout>>>,
    },
}

/// What is tracked of a frame, and the same in colour where that is shown besides.
type Decoded = (FrameBuf, Option<FrameBuf>);

/// A frame, and the digest of what ffmpeg wrote of it.
type Taken = (Decoded, u32);

/// The frames of a video until its end, or until ffmpeg fails.
pub(super) struct Frames {
    input: Input,
    options: VideoOptions,
    ffmpeg: Ffmpeg,
    /// `None` after the last frame.
    decoder: Option<Decoder>,
    span: Span,
    demand: Demand,
    ending: Ending,
    read: usize,
    /// When the first frame of all was shown.
    first: Option<Ticks>,
    /// The size of the first frame of the span.
    size: Option<(usize, usize)>,
    /// The first frame of another size.
    changed: Option<usize>,
    /// What the frames are noted in, where they are to be read again.
    timeline: Option<Timeline>,
    /// Where ffmpeg was told to begin, other than at the first frame.
    entry: Option<Entry>,
    /// Ticks that its times lack since then; none before the first frame has come.
    lacking: Option<i64>,
    /// A frame was not the one that was there, and is not handed out.
    strayed: bool,
    /// About how many there should be.
    expected: Option<usize>,
    /// Where it is said what is odd about the end.
    remark: Remark,
}

/// What there is to say of a video after it has ended.
pub(super) type Remark = Arc<Mutex<Option<String>>>;

impl Frames {
    pub fn new(
        (input, options): (Input, VideoOptions),
        (ffmpeg, out): (Ffmpeg, BufReader<ChildStdout>),
        form: Form,
        (span, demand): (Span, Demand),
        ending: Ending,
    ) -> Self {
        let decoder = match form {
            Form::Pnm => Decoder::Pnm(out),
            Form::Y4m(gray) => Decoder::Y4m { out: Some(out), gray, reader: None },
        };
        Self {
            input,
            options,
            ffmpeg,
            decoder: Some(decoder),
            span,
            demand,
            ending,
            read: 0,
            first: None,
            size: None,
            changed: None,
            timeline: None,
            entry: None,
            lacking: None,
            strayed: false,
            expected: None,
            remark: Remark::default(),
        }
    }

    /// Says in `remark` that a stream has broken off, which should have about so many frames.
    pub fn remarked_in(self, remark: Remark, expected: Option<usize>) -> Self {
        *lock(&remark) = None;
        Self { remark, expected, ..self }
    }

    /// Notes the frames in `timeline`.
    pub fn noted_in(self, timeline: Timeline) -> Self {
        Self { timeline: Some(timeline), ..self }
    }

    /// ffmpeg was told to begin at `entry`. The frames end where one is not the one that was there.
    pub fn begun_at(self, entry: Entry) -> Self {
        Self { read: entry.position - 1, entry: Some(entry), ..self }
    }

    /// Whether they ended as one was not the one that was there.
    pub fn have_strayed(&self) -> bool {
        self.strayed
    }

    /// The next frame; `None` at the end.
    fn frame(&mut self) -> Result<Option<Taken>, String> {
        let Some(decoder) = &mut self.decoder else { return Ok(None) };
        let skipped = self.read + 1 < self.span.first;
        let demand = self.demand;
        let known = self.timeline.is_some();
        let read = self.ffmpeg.waiting(|| decoder.read(demand, skipped, known));
        match read {
            Ok(Some(read)) => {
                self.read += 1;
                Ok(Some(read))
            }
            // Whatever the bytes look like: when ffmpeg failed that is the reason.
            ended => match (self.ffmpeg.trouble(self.read, self.ending), ended) {
                (Some(trouble), _) => Err(trouble + &self.second_opening()),
                (None, Err(trouble)) => Err(trouble),
                (None, Ok(_)) => self.trouble().map_or(Ok(None), Err),
            },
        }
    }

    /// What may be wrong with an address that ffprobe could read, and ffmpeg could not.
    fn second_opening(&self) -> String {
        if self.read > 0 || !self.input.is_address() {
            return String::new();
        }
        format!(
            "; an address is opened twice, by ffprobe and by ffmpeg: where its server takes one connection, read it by \
             `ffmpeg -i '{}' -f yuv4mpegpipe - | kcf-track - ...`",
            self.input.path().display()
        )
    }

    /// Why frames behind one of another size cannot be read, in a form that has one size for all.
    fn change_of_size(&self) -> Option<String> {
        let (changed, Decoder::Y4m { .. }) = (self.changed?, self.decoder.as_ref()?) else { return None };
        Some(format!(
            "its pictures change their size at frame {changed}: what follows can be read in colour only (by a preset \
             that tracks colours), or where all are brought to one size (ffmpeg -i FILE -vf scale=W:H OTHER)"
        ))
    }

    /// Why the frames have ended although ffmpeg says that all is well.
    fn trouble(&self) -> Option<String> {
        if let Some(reason) = self.change_of_size() {
            return Some(reason);
        }
        if self.input.is_address() {
            *lock(&self.remark) = self.broken_off();
        } else if self.ending == Ending::Strict && ends_within(self.input.path()) {
            return Some(format!("it is cut off within a picture; all {} frames before that were read", self.read));
        }
        let complaint = self.ffmpeg.early_complaint().filter(|_| self.ending == Ending::Strict)?;
        // A recording that begins between two key frames, or at one that others behind it are shown before, has
        // pictures that cannot be decoded before its first one.
        let whole = begins_whole(&self.input, &self.options).unwrap_or(true);
        whole.then(|| format!("ffmpeg stopped after {} frames: {complaint}", self.read))
    }

    /// That a stream has not ended as it should, as far as that can be told: its server has gone, or it is over.
    fn broken_off(&self) -> Option<String> {
        let (read, complaint) = (self.read, self.ffmpeg.last_complaint());
        let more = self.expected.filter(|&expected| read < expected);
        let short = more.is_some_and(|expected| (read as f64) < WHOLE * expected as f64);
        if complaint.is_none() && !short {
            return None;
        }
        let of = more.map_or(String::new(), |expected| format!(" of about {expected}"));
        let said = complaint.map_or(String::new(), |said| format!("; ffmpeg complained: {said}"));
        Some(format!("{}: it ended after {read} frames{of}{said}", self.input.path().display()))
    }

    /// What ffmpeg says of the frame that was read last, its time counted from where the video begins.
    fn shown(&mut self) -> Option<Shown> {
        let mut shown = self.ffmpeg.shown()?;
        let Some(entry) = self.entry else { return Some(shown) };
        if self.lacking.is_none() {
            self.lacking = shown.time.and_then(|time| entry.lacking(time));
            self.first = Some(entry.first);
            // What could not be decoded between a key frame and this one was not asked for.
            self.ffmpeg.forgive();
        }
        let lacking = self.lacking;
        let whole = |time: Ticks| lacking.map(|lacking| Ticks { count: time.count.saturating_add(lacking), ..time });
        shown.time = shown.time.and_then(whole);
        Some(shown)
    }

    /// Whether the frame at `position` may be handed out, its mark being `None` at the end, or where there is no frame.
    /// Notes it, where it is new.
    fn is_true(&mut self, position: usize, mark: Option<Mark>) -> bool {
        let Some(timeline) = &self.timeline else { return true };
        if self.entry.is_some() {
            self.strayed = timeline.agrees(position, mark) == Some(false);
        }
        if let Some(mark) = mark {
            timeline.note(position, mark);
        }
        !self.strayed
    }

    /// Refuses a frame of another size than the first of the span: ffmpeg writes its pixels as if it had that one's. In
    /// a form that has one size for all, that of the very first counts, and behind a change before the span is nothing.
    fn check_size(&mut self, position: usize, size: Option<(usize, usize)>) -> Result<()> {
        let wanted = position >= self.span.first;
        let one_for_all = matches!(self.decoder, Some(Decoder::Y4m { .. }));
        let Some(got) = size.filter(|_| wanted || one_for_all) else { return Ok(()) };
        let expected = *self.size.get_or_insert(got);
        if expected == got {
            return Ok(());
        }
        self.changed.get_or_insert(position);
        match self.change_of_size().filter(|_| !wanted) {
            Some(reason) => Err(Error::Sequence { path: self.input.path().into(), reason }),
            None => Err(Error::FrameSize { expected, got }),
        }
    }

    /// Seconds from the first frame to the one at `position`, which is of the right size.
    fn time(&mut self, position: usize, shown: Option<Shown>) -> Result<Option<f64>> {
        let Some(shown) = shown else { return Ok(None) };
        self.check_size(position, shown.size)?;
        let Some(time) = shown.time else { return Ok(None) };
        Ok(time.since(*self.first.get_or_insert(time)))
    }
}

impl Iterator for Frames {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            if self.span.last.is_some_and(|last| self.read >= last) {
                self.decoder = None;
                return None;
            }
            let begun = Instant::now();
            let read = self.frame();
            let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
            let position = if matches!(read, Ok(Some(_))) { self.read } else { self.read + 1 };
            let shown = if matches!(read, Ok(None)) { None } else { self.shown() };
            let mark = match (&read, shown.and_then(|shown| shown.time)) {
                (Ok(Some((_, digest))), Some(time)) => Some(Mark { time, digest: *digest }),
                _ => None,
            };
            // Who ended ffmpeg wanted that.
            if !self.ffmpeg.process.was_killed() && !self.is_true(position, mark) {
                self.decoder = None;
                return None;
            }
            let mut timestamp = None;
            let decoded = match read.transpose()? {
                // After one of another size the next one may be of the right size again.
                Ok((decoded, _)) => self.time(position, shown).map(|time| {
                    timestamp = time;
                    decoded
                }),
                Err(reason) => {
                    // A form that has one size for all fails with another: that is what is to be said.
                    let _ = self.check_size(position, shown.and_then(|shown| shown.size));
                    let reason = self.change_of_size().unwrap_or(reason);
                    self.decoder = None;
                    Err(Error::Sequence { path: self.input.path().into(), reason })
                }
            };
            if position < self.span.first {
                if decoded.is_ok() {
                    continue;
                }
                // What was to come first does not come.
                self.decoder = None;
            }
            return Some(Item::numbered(position, timestamp, decoded, decode_ms));
        }
    }
}

impl Decoder {
    /// The next picture; one that is skipped is an empty one. Its digest is taken where it is to be `known`.
    fn read(&mut self, demand: Demand, skipped: bool, known: bool) -> Result<Option<Taken>, String> {
        let said = |error: Error| error.to_string();
        let digest = |bytes: &[u8]| if known { crc32fast::hash(bytes) } else { 0 };
        match self {
            Self::Pnm(out) => {
                let Some(picture) = pnm(out)? else { return Ok(None) };
                let digest = digest(picture.bytes());
                match (picture.as_frame().format(), demand.channels) {
                    (PixelFormat::Rgb8, Channels::Luma) if !skipped => {
                        Ok(Some(((picture.to_luma(), demand.color.then_some(picture)), digest)))
                    }
                    _ => Ok(Some(((picture, None), digest))),
                }
            }
            Self::Y4m { out, gray, reader } => {
                if let Some(out) = out.take() {
                    *reader = Some(Reader::open(out, *gray)?);
                }
                let Some(reader) = reader else { return Ok(None) };
                let Some(()) = reader.read()? else { return Ok(None) };
                let digest = digest(reader.picture());
                let channels = if skipped { Channels::Luma } else { demand.channels };
                let demand = Demand { channels, color: demand.color && !skipped };
                Ok(Some((reader.decode(demand).map_err(said)?, digest)))
            }
        }
    }
}

/// Reads a picture of 8 bits a sample, as ffmpeg writes it; `None` at the end.
fn pnm(input: &mut impl BufRead) -> Result<Option<FrameBuf>, String> {
    let said = |error: std::io::Error| error.to_string();
    let mut header = Vec::new();
    for _ in 0..3 {
        input.take(MAX_HEADER).read_until(b'\n', &mut header).map_err(said)?;
    }
    if header.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&header);
    let words: Vec<&str> = text.split_whitespace().collect();
    let [magic, width, height, "255"] = words[..] else { return Err(format!("ffmpeg wrote no picture: {text:?}")) };
    let (Ok(width), Ok(height)) = (width.parse::<usize>(), height.parse::<usize>()) else {
        return Err(format!("ffmpeg wrote a picture of no size: {text:?}"));
    };
    let (format, samples) = if magic == "P5" { (PixelFormat::Gray8, 1) } else { (PixelFormat::Rgb8, 3) };
    let pixels = width.checked_mul(height).filter(|&pixels| pixels <= MAX_PIXELS);
    let bytes = pixels.ok_or_else(|| format!("{width}x{height} pixels are more than {MAX_PIXELS}"))? * samples;
    let mut data = Vec::with_capacity(bytes);
    let got = input.take(bytes as u64).read_to_end(&mut data).map_err(said)?;
    if got < bytes {
        return Err(format!("it ends within a frame: {got} of its {bytes} bytes are there"));
    }
    FrameBuf::new(data, width, height, format).map(Some).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_of_ffmpeg() {
        let mut stream = &b"P5\n2 1\n255\n\x01\nP6\n1 1\n255\nabcP5\n2 2\n255\n12"[..];
        let gray = pnm(&mut stream).unwrap().unwrap();
        assert_eq!((gray.as_frame().width(), gray.as_frame().row(0)), (2, &[1, b'\n'][..]));
        let rgb = pnm(&mut stream).unwrap().unwrap();
        assert_eq!((rgb.as_frame().format(), rgb.as_frame().row(0)), (PixelFormat::Rgb8, &b"abc"[..]));
        assert!(pnm(&mut stream).unwrap_err().contains("2 of its 4 bytes"));
        assert!(pnm(&mut &b""[..]).unwrap().is_none());
        for wrong in ["P5\n", "P5\n1 1\n65535\n", "P5\n-1 1\n255\n", "P5\n60000 60000\n255\n", "nonsense"] {
            assert!(pnm(&mut wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
