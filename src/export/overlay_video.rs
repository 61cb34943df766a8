//! A video, encoded by one `ffmpeg` process that reads raw pictures.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use image::RgbImage;
use tempfile::NamedTempFile;

use super::OverlayOptions;
use super::output::{Destination, Output};
use crate::cancel;
use crate::error::{Error, Result};
use crate::ffmpeg;
use crate::pipe::Patient;

/// Frames per second of a video whose source has no rate.
const DEFAULT_RATE: f64 = 25.0;
/// Pictures that the video may be late by: more are left out. Times that are rounded, or jitter, leave out none.
const MAX_LATE: usize = 2;
/// Maximum repetitions of a picture in a pause.
const MAX_REPEATS: usize = 10_000;
/// How long ffmpeg may do nothing once the run is cancelled.
const GRACE: Duration = Duration::from_secs(1);
/// Lines of ffmpeg's log in an error.
const LOG_LINES: usize = 3;

/// The comment of a video, which tells ours from others.
pub(super) const COMMENT: &str = "Drawn by kcf-track ";

const H264: &[&str] = &["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-movflags", "+faststart"];
const VP9: &[&str] = &["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-crf", "32", "-b:v", "0"];
const WEBP: &[&str] = &["-c:v", "libwebp_anim", "-quality", "80", "-loop", "0"];
/// A palette per frame; one for all would keep all frames in memory.
const GIF: &[&str] = &["-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"];
/// Converts RGB to the colours of the source, or to BT.709, tagged as such, in 4:2:0 for all players, which needs even
/// sides.
fn color(tags: Option<&[String; 3]>) -> Vec<String> {
    let known = tags.and_then(|tags| match tags[2].as_str() {
        matrix @ ("bt709" | "smpte170m" | "bt470bg") => Some((tags.each_ref().map(String::as_str), matrix)),
        "bt2020nc" | "bt2020c" => Some(([&tags[0], &tags[1], "bt2020nc"], "bt2020")),
        _ => None,
    });
    let ([primaries, transfer, space], matrix) = known.unwrap_or((["bt709"; 3], "bt709"));
    // The scaler calls this matrix by its other name.
    let matrix = if matrix == "bt470bg" { "bt470" } else { matrix };
    let filter = format!("pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix={matrix}:out_range=tv,format=yuv420p");
    let words = ["-vf", &filter, "-colorspace", space, "-color_primaries", primaries, "-color_trc", transfer];
    words.into_iter().chain(["-color_range", "tv"]).map(String::from).collect()
}

/// ffmpeg's format for a path, the arguments of its codec, and whether it is a video rather than a moving picture.
fn format(path: &Path) -> (&'static str, &'static [&'static str], bool) {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "mkv" => ("matroska", H264, true),
        "mov" => ("mov", H264, true),
        "avi" => ("avi", H264, true),
        "webm" => ("webm", VP9, true),
        "gif" => ("gif", GIF, false),
        "webp" => ("webp", WEBP, false),
        _ => ("mp4", H264, true),
    }
}

/// A running ffmpeg and its log; killed when dropped.
struct Process {
    child: Child,
    stdin: Option<Patient<ChildStdin>>,
    log: NamedTempFile,
}

impl Drop for Process {
    fn drop(&mut self) {
        ffmpeg::kill(&mut self.child);
        let _ = self.child.wait();
    }
}

/// A video under construction. It appears when it is complete.
pub(super) struct VideoEncoder {
    output: Output,
    /// Frames per second.
    rate: f64,
    options: OverlayOptions,
    /// The tracks of sound, as ffmpeg's `-map` has them.
    tracks: &'static str,
    /// The process and its log, after the first picture.
    process: Option<Process>,
    /// The latest picture.
    last: RgbImage,
    /// Pictures so far.
    written: usize,
    /// The time of the first picture.
    begun: Option<f64>,
}

