//! Frames and the patches cut from them.
//!
//! [`Frame`] is a borrowed view with a stride, so a camera buffer, a decoded image or a NumPy array needs no copy;
//! [`FrameBuf`] owns its pixels.

mod patch;
mod resample;
#[cfg_attr(not(feature = "files"), allow(dead_code, reason = "only sources have all layouts"))]
pub(crate) mod yuv;

#[cfg(feature = "files")]
use image::DynamicImage;

pub(crate) use patch::{HalfSampler, PatchRect, sample};
pub(crate) use resample::{Region, Resampler};

use yuv::Packed;

use crate::error::{Error, Result};

/// The order of the bytes of one pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum PixelFormat {
    /// One byte: gray.
    Gray8,
    /// Three bytes: red, green, blue.
    Rgb8,
    /// Three bytes: blue, green, red (OpenCV's order).
    Bgr8,
    /// Four bytes: red, green, blue and an ignored one.
    Rgba8,
    /// Four bytes: blue, green, red and an ignored one.
    Bgra8,
}

impl PixelFormat {
    /// Bytes per pixel.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Gray8 => 1,
            Self::Rgb8 | Self::Bgr8 => 3,
            Self::Rgba8 | Self::Bgra8 => 4,
        }
    }
}

/// The channels of a decoded frame or of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// Gray. Of a JPEG it is the stored luma plane, the cheapest way to decode one; of other images the weighted sum of
    /// the colours. The two differ by rounding, and by clipping in strongly coloured pixels.
    Luma,
    /// RGB. A gray image stays gray; a patch has four bytes a pixel, the last one 0, and of a gray frame equal colours.
    Color,
}

impl Channels {
    /// Bytes of a pixel of a patch.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Luma => 1,
            Self::Color => 4,
        }
    }
}

/// The gray value of an RGB pixel, rounded: MATLAB's `rgb2gray`, the luma of ITU-R BT.601.
#[inline(always)]
pub(crate) fn luma(r: u8, g: u8, b: u8) -> u8 {
    // Weights in 1/2^20 of 0.298936, 0.587043, 0.114021; they sum to 2^20, so white stays white.
    ((313_457 * u32::from(r) + 615_559 * u32::from(g) + 119_560 * u32::from(b) + (1 << 19)) >> 20) as u8
}

/// A borrowed view of the pixels of one video frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    data: &'a [u8],
    width: usize,
    height: usize,
    stride: usize,
    format: PixelFormat,
}

impl<'a> Frame<'a> {
    /// A view of `height` rows of `width` pixels; each row begins `stride` bytes after the one above.
    ///
    /// # Errors
    /// [`Error::FrameLayout`] for an empty frame, a stride shorter than a row, or too few bytes.
    pub fn new(data: &'a [u8], width: usize, height: usize, stride: usize, format: PixelFormat) -> Result<Self> {
        let wrong = |reason: String| Err(Error::FrameLayout { width, height, reason });
        if width == 0 || height == 0 {
            return wrong("it has no pixels".into());
        }
        let row = width.checked_mul(format.bytes());
        let needed = row.and_then(|row| stride.checked_mul(height - 1).and_then(|above| above.checked_add(row)));
        match (row, needed) {
            (Some(row), Some(_)) if stride < row => {
                wrong(format!("the stride is {stride} bytes, a row of {format:?} pixels takes {row}"))
            }
            (Some(_), Some(needed)) if data.len() >= needed => Ok(Self { data, width, height, stride, format }),
            (_, Some(needed)) => wrong(format!("{} bytes were given, {needed} are needed", data.len())),
            _ => wrong("its size overflows the address space".into()),
        }
    }

    /// A gray frame without gaps between rows.
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub fn gray(data: &'a [u8], width: usize, height: usize) -> Result<Self> {
        Self::new(data, width, height, width, PixelFormat::Gray8)
    }

    /// An RGB frame without gaps between rows.
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub fn rgb(data: &'a [u8], width: usize, height: usize) -> Result<Self> {
        Self::new(data, width, height, width.saturating_mul(3), PixelFormat::Rgb8)
    }

