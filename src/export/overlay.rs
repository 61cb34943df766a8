//! Frames with boxes, states and truth drawn on them, in a folder or as a video.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use ab_glyph::FontRef;
use image::{ExtendedColorType, Rgb, RgbImage};
use imageproc::drawing::{draw_text_mut, text_size};
use ndarray::Array2;

use super::drawing::{darken, dashes, fill, font, inset, line, outline, stroke};
use super::effects::{CROP_REACH, Crop, CropOptions, Hidden, Veil, Window, hide};
use super::output::{Destination, Folder, is_video};
use super::overlay_video::VideoEncoder;
use super::{Exporter, FrameRecord, FrameResult, Run, Summary, TargetRecord};
use crate::atomic_file::AtomicFile;
use crate::bbox::BBox;
use crate::cancel::{lock, spawn};
use crate::encode::{self, in_color};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::media::has_extension;
use crate::tracker::State;

/// The background of an unreadable frame.
const NO_PICTURE: Rgb<u8> = Rgb([40, 40, 40]);

/// Upper limit of drawing threads; each holds one picture and has another waiting.
const MAX_THREADS: usize = 4;

/// The extensions of JPEG.
const JPEG: [&str; 2] = ["jpg", "jpeg"];

/// Quality of JPEG files, 1 to 100.
const QUALITY: u8 = 90;

/// The parts that are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Style {
    /// Boxes, trails and captions
    #[default]
    Full,
    /// Boxes
    Box,
    /// Nothing
    None,
}

/// Options of [`Overlays`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverlayOptions {
    /// The parts that are drawn.
    pub style: Style,
    /// The hidden areas, and how they are hidden.
    pub hidden: Option<(Veil, Hidden)>,
    /// The crop that follows the first target.
    pub crop: Option<CropOptions>,
    /// Whether the response to the first target is drawn in a corner.
    pub inset: bool,
    /// The file with the sound of a video, and the seconds from its start to the first frame.
    pub sound: Option<(PathBuf, f64)>,
    /// Primaries, transfer and matrix of a video's colours.
    pub colors: Option<[String; 3]>,
    /// Frames per second of a video.
    pub rate: Option<f64>,
    /// Width to height of a displayed pixel of a video; `None` for square ones.
    pub pixel_aspect: Option<(u32, u32)>,
}

/// Frames with boxes, trails and the true box (blue). One target has the colour of its state (green: tracking, yellow:
/// uncertain, red: lost, white: given) and a caption: frame, state, confidence, IoU, decision, peak and PSR. Several have
/// a colour each, with name or id, state and confidence at the box, which is dashed where it is uncertain or lost.
///
/// They go to a folder or, by its ending ([`is_video`]), to a video. In a folder JPEG frames stay JPEG, others become
/// PNG. A frame without targets is written as it is; an unreadable one becomes an empty picture with the last box. Other
/// threads draw and encode.
pub struct Overlays {
    /// `None` for a video.
    folder: Option<Folder>,
    options: OverlayOptions,
    trails: Trails,
    crop: Option<Crop>,
    /// Frames that wait for the later ones that their crop is smoothed over.
    waiting: VecDeque<Job>,
    painters: Painters,
}

impl Overlays {
    /// Opens the folder or the video.
    ///
    /// # Errors
    /// [`Error::Output`] when `to` cannot be written; [`Error::Sequence`] when a video needs `ffmpeg` and it is not
    /// installed.
    pub fn create(to: &Destination, options: OverlayOptions) -> Result<Self> {
        let (folder, painters) = if is_video(to.path()) {
            let video = VideoEncoder::create(to, &options)?;
            (None, Painters::start([Some(video)].into())?)
        } else {
            let count = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
            (Some(Folder::create(to)?), Painters::start((0..count).map(|_| None).collect())?)
        };
        let (trails, crop) = (Trails::default(), options.crop.map(Crop::new));
        Ok(Self { folder, options, trails, crop, waiting: VecDeque::new(), painters })
    }

