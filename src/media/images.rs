//! Image files: those of a folder in natural order, and one file to one frame; and animated WebP.
//!
//! The first bytes tell the format, not the extension. JPEG, the format of most sequences, is decoded by `zune-jpeg` in
//! strict mode, directly to its luma plane for gray; the crate `image` decodes all other formats. Exif orientation is
//! not applied, because truth files count pixels as they are stored.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{AnimationDecoder, ColorType, DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use tiff::decoder::Decoder as TiffDecoder;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{Demand, Info, Item, Source, Span, Stream, order};
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result, panic_message};
use crate::frame::yuv::{Chroma, Levels, Planes, Standard, planar};
use crate::frame::{Channels, FrameBuf, PixelFormat};

/// Maximum pixels of an image, 16,384 x 8,192. A header that claims more is an error.
pub(super) const MAX_PIXELS: usize = 1 << 27;

/// Maximum bytes of an image file.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Maximum side of an image in pixels, as in a JPEG header.
const MAX_SIDE: u32 = 65_535;

/// Maximum bytes that a decoder may allocate: 16-bit RGBA of [`MAX_PIXELS`].
const MAX_ALLOCATION: u64 = 8 * MAX_PIXELS as u64;

/// Bytes that a PNG may take besides its pixels.
const PNG_EXTRA: u64 = 16 << 20;

/// Images at the start of a folder that may be unreadable before the levels of all are unknown.
const MAX_UNREADABLE: usize = 16;

/// An encoded image in memory. All decoders use this reader, so each is compiled once.
pub(super) type Encoded<'a> = Cursor<&'a [u8]>;

/// A frame, and the same picture in colour if the frame is gray and [`Demand::color`] asks for it.
pub(crate) type Decoded = (FrameBuf, Option<FrameBuf>);

/// Extensions of images, in lower case.
pub(super) const EXTENSIONS: [&str; 14] =
    ["jpg", "jpeg", "jpe", "jfif", "png", "bmp", "dib", "tif", "tiff", "webp", "pnm", "pbm", "pgm", "ppm"];

/// Extensions of pictures that cannot be read.
const OTHER_EXTENSIONS: [&str; 15] =
    ["avif", "cr2", "dng", "exr", "gif", "heic", "heif", "jp2", "jxl", "nef", "pam", "psd", "qoi", "sgi", "tga"];

/// The index of the files that a run has put into a folder, one a line. The next run replaces only these.
pub(crate) const INDEX: &str = ".kcf-files";

/// Content of a folder.
pub(crate) struct Listing {
    /// Images in natural order: 1, 2, 10.
    pub images: Vec<PathBuf>,
    /// Other files that are not hidden.
    pub files: usize,
    /// Names of files that are pictures of other formats, unsorted.
    pub pictures: Vec<String>,
    /// Folders that are not hidden.
    pub folders: usize,
}

/// Lists a folder without its hidden files.
///
/// # Errors
/// [`Error::Sequence`] when `folder` is a file, [`Error::Io`] when it cannot be read.
pub(crate) fn list(folder: &Path) -> Result<Listing> {
    let io = |source| Error::io(folder, source);
    if !std::fs::metadata(folder).map_err(io)?.is_dir() {
        return Err(Error::sequence(folder, "this is a file: give the folder that holds the images"));
    }
    let mut listing = Listing { images: Vec::new(), files: 0, pictures: Vec::new(), folders: 0 };
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = entry.path();
        if file_name(&path).starts_with('.') {
            continue;
        }
        // A dangling link counts as a file: decoding it reports the missing frame.
        if entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink() && path.is_dir()) {
            listing.folders += 1;
        } else if is_image(&path) {
            listing.images.push(path);
        } else {
            listing.files += 1;
            listing.pictures.extend(has_extension(&path, &OTHER_EXTENSIONS).then(|| file_name(&path)));
        }
    }
    order::sort(&mut listing.images);
    Ok(listing)
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(crate) fn is_image(path: &Path) -> bool {
    has_extension(path, &EXTENSIONS)
}

/// Whether the extension of a path, in any case, is one of these.
pub(crate) fn has_extension(path: &Path, all: &[&str]) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    all.contains(&extension.as_str())
}

