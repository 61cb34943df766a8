//! Videos, cameras and network streams, decoded by one `ffmpeg` process that writes raw frames.

use std::ffi::OsString;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::images::{Decoded, check_size, demanded};
use super::yuv::{Chroma, Levels, Planes, Standard};
use super::{Demand, Info, Item, OpenOptions, Source, Span, Stream};
use crate::cancel::{CancelToken, lock};
use crate::error::{Error, Result};
use crate::ffmpeg::{self, FfmpegProcess, Limits};
use crate::frame::{Channels, FrameBuf, PixelFormat};

/// Time step in seconds that ffmpeg takes for an error in a file. A long pause is not an error.
const MAX_PAUSE: &str = "1000000000";

/// How long a frame that has come waits for its log.
const LOG_TIMEOUT: Duration = Duration::from_secs(1);

/// Frames that are decoded sooner than a keyframe is sought.
const MIN_SEEK: usize = 24;

/// A seek to a later frame than this one, whose time is not known, reads the times of the packets first.
const MIN_INDEX: usize = 100;

/// Further packets to read, because a later packet can hold an earlier frame.
const REORDERED: usize = 64;

/// The same in seconds.
const REORDERED_SECONDS: f64 = 10.0;

/// Maximum number of frames to ask ffmpeg for, which reads the number as floating point.
const MAX_FRAMES: usize = 1 << 53;

/// Where the first keyframe is looked for: in the first seconds, as ffprobe has it.
const LATEST_KEY: &str = "%+20";

/// A base rate above this one is that of the ticks.
const MAX_BASE_RATE: f64 = 120.0;

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
    /// The times of the frames that were decoded, or whose packets were read, from the first one on.
    times: Arc<Mutex<Vec<Time>>>,
}

