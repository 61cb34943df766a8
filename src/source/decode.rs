//! One image file to one frame.
//!
//! The format is told by the first bytes, never by the extension. JPEG, of which most sequences consist, is decoded here
//! in strict mode, and straight to its luma plane where gray is wanted; every other format goes through the `image` crate.
//! An orientation in Exif data is not applied: truth files count pixels as they are stored.

use std::fs::File;
use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use image::{ImageFormat, ImageReader, Limits};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::error::{Error, Result};
use crate::frame::{FrameBuf, PixelFormat, luma};

/// Most pixels of an image: a header that claims more is not believed. 16,384 x 8,192.
pub const MAX_PIXELS: usize = 1 << 27;

/// Most bytes of an image file.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Longest side of an image in pixels: what a JPEG's header can say.
const MAX_SIDE: u32 = 65_535;

/// Most bytes that a decoder may ask for: 16-bit RGBA of [`MAX_PIXELS`].
const MAX_ALLOCATION: u64 = 8 * MAX_PIXELS as u64;

/// What a frame shall hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// Gray only: the [`luma`] of colours. The cheapest way to decode a JPEG, whose luma plane is taken as it is stored
    /// (rounding differs from that of the RGB picture by a level here and there).
    Luma,
    /// RGB; a gray image stays gray.
    Color,
}

/// Decodes an image file. 16-bit samples are scaled to 8 bits (v/257, rounded), alpha is dropped, palettes are resolved,
/// of an animation the first picture is taken.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read; [`Error::Decode`] when it is empty, truncated, of a format that is not
/// supported, larger than [`MAX_PIXELS`], or the decoder fails on it in any other way, a panic included.
pub fn decode(path: impl AsRef<Path>, channels: Channels) -> Result<FrameBuf> {
    decode_with(path.as_ref(), channels, &mut Vec::new())
}

/// Decodes an image that is in memory; `path` only names it in errors.
///
/// # Errors
/// [`Error::Decode`] as [`decode`].
pub fn decode_bytes(bytes: &[u8], path: impl AsRef<Path>, channels: Channels) -> Result<FrameBuf> {
    let path = path.as_ref();
    guarded(|| picture(bytes, channels)).map_err(|reason| Error::Decode { path: path.to_path_buf(), reason })
}

/// As [`decode`], with a buffer for the file's bytes that is used again.
pub(super) fn decode_with(path: &Path, channels: Channels, bytes: &mut Vec<u8>) -> Result<FrameBuf> {
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
    decode_bytes(bytes, path, channels)
}

/// Runs a decoder; what it panics with becomes the reason of an error.
fn guarded<T>(decoder: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // A decoder works on nothing that outlives it, so a half-done state cannot be seen.
    catch_unwind(AssertUnwindSafe(decoder)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("the decoder gave up: {}", said.unwrap_or("it did not say why")))
    })
}

fn picture(bytes: &[u8], channels: Channels) -> Result<FrameBuf, String> {
    if bytes.is_empty() {
        return Err("the file is empty".into());
    }
    let format = image::guess_format(bytes).map_err(|_| "its first bytes are those of no image format".to_string())?;
    match format {
        ImageFormat::Jpeg => jpeg(bytes, channels),
        other => general(bytes, other, channels),
    }
}

/// A JPEG by `zune-jpeg`, strictly: data that ends early is an error and no gray area.
fn jpeg(bytes: &[u8], channels: Channels) -> Result<FrameBuf, String> {
    if !has_end_of_image(bytes) {
        return Err("the JPEG is truncated: its end marker is missing".into());
    }
    let side = MAX_SIDE as usize;
    let options = DecoderOptions::new_fast().set_strict_mode(true).set_max_width(side).set_max_height(side);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| error.to_string())?;
    let (width, height) = decoder.dimensions().ok_or("the JPEG has no size")?;
    check_size(width, height)?;
    let stored = decoder.input_colorspace().ok_or("the JPEG has no colour space")?;
    // Only in these two the first component is luma. RGB, CMYK and YCCK have to become RGB first.
    let luma_is_stored = matches!(stored, ColorSpace::Luma | ColorSpace::YCbCr);
    let gray = stored == ColorSpace::Luma || (channels == Channels::Luma && luma_is_stored);
    let (space, format) =
        if gray { (ColorSpace::Luma, PixelFormat::Gray8) } else { (ColorSpace::RGB, PixelFormat::Rgb8) };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let data = decoder.decode().map_err(|error| error.to_string())?;
    frame(data, width, height, format, channels)
}

/// Whether an end marker follows the first scan of a JPEG. In compressed data an FF byte is always followed by 00 or a restart marker, so
/// the marker cannot occur there by chance.
fn has_end_of_image(bytes: &[u8]) -> bool {
    let mut at = 2;
    // Segments before the scan are skipped by their length: an embedded preview has an end marker of its own.
    while let Some(&[first, marker, high, low]) = bytes.get(at..at + 4).and_then(|b| b.first_chunk::<4>()) {
        match (first, marker) {
            (0xFF, 0xDA) => break,
            (0xFF, 0xFF) => at += 1,
            (0xFF, _) => at += 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => at += 1,
        }
    }
    let Some(scan) = bytes.get(at..) else { return false };
    scan.windows(2).rev().any(|pair| pair == [0xFF, 0xD9])
}

/// Everything else by the `image` crate.
fn general(bytes: &[u8], format: ImageFormat, channels: Channels) -> Result<FrameBuf, String> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOCATION);
    let reader = || {
        let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
        reader.limits(limits.clone());
        reader
    };
    let (width, height) = reader().into_dimensions().map_err(|error| error.to_string())?;
    check_size(width as usize, height as usize)?;
    let picture = reader().decode().map_err(|error| error.to_string())?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (data, format) = if picture.color().has_color() {
        (picture.into_rgb8().into_raw(), PixelFormat::Rgb8)
    } else {
        (picture.into_luma8().into_raw(), PixelFormat::Gray8)
    };
    frame(data, width, height, format, channels)
}

fn check_size(width: usize, height: usize) -> Result<(), String> {
    match width.checked_mul(height) {
        Some(pixels) if pixels <= MAX_PIXELS => Ok(()),
        _ => Err(format!("its header says {width}x{height} pixels, more than {MAX_PIXELS} in all")),
    }
}

fn frame(
    mut data: Vec<u8>,
    width: usize,
    height: usize,
    format: PixelFormat,
    channels: Channels,
) -> Result<FrameBuf, String> {
    let mut format = format;
    if channels == Channels::Luma && format == PixelFormat::Rgb8 {
        data = data.chunks_exact(3).map(|pixel| luma(pixel[0], pixel[1], pixel[2])).collect();
        format = PixelFormat::Gray8;
    }
    FrameBuf::new(data, width, height, format).map_err(|error| error.to_string())
}
