//! Frames and the patches cut from them.
//!
//! [`Frame`] is a borrowed view with a stride, so a camera buffer, a decoded image or a NumPy array needs no copy;
//! [`FrameBuf`] owns its pixels.

mod patch;
mod resample;
#[cfg(test)]
mod tests;

#[cfg(feature = "files")]
use image::DynamicImage;

pub(crate) use patch::{HalfSampler, PatchRect, sample};
pub(crate) use resample::{Region, Resampler};

use crate::error::{Error, Result};

/// The order of the bytes of one pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
