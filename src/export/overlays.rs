//! Every frame with what the tracker made of it drawn on it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use image::codecs::png::PngEncoder;
use image::{Rgb, RgbImage};
use jpeg_encoder::{ColorType, Encoder};

use super::drawing::Letters;
use super::folder::{Folder, put};
use super::overlay::draw;
use super::{Export, FrameRecord, FrameView, Run, Summary};
use crate::error::{Error, Result};
use crate::frame::{Frame, PixelFormat};
use crate::geometry::BBox;

/// The colour of a frame that there is no picture of.
const NOTHING: Rgb<u8> = Rgb([40, 40, 40]);

/// Most threads that draw; with each a picture waits and another is drawn on.
const MOST_THREADS: usize = 4;

/// Quality of the JPEG files, 1 to 100.
const QUALITY: u8 = 90;

/// A folder of frames in colour with the box on them (green: tracking, yellow: uncertain, red: lost, white: the initial
/// box), inside of it the true box where there is one (blue), and a line of words: position, state, peak,
/// peak-to-sidelobe ratio, a machine's decision, overlap with the truth.
///
/// JPEG frames stay JPEG and keep their names, all others become PNG. What is drawn on is the frame that was tracked;
/// one that could not be read gets an empty picture with the last box, so that a numbered series has no hole. Pictures
/// are drawn and written on threads of their own.
pub struct Overlays {
    folder: Folder,
    /// Width and height of the run's frames.
    size: Option<(u32, u32)>,
    painters: Painters,
}

/// One picture to be drawn on and written.
struct Job {
    picture: RgbImage,
    record: FrameRecord,
    truth: Option<BBox>,
    path: PathBuf,
}

