//! Pictures as JPEG and PNG.
//!
//! The encoders are generic over pixels and writers; all callers share the instances here.

use std::io;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use crate::frame::{Frame, PixelFormat};

/// Encodes `frame` as JPEG with `quality` 1 to 100, and the colours at half size if `coarse`.
///
/// # Errors
/// For a side above 65,535 pixels.
pub(crate) fn jpeg(frame: &Frame<'_>, quality: u8, coarse: bool) -> io::Result<Vec<u8>> {
    let side = |side: usize| side.try_into().map_err(|_| io::Error::other("a JPEG has sides of at most 65,535 pixels"));
    let (width, height) = (side(frame.width())?, side(frame.height())?);
    let color = match frame.format() {
        PixelFormat::Gray8 => ColorType::Luma,
        PixelFormat::Rgb8 => ColorType::Rgb,
        PixelFormat::Bgr8 => ColorType::Bgr,
        PixelFormat::Rgba8 => ColorType::Rgba,
        PixelFormat::Bgra8 => ColorType::Bgra,
    };
    let rows: Vec<&[u8]> = (0..frame.height()).map(|y| frame.row(y)).collect();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(if coarse { SamplingFactor::F_2_2 } else { SamplingFactor::F_1_1 });
    encoder.encode(&rows.concat(), width, height, color).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Encodes `pixels`, row by row, as PNG.
///
/// # Errors
/// The encoder's error, for an empty picture or a wrong number of pixels.
pub(crate) fn png(pixels: &[u8], (width, height): (u32, u32), color: ExtendedColorType) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes).write_image(pixels, width, height, color).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Channels, FrameBuf};
    use crate::media::decode_bytes;

    #[test]
    fn keeps_the_colours_of_every_pixel_format() {
        let (r, g, b) = (200, 90, 30);
        for (pixel, format) in [
            (vec![r], PixelFormat::Gray8),
            (vec![r, g, b], PixelFormat::Rgb8),
            (vec![b, g, r], PixelFormat::Bgr8),
            (vec![r, g, b, 7], PixelFormat::Rgba8),
            (vec![b, g, r, 7], PixelFormat::Bgra8),
        ] {
            let frame = FrameBuf::new(pixel.repeat(21 * 10), 21, 10, format).unwrap();
            for coarse in [false, true] {
                let jpeg = jpeg(&frame.as_frame(), 90, coarse).unwrap();
                let back = decode_bytes(&jpeg, "back", Channels::Color).unwrap();
                let back = back.as_frame();
                assert_eq!((back.width(), back.height()), (21, 10));
                let wanted = if format == PixelFormat::Gray8 { vec![r] } else { vec![r, g, b] };
                assert_eq!(back.row(0).len(), 21 * wanted.len(), "{format:?}");
                let near = |row: &[u8]| row.iter().zip(wanted.iter().cycle()).all(|(a, b)| a.abs_diff(*b) < 4);
                assert!((0..10).all(|y| near(back.row(y))), "{format:?}");
            }
        }
    }

    #[test]
    fn encodes_ten_thousand_pixels_in_a_row() {
        let row: Vec<u8> = (0..10_000).flat_map(|x| [(x / 40) as u8; 3]).collect();
        let frame = FrameBuf::new(row.repeat(3), 10_000, 3, PixelFormat::Rgb8).unwrap();
        let jpeg = jpeg(&frame.as_frame(), 90, false).unwrap();
        let back = decode_bytes(&jpeg, "wide", Channels::Luma).unwrap();
        let back = back.as_frame();
        assert_eq!((back.width(), back.height()), (10_000, 3));
        assert!(back.gray_at(8000, 1).abs_diff(200) <= 3);
    }

    #[test]
    fn refuses_a_frame_too_wide_for_a_jpeg() {
        let frame = FrameBuf::new(vec![0; 65_536], 65_536, 1, PixelFormat::Gray8).unwrap();
        assert!(jpeg(&frame.as_frame(), 90, false).is_err());
    }
}
