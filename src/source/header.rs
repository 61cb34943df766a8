//! What the header of an image says that a person should know before its pixels are counted.

use std::io::{BufRead, Cursor, Seek};
use std::path::Path;

use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ImageDecoder, ImageFormat, ImageReader};
use tiff::decoder::Decoder as TiffDecoder;

use super::decode::guarded;
use super::folder::file_name;

/// Sentences on the image at `path`; none on one that cannot be read, which is said when its turn comes.
pub(super) fn peculiarities(path: &Path) -> Vec<String> {
    let name = file_name(path);
    let mut said = Vec::new();
    if let Ok(Some(orientation)) = guarded(|| Ok(orientation(path)))
        && orientation != Orientation::NoTransforms
    {
        said.push(format!(
            "{name}: its Exif orientation ({}) is not applied: boxes count pixels as they are stored, a viewer shows \
             them \
             turned",
            orientation.to_exif()
        ));
    }
    said
}

fn orientation(path: &Path) -> Option<Orientation> {
    let mut decoder = ImageReader::open(path).ok()?.with_guessed_format().ok()?.into_decoder().ok()?;
    decoder.orientation().ok()
}

/// Whether the file holds pictures that follow each other in time.
pub(super) fn is_animation(path: &Path) -> bool {
    several_at(path, &[ImageFormat::Png, ImageFormat::WebP])
}

/// Whether the file holds several pages.
pub(super) fn has_pages(path: &Path) -> bool {
    several_at(path, &[ImageFormat::Tiff])
}

fn several_at(path: &Path, formats: &[ImageFormat]) -> bool {
    let reader = ImageReader::open(path).and_then(ImageReader::with_guessed_format);
    let Ok(reader) = reader else { return false };
    let format = reader.format().filter(|format| formats.contains(format));
    format.is_some_and(|format| several(reader.into_inner(), format))
}

/// Whether an encoded image holds more than one picture.
pub(super) fn holds_several(bytes: &[u8], format: ImageFormat) -> bool {
    several(Cursor::new(bytes), format)
}

fn several(bytes: impl BufRead + Seek, format: ImageFormat) -> bool {
    let found = guarded(|| {
        Ok(match format {
            ImageFormat::Png => PngDecoder::new(bytes).ok().and_then(|decoder| decoder.is_apng().ok()),
            ImageFormat::WebP => WebPDecoder::new(bytes).ok().map(|decoder| decoder.has_animation()),
            ImageFormat::Tiff => TiffDecoder::new(bytes).ok().map(|decoder| decoder.more_images()),
            _ => None,
        })
    });
    found.is_ok_and(|several| several == Some(true))
}
