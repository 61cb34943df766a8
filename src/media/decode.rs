//! One image file to one frame.
//!
//! The format is told by the first bytes, never by the extension. JPEG, of which most sequences consist, is decoded
//! here in strict mode, and straight to its luma plane where gray is wanted; every other format goes through the
//! `image` crate. An orientation in Exif data is not applied, which a sequence warns of: truth files count pixels as
//! they are stored.

use std::fs::File;
use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ImageDecoder, ImageFormat, ImageReader, Limits};
use tiff::decoder::Decoder as TiffDecoder;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::error::{Error, Result};
use crate::frame::{Channels, FrameBuf, PixelFormat};

use super::item::Demand;
use super::yuv;

/// Most pixels of an image: a header that claims more is not believed. 16,384 x 8,192.
pub const MAX_PIXELS: usize = 1 << 27;

/// Most bytes of an image file.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Longest side of an image in pixels: what a JPEG's header can say.
const MAX_SIDE: u32 = 65_535;

/// Most bytes that a decoder may ask for: 16-bit RGBA of [`MAX_PIXELS`].
const MAX_ALLOCATION: u64 = 8 * MAX_PIXELS as u64;

/// An encoded image in memory: the one kind of reader for all decoders, as each is compiled anew for every kind.
pub(super) type Encoded = Cursor<Arc<[u8]>>;

/// A frame, and the same picture in colour where [`Demand::color`] asks for it and the frame is gray.
pub(super) type Decoded = (FrameBuf, Option<FrameBuf>);

/// Decodes an image file. 16-bit samples are scaled to 8 bits (v/257, rounded), alpha is dropped, palettes are
/// resolved.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read; [`Error::Decode`] when it is empty, truncated, of a format that is not
/// supported, larger than [`MAX_PIXELS`], holds several pictures (an
/// animation, pages), or the decoder fails on it in any other way, a panic included.
pub fn decode(path: impl AsRef<Path>, channels: Channels) -> Result<FrameBuf> {
    decode_with(path.as_ref(), channels.into(), &mut Vec::new()).map(|(frame, _)| frame)
}

/// Decodes an image that is in memory; `path` only names it in errors.
///
/// # Errors
/// [`Error::Decode`] as [`decode`].
pub fn decode_bytes(bytes: &[u8], path: impl AsRef<Path>, channels: Channels) -> Result<FrameBuf> {
    decode_both(bytes, path.as_ref(), channels.into()).map(|(frame, _)| frame)
}

fn decode_both(bytes: &[u8], path: &Path, demand: Demand) -> Result<Decoded> {
    guarded(|| picture(bytes, demand)).map_err(|reason| Error::Decode { path: path.to_path_buf(), reason })
}

/// As [`decode`], with a buffer for the file's bytes that is used again.
pub(super) fn decode_with(path: &Path, demand: Demand, bytes: &mut Vec<u8>) -> Result<Decoded> {
    read(path, bytes)?;
    decode_both(bytes, path, demand)
}

/// The image file at `path`, as it is.
///
/// # Errors
/// [`Error::Io`] when it cannot be read; [`Error::Decode`] for a folder, and for a file that is far too large.
pub(super) fn encoded(path: &Path) -> Result<Encoded> {
    let mut bytes = Vec::new();
    read(path, &mut bytes)?;
    Ok(Encoded::new(bytes.into()))
}

fn read(path: &Path, bytes: &mut Vec<u8>) -> Result<()> {
    let io = |source| Error::io(path, source);
    let wrong = |reason: String| Error::Decode { path: path.to_path_buf(), reason };
    let mut file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.is_dir() {
        return Err(wrong("this is a folder".into()));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(wrong(format!("the file has {} bytes, more than {MAX_FILE_BYTES}", metadata.len())));
    }
    bytes.clear();
    file.by_ref().take(MAX_FILE_BYTES).read_to_end(bytes).map_err(io)?;
    Ok(())
}

