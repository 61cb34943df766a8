//! Pictures as JPEG and PNG.
//!
//! The encoders are generic over pixels and writers; all callers share the instances here.

use std::io;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType, SamplingFactor, rgb_to_ycbcr};

use crate::frame::{Frame, PixelFormat};

/// Encodes `frame` as JPEG with `quality` 1 to 100, and the colours at half size if `coarse`.
///
/// # Errors
/// For a side above 65,535 pixels.
pub(crate) fn jpeg(frame: &Frame<'_>, quality: u8, coarse: bool) -> io::Result<Vec<u8>> {
    let side = |side: usize| side.try_into().map_err(|_| io::Error::other("a JPEG has sides of at most 65,535 pixels"));
    let (width, height) = (side(frame.width())?, side(frame.height())?);
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(if coarse { SamplingFactor::F_2_2 } else { SamplingFactor::F_1_1 });
    encoder.encode_image(Picture { frame, width, height }).map_err(io::Error::other)?;
    Ok(bytes)
}

/// A frame for the encoder, whose own types of pictures would each bring a copy of it: a quarter of a megabyte.
struct Picture<'a> {
    frame: &'a Frame<'a>,
    width: u16,
    height: u16,
}

impl ImageBuffer for Picture<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        if self.frame.format() == PixelFormat::Gray8 { JpegColorType::Luma } else { JpegColorType::Ycbcr }
    }

    fn width(&self) -> u16 {
        self.width
    }

    fn height(&self) -> u16 {
        self.height
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let row = self.frame.row(y.into());
        match self.frame.format() {
            PixelFormat::Gray8 => buffers[0].extend_from_slice(row),
            PixelFormat::Rgb8 => fill::<3, 0, 2>(row, buffers),
            PixelFormat::Bgr8 => fill::<3, 2, 0>(row, buffers),
            PixelFormat::Rgba8 => fill::<4, 0, 2>(row, buffers),
            PixelFormat::Bgra8 => fill::<4, 2, 0>(row, buffers),
        }
    }
}

/// Adds luma and colour differences of a row to the buffers; `R` and `B` are the places of red and blue in a pixel.
fn fill<const BYTES: usize, const R: usize, const B: usize>(row: &[u8], [y, cb, cr, _]: &mut [Vec<u8>; 4]) {
    let pixels = || row.as_chunks::<BYTES>().0.iter().map(|pixel| rgb_to_ycbcr(pixel[R], pixel[1], pixel[B]));
    y.extend(pixels().map(|(y, _, _)| y));
    cb.extend(pixels().map(|(_, cb, _)| cb));
    cr.extend(pixels().map(|(_, _, cr)| cr));
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
