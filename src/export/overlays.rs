//! Every frame with what the tracker made of it drawn on it.

use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{Rgb, RgbImage};

use super::drawing::{Letters, darken, fill, outline};
use super::folder::Folder;
use super::{Export, FrameRecord, FrameView};
use crate::error::{Error, Result};
use crate::frame::{Frame, PixelFormat};
use crate::geometry::BBox;
use crate::tracker::State;

const TRUTH: Rgb<u8> = Rgb([86, 180, 233]);
const WORDS: Rgb<u8> = Rgb([245, 245, 245]);
const BLACK: Rgb<u8> = Rgb([0, 0, 0]);

/// A folder of frames in colour with the box on them (green: tracking, yellow: uncertain, red: lost, white: the initial
/// box), inside of it the true box where there is one (blue), and a line of words: position, state, peak,
/// peak-to-sidelobe ratio, a machine's decision, overlap with the truth.
///
/// JPEG frames stay JPEG and keep their names, all others become PNG. What is drawn on is the frame that was tracked;
/// one that could not be read gives no picture.
pub struct Overlays {
    folder: Folder,
    letters: Letters,
}

impl Overlays {
    /// Makes the folder, if need be, and checks that it can be written to.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do.
    pub fn create(folder: &Path) -> Result<Self> {
        Ok(Self { letters: Letters::load(folder)?, folder: Folder::create(folder)? })
    }
}

impl Export for Overlays {
    fn draws(&self) -> bool {
        true
    }

    /// Refuses frames of its own folder, besides the usual errors.
    fn frame(&mut self, record: &FrameRecord, view: &FrameView<'_>) -> Result<()> {
        self.folder.refuse_frames(view.path)?;
        let Some(frame) = &view.pixels else { return Ok(()) };
        let mut picture = in_color(frame)?;
        draw(&mut picture, record, view.truth.as_ref(), &self.letters);

        let extension = Path::new(&record.file).extension().and_then(|extension| extension.to_str());
        let jpeg = extension.filter(|ext| ext.eq_ignore_ascii_case("jpg") || ext.eq_ignore_ascii_case("jpeg"));
        let name = self.folder.name_for(&record.file, jpeg.unwrap_or("png"));
        self.folder.put(&name, |file| match jpeg {
            Some(_) => picture.write_with_encoder(JpegEncoder::new_with_quality(file, 90)),
            None => picture.write_with_encoder(PngEncoder::new(file)),
        })
    }
}

/// The frame's pixels as a picture.
fn in_color(frame: &Frame<'_>) -> Result<RgbImage> {
    let (width, height) = (frame.width(), frame.height());
    let mut pixels = Vec::with_capacity(width.saturating_mul(height).saturating_mul(3));
    for y in 0..height {
        for pixel in frame.row(y).chunks_exact(frame.format().bytes()) {
            pixels.extend_from_slice(&match (frame.format(), pixel) {
                (PixelFormat::Rgb8 | PixelFormat::Rgba8, &[r, g, b, ..]) => [r, g, b],
                (PixelFormat::Bgr8 | PixelFormat::Bgra8, &[b, g, r, ..]) => [r, g, b],
                _ => [pixel[0]; 3],
            });
        }
    }
    let too_large = || Error::FrameLayout { width, height, reason: "it is too large for a picture".into() };
    let sizes = u32::try_from(width).ok().zip(u32::try_from(height).ok());
    sizes.and_then(|(w, h)| RgbImage::from_raw(w, h, pixels)).ok_or_else(too_large)
}

/// Colours that also the colour-blind tell apart.
fn ink(state: State) -> Rgb<u8> {
    match state {
        State::Initial => Rgb([255, 255, 255]),
        State::Tracking => Rgb([60, 220, 90]),
        State::Uncertain => Rgb([250, 220, 50]),
        State::Lost => Rgb([235, 50, 35]),
        State::Missing => Rgb([150, 150, 150]),
    }
}

/// Draws boxes and words; lines and letters grow with the picture.
fn draw(picture: &mut RgbImage, record: &FrameRecord, truth: Option<&BBox>, letters: &Letters) {
    let short_side = picture.width().min(picture.height());
    let line = (short_side / 200 + 1).min(24) as i32;
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
    caption(picture, record, bbox.as_ref(), truth, letters);
}

/// Writes the longest line of words that fits, at the top or, where the box is there, at the bottom.
fn caption(picture: &mut RgbImage, record: &FrameRecord, bbox: Option<&BBox>, truth: Option<&BBox>, letters: &Letters) {
    let short_side = picture.width().min(picture.height());
    let size = (short_side as f32 / 22.0).clamp(12.0, 120.0);
    let mut parts = parts(record, bbox, truth);
    if bbox.is_some_and(|bbox| bbox.visible_share(picture.width() as usize, picture.height() as usize) == 0.0) {
        parts.push("off the image".into());
    }
    let padding = (size / 3.0) as u32;
    let square = (size * 0.7) as u32;
    // The last parts are left out first, but the state is also in the colour: the numbers matter more.
    let lines = [parts.join("   "), parts[2..].join("   "), parts[2..].iter().take(1).cloned().collect()];
    let fitting = lines.iter().filter(|words| !words.is_empty()).find_map(|words| {
        let (width, height) = letters.extent(words, size);
        let (width, height) = (width + square + 3 * padding, height + 2 * padding);
        (width <= picture.width() && height.saturating_mul(3) <= picture.height()).then_some((words, width, height))
    });
    let Some((words, width, height)) = fitting else { return };
    let strip = BBox::new(0.0, 0.0, f64::from(width), f64::from(height));
    let hidden = [bbox, truth].into_iter().flatten().any(|target| target.intersection(&strip) > 0.0);
    let top = if hidden { picture.height() - height } else { 0 };
    let [padding, square, top, width, height] = [padding, square, top, width, height].map(|v| v as i32);
    darken(picture, [0, top, width, top + height]);
    let middle = top + (height - square) / 2;
    fill(picture, [padding, middle, padding + square, middle + square], ink(record.state));
    letters.write(picture, words, (2 * padding + square, top + padding), size, WORDS);
}

/// Position and state, then the numbers that there are.
fn parts(record: &FrameRecord, bbox: Option<&BBox>, truth: Option<&BBox>) -> Vec<String> {
    let mut parts = vec![format!("#{}", record.index), record.state.to_string()];
    parts.extend(record.peak.map(|peak| format!("peak {peak:.2}")));
    parts.extend(record.psr.map(|psr| format!("PSR {psr:.1}")));
    parts.extend(record.decision.map(|decision| format!("decision {decision:.2}")));
    parts.extend(bbox.zip(truth).map(|(bbox, truth)| format!("IoU {:.2}", bbox.overlap(truth))));
    parts
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::export::record::tests::run;

    fn record(bbox: BBox) -> FrameRecord {
        FrameRecord { file: "0002.png".into(), bbox, ..run().1[1].clone() }
    }

    fn overlay(folder: &Path, record: &FrameRecord, view: &FrameView<'_>) -> Result<()> {
        Overlays::create(folder).unwrap().frame(record, view)
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
    fn a_frame_that_was_not_read_gives_no_picture() {
        let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let source = folder.path().join("0002.png");
        let view = FrameView { path: Some(&source), ..FrameView::default() };
        overlay(out.path(), &record(BBox::new(1.0, 1.0, 2.0, 2.0)), &view).unwrap();
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
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
