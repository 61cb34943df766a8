//! Videos, cameras and network streams, decoded by an `ffmpeg` process.

mod cut;
mod frames;
mod input;
mod probe;
mod says;
mod sought;
mod timeline;
mod watched;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::yuv::Levels;
use super::{Demand, Source, Span, Stream, is_same_file};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::ffmpeg;
use crate::frame::Channels;
use frames::{Form, Frames, Remark};
use input::Input;
pub(crate) use input::local;
use probe::Probe;
use sought::Sought;
use timeline::{Entry, Timeline};
use watched::{Ending, Ffmpeg, Patience, Process, lock};

/// How a video is read.
#[derive(Clone, Debug)]
pub struct VideoOptions {
    /// Goes on where data is damaged, with what ffmpeg makes of it; else the first damage is an error. Streams of a
    /// network or a camera are always read so.
    pub lenient: bool,
    /// Remembers of each frame of a file what it was, so that what was read once is read again from its middle, without
    /// what comes before, and with the same frames to the bit.
    pub revisited: bool,
    /// How long the next frame may take; the first one of an address some seconds more.
    pub patience: Duration,
    /// Ends what is waited for before frames come: what ffprobe says, and frames that are counted.
    pub stop: CancelToken,
}

impl Default for VideoOptions {
    fn default() -> Self {
        Self { lenient: false, revisited: false, patience: Duration::from_secs(30), stop: CancelToken::default() }
    }
}

/// Anything that ffmpeg reads: a file (`clip.mp4`), a camera (`/dev/video0`), an address (`rtsp://…`).
///
/// Frames come at their own size, turned as their metadata says, none left out and none doubled, each with its time.
/// Gray is the luma plane, stretched where black is 16; of a video in RGB it is the gray of the colours, as of images.
/// Colours are those that ffmpeg's own conversion gives, so that images that it has written are the same frames.
#[derive(Clone, Debug)]
pub struct Video {
    name: String,
    input: Input,
    options: VideoOptions,
    probe: Probe,
    running: Arc<Mutex<Running>>,
    timeline: Timeline,
    /// What there is to say after it has ended.
    remark: Remark,
}

/// What decodes at the moment.
#[derive(Debug, Default)]
struct Running {
    process: Option<Arc<Process>>,
    /// How often that was ended.
    cancels: usize,
}

/// Fewest frames before one for which ffmpeg is told to begin there: fewer are decoded as fast.
const FEWEST_BEFORE: usize = 50;

/// Frames that are decoded and compared before the first one that is wanted, when ffmpeg is told to begin there: where
/// so many are what they were, so are those that lean on them.
const COMPARED: usize = 48;

/// Most frames that ffmpeg can be told to write: it reads numbers as floating point.
const MOST_FRAMES: u64 = 1 << 53;

