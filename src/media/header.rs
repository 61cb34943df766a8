//! What the header of an image says that a person should know before its pixels are counted.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ImageDecoder, ImageFormat, ImageReader};
use tiff::decoder::Decoder as TiffDecoder;

use super::decode::{Encoded, encoded, exif, guarded};
use super::folder::file_name;
use crate::error::{Error, Result};

/// Bytes that tell every format of images.
const FIRST_BYTES: u64 = 64;

/// The format of images that the file at `path` is of, by its first bytes: a video may be too long to be read whole.
///
/// # Errors
/// [`Error::Io`] when it cannot be read.
pub(super) fn format_of(path: &Path) -> Result<Option<ImageFormat>> {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FIRST_BYTES).read_to_end(&mut first));
    read.map_err(|source| Error::io(path, source))?;
    Ok(image::guess_format(&first).ok())
}

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
    let encoded = encoded(path).ok()?;
    if image::guess_format(encoded.get_ref()).ok()? == ImageFormat::Jpeg {
        return Orientation::from_exif_chunk(&exif(encoded.get_ref())?);
    }
    let reader = ImageReader::new(encoded).with_guessed_format().ok()?;
    let mut decoder = reader.into_decoder().ok()?;
    decoder.orientation().ok()
}

/// Whether the file holds pictures that follow each other in time. A GIF does, by whatever name, if only one.
pub(super) fn is_animation(path: &Path) -> bool {
    format_of(path).ok().flatten() == Some(ImageFormat::Gif) || several_at(path, &[ImageFormat::Png, ImageFormat::WebP])
}

/// Whether the file holds several pages.
pub(super) fn has_pages(path: &Path) -> bool {
    several_at(path, &[ImageFormat::Tiff])
}

fn several_at(path: &Path, formats: &[ImageFormat]) -> bool {
    let format = format_of(path).ok().flatten().filter(|format| formats.contains(format));
    format.is_some_and(|format| encoded(path).is_ok_and(|encoded| holds_several(encoded, format)))
}

/// Whether an encoded image holds more than one picture.
pub(super) fn holds_several(encoded: Encoded, format: ImageFormat) -> bool {
    let found = guarded(|| {
        Ok(match format {
            ImageFormat::Png => PngDecoder::new(encoded).ok().and_then(|decoder| decoder.is_apng().ok()),
            ImageFormat::WebP => WebPDecoder::new(encoded).ok().map(|decoder| decoder.has_animation()),
            ImageFormat::Tiff => TiffDecoder::new(encoded).ok().map(|decoder| decoder.more_images()),
            _ => None,
        })
    });
    found.is_ok_and(|several| several == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gif_is_an_animation_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let named = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            is_animation(&path)
        };
        assert!(named("clip.jpg", b"GIF89a and more") && named("clip.gif", b"GIF87a and more"));
        assert!(!named("picture.jpg", b"\xff\xd8\xff\xe0 and more") && !named("nothing.jpg", b""));
    }
}
