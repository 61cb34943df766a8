//! Pictures as JPEG and PNG.
//!
//! The encoders are generic over pixels and writers; all callers share the instances here.

use std::io;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType, SamplingFactor, rgb_to_ycbcr};

#[cfg(feature = "cli")]
use crate::error::{Error, Result};
#[cfg(feature = "cli")]
use crate::frame::FrameBuf;
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

/// A frame as JPEG for a page, at most `limit` wide and high; `None` if it cannot be encoded.
#[cfg(feature = "cli")]
pub(crate) fn page_jpeg(frame: &Frame<'_>, limit: (usize, usize), quality: u8, coarse: bool) -> Option<Vec<u8>> {
    let (width, height) = frame.size();
    let share = (limit.0 as f64 / width as f64).min(limit.1 as f64 / height as f64);
    if share >= 1.0 {
        return jpeg(frame, quality, coarse).ok();
    }
    // Whole factors are several times faster than a general thumbnail.
    if share <= 0.5
        && let Some(small) = shrunk(frame, (1.0 / share) as usize)
    {
        return page_jpeg(&small.as_frame(), limit, quality, coarse);
    }
    let side = |side: usize| (side as f64 * share).round().max(1.0) as u32;
    let small = image::imageops::thumbnail(&in_color(frame).ok()?, side(width), side(height));
    jpeg(&Frame::try_from(&small).ok()?, quality, coarse).ok()
}

/// The means of squares of `factor` pixels; `None` if none fits in.
#[cfg(feature = "cli")]
fn shrunk(frame: &Frame<'_>, factor: usize) -> Option<FrameBuf> {
    let pixels = match frame.format().bytes() {
        1 => means::<1>(frame, factor),
        3 => means::<3>(frame, factor),
        _ => means::<4>(frame, factor),
    };
    FrameBuf::new(pixels, frame.width() / factor, frame.height() / factor, frame.format()).ok()
}

/// The means for pixels of `N` bytes. A multiplication in the place of each division is many times faster; the means
/// are exact up to a factor of four, and at most a level too high up to 16.
#[cfg(feature = "cli")]
fn means<const N: usize>(frame: &Frame<'_>, factor: usize) -> Vec<u8> {
    let (width, height, share) =
        (frame.width() / factor, frame.height() / factor, (1 << 16) / (factor * factor) as u32 + 1);
    let mut means = Vec::with_capacity(width * height * N);
    let mut columns = vec![0u32; width * factor * N];
    for y in 0..height {
        columns.fill(0);
        for row in (y * factor..(y + 1) * factor).map(|y| frame.row(y)) {
            columns.iter_mut().zip(row).for_each(|(sum, &value)| *sum += u32::from(value));
        }
        for square in columns.as_chunks::<N>().0.chunks_exact(factor) {
            let sums =
                square.iter().fold([0; N], |sums, pixel| std::array::from_fn(|channel| sums[channel] + pixel[channel]));
            means.extend(sums.map(|sum| ((sum * share) >> 16).min(255) as u8));
        }
    }
    means
}

/// Copies a frame as RGB.
#[cfg(feature = "cli")]
pub(crate) fn in_color(frame: &Frame<'_>) -> Result<image::RgbImage> {
    let (width, height) = frame.size();
    let mut pixels = Vec::with_capacity(width.saturating_mul(height).saturating_mul(3));
    for y in 0..height {
        let row = frame.row(y);
        match frame.format() {
            PixelFormat::Rgb8 => pixels.extend_from_slice(row),
            PixelFormat::Rgba8 => pixels.extend(row.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])),
            PixelFormat::Bgr8 => pixels.extend(row.chunks_exact(3).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]])),
            PixelFormat::Bgra8 => pixels.extend(row.chunks_exact(4).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]])),
            PixelFormat::Gray8 => pixels.extend(row.iter().flat_map(|&level| [level; 3])),
        }
    }
    let too_large = || Error::FrameLayout { width, height, reason: "too large for a picture".into() };
    let sizes = u32::try_from(width).ok().zip(u32::try_from(height).ok());
    sizes.and_then(|(w, h)| image::RgbImage::from_raw(w, h, pixels)).ok_or_else(too_large)
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

    #[cfg(feature = "cli")]
    #[test]
    fn a_large_picture_becomes_the_means_of_its_squares() {
        // Columns of 0 and 100; the last square is cut.
        let pixels: Vec<u8> = (0..5 * 4).flat_map(|i| [(i % 5 % 2) as u8 * 100, 7, 9]).collect();
        let frame = FrameBuf::new(pixels, 5, 4, PixelFormat::Rgb8).unwrap();
        let small = shrunk(&frame.as_frame(), 2).unwrap();
        assert_eq!((small.as_frame().width(), small.as_frame().height()), (2, 2));
        assert_eq!(small.into_bytes(), [50, 7, 9].repeat(4));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn every_pixel_format_gives_the_same_picture() {
        let orders: [(PixelFormat, &[u8]); 4] = [
            (PixelFormat::Rgb8, &[200, 100, 50]),
            (PixelFormat::Bgr8, &[50, 100, 200]),
            (PixelFormat::Rgba8, &[200, 100, 50, 7]),
            (PixelFormat::Bgra8, &[50, 100, 200, 7]),
        ];
        for (format, bytes) in orders {
            let frame = Frame::new(bytes, 1, 1, bytes.len(), format).unwrap();
            assert_eq!(in_color(&frame).unwrap().get_pixel(0, 0).0, [200, 100, 50], "{format:?}");
        }
    }
}
