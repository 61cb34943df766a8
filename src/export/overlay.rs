//! Frames with boxes, states and truth drawn on them, in a folder or as a video.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use image::{ExtendedColorType, Rgb, RgbImage};
use ndarray::Array2;

use super::drawing::{Corner, Letters, darken, fill, inset, line, outline, stroke};
use super::output::is_video;
use super::overlay_video::{OverlayVideo, Turn};
use super::response::{Folder, put};
use super::{Export, FrameRecord, FrameView, Run, Summary};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::{Frame, PixelFormat};
use crate::jpeg::encode;
use crate::png;
use crate::tracker::State;

/// The colour of a frame that there is no picture of.
const NOTHING: Rgb<u8> = Rgb([40, 40, 40]);

/// How frames are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverlayOptions {
    /// Whether the response to the first target is shown in a corner.
    pub inset: bool,
    /// Frames per second of a video.
    pub rate: Option<f64>,
    /// Width to height of a pixel of a video as it is shown; square ones without it.
    pub pixel_aspect: Option<(u32, u32)>,
}

/// Frames in colour with the boxes on them (green: tracking, yellow: uncertain, red: lost, white: a box that was
/// given), the ways that the targets came, the true box where there is one (blue), and words: position, state,
/// confidence, peak, peak-to-sidelobe ratio, a machine's decision, overlap with the truth; of several targets the name,
/// the state and the confidence of each at its box.
///
/// They go to a folder, or to a video, as the ending of its name says ([`is_video`]). In a folder JPEG frames stay JPEG
/// and keep their names, all others become PNG; a video is made by `ffmpeg`. What is drawn on is the frame that was
/// tracked; one that could not be read gets an empty picture with the last box, so that a numbered series has no hole.
/// Pictures are drawn and written on threads of their own.
#[derive(Debug)]
pub struct Overlays {
    to: To,
    options: OverlayOptions,
    /// Width and height of the run's frames.
    size: Option<(u32, u32)>,
    trails: Trails,
    /// The targets of the frame at hand.
    targets: Vec<Drawn>,
    painting: Painting,
    /// Where the response was drawn last.
    corner: Corner,
    painters: Painters,
}

#[derive(Debug)]
enum To {
    Folder(Folder),
    Video(OverlayVideo),
}

impl Overlays {
    /// Makes the folder, if need be, and checks that it can be written to; or does so for a video.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do; [`Error::Sequence`] where a video needs `ffmpeg` and it is
    /// not installed; [`Error::Io`] when no thread can be started.
    pub fn create(path: &Path, options: OverlayOptions) -> Result<Self> {
        let (to, painters) = if is_video(path) {
            let video = OverlayVideo::create(path, options.rate, options.pixel_aspect)?;
            let painters = Painters::start(path, video.deliver())?;
            (To::Video(video), painters)
        } else {
            let folder = Folder::create(path)?;
            (To::Folder(folder), Painters::start(path, Box::new(write_picture))?)
        };
        let (trails, targets, painting, corner) =
            (Trails::default(), Vec::new(), Painting::default(), Corner::default());
        Ok(Self { to, options, size: None, trails, targets, painting, corner, painters })
    }

    /// The picture to draw on; `None` where not even the size is known.
    fn picture(&self, view: &FrameView<'_>) -> Result<Option<RgbImage>> {
        match (&view.pixels, self.size) {
            // A frame that was left out may be of any size.
            (Some(frame), None) => in_color(frame).map(Some),
            (Some(frame), Some((width, height)))
                if (frame.width(), frame.height()) == (width as usize, height as usize) =>
            {
                in_color(frame).map(Some)
            }
            (_, Some((width, height))) => Ok(Some(RgbImage::from_pixel(width, height, NOTHING))),
            (None, None) => Ok(None),
        }
    }

    /// Where the picture of this frame goes.
    fn place(&mut self, record: &FrameRecord, (width, height): (u32, u32)) -> Result<Place> {
        match &mut self.to {
            To::Video(video) => video.turn(width, height, record.time).map(Place::Turn),
            To::Folder(folder) => {
                let extension = Path::new(&record.file).extension().and_then(|extension| extension.to_str());
                let name = folder.name_for(&record.file, extension.filter(|ext| is_jpeg(ext)).unwrap_or("png"));
                folder.claim(&name)?;
                Ok(Place::File(folder.join(&name)))
            }
        }
    }
}

impl Export for Overlays {
    fn draws(&self) -> bool {
        true
    }

    fn begin(&mut self, run: &Run) -> Result<()> {
        let size = u32::try_from(run.source.width).ok().zip(u32::try_from(run.source.height).ok());
        self.size = size.filter(|&(width, height)| width > 0 && height > 0);
        Ok(())
    }

