//! The two passes of the resampler: whole rows of bytes are averaged into one, then its pixels along the row.
//!
//! Between them a value has 16 bits, so that a number of 64 holds four: those of one colour pixel, or four gray ones.

use super::taps::Taps;
use crate::simd::{block_starts, leveled};

/// Values at the end of a row that belong to no pixel: four are read at once.
pub(super) const BEYOND: usize = 3;

/// Values that are averaged at once.
const BLOCK: usize = 32;

/// Weights sum up to 256 and values end at 255, so that nothing overflows.
#[inline(always)]
fn rounded(sum: u16) -> u16 {
    (sum + 128) >> 8
}

leveled! {
    /// The weighted mean of as many rows of bytes as there are weights, at most four.
    pub(super) fn mean_of_rows(rows: [&[u8]; 4], weights: &[u16], out: &mut [u16]) {
        match *weights {
            [_] => mean(&rows, [1], |sum| sum, out),
            [a, b] => mean(&rows, [a, b], rounded, out),
            [a, b, c] => mean(&rows, [a, b, c], rounded, out),
            [a, b, c, d] => mean(&rows, [a, b, c, d], rounded, out),
            _ => unreachable!("one to four rows"),
        }
    }
}

/// The mean of `N` rows.
#[inline(always)]
fn mean<const N: usize>(rows: &[&[u8]; 4], weights: [u16; N], finish: impl Fn(u16) -> u16, out: &mut [u16]) {
    let width = out.len();
    let rows: [&[u8]; N] = std::array::from_fn(|k| &rows[k][..width]);
    if width < BLOCK {
        for (x, out) in out.iter_mut().enumerate() {
            *out = finish((0..N).map(|k| u16::from(rows[k][x]) * weights[k]).sum());
        }
        return;
    }
    for x in block_starts(width, BLOCK) {
        let out: &mut [u16; BLOCK] = out[x..].first_chunk_mut().expect("a block");
        let mut sums = [0u16; BLOCK];
        for k in 0..N {
            let row: &[u8; BLOCK] = rows[k][x..].first_chunk().expect("a block");
            for l in 0..BLOCK {
                sums[l] += u16::from(row[l]) * weights[k];
            }
        }
        for l in 0..BLOCK {
            out[l] = finish(sums[l]);
        }
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
    pub(super) fn round_row(sums: &mut [u16]) {
        for sum in sums {
            *sum = rounded(*sum);
        }
    }
}

/// Along a row of gray values by packed `taps`. The first value stands for pixel `taps.from` of the frame; the row ends
/// with [`BEYOND`].
pub(super) fn along_gray(taps: &Taps, row: &[u16], out: &mut [u8]) {
    let len = out.len();
    debug_assert!(!taps.packed.is_empty(), "the taps are packed");
    if taps.each == 1 && taps.to - taps.from == len {
        narrow(&row[..len], out);
        return;
    }
    match taps.packed.len() / len {
        1 => gray::<1>(taps, row, out),
        2 => gray::<2>(taps, row, out),
        3 => gray::<3>(taps, row, out),
        4 => gray::<4>(taps, row, out),
        groups => {
            for ((out, &first), weights) in out.iter_mut().zip(taps.first.iter()).zip(taps.packed.chunks_exact(groups))
            {
                let row = row[first as usize - taps.from..].chunks(4);
                *out = rounded(row.zip(weights).map(|(row, &weights)| sum_of_products(row, weights)).sum()) as u8;
            }
        }
    }
}

#[inline(always)]
fn gray<const GROUPS: usize>(taps: &Taps, row: &[u16], out: &mut [u8]) {
    for ((out, &first), weights) in out.iter_mut().zip(taps.first.iter()).zip(taps.packed.as_chunks::<GROUPS>().0) {
        let row = &row[first as usize - taps.from..][..4 * GROUPS];
        let mut sum = 0;
        for k in 0..GROUPS {
            sum += sum_of_products(&row[4 * k..], weights[k]);
        }
        *out = rounded(sum) as u8;
    }
}

leveled! {
    /// Values of at most 255 as bytes.
    fn narrow(row: &[u16], out: &mut [u8]) {
        for (out, &v) in out.iter_mut().zip(row) {
            *out = v as u8;
        }
    }
}

/// Four values times their weights by one multiplication of numbers of four fields, the weights in opposite order: the
/// sum of the products is the highest field. None of those below it overflows, as the weights sum up to 256 at most.
#[inline(always)]
fn sum_of_products(row: &[u16], weights: u64) -> u16 {
    (four(row).wrapping_mul(weights) >> 48) as u16
}

/// Along a row of pixels of `BYTES` values, of which the first three are its colours; `out` gets red, green and blue.
/// The row ends with [`BEYOND`].
pub(super) fn along_color<const BYTES: usize>(taps: &Taps, row: &[u16], blue_first: bool, out: &mut [u8]) {
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
fn color<const N: usize, const BYTES: usize>(taps: &Taps, row: &[u16], blue_first: bool, out: &mut [u8]) {
    let weights = taps.weights.as_chunks::<N>().0;
    for ((out, &first), weights) in out.as_chunks_mut::<3>().0.iter_mut().zip(taps.first.iter()).zip(weights) {
        let row = &row[(first as usize - taps.from) * BYTES..][..(N - 1) * BYTES + 4];
        let mut sums = 0;
        for k in 0..N {
            sums += four(&row[k * BYTES..]) * u64::from(weights[k]);
        }
        *out = ordered(sums, blue_first);
    }
}

/// Four values of at most 255 in a number of four 16-bit fields. Weights of at most 256 in all are multiplied and added
/// at once: no field overflows.
#[inline(always)]
fn four(row: &[u16]) -> u64 {
    let field = |k: usize| u64::from(row[k]) << (16 * k);
    field(0) | field(1) | field(2) | field(3)
}

/// The first three of four sums as means.
#[inline(always)]
fn ordered(sums: u64, blue_first: bool) -> [u8; 3] {
    let means = (sums + 0x0080_0080_0080_0080) >> 8;
    let [a, b, c] = [means as u8, (means >> 16) as u8, (means >> 32) as u8];
    if blue_first { [c, b, a] } else { [a, b, c] }
}
