//! A pass of an odd prime radix `P` as a dense transform.
//!
//! With `a_j = x_j + x_{P-j}`, `b_j = x_j - x_{P-j}`, `h = (P-1)/2`,
//! `A_k = x_0 + Σ_{j≤h} a_j cos(2πjk/P)` and `B_k = Σ_{j≤h} b_j sin(2πjk/P)`, the transform is
//! `X_k = A_k - i B_k`, `X_{P-k} = A_k + i B_k`: `4 h²` real multiplications and additions of 16 lanes each,
//! all alike, which up to primes of about 100 is quicker than the roundabout ways of Rader and Bluestein.

use std::f64::consts::TAU;

use super::butterfly::Lane;
use super::radix::{Cell, LANES, Stage, Steps};

/// Outputs of which the sums are formed at once.
const OUTPUTS: usize = 4;
/// Inputs that are added to them at once.
const INPUTS: usize = 4;

/// The cosines and sines of one prime.
#[derive(Clone, Debug)]
pub(super) struct DenseTable {
    prime: usize,
    /// For each group of four outputs, input by input, their four factors; then the factors of each output left over.
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl DenseTable {
    /// The table of an odd prime.
    pub fn new(prime: usize) -> Self {
        let half = prime / 2;
        let mut order = Vec::with_capacity(half * half);
        let grouped = half - half % OUTPUTS;
        for k in (1..=grouped).step_by(OUTPUTS) {
            for j in 1..=half {
                order.extend((0..OUTPUTS).map(|o| (j * (k + o)) % prime));
            }
        }
        for k in grouped + 1..=half {
            order.extend((1..=half).map(|j| (j * k) % prime));
        }
        let angle = |turn: &usize| TAU * *turn as f64 / prime as f64;
        Self {
            prime,
            cos: order.iter().map(|t| angle(t).cos() as f32).collect(),
            sin: order.iter().map(|t| angle(t).sin() as f32).collect(),
        }
    }

    /// Cells of scratch that [`pass_dense`] needs.
    pub fn scratch_cells(&self) -> usize {
        2 * (self.prime / 2) + 2 * OUTPUTS
    }
}

/// Adds `Σ_j x_j c_j` to one output.
#[inline(always)]
fn add_to_one(x: &[Cell], c: &[f32], y: &mut Cell) {
    let (fours, rest) = x.as_chunks::<INPUTS>();
    let (factors, factors_rest) = c.as_chunks::<INPUTS>();
    for ([x0, x1, x2, x3], c) in fours.iter().zip(factors) {
        for l in 0..2 * LANES {
            let mut sum = y[l];
            sum += x0[l] * c[0];
            sum += x1[l] * c[1];
            sum += x2[l] * c[2];
            sum += x3[l] * c[3];
            y[l] = sum;
        }
    }
    for (x, &c) in rest.iter().zip(factors_rest) {
        for l in 0..2 * LANES {
            y[l] += x[l] * c;
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn four_to_four(
    x0: &Cell,
    x1: &Cell,
    x2: &Cell,
    x3: &Cell,
    c: &[[f32; OUTPUTS]; INPUTS],
    y0: &mut Cell,
    y1: &mut Cell,
    y2: &mut Cell,
    y3: &mut Cell,
) {
    for l in 0..2 * LANES {
        let x = [x0[l], x1[l], x2[l], x3[l]];
        let mut sum = [y0[l], y1[l], y2[l], y3[l]];
        for j in 0..INPUTS {
            for o in 0..OUTPUTS {
                sum[o] += x[j] * c[j][o];
            }
        }
        [y0[l], y1[l], y2[l], y3[l]] = sum;
    }
}

#[inline(always)]
fn one_to_four(x: &Cell, c: &[f32; OUTPUTS], y0: &mut Cell, y1: &mut Cell, y2: &mut Cell, y3: &mut Cell) {
    for l in 0..2 * LANES {
        y0[l] += x[l] * c[0];
        y1[l] += x[l] * c[1];
        y2[l] += x[l] * c[2];
        y3[l] += x[l] * c[3];
    }
}

/// Adds `Σ_j x_j c_jk` to four outputs.
#[inline(always)]
fn add_to_four(x: &[Cell], c: &[f32], y: &mut [Cell; OUTPUTS]) {
    let [y0, y1, y2, y3] = y;
    let (c, _) = c.as_chunks::<OUTPUTS>();
    let (fours, rest) = x.as_chunks::<INPUTS>();
    let (factors, factors_rest) = c.as_chunks::<INPUTS>();
    for ([x0, x1, x2, x3], c) in fours.iter().zip(factors) {
        four_to_four(x0, x1, x2, x3, c, y0, y1, y2, y3);
    }
    for (x, c) in rest.iter().zip(factors_rest) {
        one_to_four(x, c, y0, y1, y2, y3);
    }
}

#[inline(always)]
fn sum_and_difference(x: &Cell, mirror: &Cell, a: &mut Cell, b: &mut Cell) {
    for l in 0..2 * LANES {
        a[l] = x[l] + mirror[l];
        b[l] = x[l] - mirror[l];
    }
}

#[inline(always)]
fn add(x: &Cell, y: &mut Cell) {
    for l in 0..2 * LANES {
        y[l] += x[l];
    }
}

/// `A - iB` to one place, `A + iB` to its mirror, both turned.
#[inline(always)]
fn finish(a: &Cell, b: &Cell, w: [f32; 2], mirror_w: [f32; 2], y: &mut Cell, mirror: &mut Cell) {
    for l in 0..LANES {
        let (a, b) = (Lane::of(a, l), Lane::of(b, l));
        a.minus_i(b).turned(w).put(y, l);
        a.plus_i(b).turned(mirror_w).put(mirror, l);
    }
}

#[inline(always)]
fn finish_unturned(a: &Cell, b: &Cell, y: &mut Cell, mirror: &mut Cell) {
    for l in 0..LANES {
        let (a, b) = (Lane::of(a, l), Lane::of(b, l));
        a.minus_i(b).put(y, l);
        a.plus_i(b).put(mirror, l);
    }
}

/// Where the outputs of one small transform go, and how they are turned.
struct Write<'a> {
    prime: usize,
    p: usize,
    twiddles: &'a [[f32; 2]],
}

impl Write<'_> {
    /// Outputs `k` and `P - k`; the outputs lie `step` cells apart in `dst`.
    #[inline(always)]
    fn pair(&self, k: usize, even: &Cell, odd: &Cell, dst: &mut [Cell], step: usize) {
        let (head, tail) = dst.split_at_mut((self.prime - k) * step);
        let (y, mirror) = (&mut head[k * step], &mut tail[0]);
        if self.p == 0 {
            finish_unturned(even, odd, y, mirror);
        } else {
            let w = &self.twiddles[self.p * (self.prime - 1)..][..self.prime - 1];
            finish(even, odd, w[k - 1], w[self.prime - k - 1], y, mirror);
        }
    }
}

/// One Stockham pass of the table's prime. `work` holds at least [`DenseTable::scratch_cells`] cells.
#[inline(always)]
pub(super) fn pass_dense(
    table: &DenseTable,
    src: &[Cell],
    dst: &mut [Cell],
    steps: Steps,
    stage: Stage<'_>,
    work: &mut [Cell],
) {
    let (s, m) = (stage.s, stage.m);
    let (prime, half) = (table.prime, table.prime / 2);
    let (repeats, len) = steps.repeats(s);
    let (a, work) = work.split_at_mut(half);
    let (b, work) = work.split_at_mut(half);
    let (sums, _) = work.as_chunks_mut::<OUTPUTS>();
    let [even, odd, ..] = sums else { return };
    let grouped = half - half % OUTPUTS;
    for p in 0..m {
        for q in 0..repeats {
            for i in 0..len {
                let line = &src[(q + s * p) * steps.src + i..];
                let apart = s * m * steps.src;
                let first = &line[0];
                let mut total = *first;
                for (j, (a, b)) in a.iter_mut().zip(b.iter_mut()).enumerate() {
                    sum_and_difference(&line[(j + 1) * apart], &line[(prime - j - 1) * apart], a, b);
                    add(a, &mut total);
                }
                let dst = &mut dst[(q + s * prime * p) * steps.dst + i..];
                dst[0] = total;
                let write = Write { prime, p, twiddles: stage.twiddles };
                let step = s * steps.dst;
                for k in (0..grouped).step_by(OUTPUTS) {
                    let factors = k * half..(k + OUTPUTS) * half;
                    *even = [*first; OUTPUTS];
                    *odd = [[0.0; 2 * LANES]; OUTPUTS];
                    add_to_four(a, &table.cos[factors.clone()], even);
                    add_to_four(b, &table.sin[factors], odd);
                    for (o, (even, odd)) in even.iter().zip(odd.iter()).enumerate() {
                        write.pair(k + o + 1, even, odd, dst, step);
                    }
                }
                for k in grouped..half {
                    let factors = k * half..(k + 1) * half;
                    even[0] = *first;
                    odd[0] = [0.0; 2 * LANES];
                    add_to_one(a, &table.cos[factors.clone()], &mut even[0]);
                    add_to_one(b, &table.sin[factors], &mut odd[0]);
                    write.pair(k + 1, &even[0], &odd[0], dst, step);
                }
            }
        }
    }
}