    /// Hands frames on until `newer` wait.
    fn release(&mut self, newer: usize) -> Result<()> {
        while self.waiting.len() > newer {
            let Some(mut job) = self.waiting.pop_front() else { break };
            let painting = &mut job.painting;
            if let Some(crop) = &self.crop {
                painting.crop(crop, crop.window(self.waiting.len()));
            }
            self.painters.paint(job)?;
        }
        Ok(())
    }

    /// The picture of a frame, to be written; none for a video.
    fn file(&mut self, file: &str) -> Result<Option<AtomicFile>> {
        let Some(folder) = &mut self.folder else { return Ok(None) };
        let path = Path::new(file);
        let extension = path.extension().and_then(OsStr::to_str).filter(|_| has_extension(path, &JPEG));
        let name = folder.name_for(file, extension.unwrap_or("png"));
        folder.claim(&name).map(Some)
    }
}

impl Exporter for Overlays {
    fn lists_ended(&self) -> bool {
        false
    }

    /// A failure to write a picture may belong to an earlier frame.
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        let map = frame.responses.first().and_then(Option::as_ref).filter(|_| self.options.inset);
        let mut painting = Painting {
            picture: picture(frame)?,
            targets: Vec::with_capacity(frame.records.len()),
            // Where no target is followed there is nothing to compare.
            truth: frame.truth.filter(|truth| truth.is_valid() && !frame.records.is_empty()),
            inset: map.map(|map| map.centered()),
            style: self.options.style,
            hidden: self.options.hidden,
        };
        for record in frame.records {
            let who = who(record, &frame.run.targets);
            painting.targets.push(Drawn { record: record.clone(), who, trail: self.trails.follow(record) });
        }
        let file = self.file(frame.head.file)?;
        self.waiting.push_back(Job { painting, file, time: frame.head.time });
        if let Some(crop) = &mut self.crop {
            crop.add(frame);
        }
        self.release(if self.crop.is_some() { CROP_REACH } else { 0 })
    }

    fn finish(mut self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        self.release(0)?;
        self.painters.join()
    }
}

/// The pixels of a frame, or an empty picture if it is unreadable or of another size than the first one.
fn picture(frame: &FrameResult<'_>) -> Result<RgbImage> {
    let (width, height) = (frame.run.source.width, frame.run.source.height);
    match &frame.pixels {
        Some(pixels) if width == 0 || pixels.size() == (width, height) => in_color(pixels),
        _ => Ok(RgbImage::from_pixel(width.max(1) as u32, height.max(1) as u32, NO_PICTURE)),
    }
}

const TRUTH: Rgb<u8> = Rgb([86, 180, 233]);
const TEXT: Rgb<u8> = Rgb([245, 245, 245]);
const BLACK: Rgb<u8> = Rgb([0, 0, 0]);

/// State colours that colour-blind people can tell apart.
fn ink(state: State) -> Rgb<u8> {
    match state {
        State::Initial => Rgb([255, 255, 255]),
        State::Tracking => Rgb([60, 220, 90]),
        State::Recovered => Rgb([80, 190, 250]),
        State::Uncertain => Rgb([250, 220, 50]),
        State::Occluded => Rgb([200, 120, 220]),
        State::Lost => Rgb([235, 50, 35]),
        State::Missing => Rgb([150, 150, 150]),
    }
}

/// Colours of targets with ids, as on the page of the live view; colour-blind people can tell them apart.
const SIGNS: [[u8; 3]; 7] =
    [[230, 159, 0], [86, 180, 233], [0, 158, 115], [204, 121, 167], [213, 94, 0], [0, 114, 178], [184, 168, 0]];

/// The colour of a target: that of its id, or of its state if it is the only one.
fn color_of(record: &FrameRecord) -> Rgb<u8> {
    let sign = |id: u32| Rgb(SIGNS[(id as usize + SIGNS.len() - 1) % SIGNS.len()]);
    record.id.map_or(ink(record.state), sign)
}

