//! Videos, cameras and network streams, decoded by one `ffmpeg` process that writes raw frames.

use std::io::{BufReader, Read};
use std::path::Path;
use std::process::ChildStdout;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::images::Decoded;
use super::probe::{Indexed, Input, Kind, Probe, Time, ffprobe, first_levels, has_ends, packets, tick};
use super::y4m::RawPixels;
use super::{Demand, Info, Item, OpenOptions, RawFormat, Source, Span, Stream};
use crate::cancel::{CancelToken, lock};
use crate::error::{Error, Result};
use crate::ffmpeg::{self, FfmpegProcess, Limits};
use crate::frame::yuv::{Chroma, Levels, Planes};
use crate::frame::{Channels, PixelFormat};

/// Time step in seconds that ffmpeg takes for an error in a file. A long pause is not an error.
const MAX_PAUSE: &str = "1000000000";

/// Longest wait of a decoded frame for its log line.
const LOG_TIMEOUT: Duration = Duration::from_secs(1);

/// Frames that are decoded sooner than a keyframe is sought.
const MIN_SEEK: usize = 24;

/// Frames between the keyframe at which decoding begins and the wanted one: their times prove that the count is right.
const LEAD: usize = 12;

/// Seconds by which a seek in a transport stream aims before the keyframe, because it finds any packet.
const TRANSPORT_LEAD: f64 = 1.0;

/// A seek to a later frame than this one, whose time is not known, reads the times of the packets first.
const MIN_INDEX: usize = 100;

/// Further packets to read, because a later packet can hold an earlier frame.
const REORDERED: usize = 64;

/// Seconds of further packets to read.
const REORDERED_SECONDS: f64 = 10.0;

/// Maximum number of frames to ask ffmpeg for, which reads the number as floating point.
const MAX_FRAMES: usize = 1 << 53;

/// Pixel formats with 8-bit samples and a luma plane.
const PLANAR: [&str; 6] = ["yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p"];

/// Anything that ffmpeg reads: a file (`clip.mp4`), a camera (`/dev/video0`), an address (`rtsp://…`).
///
/// Frames have their own size, are rotated as the metadata asks, and none is dropped or duplicated; each has its time.
/// Gray is the luma plane, stretched if black is 16; for RGB videos it is the gray of the colours, as for images.
#[derive(Clone, Debug)]
pub(super) struct Video {
    info: Info,
    input: Input,
    lenient: bool,
    timeout: Duration,
    probe: Probe,
    /// The frames that were decoded, or whose packets were read, from the first one on.
    index: Arc<Mutex<Vec<Indexed>>>,
    /// Whether it [has ends of sequences](has_ends), which takes a pass over the file.
    ends: Arc<OnceLock<bool>>,
}

/// The target of a seek.
#[derive(Clone, Copy, Debug)]
struct Seek {
    /// Seconds, at or after a keyframe.
    to: f64,
    /// The time of the wanted frame in ticks.
    wanted: i64,
}

fn seconds((count, (above, below)): Time) -> f64 {
    count as f64 * (f64::from(above) / f64::from(below))
}

impl Video {
    /// Asks ffprobe about `given`.
    ///
    /// # Errors
    /// [`Error::Sequence`] if ffmpeg is not installed, cannot read it or finds no video in it; [`Error::Io`] for a
    /// missing file.
    pub fn open(given: &Path, options: &OpenOptions, cancel: &CancelToken) -> Result<Self> {
        let mut input = Input::new(given);
        if input.kind != Kind::Address {
            std::fs::metadata(&input.path).map_err(|source| Error::io(&input.path, source))?;
        }
        let limits = Limits { timeout: options.timeout, cancel: cancel.clone() };
        let (probe, warning) = Probe::new(&mut input, options.stream, limits.clone())?;
        let (live, shown) = (input.kind != Kind::File, input.shown());
        let levels = match probe.depth > 8 {
            true => Some(options.levels.map_or_else(|| first_levels(&input, &probe, limits), Ok)?),
            false => None,
        };
        let info = Info {
            name: shown.file_stem().unwrap_or(shown.as_os_str()).to_string_lossy().into_owned(),
            expected_length: probe.frames.filter(|_| !live),
            announced_length: probe.announced.filter(|_| !live),
            rate: probe.rate,
            base_rate: probe.base_rate,
            size: Some(probe.size),
            pixel_aspect: probe.aspect,
            colors: probe.colors.clone(),
            sound: (!live).then(|| (input.path.clone(), probe.start)),
            live,
            inputs: vec![input.path.clone()],
            levels,
            warnings: warning.into_iter().collect(),
            ..Info::default()
        };
        Ok(Self {
            info,
            input,
            lenient: options.lenient,
            timeout: options.timeout,
            probe,
            index: Arc::default(),
            ends: Arc::default(),
        })
    }