/// Ticks, and seconds of a tick as a fraction.
type Time = (i64, (u32, u32));

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
        let input = Input::new(given);
        if input.kind != Kind::Address {
            std::fs::metadata(&input.path).map_err(|source| Error::io(&input.path, source))?;
        }
        let limits = Limits { timeout: options.timeout, cancel: cancel.clone() };
        let probe = Probe::new(&input, limits)?;
        let (live, shown) = (input.kind != Kind::File, input.shown());
        let info = Info {
            name: shown.file_stem().unwrap_or(shown.as_os_str()).to_string_lossy().into_owned(),
            expected_length: probe.frames.filter(|_| !live),
            rate: probe.rate,
            base_rate: probe.base_rate,
            size: Some(probe.size),
            pixel_aspect: probe.aspect,
            colors: probe.colors.clone(),
            sound: (!live).then(|| (input.path.clone(), probe.start)),
            live,
            inputs: vec![input.path.clone()],
            ..Info::default()
        };
        Ok(Self { info, input, lenient: options.lenient, timeout: options.timeout, probe, times: Arc::default() })
    }

    /// How ffmpeg writes the frames: the layout of a frame, the value of `-pix_fmt`, and a filter to append.
    fn form(&self, demand: Demand) -> (Form, &str, &str) {
        let (pixels, (width, height)) = (self.probe.pixels.as_str(), self.probe.size);
        let levels = if pixels.starts_with("yuvj") { Levels::Full } else { Levels::Limited };
        let planes =
            |chroma, levels| Form::Planes(Planes { width, height, chroma, levels, standard: self.probe.standard });
        if pixels.starts_with("gray") || pixels.starts_with("mono") {
            return (planes(Chroma::Mono, Levels::Full), "gray", "");
        }
        if demand.channels == Channels::Color || !pixels.starts_with("yuv") && !pixels.starts_with("nv") {
            return (Form::Rgb(width, height), "rgb24", "");
        }
        // ffmpeg does not rotate 4:2:2.
        let converted = !PLANAR.contains(&pixels) || self.probe.rotated && pixels.ends_with("422p");
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

    /// Where to seek for the frame `first`, in seconds, if its time and that of the frame before are known.
    fn seek_point(&self, first: usize, cancel: &CancelToken) -> Option<f64> {
        if self.input.kind != Kind::File || first <= MIN_SEEK {
            return None;
        }
        let known = lock(&self.times).len();
        if !self.lenient && first > known.max(MIN_INDEX) {
            let interval = format!("%+#{}", first.saturating_add(REORDERED));
            let mut times = self.packet_times(&interval, cancel).unwrap_or_default();
            times.truncate(first);
            let mut known = lock(&self.times);
            if times.starts_with(&known) {
                *known = times;
            }
        }
        let times = lock(&self.times);
        let [before, here] = *times.get(first - 2..first)?.first_chunk()?;
        (before.0 < here.0).then(|| f64::midpoint(seconds(before), seconds(here)))
    }

    /// The times of the frames whose packets are in `interval` (of ffprobe's `-read_intervals`), without decoding; `None`
    /// where packets do not tell them.
    fn packet_times(&self, interval: &str, cancel: &CancelToken) -> Option<Vec<Time>> {
        let entries = "packet=pts,dts,flags:stream=codec_name,time_base:format=start_time";
        let limits = Limits { timeout: self.timeout, cancel: cancel.clone() };
        let arguments = ["-of", "compact", "-read_intervals", interval, "-show_entries", entries];
        let text = ffprobe(&self.input, limits, &arguments).ok()?;
        packet_times(&text)
    }

    /// Starts ffmpeg at the first frame of the file, or at a keyframe before `seek`.
    fn start(&self, seek: Option<f64>, span: Span, demand: Demand, cancel: &CancelToken) -> Result<Frames> {
        let (width, height) = self.probe.size;
        let longest = width.max(height);
        let side = demand.side.filter(|&side| longest > side);
        // Planes are scaled in a tenth of the time of RGB.
        let planar = Demand { color: true, ..Channels::Luma.into() };
        let (mut form, pixels, filter) = self.form(if side.is_some() { planar } else { demand });
        let mut filter = filter.to_owned();
        if let Some(side) = side {
            let [width, height] = [width, height].map(|length| (length * side / longest).max(1));
            form = match form {
                Form::Rgb(..) => Form::Rgb(width, height),
                Form::Planes(planes) => Form::Planes(Planes { width, height, ..planes }),
            };
            filter += &format!(",scale={width}:{height}:flags=area");
        }
        if self.lenient && side.is_none() {
            // A frame of another size has as many bytes, and is left out by itself.
            filter += &format!(",scale={width}:{height}");
        }
        let live = self.info.live;
        let mut command = ffmpeg::command("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info"]);
        if self.is_strict() {
            command.arg("-xerror");
        }
        // Each frame thread would delay the output by a frame.
        if live {
            command.args(["-thread_type", "slice"]);
        }
        // Times count from the first frame also after a seek, and no picture is written that lacks its references.
        if let Some(seek) = seek {
            command.args(["-copyts", "-start_at_zero", "-flags", "-output_corrupt", "-ss", &format!("{seek:.6}")]);
        }
        command.args(["-dts_delta_threshold", MAX_PAUSE]).args(self.input.arguments());
        // `showinfo` logs the time and size of each frame, also of those that `select` leaves out. The written times are
        // frame numbers, because ffmpeg would refuse two frames that are closer than the nominal rate.
        let before = span.first.saturating_sub(1);
        let begun = if seek.is_some() { before } else { 0 };
        // A new size starts the filters anew, and `select` would leave out as many frames again.
        let left_out = if self.lenient { 0 } else { before - begun };
        let filters = format!("showinfo=checksum=0,select=gte(n\\,{left_out}){filter}");
        command.args(["-map", "0:V:0", "-vf", &filters, "-bsf:v", "setts=ts=N"]);
        command.args(ffmpeg::passthrough(self.probe.version)).args(["-autoscale", "0", "-pix_fmt", pixels]);
        if let Some(last) = span.last.filter(|&last| last <= MAX_FRAMES) {
            command.args(["-frames:v", &last.saturating_sub(begun + left_out).to_string()]);
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
        Ok(Frames { video, process, logs, out: Some(out), form, span, demand, begun, read: begun, newest: None })
    }

    /// Whether logged errors are errors.
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
        let times = self.packet_times(&format!("%+{}", until + REORDERED_SECONDS), cancel)?;
        let first = times.first()?.0;
        Some(times.into_iter().map(|(count, tick)| seconds((count.saturating_sub(first), tick))).collect())
    }

    fn stream(&self, span: Span, demand: Demand, cancel: &CancelToken) -> Result<Stream> {
        Ok(Box::new(self.start(self.seek_point(span.first, cancel), span, demand, cancel)?))
    }
}

