//! Every frame with what the tracker made of it drawn on it.

use std::path::Path;

use image::{Rgb, RgbImage};

use super::destination::is_video;
use super::folder::Folder;
use super::inset::Corner;
use super::overlay_video::OverlayVideo;
use super::painters::{Painters, Place, write_picture};
use super::painting::{Drawn, Painting, Trails};
use super::{Export, FrameRecord, FrameView, Run, Summary};
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::frame::{Frame, PixelFormat};

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

    fn heed(&mut self, stop: &CancelToken) {
        if let To::Video(video) = &self.to {
            video.heed(stop);
        }
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
        let painted = self.painters.paint(painting, place);
        painted.map_err(|error| match &mut self.to {
            To::Video(video) => video.trouble().unwrap_or(error),
            To::Folder(_) => error,
        })
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

#[cfg(test)]
mod tests {
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
