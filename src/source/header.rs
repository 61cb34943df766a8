//! What the header of an image says that a person should know before its pixels are counted.

use std::io::BufReader;
use std::path::Path;

use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ImageDecoder, ImageFormat, ImageReader};

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
    if guarded(|| Ok(is_animation(path))).is_ok_and(|is| is == Some(true)) {
        said.push(format!("{name}: of an animation only the first picture is read: give a folder with all of them"));
    }
    said
}

fn orientation(path: &Path) -> Option<Orientation> {
    let mut decoder = ImageReader::open(path).ok()?.with_guessed_format().ok()?.into_decoder().ok()?;
    decoder.orientation().ok()
}

fn is_animation(path: &Path) -> Option<bool> {
    let reader = ImageReader::open(path).ok()?.with_guessed_format().ok()?;
    let format = reader.format()?;
    let bytes: BufReader<_> = reader.into_inner();
    match format {
        ImageFormat::Png => PngDecoder::new(bytes).ok()?.is_apng().ok(),
        ImageFormat::WebP => Some(WebPDecoder::new(bytes).ok()?.has_animation()),
        _ => Some(false),
    }
}
