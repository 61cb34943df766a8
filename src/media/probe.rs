//! Facts about a video that ffprobe knows: the stream to read, its frames and their packets.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::images::{check_size, range};
use crate::error::{Error, Result};
use crate::ffmpeg::{self, FfmpegProcess, Limits};
use crate::frame::yuv::Standard;

/// Codecs whose pictures after a keyframe need none before it. Of other codecs all frames are decoded.
const SEEKABLE: &str = "av1,dnxhd,ffv1,ffvhuff,h264,hevc,huffyuv,mjpeg,mpeg1video,mpeg2video,mpeg4,prores,rawvideo,\
                        utvideo,vp9";

/// Packets of at most this many bytes may hold no picture.
const EMPTY_PACKET: usize = 16;

/// Formats of one file that holds its frames. Playlists, lists of files and scripts would read other files.
const FORMATS: &str = "apng,asf,av1,avi,avs2,avs3,cavsvideo,dhav,dirac,dnxhd,dv,fits,flic,flv,gif,gxf,h261,h263,h264,hevc,\
                       ipu,ivf,jpeg_pipe,kux,live_flv,lxf,m4v,matroska,mjpeg,mov,mpeg,mpegts,mpegtsraw,mpegvideo,mpjpeg,mtv,mxf,\
                       nsv,nut,obu,ogg,png_pipe,r3d,rm,roq,ser,swf,vc1,vc1test,wtv,y4m,yuv4mpegpipe";

/// Protocols that an address may use besides its own. Local files are not among them.
const PROTOCOLS: &str = "crypto,data,ftp,gopher,gophers,hls,http,httpproxy,https,mmsh,mmst,rist,rtmp,rtmpe,rtmps,rtmpt,\
                         rtmpte,rtmpts,rtp,sctp,sftp,srt,srtp,tcp,tls,udp,udplite";

/// Interval in which the first keyframe is looked for, as ffprobe has it: the first seconds.
const LATEST_KEY: &str = "%+20";

/// A base rate above this one is that of the ticks.
const MAX_BASE_RATE: f64 = 120.0;

/// Ticks, and seconds of a tick as a fraction.
pub(super) type Time = (i64, (u32, u32));

/// The time of a frame, and whether it is a keyframe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Indexed {
    pub(super) time: Time,
    pub(super) key: bool,
}

/// Input of ffmpeg.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// The video stream: all, or the index of one. `V` excludes cover pictures.
    pub(super) select: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Camera,
    Address,
}

impl Input {
    pub(super) fn new(given: &Path) -> Self {
        // `/dev/fd/3` and the like are other files in a child process.
        let own = ["/dev/stdin", "/dev/fd", "/proc/self"].iter().any(|own| given.starts_with(own));
        let real = if own { given.canonicalize().ok() } else { None };
        let given = real.as_deref().unwrap_or(given);
        let kind = match given.to_str() {
            Some(text) if is_address(text) => Kind::Address,
            Some(text) if text.starts_with("/dev/video") || text.starts_with("/dev/v4l/") => Kind::Camera,
            _ => Kind::File,
        };
        Self { path: given.into(), kind, select: "V".into() }
    }

    /// The path without a password.
    pub(super) fn shown(&self) -> PathBuf {
        self.path.to_str().map_or_else(|| self.path.clone(), |text| without_user(text).into())
    }

    /// The error for an input that cannot be opened.
    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        let reason = self.plain(reason.into());
        Error::sequence(self.shown(), reason)
    }

    /// The error for an input that ends early.
    pub(super) fn ended(&self, reason: impl Into<String>) -> Error {
        let reason = self.plain(reason.into());
        Error::Ended { path: self.shown(), reason }
    }

    /// ffmpeg's message without the password of the address in it.
    fn plain(&self, reason: String) -> String {
        if reason.contains("Format not on whitelist") {
            return "there is no video in it, or it is a playlist or a pattern of images: give the video, the folder of the \
                    images, or `ffmpeg -i FILE -fps_mode passthrough -pix_fmt yuv420p -f yuv4mpegpipe - | kcf-track -`"
                .into();
        }
        reason.replace(&*self.path.to_string_lossy(), &self.shown().to_string_lossy())
    }

    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut path = self.path.clone().into_os_string();
        let text = self.path.to_string_lossy();
        let protocols = format!("{PROTOCOLS},{}", text.split_once("://").map_or("", |(scheme, _)| scheme));
        let before: &[&str] = match self.kind {
            Kind::File => {
                // The prefix keeps ffmpeg from taking a name with a colon for a protocol.
                path = [OsString::from("file:"), path].into_iter().collect();
                &["-protocol_whitelist", "file", "-format_whitelist", FORMATS]
            }
            Kind::Camera => &["-f", "v4l2"],
            // The default, UDP, loses packets.
            Kind::Address if text.starts_with("rtsp") => &["-protocol_whitelist", &protocols, "-rtsp_transport", "tcp"],
            Kind::Address => &["-protocol_whitelist", &protocols],
        };
        before.iter().chain(&["-i"]).map(OsString::from).chain([path]).collect()
    }
}