/// What ffmpeg reads.
#[derive(Clone, Debug)]
struct Input {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Camera,
    Address,
}

impl Input {
    fn new(given: &Path) -> Self {
        // `/dev/fd/3` and the like are other files in a child process.
        let own = ["/dev/stdin", "/dev/fd", "/proc/self"].iter().any(|own| given.starts_with(own));
        let real = if own { given.canonicalize().ok() } else { None };
        let given = real.as_deref().unwrap_or(given);
        let kind = match given.to_str() {
            Some(text) if is_address(text) => Kind::Address,
            Some(text) if text.starts_with("/dev/video") || text.starts_with("/dev/v4l/") => Kind::Camera,
            _ => Kind::File,
        };
        Self { path: given.into(), kind }
    }

    /// The path without a password.
    fn shown(&self) -> PathBuf {
        self.path.to_str().map_or_else(|| self.path.clone(), |text| without_user(text).into())
    }

    /// An error; ffmpeg's messages have the address, too.
    fn error(&self, reason: String) -> Error {
        let (given, shown) = (self.path.to_string_lossy(), self.shown());
        Error::Sequence { reason: reason.replace(&*given, &shown.to_string_lossy()), path: shown }
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut path = self.path.clone().into_os_string();
        let before: &[&str] = match self.kind {
            Kind::File => {
                // The prefix keeps ffmpeg from taking a name with a colon for a protocol.
                path = [OsString::from("file:"), path].into_iter().collect();
                &[]
            }
            Kind::Camera => &["-f", "v4l2"],
            // The default, UDP, loses packets.
            Kind::Address if self.path.to_string_lossy().starts_with("rtsp") => &["-rtsp_transport", "tcp"],
            Kind::Address => &[],
        };
        before.iter().chain(&["-i"]).map(OsString::from).chain([path]).collect()
    }
}

/// Whether a word is an address such as `rtsp://…`.
fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty() && !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// An address without user and password, which must stand in no result and no log.
pub(crate) fn without_user(text: &str) -> String {
    match text.split_once("://").filter(|_| is_address(text)) {
        Some((scheme, rest)) => {
            let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let begin = rest[..host].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[begin..])
        }
        None => text.into(),
    }
}

/// What ffprobe knows of the first video of a file.
#[derive(Clone, Debug, PartialEq)]
struct Probe {
    /// Width and height as shown.
    size: (usize, usize),
    /// Mean frames per second.
    rate: Option<f64>,
    /// A higher rate that has a time for each frame.
    base_rate: Option<f64>,
    /// Number of frames that the file announces.
    announced: Option<usize>,
    /// The announced number, or an estimate from rate and duration.
    frames: Option<usize>,
    pixels: String,
    standard: Standard,
    /// Primaries, transfer and matrix of the colours, if all are known.
    colors: Option<[String; 3]>,
    /// Width to height of a pixel as shown, unless it is square.
    aspect: Option<(u32, u32)>,
    /// Seconds from the start of the file to the first frame.
    start: f64,
    /// Whether the metadata asks for a rotation other than by 180 degrees.
    rotated: bool,
    /// Version of ffmpeg.
    version: Option<(u32, u32)>,
}