    /// How ffmpeg writes the frames: the layout of a frame, the value of `-pix_fmt`, and a filter to append.
    fn form(&self, demand: Demand) -> (RawPixels, &str, &str) {
        let (pixels, (width, height)) = (self.probe.pixels.as_str(), self.probe.size);
        // ffmpeg does not rotate 4:2:2. What it converts has limited levels.
        let converted = !PLANAR.contains(&pixels) || self.probe.rotated && pixels.ends_with("422p");
        let is_full = pixels.starts_with("yuvj") || self.probe.full && !converted;
        let levels = if is_full { Levels::Full } else { Levels::Limited };
        let planes =
            |chroma, levels| RawPixels::Planes(Planes { width, height, chroma, levels, standard: self.probe.standard });
        if let Some(levels) = self.info.levels {
            return (RawPixels::Deep(levels), pixels, "");
        }
        if pixels.starts_with("gray") || pixels.starts_with("mono") {
            return (planes(Chroma::Mono, Levels::Full), "gray", "");
        }
        if demand.channels == Channels::Color || !pixels.starts_with("yuv") && !pixels.starts_with("nv") {
            return (RawPixels::Interleaved(PixelFormat::Rgb8), "rgb24", "");
        }
        match (converted, demand.color) {
            (true, _) if levels == Levels::Full => (planes(Chroma::C420, levels), "yuvj420p", ""),
            (true, _) => (planes(Chroma::C420, levels), "yuv420p", ""),
            // `-pix_fmt gray` alone gives the same luma, but stretches the levels much more slowly.
            (false, false) => (planes(Chroma::Mono, levels), "gray", ",extractplanes=y"),
            // Both pictures come from the same planes, so drawing does not change tracking.
            (false, true) if pixels.ends_with("444p") => (planes(Chroma::C444, levels), pixels, ""),
            (false, true) if pixels.ends_with("422p") => (planes(Chroma::C422, levels), pixels, ""),
            (false, true) => (planes(Chroma::C420, levels), pixels, ""),
        }
    }

    /// The [form](Self::form) of the frames in the size that is asked for.
    fn scaled(&self, demand: Demand) -> (RawFormat, &str, String) {
        let (width, height) = self.probe.size;
        let longest = width.max(height);
        let Some(side) = demand.side.filter(|&side| longest > side) else {
            let (form, pixels, filter) = self.form(demand);
            let form = RawFormat { pixels: form, width, height, rate: None };
            // A frame of another size has as many bytes, and is left out by itself.
            let same = if self.lenient { format!(",scale={width}:{height}") } else { String::new() };
            return (form, pixels, format!("{filter}{same}"));
        };
        // Planes are scaled in a tenth of the time of RGB.
        let (form, pixels, filter) = self.form(Demand { color: true, ..Channels::Luma.into() });
        let [width, height] = [width, height].map(|length| (length * side / longest).max(1));
        let form = match form {
            RawPixels::Planes(planes) => RawPixels::Planes(Planes { width, height, ..planes }),
            form => form,
        };
        (
            RawFormat { pixels: form, width, height, rate: None },
            pixels,
            format!("{filter},scale={width}:{height}:flags=area"),
        )
    }

