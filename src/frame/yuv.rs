//! Planes of luma and chroma, as in videos and JPEG, to gray and RGB.

use super::{Channels, FrameBuf, PixelFormat};
use crate::error::{Error, Result};
use crate::simd::leveled;

/// Digits of the coefficients after the binary point.
const PRECISION: i32 = 14;

/// Chroma subsampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chroma {
    /// No chroma: gray.
    Mono,
    /// One sample for two by two pixels.
    C420,
    /// One sample for two pixels of a row.
    C422,
    /// One sample for each pixel.
    C444,
}

/// Values of black and white.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// 0 and 255.
    Full,
    /// 16 and 235; chroma from 16 to 240.
    Limited,
}

/// Weights of the colours in the luma.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standard {
    /// ITU-R BT.601: JFIF, and videos that name no standard.
    #[default]
    Bt601,
    /// ITU-R BT.709: high definition.
    Bt709,
    /// ITU-R BT.2020: high dynamic range.
    Bt2020,
}

/// Layouts of cameras whose pixels share their chroma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    /// A plane of luma, then one of pairs of Cb and Cr for two by two pixels.
    Nv12,
    /// Y, Cb, Y, Cr for each two pixels.
    Yuyv,
}

impl Packed {
    /// Bytes of a row, and rows, of a picture; `None` on overflow.
    pub fn rows(self, width: usize, height: usize) -> Option<(usize, usize)> {
        let even = width.checked_next_multiple_of(2)?;
        match self {
            Self::Nv12 => Some((even, height.checked_add(height.div_ceil(2))?)),
            Self::Yuyv => Some((even.checked_mul(2)?, height)),
        }
    }

    /// The planes of a picture whose rows begin `stride` bytes apart, one after the other, and their layout.
    ///
    /// # Errors
    /// [`Error::FrameLayout`] as [`super::Frame::new`].
    pub fn planes(self, data: &[u8], width: usize, height: usize, stride: usize) -> Result<(Planes, Vec<u8>)> {
        let (row, rows) = self.rows(width, height).unwrap_or((usize::MAX, usize::MAX));
        // The bytes as a gray picture, whose layout is checked.
        let bytes = super::Frame::new(data, row, rows, stride, PixelFormat::Gray8);
        let bytes = bytes.map_err(|error| match error {
            Error::FrameLayout { reason, .. } => Error::FrameLayout { width, height, reason },
            error => error,
        })?;
        let all = |rows: std::ops::Range<usize>, first: usize, step: usize, most: usize| {
            rows.flat_map(move |y| bytes.row(y).iter().skip(first).step_by(step).take(most).copied())
        };
        let across = width.div_ceil(2);
        let (chroma, picture) = match self {
            Self::Nv12 => {
                let pairs = height..rows;
                let chroma = all(pairs.clone(), 0, 2, across).chain(all(pairs, 1, 2, across));
                (Chroma::C420, all(0..height, 0, 1, width).chain(chroma).collect())
            }
            Self::Yuyv => {
                let chroma = all(0..height, 1, 4, across).chain(all(0..height, 3, 4, across));
                (Chroma::C422, all(0..height, 0, 2, width).chain(chroma).collect())
            }
        };
        let planes = Planes { width, height, chroma, levels: Levels::Limited, standard: Standard::Bt601 };
        Ok((planes, picture))
    }
}

/// Layout of a planar picture with 8-bit samples: Y, then Cb and Cr if there is chroma; no padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    /// Pixels of a row, above zero.
    pub width: usize,
    /// Rows, above zero.
    pub height: usize,
    /// Subsampling.
    pub chroma: Chroma,
    /// Values of black and white.
    pub levels: Levels,
    /// Weights of the colours.
    pub standard: Standard,
}

impl Planes {
    /// Width and height of a chroma plane; an odd last pixel has its own sample.
    fn chroma_size(&self) -> (usize, usize) {
        match self.chroma {
            Chroma::Mono => (0, 0),
            Chroma::C420 => (self.width.div_ceil(2), self.height.div_ceil(2)),
            Chroma::C422 => (self.width.div_ceil(2), self.height),
            Chroma::C444 => (self.width, self.height),
        }
    }

    /// Bytes of one picture; `None` on overflow.
    pub fn bytes(&self) -> Option<usize> {
        let (width, height) = self.chroma_size();
        width.checked_mul(height)?.checked_mul(2)?.checked_add(self.width.checked_mul(self.height)?)
    }

    /// The channels of a picture of [`Planes::bytes`] bytes, and its colours beside the luma if they are asked for.
    ///
    /// # Errors
    /// [`Error::FrameLayout`] for fewer bytes.
    pub fn decoded(&self, picture: Vec<u8>, channels: Channels, colors: bool) -> Result<(FrameBuf, Option<FrameBuf>)> {
        if channels == Channels::Color {
            return Ok((self.color(&picture)?, None));
        }
        let color = colors.then(|| self.color(&picture)).transpose()?;
        Ok((self.luma(picture)?, color))
    }