impl VideoEncoder {
    /// Checks that the video can be written and that ffmpeg is installed.
    pub(super) fn create(to: &Destination, options: &OverlayOptions) -> Result<Self> {
        let (output, path) = (Output::create(to)?, to.path());
        if output.temporary_path().is_none() {
            return Err(Error::output(path, "a video needs a file"));
        }
        let mut version = ffmpeg::command("ffmpeg");
        version.arg("-version").stdout(Stdio::null()).stderr(Stdio::null());
        ffmpeg::start(version, path)?.wait().map_err(|source| Error::io("ffmpeg", source))?;
        let mut encoder = Self {
            output,
            rate: options.rate.filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(DEFAULT_RATE),
            options: options.clone(),
            tracks: "a?",
            process: None,
            last: RgbImage::default(),
            written: 0,
            begun: None,
        };
        if let Some((file, _)) = options.sound.as_ref().filter(|_| format(path).2) {
            encoder.choose_tracks(file)?;
        }
        Ok(encoder)
    }

    /// Chooses all tracks of sound, or the first one if ffmpeg cannot convert all.
    fn choose_tracks(&mut self, file: &Path) -> Result<()> {
        let Some(reason) = self.attempt("a?")? else { return Ok(()) };
        if self.attempt("a:0?")?.is_none() {
            return Ok(());
        }
        if self.attempt("")?.is_some() {
            return Err(self.failure(&reason));
        }
        let reason = format!("ffmpeg cannot convert its sound ({reason}); `ffmpeg -i FILE -c copy -an NEW` removes it");
        Err(Error::sequence(file, reason))
    }

    /// Encodes one small picture with these tracks of sound. Returns why ffmpeg could not, if so.
    fn attempt(&mut self, tracks: &'static str) -> Result<Option<String>> {
        self.tracks = tracks;
        let small = RgbImage::new(16, 16);
        let mut process = self.start(small.dimensions(), 0.0)?;
        // If the picture cannot be written, ffmpeg says why.
        let _ = process.stdin.as_mut().map(|stdin| stdin.write_all(&small));
        self.process = Some(process);
        self.end()
    }

    /// Adds a picture that is shown at `time`. The video has one rate, so the picture before it is repeated until then, and
    /// pictures that come faster are left out.
    pub(super) fn write(&mut self, picture: RgbImage, time: Option<f64>) -> Result<()> {
        if self.process.is_none() {
            self.process = Some(self.start(picture.dimensions(), time.unwrap_or_default())?);
        }
        let due = time.map_or(self.written, |time| {
            let seconds = time - *self.begun.get_or_insert(time - self.written as f64 / self.rate);
            (seconds * self.rate).round().max(0.0) as usize
        });
        if self.written > due + MAX_LATE {
            self.last = picture;
            return Ok(());
        }
        let repeats = due.saturating_sub(self.written).min(MAX_REPEATS);
        let Some(stdin) = self.process.as_mut().and_then(|process| process.stdin.as_mut()) else { return Ok(()) };
        let mut written = (0..repeats).try_for_each(|_| stdin.write_all(&self.last));
        written = written.and_then(|()| stdin.write_all(&picture));
        self.written += repeats + 1;
        self.last = picture;
        written
            .or_else(|error| Err(self.end()?.map_or(self.failure(&error.to_string()), |reason| self.failure(&reason))))
    }