    /// The target of a seek for the frame `first`, if a keyframe before it and the times up to it are known.
    fn seek_point(&self, first: usize, cancel: &CancelToken) -> Option<Seek> {
        if self.input.kind != Kind::File || first <= MIN_SEEK {
            return None;
        }
        let known = lock(&self.index).len();
        if !self.lenient && first > known.max(MIN_INDEX) {
            let interval = format!("%+#{}", first.saturating_add(REORDERED));
            let mut frames = self.packets(&interval, cancel).unwrap_or_default();
            frames.truncate(first);
            let mut known = lock(&self.index);
            if frames.iter().map(|frame| frame.time).take(known.len()).eq(known.iter().map(|frame| frame.time)) {
                *known = frames;
            }
        }
        let index = lock(&self.index);
        let frames = index.get(..first)?;
        let key = frames[..first - LEAD].iter().rposition(|frame| frame.key).filter(|key| *key >= MIN_SEEK)?;
        let aim = first - LEAD - 1;
        let to = match self.probe.is_transport {
            true => seconds(frames[key].time) - TRANSPORT_LEAD,
            false => f64::midpoint(seconds(frames[aim].time), seconds(frames[aim + 1].time)),
        };
        let is_sorted = frames.windows(2).all(|pair| pair[0].time.0 < pair[1].time.0);
        is_sorted.then_some(Seek { to: to.max(0.0), wanted: frames[first - 1].time.0 })
    }

    /// The frames whose packets are in `interval` (of ffprobe's `-read_intervals`), without decoding; `None` where packets
    /// do not tell them.
    fn packets(&self, interval: &str, cancel: &CancelToken) -> Option<Vec<Indexed>> {
        let entries =
            "packet=pts,dts,flags,size:stream=codec_name,time_base,field_order,has_b_frames:format=start_time";
        let limits = Limits { timeout: self.timeout, cancel: cancel.clone() };
        let arguments = ["-of", "compact", "-read_intervals", interval, "-show_entries", entries];
        let list = ffprobe(&self.input, limits.clone(), &arguments).ok()?;
        if list.contains("codec_name=hevc") && self.ends.get().is_none() {
            let found = has_ends(&self.input, limits).ok()?;
            self.ends.get_or_init(|| found);
        }
        packets(&list).filter(|_| self.ends.get() != Some(&true))
    }

    /// Starts ffmpeg at the first frame of the file, or by a seek.
    fn start(&self, seek: Option<Seek>, span: Span, demand: Demand, cancel: &CancelToken) -> Result<Frames> {
        let (form, pixels, filter) = self.scaled(demand);
        let mut command = ffmpeg::command("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info"]);
        if self.is_strict() {
            command.arg("-xerror");
        }
        // Each frame thread would delay the output by a frame.
        if self.info.live {
            command.args(["-thread_type", "slice"]);
        }
        // Times count from the first frame also after a seek, and no picture is written that lacks its references. All
        // frames from the seek on are logged, so that the keyframe is seen.
        if let Some(Seek { to, .. }) = seek {
            command.args(["-copyts", "-start_at_zero", "-flags", "-output_corrupt", "-noaccurate_seek"]);
            command.args(["-ss", &format!("{to:.6}")]);
        }
        command.args(["-dts_delta_threshold", MAX_PAUSE]).args(self.input.arguments());
        // `showinfo` logs the time and size of each frame, also of those that `select` leaves out. The written times are
        // frame numbers, because ffmpeg would refuse two frames that are closer than the nominal rate.
        let before = span.first.saturating_sub(1);
        let (left_out, selected) = match seek {
            Some(Seek { wanted, .. }) => (before, format!("gte(pts\\,{wanted})")),
            // A new size starts the filters anew, and `select` would leave out as many frames again.
            None if self.lenient => (0, "1".into()),
            None => (before, format!("gte(n\\,{before})")),
        };
        let filters = format!("showinfo=checksum=0,select={selected}{filter}");
        command.args(["-map", &format!("0:{}", self.input.select), "-vf", &filters, "-bsf:v", "setts=ts=N"]);
        command.args(ffmpeg::passthrough(self.probe.version)).args(["-autoscale", "0", "-pix_fmt", pixels]);
        if let Some(last) = span.last.filter(|&last| last <= MAX_FRAMES) {
            command.args(["-frames:v", &last.saturating_sub(left_out).to_string()]);
        }
        command.args(["-f", "rawvideo", "pipe:1"]);
        let (sender, logs) = channel();
        let mut tick = None;
        let on_line = move |line: &str| {
            if let Some(base) = time_base(line) {
                tick = Some(base);
                return true;
            }
            FrameLog::parse(line, tick).is_some_and(|log| sender.send(log).is_ok())
        };
        let limits = Limits { timeout: self.timeout, cancel: cancel.clone() };
        let (process, out) = FfmpegProcess::start(command, &self.input.shown(), limits, on_line)?;
        let video = self.clone();
        let sought = seek.is_some();
        Ok(Frames { video, process, logs, out: Some(out), form, span, demand, sought, begun: 0, read: 0, newest: None })
    }

    /// True if a logged error ends the run.
    fn is_strict(&self) -> bool {
        !self.lenient && !self.info.live
    }
}