    /// Refuses frames of its own folder, besides the usual errors. That a picture could not be written may be said of a
    /// later frame.
    fn frame(&mut self, record: &FrameRecord, view: &FrameView<'_>) -> Result<()> {
        if let To::Folder(folder) = &self.to {
            folder.refuse_frames(view.path)?;
        }
        if self.targets.is_empty() {
            self.painting.truth = view.truth;
            self.painting.inset =
                self.options.inset.then(|| view.response.as_ref().map(|response| response.centered())).flatten();
        }
        self.targets.push(Drawn { record: record.clone(), trail: self.trails.follow(record) });
        if view.further > 0 {
            return Ok(());
        }
        let mut painting = std::mem::take(&mut self.painting);
        painting.targets = std::mem::take(&mut self.targets);
        let Some(picture) = self.picture(view)? else { return Ok(()) };
        painting.picture = picture;
        if let Some(map) = &painting.inset {
            let boxes: Vec<_> = painting.targets.iter().filter_map(|target| target.record.finite_box()).collect();
            let boxes = [boxes, painting.truth.filter(BBox::is_valid).into_iter().collect()].concat();
            self.corner = self.corner.free_of(&boxes, painting.picture.dimensions(), map.dim());
            painting.corner = self.corner;
        }
        let place = self.place(record, painting.picture.dimensions())?;
        self.painters.paint(painting, place)
    }

    fn finish(self: Box<Self>, _: &Summary) -> Result<()> {
        let Self { mut painters, to, .. } = *self;
        painters.join();
        let painted = painters.failure();
        // The threads hold what a video is given through.
        drop(painters);
        let ended = match to {
            To::Video(video) => video.finish(),
            To::Folder(_) => Ok(()),
        };
        ended.and(painted)
    }
}

pub(super) fn is_jpeg(extension: &str) -> bool {
    extension.eq_ignore_ascii_case("jpg") || extension.eq_ignore_ascii_case("jpeg")
}

/// The frame's pixels as a picture.
fn in_color(frame: &Frame<'_>) -> Result<RgbImage> {
    let (width, height) = (frame.width(), frame.height());
    let mut pixels = Vec::with_capacity(width.saturating_mul(height).saturating_mul(3));
    for y in 0..height {
        let row = frame.row(y);
        match frame.format() {
            PixelFormat::Rgb8 => pixels.extend_from_slice(row),
            PixelFormat::Rgba8 => pixels.extend(row.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])),
            PixelFormat::Bgr8 => pixels.extend(row.chunks_exact(3).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]])),
            PixelFormat::Bgra8 => pixels.extend(row.chunks_exact(4).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]])),
            PixelFormat::Gray8 => pixels.extend(row.iter().flat_map(|&level| [level; 3])),
        }
    }
    let too_large = || Error::FrameLayout { width, height, reason: "it is too large for a picture".into() };
    let sizes = u32::try_from(width).ok().zip(u32::try_from(height).ok());
    sizes.and_then(|(w, h)| RgbImage::from_raw(w, h, pixels)).ok_or_else(too_large)
}

pub(super) const TRUTH: Rgb<u8> = Rgb([86, 180, 233]);
const WORDS: Rgb<u8> = Rgb([245, 245, 245]);
pub(super) const BLACK: Rgb<u8> = Rgb([0, 0, 0]);

/// Colours that also the colour-blind tell apart.
pub(super) fn ink(state: State) -> Rgb<u8> {
    match state {
        State::Initial => Rgb([255, 255, 255]),
        State::Tracking => Rgb([60, 220, 90]),
        State::Recovered => Rgb([80, 190, 250]),
        State::Uncertain => Rgb([250, 220, 50]),
        State::Lost => Rgb([235, 50, 35]),
        State::Missing => Rgb([150, 150, 150]),
    }
}

/// Draws boxes and words, these beside the `inset` where they can be; lines and letters grow with the picture.
pub(super) fn draw(
    picture: &mut RgbImage,
    record: &FrameRecord,
    (truth, inset): (Option<&BBox>, Option<&BBox>),
    letters: &Letters,
) {
    let line = stroke(picture);
    let bbox = record.finite_box();
    let truth = truth.filter(|truth| truth.is_valid());
    if let Some(bbox) = &bbox {
        outline(picture, bbox, line, line + 1, BLACK);
        outline(picture, bbox, 0, line, ink(record.state));
    }
    // The truth lies within its edge and the box around its own: both are seen even when they are the same.
    if let Some(truth) = truth {
        outline(picture, truth, -line, 0, TRUTH);
    }
    caption(picture, record, [bbox.as_ref(), truth, inset], letters);
}

