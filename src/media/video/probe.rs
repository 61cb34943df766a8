//! What `ffprobe` knows of a video before it is decoded.

use std::io::Read;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde::Deserialize;

use super::VideoOptions;
use super::input::Input;
use crate::error::{Error, Result};
use crate::ffmpeg::{self, version};

/// How often it is looked at whether somebody waits for the answer.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Packets behind a key frame among which those are that are shown before it: no codec has more than 16 of them.
const MOST_AHEAD: usize = 32;

/// Most bytes of an answer; the times of a day of frames have 50 MB.
const MAX_ANSWER: usize = 1 << 28;

/// Most bytes of what it says of errors.
const MAX_SAID: usize = 1 << 16;

/// Codecs that put frames which are never shown, as others only lean on them, into packets that look like any.
const HIDING: [&str; 1] = ["vp8"];

/// What ffmpeg takes any file for whose name ends as that of a text: it would paint the letters.
const TEXT: &str = "ansi";

/// The first video of a file or stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probe {
    /// Width and height as it is shown, in pixels.
    pub size: (usize, usize),
    /// Mean frames per second.
    pub rate: Option<f64>,
    /// How many frames there are, or should be by its rate and duration.
    pub frames: Option<usize>,
    /// ffmpeg's name of the form of its pixels.
    pub pixels: String,
    /// Width to height of a pixel as it is shown, where it is not square.
    pub aspect: Option<(u32, u32)>,
    /// Whether it is turned by anything but half a turn.
    pub turned: bool,
    /// ffmpeg's name of how they are coded.
    pub codec: String,
    /// Major and minor number of ffmpeg; none of one that was built between two versions.
    pub version: Option<(u32, u32)>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    streams: Vec<Video>,
    #[serde(default)]
    format: Format,
    #[serde(default)]
    program_version: Version,
}

#[derive(Deserialize)]
struct Video {
    #[serde(default)]
    width: usize,
    #[serde(default)]
    height: usize,
    #[serde(default)]
    pix_fmt: String,
    #[serde(default)]
    sample_aspect_ratio: String,
    #[serde(default)]
    codec_name: String,
    #[serde(default)]
    avg_frame_rate: String,
    nb_frames: Option<String>,
    duration: Option<String>,
    #[serde(default)]
    side_data_list: Vec<SideData>,
}

#[derive(Deserialize)]
struct SideData {
    rotation: Option<f64>,
}

#[derive(Default, Deserialize)]
struct Format {
    duration: Option<String>,
}

#[derive(Default, Deserialize)]
struct Version {
    #[serde(default)]
    version: String,
}

impl Probe {
    /// Asks for the first video of `input`.
    ///
    /// # Errors
    /// [`Error::Sequence`] when it is none, or ffprobe gives no answer within its patience.
    pub fn of(input: &Input, options: &VideoOptions) -> Result<Self> {
        let entries = "stream=width,height,pix_fmt,codec_name,sample_aspect_ratio,avg_frame_rate,nb_frames,duration:\
                       stream_side_data=rotation:format=duration";
        let text = ask(input, &["-of", "json", "-show_program_version", "-show_entries", entries], options)?;
        Self::parse(&text).map_err(|reason| Error::Sequence { path: input.path().into(), reason })
    }