impl Source for Video {
    fn info(&self) -> &Info {
        &self.info
    }

    fn times(&self, until: f64, cancel: &CancelToken) -> Option<Vec<f64>> {
        if self.input.kind != Kind::File || self.lenient {
            return None;
        }
        let frames = self.packets(&format!("%+{}", until + REORDERED_SECONDS), cancel)?;
        let first = frames.first()?.time.0;
        let time = |frame: &Indexed| seconds((frame.time.0.saturating_sub(first), frame.time.1));
        Some(frames.iter().map(time).collect())
    }

    fn stream(&self, span: Span, demand: Demand, cancel: &CancelToken) -> Result<Stream> {
        Ok(Box::new(self.start(self.seek_point(span.first, cancel), span, demand, cancel)?))
    }
}

/// An entry of the filter `showinfo` in the log: the number, time and size of a frame, and whether it is a keyframe.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FrameLog {
    /// Number of the frame since the filters began, from 0.
    number: Option<usize>,
    time: Option<Time>,
    size: Option<(usize, usize)>,
    key: bool,
}

impl FrameLog {
    /// Parses a line of the log. Times are taken in ticks, because the seconds have only six digits.
    fn parse(line: &str, tick: Option<(u32, u32)>) -> Option<Self> {
        let rest = line.strip_prefix("[Parsed_showinfo_")?.split_once("] [info] n:")?.1;
        let word = |key: &str| rest.split_once(key).and_then(|(_, rest)| rest.split_whitespace().next());
        let size = word(" s:").and_then(|text| text.split_once('x'));
        let count = word(" pts:").and_then(|text| text.parse().ok());
        Some(Self {
            number: rest.split_whitespace().next().and_then(|text| text.parse().ok()),
            time: count.zip(tick),
            size: size.and_then(|(width, height)| width.parse().ok().zip(height.parse().ok())),
            key: rest.contains(" iskey:1 type:I"),
        })
    }
}

/// Seconds of a tick, as `showinfo` logs them.
fn time_base(line: &str) -> Option<(u32, u32)> {
    let rest = line.split_once("config in time_base: ")?.1;
    tick(rest.split([',', ' ']).next()?.trim())
}

/// Reads the next frame; `None` at the end.
fn read(form: RawFormat, out: &mut impl Read, demand: Demand) -> Result<Option<Decoded>, String> {
    let bytes = form.bytes();
    let mut data = Vec::with_capacity(bytes);
    let got = out.take(bytes as u64).read_to_end(&mut data).map_err(|error| error.to_string())?;
    if got == 0 {
        return Ok(None);
    }
    if got < bytes {
        return Err(format!("it ends within a frame: {got} of its {bytes} bytes are there"));
    }
    form.decoded(data, demand).map(Some).map_err(|error| error.to_string())
}