/// Says how many targets are in which state.
pub(super) fn caption_of_many<'a>(
    picture: &mut RgbImage,
    records: impl Iterator<Item = &'a FrameRecord>,
    letters: &Letters,
) {
    let records: Vec<_> = records.collect();
    let Some(first) = records.first() else { return };
    let count = |state| records.iter().filter(|record| record.state == state).count();
    let states = State::ALL.iter().map(|&state| (state, count(state))).filter(|(_, count)| *count > 0);
    let states: Vec<String> = states.map(|(state, count)| format!("{count} {state}")).collect();
    let words = format!("#{}   {}", first.index, states.join(", "));
    let size = (picture.width().min(picture.height()) as f32 / 22.0).clamp(12.0, 120.0);
    let padding = (size / 3.0) as u32;
    let (width, height) = letters.extent(&words, size);
    let (width, height) = (width + 2 * padding, height + 2 * padding);
    if width > picture.width() || height.saturating_mul(3) > picture.height() {
        return;
    }
    let top = picture.height() - height;
    let [padding, top, width, height] = [padding, top, width, height].map(|v| v as i32);
    darken(picture, [0, top, width, top + height]);
    letters.write(picture, &words, (padding, top + padding), size, WORDS);
}

/// Writes the longest line of words that fits, at the top or, where a box or the inset is there, at the bottom.
fn caption(picture: &mut RgbImage, record: &FrameRecord, [bbox, truth, inset]: [Option<&BBox>; 3], letters: &Letters) {
    let short_side = picture.width().min(picture.height());
    let size = (short_side as f32 / 22.0).clamp(12.0, 120.0);
    let mut parts = parts(record, bbox, truth);
    if bbox.is_some_and(|bbox| bbox.visible_share(picture.width() as usize, picture.height() as usize) == 0.0) {
        parts.push("off the image".into());
    }
    let padding = (size / 3.0) as u32;
    let square = (size * 0.7) as u32;
    // Where it is too long, the last parts go first: frame, state and confidence stay.
    let fitting = (1..=parts.len()).rev().map(|count| parts[..count].join("   ")).find_map(|words| {
        let (width, height) = letters.extent(&words, size);
        let (width, height) = (width + square + 3 * padding, height + 2 * padding);
        (width <= picture.width() && height.saturating_mul(3) <= picture.height()).then_some((words, width, height))
    });
    let Some((words, width, height)) = fitting else { return };
    let bottom = picture.height() - height;
    let hides = |top: u32, what: &[Option<&BBox>]| {
        let strip = BBox::new(0.0, f64::from(top), f64::from(width), f64::from(height));
        what.iter().flatten().any(|what| what.intersection(&strip) > 0.0)
    };
    let boxes = [bbox, truth];
    let down = hides(0, &boxes) || hides(0, &[inset]) && !hides(bottom, &[bbox, truth, inset]);
    let top = if down { bottom } else { 0 };
    let [padding, square, top, width, height] = [padding, square, top, width, height].map(|v| v as i32);
    darken(picture, [0, top, width, top + height]);
    let middle = top + (height - square) / 2;
    fill(picture, [padding, middle, padding + square, middle + square], ink(record.state));
    letters.write(picture, &words, (2 * padding + square, top + padding), size, WORDS);
}

/// Position and state, then the numbers that there are.
fn parts(record: &FrameRecord, bbox: Option<&BBox>, truth: Option<&BBox>) -> Vec<String> {
    let mut parts = vec![format!("#{}", record.index), record.state.to_string()];
    // What a filter answers to the frame that it was taught says nothing of how well it follows.
    let found = Some(record).filter(|record| record.state != State::Initial);
    parts.extend(found.and_then(|record| record.confidence).map(|confidence| format!("confidence {confidence:.2}")));
    parts.extend(found.and_then(|record| record.peak).map(|peak| format!("peak {peak:.2}")));
    parts.extend(found.and_then(|record| record.psr).map(|psr| format!("PSR {psr:.1}")));
    parts.extend(record.decision.map(|decision| format!("decision {decision:.2}")));
    parts.extend(bbox.zip(truth).map(|(bbox, truth)| format!("IoU {:.2}", bbox.overlap(truth))));
    parts
}

/// Pixels around the words.
const MARGIN: i32 = 3;

/// Left, top, right and bottom, the last two without.
type Area = [i32; 4];