/// Threads that draw and write pictures, in any order.
struct Painters {
    /// `None` once there is nothing more to come.
    jobs: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<()>>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Overlays {
    /// Makes the folder, if need be, and checks that it can be written to.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do; [`Error::Io`] when no thread can be started.
    pub fn create(folder: &Path) -> Result<Self> {
        Ok(Self { painters: Painters::start(folder)?, folder: Folder::create(folder)?, size: None })
    }

    /// The picture to draw on, and its name in the folder; `None` where not even the size is known.
    fn picture(&mut self, record: &FrameRecord, view: &FrameView<'_>) -> Result<Option<(RgbImage, String)>> {
        let picture = match (&view.pixels, self.size) {
            // A frame that was left out may be of any size.
            (Some(frame), None) => in_color(frame)?,
            (Some(frame), Some((width, height)))
                if (frame.width(), frame.height()) == (width as usize, height as usize) =>
            {
                in_color(frame)?
            }
            (_, Some((width, height))) => RgbImage::from_pixel(width, height, NOTHING),
            (None, None) => return Ok(None),
        };
        let extension = Path::new(&record.file).extension().and_then(|extension| extension.to_str());
        let name = self.folder.name_for(&record.file, extension.filter(|ext| is_jpeg(ext)).unwrap_or("png"));
        Ok(Some((picture, name)))
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
        self.folder.refuse_frames(view.path)?;
        let Some((picture, name)) = self.picture(record, view)? else { return Ok(()) };
        self.folder.claim(&name)?;
        let path = self.folder.join(&name);
        self.painters.paint(Job { picture, record: record.clone(), truth: view.truth, path })
    }

    fn finish(self: Box<Self>, _: &Summary) -> Result<()> {
        let Self { mut painters, .. } = *self;
        painters.join();
        painters.failure()
    }
}

impl Painters {
    fn start(folder: &Path) -> Result<Self> {
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let (jobs, waiting) = sync_channel(count);
        let waiting = Arc::new(Mutex::new(waiting));
        let mut painters = Self { jobs: Some(jobs), threads: Vec::new(), failure: Arc::default() };
        for _ in 0..count {
            let (letters, waiting) = (Letters::load(folder)?, Arc::clone(&waiting));
            let failure = Arc::clone(&painters.failure);
            let work = move || {
                while let Some(job) = next(&waiting) {
                    if let Err(error) = job.run(&letters) {
                        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }
            };
            let thread = std::thread::Builder::new().name("overlay".into()).spawn(work);
            painters.threads.push(thread.map_err(|source| Error::io("a thread to draw on", source))?);
        }
        Ok(painters)
    }

    /// Has a picture drawn and written, once a thread is free.
    fn paint(&self, job: Job) -> Result<()> {
        self.failure()?;
        let Some(jobs) = &self.jobs else { return Ok(()) };
        // The threads end before the channel only by a panic, which has said why.
        jobs.send(job).map_err(|_| Error::io("a thread to draw on", std::io::Error::other("it ended")))
    }

    /// What went wrong on a thread since this was asked last.
    fn failure(&self) -> Result<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Waits until all pictures are written.
    fn join(&mut self) {
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
fn next(waiting: &Mutex<Receiver<Job>>) -> Option<Job> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Job {
    fn run(self, letters: &Letters) -> Result<()> {
        let Self { mut picture, record, truth, path } = self;
        draw(&mut picture, &record, truth.as_ref(), letters);
        let jpeg = path.extension().and_then(|extension| extension.to_str()).is_some_and(is_jpeg);
        // No picture of a larger side fits into a JPEG.
        let sides = u16::try_from(picture.width()).ok().zip(u16::try_from(picture.height()).ok());
        put(&path, |file| match sides.filter(|_| jpeg) {
            Some((width, height)) => Encoder::new(file, QUALITY)
                .encode(&picture, width, height, ColorType::Rgb)
                .map_err(|error| image::ImageError::IoError(std::io::Error::other(error))),
            None => picture.write_with_encoder(PngEncoder::new(file)),
        })
    }
}

fn is_jpeg(extension: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::export::overlay::{TRUTH, ink};
    use crate::export::record::tests::run;
    use crate::tracker::State;

    fn record(bbox: BBox) -> FrameRecord {
        FrameRecord { file: "0002.png".into(), bbox, ..run().1[1].clone() }
    }

    fn overlay(folder: &Path, record: &FrameRecord, view: &FrameView<'_>) -> Result<()> {
        let mut overlays = Box::new(Overlays::create(folder).unwrap());
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
        let picture = image::open(folder.path().join("0002.png")).unwrap().into_rgb8();
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
                let mut picture = in_color(&frame).unwrap();
                draw(&mut picture, &record(bbox), Some(&bbox), &Letters::load(folder.path()).unwrap());
            }
            let nowhere = record(BBox::new(f64::NAN, 0.0, 1.0, 1.0));
            let truth = Some(BBox::new(0.0, f64::INFINITY, 1.0, 1.0));
            overlay(folder.path(), &nowhere, &FrameView { pixels: Some(frame), truth, ..FrameView::default() })
                .unwrap();
        }
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
        let drawn = image::open(out.join("0001.JPG")).unwrap().into_rgb8();
        let distance = drawn.get_pixel(60, 40).0.iter().zip([180, 160, 90]).map(|(a, b): (_, u8)| a.abs_diff(b));
        assert!(distance.max() < Some(16));
        // The folder of the frame is refused, and the frame is not touched.
        assert!(matches!(overlay(folder.path(), &record, &view), Err(Error::Output { .. })));
        assert_eq!(fs::read_to_string(&source).unwrap(), "the frame");
    }

    #[test]
    fn a_missing_frame_gets_a_picture_with_the_last_box() {
        let (out, (run, records)) = (tempfile::tempdir().unwrap(), run());
        let mut overlays = Box::new(Overlays::create(out.path()).unwrap());
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
            let picture = image::open(out.path().join(format!("{number}.png"))).unwrap().into_rgb8();
            assert_eq!(picture.dimensions(), (64, 48));
            assert_eq!(*picture.get_pixel(19, 35), ink(State::Missing));
            assert_eq!(*picture.get_pixel(28, 36), NOTHING);
        }
    }

    #[test]
    fn a_picture_that_cannot_be_written_is_an_error_of_the_run() {
        let out = tempfile::tempdir().unwrap();
        let mut overlays = Box::new(Overlays::create(out.path()).unwrap());
        let pixels = vec![90; 64 * 48];
        let view = FrameView { pixels: Some(Frame::gray(&pixels, 64, 48).unwrap()), ..FrameView::default() };
        overlays.frame(&record(BBox::new(1.0, 1.0, 9.0, 9.0)), &view).unwrap();
        overlays.painters.join();
        // A folder in the place of a file.
        overlays.painters = Painters::start(out.path()).unwrap();
        overlays.folder.claim("0003.png").unwrap();
        fs::create_dir(out.path().join("0003.png")).unwrap();
        let path = out.path().join("0003.png");
        let picture = RgbImage::new(8, 8);
        overlays.painters.paint(Job { picture, record: run().1[1].clone(), truth: None, path }).unwrap();
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