/// The number in a file's name: the last digits before the extension.
pub(super) fn number(path: &Path) -> Option<usize> {
    let stem = path.file_stem()?.to_string_lossy();
    let stem = stem.trim_end_matches(|c: char| !c.is_ascii_digit());
    stem[stem.trim_end_matches(|c: char| c.is_ascii_digit()).len()..].parse().ok()
}

/// The first of `frames`, which count from 1, that is the number of another image, if all are numbers of images.
pub(crate) fn number_of_another(numbers: &[Option<usize>], mut frames: impl Iterator<Item = usize>) -> Option<usize> {
    let known: BTreeSet<usize> = numbers.iter().copied().flatten().collect();
    let mut other = None;
    let are_numbers = frames.all(|frame| {
        other = other.or((frame > 0 && numbers.get(frame - 1) != Some(&Some(frame))).then_some(frame));
        known.contains(&frame)
    });
    other.filter(|_| are_numbers)
}

/// Decodes image files in order. An image that cannot be decoded is an item with an error; the next ones follow.
#[derive(Debug)]
pub struct Images {
    files: std::vec::IntoIter<(usize, PathBuf)>,
    demand: Demand,
    levels: Option<(u16, u16)>,
}

impl Images {
    /// Decodes `files`, pairs of position and path. `levels` are black and white of 16-bit pictures ([`Info::levels`]).
    ///
    /// [`Info::levels`]: super::Info::levels
    pub fn new(files: Vec<(usize, PathBuf)>, demand: impl Into<Demand>, levels: Option<(u16, u16)>) -> Self {
        Self { files: files.into_iter(), demand: demand.into(), levels }
    }
}

impl Iterator for Images {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let (position, path) = self.files.next()?;
        let begun = Instant::now();
        let decoded = decode_with(&path, self.demand, self.levels);
        let item = Item::numbered(position, None, decoded, begun.elapsed().as_secs_f64() * 1e3);
        Some(Item { name: file_name(&path), path: Some(path), ..item })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.files.size_hint()
    }
}

/// Decodes an image file. 16-bit samples are scaled to 8 bits (v/257, rounded; in a sequence by [`Info::levels`]), alpha is
/// dropped, palettes are resolved.
///
/// [`Info::levels`]: super::Info::levels
///
/// # Errors
/// [`Error::Io`] when the file cannot be read; [`Error::Decode`] when it is empty, truncated, of an unknown format, of
/// more than 2^27 pixels, holds several pictures (an animation, pages), or makes the decoder fail or panic.
pub fn decode(path: impl AsRef<Path>, channels: Channels) -> Result<FrameBuf> {
    decode_with(path.as_ref(), channels.into(), None).map(|(frame, _)| frame)
}

/// Decodes an image in memory; `path` names it in errors.
///
/// # Errors
/// [`Error::Decode`] as [`decode`].
pub fn decode_bytes(bytes: &[u8], path: impl AsRef<Path>, channels: Channels) -> Result<FrameBuf> {
    decode_both(bytes, path.as_ref(), channels.into(), None).map(|(frame, _)| frame)
}

fn decode_both(bytes: &[u8], path: &Path, demand: Demand, levels: Option<(u16, u16)>) -> Result<Decoded> {
    guarded(|| picture(bytes, demand, levels)).map_err(|reason| Error::Decode { path: path.to_path_buf(), reason })
}

fn decode_with(path: &Path, demand: Demand, levels: Option<(u16, u16)>) -> Result<Decoded> {
    decode_both(&encoded(path)?, path, demand, levels)
}

/// The darkest and the brightest level of the first of `images` that can be read, if it has 16 bits a sample.
pub fn first_levels(images: &[PathBuf]) -> Option<(u16, u16)> {
    let levels = |path: &PathBuf| {
        let bytes = encoded(path).ok()?;
        let format = image::guess_format(&bytes).ok()?;
        guarded(|| {
            if format == ImageFormat::Jpeg {
                return Ok(None);
            }
            let decoder = decoder(&bytes, format)?;
            let (color, pictured) = (decoder.color_type(), || picture_of(decoder));
            Ok(match color {
                ColorType::L16 | ColorType::La16 => Some(range(pictured()?.into_luma16().iter().copied())),
                ColorType::Rgb16 | ColorType::Rgba16 => Some(range(pictured()?.into_rgb16().iter().copied())),
                _ => None,
            })
        })
        .ok()
    };
    images.iter().take(MAX_UNREADABLE).find_map(levels).flatten()
}

