//! Drawn frames as a video, encoded by one `ffmpeg` process that reads raw pictures.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use image::RgbImage;
use tempfile::NamedTempFile;

use super::output::Destination;
use super::overlay::{Deliver, Place};
use crate::atomic_file::temporary_beside;
use crate::error::{Error, Result};
use crate::ffmpeg;

/// The rate of a video whose frames have none.
const DEFAULT_RATE: f64 = 25.0;
/// Pictures that wait to be encoded.
const WAITING: usize = 4;
/// Bytes of ffmpeg's log that are kept.
const LOG: usize = 1 << 16;
/// A pause longer than this many frames is shown as this many.
const MAX_COPIES: usize = 10_000;

/// H.264 of the widest support: 4:2:0, which needs even sides.
const H264: &[&str] = &["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-movflags", "+faststart"];
const VP9: &[&str] = &["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-crf", "32", "-b:v", "0"];
/// A palette for each frame: one for all would keep all frames in memory.
const GIF: &[&str] = &["-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"];
const WEBP: &[&str] = &["-c:v", "libwebp_anim", "-quality", "80", "-loop", "0"];
/// RGB becomes BT.709, and the file says so.
const BT709: &[&str] = &[
    "-vf",
    "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p",
    "-colorspace",
    "bt709",
    "-color_primaries",
    "bt709",
    "-color_trc",
    "bt709",
    "-color_range",
    "tv",
];

/// ffmpeg's name of the format of a path, and the arguments for it.
fn format(path: &Path) -> (&'static str, [&'static [&'static str]; 2]) {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "mkv" => ("matroska", [H264, BT709]),
        "mov" => ("mov", [H264, BT709]),
        "avi" => ("avi", [&H264[..6], BT709]),
        "webm" => ("webm", [VP9, BT709]),
        "gif" => ("gif", [GIF, &[]]),
        "webp" => ("webp", [WEBP, &[]]),
        _ => ("mp4", [H264, BT709]),
    }
}

/// A video that pictures are added to, from any thread and in any order, and that appears when it is complete.
#[derive(Debug)]
pub(super) struct OverlayVideo {
    path: PathBuf,
    file: NamedTempFile,
    rate: f64,
    /// Width to height of a pixel as it is shown.
    pixel_aspect: (u32, u32),
    pictures: SyncSender<(Turn, RgbImage)>,
    /// Until the size of the pictures is known.
    waiting: Option<Receiver<(Turn, RgbImage)>>,
    encoder: Option<Encoder>,
    /// Frames and pictures so far, and the time of the first frame.
    frames: usize,
    written: usize,
    begun: Option<f64>,
}

/// The place of a picture in a video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turn {
    number: usize,
    /// Times that the picture before it is repeated, so that this one is shown in time.
    pause: usize,
}

/// The process and the threads at its pipes.
#[derive(Debug)]
struct Encoder {
    child: Child,
    writer: JoinHandle<io::Result<()>>,
    log: JoinHandle<String>,
}

impl OverlayVideo {
    /// Checks that the video can be written.
    pub fn create(path: &Path, rate: Option<f64>, pixel_aspect: Option<(u32, u32)>) -> Result<Self> {
        Destination::File(path.into()).check()?;
        let file = temporary_beside(path).map_err(|source| Error::io(path, source))?;
        let (pictures, waiting) = sync_channel(WAITING);
        Ok(Self {
            path: path.into(),
            file,
            rate: rate.filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(DEFAULT_RATE),
            pixel_aspect: pixel_aspect.unwrap_or((1, 1)),
            pictures,
            waiting: Some(waiting),
            encoder: None,
            frames: 0,
            written: 0,
            begun: None,
        })
    }

    /// What hands pictures to the encoder.
    pub fn deliver(&self) -> Box<Deliver> {
        let (pictures, path) = (self.pictures.clone(), self.path.clone());
        Box::new(move |picture, place| match place {
            Place::Turn(turn) => pictures
                .send((turn, picture))
                .map_err(|_| Error::Output { path: path.clone(), reason: "ffmpeg ended before the video".into() }),
            Place::File(_) => Ok(()),
        })
    }

