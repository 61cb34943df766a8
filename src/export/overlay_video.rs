//! Drawn frames as a video, encoded by `ffmpeg`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use image::RgbImage;
use tempfile::NamedTempFile;

use super::Destination;
use super::destination::Target;
use super::encoder::Encoder;
use super::fed::PATIENCE;
use super::painters::{Deliver, Place};
use super::patient::Heed;
use super::timed_video::{self, Pictures};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::ffmpeg;
use crate::replace::temporary_beside;

/// Longest time until a thread that takes no more pictures has ended.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// The shortest time that a frame is shown, in seconds, in a form that counts thousandths of them.
const SHORTEST: f64 = 1e-3;

/// The same in mp4 and mov: two ticks of [`TIME_BASE`].
const SHORTEST_IN_MP4: f64 = 2.0 / 90_000.0;

/// The rate of a video whose frames have none.
const USUAL_RATE: f64 = 25.0;

/// Pictures that wait to be encoded.
const WAITING: usize = 4;

/// Pictures by which it is known how long one is shown.
const FIRST: usize = 5;

/// Endings of videos that can be written, ffmpeg's name of the form and how it is encoded.
const FORMS: [(&str, &str, &[&str]); 8] = [
    ("mp4", "mp4", H264),
    ("m4v", "mp4", H264),
    ("mov", "mov", H264),
    ("mkv", "matroska", H264),
    ("avi", "avi", H264),
    ("webm", "webm", VP9),
    // A palette a frame: one for all of them would keep all of them in memory.
    ("gif", "gif", &["-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"]),
    ("webp", "webp", &["-c:v", "libwebp_anim", "-quality", "80", "-loop", "0"]),
];

/// Every player shows 4:2:0, which needs even sides.
const H264: &[&str] = &[
    "-c:v",
    "libx264",
    "-preset",
    "veryfast",
    "-crf",
    "20",
    "-pix_fmt",
    "yuv420p",
    "-vf",
    "pad=ceil(iw/2)*2:ceil(ih/2)*2",
    "-movflags",
    "+faststart",
];

/// Browsers show 4:2:0 alone.
const VP9: &[&str] = &[
    "-c:v",
    "libvpx-vp9",
    "-deadline",
    "realtime",
    "-cpu-used",
    "8",
    "-crf",
    "32",
    "-b:v",
    "0",
    "-pix_fmt",
    "yuv420p",
];

/// Forms that have one rate: that of a GIF's pictures is kept to hundredths of a second.
const OF_ONE_RATE: [&str; 2] = ["avi", "gif"];

/// Seconds of a tick of all others: the usual rates are whole ticks.
const TIME_BASE: &str = "1:90000";

/// The highest rate of a GIF: players take what is shown for less than a fiftieth of a second for a tenth.
const GIF_RATE: f64 = 50.0;

fn form(path: &Path) -> Option<(&'static str, &'static [&'static str])> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    FORMS.iter().find(|(known, ..)| *known == ending).map(|(_, form, arguments)| (*form, *arguments))
}

/// A video that pictures are added to, from any thread and in any order, and that appears when it is whole.
#[derive(Debug)]
pub(super) struct OverlayVideo {
    path: PathBuf,
    file: NamedTempFile,
    rate: f64,
    /// Width to height of a pixel as it is shown.
    pixel_aspect: (u32, u32),
    /// The shortest time between two frames.
    shortest: f64,
    pictures: SyncSender<(Turn, RgbImage)>,
    /// Until the size of the pictures is known.
    waiting: Option<Receiver<(Turn, RgbImage)>>,
    encoder: Option<Encoder>,
    last: Option<Turn>,
    heed: Heed,
    /// That of ffmpeg.
    version: Option<(u32, u32)>,
    /// When the video begins, as the frames count time.
    begun: Option<f64>,
}

/// The place of a picture in a video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turn {
    number: usize,
    /// Seconds from the first one.
    at: f64,
}