    /// Starts ffmpeg for pictures of this size, the first of which is shown at `time` in the source.
    fn start(&self, (width, height): (u32, u32), time: f64) -> Result<Process> {
        let (format, codec, is_video) = format(self.output.path());
        let log = NamedTempFile::new().map_err(|source| Error::io(std::env::temp_dir(), source))?;
        let stderr = log.reopen().map_err(|source| Error::io(log.path(), source))?;
        let mut command = ffmpeg::command("ffmpeg");
        command.args(["-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]);
        command.args(["-s", &format!("{width}x{height}"), "-r", &self.rate.to_string(), "-i", "pipe:0"]);
        if let Some((path, begin)) = self.options.sound.as_ref().filter(|_| is_video && !self.tracks.is_empty()) {
            command.args(["-ss", &(begin + time).to_string()]);
            let file: OsString = [OsStr::new("file:"), path.as_os_str()].into_iter().collect();
            command.arg("-i").arg(file).args(["-map", "0:v", "-map", &format!("1:{}", self.tracks), "-shortest"]);
            // Silence before and after the sound, so that it ends with the pictures. Opus has fewer layouts of channels.
            let layouts = if format == "webm" { ",aformat=channel_layouts=7.1|5.1|quad|stereo|mono" } else { "" };
            command.args(["-af", &format!("aresample=async=1:first_pts=0,apad{layouts}")]);
        }
        command.args(codec);
        if is_video {
            command.args(color(self.options.colors.as_ref()));
        }
        if let Some(aspect) = self.options.pixel_aspect {
            let [wide, high] = [(width, aspect.0), (height, aspect.1)];
            let [wide, high] = [wide, high].map(|(side, aspect)| u64::from(side) * u64::from(aspect));
            command.args(["-aspect", &format!("{wide}:{high}")]);
        }
        command.args(["-metadata", &format!("comment={COMMENT}{}", env!("CARGO_PKG_VERSION"))]);
        command.args(["-f", format]).args(self.output.temporary_path());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::from(stderr));
        let mut child = ffmpeg::start(command, self.output.path())?;
        let stdin = child.stdin.take().map(Patient::child).transpose().map_err(|source| Error::io("ffmpeg", source))?;
        Ok(Process { child, stdin, log })
    }

    /// Ends ffmpeg; returns why it failed, if it did.
    fn end(&mut self) -> Result<Option<String>> {
        let Some(mut process) = self.process.take() else { return Ok(None) };
        let mut watched = (String::new(), Instant::now());
        drop(process.stdin.take());
        let status = loop {
            let exited = process.child.try_wait().map_err(|source| Error::io("ffmpeg", source))?;
            let Some(status) = exited else {
                self.check_work(&process, &mut watched)?;
                std::thread::sleep(Duration::from_millis(2));
                continue;
            };
            break status;
        };
        let log = fs::read(process.log.path()).map_err(|source| Error::io(process.log.path(), source))?;
        let log = String::from_utf8_lossy(&log);
        // ffmpeg succeeds even if the end of the file does not fit on the disk.
        if status.success() && !log.contains("No space left") && !log.contains("Error writing trailer") {
            return Ok(None);
        }
        let lines: Vec<_> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("; ");
        Ok(Some(if last.is_empty() { status.to_string() } else { last }))
    }

    /// [`Error::Cancelled`] if the run is cancelled and ffmpeg has neither computed nor written for a while: it is stopped.
    fn check_work(&self, process: &Process, (state, since): &mut (String, Instant)) -> Result<()> {
        let Err(cancelled) = cancel::check() else { return Ok(()) };
        let length = self.output.temporary_path().and_then(|path| fs::metadata(path).ok()).map(|there| there.len());
        // On Linux this file has the times of ffmpeg.
        let times = fs::read_to_string(format!("/proc/{}/stat", process.child.id())).unwrap_or_default();
        let now = format!("{times} {length:?}");
        if *state != now {
            (*state, *since) = (now, Instant::now());
        }
        if since.elapsed() > GRACE { Err(cancelled) } else { Ok(()) }
    }

    fn failure(&self, reason: &str) -> Error {
        Error::output(self.output.path(), format!("ffmpeg could not encode the video: {reason}"))
    }

    /// Ends the video and puts it in its place. Without a picture the old file stays.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.process.is_none() {
            return Ok(());
        }
        match self.end()? {
            Some(reason) => Err(self.failure(&reason)),
            None => self.output.finish(),
        }
    }
}
