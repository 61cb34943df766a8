//! Luma and chroma of a JPEG to the luma plane that is tracked and the colours that are shown.

/// Digits of the coefficients after the binary point.
const PRECISION: i32 = 14;

/// Parts of red, green and blue in the chroma: ITU-R BT.601, full range, as JFIF has it.
const RED_OF_CR: i32 = 22_970;
const GREEN_OF_CR: i32 = -11_700;
const GREEN_OF_CB: i32 = -5_638;
const BLUE_OF_CB: i32 = 29_032;

/// Splits pixels of Y, Cb and Cr, a byte each: the plane of Y as it is stored, and the pixels as RGB.
pub(super) fn split(mut pixels: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let luma = pixels.chunks_exact(3).map(|pixel| pixel[0]).collect();
    for pixel in pixels.chunks_exact_mut(3) {
        let (cb, cr) = (i32::from(pixel[1]) - 128, i32::from(pixel[2]) - 128);
        let y = (i32::from(pixel[0]) << PRECISION) + (1 << (PRECISION - 1)) - 1;
        let byte = |value: i32| (value >> PRECISION).clamp(0, 255) as u8;
        pixel[0] = byte(y + RED_OF_CR * cr);
        pixel[1] = byte(y + GREEN_OF_CR * cr + GREEN_OF_CB * cb);
        pixel[2] = byte(y + BLUE_OF_CB * cb);
    }
    (luma, pixels)
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
}