/// Runs a decoder; what it panics with becomes the reason of an error.
pub(super) fn guarded<T>(decoder: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // A decoder works on nothing that outlives it, so a half-done state cannot be seen.
    catch_unwind(AssertUnwindSafe(decoder)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("the decoder gave up: {}", said.unwrap_or("it did not say why")))
    })
}

fn picture(bytes: &[u8], demand: Demand) -> Result<Decoded, String> {
    if bytes.is_empty() {
        return Err("the file is empty".into());
    }
    let format = image::guess_format(bytes).map_err(|_| "its first bytes are those of no image format".to_string())?;
    match format {
        ImageFormat::Jpeg => jpeg(bytes, demand),
        other => general(bytes, other, demand),
    }
}

/// The bytes of a JPEG, as a type of their own: a decoder of plain bytes is compiled with the crate `image` as well,
/// and what is shared of it would be that crate's copy, which is not optimised.
struct Jpeg<'a>(&'a [u8]);

impl AsRef<[u8]> for Jpeg<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

/// A JPEG by `zune-jpeg`, strictly: a file that ends early is an error and no gray area. What cannot be told, unless
/// next to nothing is there, is data that ends early in a file that bears its end marker all the same.
fn jpeg(bytes: &[u8], demand: Demand) -> Result<Decoded, String> {
    let markers = JpegMarkers::read(bytes);
    if !markers.ended {
        return Err("the JPEG is truncated: its end marker is missing".into());
    }
    let side = MAX_SIDE as usize;
    let options = DecoderOptions::new_fast().set_strict_mode(true).set_max_width(side).set_max_height(side);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(Jpeg(bytes)), options);
    decoder.decode_headers().map_err(|error| error.to_string())?;
    let (width, height) = decoder.dimensions().ok_or("the JPEG has no size")?;
    check_size(width, height)?;
    if width * height / MOST_PIXELS_A_BIT > 8 * markers.scan {
        return Err(format!("the JPEG is truncated: {} bytes cannot hold {width}x{height} pixels", markers.scan));
    }
    let stored = decoder.input_colorspace().ok_or("the JPEG has no colour space")?;
    // Only in these two the first component is luma. RGB, CMYK and YCCK have to become RGB first.
    let luma_is_stored = stored == ColorSpace::YCbCr && markers.luma_alone_is_right();
    let plane = demand.channels == Channels::Luma && luma_is_stored;
    let space = match stored {
        ColorSpace::Luma => ColorSpace::Luma,
        // The plane for the tracker and the colours for people, of one decoding.
        _ if plane && demand.color => ColorSpace::YCbCr,
        _ if plane => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let data = decoder.decode().map_err(|error| error.to_string())?;
    let buffer = |data, format| FrameBuf::new(data, width, height, format).map_err(|error| error.to_string());
    match space {
        ColorSpace::YCbCr => {
            let (plane, rgb) = yuv::split_ycbcr(data);
            Ok((buffer(plane, PixelFormat::Gray8)?, Some(buffer(rgb, PixelFormat::Rgb8)?)))
        }
        ColorSpace::Luma => Ok((buffer(data, PixelFormat::Gray8)?, None)),
        _ => Ok(demanded(buffer(data, PixelFormat::Rgb8)?, demand)),
    }
}

/// The Exif data of a JPEG, if it has some. Its headers may be read where its picture is refused.
fn exif(bytes: &[u8]) -> Option<Vec<u8>> {
    let options = DecoderOptions::default().set_strict_mode(false).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(Jpeg(bytes)), options);
    decoder.decode_headers().ok()?;
    decoder.exif().cloned()
}

/// Most pixels of a JPEG that share a bit: each unit of blocks takes one at least, for its mean, and has at most 4 x 4
/// blocks of 8 x 8 pixels (ITU T.81, A.2 and F.1.2).
const MOST_PIXELS_A_BIT: usize = 1024;