/// Seconds after which ffmpeg takes a step in the times of a stream for a mistake: none that happens.
const LONGEST_PAUSE: &str = "1000000000";

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
        if !input.is_address() {
            let file = std::fs::metadata(input.path()).map_err(|source| Error::io(input.path(), source))?;
            if file.is_file() && file.len() == 0 {
                return Err(Error::Sequence { path: input.path().into(), reason: "the file is empty".into() });
            }
            if file.is_file() && !input.has_name() {
                let reason = "it has no name by which ffmpeg could open it: give the file itself, or frames, by \
                              `ffmpeg … -f yuv4mpegpipe - | kcf-track - …`";
                return Err(Error::Sequence { path: input.path().into(), reason: reason.into() });
            }
        }
        let probe = Probe::of(&input, &options)?;
        let name = input.path().file_stem().unwrap_or(input.path().as_os_str()).to_string_lossy().into_owned();
        let (timeline, remark) = (Timeline::default(), Remark::default());
        Ok(Self { name, input, options, probe, running: Arc::default(), timeline, remark })
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
        // ffmpeg turns no 4:2:2, and whether it brings it to another form for that depends on what is done next. The
        // luma of 4:4:4 is the same to the bit.
        let turned = match pixels {
            "yuv422p" if self.probe.turned => Some(("yuv444p", ",format=yuv444p,extractplanes=y")),
            "yuvj422p" if self.probe.turned => Some(("yuvj444p", ",format=yuvj444p,extractplanes=y")),
            _ => None,
        };
        match (planar, demand.color) {
            // Not ffmpeg's own gray, which is the same to the bit: it stretches the levels more slowly than H.264 is
            // decoded.
            (true, false) => (Form::Y4m(levels), turned.map_or(",extractplanes=y", |(_, luma)| luma), "gray"),
            // What is shown besides must not change what is tracked: both come of the same planes.
            (true, true) => (Form::Y4m(levels), "", turned.map_or(pixels, |(planes, _)| planes)),
            (false, _) => (Form::Y4m(levels), "", "yuv420p"),
        }
    }

    /// How reading can begin at `position`, where that is worth it.
    fn entry(&self, position: usize) -> Option<Entry> {
        let latest = position.checked_sub(COMPARED)?;
        (FEWEST_BEFORE..=latest).rev().take(COMPARED).find_map(|begin| self.timeline.entry(begin))
    }

    /// Starts to decode the frames of `span`, from the first of the video on or from `entry`, for one who began when
    /// there had been so many `cancels`: where one more has come since, they are not to be read any more.
    fn decode(&self, span: Span, demand: Demand, entry: Option<Entry>, cancels: usize) -> Result<Frames> {
        let (form, filter, pixels) = self.form(demand);
        let mut command = ffmpeg::command("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info"]);
        if self.ending() == Ending::Strict {
            command.arg("-xerror");
        }
        // Each thread that decodes frames of its own would hold one back. (`nobuffer` would throw away what is read to
        // tell the form, and with `low_delay` frames are given before those that are shown earlier.)
        if self.input.is_live() {
            command.args(["-thread_type", "slice"]);
        }
        if let Some(entry) = entry {
            command.args(["-ss", &format!("{:.6}", entry.seconds)]);
        }
        // `showinfo` tells the time of each frame and its size. That nothing is shown for long is no mistake of the
        // file.
        let filters = format!("showinfo=checksum=0{filter}");
        command.args(["-dts_delta_threshold", LONGEST_PAUSE]);
        command.args(self.input.arguments()).args(["-map", "0:V:0", "-vf", &filters]);
        // What is written has no times but its count: of two frames that are closer than the rate that ffmpeg guesses,
        // it would refuse the second one.
        command.args(["-bsf:v", "setts=ts=N"]);
        // None left out, none doubled, none brought to the size of the first.
        command.args(ffmpeg::passthrough(self.probe.version)).args(["-autoscale", "0", "-pix_fmt", pixels]);
        if let Some(last) = span.last {
            let passed_over = entry.map_or(0, |entry| entry.position - 1);
            let count = last.saturating_sub(passed_over);
            if count as u64 <= MOST_FRAMES {
                command.args(["-frames:v", &count.to_string()]);
            }
        }
        match (&form, pixels) {
            (Form::Y4m(_), _) => command.args(["-f", "yuv4mpegpipe"]),
            (Form::Pnm, "gray") => command.args(["-f", "image2pipe", "-c:v", "pgm"]),
            (Form::Pnm, _) => command.args(["-f", "image2pipe", "-c:v", "ppm"]),
        };
        command.arg("pipe:1");
        let next = self.options.patience;
        let patience = Patience { first: next + self.input.probing(), next };
        let running = Ffmpeg::start(command, self.input.path(), patience)?;
        {
            let mut known = lock(&self.running);
            match known.cancels == cancels {
                true => known.process = Some(Arc::clone(&running.0.process)),
                false => running.0.process.kill(),
            }
        }
        let mut frames =
            Frames::new((self.input.clone(), self.options.clone()), running, form, (span, demand), self.ending())
                .remarked_in(Arc::clone(&self.remark), self.probe.frames);
        if self.options.revisited && !self.input.is_live() {
            frames = frames.noted_in(self.timeline.clone());
        }
        Ok(match entry {
            Some(entry) => frames.begun_at(entry),
            None => frames,
        })
    }

    /// How many frames come before `seconds`, and whether it is known that more come after them.
    fn count_before(&self, seconds: f64) -> Result<(usize, bool)> {
        if self.input.is_live() {
            let reason = "it has no times that are known ahead: count frames".into();
            return Err(Error::Sequence { path: self.input.path().into(), reason });
        }
        if self.probe.counts_packets()
            && let Some(times) = probe::times(&self.input, &self.options)?
        {
            let before = times.partition_point(|&time| time < seconds);
            return Ok((before, before < times.len()));
        }
        let mut before = 0;
        let cancels = lock(&self.running).cancels;
        for item in self.decode(Span { first: 1, last: None }, Channels::Luma.into(), None, cancels)? {
            if item.timestamp.is_some_and(|time| time >= seconds) {
                return Ok((before, true));
            }
            if item.frame.is_err() && !self.options.lenient {
                break;
            }
            if self.options.stop.is_cancelled() {
                return Err(Error::Sequence { path: self.input.path().into(), reason: "interrupted".into() });
            }
            before = item.position;
        }
        Ok((before, false))
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

    fn pixel_aspect(&self) -> Option<(u32, u32)> {
        self.probe.aspect
    }

    fn is_live(&self) -> bool {
        self.input.is_live()
    }

    fn frames_before(&self, seconds: f64) -> Result<usize> {
        self.count_before(seconds).map(|(before, _)| before)
    }

    fn last_before(&self, seconds: f64) -> Result<Option<usize>> {
        self.count_before(seconds).map(|(before, more)| more.then_some(before))
    }

    fn occupies(&self, path: &Path) -> Option<&'static str> {
        is_same_file(path, self.input.path()).then_some("is the video that is read")
    }

    fn cancel(&self) {
        let mut running = lock(&self.running);
        running.cancels += 1;
        if let Some(process) = running.process.take() {
            process.kill();
        }
    }

    fn warning_after(&self) -> Option<String> {
        lock(&self.remark).clone()
    }

    fn begins_at(&self, position: usize) -> bool {
        self.entry(position).is_some()
    }

    fn stream(&self, span: Span, demand: Demand) -> Result<Stream> {
        let (_, _, pixels) = self.form(demand);
        self.timeline.begin(pixels);
        let cancels = lock(&self.running).cancels;
        match self.entry(span.first) {
            None => Ok(Box::new(self.decode(span, demand, None, cancels)?)),
            Some(entry) => {
                let frames = self.decode(span, demand, Some(entry), cancels)?;
                let video = self.clone();
                let whole = move |first| video.decode(Span { first, ..span }, demand, None, cancels);
                Ok(Box::new(Sought::new(frames, span.first, whole)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cancelled_begins_no_second_ffmpeg() {
        let folder = tempfile::tempdir().unwrap();
        let clip = folder.path().join("clip.nut");
        let made = ["-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x48:duration=1", "-c:v", "ffv1"];
        let made = std::process::Command::new("ffmpeg").args(made).arg(&clip).status();
        if !made.is_ok_and(|made| made.success()) {
            eprintln!("SKIPPED: there is no ffmpeg");
            return;
        }
        let video = Video::open(&clip, VideoOptions::default()).unwrap();
        let span = Span { first: 1, last: None };
        let begun = lock(&video.running).cancels;
        let decode = |cancels| video.decode(span, Channels::Luma.into(), None, cancels).unwrap();
        assert!(decode(begun).next().unwrap().frame.is_ok());
        video.cancel();
        // As one who finds only then that frames must be decoded from the first one on.
        assert_eq!(decode(begun).filter(|item| item.frame.is_ok()).count(), 0);
        assert!(lock(&video.running).process.is_none());
        let cancels = lock(&video.running).cancels;
        assert_eq!(decode(cancels).filter(|item| item.frame.is_ok()).count(), 25);
    }
}
