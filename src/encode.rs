//! Pictures as JPEG and PNG.
//!
//! The encoders are generic over pixels and writers; all callers share the instances here.

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, ImageResult};
use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType, SamplingFactor, rgb_to_ycbcr};

use crate::frame::{Frame, PixelFormat};
use crate::simd::leveled;

/// Encodes `frame` as JPEG with `quality` 1 to 100, and the colours at half size if `coarse`; `None` for a side above 65,535
/// pixels.
pub(crate) fn jpeg(frame: &Frame<'_>, quality: u8, coarse: bool) -> Option<Vec<u8>> {
    let picture = Picture { frame, size: (frame.width().try_into().ok()?, frame.height().try_into().ok()?) };
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(if coarse { SamplingFactor::F_2_2 } else { SamplingFactor::F_1_1 });
    encoder.encode_image(picture).ok()?;
    Some(bytes)
}

/// Encodes `pixels`, row by row, as PNG.
///
/// # Errors
/// The encoder's error, for an empty picture or a wrong number of pixels.
pub(crate) fn png(pixels: &[u8], (width, height): (u32, u32), color: ExtendedColorType) -> ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes).write_image(pixels, width, height, color)?;
    Ok(bytes)
}

/// A frame that fits into a JPEG.
struct Picture<'a> {
    frame: &'a Frame<'a>,
    size: (u16, u16),
}

impl ImageBuffer for Picture<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        match self.frame.format() {
            PixelFormat::Gray8 => JpegColorType::Luma,
            _ => JpegColorType::Ycbcr,
        }
    }

    fn width(&self) -> u16 {
        self.size.0
    }

    fn height(&self) -> u16 {
        self.size.1
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let row = self.frame.row(usize::from(y));
        let [luma, blue, red, _] = buffers;
        if self.frame.format() == PixelFormat::Gray8 {
            return luma.extend_from_slice(row);
        }
        let planes = [luma, blue, red].map(|plane| {
            let start = plane.len();
            plane.resize(start + self.frame.width(), 0);
            &mut plane[start..]
        });
        split_row(row, self.frame.format(), planes);
    }
}

leveled! {
    /// Splits a colour row into luma and both chromas.
    fn split_row(row: &[u8], format: PixelFormat, planes: [&mut [u8]; 3]) {
        match format {
            PixelFormat::Gray8 => {}
            PixelFormat::Rgb8 => split_pixels::<3>(row, [0, 1, 2], planes),
            PixelFormat::Bgr8 => split_pixels::<3>(row, [2, 1, 0], planes),
            PixelFormat::Rgba8 => split_pixels::<4>(row, [0, 1, 2], planes),
            PixelFormat::Bgra8 => split_pixels::<4>(row, [2, 1, 0], planes),
        }
    }
}

/// Splits pixels of `N` bytes with red, green and blue `at` these places.
#[inline(always)]
fn split_pixels<const N: usize>(row: &[u8], at: [usize; 3], [luma, blue, red]: [&mut [u8]; 3]) {
    for (((pixel, luma), blue), red) in row.as_chunks::<N>().0.iter().zip(luma).zip(blue).zip(red) {
        (*luma, *blue, *red) = rgb_to_ycbcr(pixel[at[0]], pixel[at[1]], pixel[at[2]]);
    }
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
    fn converts_the_same_at_all_simd_levels() {
        for (format, bytes) in [(PixelFormat::Rgb8, 3), (PixelFormat::Bgra8, 4)] {
            for width in [1, 31, 33, 131] {
                let row: Vec<u8> = (0..bytes * width).map(|i| (i * i * 31 + 7 * i) as u8).collect();
                crate::simd::assert_same_on_all_levels("luma and chromas", || {
                    let mut planes = [vec![0; width], vec![0; width], vec![0; width]];
                    split_row(&row, format, planes.each_mut().map(|plane| plane.as_mut_slice()));
                    for (x, pixel) in row.chunks_exact(bytes).enumerate() {
                        let [r, g, b] = if bytes == 3 { [0, 1, 2] } else { [2, 1, 0] }.map(|at| f64::from(pixel[at]));
                        let luma = 0.299 * r + 0.587 * g + 0.114 * b;
                        let exact = [luma, 128.0 + (b - luma) / 1.772, 128.0 + (r - luma) / 1.402];
                        let got = [0, 1, 2].map(|plane| planes[plane][x]);
                        assert!(got.iter().zip(exact).all(|(&v, e)| (f64::from(v) - e).abs() < 0.52), "{x}: {got:?}");
                    }
                    planes
                });
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
        assert!(jpeg(&frame.as_frame(), 90, false).is_none());
    }
}
