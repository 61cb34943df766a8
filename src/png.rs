//! Pictures as PNG.
//!
//! The encoder is generic over writers; all callers share the one instance here.

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, ImageResult};

/// Encodes `pixels`, row by row.
///
/// # Errors
/// The encoder's error, for an empty picture or a wrong number of pixels.
pub(crate) fn encode(pixels: &[u8], (width, height): (u32, u32), color: ExtendedColorType) -> ImageResult<Vec<u8>> {
    let mut png = Vec::new();
    PngEncoder::new(&mut png).write_image(pixels, width, height, color)?;
    Ok(png)
}