impl Probe {
    fn new(input: &Input, limits: Limits) -> Result<Self> {
        let mut entries = "stream=width,height,pix_fmt,color_space,color_primaries,color_transfer,codec_name,sample_aspect_ratio,avg_frame_rate,r_frame_rate,field_order,nb_frames,duration,start_time:\
                       stream_side_data=rotation:format=duration,start_time".to_owned();
        let is_file = input.kind == Kind::File;
        if is_file {
            entries += ":packet=pts_time,flags";
        }
        let arguments = ["-of", "json", "-show_program_version", "-read_intervals", "%+#1", "-show_entries", &entries];
        let mut text = ffprobe(input, limits.clone(), &arguments)?;
        // A recording that begins between two keyframes has its first picture late.
        if is_file && text.contains("\"width\": 0") {
            text = ffprobe(
                input,
                limits.clone(),
                &[&arguments[..], &["-analyzeduration", "60M", "-probesize", "100M"]].concat(),
            )?;
        }
        let mut probe = Self::parse(&text).map_err(|reason| input.error(reason))?;
        // Such a recording begins to be shown at its first keyframe.
        if is_file && text.contains("\"packets\"") && !text.contains("\"flags\": \"K") {
            let arguments = ["-of", "compact", "-read_intervals", LATEST_KEY, "-show_entries", "packet=pts_time,flags"];
            let list = ffprobe(input, limits, &arguments).unwrap_or_default();
            let packets = list.lines().filter_map(|line| Some((field(line, "pts_time=")?.parse().ok()?, line)));
            let first = packets.clone().map(|(time, _)| time).fold(f64::INFINITY, f64::min);
            let key =
                packets.clone().find(|(_, line)| field(line, "flags=").is_some_and(|flags| flags.starts_with('K')));
            probe.start += key.map_or(0.0, |(time, _): (f64, _)| time - first);
        }
        Ok(probe)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let answer: Value = serde_json::from_str(text).map_err(|error| format!("ffprobe: {error}"))?;
        let video = &answer["streams"][0];
        let text = |key: &str| video[key].as_str().unwrap_or_default();
        let side = |key: &str| video[key].as_u64().unwrap_or(0) as usize;
        let mut size = (side("width"), side("height"));
        // ffmpeg renders text files as video.
        if text("codec_name") == "ansi" || size.0 == 0 || size.1 == 0 {
            return Err("there is no video in it".into());
        }
        check_size(size.0, size.1)?;
        let side_data = video["side_data_list"].as_array().into_iter();
        let rotation = side_data.flatten().find_map(|data| data["rotation"].as_f64()).unwrap_or_default();
        let rate = ratio(text("avg_frame_rate"), '/');
        let duration = video["duration"].as_str().or(answer["format"]["duration"].as_str());
        let duration = duration.and_then(|text| text.parse::<f64>().ok());
        // Of interlaced video a multiple counts fields, and ticks of milliseconds are no rate.
        let is_interlaced = !["", "progressive", "unknown"].contains(&text("field_order"));
        let is_higher = |times: f64| {
            let counts_fields = is_interlaced && times > 1.5 && (times - times.round()).abs() < 0.01;
            times > 1.002 && !counts_fields
        };
        let base_rate = ratio(text("r_frame_rate"), '/')
            .filter(|&base| base <= MAX_BASE_RATE && rate.is_none_or(|rate| is_higher(base / rate)));
        let start = |of: &Value| of["start_time"].as_str().and_then(|text| text.parse::<f64>().ok());
        let start = start(video).zip(start(&answer["format"])).map_or(0.0, |(video, file)| (video - file).max(0.0));
        let by_rate = rate.zip(duration).map(|(rate, duration)| (rate * duration).round() as usize);
        let frames = text("nb_frames").parse().ok().filter(|&count| count > 0);
        let aspect = text("sample_aspect_ratio").split_once(':');
        let aspect = aspect.and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        let mut aspect = aspect.filter(|&(w, h): &(u32, u32)| w > 0 && h > 0 && w != h);
        if (rotation / 90.0).round() as i64 % 2 != 0 {
            size = (size.1, size.0);
            aspect = aspect.map(|(w, h)| (h, w));
        }
        Ok(Self {
            size,
            rate,
            base_rate,
            announced: frames,
            frames: frames.or(by_rate),
            pixels: text("pix_fmt").into(),
            standard: match text("color_space") {
                "bt709" => Standard::Bt709,
                "bt2020nc" | "bt2020c" => Standard::Bt2020,
                _ => Standard::Bt601,
            },
            colors: Some(["color_primaries", "color_transfer", "color_space"].map(|key| text(key).to_owned()))
                .filter(|names| names.iter().all(|name| !name.is_empty() && name != "unknown")),
            aspect,
            start,
            rotated: rotation % 180.0 != 0.0,
            version: ffmpeg::version(answer["program_version"]["version"].as_str().unwrap_or_default()),
        })
    }
}