/// What the markers of a JPEG say that the decoder does not.
#[derive(Debug, Default, PartialEq, Eq)]
struct JpegMarkers {
    /// Sampling factors of each component, 16 times the horizontal plus the vertical one.
    sampling: Vec<u8>,
    /// Whether an end marker follows the first scan. In compressed data an FF byte is always followed by 00 or a
    /// restart marker, so the marker does not occur there by chance.
    ended: bool,
    /// Bytes from the first scan on.
    scan: usize,
}

impl JpegMarkers {
    fn read(bytes: &[u8]) -> Self {
        let mut markers = Self::default();
        let mut at = 2;
        // Segments before the scan are skipped by their length: an embedded preview has markers of its own.
        while let Some(&[first, marker, high, low]) = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
            let length = usize::from(u16::from_be_bytes([high, low]));
            match (first, marker) {
                (0xFF, 0xDA) => break,
                (0xFF, 0xFF) | (0..0xFF, _) => at += 1,
                (0xFF, _) => {
                    // Start of frame: precision, height, width, count, then identifier, sampling and table of each
                    // component.
                    if matches!(marker, 0xC0..=0xC2) {
                        let segment = bytes.get(at + 4..at + 2 + length).unwrap_or_default();
                        let components = segment.get(6..).unwrap_or_default();
                        markers.sampling = components.chunks_exact(3).map(|component| component[1]).collect();
                    }
                    at += 2 + length;
                }
            }
        }
        let scan = bytes.get(at..).unwrap_or_default();
        markers.scan = scan.len();
        markers.ended = scan.windows(2).rev().any(|pair| pair == [0xFF, 0xD9]);
        markers
    }

    /// Whether `zune-jpeg` can leave out the chroma: not for every sampling it returns the right luma (progressive
    /// 4:4:0 comes out wrong), so only for gray, 4:4:4, 4:2:2 and 4:2:0, which are compared with the RGB picture in
    /// the tests.
    fn luma_alone_is_right(&self) -> bool {
        matches!(self.sampling[..], [_] | [0x11 | 0x21 | 0x22, 0x11, 0x11])
    }
}

/// Everything else by the `image` crate.
fn general(bytes: &[u8], format: ImageFormat, demand: Demand) -> Result<Decoded, String> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOCATION);
    let encoded = Encoded::new(bytes.into());
    let reader = || {
        let mut reader = ImageReader::with_format(encoded.clone(), format);
        reader.limits(limits.clone());
        reader
    };
    if holds_several(encoded.clone(), format) {
        if format == ImageFormat::Tiff {
            return Err("it holds several pages, and a frame is one: write each page to a file of its own".into());
        }
        return Err("it holds several pictures, and a frame is one: give the file by itself, as a video".into());
    }
    let (width, height) = reader().into_dimensions().map_err(|error| error.to_string())?;
    check_size(width as usize, height as usize)?;
    let picture = reader().decode().map_err(|error| error.to_string())?;
    let frame = FrameBuf::try_from(picture).map_err(|error| error.to_string())?;
    Ok(demanded(frame, demand))
}

pub(super) fn check_size(width: usize, height: usize) -> Result<(), String> {
    match width.checked_mul(height) {
        Some(pixels) if pixels <= MAX_PIXELS => Ok(()),
        _ => Err(format!("its header says {width}x{height} pixels, more than {MAX_PIXELS} in all")),
    }
}

/// Whether an encoded image holds more than one picture: an animation or pages.
pub(super) fn holds_several(encoded: Encoded, format: ImageFormat) -> bool {
    let several = guarded(|| {
        Ok(match format {
            ImageFormat::Png => PngDecoder::new(encoded).ok().and_then(|decoder| decoder.is_apng().ok()),
            ImageFormat::WebP => WebPDecoder::new(encoded).ok().map(|decoder| decoder.has_animation()),
            ImageFormat::Tiff => TiffDecoder::new(encoded).ok().map(|decoder| decoder.more_images()),
            _ => None,
        })
    });
    several == Ok(Some(true))
}