/// Of 256 levels, those that 98 of 100 pixels of a picture with 16-bit samples have; `None` if it cannot be read.
pub(super) fn levels_in_use(image: &Path, levels: (u16, u16)) -> Option<u8> {
    let (frame, _) = decode_with(image, Channels::Luma.into(), Some(levels)).ok()?;
    let frame = frame.as_frame();
    let mut pixels: Vec<u8> = (0..frame.height()).flat_map(|y| frame.row(y)).copied().collect();
    let mut at = |share: usize| *pixels.select_nth_unstable((frame.width() * frame.height() - 1) * share / 100).1;
    Some(at(99) - at(1))
}

/// True if the EXIF data of the first of `images` ask to show it turned or mirrored.
pub(super) fn is_turned(images: &[PathBuf]) -> bool {
    let orientation = |path: &PathBuf| {
        let bytes = encoded(path).ok()?;
        let exif = || match image::guess_format(&bytes).map_err(|error| error.to_string())? {
            ImageFormat::Jpeg => {
                let mut decoder = JpegDecoder::new(ZCursor::new(Jpeg(&bytes)));
                decoder.decode_headers().map_err(|error| error.to_string())?;
                Ok(decoder.exif().and_then(|exif| Orientation::from_exif_chunk(exif)))
            }
            other => decoder(&bytes, other)?.orientation().map(Some).map_err(|error| error.to_string()),
        };
        guarded(exif).ok()?
    };
    images.first().and_then(orientation).is_some_and(|orientation| orientation != Orientation::NoTransforms)
}

/// The least and the greatest of all samples; the whole range if they are equal.
pub(super) fn range(samples: impl Iterator<Item = u16>) -> (u16, u16) {
    let (low, high) = samples.fold((u16::MAX, 0), |(low, high), sample| (low.min(sample), high.max(sample)));
    if low < high { (low, high) } else { (0, u16::MAX) }
}

/// A 16-bit sample as 8 bits between black and white, rounded.
pub(super) fn stretched(sample: u16, (black, white): (u16, u16)) -> u8 {
    let range = u32::from(white.saturating_sub(black)).max(1);
    let above = u32::from(sample.saturating_sub(black)).min(range);
    ((above * 255 + range / 2) / range) as u8
}

/// Reads an image file.
///
/// # Errors
/// [`Error::Io`] when it cannot be read; [`Error::Decode`] for a folder or a file that is too large.
pub(super) fn encoded(path: &Path) -> Result<Vec<u8>> {
    let io = |source| Error::io(path, source);
    let wrong = |reason: String| Error::Decode { path: path.to_path_buf(), reason };
    // Opening a pipe would wait for its writer.
    let metadata = std::fs::metadata(path).map_err(io)?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a folder" } else { "a pipe or a device, not a file" };
        return Err(wrong(format!("this is {what}")));
    }
    let file = File::open(path).map_err(io)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(wrong(format!("the file has {} bytes, more than {MAX_FILE_BYTES}", metadata.len())));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// Runs a decoder; a panic becomes an error, but in the profile `dist` it ends the program.
pub(super) fn guarded<T>(decoder: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // The decoder owns all its state, so no broken state remains.
    let decoded = catch_unwind(AssertUnwindSafe(decoder));
    decoded.unwrap_or_else(|panic| Err(format!("the decoder panicked: {}", panic_message(&*panic))))
}

fn picture(bytes: &[u8], demand: Demand, levels: Option<(u16, u16)>) -> Result<Decoded, String> {
    if bytes.is_empty() {
        return Err("the file is empty".into());
    }
    let format = image::guess_format(bytes).map_err(|_| "its first bytes are of no image format".to_string())?;
    match format {
        ImageFormat::Jpeg => jpeg(bytes, demand),
        other => {
            let picture = picture_of(decoder(bytes, other)?)?;
            if matches!(picture.color(), ColorType::Rgb32F | ColorType::Rgba32F) {
                return Err("its samples are floating-point numbers of any range: write 8 or 16 bits".into());
            }
            let frame = frame_of(picture, levels).map_err(|error| error.to_string())?;
            Ok(demanded(frame, demand))
        }
    }
}

/// The bytes of a JPEG. With its own type the decoder is compiled in this crate; debug builds do not optimise the copy
/// for plain bytes in the crates of `image`.
struct Jpeg<'a>(&'a [u8]);