/// True if a word is an address such as `rtsp://…`.
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

/// Properties of the first video of a file, by ffprobe.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probe {
    /// Width and height as shown.
    pub(super) size: (usize, usize),
    /// Mean frames per second.
    pub(super) rate: Option<f64>,
    /// A higher rate that has a time for each frame.
    pub(super) base_rate: Option<f64>,
    /// Number of frames that the file announces.
    pub(super) announced: Option<usize>,
    /// The announced number, or an estimate from rate and duration.
    pub(super) frames: Option<usize>,
    pub(super) pixels: String,
    pub(super) standard: Standard,
    /// Primaries, transfer and matrix of the colours, if all are known.
    pub(super) colors: Option<[String; 3]>,
    /// Width to height of a pixel as shown, unless it is square.
    pub(super) aspect: Option<(u32, u32)>,
    /// Seconds from the start of the file to the first frame.
    pub(super) start: f64,
    /// True if the metadata asks for a rotation other than by 180 degrees.
    pub(super) rotated: bool,
    /// Its luma is said to go from 0 to 255.
    pub(super) full: bool,
    /// Bits of a gray sample; 8 of other pixels.
    pub(super) depth: u32,
    /// True if it is an MPEG transport stream.
    pub(super) is_transport: bool,
    /// Version of ffmpeg.
    pub(super) version: Option<(u32, u32)>,
}

impl Probe {
    /// Asks ffprobe, and chooses the stream: the `stream`-th video, or the one marked as default. Returns a warning, too.
    pub(super) fn new(input: &mut Input, stream: Option<usize>, limits: Limits) -> Result<(Self, Option<String>)> {
        let entries = "stream=index,width,height,pix_fmt,color_range,color_space,color_primaries,color_transfer,codec_name,\
                       sample_aspect_ratio,avg_frame_rate,r_frame_rate,field_order,nb_frames,duration,start_time:\
                       stream_disposition=default:stream_side_data=rotation:format=format_name,duration,start_time";
        let arguments = ["-of", "json", "-show_program_version", "-show_entries", entries];
        let mut text = ffprobe(input, limits.clone(), &arguments)?;
        let is_file = input.kind == Kind::File;
        // A recording that begins between two keyframes has its first picture late.
        if is_file && text.contains("\"width\": 0") {
            let longer = [&arguments[..], &["-analyzeduration", "60M", "-probesize", "100M"]].concat();
            text = ffprobe(input, limits.clone(), &longer)?;
        }
        let (mut probe, index, warning) = Self::parse(&text, stream).map_err(|reason| input.error(reason))?;
        input.select = index.to_string();
        // Such a recording begins to be shown at its first keyframe.
        if is_file {
            let list = |interval: &str| {
                let arguments =
                    ["-of", "compact", "-read_intervals", interval, "-show_entries", "packet=pts_time,flags"];
                ffprobe(input, limits.clone(), &arguments)
            };
            if list("%+#1")?.contains("flags=_") {
                let list = list(LATEST_KEY).unwrap_or_default();
                let packets = || list.lines().filter_map(|line| Some((field(line, "pts_time=")?.parse().ok()?, line)));
                let first = packets().map(|(time, _)| time).fold(f64::INFINITY, f64::min);
                let is_key = |line: &str| field(line, "flags=").is_some_and(|flags| flags.starts_with('K'));
                let key = packets().find(|(_, line)| is_key(line));
                probe.start += key.map_or(0.0, |(time, _): (f64, _)| time - first);
            }
        }
        Ok((probe, warning))
    }