/// Draws a box, turned if the target is. Lines grow with the picture.
fn draw_box(picture: &mut RgbImage, record: &FrameRecord) {
    let (thick, Some(bbox)) = (stroke(picture), record.finite_box()) else { return };
    let is_doubtful =
        !matches!(record.state, State::Initial | State::Tracking | State::Recovered) && record.id.is_some();
    if let Some(corners) = record.finite_polygon() {
        let corners = within_reach(picture, corners);
        draw_polygon(picture, &corners, thick + 2, BLACK, false);
        draw_polygon(picture, &corners, thick, color_of(record), is_doubtful);
        return;
    }
    outline(picture, &bbox, thick, thick + 1, BLACK);
    outline(picture, &bbox, 0, thick, color_of(record));
    if is_doubtful {
        dashes(picture, &bbox, thick, BLACK);
    }
}

/// The corners of a turned box. Far ones, which would take long to draw, are moved nearer.
fn within_reach(picture: &RgbImage, corners: [f64; 8]) -> [(f32, f32); 4] {
    let far = 4.0 * f64::from(picture.width().max(picture.height()));
    let near = corners.map(|at| at.clamp(-far, far) as f32);
    std::array::from_fn(|i| (near[2 * i], near[2 * i + 1]))
}

fn draw_polygon(picture: &mut RgbImage, corners: &[(f32, f32); 4], thick: i32, ink: Rgb<u8>, dashed: bool) {
    for (from, to) in corners.iter().zip(corners.iter().cycle().skip(1)) {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let parts = if dashed { (length / (3 * thick) as f32).ceil().max(1.0) as usize } else { 1 };
        let at = |k: usize| {
            let share = k as f32 / parts as f32;
            (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
        };
        (0..parts).step_by(2).for_each(|k| line(picture, at(k), at(k + 1), thick, ink));
    }
}

/// Draws a caption at the top or, if that hides a box or the inset, at the bottom; `ink` is a square before it.
fn caption(
    picture: &mut RgbImage,
    parts: &[String],
    ink: Option<Rgb<u8>>,
    boxes: &[BBox],
    inset: Option<BBox>,
    font: &FontRef<'_>,
) {
    let size = (picture.width().min(picture.height()) as f32 / 22.0).clamp(12.0, 120.0);
    let padding = (size / 3.0) as u32;
    let square = if ink.is_some() { (size * 0.7) as u32 + padding } else { 0 };
    // The last parts are dropped first.
    let fitting = (1..=parts.len()).rev().map(|count| parts[..count].join("   ")).find_map(|words| {
        let (width, height) = text_size(size, font, &words);
        let (width, height) = (width + square + 2 * padding, height + 2 * padding);
        (width <= picture.width() && height.saturating_mul(3) <= picture.height()).then_some((words, width, height))
    });
    let Some((words, width, height)) = fitting else { return };
    let bottom = picture.height() - height;
    let all: Vec<BBox> = boxes.iter().copied().chain(inset).collect();
    let hides = |top: u32, what: &[BBox]| {
        let strip = BBox::new(0.0, f64::from(top), f64::from(width), f64::from(height));
        what.iter().any(|what| what.intersection(&strip) > 0.0)
    };
    let down = hides(0, boxes) || hides(0, &all) && !hides(bottom, &all);
    let top = if down { bottom } else { 0 };
    let [padding, square, top, width, height] = [padding, square, top, width, height].map(|v| v as i32);
    darken(picture, [0, top, width, top + height]);
    if let Some(ink) = ink {
        let (side, middle) = (square - padding, top + (height - square + padding) / 2);
        fill(picture, [padding, middle, padding + side, middle + side], ink);
    }
    draw_text_mut(picture, TEXT, padding + square, top + padding, size, font, &words);
}

/// The frame, and the number of targets per state.
fn parts_of_many<'a>(records: impl Iterator<Item = &'a FrameRecord> + Clone) -> Vec<String> {
    let count = |state| records.clone().filter(|record| record.state == state).count();
    let states = State::ALL.iter().map(|&state| (state, count(state))).filter(|(_, count)| *count > 0);
    let states: Vec<String> = states.map(|(state, count)| format!("{count} {state}")).collect();
    let first = records.clone().next().map(|first| format!("#{}", first.index));
    first.into_iter().chain([states.join(", ")]).collect()
}