impl OverlayVideo {
    /// Checks that it can be written, and that ffmpeg is there.
    pub fn create(path: &Path, rate: Option<f64>, pixel_aspect: Option<(u32, u32)>) -> Result<Self> {
        let path = match Destination::from(path).probe()? {
            Target::File(path) => path,
            Target::Stdout | Target::Special(_) => {
                let reason = "a video is no pipe and no device; name a file".into();
                return Err(Error::Output { path: path.into(), reason });
            }
        };
        let mut version = ffmpeg::command("ffmpeg");
        version.arg("-version");
        let said = ffmpeg::start(version, &path)?.wait_with_output();
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let version = said.split_whitespace().nth(2).and_then(ffmpeg::version);
        let file = temporary_beside(&path).map_err(|source| Error::io(&path, source))?;
        let (pictures, waiting) = sync_channel(WAITING);
        let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(USUAL_RATE);
        let shortest = match form(&path) {
            Some(("mp4" | "mov", _)) => SHORTEST_IN_MP4,
            _ => SHORTEST,
        };
        Ok(Self {
            path,
            file,
            rate,
            pixel_aspect: pixel_aspect.unwrap_or((1, 1)),
            shortest,
            pictures,
            waiting: Some(waiting),
            encoder: None,
            last: None,
            heed: Heed::default(),
            version,
            begun: None,
        })
    }

    /// Gives up an ffmpeg that takes no pictures soon after `stop` is set.
    pub fn heed(&self, stop: &CancelToken) {
        self.heed.told_by(stop);
    }

    /// What hands pictures over.
    pub fn deliver(&self) -> Box<Deliver> {
        let (pictures, path) = (self.pictures.clone(), self.path.clone());
        Box::new(move |picture, place| match place {
            // The other side goes when ffmpeg does: `trouble` says why.
            Place::Turn(turn) => pictures.send((turn, picture)).map_err(|_| gone(&path)),
            Place::File(_) => Ok(()),
        })
    }

    /// The place of the next picture in the video, of a frame that is shown at `time`. The first tells the size.
    pub fn turn(&mut self, width: u32, height: u32, time: Option<f64>) -> Result<Turn> {
        if let Some(pictures) = self.waiting.take() {
            self.encoder = Some(self.start(pictures, width, height)?);
        }
        let (number, earliest, soon) = match self.last {
            None => (0, 0.0, 0.0),
            Some(last) => (last.number + 1, last.at + self.shortest, last.at + 1.0 / self.rate),
        };
        // A frame without a time comes as soon as frames do.
        let at = time.map_or(soon, |time| time - *self.begun.get_or_insert(time - soon));
        let turn = Turn { number, at: at.max(earliest) };
        self.last = Some(turn);
        Ok(turn)
    }

    fn start(&self, pictures: Receiver<(Turn, RgbImage)>, width: u32, height: u32) -> Result<Encoder> {
        let mut command = ffmpeg::command("ffmpeg");
        let (form, arguments) = form(&self.path).unwrap_or(("mp4", H264));
        let (size, rate) = (format!("{width}x{height}"), self.rate.to_string());
        let timed = Pictures { width, height, pixel_aspect: self.pixel_aspect };
        let timed = (!OF_ONE_RATE.contains(&form)).then_some((timed, 1.0 / self.rate));
        command.args(["-v", "error", "-y"]);
        match timed {
            Some(_) => command
                .args(["-f", "matroska", "-i", "pipe:0", "-an", "-enc_time_base", TIME_BASE])
                .args(ffmpeg::passthrough(self.version)),
            None => command.args(["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", &size, "-r", &rate, "-i", "pipe:0"]),
        };
        command.args(arguments);
        if form == "gif" && self.rate > GIF_RATE {
            command.args(["-r", &GIF_RATE.to_string()]);
        }
        command.args(["-f", form]).arg(self.file.path());
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let write = move |input| in_turn(&pictures, timed, input);
        Encoder::start(command, &self.path, self.file.path(), &self.heed, PATIENCE, write)
    }