/// Draws all boxes, and then a label at each that hides no other label, where there is a place for it.
pub(super) fn boxes_with_labels<'a>(
    picture: &mut RgbImage,
    records: impl Iterator<Item = &'a FrameRecord>,
    letters: &Letters,
) {
    let line = stroke(picture);
    let known: Vec<_> = records.filter_map(|record| Some((record, record.finite_box()?))).collect();
    for (record, bbox) in &known {
        outline(picture, bbox, line, line + 1, BLACK);
        outline(picture, bbox, 0, line, ink(record.state));
    }
    let size = (picture.width().min(picture.height()) as f32 / 28.0).clamp(11.0, 90.0);
    let mut taken = Vec::new();
    for (record, bbox) in &known {
        let words = words(record);
        let (width, height) = letters.extent(&words, size);
        let extent = [width, height].map(|side| i32::try_from(side).unwrap_or(i32::MAX / 4) + 2 * MARGIN);
        let area = place(bbox, extent, picture.dimensions(), line, &taken);
        darken(picture, area);
        letters.write(picture, &words, (area[0] + MARGIN, area[1] + MARGIN), size, ink(record.state));
        taken.push(area);
    }
}

fn words(record: &FrameRecord) -> String {
    let sure = record.confidence.filter(|_| record.state != crate::tracker::State::Initial);
    let sure = sure.map_or(String::new(), |confidence| format!(" {confidence:.2}"));
    format!("{} {}{sure}", record.id.unwrap_or(1), record.state)
}

/// Where a label of this width and height stands: above the box, below it or in it, whatever of these hides no label
/// that is there already. Where each would, it stands above the box, or in it where there is no room above.
fn place(bbox: &BBox, [width, height]: [i32; 2], picture: (u32, u32), line: i32, taken: &[Area]) -> Area {
    let pixel = |edge: f64| edge.clamp(-1e8, 1e8) as i32;
    let (left, right) = (pixel(bbox.x), pixel(bbox.x + bbox.w) - width);
    let (above, within) = (pixel(bbox.y) - line - 1 - height, pixel(bbox.y) + line + 1);
    let below = pixel(bbox.y + bbox.h) + line + 1;
    // All of the words are seen where they fit, beside what of the box lies outside.
    let most = |side: u32, length: i32| i32::try_from(side).unwrap_or(i32::MAX).saturating_sub(length).max(0);
    let (most_left, most_top) = (most(picture.0, width), most(picture.1, height));
    let area = |left: i32, top: i32| {
        let (left, top) = (left.clamp(0, most_left), top.clamp(0, most_top));
        [left, top, left + width, top + height]
    };
    let all = if above >= 0 { [above, below, within] } else { [within, below, above] };
    let tops = all.into_iter().filter(|top| (0..=most_top).contains(top));
    let mut areas = tops.flat_map(|top| [area(left, top), area(right, top)]);
    let free = |area: &Area| !taken.iter().any(|other| overlap(area, other));
    areas.find(free).unwrap_or_else(|| area(left, all[0]))
}

fn overlap([left, top, right, bottom]: &Area, [left2, top2, right2, bottom2]: &Area) -> bool {
    left < right2 && left2 < right && top < bottom2 && top2 < bottom
}

/// How many frames back the way of a target is shown.
const TRAIL: usize = 30;

/// A target in a frame, and the way that it came.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawn {
    pub record: FrameRecord,
    /// Centres of its boxes, the oldest first.
    pub trail: Vec<(f32, f32)>,
}

/// A picture and what is drawn on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Painting {
    pub picture: RgbImage,
    pub targets: Vec<Drawn>,
    pub truth: Option<BBox>,
    /// A response map, the element of no motion in the middle.
    pub inset: Option<Array2<f32>>,
    /// Where that is drawn.
    pub corner: Corner,
}

impl Painting {
    /// Draws it all. What is said of targets hides the response, never the other way.
    pub fn paint(&mut self, letters: &Letters) {
        let Self { picture, targets, truth, inset: map, corner } = self;
        let inset = map.as_ref().and_then(|map| inset(picture, map.view(), *corner));
        for target in targets.iter() {
            trail(picture, &target.trail, ink(target.record.state));
        }
        match &targets[..] {
            [one] if one.record.id.is_none() => draw(picture, &one.record, (truth.as_ref(), inset.as_ref()), letters),
            several => {
                boxes_with_labels(picture, several.iter().map(|target| &target.record), letters);
                caption_of_many(picture, several.iter().map(|target| &target.record), letters);
            }
        }
    }
}

/// Lines from centre to centre, half as thick as those of boxes.
fn trail(picture: &mut RgbImage, centers: &[(f32, f32)], ink: Rgb<u8>) {
    // A line is drawn pixel by pixel: one that leads far out of the picture is left out.
    let far = 4.0 * picture.width().max(picture.height()) as f32;
    let near = |(x, y): (f32, f32)| x.abs() < far && y.abs() < far;
    let thick = (stroke(picture) + 1) / 2;
    for pair in centers.windows(2).filter(|pair| near(pair[0]) && near(pair[1])) {
        line(picture, pair[0], pair[1], thick, ink);
    }
}

