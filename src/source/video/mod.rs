//! Videos, cameras and network streams, decoded by an `ffmpeg` process.

mod frames;
mod input;
mod probe;
mod watched;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::yuv::Levels;
use super::{Demand, Source, Span, Stream};
use crate::error::{Error, Result};
use crate::ffmpeg;
use crate::frame::Channels;
use frames::{Form, Frames};
use input::Input;
use probe::Probe;
use watched::{Ending, Ffmpeg, Process};

/// How a video is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoOptions {
    /// Goes on where data is damaged, with what ffmpeg makes of it; else the first damage is an error. Streams of a
    /// network or a camera are always read so.
    pub lenient: bool,
    /// How long the next frame may take.
    pub patience: Duration,
}

impl Default for VideoOptions {
    fn default() -> Self {
        Self { lenient: false, patience: Duration::from_secs(30) }
    }
}

/// Anything that ffmpeg reads: a file (`clip.mp4`), a camera (`/dev/video0`), an address (`rtsp://…`).
///
/// Frames come at their own size, turned as their metadata says, none left out and none doubled, each with its time.
/// Gray is the luma plane, stretched where black is 16; of a video in RGB it is the gray of the colours, as of images.
/// Colours are those that ffmpeg's own conversion gives, so that images that it has written are the same frames.
#[derive(Debug)]
pub struct Video {
    name: String,
    input: Input,
    options: VideoOptions,
    probe: Probe,
    /// What decodes at the moment.
    process: Mutex<Option<Arc<Process>>>,
}

/// Forms of 8 bits with a luma plane of its own.
const PLANAR: [&str; 6] = ["yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p"];

impl Video {
    /// Asks ffprobe what `given` is.
    ///
    /// # Errors
    /// [`Error::Sequence`] where ffmpeg is not installed, cannot read it or finds no video in it; [`Error::Io`] for a
    /// file that is not there.
    pub fn open(given: impl AsRef<Path>, options: VideoOptions) -> Result<Self> {
        let input = Input::new(given.as_ref());
        if !input.is_live() || !given.as_ref().to_string_lossy().contains("://") {
            let file = std::fs::metadata(input.path()).map_err(|source| Error::io(input.path(), source))?;
            if file.is_file() && file.len() == 0 {
                return Err(Error::Sequence { path: input.path().into(), reason: "the file is empty".into() });
            }
        }
        let probe = Probe::of(&input, options.patience)?;
        let name = input.path().file_stem().unwrap_or(input.path().as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, input, options, probe, process: Mutex::default() })
    }

    fn ending(&self) -> Ending {
        Ending::of(&self.input, self.options.lenient)
    }

    /// In which form ffmpeg shall write the frames, how it filters them for that, and its name of the pixels.
    fn form(&self, demand: Demand) -> (Form, &str, &str) {
        let pixels = self.probe.pixels.as_str();
        let planar = PLANAR.contains(&pixels);
        let levels = if pixels.starts_with("yuvj") { Levels::Full } else { Levels::Limited };
        if pixels.starts_with("gray") || pixels.starts_with("mono") {
            return (Form::Pnm, "", "gray");
        }
        if demand.channels == Channels::Color || !pixels.starts_with("yuv") && !pixels.starts_with("nv") {
            return (Form::Pnm, "", "rgb24");
        }
        match (planar, demand.color) {
            // Not ffmpeg's own gray, which is the same to the bit: it stretches the levels more slowly than H.264 is
            // decoded.
            (true, false) => (Form::Y4m(levels), ",extractplanes=y", "gray"),
            // What is shown besides must not change what is tracked: both come of the same planes.
            (true, true) => (Form::Y4m(levels), "", pixels),
            (false, _) => (Form::Y4m(levels), "", "yuv420p"),
        }
    }
}

impl Source for Video {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> Option<usize> {
        None
    }

    fn expected_length(&self) -> Option<usize> {
        self.probe.frames.filter(|_| !self.input.is_live())
    }

    fn rate(&self) -> Option<f64> {
        self.probe.rate
    }

    fn size(&self) -> Option<(usize, usize)> {
        Some(self.probe.size)
    }

    fn is_live(&self) -> bool {
        self.input.is_live()
    }

    fn frames_before(&self, seconds: f64) -> Result<usize> {
        if self.input.is_live() {
            let reason = "it has no times that are known ahead: count frames".into();
            return Err(Error::Sequence { path: self.input.path().into(), reason });
        }
        let times = probe::times(&self.input, self.options.patience)?;
        Ok(times.partition_point(|&time| time < seconds))
    }

    fn occupies(&self, path: &Path) -> Option<&'static str> {
        let real = path.canonicalize().ok()?;
        self.input.path().canonicalize().is_ok_and(|ours| ours == real).then_some("is the video that is read")
    }

    fn cancel(&self) {
        if let Some(process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            process.kill();
        }
    }

    fn stream(&self, span: Span, demand: Demand) -> Result<Stream> {
        let (form, filter, pixels) = self.form(demand);
        let mut command = ffmpeg::command("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info"]);
        if self.ending() == Ending::Strict {
            command.arg("-xerror");
        }
        if self.input.is_live() {
            command.args(["-fflags", "nobuffer", "-flags", "low_delay"]);
        }
        // `showinfo` tells the time of each frame and its size.
        command.args(self.input.arguments()).args(["-map", "0:V:0", "-vf", &format!("showinfo=checksum=0{filter}")]);
        // None left out, none doubled, none brought to the size of the first.
        let passthrough =
            if self.probe.version.is_none_or(|version| version >= (5, 1)) { "-fps_mode" } else { "-vsync" };
        command.args([passthrough, "passthrough", "-autoscale", "0", "-pix_fmt", pixels]);
        if let Some(last) = span.last {
            command.args(["-frames:v", &last.to_string()]);
        }
        match (&form, pixels) {
            (Form::Y4m(_), _) => command.args(["-f", "yuv4mpegpipe"]),
            (Form::Pnm, "gray") => command.args(["-f", "image2pipe", "-c:v", "pgm"]),
            (Form::Pnm, _) => command.args(["-f", "image2pipe", "-c:v", "ppm"]),
        };
        command.arg("pipe:1");
        let path: PathBuf = self.input.path().into();
        let running = Ffmpeg::start(&mut command, &path, self.options.patience)?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&running.0.process));
        Ok(Box::new(Frames::new(path, running, form, (span, demand), self.ending())))
    }
}