    /// Why ffmpeg takes no more pictures, where that is so.
    pub fn trouble(&mut self) -> Option<Error> {
        // Its thread ends a moment after it takes no more; if it goes on, it was something else.
        let begun = Instant::now();
        while !self.encoder.as_ref()?.is_fed() && begun.elapsed() < LAST_BREATH {
            std::thread::sleep(Duration::from_millis(1));
        }
        let encoder = self.encoder.take_if(|encoder| encoder.is_fed())?;
        encoder.end(&self.path).err()
    }

    /// Ends the video and puts it in its place; one that has no picture leaves the old file.
    pub fn finish(self) -> Result<()> {
        let Self { path, file, pictures, encoder, .. } = self;
        drop(pictures);
        let Some(encoder) = encoder else { return Ok(()) };
        encoder.end(&path)?;
        let file = file.persist(&path).map_err(|error| Error::io(&path, error.error))?;
        let _ = file.unlock();
        Ok(())
    }
}

/// Writes pictures by their numbers, however they come. Where they are `timed`, with their times, and behind a head
/// that says how far apart the first ones are; so many seconds where there is only one.
fn in_turn(
    pictures: &Receiver<(Turn, RgbImage)>,
    timed: Option<(Pictures, f64)>,
    mut input: impl Write,
) -> std::io::Result<()> {
    let (mut early, mut number) = (BTreeMap::new(), 0);
    let mut come = pictures.iter();
    if let Some((pictures, gap)) = timed {
        early.extend(come.by_ref().take(FIRST).map(|(turn, picture)| (turn.number, (turn.at, picture))));
        let times: Vec<_> = early.iter().map(|(&number, &(at, _))| Turn { number, at }).collect();
        input.write_all(&timed_video::head(pictures, usual_gap(&times).unwrap_or(gap)))?;
    }
    loop {
        while let Some((at, picture)) = early.remove(&number) {
            if timed.is_some() {
                input.write_all(&timed_video::before_picture(at, picture.len()))?;
            }
            input.write_all(&picture)?;
            number += 1;
        }
        let Some((turn, picture)) = come.next() else { break };
        early.insert(turn.number, (turn.at, picture));
    }
    input.flush()
}

/// The median of the times from one picture to the next, of some in their order. (A mean would be one of the pauses.)
fn usual_gap(turns: &[Turn]) -> Option<f64> {
    let gap = |pair: &[Turn]| (pair[1].at - pair[0].at) / (pair[1].number - pair[0].number) as f64;
    let mut gaps: Vec<f64> = turns.windows(2).map(gap).collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied()
}

fn gone(path: &Path) -> Error {
    Error::Output { path: path.into(), reason: "ffmpeg has ended before the video".into() }
}

#[cfg(test)]
mod tests {
    use super::super::destination::{VIDEOS, is_video};
    use super::*;

    #[test]
    fn pictures_are_written_in_their_turn() {
        let (sender, pictures) = sync_channel(8);
        for number in [2, 0, 3, 1] {
            let turn = Turn { number, at: 0.0 };
            sender.send((turn, RgbImage::from_pixel(1, 1, image::Rgb([number as u8; 3])))).unwrap();
        }
        drop(sender);
        let mut written = Vec::new();
        in_turn(&pictures, None, &mut written).unwrap();
        assert_eq!(written, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
    }

    #[test]
    fn a_pause_is_not_how_long_a_picture_is_shown() {
        let turns = |turns: &[(usize, f64)]| {
            let turns: Vec<_> = turns.iter().map(|&(number, at)| Turn { number, at }).collect();
            usual_gap(&turns)
        };
        assert_eq!(turns(&[(0, 0.0), (1, 0.5), (2, 900.5), (4, 901.5)]), Some(0.5));
        assert_eq!((turns(&[(0, 0.0)]), turns(&[])), (None, None));
    }

    #[test]
    fn endings_of_videos() {
        let (known, all) = (FORMS.map(|(ending, ..)| ending), VIDEOS);
        assert_eq!(known, all);
        for (name, video) in [("a.mp4", true), ("b.GIF", true), ("c", false), ("d.png", false), ("mp4", false)] {
            assert_eq!((is_video(Path::new(name)), form(Path::new(name)).is_some()), (video, video), "{name}");
        }
    }
}