/// The ways of all targets.
#[derive(Clone, Debug, Default)]
pub(super) struct Trails(Vec<(Option<u32>, Trail)>);

/// Centres, the oldest first.
type Trail = VecDeque<(f32, f32)>;

impl Trails {
    /// Notes where a target is; the way that it came.
    pub fn follow(&mut self, record: &FrameRecord) -> Vec<(f32, f32)> {
        let place = match self.0.iter().position(|(id, _)| *id == record.id) {
            Some(place) => place,
            None => {
                self.0.push((record.id, VecDeque::with_capacity(TRAIL + 1)));
                self.0.len() - 1
            }
        };
        let way = &mut self.0[place].1;
        if let Some(bbox) = record.finite_box() {
            let (x, y) = bbox.center();
            way.push_back((x as f32, y as f32));
        }
        if way.len() > TRAIL {
            way.pop_front();
        }
        way.iter().copied().collect()
    }
}

/// Most threads that draw; with each a picture waits and another is drawn on.
const MOST_THREADS: usize = 4;

/// Quality of the JPEG files, 1 to 100.
const QUALITY: u8 = 90;

/// Where a picture goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// To a file.
    File(PathBuf),
    /// Behind all pictures of a lower number, from 0.
    Turn(Turn),
}

/// Hands a picture on, from any thread and in any order.
pub(super) type Deliver = dyn Fn(RgbImage, Place) -> Result<()> + Send + Sync;