/// What ffprobe prints of the video in `input`.
fn ffprobe(input: &Input, limits: Limits, arguments: &[&str]) -> Result<String> {
    let mut command = ffmpeg::command("ffprobe");
    // `V` excludes cover pictures.
    command.args(["-v", "level+error", "-select_streams", "V:0"]).args(arguments).args(input.arguments());
    let (mut process, mut out) = FfmpegProcess::start(command, &input.shown(), limits, |_| false)?;
    let mut text = String::new();
    let read = process.reading(1, || out.read_to_string(&mut text)).map_err(|error| error.to_string());
    let ended = process.finish().and(read);
    ended.map(|_| text).map_err(|reason| input.error(reason))
}

/// A fraction such as 30000/1001; `None` for 0/0, an unknown one.
pub(super) fn ratio(text: &str, bar: char) -> Option<f64> {
    let (above, below) = text.split_once(bar)?;
    let rate = f64::from(above.parse::<u32>().ok()?) / f64::from(below.parse::<u32>().ok()?);
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// An entry of the filter `showinfo` in the log: the number, time and size of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FrameLog {
    /// From 0, since the filters began.
    number: Option<usize>,
    time: Option<Time>,
    size: Option<(usize, usize)>,
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
        })
    }
}

/// Seconds of a tick, as `showinfo` logs them.
fn time_base(line: &str) -> Option<(u32, u32)> {
    let rest = line.split_once("config in time_base: ")?.1;
    tick(rest.split([',', ' ']).next()?.trim())
}

/// Seconds of a tick, such as 1/25.
fn tick(text: &str) -> Option<(u32, u32)> {
    let (above, below) = text.split_once('/')?;
    Some((above.parse().ok()?, below.parse().ok().filter(|&below| below > 0)?))
}

/// A value in a line of ffprobe's compact lists.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split('|').find_map(|part| part.strip_prefix(key))
}

/// The times of the frames in display order, from ffprobe's list of packets; `None` unless each packet is one frame that is
/// shown.
fn packet_times(text: &str) -> Option<Vec<Time>> {
    let line = |kind: &str| text.lines().find(|line| line.starts_with(kind));
    let (stream, format) = (line("stream|")?, line("format|")?);
    // VP8 has packets that are not shown.
    if field(stream, "codec_name=")? == "vp8" {
        return None;
    }
    let tick = tick(field(stream, "time_base=")?)?;
    // ffmpeg counts from the start of the file.
    let start = field(format, "start_time=")?.parse::<f64>().ok()?;
    let start = (start * f64::from(tick.1) / f64::from(tick.0)).round() as i64;
    let packet = |line: &str| {
        let (pts, flags) = (field(line, "pts=")?.parse::<i64>().ok()?, field(line, "flags=")?);
        (!flags.contains('D')).then_some((pts.saturating_sub(start), flags.starts_with('K')))
    };
    let lines = || text.lines().filter(|line| line.starts_with("packet|"));
    // Two recordings in one file, whose times ffmpeg shifts.
    let order = lines().filter_map(|line| field(line, "dts=")?.parse::<i64>().ok());
    if !order.is_sorted() {
        return None;
    }
    let mut packets = lines().map(packet).collect::<Option<Vec<_>>>()?;
    packets.sort_unstable();
    // Pictures before the first keyframe lack their references.
    let distinct = packets.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let whole = packets.first().is_some_and(|first| first.1) && distinct;
    whole.then(|| packets.into_iter().map(|(pts, _)| (pts, tick)).collect())
}