impl AsRef<[u8]> for Jpeg<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

/// Decodes a JPEG strictly: a file that ends early is an error, not a gray area.
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
    let stored = decoder.input_colorspace().ok_or("the JPEG has no colour space")?;
    let plane = demand.channels == Channels::Luma && stored == ColorSpace::YCbCr && markers.luma_alone_is_right();
    let space = match stored {
        ColorSpace::Luma => ColorSpace::Luma,
        // One decoding gives the plane to track and the colours to show.
        _ if plane && demand.color => ColorSpace::YCbCr,
        _ if plane => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let data = decoder.decode().map_err(|error| error.to_string())?;
    let buffer = |data, format| FrameBuf::new(data, width, height, format).map_err(|error| error.to_string());
    match space {
        ColorSpace::YCbCr => {
            let (chroma, levels, standard) = (Chroma::C444, Levels::Full, Standard::Bt601);
            let planes = Planes { width, height, chroma, levels, standard };
            planes.decoded(planar(&data), demand.channels, demand.color).map_err(|error| error.to_string())
        }
        ColorSpace::Luma => Ok((buffer(data, PixelFormat::Gray8)?, None)),
        _ => Ok(demanded(buffer(data, PixelFormat::Rgb8)?, demand)),
    }
}

/// Properties of a JPEG that the decoder does not report.
#[derive(Debug, Default, PartialEq, Eq)]
struct JpegMarkers {
    /// Sampling factors of each component: 16 times the horizontal one plus the vertical one.
    sampling: Vec<u8>,
    /// True if an end marker follows the first scan. Compressed data cannot contain that marker by chance.
    ended: bool,
}

impl JpegMarkers {
    fn read(bytes: &[u8]) -> Self {
        let mut markers = Self::default();
        let mut at = 2;
        // Segments before the scan are skipped by their length, because an embedded preview has its own markers.
        while let Some(&[first, marker, high, low]) = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
            let length = usize::from(u16::from_be_bytes([high, low]));
            match (first, marker) {
                (0xFF, 0xDA) => break,
                (0xFF, 0xFF) | (0..0xFF, _) => at += 1,
                (0xFF, _) => {
                    // Start of frame: 6 bytes, then identifier, sampling factors and table of each component.
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
        markers.ended = scan.windows(2).rev().any(|pair| pair == [0xFF, 0xD9]);
        markers
    }

    /// True if `zune-jpeg` decodes the luma correctly without the chroma: for 4:4:4, 4:2:2 and 4:2:0, but not for
    /// progressive 4:4:0.
    fn luma_alone_is_right(&self) -> bool {
        matches!(self.sampling[..], [0x11 | 0x21 | 0x22, 0x11, 0x11])
    }
}

/// The decoder of the crate `image` for any other format, after its header.
fn decoder(bytes: &[u8], format: ImageFormat) -> Result<Box<dyn ImageDecoder + '_>, String> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOCATION);
    let (encoded, wrong) = (Encoded::new(bytes), |error: image::ImageError| error.to_string());
    let (mut decoder, is_several): (Box<dyn ImageDecoder>, _) = match format {
        ImageFormat::Png => {
            // Texts and colour profiles, too, must fit into what the pixels take and a little more.
            let side = |at: usize| {
                bytes.get(at..at + 4).map_or(0, |side| side.iter().fold(0, |all, &byte| all << 8 | u64::from(byte)))
            };
            let most = (8 * side(16)).saturating_mul(side(20)).saturating_add(PNG_EXTRA).min(MAX_ALLOCATION);
            let mut own = limits.clone();
            own.max_alloc = Some(most);
            let png = PngDecoder::with_limits(encoded, own).map_err(wrong)?;
            let is_several = png.is_apng().map_err(wrong)?;
            (Box::new(png), is_several)
        }
        ImageFormat::WebP => {
            let webp = WebPDecoder::new(encoded).map_err(wrong)?;
            let is_several = webp.has_animation();
            (Box::new(webp), is_several)
        }
        ImageFormat::Tiff if has_pages(encoded.clone()) => {
            return Err("it holds several pages: write each page to a file of its own".into());
        }
        _ => {
            let mut reader = ImageReader::with_format(encoded, format);
            reader.limits(limits.clone());
            (Box::new(reader.into_decoder().map_err(wrong)?), false)
        }
    };
    if is_several {
        return Err("it holds several pictures: give the file itself as the source".into());
    }
    let (width, height) = decoder.dimensions();
    check_size(width as usize, height as usize)?;
    limits.reserve(decoder.total_bytes()).map_err(wrong)?;
    decoder.set_limits(limits).map_err(wrong)?;
    Ok(decoder)
}

fn picture_of(decoder: Box<dyn ImageDecoder + '_>) -> Result<DynamicImage, String> {
    DynamicImage::from_decoder(decoder).map_err(|error| error.to_string())
}

fn has_pages(encoded: Encoded) -> bool {
    TiffDecoder::new(encoded).is_ok_and(|decoder| decoder.more_images())
}

/// The frame of a picture; 16-bit samples are stretched between `levels`.
pub(super) fn frame_of(picture: DynamicImage, levels: Option<(u16, u16)>) -> Result<FrameBuf> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let samples = |all: Vec<u16>, levels| all.into_iter().map(|sample| stretched(sample, levels)).collect();
    match (levels, picture.color()) {
        (Some(levels), ColorType::L16 | ColorType::La16) => {
            FrameBuf::new(samples(picture.into_luma16().into_raw(), levels), width, height, PixelFormat::Gray8)
        }
        (Some(levels), ColorType::Rgb16 | ColorType::Rgba16) => {
            FrameBuf::new(samples(picture.into_rgb16().into_raw(), levels), width, height, PixelFormat::Rgb8)
        }
        _ => FrameBuf::try_from(picture),
    }
}