/// Threads that draw and write pictures, in any order.
#[derive(Debug)]
pub(super) struct Painters {
    /// `None` once there is nothing more to come.
    jobs: Option<SyncSender<(Painting, Place)>>,
    threads: Vec<JoinHandle<()>>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Painters {
    /// Starts them; `path` is what they are needed for.
    pub fn start(path: &Path, deliver: Box<Deliver>) -> Result<Self> {
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let (jobs, waiting) = sync_channel(count);
        let (waiting, deliver) = (Arc::new(Mutex::new(waiting)), Arc::from(deliver));
        let mut painters = Self { jobs: Some(jobs), threads: Vec::new(), failure: Arc::default() };
        for _ in 0..count {
            let (letters, waiting) = (Letters::load(path)?, Arc::clone(&waiting));
            let (failure, deliver): (_, Arc<Deliver>) = (Arc::clone(&painters.failure), Arc::clone(&deliver));
            let work = move || {
                while let Some((mut painting, place)) = next(&waiting) {
                    painting.paint(&letters);
                    if let Err(error) = deliver(painting.picture, place) {
                        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }
            };
            let thread = std::thread::Builder::new().name("overlay".into()).spawn(work);
            painters.threads.push(thread.map_err(|source| Error::io("a thread to draw on", source))?);
        }
        Ok(painters)
    }

    /// Has a picture drawn and handed on, once a thread is free.
    pub fn paint(&self, painting: Painting, place: Place) -> Result<()> {
        self.failure()?;
        let Some(jobs) = &self.jobs else { return Ok(()) };
        // The threads end before the channel only by a panic, which has said why.
        jobs.send((painting, place)).map_err(|_| Error::io("a thread to draw on", std::io::Error::other("it ended")))
    }

    /// What went wrong on a thread since this was asked last.
    pub fn failure(&self) -> Result<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Waits until all pictures are handed on.
    pub fn join(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Painters {
    fn drop(&mut self) {
        self.join();
    }
}

/// The next job, once there is one; `None` when there will be no more.
fn next(waiting: &Mutex<Receiver<(Painting, Place)>>) -> Option<(Painting, Place)> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Writes a picture to its file, as the ending of its name says.
pub(super) fn write_picture(picture: RgbImage, place: Place) -> Result<()> {
    let Place::File(path) = place else { return Ok(()) };
    let jpeg = path.extension().and_then(|extension| extension.to_str()).is_some_and(is_jpeg);
    // No picture of a larger side fits into a JPEG.
    let jpeg = Frame::try_from(&picture).ok().filter(|_| jpeg).and_then(|frame| encode(&frame, QUALITY, false));
    put(&path, |file| {
        let png = || png::encode(&picture, picture.dimensions(), ExtendedColorType::Rgb8);
        Ok(file.write_all(&jpeg.map_or_else(png, Ok)?)?)
    })
}

#[cfg(test)]
mod overlays_tests {
    use std::fs;

    use super::*;
    use crate::export::drawing::Letters;
    use crate::export::overlay::{TRUTH, ink};
    use crate::export::record::tests::run;
    use crate::media::{Channels, decode};
    use crate::tracker::State;

    /// A picture that was written, of three bytes a pixel.
    fn opened(path: &Path) -> RgbImage {
        let picture = decode(path, Channels::Color).unwrap();
        let (width, height) = (picture.as_frame().width(), picture.as_frame().height());
        let rows = (0..height).flat_map(|y| picture.as_frame().row(y).to_vec()).collect();
        RgbImage::from_raw(width as u32, height as u32, rows).unwrap()
    }

    fn record(bbox: BBox) -> FrameRecord {
        FrameRecord { file: "0002.png".into(), bbox, ..run().1[1].clone() }
    }

    fn overlay(folder: &Path, record: &FrameRecord, view: &FrameView<'_>) -> Result<()> {
        let mut overlays = Box::new(Overlays::create(folder, OverlayOptions::default()).unwrap());
        overlays.frame(record, view)?;
        overlays.finish(&Summary::default())
    }

    #[test]
    fn boxes_have_their_colours() {
        let folder = tempfile::tempdir().unwrap();
        let pixels = vec![40; 160 * 120 * 3];
        let frame = Frame::rgb(&pixels, 160, 120).unwrap();
        let view =
            FrameView { pixels: Some(frame), truth: Some(BBox::new(60.0, 60.0, 30.0, 20.0)), ..FrameView::default() };
        overlay(folder.path(), &record(BBox::new(50.0, 50.0, 30.0, 20.0)), &view).unwrap();
        let picture = opened(&folder.path().join("0002.png"));
        assert_eq!(picture.dimensions(), (160, 120));
        assert_eq!(*picture.get_pixel(49, 55), ink(State::Tracking));
        assert_eq!(*picture.get_pixel(50, 55), Rgb([40; 3]));
        assert_eq!(*picture.get_pixel(60, 75), TRUTH);
        assert_eq!(*picture.get_pixel(120, 100), Rgb([40; 3]));
        // Words at the top.
        assert!(picture.enumerate_pixels().any(|(_, y, pixel)| y < 20 && pixel[0] > 200));
    }

    #[test]
    fn no_box_and_no_size_panics() {
        let folder = tempfile::tempdir().unwrap();
        let far = [-1e300, -1e6, -5.0, 0.0, 0.4, 7.0, 1e6, 1e300];
        for (width, height) in [(1, 1), (1, 40), (40, 1), (90, 40)] {
            let pixels = vec![90; width * height];
            let frame = Frame::gray(&pixels, width, height).unwrap();
            for (x, w) in far.iter().flat_map(|x| far.map(|w| (*x, w))) {
                let bbox = BBox::new(x, x, w, w);
                let drawn = || Drawn { record: record(bbox), trail: vec![(x as f32, x as f32), (w as f32, 3.0)] };
                let (picture, truth) = (in_color(&frame).unwrap(), Some(bbox));
                let inset = Some(ndarray::array![[x as f32, w as f32]]);
                let targets = vec![drawn(), drawn()];
                let mut painting = Painting { picture, targets, truth, inset, ..Painting::default() };
                painting.paint(&Letters::load(folder.path()).unwrap());
            }
            let nowhere = record(BBox::new(f64::NAN, 0.0, 1.0, 1.0));
            let truth = Some(BBox::new(0.0, f64::INFINITY, 1.0, 1.0));
            overlay(folder.path(), &nowhere, &FrameView { pixels: Some(frame), truth, ..FrameView::default() })
                .unwrap();
        }
    }

    #[test]
    fn several_targets_are_on_one_picture() {
        let folder = tempfile::tempdir().unwrap();
        let pixels = vec![40; 160 * 120 * 3];
        let view = FrameView { pixels: Some(Frame::rgb(&pixels, 160, 120).unwrap()), ..FrameView::default() };
        let mut overlays = Box::new(Overlays::create(folder.path(), OverlayOptions::default()).unwrap());
        let states = [State::Tracking, State::Lost];
        for (number, further) in [(0, 1), (1, 0)] {
            let bbox = BBox::new(20.0 + 80.0 * number as f64, 60.0, 30.0, 20.0);
            let record = FrameRecord { id: Some(number as u32), state: states[number], ..record(bbox) };
            overlays.frame(&record, &FrameView { further, ..view }).unwrap();
        }
        overlays.finish(&Summary::default()).unwrap();
        let picture = opened(&folder.path().join("0002.png"));
        assert_eq!((*picture.get_pixel(19, 65), *picture.get_pixel(99, 65)), (ink(states[0]), ink(states[1])));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "a picture and the list of names");
    }

    #[test]
    fn a_jpeg_keeps_its_name_and_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let (source, out) = (folder.path().join("0001.JPG"), folder.path().join("out"));
        fs::write(&source, "the frame").unwrap();
        let pixels: Vec<u8> = (0..64 * 48).flat_map(|i| [(i % 64) as u8 * 3, (i / 64) as u8 * 4, 90]).collect();
        let frame = Frame::rgb(&pixels, 64, 48).unwrap();
        let mut record = record(BBox::new(30.0, 20.0, 10.0, 10.0));
        record.file = "0001.JPG".into();
        let view = FrameView { path: Some(&source), pixels: Some(frame), ..FrameView::default() };
        overlay(&out, &record, &view).unwrap();
        let drawn = opened(&out.join("0001.JPG"));
        let distance = drawn.get_pixel(60, 40).0.iter().zip([180, 160, 90]).map(|(a, b): (_, u8)| a.abs_diff(b));
        assert!(distance.max() < Some(16));
        // The folder of the frame is refused, and the frame is not touched.
        assert!(matches!(overlay(folder.path(), &record, &view), Err(Error::Output { .. })));
        assert_eq!(fs::read_to_string(&source).unwrap(), "the frame");
    }

    #[test]
    fn a_missing_frame_gets_a_picture_with_the_last_box() {
        let (out, (run, records)) = (tempfile::tempdir().unwrap(), run());
        let mut overlays = Box::new(Overlays::create(out.path(), OverlayOptions::default()).unwrap());
        overlays.begin(&run).unwrap();
        let pixels = vec![90; 64 * 48];
        let other = vec![90; 65 * 48];
        let frames = [Some((&pixels, 64)), None, Some((&other, 65))];
        for (frame, number) in frames.into_iter().zip(1..) {
            let state = if number == 1 { State::Tracking } else { State::Missing };
            let bbox = BBox::new(20.0, 30.0, 16.0, 12.0);
            let record = FrameRecord { file: format!("{number}.png"), bbox, state, ..records[1].clone() };
            let pixels = frame.map(|(pixels, width)| Frame::gray(pixels, width, 48).unwrap());
            overlays.frame(&record, &FrameView { pixels, ..FrameView::default() }).unwrap();
        }
        overlays.finish(&Summary::default()).unwrap();
        for number in [2, 3] {
            let picture = opened(&out.path().join(format!("{number}.png")));
            assert_eq!(picture.dimensions(), (64, 48));
            assert_eq!(*picture.get_pixel(19, 35), ink(State::Missing));
            assert_eq!(*picture.get_pixel(24, 33), NOTHING);
        }
    }

    #[test]
    fn a_picture_that_cannot_be_written_is_an_error_of_the_run() {
        let out = tempfile::tempdir().unwrap();
        let mut overlays = Box::new(Overlays::create(out.path(), OverlayOptions::default()).unwrap());
        let pixels = vec![90; 64 * 48];
        let view = FrameView { pixels: Some(Frame::gray(&pixels, 64, 48).unwrap()), ..FrameView::default() };
        overlays.frame(&record(BBox::new(1.0, 1.0, 9.0, 9.0)), &view).unwrap();
        overlays.painters.join();
        // A folder in the place of a file.
        overlays.painters = Painters::start(out.path(), Box::new(write_picture)).unwrap();
        fs::create_dir(out.path().join("0003.png")).unwrap();
        let path = out.path().join("0003.png");
        let painting = Painting { picture: RgbImage::new(8, 8), ..Painting::default() };
        overlays.painters.paint(painting, Place::File(path)).unwrap();
        let error = overlays.finish(&Summary::default()).unwrap_err();
        assert!(error.to_string().contains("0003.png"), "{error}");
    }

    #[test]
    fn every_byte_order_gives_the_same_picture() {
        let expected = [200, 100, 50];
        let orders: [(PixelFormat, &[u8]); 4] = [
            (PixelFormat::Rgb8, &[200, 100, 50]),
            (PixelFormat::Bgr8, &[50, 100, 200]),
            (PixelFormat::Rgba8, &[200, 100, 50, 7]),
            (PixelFormat::Bgra8, &[50, 100, 200, 7]),
        ];
        for (format, bytes) in orders {
            let frame = Frame::new(bytes, 1, 1, bytes.len(), format).unwrap();
            assert_eq!(in_color(&frame).unwrap().get_pixel(0, 0).0, expected, "{format:?}");
        }
    }
}

#[cfg(test)]
mod overlay_tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn the_initial_frame_shows_no_psr() {
        let (_, mut records) = run();
        records[1].state = State::Tracking;
        assert_eq!(
            parts(&records[1], None, None),
            ["#2", "tracking", "confidence 0.75", "peak 0.50", "PSR 9.1", "decision 0.25"]
        );
        records[1].state = State::Initial;
        assert_eq!(parts(&records[1], None, None), ["#2", "initial", "decision 0.25"]);
    }
}

#[cfg(test)]
mod overlay_labels_tests {
    use super::*;

