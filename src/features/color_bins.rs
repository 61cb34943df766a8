//! Colours in 32 steps a channel: one number below 32768 for each pixel, by which tables of colours are read.

use crate::frame::luma;
use crate::simd::leveled;

/// How many bins there are: 32 for red, times 32 for green, times 32 for blue.
pub const BINS: usize = 1 << 15;

/// The bin of a colour.
#[inline(always)]
pub fn bin_of(r: u8, g: u8, b: u8) -> u16 {
    (u16::from(r >> 3) << 10) | (u16::from(g >> 3) << 5) | u16::from(b >> 3)
}

/// The red, green and blue value in the middle of a bin, 0 to 255.
pub fn middle_of(bin: usize) -> [f64; 3] {
    [10, 5, 0].map(|shift| ((bin >> shift & 31) * 8) as f64 + 3.5)
}

leveled! {
    /// The gray values and the bins of a patch of red, green and blue bytes.
    ///
    /// # Panics
    /// When `rgb` does not have three bytes for each of them.
    pub fn take_colors_apart(rgb: &[u8], gray: &mut [u8], bins: &mut [u16]) {
        assert!(rgb.len() == 3 * bins.len() && gray.len() == bins.len(), "three bytes a pixel");
        for (([r, g, b], gray), bin) in rgb.as_chunks().0.iter().zip(gray).zip(bins) {
            *gray = luma(*r, *g, *b);
            *bin = bin_of(*r, *g, *b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_holds_its_middle_and_eight_values_a_channel() {
        for bin in (0..BINS).step_by(37) {
            let [r, g, b] = middle_of(bin).map(|v| v as u8);
            assert_eq!(usize::from(bin_of(r, g, b)), bin);
        }
        let (mut gray, mut bins) = ([0; 3], [0; 3]);
        take_colors_apart(&[0, 0, 0, 7, 7, 7, 8, 0, 255], &mut gray, &mut bins);
        assert_eq!(bins, [0, 0, 1 << 10 | 31]);
        assert_eq!(gray, [0, 7, luma(8, 0, 255)]);
    }
}
