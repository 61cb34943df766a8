//! Times the tracker on a sequence whose frames lie in memory, and prints what it did as JSON on one line.
//!
//!     cargo run --release --example bench_sequence -- DIR [--target N] [--preset NAME] [--frames K] [--repeat N]
//!                                                     [--channels luma|color] [--files]
//!     cargo run --release --example bench_sequence -- DIR --decode here|ahead [--channels luma|color]
//!
//! Decoding and `Tracker::init` are not part of the time: a run is the updates of frames 2 to K, by the clock on the
//! wall and by the time that its thread had a core (what is left of it on a busy machine). `scripts/compare_opencv.py`
//! takes turns between this program and others. With `--decode`, frames are only read and decoded, in this thread or
//! ahead on another one: what tracking a folder is compared with (`scripts/end_to_end.py`). Their number and that of
//! their pixels is printed.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use cpu_time::ThreadTime;
use kcf_track::Channels;
use kcf_track::cancel::CancelToken;
use kcf_track::media::{OpenOptions, Prefetch, Sequence, Source};
use kcf_track::run::Session;
use kcf_track::{BBox, FrameBuf, Params, Tracker};

type Failure = Box<dyn std::error::Error>;

struct Arguments {
    folder: String,
    target: Option<u32>,
    preset: String,
    frames: usize,
    repeat: usize,
    channels: Channels,
    /// Also name the image files and the truth, so that another program can do the same.
    files: bool,
    /// Only decode; whether on a thread ahead.
    decode: Option<bool>,
}

impl Arguments {
    fn parse() -> Result<Self, Failure> {
        let mut given: VecDeque<String> = std::env::args().skip(1).collect();
        let mut arguments = Self {
            folder: given.pop_front().ok_or("the folder of a sequence is needed")?,
            target: None,
            preset: "paper".into(),
            frames: usize::MAX,
            repeat: 1,
            channels: Channels::Luma,
            files: false,
            decode: None,
        };
        while let Some(name) = given.pop_front() {
            if name == "--files" {
                arguments.files = true;
                continue;
            }
            let value = given.pop_front().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--target" => arguments.target = Some(value.parse()?),
                "--preset" => arguments.preset = value,
                "--frames" => arguments.frames = value.parse()?,
                "--repeat" => arguments.repeat = value.parse()?,
                "--channels" if value == "luma" => arguments.channels = Channels::Luma,
                "--channels" if value == "color" => arguments.channels = Channels::Color,
                "--decode" if value == "here" => arguments.decode = Some(false),
                "--decode" if value == "ahead" => arguments.decode = Some(true),
                _ => return Err(format!("{name} {value} is not known").into()),
            }
        }
        Ok(arguments)
    }
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse()?;
    let params = Params::preset(&arguments.preset)?;
    let options = OpenOptions { target: arguments.target, ..Default::default() };
    let sequence = Sequence::open(&arguments.folder, &options)?;
    if let Some(ahead) = arguments.decode {
        return decode_only(&sequence, arguments.channels, ahead);
    }
    let info = sequence.info();
    let first = info.span(None, None)?.first;
    let last =
        info.default_span.last.unwrap_or(info.images.len()).min(first.saturating_add(arguments.frames.max(2) - 1));
    let initial = info.initial_box(first)?;
    let frames: Vec<FrameBuf> = Prefetch::open(&sequence, first..=last, arguments.channels, &CancelToken::default())?
        .map(|item| item.frame)
        .collect::<Result<_, _>>()?;

    let (mut seconds, mut cpu_seconds) = (Vec::new(), Vec::new());
    let mut boxes = Vec::new();
    for _ in 0..arguments.repeat.max(1) {
        let (time, cpu_time, found) = track(&params, &frames, initial)?;
        seconds.push(time);
        cpu_seconds.push(cpu_time);
        boxes = found;
    }
    let mut result = serde_json::json!({
        "sequence": info.name,
        "preset": arguments.preset,
        "first": first,
        "last": last,
        "updates": frames.len() - 1,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "boxes": boxes,
    });
    if arguments.files {
        result["files"] = serde_json::to_value(&info.images[first - 1..last])?;
        result["truth"] = serde_json::to_value(&info.truth[first - 1..last])?;
    }
    println!("{result}");
    Ok(())
}

/// Reads and decodes all frames and does nothing with them.
fn decode_only(sequence: &Sequence, channels: Channels, ahead: bool) -> Result<(), Failure> {
    let (span, cancel) = (sequence.info().span(None, None)?, CancelToken::default());
    let items: Box<dyn Iterator<Item = _>> = match ahead {
        true => Box::new(Prefetch::open(sequence, span, channels, &cancel)?),
        false => sequence.stream(span, channels.into(), &cancel)?,
    };
    let (mut frames, mut pixels) = (0, 0);
    for item in items {
        let frame = item.frame?;
        frames += 1;
        pixels += frame.as_frame().width() * frame.as_frame().height();
    }
    println!("{frames} frames, {pixels} pixels");
    Ok(())
}

/// The seconds that all updates took on the wall and on a core, and the boxes.
fn track(params: &Params, frames: &[FrameBuf], initial: BBox) -> Result<(f64, f64, Vec<BBox>), Failure> {
    let mut session = Session::of(Tracker::new(params.clone())?, 1, initial);
    let mut boxes = Vec::with_capacity(frames.len());
    let (first, rest) = frames.split_first().ok_or("there are no frames")?;
    session.feed(1, first)?;
    boxes.push(initial);
    let (begun, cpu_begun) = (Instant::now(), ThreadTime::now());
    for (position, frame) in (2..).zip(rest) {
        boxes.push(black_box(session.feed(position, frame)?[0].bbox));
    }
    Ok((begun.elapsed().as_secs_f64(), cpu_begun.elapsed().as_secs_f64(), boxes))
}