/// The layout of the frames that ffmpeg writes, one after the other.
#[derive(Clone, Copy)]
enum Form {
    /// Width and height.
    Rgb(usize, usize),
    Planes(Planes),
}

impl Form {
    /// Reads the next frame; `None` at the end.
    fn read(self, out: &mut impl Read, demand: Demand) -> Result<Option<Decoded>, String> {
        let bytes = match self {
            Self::Rgb(width, height) => 3 * width * height,
            Self::Planes(planes) => planes.bytes().unwrap_or_default(),
        };
        let mut data = Vec::with_capacity(bytes);
        let got = out.take(bytes as u64).read_to_end(&mut data).map_err(|error| error.to_string())?;
        if got == 0 {
            return Ok(None);
        }
        if got < bytes {
            return Err(format!("it ends within a frame: {got} of its {bytes} bytes are there"));
        }
        let decoded = match self {
            Self::Rgb(width, height) => {
                FrameBuf::new(data, width, height, PixelFormat::Rgb8).map(|picture| demanded(picture, demand))
            }
            Self::Planes(planes) => planes.decoded(data, demand),
        };
        decoded.map(Some).map_err(|error| error.to_string())
    }
}

/// The frames of a video until its end or the first error; a lenient one goes on after a frame of another size.
struct Frames {
    video: Video,
    process: FfmpegProcess,
    logs: Receiver<FrameLog>,
    /// `None` after the last frame.
    out: Option<BufReader<ChildStdout>>,
    form: Form,
    span: Span,
    demand: Demand,
    /// Frames before the one that was sought.
    begun: usize,
    read: usize,
    /// The latest time of a live source.
    newest: Option<i64>,
}