/// The parts of a caption, the most important first.
fn parts_of_one(record: &FrameRecord, truth: Option<&BBox>, size: (u32, u32)) -> Vec<String> {
    let (bbox, (width, height)) = (record.finite_box(), size);
    let mut parts = vec![format!("#{}", record.index), record.state.to_string()];
    let is_off = bbox.is_some_and(|bbox| bbox.visible_share(width as usize, height as usize) == 0.0);
    parts.extend(is_off.then(|| "off the image".into()));
    // The response to the training frame says nothing about tracking.
    let found = Some(record).filter(|record| record.state != State::Initial);
    parts.extend(found.and_then(|record| record.confidence).map(|confidence| format!("confidence {confidence:.2}")));
    parts.extend(bbox.zip(truth).map(|(bbox, truth)| format!("IoU {:.2}", bbox.overlap(truth))));
    parts.extend(record.decision.map(|decision| format!("decision {decision:.2}")));
    parts.extend(found.and_then(|record| record.peak).map(|peak| format!("peak {peak:.2}")));
    parts.extend(found.and_then(|record| record.psr).map(|psr| format!("PSR {psr:.1}")));
    parts
}

/// Pixels around a label.
const MARGIN: i32 = 3;

/// Labels all boxes.
fn labels(picture: &mut RgbImage, targets: &[Drawn], font: &FontRef<'_>) {
    let line = stroke(picture);
    let known: Vec<_> = targets.iter().filter_map(|target| Some((target, target.record.finite_box()?))).collect();
    let size = (picture.width().min(picture.height()) as f32 / 28.0).clamp(11.0, 90.0);
    let mut placed = Vec::new();
    for (target, bbox) in &known {
        let words = label(target);
        let (width, height) = text_size(size, font, &words);
        let extent = [width, height].map(|side| i32::try_from(side).unwrap_or(i32::MAX / 4) + 2 * MARGIN);
        let area = place(bbox, extent, picture.dimensions(), line, &placed);
        placed.push(area);
        darken(picture, area);
        draw_text_mut(picture, TEXT, area[0] + MARGIN, area[1] + MARGIN, size, font, &words);
    }
}

/// Label of a target: its name, else its class and id, else its id.
fn who(record: &FrameRecord, targets: &[TargetRecord]) -> String {
    let id = record.id.unwrap_or(1);
    match targets.iter().find(|target| target.id == id) {
        Some(TargetRecord { name: Some(name), .. }) => name.clone(),
        Some(TargetRecord { class: Some(class), .. }) => format!("{class} {id}"),
        _ => id.to_string(),
    }
}

fn label(Drawn { record, who, .. }: &Drawn) -> String {
    let confidence = record.confidence.filter(|_| record.state != State::Initial);
    let confidence = confidence.map_or(String::new(), |confidence| format!(" {confidence:.2}"));
    format!("{who} {}{confidence}", record.state)
}

/// Left, top, right and bottom of a label, the last two exclusive: above the box, or in it if there is no space above, and
/// above `others` that it would cover.
fn place(bbox: &BBox, [width, height]: [i32; 2], picture: (u32, u32), line: i32, others: &[[i32; 4]]) -> [i32; 4] {
    let pixel = |edge: f64| edge.clamp(-1e8, 1e8) as i32;
    let above = pixel(bbox.y) - line - 1 - height;
    let top = if above >= 0 { above } else { pixel(bbox.y) + line + 1 };
    // Labels stay inside the picture.
    let inside = |at: i32, side: u32, length: i32| {
        at.clamp(0, i32::try_from(side).unwrap_or(i32::MAX).saturating_sub(length).max(0))
    };
    let (left, mut top) = (inside(pixel(bbox.x), picture.0, width), inside(top, picture.1, height));
    let covers = |at: &[i32; 4], top: i32| {
        at[0] < left + width && left < at[2] && at[1] < top + height && top < at[3] && at[1] >= height
    };
    while let Some(other) = others.iter().find(|other| covers(other, top)) {
        top = other[1] - height;
    }
    [left, top, left + width, top + height]
}