    /// Whether each packet is a frame that is shown, or says that it is none.
    pub fn counts_packets(&self) -> bool {
        !HIDING.contains(&self.codec.as_str())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let answer: Answer = serde_json::from_str(text).map_err(|error| format!("ffprobe's answer: {error}"))?;
        let video = answer.streams.first().ok_or("there is no video in it")?;
        if video.codec_name == TEXT {
            return Err("this is text, and no video: give the folder of images, or the video, that it is of".into());
        }
        if video.width == 0 || video.height == 0 {
            return Err("its pictures have no size: it may be cut, or no video".into());
        }
        let turned = video.side_data_list.iter().find_map(|data| data.rotation).unwrap_or_default();
        let quarter = (turned / 90.0).round() as i64 % 2 != 0;
        let size = if quarter { (video.height, video.width) } else { (video.width, video.height) };
        let rate = ratio(&video.avg_frame_rate);
        let duration = video.duration.as_ref().or(answer.format.duration.as_ref()).and_then(|text| text.parse().ok());
        let by_rate = rate.zip(duration).map(|(rate, duration): (f64, f64)| (rate * duration).round() as usize);
        let frames = video.nb_frames.as_ref().and_then(|text| text.parse().ok()).filter(|&count| count > 0);
        let version = version(&answer.program_version.version);
        let aspect = aspect(&video.sample_aspect_ratio).map(|(w, h)| if quarter { (h, w) } else { (w, h) });
        let turned = turned % 180.0 != 0.0;
        let (pixels, codec) = (video.pix_fmt.clone(), video.codec_name.clone());
        Ok(Self { size, rate, frames: frames.or(by_rate), pixels, codec, aspect, turned, version })
    }
}

/// The time of every frame in seconds, in the order in which they are shown, the first at 0; `None` where that is known
/// only once they are decoded: some packets have no times, or these begin anew, or the first is of a picture that needs
/// others before it, or some are shown before the first and need those. The file is read, but nothing is decoded.
///
/// # Errors
/// As [`Probe::of`].
pub(super) fn times(input: &Input, options: &VideoOptions) -> Result<Option<Vec<f64>>> {
    let entries = ["-of", "csv=p=0", "-show_entries", "packet=pts_time,dts_time,flags"];
    Ok(shown_at(&ask(input, &entries, options)?))
}

fn shown_at(packets: &str) -> Option<Vec<f64>> {
    let mut times = Vec::new();
    let (mut last, mut key) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (number, line) in packets.lines().enumerate() {
        let mut words = line.split(',');
        let (time, decoded_at, flags) = (words.next()?, words.next()?, words.next()?);
        if number == 0 {
            flags.contains('K').then_some(())?;
            key = time.parse().unwrap_or(key);
        }
        if let Ok(at) = decoded_at.parse::<f64>() {
            if at < last {
                return None;
            }
            last = at;
        }
        // A packet that is marked D is decoded, but not shown.
        if !flags.contains('D') {
            times.push(time.parse::<f64>().ok().filter(|&time| time >= key)?);
        }
    }
    times.sort_by(f64::total_cmp);
    let first = times.first().copied()?;
    times.iter_mut().for_each(|time| *time -= first);
    Some(times)
}

/// Whether all pictures of the beginning can be decoded: the first packet is of one that needs no other, and none
/// behind it is shown earlier (or has lost its times, as a copy of such a beginning has it). That would lean on
/// pictures before the first.
///
/// # Errors
/// As [`Probe::of`].
pub(super) fn begins_whole(input: &Input, options: &VideoOptions) -> Result<bool> {
    let packets = format!("%+#{MOST_AHEAD}");
    let entries = ["-of", "csv=p=0", "-read_intervals", &packets, "-show_entries", "packet=pts_time,dts_time,flags"];
    Ok(is_whole(&ask(input, &entries, options)?))
}

fn is_whole(packets: &str) -> bool {
    let seconds = |text: &str| text.parse::<f64>().ok();
    let mut packets = packets.lines().filter_map(|line| {
        let mut words = line.split(',');
        let (shown, decoded) = (seconds(words.next()?), seconds(words.next()?));
        Some((shown, decoded, words.next()?.contains('K')))
    });
    let Some((first, _, key)) = packets.next() else { return false };
    let leans = |shown: Option<f64>, decoded: Option<f64>| match (first, shown) {
        (Some(first), Some(shown)) => shown < first,
        (Some(_), None) => decoded.is_none(),
        (None, _) => false,
    };
    key && !packets.any(|(shown, decoded, _)| leans(shown, decoded))
}