/// The frames of a video until its end or the first error; a lenient one goes on after a frame of another size.
struct Frames {
    video: Video,
    process: FfmpegProcess,
    logs: Receiver<FrameLog>,
    /// `None` after the last frame.
    out: Option<BufReader<ChildStdout>>,
    form: RawFormat,
    span: Span,
    demand: Demand,
    /// True if decoding began with a seek.
    sought: bool,
    /// Frames up to the keyframe that was found by the seek; 0 before that, and without a seek.
    begun: usize,
    read: usize,
    /// The latest time of a live source.
    newest: Option<i64>,
}

impl Frames {
    /// Passes over what follows a seek up to a keyframe, whose time tells its place. Returns whether there is one well before
    /// the wanted frame.
    fn find_key(&mut self) -> bool {
        let index = lock(&self.video.index)[..self.span.first].to_vec();
        for count in 1.. {
            let logs = &self.logs;
            let log = self.process.reading(count, || logs.recv());
            let Ok(FrameLog { time: Some(time), key, .. }) = log else { return false };
            let place = index.binary_search_by_key(&time.0, |frame| frame.time.0).unwrap_or(index.len());
            if place + LEAD >= index.len() {
                return false;
            }
            if key && index[place] == (Indexed { time, key }) {
                self.process.forgive_errors();
                (self.begun, self.read) = (place + 1, place + 1);
                return true;
            }
        }
        false
    }

    /// True if the log confirms that the first frame after a seek is the one at `position`.
    fn is_at(&self, position: usize, log: Option<FrameLog>) -> bool {
        let known = lock(&self.video.index).get(position - 1).copied();
        known.zip(log).is_some_and(|(known, log)| log.time == Some(known.time) && log.key >= known.key)
    }

    /// The next frame and its time; `None` at the end. A frame before the first has a log only.
    fn frame(&mut self) -> Result<Option<(Option<Decoded>, Option<f64>)>> {
        let mut is_right = !self.sought || self.begun > 0 || self.find_key();
        let Some(out) = &mut self.out else { return Ok(None) };
        let (form, position, demand, logs) = (self.form, self.read + 1, self.demand, &self.logs);
        let (early, lenient) = (position < self.span.first, self.video.lenient);
        let read = || -> Result<_, String> {
            match early && (self.sought || !lenient) {
                true => Ok(logs.recv().ok().map(|log| (None, Some(log)))),
                false => {
                    Ok(read(form, out, demand)?.map(|decoded| (Some(decoded), logs.recv_timeout(LOG_TIMEOUT).ok())))
                }
            }
        };
        let got = if is_right { self.process.reading(position as u64, read) } else { Ok(None) };
        if self.sought && position <= self.span.first {
            is_right &= matches!(got, Ok(Some((_, log))) if self.is_at(position, log));
        }
        self.process.limits.cancel.check()?;
        if !is_right {
            // The frame is another one, or missing: this file cannot be sought.
            *self = self.video.start(None, self.span, self.demand, &self.process.limits.cancel)?;
            return self.frame();
        }
        match got {
            Ok(Some((decoded, log))) => {
                self.read = position;
                match self.check_log(log) {
                    Err(Error::FrameSize { .. }) if early && lenient => Ok(Some((None, None))),
                    time => Ok(Some((decoded.filter(|_| !early), time?))),
                }
            }
            ended => self.end(ended.map(drop)).map(|()| None),
        }
    }