impl Frames {
    /// The next frame and its time; `None` at the end. Of a frame before the first there is only the log.
    fn frame(&mut self) -> Result<Option<(Option<Decoded>, Option<f64>)>> {
        let Some(out) = &mut self.out else { return Ok(None) };
        let (form, position, demand, logs) = (self.form, self.read + 1, self.demand, &self.logs);
        let (early, lenient) = (position < self.span.first, self.video.lenient);
        let read = || match early && !lenient {
            true => Ok(logs.recv().ok().map(|log| (None, Some(log)))),
            false => Ok(form.read(out, demand)?.map(|decoded| (Some(decoded), logs.recv_timeout(LOG_TIMEOUT).ok()))),
        };
        let got = self.process.reading(position as u64, read);
        if self.begun > 0 && self.read == self.begun && !self.process.limits.cancel.is_cancelled() {
            let expected = lock(&self.video.times).get(self.begun).copied();
            if !matches!(got, Ok(Some((_, Some(log)))) if log.time == expected) {
                // Another frame, or none: this file cannot be sought.
                *self = self.video.start(None, self.span, self.demand, &self.process.limits.cancel)?;
                return self.frame();
            }
        }
        match got {
            Ok(Some((decoded, log))) => {
                self.read = position;
                match self.check_log(log) {
                    Err(Error::FrameSize { .. }) if early && lenient => Ok(Some((None, None))),
                    time => Ok(Some((decoded.filter(|_| !early), time?))),
                }
            }
            ended => {
                // If ffmpeg failed, its own message is the reason, unless the size has changed.
                let finished = self.process.finish();
                let log = self.logs.recv_timeout(LOG_TIMEOUT).ok();
                if let (Err(error @ Error::FrameSize { .. }), false) = (self.check_log(log), matches!(ended, Ok(None)))
                {
                    return Err(error);
                }
                let (video, read) = (&self.video, self.read);
                let after = |reason| video.input.error(format!("{reason} (after {read} frames)"));
                let lost = read == 0 || !video.lenient || video.info.live;
                match (finished, ended) {
                    (Err(reason), _) if reason == "interrupted" => Err(after(reason)),
                    // ffprobe could read the address.
                    (Err(reason), _) if read == 0 && video.input.kind == Kind::Address => Err(after(format!(
                        "{reason}; if its sender takes one connection only, \
                         use `ffmpeg -i URL -f yuv4mpegpipe - | kcf-track -`"
                    ))),
                    (Err(reason), _) if lost => Err(after(reason)),
                    (_, Err(reason)) => Err(video.input.error(reason)),
                    _ if video.input.kind == Kind::Camera => Err(after("the camera stopped".into())),
                    _ => match (self.process.errors(), video.probe.announced) {
                        (Some(errors), _) if video.is_strict() => Err(after(format!("ffmpeg: {errors}"))),
                        // A network stream.
                        (_, Some(expected))
                            if video.input.kind == Kind::Address && !video.lenient && 10 * read < 9 * expected =>
                        {
                            Err(after(format!("the stream broke off; about {expected} frames were expected")))
                        }
                        _ => Ok(None),
                    },
                }
            }
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
            && self.span.first > self.begun + 1
            && log.number.is_some_and(|number| number + self.begun + 1 != self.read)
        {
            let reason = format!("the format of its pixels changes in frame {}: begin with frame 1", self.read);
            return Err(self.video.input.error(reason));
        }
        let Some((count, tick)) = log.time else { return Ok(None) };
        // A stream that is joined in the middle begins with times in no order.
        if self.video.info.live {
            if self.newest >= Some(count) {
                return Ok(None);
            }
            self.newest = Some(count);
        }
        let mut times = lock(&self.video.times);
        if self.begun == 0 && times.get(self.read - 1).is_some_and(|time| *time != (count, tick)) {
            // The packets have told otherwise.
            times.truncate(self.read - 1);
        }
        if times.len() + 1 == self.read && (times.is_empty() || !self.video.info.live) {
            times.push((count, tick));
        }
        let first = times.first().map_or(count, |first| first.0);
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
                Ok((None, _)) => continue,
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

    #[test]
    fn reads_the_answer_of_ffprobe() {
        let stream = r#"{"program_version":{"version":"5.1.9"},"format":{"duration":"4.0"},"streams":[{"width":640,
            "height":480,"pix_fmt":"yuv420p","codec_name":"h264","sample_aspect_ratio":"4:3",
            "avg_frame_rate":"30000/1001","side_data_list":[{},{"rotation":-90}]}]}"#;
        let probe = Probe::parse(stream).unwrap();
        assert_eq!((probe.size, probe.aspect, probe.frames), ((480, 640), Some((3, 4)), Some(120)));
        assert!(probe.rotated && probe.version == Some((5, 1)));
        for wrong in ["", "{}", r#"{"streams":[{"codec_name":"h264"}]}"#] {
            assert!(Probe::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn packets_tell_the_times_of_frames() {
        let stream = "stream|codec_name=h264|time_base=1/50\n";
        let packet = |(pts, flags): (i64, &str)| format!("packet|pts={pts}|flags={flags}\n");
        let list = |packets: &[(i64, &str)], stream: &str| {
            packet_times(&format!(
                "{}{stream}format|start_time=1.000000\n",
                packets.iter().copied().map(packet).collect::<String>()
            ))
        };
        let times = list(&[(50, "K__"), (56, "___"), (52, "___"), (54, "K__")], stream).unwrap();
        assert_eq!(times, [0, 2, 4, 6].map(|pts| (pts, (1, 50))));
        for packets in [
            // A packet that is not shown, two of one time, pictures before the first keyframe.
            &[(50, "K__"), (52, "_D_")],
            &[(50, "K__"), (50, "___")],
            &[(50, "K__"), (48, "___")],
        ] {
            assert_eq!(list(packets, stream), None, "{packets:?}");
        }
        assert_eq!(list(&[(50, "K__")], &stream.replace("h264", "vp8")), None);
        let joined = [(50, 50), (52, 52), (54, 51)].map(|(pts, dts)| format!("packet|pts={pts}|dts={dts}|flags=K__\n"));
        assert_eq!(packet_times(&format!("{}{stream}format|start_time=1.0\n", joined.concat())), None);
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
        let error = Input::new(Path::new("rtsp://me:secret@host/a")).error("rtsp://me:secret@host/a: refused".into());
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