/// Runs ffprobe on the first video of `input`; what it prints.
fn ask(input: &Input, question: &[&str], options: &VideoOptions) -> Result<String> {
    let (patience, stop) = (options.patience + input.probing(), &options.stop);
    let wrong = |reason: String| Error::Sequence { path: input.path().into(), reason };
    let mut command: Command = ffmpeg::command("ffprobe");
    // V, not v: the picture on the cover of a record is no video.
    command.args(["-v", "error", "-select_streams", "V:0"]).args(question).args(input.arguments());
    let mut child = ffmpeg::start(command, input.path())?;
    let come = Arc::new(AtomicUsize::new(0));
    let out = gathered(child.stdout.take(), MAX_ANSWER, &come)?;
    let err = gathered(child.stderr.take(), MAX_SAID, &come)?;
    // Time in which this program was stopped is not waited: looks are counted.
    let (look, mut before, mut waited) = (LOOK_EVERY.min(patience), 0, Duration::ZERO);
    let mut whole = |text: &Receiver<String>| loop {
        match text.recv_timeout(look) {
            Ok(text) => return Some(text),
            Err(_) if stop.is_cancelled() => return None,
            // Of a long video the answer takes its time, but it comes.
            Err(_) => match come.load(Ordering::Relaxed) {
                now if now > before => (before, waited) = (now, Duration::ZERO),
                _ if waited + look >= patience => return None,
                _ => waited += look,
            },
        }
    };
    let answer = whole(&out).zip(whole(&err));
    if answer.is_none() {
        ffmpeg::kill(&mut child);
    }
    let status = child.wait().map_err(|source| Error::io("ffprobe", source))?;
    let Some((text, said)) = answer else {
        return Err(wrong(match stop.is_cancelled() {
            true => "interrupted before ffprobe gave an answer".into(),
            false => format!("ffprobe gave no answer within {} s", patience.as_secs_f64()),
        }));
    };
    if !status.success() {
        // The last line is of the whole, those before it are of its parts and name them in brackets.
        let name = format!("{}: ", input.argument().to_string_lossy());
        let reason = |line: &str| line.trim().trim_start_matches(&name).rsplit("] ").next().map(String::from);
        let mut reasons: Vec<String> = said.lines().rev().filter_map(reason).take(2).collect();
        reasons.dedup();
        let said = if reasons.is_empty() { "it did not say why".into() } else { reasons.join(": ") };
        return Err(wrong(format!("ffmpeg cannot read it: {said}")));
    }
    Ok(text)
}

/// Reads all of an output on a thread of its own; `come` counts its bytes.
fn gathered(
    from: Option<impl Read + Send + 'static>,
    most: usize,
    come: &Arc<AtomicUsize>,
) -> Result<Receiver<String>> {
    let (sender, text) = channel();
    let come = Arc::clone(come);
    let read = move || {
        let count = |read| {
            come.fetch_add(read, Ordering::Relaxed);
        };
        let _ = sender.send(from.map(|from| ffmpeg::drained(from, most, count)).unwrap_or_default());
    };
    let spawned = std::thread::Builder::new().name("ffprobe".into()).spawn(read);
    spawned.map(|_| text).map_err(|source| Error::io("a thread for ffprobe", source))
}

/// The shape of a pixel such as 4:3; 0:1 stands for an unknown one.
fn aspect(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(':')?;
    let (width, height) = (width.parse().ok()?, height.parse().ok()?);
    (width > 0 && height > 0 && width != height).then_some((width, height))
}