    /// Waits for ffmpeg after the last frame, or after one that could not be read.
    ///
    /// # Errors
    /// The reason why this is not the end of the video.
    fn end(&mut self, read: Result<(), String>) -> Result<()> {
        // If ffmpeg failed, its own message is the reason, unless the size has changed.
        let finished = self.process.finish();
        let log = self.logs.recv_timeout(LOG_TIMEOUT).ok();
        if let (Err(error @ Error::FrameSize { .. }), Err(_)) = (self.check_log(log), &read) {
            return Err(error);
        }
        self.process.limits.cancel.check()?;
        let (video, count) = (&self.video, self.read);
        let after = |reason: String| Err(video.input.ended(format!("{reason} (after {count} frames)")));
        match (finished, read) {
            // ffprobe could read the address.
            (Err(reason), _) if count == 0 && video.input.kind == Kind::Address => after(format!(
                "{reason}; if its sender takes one connection only, use `ffmpeg -i URL -fps_mode passthrough -pix_fmt yuv420p -f yuv4mpegpipe - | kcf-track -`"
            )),
            (Err(reason), _) if count == 0 || !video.lenient || video.info.live => after(reason),
            (_, Err(reason)) => Err(video.input.ended(reason)),
            _ if video.input.kind == Kind::Camera => after("the camera stopped".into()),
            _ => match (self.process.errors(), video.probe.announced) {
                (Some(errors), _) if video.is_strict() => after(format!("ffmpeg: {errors}")),
                // A network stream broke off.
                (_, Some(expected))
                    if video.input.kind == Kind::Address && !video.lenient && 10 * count < 9 * expected =>
                {
                    after(format!("the stream broke off; about {expected} frames were expected"))
                }
                _ => Ok(()),
            },
        }
    }

    /// Takes the log of the current frame: its time in seconds from the first one.
    fn check_log(&mut self, log: Option<FrameLog>) -> Result<Option<f64>> {
        let Some(log) = log else { return Ok(None) };
        if self.read <= self.begun + 1 {
            // A recording may start with pictures that lack their reference; ffmpeg logs errors and skips them.
            self.process.forgive_errors();
        }
        let expected = self.video.probe.size;
        if let Some(got) = log.size.filter(|got| *got != expected) {
            return Err(Error::FrameSize { expected, got });
        }
        // Pixels of another format start the filters anew, and `select` would leave out as many frames again.
        if !self.video.lenient
            && !self.sought
            && self.span.first > 1
            && log.number.is_some_and(|number| number + 1 != self.read)
        {
            let reason = format!("the format of its pixels changes in frame {}: begin with frame 1", self.read);
            return Err(self.video.input.ended(reason));
        }
        let Some((count, tick)) = log.time else { return Ok(None) };
        // A stream that is joined in the middle begins with times in no order.
        if self.video.info.live {
            if self.newest >= Some(count) {
                return Ok(None);
            }
            self.newest = Some(count);
        }
        let mut index = lock(&self.video.index);
        let frame = Indexed { time: (count, tick), key: log.key };
        if !self.sought && index.get(self.read - 1).is_some_and(|known| known.time != frame.time) {
            // The packets had listed other frames.
            index.truncate(self.read - 1);
        }
        if index.len() + 1 == self.read && (index.is_empty() || !self.video.info.live) {
            index.push(frame);
        }
        let first = index.first().map_or(count, |first| first.time.0);
        Ok(Some(seconds((count.saturating_sub(first), tick))))
    }
}

