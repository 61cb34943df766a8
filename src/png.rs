//! Pictures as PNG.
//!
//! The encoder is generic over writers, and would be compiled again at each place that hands it another one.

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, ImageResult};

/// The `pixels` of a picture, row by row, as PNG.
///
/// # Errors
/// What the encoder says of a picture without pixels, or of fewer or more than its size asks for.
pub(crate) fn encode(pixels: &[u8], (width, height): (u32, u32), color: ExtendedColorType) -> ImageResult<Vec<u8>> {
    let mut png = Vec::new();
    PngEncoder::new(&mut png).write_image(pixels, width, height, color)?;
    Ok(png)
}