/// Frames that a trail reaches back.
const TRAIL: usize = 30;

/// A target in a frame, and its trail.
#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    pub record: FrameRecord,
    /// Label of the target.
    pub who: String,
    /// Centres of its latest boxes, the oldest first.
    pub trail: Vec<(f32, f32)>,
}

/// A picture and everything to be drawn on it.
#[derive(Clone, Debug, Default)]
struct Painting {
    pub picture: RgbImage,
    pub targets: Vec<Drawn>,
    pub truth: Option<BBox>,
    /// A response map, centred.
    pub inset: Option<Array2<f32>>,
    pub style: Style,
    pub hidden: Option<(Veil, Hidden)>,
}

impl Painting {
    /// Cuts a window out of the picture and moves everything into it.
    fn crop(&mut self, crop: &Crop, window: Window) {
        self.picture = crop.cut(&self.picture, &window);
        let Window { left, top, scale } = window;
        let at = |x: f64, y: f64| ((x - left) / scale, (y - top) / scale);
        let moved = |BBox { x, y, w, h }| {
            let (x, y) = at(x, y);
            BBox::new(x, y, w / scale, h / scale)
        };
        self.truth = self.truth.map(moved);
        for Drawn { record, trail, .. } in &mut self.targets {
            record.bbox = moved(record.bbox);
            for corner in record.polygon.iter_mut().flat_map(|corners| corners.as_chunks_mut::<2>().0) {
                *corner = at(corner[0], corner[1]).into();
            }
            for (x, y) in trail {
                let moved = at((*x).into(), (*y).into());
                (*x, *y) = (moved.0 as f32, moved.1 as f32);
            }
        }
    }

    /// Hides what is to be hidden, and draws everything; boxes and captions cover the response map.
    pub fn paint(&mut self, font: &FontRef<'_>) {
        let Self { picture, targets, truth, inset: map, style, hidden } = self;
        let records = || targets.iter().map(|target| &target.record);
        if let Some(hidden) = *hidden {
            hide(picture, hidden, records());
        }
        let inset = map.as_ref().and_then(|map| inset(picture, map.view()));
        if *style == Style::None {
            return;
        }
        let full = *style == Style::Full;
        for target in targets.iter().filter(|_| full) {
            trail(picture, &target.trail, color_of(&target.record));
        }
        records().for_each(|record| draw_box(picture, record));
        // The truth is drawn inside its edge and the box outside, so both are visible when they coincide.
        if let Some(truth) = truth {
            outline(picture, truth, -stroke(picture), 0, TRUTH);
        }
        let mut boxes: Vec<BBox> = records().filter_map(FrameRecord::finite_box).collect();
        boxes.extend(*truth);
        match &targets[..] {
            _ if !full || targets.is_empty() => {}
            [Drawn { record, .. }] if record.id.is_none() => {
                let parts = parts_of_one(record, truth.as_ref(), picture.dimensions());
                caption(picture, &parts, Some(ink(record.state)), &boxes, inset, font);
            }
            _ => {
                labels(picture, targets, font);
                caption(picture, &parts_of_many(records()), None, &boxes, inset, font);
            }
        }
    }
}

/// A copy of a frame with boxes on it, without trails.
pub(super) fn drawn(
    frame: &Frame<'_>,
    records: &[FrameRecord],
    targets: &[TargetRecord],
    style: Style,
) -> Result<RgbImage> {
    let of = |record: &FrameRecord| Drawn { record: record.clone(), who: who(record, targets), trail: Vec::new() };
    let targets = records.iter().map(of).collect();
    let mut painting = Painting { picture: in_color(frame)?, targets, style, ..Painting::default() };
    painting.paint(&font());
    Ok(painting.picture)
}