pub(super) fn check_size(width: usize, height: usize) -> Result<(), String> {
    match width.checked_mul(height) {
        Some(pixels) if pixels <= MAX_PIXELS => Ok(()),
        _ => Err(format!("its header says {width}x{height} pixels, more than {MAX_PIXELS} in all")),
    }
}

/// True if an image is an animation.
pub(super) fn is_animated(bytes: &[u8], format: ImageFormat) -> bool {
    let animated = guarded(|| {
        Ok(match format {
            ImageFormat::Png => PngDecoder::new(Encoded::new(bytes)).is_ok_and(|png| png.is_apng().unwrap_or(false)),
            ImageFormat::WebP => WebPDecoder::new(Encoded::new(bytes)).is_ok_and(|webp| webp.has_animation()),
            _ => false,
        })
    });
    animated == Ok(true)
}

/// Converts a decoded picture, in colour or gray, to the demanded channels.
pub(crate) fn demanded(picture: FrameBuf, demand: Demand) -> Decoded {
    match (demand.channels, picture.as_frame().format()) {
        (Channels::Luma, PixelFormat::Rgb8 | PixelFormat::Bgr8) => (picture.to_luma(), demand.color.then_some(picture)),
        _ => (picture, None),
    }
}

/// An animated WebP, which ffmpeg does not read: its pictures, whole and without transparency.
#[derive(Debug)]
pub(super) struct WebP {
    info: Info,
    bytes: Arc<[u8]>,
}

impl WebP {
    pub fn open(path: &Path) -> Result<Self> {
        let bytes: Arc<[u8]> = encoded(path)?.into();
        let size = guarded(|| {
            let (width, height) =
                WebPDecoder::new(Encoded::new(&bytes)).map_err(|error| error.to_string())?.dimensions();
            check_size(width as usize, height as usize).map(|()| (width as usize, height as usize))
        });
        let size = size.map_err(|reason| Error::sequence(path, reason))?;
        let inputs = vec![path.to_path_buf()];
        let name = path.file_stem().map_or_else(|| file_name(path), |stem| stem.to_string_lossy().into_owned());
        Ok(Self { info: Info { name, size: Some(size), inputs, ..Info::default() }, bytes })
    }
}