/// The Exif orientation of an image, unless it is upright or cannot be read.
pub(super) fn orientation(path: &Path) -> Option<u8> {
    let encoded = encoded(path).ok()?;
    let format = image::guess_format(encoded.get_ref()).ok()?;
    let orientation = guarded(|| {
        Ok(match format {
            ImageFormat::Jpeg => exif(encoded.get_ref()).and_then(|exif| Orientation::from_exif_chunk(&exif)),
            _ => {
                let decoder = ImageReader::with_format(encoded, format).into_decoder();
                decoder.ok().and_then(|mut decoder| decoder.orientation().ok())
            }
        })
    });
    orientation.ok().flatten().filter(|&orientation| orientation != Orientation::NoTransforms).map(Orientation::to_exif)
}

/// A decoded picture, in colour or gray, as what is asked for.
pub(super) fn demanded(picture: FrameBuf, demand: Demand) -> Decoded {
    match (demand.channels, picture.as_frame().format()) {
        (Channels::Luma, PixelFormat::Rgb8) => (picture.to_luma(), demand.color.then_some(picture)),
        _ => (picture, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_reason() {
        let text = guarded::<()>(|| panic!("row {} is missing", 7)).unwrap_err();
        assert!(text.contains("row 7 is missing"), "{text}");
        assert!(guarded::<()>(|| std::panic::panic_any(3)).is_err());
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }

    #[test]
    fn the_markers_of_a_preview_are_not_those_of_the_picture() {
        // An APP1 segment of 9 bytes that holds a start of frame and an end marker.
        let preview = [0xFF, 0xE1, 0, 9, 0xFF, 0xC0, 0, 1, 2, 0xFF, 0xD9];
        let frame = [0xFF, 0xC2, 0, 14, 8, 0, 1, 0, 1, 2, 1, 0x22, 0, 2, 0x11, 0];
        let scan = [0xFF, 0xDA, 0, 2, 1, 2, 0xFF, 0, 3];
        let cut = [&[0xFF, 0xD8][..], &preview, &frame, &scan].concat();
        let markers = JpegMarkers::read(&cut);
        assert_eq!(markers, JpegMarkers { sampling: vec![0x22, 0x11], ended: false, scan: 9 });
        assert!(JpegMarkers::read(&[&cut[..], &[0xFF, 0xD9, 0, 0]].concat()).ended);
    }

    #[test]
    fn a_few_bytes_are_no_hundred_million_pixels() {
        let mut bytes = include_bytes!("../../assets/demo/img/0001.jpg").to_vec();
        assert!(decode_bytes(&bytes, "whole", Channels::Color).is_ok());
        let frame = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
        bytes[frame + 5..frame + 9].copy_from_slice(&[0xFF, 0x05, 0x05, 0xFF]);
        // What is left of it would be made up for minutes.
        bytes.drain(frame + 1000..bytes.len() - 2);
        let begun = std::time::Instant::now();
        let said = decode_bytes(&bytes, "cut", Channels::Color).unwrap_err().to_string();
        assert!(said.contains("truncated") && said.contains("cannot hold 1535x65285 pixels"), "{said}");
        assert!(begun.elapsed().as_millis() < 100, "{:?}", begun.elapsed());
    }

    #[test]
    fn luma_is_taken_alone_only_where_that_is_known_to_work() {
        let alone =
            |sampling: &[u8]| JpegMarkers { sampling: sampling.to_vec(), ended: true, scan: 0 }.luma_alone_is_right();
        assert!(alone(&[0x22, 0x11, 0x11]) && alone(&[0x21, 0x11, 0x11]) && alone(&[0x11, 0x11, 0x11]));
        assert!(
            !alone(&[0x12, 0x11, 0x11]) && !alone(&[0x41, 0x11, 0x11]) && !alone(&[0x22, 0x21, 0x21]) && !alone(&[])
        );
    }
}