    /// A frame in OpenCV's order, blue first, without gaps between rows.
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub fn bgr(data: &'a [u8], width: usize, height: usize) -> Result<Self> {
        Self::new(data, width, height, width.saturating_mul(3), PixelFormat::Bgr8)
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Order of the bytes of a pixel.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// The bytes of row `y`, without padding.
    ///
    /// # Panics
    /// If `y` is not below the height.
    #[inline(always)]
    pub fn row(&self, y: usize) -> &'a [u8] {
        &self.data[y * self.stride..][..self.width * self.format.bytes()]
    }

    /// Width and height.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The gray value at column `x`, row `y`: the byte itself, or the luma of a colour pixel.
    ///
    /// # Panics
    /// If `x` or `y` is outside the frame.
    pub fn gray_at(&self, x: usize, y: usize) -> u8 {
        let pixel = &self.row(y)[x * self.format.bytes()..];
        match self.format {
            PixelFormat::Gray8 => pixel[0],
            PixelFormat::Rgb8 | PixelFormat::Rgba8 => luma(pixel[0], pixel[1], pixel[2]),
            PixelFormat::Bgr8 | PixelFormat::Bgra8 => luma(pixel[2], pixel[1], pixel[0]),
        }
    }
}

impl<'a> From<&Frame<'a>> for Frame<'a> {
    fn from(frame: &Frame<'a>) -> Self {
        *frame
    }
}

/// The pixels of one frame, owned, without gaps between rows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "SavedFrame", into = "SavedFrame")]
pub struct FrameBuf {
    data: Vec<u8>,
    width: usize,
    height: usize,
    format: PixelFormat,
}

impl FrameBuf {
    /// Takes `height` rows of `width` pixels without gaps.
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub fn new(data: Vec<u8>, width: usize, height: usize, format: PixelFormat) -> Result<Self> {
        Frame::new(&data, width, height, width.saturating_mul(format.bytes()), format)?;
        Ok(Self { data, width, height, format })
    }

    /// The gray values or the colours of a camera's picture in NV12: `height` rows of luma, then half as many of pairs of Cb
    /// and Cr, each `stride` bytes after the one above. Levels are limited, by BT.601.
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub fn from_nv12(data: &[u8], width: usize, height: usize, stride: usize, channels: Channels) -> Result<Self> {
        Self::from_packed(Packed::Nv12, data, width, height, stride, channels)
    }

    /// Like [`FrameBuf::from_nv12`], for a picture in YUYV (YUY2): Y, Cb, Y, Cr for each two pixels.
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub fn from_yuyv(data: &[u8], width: usize, height: usize, stride: usize, channels: Channels) -> Result<Self> {
        Self::from_packed(Packed::Yuyv, data, width, height, stride, channels)
    }

    pub(crate) fn from_packed(
        packed: Packed,
        data: &[u8],
        width: usize,
        height: usize,
        stride: usize,
        channels: Channels,
    ) -> Result<Self> {
        let (planes, picture) = packed.planes(data, width, height, stride)?;
        planes.decoded(picture, channels, false).map(|(frame, _)| frame)
    }

    /// The gray values ([`Frame::gray_at`]) as a frame.
    pub fn to_luma(&self) -> Self {
        let mut data = vec![0; self.width * self.height];
        for (y, row) in data.chunks_exact_mut(self.width).enumerate() {
            patch::gray_run(&self.as_frame(), y, 0, row);
        }
        Self { data, format: PixelFormat::Gray8, ..*self }
    }

    /// The pixels, row by row without gaps.
    pub fn into_bytes(self) -> Vec<u8> {
        self.data
    }

    /// A view of the frame.
    pub fn as_frame(&self) -> Frame<'_> {
        Frame {
            data: &self.data,
            width: self.width,
            height: self.height,
            stride: self.width * self.format.bytes(),
            format: self.format,
        }
    }
}

impl<'a> From<&'a FrameBuf> for Frame<'a> {
    fn from(frame: &'a FrameBuf) -> Self {
        frame.as_frame()
    }
}

impl From<Frame<'_>> for FrameBuf {
    fn from(frame: Frame<'_>) -> Self {
        let data = (0..frame.height).flat_map(|y| frame.row(y)).copied().collect();
        Self { data, width: frame.width, height: frame.height, format: frame.format }
    }
}

/// A frame as it is saved: its size is not trusted when it is read.
#[derive(serde::Serialize, serde::Deserialize)]
struct SavedFrame {
    size: (usize, usize),
    format: PixelFormat,
    data: Vec<u8>,
}

impl From<FrameBuf> for SavedFrame {
    fn from(FrameBuf { data, width, height, format }: FrameBuf) -> Self {
        Self { size: (width, height), format, data }
    }
}