    /// Reads ffprobe's answer. Returns the index of the chosen stream and a warning, too.
    pub(super) fn parse(text: &str, stream: Option<usize>) -> Result<(Self, u64, Option<String>), String> {
        let answer: Value = serde_json::from_str(text).map_err(|error| format!("ffprobe: {error}"))?;
        let (video, warning) = chosen(answer["streams"].as_array().map_or(&[][..], Vec::as_slice), stream)?;
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
        let start = |of: &Value| of["start_time"].as_str().and_then(|text| text.parse::<f64>().ok());
        let start = start(video).zip(start(&answer["format"])).map_or(0.0, |(video, file)| (video - file).max(0.0));
        let by_rate = rate.zip(duration).map(|(rate, duration)| (rate * duration).round() as usize);
        let frames: Option<usize> = text("nb_frames").parse().ok().filter(|&count| count > 0);
        // An edit list leaves out the frames before the cut of a trimmed video.
        let frames = frames.filter(|&count| by_rate.is_none_or(|by_rate| count <= by_rate + 1 + by_rate / 50));
        let aspect = text("sample_aspect_ratio").split_once(':');
        let aspect = aspect.and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        let mut aspect = aspect.filter(|&(w, h): &(u32, u32)| w > 0 && h > 0 && w != h);
        if (rotation / 90.0).round() as i64 % 2 != 0 {
            size = (size.1, size.0);
            aspect = aspect.map(|(w, h)| (h, w));
        }
        let pixels = text("pix_fmt");
        let depth = pixels.strip_prefix("gray").and_then(|rest| rest.trim_end_matches(['l', 'b', 'e']).parse().ok());
        let depth: u32 = depth.unwrap_or(8);
        let probe = Self {
            size,
            rate,
            base_rate: base_rate(text("r_frame_rate"), rate, text("field_order")),
            announced: frames,
            frames: frames.or(by_rate),
            pixels: if depth > 8 { format!("gray{depth}le") } else { pixels.into() },
            depth,
            is_transport: answer["format"]["format_name"] == "mpegts",
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
            full: text("color_range") == "pc",
            version: ffmpeg::version(answer["program_version"]["version"].as_str().unwrap_or_default()),
        };
        Ok((probe, video["index"].as_u64().unwrap_or(0), warning))
    }
}

/// The `stream`-th of all videos, or the one marked as default, with a warning if others are left out.
fn chosen(all: &[Value], stream: Option<usize>) -> Result<(&Value, Option<String>), String> {
    let marked = all.iter().position(|stream| stream["disposition"]["default"] == 1).unwrap_or(0);
    let chosen = stream.map_or(marked, |number| number.wrapping_sub(1));
    let video = match all.get(chosen) {
        None if !all.is_empty() => return Err(format!("it has {} videos: --stream counts from 1", all.len())),
        video => video.unwrap_or(&Value::Null),
    };
    let several = all.len() > 1 && stream.is_none();
    Ok((video, several.then(|| format!("it has {} videos: {} is read; --stream N chooses", all.len(), chosen + 1))))
}

/// The rate that has a time for each frame, if it is above the mean rate.
fn base_rate(text: &str, rate: Option<f64>, field_order: &str) -> Option<f64> {
    // Of interlaced video a multiple counts fields, and ticks of milliseconds are no rate.
    let is_interlaced = !["", "progressive", "unknown"].contains(&field_order);
    let is_higher = |times: f64| {
        let counts_fields = is_interlaced && times > 1.5 && (times - times.round()).abs() < 0.01;
        times > 1.002 && !counts_fields
    };
    ratio(text, '/').filter(|&base| base <= MAX_BASE_RATE && rate.is_none_or(|rate| is_higher(base / rate)))
}

