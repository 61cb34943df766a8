//! Luma and chroma of a JPEG to the luma plane that is tracked and the colours that are shown.

use crate::simd::leveled;

/// Digits of the coefficients after the binary point.
const PRECISION: i32 = 14;

/// Parts of red, green and blue in the chroma: ITU-R BT.601, full range, as JFIF has it.
const RED_OF_CR: i32 = 22_970;
const GREEN_OF_CR: i32 = -11_700;
const GREEN_OF_CB: i32 = -5_638;
const BLUE_OF_CB: i32 = 29_032;

/// Splits pixels of Y, Cb and Cr, a byte each: the plane of Y as it is stored, and the pixels as RGB.
pub(super) fn split(mut pixels: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let mut luma = vec![0; pixels.len() / 3];
    take_apart(&mut pixels, &mut luma);
    (luma, pixels)
}

leveled! {
    /// Lumas into `luma`, RGB in the place of `pixels`.
    avx2 fn take_apart(pixels: &mut [u8], luma: &mut [u8]) {
        for (pixel, luma) in pixels.as_chunks_mut::<3>().0.iter_mut().zip(luma) {
            let [y, cb, cr] = *pixel;
            *luma = y;
            let (cb, cr) = (i32::from(cb) - 128, i32::from(cr) - 128);
            let y = (i32::from(y) << PRECISION) + (1 << (PRECISION - 1)) - 1;
            let byte = |value: i32| (value >> PRECISION).clamp(0, 255) as u8;
            let green = GREEN_OF_CR * cr + GREEN_OF_CB * cb;
            *pixel = [byte(y + RED_OF_CR * cr), byte(y + green), byte(y + BLUE_OF_CB * cb)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primaries_and_grays() {
        // Y, Cb, Cr of JFIF for black, white, gray, red, green and blue.
        let pixels = [[0, 128, 128], [255, 128, 128], [77, 128, 128], [76, 85, 255], [150, 44, 21], [29, 255, 107]];
        let (luma, rgb) = split(pixels.concat());
        assert_eq!(luma, [0, 255, 77, 76, 150, 29]);
        let expected = [[0; 3], [255; 3], [77; 3], [254, 0, 0], [0, 255, 1], [0, 0, 254]];
        for (got, expected) in rgb.chunks_exact(3).zip(expected) {
            assert!(got.iter().zip(expected).all(|(a, b): (_, u8)| a.abs_diff(b) <= 1), "{got:?} {expected:?}");
        }
    }

    #[test]
    fn all_colours_are_those_of_jfif_on_all_levels_and_in_all_lengths() {
        let levels = [0_u8, 1, 60, 127, 128, 129, 200, 254, 255];
        let mut all = Vec::new();
        for y in levels {
            for cb in levels {
                levels.iter().for_each(|&cr| all.extend([y, cb, cr]));
            }
        }
        for length in [0, 1, 31, 32, 33, 95, all.len() / 3] {
            let pixels = &all[..3 * length];
            crate::simd::assert_same_on_all_levels("colours of a JPEG", || {
                let (luma, rgb) = split(pixels.into());
                assert!(luma.iter().eq(pixels.iter().step_by(3)), "{length}");
                for (got, pixel) in rgb.chunks_exact(3).zip(pixels.chunks_exact(3)) {
                    let [y, cb, cr] = [0, 1, 2].map(|at| f64::from(pixel[at]) - if at == 0 { 0.0 } else { 128.0 });
                    let exact = [y + 1.402 * cr, y - 0.714_136 * cr - 0.344_136 * cb, y + 1.772 * cb];
                    let near = |(&got, exact): (&u8, f64)| (f64::from(got) - exact.clamp(0.0, 255.0)).abs() < 0.51;
                    assert!(got.iter().zip(exact).all(near), "{pixel:?}: {got:?}, {exact:?}");
                }
                rgb
            });
        }
    }
}