impl Iterator for Frames {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            if self.span.last.is_some_and(|last| self.read >= last) {
                self.out = None;
            }
            let begun = Instant::now();
            let before = self.read;
            let frame = self.frame().transpose()?;
            let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
            let position = before + 1;
            let (decoded, time) = match frame {
                Ok((None, _)) => {
                    self.video.info.skipped.store(self.read, Ordering::Relaxed);
                    continue;
                }
                Ok((Some(decoded), time)) => (Ok(decoded), time),
                Err(error) => {
                    if !(self.video.lenient && matches!(error, Error::FrameSize { .. })) {
                        self.out = None;
                    }
                    (Err(error), None)
                }
            };
            return Some(Item::numbered(position, time, decoded, decode_ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::probe::without_user;

    #[test]
    fn reads_the_answer_of_ffprobe() {
        let stream = r#"{"program_version":{"version":"5.1.9"},"format":{"duration":"4.0"},"streams":[{"width":640,
            "height":480,"pix_fmt":"yuv420p","codec_name":"h264","sample_aspect_ratio":"4:3",
            "avg_frame_rate":"30000/1001","side_data_list":[{},{"rotation":-90}]}]}"#;
        let (probe, ..) = Probe::parse(stream, None).unwrap();
        assert_eq!((probe.size, probe.aspect, probe.frames), ((480, 640), Some((3, 4)), Some(120)));
        assert!(probe.rotated && probe.version == Some((5, 1)));
        let trimmed =
            r#"{"streams":[{"width":64,"height":48,"avg_frame_rate":"25/1","duration":"1.3","nb_frames":"FRAMES"}]}"#;
        for (count, announced, frames) in [("32", Some(32), 32), ("33", Some(33), 33), ("40", None, 33)] {
            let (probe, ..) = Probe::parse(&trimmed.replace("FRAMES", count), None).unwrap();
            assert_eq!((probe.announced, probe.frames), (announced, Some(frames)), "{count}");
        }
        for wrong in ["", "{}", r#"{"streams":[{"codec_name":"h264"}]}"#] {
            assert!(Probe::parse(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn packets_tell_the_times_of_frames() {
        let stream = "stream|codec_name=h264|time_base=1/50|field_order=progressive|has_b_frames=1\n";
        let list = |all: &[(i64, i64, &str)], stream: &str| {
            let packet =
                |(pts, size, flags): &(i64, i64, &str)| format!("packet|pts={pts}|size={size}|flags={flags}\n");
            packets(&format!("{}{stream}format|start_time=1.000000\n", all.iter().map(packet).collect::<String>()))
        };
        let all = [(50, 900, "K__"), (54, 99, "___"), (52, 99, "___"), (56, 900, "K__")];
        let found = list(&all, stream).unwrap();
        let found: Vec<_> = found.iter().map(|frame| (frame.time, frame.key)).collect();
        assert_eq!(found, [(0, true), (2, false), (4, false), (6, true)].map(|(pts, key)| ((pts, (1, 50)), key)));
        for wrong in [
            // A packet that is not shown or empty, two of one time, pictures before the first keyframe.
            [(50, 900, "K__"), (52, 99, "_D_")],
            [(50, 900, "K__"), (52, 7, "___")],
            [(50, 900, "K__"), (50, 99, "___")],
            [(50, 900, "K__"), (48, 99, "___")],
        ] {
            assert_eq!(list(&wrong, stream), None, "{wrong:?}");
        }
        for stream in [stream.replace("h264", "vp8"), stream.replace("progressive", "tt")] {
            assert_eq!(list(&all, &stream), None, "{stream}");
        }
        // The decoder does not wait for as many pictures, and leaves one out.
        assert_eq!(list(&all, &stream.replace("frames=1", "frames=0")), None);
        let joined = [(50, 50), (52, 52), (54, 51)];
        let joined = joined.map(|(pts, dts)| format!("packet|pts={pts}|dts={dts}|size=99|flags=K__\n"));
        assert_eq!(packets(&format!("{}{stream}format|start_time=1.0\n", joined.concat())), None);
    }

    #[test]
    fn passwords_are_not_shown() {
        for (given, shown) in [
            ("rtsp://admin:secret@host:554/a@b", "rtsp://host:554/a@b"),
            ("http://host/a?mail=me@home", "http://host/a?mail=me@home"),
            ("admin:secret@clip.mp4", "admin:secret@clip.mp4"),
        ] {
            assert_eq!(without_user(given), shown);
        }
        let name = Input::new(Path::new("http://me:secret@host")).shown();
        assert_eq!(name.file_stem().unwrap(), "host");
        let error = Input::new(Path::new("rtsp://me:secret@host/a")).error("rtsp://me:secret@host/a: refused");
        assert_eq!(error.to_string(), "rtsp://host/a: rtsp://host/a: refused");
    }

    #[test]
    fn tells_files_cameras_and_addresses() {
        let kind = |text: &str| Input::new(Path::new(text)).kind;
        assert_eq!(
            (kind("rtsp://host/a"), kind("/dev/video0"), kind("a:b.mp4")),
            (Kind::Address, Kind::Camera, Kind::File)
        );
    }
}
