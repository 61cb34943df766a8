//! One cell: its channels, its orientations normalised by four blocks, clipped and averaged, and the sums that its
//! texture is made of.

use crate::simd::sums_of_four;

/// Channels of a cell: 18 signed orientations, 9 unsigned ones, 4 texture energies.
pub const CHANNELS: usize = 31;
/// Floats that a cell takes in memory: its channels and a zero, so that it fills whole SIMD registers.
pub const LANES: usize = 32;

/// Orientations over the full circle.
pub(super) const SIGNED: usize = 18;
/// Orientations over half of it: a gradient and its opposite.
pub(super) const UNSIGNED: usize = 9;
/// Normalised orientations are clipped here.
pub(super) const CLIP: f32 = 0.2;

/// The orientations of a cell, clipped by each of four norms and averaged; and for each norm, 16 partial sums of the
/// clipped signed orientations, which the texture is made of. (Summed up here, they would leave the registers piece by
/// piece.)
#[inline(always)]
pub(super) fn normalise_cell(
    cell: &[f32; LANES],
    norms: [f32; 4],
    taper: f32,
    out: &mut [f32; LANES],
    parts: &mut [[f32; 16]; 4],
) {
    /// By what the 17th orientation and those behind it are added to the parts of the first and those behind it: only
    /// two more are signed, the unsigned ones count nothing.
    const JOIN: [f32; 16] = {
        let mut join = [0.0; 16];
        join[0] = 1.0;
        join[1] = 1.0;
        join
    };
    let (first, last) = cell.split_at(16);
    let mut sums = [[0.0f32; 16]; 2];
    for (norm, parts) in norms.into_iter().zip(parts) {
        // Whole registers, one step after the other: in one loop with what joins the first two orientations, a compiler
        // may take them to pieces.
        let (mut v, mut w) = ([0.0f32; 16], [0.0f32; 16]);
        for o in 0..16 {
            v[o] = clip(first[o] * norm);
        }
        for o in 0..16 {
            w[o] = clip(last[o] * norm);
        }
        for o in 0..16 {
            sums[0][o] += v[o];
        }
        for o in 0..16 {
            sums[1][o] += w[o];
        }
        for o in 0..16 {
            parts[o] = v[o] + JOIN[o] * w[o];
        }
    }
    let half = 0.5 * taper;
    for o in 0..16 {
        out[o] = sums[0][o] * half;
        out[o + 16] = sums[1][o] * half;
    }
}

/// One instruction; `f32::min` would ask about NaN as well.
#[inline(always)]
fn clip(value: f32) -> f32 {
    if value < CLIP { value } else { CLIP }
}

/// For each norm the sum of its parts, in an order that registers of four can add.
#[inline(always)]
pub(super) fn sum_parts(parts: &[[f32; 16]; 4]) -> [f32; 4] {
    let mut four = [[0.0f32; 4]; 4];
    for (v, four) in parts.iter().zip(&mut four) {
        for i in 0..4 {
            four[i] = (v[i] + v[i + 4]) + (v[i + 8] + v[i + 12]);
        }
    }
    sums_of_four(four)
}
