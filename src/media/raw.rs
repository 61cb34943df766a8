//! Raw frames without a header, whose format the user states.

use std::str::FromStr;

use super::Demand;
use super::images::{Decoded, MAX_PIXELS, demanded};
use crate::error::Result;
use crate::frame::yuv::{Packed, Planes};
use crate::frame::{FrameBuf, PixelFormat};

/// Pixels of raw frames, by their names in ffmpeg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawPixels {
    Interleaved(PixelFormat),
    Packed(Packed),
    Planes(Planes),
}

/// The format of raw frames, as `rgb24:640x480@30`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawFormat {
    pub(super) pixels: RawPixels,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Frames per second.
    pub(super) rate: Option<f64>,
}

impl FromStr for RawFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (name, rest) = text.split_once(':')?;
            let (size, rate) = rest.split_once('@').map_or((rest, None), |(size, rate)| (size, Some(rate)));
            let (width, height) = size.split_once('x')?;
            let pixels = match name {
                "gray" => RawPixels::Interleaved(PixelFormat::Gray8),
                "rgb24" => RawPixels::Interleaved(PixelFormat::Rgb8),
                "bgr24" => RawPixels::Interleaved(PixelFormat::Bgr8),
                "nv12" => RawPixels::Packed(Packed::Nv12),
                "yuyv422" => RawPixels::Packed(Packed::Yuyv),
                _ => return None,
            };
            let rate = rate.map(|rate| rate.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0));
            if rate == Some(None) {
                return None;
            }
            Some(Self { pixels, width: width.parse().ok()?, height: height.parse().ok()?, rate: rate.flatten() })
        };
        let format: Self = parse().ok_or(
            "expected pixels (rgb24, bgr24, gray, nv12, yuyv422), size and frames per second, such as rgb24:640x480@30",
        )?;
        let (width, height) = (format.width, format.height);
        let is_odd = matches!(format.pixels, RawPixels::Packed(_)) && (width % 2 != 0 || height % 2 != 0);
        match width.checked_mul(height) {
            Some(1..=MAX_PIXELS) if !is_odd => Ok(format),
            Some(1..=MAX_PIXELS) => Err("nv12 and yuyv422 need an even width and height".into()),
            _ => Err(format!("frames have from 1 to {MAX_PIXELS} pixels")),
        }
    }
}

impl RawFormat {
    /// The format of frames of planes.
    pub(super) fn planes(planes: Planes, rate: Option<f64>) -> Self {
        Self { pixels: RawPixels::Planes(planes), width: planes.width, height: planes.height, rate }
    }

    /// Bytes of a frame.
    pub(super) fn bytes(&self) -> usize {
        match self.pixels {
            RawPixels::Interleaved(format) => self.width * self.height * format.bytes(),
            RawPixels::Packed(packed) => packed.rows(self.width, self.height).map_or(0, |(row, rows)| row * rows),
            RawPixels::Planes(planes) => planes.bytes().unwrap_or_default(),
        }
    }

    /// The frame in [`RawFormat::bytes`] bytes.
    pub(super) fn decoded(&self, data: Vec<u8>, demand: Demand) -> Result<Decoded> {
        let (width, height) = (self.width, self.height);
        let (planes, picture) = match self.pixels {
            RawPixels::Interleaved(format) => {
                return FrameBuf::new(data, width, height, format).map(|picture| demanded(picture, demand));
            }
            RawPixels::Packed(packed) => {
                let row = packed.rows(width, height).map_or(0, |(row, _)| row);
                packed.planes(&data, width, height, row)?
            }
            RawPixels::Planes(planes) => (planes, data),
        };
        planes.decoded(picture, demand.channels, demand.color)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Channels;

    #[test]
    fn formats_have_pixels_a_size_and_a_rate() {
        let format: RawFormat = "bgr24:640x480@29.97".parse().unwrap();
        assert_eq!((format.width, format.height, format.rate, format.bytes()), (640, 480, Some(29.97), 921_600));
        let bytes = |text: &str| text.parse::<RawFormat>().unwrap().bytes();
        assert_eq!([bytes("gray:5x3"), bytes("nv12:6x4@1"), bytes("yuyv422:6x4@1")], [15, 36, 48]);
        for wrong in [
            "",
            "rgb24",
            "rgb24:640",
            "rgb:6x4",
            "rgb24:0x4",
            "nv12:5x4",
            "rgb24:6x4@0",
            "rgb24:6x4@x",
            "rgb24:99999x99999",
        ] {
            assert!(wrong.parse::<RawFormat>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_same_picture_is_read_in_each_format() {
        let gray = |text: &str, data: &[u8]| {
            let (frame, _) = text.parse::<RawFormat>().unwrap().decoded(data.into(), Channels::Luma.into()).unwrap();
            frame.into_bytes()
        };
        assert_eq!(gray("gray:2x2", &[0, 255, 255, 0]), [0, 255, 255, 0]);
        assert_eq!(gray("nv12:2x2", &[16, 235, 235, 16, 128, 128]), [0, 255, 255, 0]);
        assert_eq!(gray("yuyv422:2x2", &[16, 128, 235, 128, 235, 128, 16, 128]), [0, 255, 255, 0]);
        let red = [200, 100, 50].repeat(2);
        let blue_first: Vec<u8> = red.chunks(3).flat_map(|pixel| pixel.iter().rev().copied()).collect();
        assert_eq!(gray("rgb24:2x1", &red), gray("bgr24:2x1", &blue_first));
    }
}