/// Output of ffprobe for the video in `input`.
pub(super) fn ffprobe(input: &Input, limits: Limits, arguments: &[&str]) -> Result<String> {
    let mut command = ffmpeg::command("ffprobe");
    command.args(["-v", "level+error", "-select_streams", &input.select]).args(arguments).args(input.arguments());
    output(input, command, limits).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The range of the first frame of a gray video with more than 8 bits.
pub(super) fn first_levels(input: &Input, probe: &Probe, limits: Limits) -> Result<(u16, u16)> {
    let mut command = ffmpeg::command("ffmpeg");
    command.args(["-nostdin", "-nostats", "-loglevel", "level+error"]).args(input.arguments());
    command.args(["-map", &format!("0:{}", input.select), "-frames:v", "1"]);
    command.args(["-pix_fmt", &probe.pixels, "-f", "rawvideo", "pipe:1"]);
    let bytes = output(input, command, limits)?;
    let (samples, _) = bytes.as_chunks::<2>();
    Ok(range(samples.iter().map(|sample| u16::from_le_bytes(*sample))))
}

/// Output of a command that reads `input`.
fn output(input: &Input, command: Command, limits: Limits) -> Result<Vec<u8>> {
    let cancel = limits.cancel.clone();
    let (mut process, mut out) = FfmpegProcess::start(command, &input.shown(), limits, |_| false)?;
    let mut bytes = Vec::new();
    let read = process.reading(1, || out.read_to_end(&mut bytes)).map_err(|error| error.to_string());
    let ended = process.finish().and(read);
    cancel.check()?;
    ended.map(|_| bytes).map_err(|reason| input.error(reason))
}

/// A fraction such as 30000/1001; `None` for 0/0, an unknown one.
pub(super) fn ratio(text: &str, bar: char) -> Option<f64> {
    let (above, below) = text.split_once(bar)?;
    let rate = f64::from(above.parse::<u32>().ok()?) / f64::from(below.parse::<u32>().ok()?);
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// Seconds of a tick, such as 1/25.
pub(super) fn tick(text: &str) -> Option<(u32, u32)> {
    let (above, below) = text.split_once('/')?;
    Some((above.parse().ok()?, below.parse().ok().filter(|&below| below > 0)?))
}

/// A value in a line of ffprobe's compact lists.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split('|').find_map(|part| part.strip_prefix(key))
}

/// Whether at most `most` pictures that are shown after a picture are decoded before it.
fn waits_enough(most: usize, mut times: impl Iterator<Item = i64>) -> bool {
    let mut shown = Vec::new();
    times.all(|time| {
        let place = shown.iter().rposition(|&other| other <= time).map_or(0, |place| place + 1);
        shown.insert(place, time);
        shown.len() - 1 - place <= most
    })
}

/// Whether a stream of HEVC has ends of sequences, behind which the decoder leaves out pictures.
pub(super) fn has_ends(input: &Input, limits: Limits) -> Result<bool> {
    let mut command = ffmpeg::command("ffmpeg");
    command.args(["-nostdin", "-nostats", "-loglevel", "level+error"]).args(input.arguments());
    command.args(["-map", &format!("0:{}", input.select), "-c", "copy", "-bsf:v", "filter_units=pass_types=36-37"]);
    command.args(["-f", "framecrc", "pipe:1"]);
    let list = output(input, command, limits)?;
    Ok(list.split(|&byte| byte == b'\n').any(|line| !line.is_empty() && !line.starts_with(b"#")))
}

/// The frames in display order, from ffprobe's list of packets; `None` unless each packet is known to be one frame that is
/// shown.
pub(super) fn packets(text: &str) -> Option<Vec<Indexed>> {
    let line = |kind: &str| text.lines().find(|line| line.starts_with(kind));
    let (stream, format) = (line("stream|")?, line("format|")?);
    let codec = field(stream, "codec_name=")?;
    // H.264 may have a packet for each field.
    let in_fields = codec == "h264" && field(stream, "field_order=").is_some_and(|order| order.len() == 2);
    if !SEEKABLE.split(',').any(|known| known == codec) || in_fields {
        return None;
    }
    let tick = tick(field(stream, "time_base=")?)?;
    // ffmpeg counts from the start of the file.
    let start = field(format, "start_time=")?.parse::<f64>().ok()?;
    let start = (start * f64::from(tick.1) / f64::from(tick.0)).round() as i64;
    let packet = |line: &str| {
        let (pts, flags) = (field(line, "pts=")?.parse::<i64>().ok()?, field(line, "flags=")?);
        let is_frame = !flags.contains('D') && field(line, "size=")?.parse::<usize>().ok()? > EMPTY_PACKET;
        is_frame.then(|| Indexed { time: (pts.saturating_sub(start), tick), key: flags.starts_with('K') })
    };
    let lines = || text.lines().filter(|line| line.starts_with("packet|"));
    // Two recordings in one file, whose times ffmpeg shifts.
    let order = lines().filter_map(|line| field(line, "dts=")?.parse::<i64>().ok());
    if !order.is_sorted() {
        return None;
    }
    let mut packets = lines().map(packet).collect::<Option<Vec<_>>>()?;
    // The decoder leaves out a picture that comes later than it waits.
    if !waits_enough(field(stream, "has_b_frames=")?.parse().ok()?, packets.iter().map(|frame| frame.time.0)) {
        return None;
    }
    packets.sort_unstable_by_key(|frame| frame.time.0);
    // Pictures before the first keyframe lack their references.
    let distinct = packets.windows(2).all(|pair| pair[0].time.0 < pair[1].time.0);
    (packets.first()?.key && distinct).then_some(packets)
}
