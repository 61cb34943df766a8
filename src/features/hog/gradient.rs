//! Gradients of a row of pixels: how strong, and to which of 18 orientations.

use crate::simd::block_starts;

/// Pixels that are worked on at once.
const BLOCK: usize = 16;

/// Magnitudes (in 1/510 of the gray range) and orientation bins of the first pixels of row `y` of a patch.
#[inline(always)]
pub(super) fn gradient_row(
    patch: &[u8],
    width: usize,
    height: usize,
    y: usize,
    magnitude: &mut [f32],
    bin: &mut [u32],
) {
    let row = |y: usize| &patch[y * width..][..width];
    let (above, here, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)));
    // A difference over one pixel counts twice one over two pixels.
    let one_sided = |i: usize, n: usize| if n > 1 && (i == 0 || i == n - 1) { 2.0 } else { 1.0 };
    let dy_gain = one_sided(y, height);
    let n = magnitude.len();
    let one =
        |left: u8, right: u8, x: usize, dx_gain: f32| gradient((left, right), (above[x], below[x]), (dx_gain, dy_gain));
    let inner = n.min(width.saturating_sub(1)).saturating_sub(1);
    if inner >= BLOCK {
        for x in block_starts(inner, BLOCK).map(|before| 1 + before) {
            let sides = (part(here, x - 1), part(here, x + 1));
            let out = (part_mut(magnitude, x), part_mut(bin, x));
            gradient_block(sides, (part(above, x), part(below, x)), dy_gain, out);
        }
    } else {
        for x in 1..=inner {
            (magnitude[x], bin[x]) = one(here[x - 1], here[x + 1], x, 1.0);
        }
    }
    for x in [0, width - 1].into_iter().filter(|&x| x < n) {
        let (left, right) = (here[x.saturating_sub(1)], here[(x + 1).min(width - 1)]);
        (magnitude[x], bin[x]) = one(left, right, x, one_sided(x, width));
    }
}

/// Magnitudes and orientation bins of inner pixels of a row, from what is to both sides of them, above and below.
#[inline(always)]
fn gradient_block(
    (left, right): (&[u8; BLOCK], &[u8; BLOCK]),
    (above, below): (&[u8; BLOCK], &[u8; BLOCK]),
    dy_gain: f32,
    (magnitude, bin): (&mut [f32; BLOCK], &mut [u32; BLOCK]),
) {
    for i in 0..BLOCK {
        (magnitude[i], bin[i]) = gradient((left[i], right[i]), (above[i], below[i]), (1.0, dy_gain));
    }
}

/// The gradient of a pixel from its neighbours, times the gains: its magnitude and its orientation bin.
#[inline(always)]
fn gradient((left, right): (u8, u8), (above, below): (u8, u8), (dx_gain, dy_gain): (f32, f32)) -> (f32, u32) {
    let gx = dx_gain * (f32::from(right) - f32::from(left));
    let gy = dy_gain * (f32::from(below) - f32::from(above));
    ((gx * gx + gy * gy).sqrt(), orientation_bin(gx, gy))
}

/// The block of a row that begins at `x`.
#[inline(always)]
fn part<T>(row: &[T], x: usize) -> &[T; BLOCK] {
    row[x..].first_chunk().expect("the row holds the block")
}

#[inline(always)]
fn part_mut<T>(row: &mut [T], x: usize) -> &mut [T; BLOCK] {
    row[x..].first_chunk_mut().expect("the row holds the block")
}

/// The nearest of 18 orientations, 20 degrees apart from 0 on; a tie goes to the higher one.
#[inline(always)]
pub(super) fn orientation_bin(gx: f32, gy: f32) -> u32 {
    /// Tangents of 10, 30, 50 and 70 degrees: the borders between bins in the first quadrant.
    const BORDERS: [f32; 4] = [0.176_326_98, 0.577_350_27, 1.191_753_6, 2.747_477_4];
    let (ax, ay) = (gx.abs(), gy.abs());
    let mut q = 0;
    for border in BORDERS {
        q += u32::from(ay > border * ax);
    }
    // 90 degrees lies between bins 4 and 5, 270 between 13 and 14. Written without branches, for whole registers of
    // pixels.
    let up = gy >= 0.0;
    let left = (gx < 0.0) | ((gx == 0.0) & (gy > 0.0));
    let upper = if left { 9 - q } else { q };
    let lower = if gx < 0.0 { 9 + q } else { 18 - q };
    let bin = if up { upper } else { lower };
    if bin == 18 { 0 } else { bin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orientations_go_to_the_nearest_bin_and_ties_up() {
        for degrees in 0..360 {
            let angle = (f64::from(degrees)).to_radians();
            let (gx, gy) = (1000.0 * angle.cos(), 1000.0 * angle.sin());
            let exact = f64::from(degrees) / 20.0;
            if degrees % 20 != 10 {
                assert_eq!(f64::from(orientation_bin(gx as f32, gy as f32)), exact.round() % 18.0, "{degrees} degrees");
            }
        }
        assert_eq!(orientation_bin(0.0, 3.0), 5);
        assert_eq!(orientation_bin(0.0, -3.0), 14);
        assert_eq!(orientation_bin(3.0, 0.0), 0);
        assert_eq!(orientation_bin(-3.0, 0.0), 9);
    }
}
