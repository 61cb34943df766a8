//! The two passes of the resampler: whole rows of bytes are averaged into one, then its pixels along the row.

use super::taps::Taps;
use crate::simd::leveled;

/// Weights sum up to 256 and values end at 255, so that nothing overflows.
#[inline(always)]
fn rounded(sum: u16) -> u8 {
    ((sum + 128) >> 8) as u8
}

leveled! {
    /// The weighted mean of as many rows of bytes as there are weights, at most four.
    pub(super) fn mean_of_rows(rows: [&[u8]; 4], weights: &[u16], out: &mut [u8]) {
        match *weights {
            [_] => out.copy_from_slice(&rows[0][..out.len()]),
            [a, b] => mean::<2>(&rows, [a, b], out),
            [a, b, c] => mean::<3>(&rows, [a, b, c], out),
            [a, b, c, d] => mean::<4>(&rows, [a, b, c, d], out),
            _ => unreachable!("one to four rows"),
        }
    }
}

#[inline(always)]
fn mean<const N: usize>(rows: &[&[u8]; 4], weights: [u16; N], out: &mut [u8]) {
    let width = out.len();
    let rows: [&[u8]; N] = std::array::from_fn(|k| &rows[k][..width]);
    for (x, out) in out.iter_mut().enumerate() {
        let mut sum = 0u16;
        for k in 0..N {
            sum += u16::from(rows[k][x]) * weights[k];
        }
        *out = rounded(sum);
    }
}

leveled! {
    /// Adds a weighted row of bytes to sums.
    pub(super) fn add_row(row: &[u8], weight: u16, sums: &mut [u16]) {
        for (sum, &v) in sums.iter_mut().zip(row) {
            *sum += u16::from(v) * weight;
        }
    }
}

leveled! {
    /// The sums that `add_row` made, as means.
    pub(super) fn round_row(sums: &[u16], out: &mut [u8]) {
        for (out, &sum) in out.iter_mut().zip(sums) {
            *out = rounded(sum);
        }
    }
}

/// Along a row of gray values, whose first one stands for pixel `taps.from` of the frame.
pub(super) fn along_gray(taps: &Taps, row: &[u8], out: &mut [u8]) {
    match taps.each {
        1 if taps.to - taps.from == out.len() => out.copy_from_slice(&row[..out.len()]),
        1 => gray::<1>(taps, row, out),
        2 => gray::<2>(taps, row, out),
        3 => gray::<3>(taps, row, out),
        4 => gray::<4>(taps, row, out),
        _ => {
            for (i, out) in out.iter_mut().enumerate() {
                let (first, weights) = taps.of(i);
                let terms = row[first - taps.from..].iter().zip(weights);
                *out = rounded(terms.map(|(&v, &weight)| u16::from(v) * weight).sum());
            }
        }
    }
}

#[inline(always)]
fn gray<const N: usize>(taps: &Taps, row: &[u8], out: &mut [u8]) {
    let weights = taps.weights.as_chunks::<N>().0;
    for ((out, &first), weights) in out.iter_mut().zip(&taps.first).zip(weights) {
        let row = &row[first as usize - taps.from..][..N];
        let mut sum = 0u16;
        for k in 0..N {
            sum += u16::from(row[k]) * weights[k];
        }
        *out = rounded(sum);
    }
}

/// Along a row of pixels of `BYTES` bytes, of which the first three are its colours; `out` gets red, green and blue.
/// The row ends with a byte that belongs to no pixel.
pub(super) fn along_color<const BYTES: usize>(taps: &Taps, row: &[u8], blue_first: bool, out: &mut [u8]) {
    match taps.each {
        1 => color::<1, BYTES>(taps, row, blue_first, out),
        2 => color::<2, BYTES>(taps, row, blue_first, out),
        3 => color::<3, BYTES>(taps, row, blue_first, out),
        4 => color::<4, BYTES>(taps, row, blue_first, out),
        _ => {
            for (i, out) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let (first, weights) = taps.of(i);
                let row = row[(first - taps.from) * BYTES..].windows(4).step_by(BYTES);
                let terms = row.zip(weights).map(|(pixel, &weight)| four(pixel) * u64::from(weight));
                let sums = terms.sum();
                *out = ordered(sums, blue_first);
            }
        }
    }
}

#[inline(always)]
fn color<const N: usize, const BYTES: usize>(taps: &Taps, row: &[u8], blue_first: bool, out: &mut [u8]) {
    let weights = taps.weights.as_chunks::<N>().0;
    for ((out, &first), weights) in out.as_chunks_mut::<3>().0.iter_mut().zip(&taps.first).zip(weights) {
        let row = &row[(first as usize - taps.from) * BYTES..][..(N - 1) * BYTES + 4];
        let mut sums = 0;
        for k in 0..N {
            sums += four(&row[k * BYTES..]) * u64::from(weights[k]);
        }
        *out = ordered(sums, blue_first);
    }
}

/// Four bytes in a number of four 16-bit fields, which are multiplied and added at once: none of them overflows.
#[inline(always)]
fn four(row: &[u8]) -> u64 {
    let bytes = u64::from(u32::from_le_bytes([row[0], row[1], row[2], row[3]]));
    let pairs = (bytes | bytes << 16) & 0x0000_ffff_0000_ffff;
    (pairs | pairs << 8) & 0x00ff_00ff_00ff_00ff
}

/// The first three of four sums as means.
#[inline(always)]
fn ordered(sums: u64, blue_first: bool) -> [u8; 3] {
    let means = (sums + 0x0080_0080_0080_0080) >> 8;
    let [a, b, c] = [means as u8, (means >> 16) as u8, (means >> 32) as u8];
    if blue_first { [c, b, a] } else { [a, b, c] }
}