/// Draws lines from centre to centre, half as thick as boxes.
fn trail(picture: &mut RgbImage, centers: &[(f32, f32)], ink: Rgb<u8>) {
    // Lines are drawn pixel by pixel, so one that leads far outside is left out.
    let far = 4.0 * picture.width().max(picture.height()) as f32;
    let near = |(x, y): (f32, f32)| x.abs() < far && y.abs() < far;
    let thick = (stroke(picture) + 1) / 2;
    for pair in centers.windows(2).filter(|pair| near(pair[0]) && near(pair[1])) {
        line(picture, pair[0], pair[1], thick, ink);
    }
}

/// The trails of all targets: centres, the oldest first.
#[derive(Clone, Debug, Default)]
struct Trails(BTreeMap<Option<u32>, VecDeque<(f32, f32)>>);

impl Trails {
    /// Adds the box of a target and returns its trail.
    pub fn follow(&mut self, record: &FrameRecord) -> Vec<(f32, f32)> {
        let trail = self.0.entry(record.id).or_default();
        if let Some(bbox) = record.finite_box() {
            let (x, y) = bbox.center();
            trail.push_back((x as f32, y as f32));
        }
        if trail.len() > TRAIL {
            trail.pop_front();
        }
        trail.iter().copied().collect()
    }
}

/// A picture to be drawn, and its file or its time in a video.
#[derive(Debug)]
struct Job {
    painting: Painting,
    file: Option<AtomicFile>,
    time: Option<f64>,
}

/// Threads that draw and write pictures.
struct Painters {
    /// `None` after the last picture.
    jobs: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Painters {
    /// Starts a thread per sink.
    fn start(sinks: Vec<Option<VideoEncoder>>) -> Result<Self> {
        let (jobs, receiver) = sync_channel(sinks.len());
        let receiver = Arc::new(Mutex::new(receiver));
        let mut painters = Self { jobs: Some(jobs), threads: Vec::new() };
        for sink in sinks {
            let (font, receiver) = (font(), Arc::clone(&receiver));
            painters.threads.push(spawn("overlay", move || draw_all(&receiver, &font, sink))?);
        }
        Ok(painters)
    }

    /// Hands a picture to the next free thread.
    fn paint(&mut self, job: Job) -> Result<()> {
        let has_failed = self.threads.iter().any(JoinHandle::is_finished);
        match &self.jobs {
            Some(jobs) if !has_failed && jobs.send(job).is_ok() => Ok(()),
            _ => self.join(),
        }
    }

    /// Waits until all pictures are written; returns the first failure.
    fn join(&mut self) -> Result<()> {
        self.jobs = None;
        let panicked = || Error::io("drawing thread", io::Error::other("it panicked"));
        let results: Vec<_> = self.threads.drain(..).map(|thread| thread.join()).collect();
        results.into_iter().try_for_each(|result| result.unwrap_or_else(|_| Err(panicked())))
    }
}

fn draw_all(jobs: &Mutex<Receiver<Job>>, font: &FontRef<'_>, mut video: Option<VideoEncoder>) -> Result<()> {
    let next = || lock(jobs).recv().ok();
    while let Some(Job { mut painting, file, time }) = next() {
        painting.paint(font);
        match &mut video {
            None => file.map_or(Ok(()), |file| write_picture(&painting.picture, file))?,
            Some(video) => video.write(painting.picture, time)?,
        }
    }
    video.map_or(Ok(()), VideoEncoder::finish)
}

/// Writes a picture in the format of its file's ending.
fn write_picture(picture: &RgbImage, file: AtomicFile) -> Result<()> {
    // A JPEG has no room for longer sides; such a picture becomes a PNG.
    let jpeg = Frame::try_from(picture).ok().filter(|_| has_extension(file.target(), &JPEG));
    let jpeg = jpeg.and_then(|frame| encode::jpeg(&frame, QUALITY, false).ok());
    let png = || encode::png(picture, picture.dimensions(), ExtendedColorType::Rgb8);
    let bytes = jpeg.map_or_else(png, Ok).map_err(|source| Error::io(file.target(), source))?;
    file.finish(&bytes)
}

#[cfg(test)]
mod tests;