/// A fraction such as 30000/1001; 0/0 stands for an unknown one.
fn ratio(text: &str) -> Option<f64> {
    let (above, below) = text.split_once('/')?;
    let rate = above.parse::<f64>().ok()? / below.parse::<f64>().ok()?;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ffprobe_says_of_a_video() {
        let text = r#"{"program_version": {"version": "5.1.9-0+deb12u1"}, "programs": [], "streams": [{"width": 64,
            "codec_name": "vp8", "height": 48, "pix_fmt": "yuv420p", "sample_aspect_ratio": "4:3",
            "r_frame_rate": "10/1", "avg_frame_rate": "30000/1001",
            "duration": "1.001", "side_data_list": [{}, {"rotation": -90}]}], "format": {"duration": "9.0"}}"#;
        let probe = Probe::parse(text).unwrap();
        assert_eq!((probe.size, probe.frames, probe.version), ((48, 64), Some(30), Some((5, 1))));
        assert_eq!((probe.pixels.as_str(), probe.turned), ("yuv420p", true));
        assert_eq!((probe.pixels.as_str(), probe.counts_packets()), ("yuv420p", false));
        assert!(Probe::parse(&text.replace("vp8", "vp9")).unwrap().counts_packets());
        let upright = Probe::parse(&text.replace("-90", "180").replace(r#""duration": "1.001","#, "")).unwrap();
        assert_eq!((upright.size, upright.frames, upright.turned), ((64, 48), Some(270), false));
        assert_eq!((probe.aspect, upright.aspect), (Some((3, 4)), Some((4, 3))));
        let square = |said: &str| Probe::parse(&text.replace("4:3", said)).unwrap().aspect;
        assert_eq!(["1:1", "0:1", "4:0", "N/A"].map(square), [None; 4]);
        let exact = Probe::parse(&text.replace(r#""width""#, r#""nb_frames": "31", "width""#)).unwrap();
        assert_eq!(exact.frames, Some(31));
        let unknown = Probe::parse(r#"{"streams": [{"width": 2, "height": 2, "avg_frame_rate": "0/0"}]}"#).unwrap();
        assert_eq!((unknown.rate, unknown.frames, unknown.version), (None, None, None));
        assert!(Probe::parse(r#"{"streams": []}"#).unwrap_err().contains("no video"));
        assert!(Probe::parse(r#"{"streams": [{"pix_fmt": "yuv420p"}]}"#).unwrap_err().contains("no size"));
        assert!(Probe::parse(&text.replace("vp8", "ansi")).unwrap_err().contains("this is text"));
        assert!(Probe::parse("nonsense").unwrap_err().contains("ffprobe"));
    }

    #[test]
    fn what_is_shown_before_the_first_packet_leans_on_what_is_not_there() {
        for (packets, whole) in [
            ("0.5,0.4,K__\n0.62,0.44,___\n0.54,N/A,___\n", true),
            ("0.5,N/A,K__,\n\n0.42,0.42,___,\n", false),
            ("0.5,N/A,___\n0.54,N/A,K__\n", false),
            // A copy into a form that counts from its first packet.
            ("0.0,N/A,K_\nN/A,N/A,__\n0.24,N/A,__\n", false),
            // AVI and raw streams.
            ("0.0,N/A,K_\nN/A,0.04,__\n", true),
            ("N/A,N/A,K__\nN/A,N/A,___\n", true),
            ("", false),
        ] {
            assert_eq!(is_whole(packets), whole, "{packets}");
        }
    }

    #[test]
    fn times_of_packets_in_the_order_of_what_is_shown() {
        let some = "0.5,0.4,K__\n0.62,0.44,___\n0.54,0.48,___\n0.58,0.52,_D_\n";
        let times = shown_at(some).unwrap();
        assert!(
            times.iter().zip([0.0, 0.04, 0.12]).all(|(time, expected)| (time - expected).abs() < 1e-9),
            "{times:?}"
        );
        for (what, changed) in [
            ("no time", some.replace("0.54,", "N/A,")),
            ("times that begin anew", some.replace("0.48,", "0.1,")),
            ("no key", some.replace("K__", "___")),
            ("what is shown before the first", some.replace("0.54,", "0.46,")),
            ("nothing", String::new()),
        ] {
            assert_eq!(shown_at(&changed), None, "{what}");
        }
        // What has no time of decoding has one of showing.
        assert!(shown_at(&some.replace("0.44,", "N/A,")).is_some());
    }
}