    /// The luma of a picture of [`Planes::bytes`] bytes, black at 0 and white at 255.
    ///
    /// Limited levels are stretched with the rounding of ffmpeg's `libswscale` (`lumRangeToJpeg_c` at 15 bits), so ffmpeg
    /// and this function give the same gray.
    ///
    /// # Errors
    /// [`Error::FrameLayout`] for fewer bytes.
    fn luma(&self, mut picture: Vec<u8>) -> Result<FrameBuf> {
        picture.truncate(self.width * self.height);
        if self.levels == Levels::Limited {
            stretch(&mut picture);
        }
        FrameBuf::new(picture, self.width, self.height, PixelFormat::Gray8)
    }

    /// A picture of [`Planes::bytes`] bytes as RGB, with repeated chroma; as gray without chroma.
    ///
    /// # Errors
    /// [`Error::FrameLayout`] for fewer bytes.
    fn color(&self, picture: &[u8]) -> Result<FrameBuf> {
        if self.chroma == Chroma::Mono || self.bytes().is_none_or(|bytes| picture.len() < bytes) {
            return self.luma(picture.to_vec());
        }
        let (across, down) = self.chroma_size();
        let (luma, chroma) = picture.split_at(self.width * self.height);
        let (cb, cr) = chroma.split_at(across * down);
        let mut rgb = vec![0; 3 * luma.len()];
        let rows = rgb.chunks_exact_mut(3 * self.width).zip(luma.chunks_exact(self.width)).enumerate();
        let matrix = Matrix::of(self.levels, self.standard);
        // A row of each chroma at full width.
        let mut repeated = [vec![0; self.width + 1], vec![0; self.width + 1]];
        for (y, (out, luma)) in rows {
            let row = if self.chroma == Chroma::C420 { y / 2 } else { y };
            let [cb, cr] = [cb, cr].map(|plane| &plane[row * across..][..across]);
            if self.chroma == Chroma::C444 {
                row_of_colors(out, luma, [cb, cr], &matrix);
                continue;
            }
            if self.chroma == Chroma::C422 || y % 2 == 0 {
                for (all, samples) in repeated.iter_mut().zip([cb, cr]) {
                    all.as_chunks_mut().0.iter_mut().zip(samples).for_each(|(two, &sample)| *two = [sample; 2]);
                }
            }
            row_of_colors(out, luma, [&repeated[0], &repeated[1]], &matrix);
        }
        FrameBuf::new(rgb, self.width, self.height, PixelFormat::Rgb8)
    }
}

leveled! {
    /// Stretches limited levels to full ones.
    fn stretch(luma: &mut [u8]) {
        for level in luma {
            *level = stretched(*level);
        }
    }
}

/// Stretches a luma of limited levels by 255 / 219 = 1 + `EXCESS` / 2^16. All numbers have 16 bits, with four after the
/// binary point, so that a register holds many of them.
#[inline(always)]
fn stretched(level: u8) -> u8 {
    const EXCESS: u32 = 10_773;
    let level = u16::from(level.saturating_sub(16).min(219)) << 4;
    let excess = (u32::from(level) * EXCESS) >> 16;
    ((level + excess as u16 + 8) >> 4) as u8
}

/// Coefficients of luma and chroma in red, green and blue, in fixed point.
struct Matrix {
    black: i32,
    luma: i32,
    red_of_cr: i32,
    green_of_cr: i32,
    green_of_cb: i32,
    blue_of_cb: i32,
}

impl Matrix {
    /// The weights of red and blue are .299 and .114 in BT.601, .2126 and .0722 in BT.709.
    fn of(levels: Levels, standard: Standard) -> Self {
        let [red_of_cr, green_of_cr, green_of_cb, blue_of_cb] = match standard {
            Standard::Bt601 => [1.402, -0.714_136, -0.344_136, 1.772],
            Standard::Bt709 => [1.5748, -0.468_124, -0.187_324, 1.8556],
            Standard::Bt2020 => [1.4746, -0.571_353, -0.164_553, 1.8814],
        };
        let (black, luma, chroma) = match levels {
            Levels::Full => (0, 1.0, 1.0),
            Levels::Limited => (16, 255.0 / 219.0, 255.0 / 224.0),
        };
        let fixed = |value: f64| (value * f64::from(1 << PRECISION)).round() as i32;
        Self {
            black,
            luma: fixed(luma),
            red_of_cr: fixed(red_of_cr * chroma),
            green_of_cr: fixed(green_of_cr * chroma),
            green_of_cb: fixed(green_of_cb * chroma),
            blue_of_cb: fixed(blue_of_cb * chroma),
        }
    }
}