    const PICTURE: (u32, u32) = (200, 100);

    #[test]
    fn labels_of_targets_side_by_side_do_not_hide_each_other() {
        let mut taken: Vec<Area> = Vec::new();
        for x in [60.0, 75.0, 90.0, 62.0] {
            let area = place(&BBox::new(x, 40.0, 14.0, 20.0), [50, 12], PICTURE, 2, &taken);
            assert!(taken.iter().all(|other| !overlap(&area, other)), "{area:?} over {taken:?}");
            taken.push(area);
        }
        assert_eq!(taken[0], [60, 25, 110, 37]);
        // Where there is no place left, above its box as if it were alone.
        let everywhere = [0, 0, 200, 100];
        assert_eq!(place(&BBox::new(60.0, 40.0, 14.0, 20.0), [50, 12], PICTURE, 2, &[everywhere]), taken[0]);
    }

    #[test]
    fn a_label_lies_within_the_picture_wherever_its_box_is() {
        for (x, y, expected) in [
            (0.0, 0.0, [0, 3, 50, 15]),
            (190.0, 50.0, [150, 35, 200, 47]),
            (-1e300, 1e300, [0, 88, 50, 100]),
            (1e300, -1e300, [150, 0, 200, 12]),
        ] {
            assert_eq!(place(&BBox::new(x, y, 10.0, 10.0), [50, 12], PICTURE, 2, &[]), expected, "{x}, {y}");
        }
        // Words that are wider than the picture.
        assert_eq!(place(&BBox::new(5.0, 50.0, 9.0, 9.0), [900, 12], PICTURE, 2, &[]), [0, 35, 900, 47]);
    }
}

#[cfg(test)]
mod painting_tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn each_target_has_a_way_of_its_own_and_it_is_short() {
        let record = run().1[1].clone();
        let mut trails = Trails::default();
        for step in 0..100 {
            for id in [1, 2] {
                let bbox = BBox::new(f64::from(step * id), 0.0, 2.0, 2.0);
                let way = trails.follow(&FrameRecord { id: Some(id as u32), bbox, ..record.clone() });
                assert_eq!(way.len(), TRAIL.min(step as usize + 1));
                assert_eq!(way.last().copied(), Some(((step * id) as f32 + 1.0, 1.0)));
            }
        }
    }