impl TryFrom<SavedFrame> for FrameBuf {
    type Error = Error;

    fn try_from(SavedFrame { size: (width, height), format, data }: SavedFrame) -> Result<Self> {
        Self::new(data, width, height, format)
    }
}

/// Gray images become gray frames, all others RGB, with 8 bits and without alpha.
#[cfg(feature = "files")]
impl TryFrom<DynamicImage> for FrameBuf {
    type Error = Error;

    fn try_from(picture: DynamicImage) -> Result<Self> {
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        let gray = !picture.color().has_color();
        let (data, format) = if gray {
            (picture.into_luma8().into_raw(), PixelFormat::Gray8)
        } else {
            (picture.into_rgb8().into_raw(), PixelFormat::Rgb8)
        };
        Self::new(data, width, height, format)
    }
}

#[cfg(feature = "files")]
impl<'a> TryFrom<&'a image::GrayImage> for Frame<'a> {
    type Error = Error;

    fn try_from(picture: &'a image::GrayImage) -> Result<Self> {
        Self::gray(picture.as_raw(), picture.width() as usize, picture.height() as usize)
    }
}

#[cfg(feature = "files")]
impl<'a> TryFrom<&'a image::RgbImage> for Frame<'a> {
    type Error = Error;

    fn try_from(picture: &'a image::RgbImage) -> Result<Self> {
        Self::rgb(picture.as_raw(), picture.width() as usize, picture.height() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::patch::{TAPS, filtered, half_size};
    use super::*;
    use crate::simd::tests::assert_same_on_all_levels;

    #[test]
    fn layout_is_checked_once() {
        assert!(Frame::gray(&[], 0, 4).is_err());
        assert!(Frame::gray(&[0; 11], 3, 4).is_err());
        assert!(Frame::gray(&[0; 12], 3, 4).is_ok());
        assert!(Frame::new(&[0; 100], 4, 2, 3, PixelFormat::Gray8).is_err());
        assert!(Frame::new(&[0; 100], usize::MAX, 2, 3, PixelFormat::Rgb8).is_err());
        // The last row need not be padded to the stride.
        assert!(Frame::new(&[0; 13], 3, 2, 10, PixelFormat::Gray8).is_ok());
    }

    #[test]
    fn gray_is_rgb2gray_in_every_byte_order() {
        assert_eq!(luma(255, 255, 255), 255);
        assert_eq!(luma(0, 0, 0), 0);
        // 0.298936*200 + 0.587043*100 + 0.114021*50 = 124.19
        assert_eq!(luma(200, 100, 50), 124);
        let bgra = [50, 100, 200, 7];
        let frame = Frame::new(&bgra, 1, 1, 4, PixelFormat::Bgra8).unwrap();
        assert_eq!(frame.gray_at(0, 0), 124);
    }

    proptest! {
        #[test]
        fn every_patch_equals_clamped_indexing(
            (w, h) in (1usize..9, 1usize..9), left in -20i64..20, top in -20i64..20, pw in 1usize..24, ph in 1usize..24,
        ) {
            let rgb: Vec<u8> = (0..w * h * 3).map(|i| (i * 37 % 251) as u8).collect();
            let gray: Vec<u8> = (0..w * h).map(|i| (i * 53 % 251) as u8).collect();
            for frame in [Frame::rgb(&rgb, w, h).unwrap(), Frame::gray(&gray, w, h).unwrap()] {
                let rect = PatchRect { left, top, width: pw, height: ph };
                let mut out = vec![0; pw * ph];
                sample(&frame, rect, &mut out);
                for y in 0..ph {
                    for x in 0..pw {
                        let sx = (left + x as i64).clamp(0, w as i64 - 1) as usize;
                        let sy = (top + y as i64).clamp(0, h as i64 - 1) as usize;
                        prop_assert_eq!(out[y * pw + x], frame.gray_at(sx, sy));
                    }
                }
            }
        }
    }

    #[test]
    fn far_away_patches_do_not_overflow() {
        let frame = Frame::gray(&[7, 9], 2, 1).unwrap();
        let mut out = [0; 6];
        sample(&frame, PatchRect { left: i64::MAX - 1, top: i64::MIN, width: 3, height: 2 }, &mut out);
        assert_eq!(out, [9; 6]);
        sample(&frame, PatchRect { left: i64::MIN, top: i64::MAX, width: 3, height: 2 }, &mut out);
        assert_eq!(out, [7; 6]);
    }

    /// `imresize(picture, 0.5)` as MATLAB documents it: general weights, one dimension after the other.
    fn imresize_half(picture: &[u8], w: usize, h: usize) -> (Vec<u8>, usize, usize) {
        let cubic = |x: f64| {
            let x = x.abs();
            if x <= 1.0 {
                1.5 * x.powi(3) - 2.5 * x * x + 1.0
            } else if x <= 2.0 {
                -0.5 * x.powi(3) + 2.5 * x * x - 4.0 * x + 2.0
            } else {
                0.0
            }
        };
        let shrink = |line: Vec<u8>| -> Vec<u8> {
            let n = line.len() as i64;
            (1..=(n + 1) / 2)
                .map(|x| {
                    let u = x as f64 / 0.5 + 0.5 * (1.0 - 1.0 / 0.5);
                    let left = (u - 4.0).floor() as i64;
                    let (mut sum, mut total) = (0.0, 0.0);
                    for i in left..left + 10 {
                        let weight = 0.5 * cubic(0.5 * (u - i as f64));
                        let k = (i - 1).rem_euclid(2 * n);
                        sum += weight * f64::from(line[(if k < n { k } else { 2 * n - 1 - k }) as usize]);
                        total += weight;
                    }
                    (sum / total + 0.5).floor().clamp(0.0, 255.0) as u8
                })
                .collect()
        };
        let (hw, hh) = (w.div_ceil(2), h.div_ceil(2));
        let columns: Vec<Vec<u8>> = (0..w).map(|x| shrink((0..h).map(|y| picture[y * w + x]).collect())).collect();
        let mut out = Vec::new();
        for y in 0..hh {
            out.extend(shrink(columns.iter().map(|c| c[y]).collect()));
        }
        (out, hw, hh)
    }

    #[test]
    fn sums_beyond_an_8_bit_picture_are_cut_off_there() {
        for outer in [[0; 4], [0, 0, 255, 255], [255, 255, 0, 0], [255; 4], [17, 200, 3, 90], [128, 127, 255, 0]] {
            let [a, b, c, d] = outer;
            for (e, f) in (0..=255).flat_map(|e| [(e, e), (e, 255 - e), (e, 255), (0, e)]) {
                let values = [a, b, c, e, f, c, d, a];
                let sum: i32 = values.iter().zip(TAPS).map(|(&value, tap)| i32::from(value) * i32::from(tap)).sum();
                assert_eq!(i32::from(filtered(values)), ((sum + 128) >> 8).clamp(0, 255), "{values:?}");
            }
        }
    }

    #[test]
    fn patches_are_the_same_on_all_levels() {
        let picture: Vec<u8> = (0..150 * 90).map(|i| (i * (i + 13) % 256) as u8).collect();
        let frame = Frame::gray(&picture, 150, 90).unwrap();
        for (width, height) in [(7, 3), (32, 5), (33, 5), (60, 40), (90, 50)] {
            let rect = PatchRect { left: -4, top: -3, width, height };
            assert_same_on_all_levels(&format!("{width}x{height}"), || {
                let mut patch = vec![0; width * height];
                HalfSampler::new(width, height).sample(&frame, rect, &mut patch);
                patch
            });
        }
    }

    proptest! {
        #[test]
        fn patches_equal_those_of_the_shrunk_picture(
            (w, h) in (1usize..30, 1usize..30), seed in 0usize..1000,
            left in -12i64..20, top in -12i64..20, pw in 1usize..80, ph in 1usize..24,
        ) {
            let picture: Vec<u8> = (0..w * h).map(|i| ((i + seed) * (i + 7 * seed + 13) % 256) as u8).collect();
            let frame = Frame::gray(&picture, w, h).unwrap();
            let (small, sw, sh) = imresize_half(&picture, w, h);
            prop_assert_eq!(half_size(&frame), (sw, sh));
            let rect = PatchRect { left, top, width: pw, height: ph };
            let (mut expected, mut got) = (vec![0; pw * ph], vec![0; pw * ph]);
            sample(&Frame::gray(&small, sw, sh).unwrap(), rect, &mut expected);
            HalfSampler::new(pw, ph).sample(&frame, rect, &mut got);
            prop_assert_eq!(got, expected);
        }
    }
}