leveled! {
    /// Converts a row of pixels to RGB.
    avx2 fn row_of_colors(out: &mut [u8], luma: &[u8], chroma: [&[u8]; 2], matrix: &Matrix) {
        let chroma = chroma[0].iter().zip(chroma[1]);
        for ((out, &luma), (&cb, &cr)) in out.as_chunks_mut::<3>().0.iter_mut().zip(luma).zip(chroma) {
            let (cb, cr) = (i32::from(cb) - 128, i32::from(cr) - 128);
            let luma = (i32::from(luma) - matrix.black) * matrix.luma + (1 << (PRECISION - 1));
            let byte = |value: i32| (value >> PRECISION).clamp(0, 255) as u8;
            let green = matrix.green_of_cr * cr + matrix.green_of_cb * cb;
            *out = [byte(luma + matrix.red_of_cr * cr), byte(luma + green), byte(luma + matrix.blue_of_cb * cb)];
        }
    }
}

/// The planes of interleaved Y, Cb and Cr, one after the other.
pub fn planar(ycbcr: &[u8]) -> Vec<u8> {
    let (pixels, _) = ycbcr.as_chunks::<3>();
    let mut planes = Vec::with_capacity(ycbcr.len());
    for channel in 0..3 {
        planes.extend(pixels.iter().map(|pixel| pixel[channel]));
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planes(width: usize, height: usize, chroma: Chroma, levels: Levels) -> Planes {
        Planes { width, height, chroma, levels, standard: Standard::Bt601 }
    }

    #[test]
    fn counts_the_chroma_samples_of_odd_sizes() {
        for (chroma, bytes) in [(Chroma::Mono, 15), (Chroma::C420, 27), (Chroma::C422, 33), (Chroma::C444, 45)] {
            assert_eq!(planes(5, 3, chroma, Levels::Full).bytes(), Some(bytes));
        }
        assert_eq!(planes(usize::MAX, 3, Chroma::C444, Levels::Full).bytes(), None);
    }

    #[test]
    fn stretches_limited_levels_as_ffmpeg() {
        let ramp: Vec<u8> = (0..=255).collect();
        let gray = planes(256, 1, Chroma::Mono, Levels::Limited).luma(ramp.clone()).unwrap();
        let row = gray.as_frame().row(0).to_vec();
        assert_eq!((row[16], row[235], row[0], row[255]), (0, 255, 0, 255));
        for (level, &stretched) in row.iter().enumerate().take(236).skip(16) {
            let exact = (level as f64 - 16.0) * 255.0 / 219.0;
            assert!((f64::from(stretched) - exact).abs() <= 0.51, "{level}: {stretched} {exact}");
        }
        // `lumRangeToJpeg_c` to 15 bits, and back to 8.
        for (level, &stretched) in (0..).zip(&row) {
            let wide = ((level << 7).min(30_189) * 19_077 - 39_057_361) >> 14;
            assert_eq!(i32::from(stretched), ((wide + 64) >> 7).clamp(0, 255), "{level}");
        }
        let same = planes(256, 1, Chroma::Mono, Levels::Full).luma(ramp.clone()).unwrap();
        assert_eq!(same.as_frame().row(0), ramp);
    }

    #[test]
    fn stretches_the_same_at_all_simd_levels_and_lengths() {
        let ramp: Vec<u8> = (0..=255).chain(0..=255).collect();
        for length in [0, 1, 63, 64, 65, 127, 300, 512] {
            let expected: Vec<u8> = ramp[..length].iter().map(|&level| stretched(level)).collect();
            crate::simd::tests::assert_same_on_all_levels("stretched lumas", || {
                let mut luma = ramp[..length].to_vec();
                stretch(&mut luma);
                assert_eq!(luma, expected);
                luma
            });
        }
    }

    #[test]
    fn converts_primaries_in_every_layout() {
        // Red and blue, full levels: Y 76 and 29, Cb 85 and 255, Cr 255 and 107.
        for (chroma, repeat) in [(Chroma::C420, 1), (Chroma::C422, 2), (Chroma::C444, 4)] {
            let form = planes(4, 2, chroma, Levels::Full);
            let luma = [[76, 76, 29, 29]; 2].concat();
            let plane = |red: u8, blue: u8| match chroma {
                Chroma::C444 => [[red, red, blue, blue]; 2].concat(),
                _ => [red, blue].repeat(repeat),
            };
            let picture = [luma, plane(85, 255), plane(255, 107)].concat();
            assert_eq!(form.bytes(), Some(picture.len()));
            let rgb = form.color(&picture).unwrap();
            for y in 0..2 {
                let near = |got: &[u8], want: [u8; 3]| got.iter().zip(want).all(|(a, b)| a.abs_diff(b) <= 1);
                let row = rgb.as_frame().row(y).to_vec();
                assert!(near(&row[3..6], [254, 0, 0]) && near(&row[6..9], [0, 0, 254]), "{chroma:?} {row:?}");
            }
        }
        let limited = planes(2, 1, Chroma::C444, Levels::Limited).color(&[16, 235, 128, 128, 128, 128]).unwrap();
        assert_eq!(limited.as_frame().row(0), [0, 0, 0, 255, 255, 255]);
        assert!(planes(4, 2, Chroma::C444, Levels::Full).color(&[0; 7]).is_err());
    }

    #[test]
    fn packed_pictures_are_those_of_their_planes() {
        let (width, height) = (5, 3);
        let sample = |plane: usize, x: usize, y: usize| (16 + 60 * plane + 7 * x + 11 * y) as u8;
        for (packed, down) in [(Packed::Nv12, 2), (Packed::Yuyv, 1)] {
            let (row, rows) = packed.rows(width, height).unwrap();
            let stride = row + 3;
            let mut data = vec![0; stride * rows];
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let (pair, high) = (x / 2, y / down);
                let [luma, cb, cr] = match packed {
                    Packed::Nv12 => {
                        [y * stride + x, (height + high) * stride + 2 * pair, (height + high) * stride + 2 * pair + 1]
                    }
                    Packed::Yuyv => [y * stride + 2 * x, y * stride + 4 * pair + 1, y * stride + 4 * pair + 3],
                };
                data[luma] = sample(0, x, y);
                (data[cb], data[cr]) = (sample(1, pair, high), sample(2, pair, high));
            }
            let plane = |plane, across: usize, high: usize| {
                (0..high).flat_map(move |y| (0..across).map(move |x| sample(plane, x, y)))
            };
            let high = height.div_ceil(down);
            let expected: Vec<u8> = plane(0, 5, 3).chain(plane(1, 3, high)).chain(plane(2, 3, high)).collect();
            let (planes, picture) = packed.planes(&data, width, height, stride).unwrap();
            assert_eq!((planes.bytes(), &picture), (Some(expected.len()), &expected), "{packed:?}");
            assert!(packed.planes(&data[..data.len() - 4], width, height, stride).is_err());
            assert!(
                packed.planes(&data, usize::MAX, height, stride).is_err() && packed.planes(&data, 0, 3, 8).is_err()
            );
        }
    }

    #[test]
    fn bt709_has_its_own_weights() {
        let planes = Planes { standard: Standard::Bt709, ..planes(1, 1, Chroma::C444, Levels::Limited) };
        // Red of 255 in BT.709 with limited levels (ITU-R BT.709-6, items 3.2 to 3.5).
        let red = planes.color(&[63, 102, 240]).unwrap();
        assert!(red.as_frame().row(0).iter().zip([255u8, 0, 0]).all(|(&got, is)| got.abs_diff(is) <= 2), "{red:?}");
    }

    #[test]
    fn every_pixel_has_the_colour_of_its_samples_at_all_simd_levels() {
        let sizes = [(1, 1), (2, 3), (37, 5), (64, 4), (131, 3)];
        let forms = [(Chroma::C420, 2, 2), (Chroma::C422, 2, 1), (Chroma::C444, 1, 1)];
        for ((width, height), (chroma, across, down)) in sizes.into_iter().flat_map(|size| forms.map(|f| (size, f))) {
            let form = planes(width, height, chroma, Levels::Limited);
            let picture: Vec<u8> = (0..form.bytes().unwrap()).map(|i| (i * i * 31 + 7 * i) as u8).collect();
            crate::simd::tests::assert_same_on_all_levels("colours of planes", || {
                let rgb = form.color(&picture).unwrap();
                let (wide, high) = (width.div_ceil(across), height.div_ceil(down));
                for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    let sample = |at: usize, black: f64, range: f64| (f64::from(picture[at]) - black) * 255.0 / range;
                    let at = width * height + y / down * wide + x / across;
                    let luma = sample(y * width + x, 16.0, 219.0);
                    let (cb, cr) = (sample(at, 128.0, 224.0), sample(at + wide * high, 128.0, 224.0));
                    let exact = [luma + 1.402 * cr, luma - 0.714_136 * cr - 0.344_136 * cb, luma + 1.772 * cb];
                    let got = &rgb.as_frame().row(y)[3 * x..][..3];
                    let near = |(&got, exact): (&u8, f64)| (f64::from(got) - exact.clamp(0.0, 255.0)).abs() < 0.52;
                    assert!(got.iter().zip(exact).all(near), "{chroma:?} {x},{y}: {got:?}, {exact:?}");
                }
                (0..height).map(|y| rgb.as_frame().row(y).to_vec()).collect::<Vec<_>>()
            });
        }
    }
}