    #[test]
    fn a_response_hides_neither_a_target_nor_words() {
        let bbox = BBox::new(250.0, 30.0, 30.0, 20.0);
        let record = FrameRecord { bbox, ..run().1[1].clone() };
        let letters = Letters::load(std::path::Path::new("seen.mp4")).unwrap();
        let painted = |inset: Option<Array2<f32>>, id| {
            let record = FrameRecord { id, ..record.clone() };
            let targets = vec![Drawn { record, trail: Vec::new() }];
            let picture = RgbImage::from_pixel(300, 200, Rgb([40; 3]));
            let mut painting = Painting { picture, targets, inset, ..Painting::default() };
            painting.paint(&letters);
            painting.picture
        };
        let map = || Some(Array2::zeros((9, 9)));
        for id in [None, Some(7)] {
            let (with, without) = (painted(map(), id), painted(None, id));
            let color = ink(record.state);
            let (left, inside) = ((249, 40), (265, 40));
            assert_eq!((with.get_pixel(left.0, left.1), without.get_pixel(left.0, left.1)), (&color, &color));
            assert_ne!(with.get_pixel(inside.0, inside.1), without.get_pixel(inside.0, inside.1));
        }
        // A line of words that does not fit beside it stands at the bottom.
        let words = |picture: &RgbImage, rows: std::ops::Range<u32>| {
            rows.flat_map(|y| (0..200).map(move |x| (x, y)))
                .any(|(x, y)| picture.get_pixel(x, y).0.iter().all(|&level| level > 150))
        };
        let (with, without) = (painted(map(), None), painted(None, None));
        assert_eq!([words(&with, 0..20), words(&with, 180..200)], [false, true]);
        assert_eq!([words(&without, 0..20), words(&without, 180..200)], [true, false]);
    }

    #[test]
    fn a_way_is_drawn_in_the_colour_of_the_state() {
        let mut picture = RgbImage::new(20, 20);
        trail(&mut picture, &[(2.0, 5.0), (12.0, 5.0), (1e30, 5.0)], Rgb([9, 9, 9]));
        assert_eq!(picture.get_pixel(7, 5).0, [9, 9, 9]);
        assert_eq!(picture.get_pixel(15, 5).0, [0, 0, 0]);
    }
}