    /// The place of the next picture, of a frame that is shown at `time`. The first picture starts the encoder.
    pub fn turn(&mut self, width: u32, height: u32, time: Option<f64>) -> Result<Turn> {
        if let Some(pictures) = self.waiting.take() {
            self.encoder = Some(self.start(pictures, width, height)?);
        }
        // The video has one rate: a frame that comes late lets the one before it stay.
        let due = time.map_or(self.written, |time| {
            let seconds = time - *self.begun.get_or_insert(time - self.written as f64 / self.rate);
            (seconds * self.rate).round().max(0.0) as usize
        });
        let pause = due.saturating_sub(self.written).min(MAX_COPIES);
        let turn = Turn { number: self.frames, pause };
        self.frames += 1;
        self.written += pause + 1;
        Ok(turn)
    }

    fn start(&self, pictures: Receiver<(Turn, RgbImage)>, width: u32, height: u32) -> Result<Encoder> {
        let (format, [codec, color]) = format(&self.path);
        let mut command = ffmpeg::command("ffmpeg");
        command.args(["-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]);
        command.args(["-s", &format!("{width}x{height}"), "-r", &self.rate.to_string(), "-i", "pipe:0", "-an"]);
        command.args(codec).args(color);
        if self.pixel_aspect != (1, 1) {
            let (wide, high) = self.pixel_aspect;
            command.args([
                "-aspect",
                &format!("{}:{}", u64::from(width) * u64::from(wide), u64::from(height) * u64::from(high)),
            ]);
        }
        command.args(["-f", format]).arg(self.file.path()).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = ffmpeg::start(command, &self.path)?;
        let (input, stderr) = (child.stdin.take(), child.stderr.take());
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        let wrong = |source| Error::io("a thread for ffmpeg", source);
        let log = thread("ffmpeg log")
            .spawn(move || stderr.map(|stderr| ffmpeg::drained(stderr, LOG, |_| ())).unwrap_or_default());
        let writer = thread("encode").spawn(move || input.map_or(Ok(()), |input| write_in_turn(&pictures, input)));
        Ok(Encoder { child, writer: writer.map_err(wrong)?, log: log.map_err(wrong)? })
    }

    /// Ends the video and puts it in its place. One without a picture leaves the old file.
    pub fn finish(self) -> Result<()> {
        let Self { path, file, pictures, encoder, .. } = self;
        drop(pictures);
        let Some(Encoder { mut child, writer, log }) = encoder else { return Ok(()) };
        let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("the encoding thread ended")));
        let status = child.wait().map_err(|source| Error::io(&path, source))?;
        let log = log.join().unwrap_or_default();
        if !status.success() || written.is_err() {
            let last = log.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned);
            let reason = last.or(written.err().map(|error| error.to_string())).unwrap_or(status.to_string());
            return Err(Error::Output { path, reason: format!("ffmpeg could not encode the video: {reason}") });
        }
        file.persist(&path).map(drop).map_err(|error| Error::io(&path, error.error))
    }
}

/// Writes pictures by their numbers, in whatever order they arrive.
fn write_in_turn(pictures: &Receiver<(Turn, RgbImage)>, input: ChildStdin) -> io::Result<()> {
    let mut input = BufWriter::new(input);
    let (mut early, mut number, mut last) = (BTreeMap::new(), 0, None::<RgbImage>);
    for (turn, picture) in pictures {
        early.insert(turn.number, (turn.pause, picture));
        while let Some((pause, picture)) = early.remove(&number) {
            for _ in 0..pause {
                input.write_all(last.as_ref().unwrap_or(&picture))?;
            }
            input.write_all(&picture)?;
            (last, number) = (Some(picture), number + 1);
        }
    }
    input.flush()
}