impl Source for WebP {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, span: Span, demand: Demand, _: &CancelToken) -> Result<Stream> {
        let bytes = Arc::clone(&self.bytes);
        let path = self.info.inputs.first().cloned().unwrap_or_default();
        let (sender, pictures) = sync_channel(1);
        // The decoder cannot be sent to another thread.
        spawn("webp", move || {
            let mut next = 1;
            let sent = guarded(|| {
                let decoder = WebPDecoder::new(Encoded::new(&bytes)).map_err(|error| error.to_string())?;
                let (mut time, mut begun) = (0.0, Instant::now());
                for (position, picture) in (1..).zip(decoder.into_frames()) {
                    next = position;
                    if span.last.is_some_and(|last| position > last) {
                        break;
                    }
                    let picture = picture.map_err(|error| error.to_string())?;
                    let (above, below) = picture.delay().numer_denom_ms();
                    if span.contains(position) {
                        let frame = frame_of(DynamicImage::from(picture.into_buffer()), None);
                        let decoded = frame.map(|frame| demanded(frame, demand));
                        let timestamp = Some(time).filter(|time| position == 1 || *time > 0.0);
                        let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
                        if sender.send(Item::numbered(position, timestamp, decoded, decode_ms)).is_err() {
                            break;
                        }
                    }
                    time += f64::from(above) / f64::from(below.max(1)) / 1e3;
                    begun = Instant::now();
                }
                Ok(())
            });
            if let Err(reason) = sent {
                let _ = sender.send(Item::numbered(next, None, Err(Error::Ended { path, reason }), 0.0));
            }
        })?;
        Ok(Box::new(pictures.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(folder.path().join(file), b"").unwrap();
        }
        list(folder.path()).unwrap().images.iter().map(|path| file_name(path)).collect()
    }

    #[test]
    fn lists_images_by_extension_in_any_case() {
        let files =
            ["1.JPG", "2.Jpeg", "3.PNG", "4.bmp", "5.TIF", "6.tiff", "7.webp", "8.pnm", "9.pbm", "10.pgm", "11.ppm"];
        let mut all = files.to_vec();
        all.extend(["cfg.mat", "groundtruth.txt", ".1.jpg", "._2.jpg", "thumbs.db", "jpg", "12.gif"]);
        assert_eq!(names(&all), files);
    }

    #[test]
    fn leaves_out_folders_that_are_named_like_images() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("0.jpg")).unwrap();
        std::fs::write(folder.path().join("1.jpg"), b"").unwrap();
        let listing = list(folder.path()).unwrap();
        assert_eq!((listing.images.len(), listing.folders, listing.files), (1, 1, 0));
    }

    #[test]
    fn takes_the_last_digits_of_a_name_as_its_number() {
        let of = |name: &str| number(Path::new(name));
        assert_eq!(of("a/0247.jpg"), Some(247));
        assert_eq!(of("a/cam2_0013.png"), Some(13));
        assert_eq!(of("a/00000042é.png"), Some(42));
        assert_eq!(of("a/é7.png"), Some(7));
        assert_eq!(of("a7/x.png"), None);
        assert_eq!(of("99999999999999999999999999.png"), None);
    }

    #[test]
    fn a_panic_of_a_decoder_is_an_error() {
        let text = guarded::<()>(|| panic!("row {} is missing", 7)).unwrap_err();
        assert!(text.contains("row 7 is missing"), "{text}");
        assert!(guarded::<()>(|| std::panic::panic_any(3)).is_err());
    }

    #[test]
    fn ignores_the_markers_of_a_preview() {
        // An APP1 segment of 9 bytes that holds a start of frame and an end marker.
        let preview = [0xFF, 0xE1, 0, 9, 0xFF, 0xC0, 0, 1, 2, 0xFF, 0xD9];
        let frame = [0xFF, 0xC2, 0, 14, 8, 0, 1, 0, 1, 2, 1, 0x22, 0, 2, 0x11, 0];
        let scan = [0xFF, 0xDA, 0, 2, 1, 2, 0xFF, 0, 3];
        let cut = [&[0xFF, 0xD8][..], &preview, &frame, &scan].concat();
        let markers = JpegMarkers::read(&cut);
        assert_eq!(markers, JpegMarkers { sampling: vec![0x22, 0x11], ended: false });
        assert!(JpegMarkers::read(&[&cut[..], &[0xFF, 0xD9, 0, 0]].concat()).ended);
    }

    #[test]
    fn decodes_luma_alone_only_for_known_samplings() {
        let alone = |sampling: &[u8]| JpegMarkers { sampling: sampling.to_vec(), ended: true }.luma_alone_is_right();
        assert!(alone(&[0x22, 0x11, 0x11]) && alone(&[0x21, 0x11, 0x11]) && alone(&[0x11, 0x11, 0x11]));
        assert!(!alone(&[0x12, 0x11, 0x11]) && !alone(&[0x41, 0x11, 0x11]) && !alone(&[]));
    }
}
