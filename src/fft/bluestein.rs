//! Lines whose length has a large prime factor: Bluestein's chirp transform (Bluestein 1970).
//!
//! `jk = (j² + k² - (k-j)²)/2` makes of a transform of any length `n` a convolution with the chirp
//! `exp(πi j²/n)`, done by transforms of a length `m ≥ 2n - 1` that has small factors only.

use std::f64::consts::PI;

use super::mixed::{Lines, MixedRadix};
use super::radix::{Cell, LANES};

#[derive(Clone, Debug)]
pub(super) struct Bluestein {
    len: usize,
    inner: MixedRadix,
    /// `exp(-πi j²/n)`.
    chirp: Vec<[f32; 2]>,
    /// Transform of the convolution's kernel, divided by `m`.
    kernel: Vec<[f32; 2]>,
}

fn five_smooth(n: usize) -> bool {
    let mut rest = n;
    for prime in [2, 3, 5] {
        while rest.is_multiple_of(prime) {
            rest /= prime;
        }
    }
    rest == 1
}

fn product(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// `cell * w` for every lane.
fn turn(cell: &mut Cell, w: [f32; 2]) {
    let (re, im) = cell.split_at_mut(LANES);
    for (re, im) in re.iter_mut().zip(im) {
        [*re, *im] = product([*re, *im], w);
    }
}

/// `conj(cell * w)` for every lane.
fn turn_and_conjugate(cell: &mut Cell, w: [f32; 2]) {
    turn(cell, w);
    cell[LANES..].iter_mut().for_each(|im| *im = -*im);
}

impl Bluestein {
    pub fn new(len: usize) -> Self {
        let long = (2 * len - 1..).find(|&n| five_smooth(n)).unwrap_or(len.next_power_of_two() * 2);
        // A length of factors 2, 3 and 5 has no large prime.
        let inner = MixedRadix::new(long).unwrap_or_else(|prime| unreachable!("{long} has the factor {prime}"));
        let angle = |j: usize| {
            // j² modulo 2n: exact, where j²/n would lose the digits of the angle.
            PI * ((j as u128 * j as u128) % (2 * len as u128)) as f64 / len as f64
        };
        let chirp: Vec<[f32; 2]> = (0..len).map(|j| [angle(j).cos() as f32, -angle(j).sin() as f32]).collect();
        // The kernel's own transform is made by its definition in double precision, once, so that it
        // is the same on every CPU: K_k = 1/m (1 + 2 Σ_{0<j<n} exp(πi j²/n) cos(2πjk/m)).
        let cos: Vec<f64> = (0..long).map(|t| (2.0 * PI * t as f64 / long as f64).cos()).collect();
        let values: Vec<(f64, f64)> = (1..len).map(|j| (angle(j).cos(), angle(j).sin())).collect();
        let kernel = (0..long)
            .map(|k| {
                let (mut re, mut im, mut turn) = (1.0, 0.0, 0);
                for value in &values {
                    turn = (turn + k) % long;
                    re += 2.0 * value.0 * cos[turn];
                    im += 2.0 * value.1 * cos[turn];
                }
                [(re / long as f64) as f32, (im / long as f64) as f32]
            })
            .collect();
        Self { len, inner, chirp, kernel }
    }

    pub fn scratch_cells(&self) -> usize {
        self.kernel.len() + self.inner.scratch_cells(1)
    }

    pub fn run(&self, cells: &mut [Cell], lines: Lines, scratch: &mut [Cell]) {
        let (buffer, scratch) = scratch.split_at_mut(self.kernel.len());
        let one = Lines { count: 1, next: 0, stride: 1, block: 1 };
        for first in 0..lines.count {
            let line = &mut cells[first * lines.next..];
            let (head, padding) = buffer.split_at_mut(self.len);
            for (j, (cell, &w)) in head.iter_mut().zip(&self.chirp).enumerate() {
                *cell = line[j * lines.stride];
                turn(cell, w);
            }
            padding.fill([0.0; 2 * LANES]);
            self.inner.run(buffer, one, scratch);
            // The inverse transform is the conjugate of the forward transform of the conjugate.
            buffer.iter_mut().zip(&self.kernel).for_each(|(cell, &k)| turn_and_conjugate(cell, k));
            self.inner.run(buffer, one, scratch);
            for (j, (cell, &w)) in buffer.iter_mut().zip(&self.chirp).enumerate() {
                // conj(c) w = conj(c conj(w)).
                turn_and_conjugate(cell, [w[0], -w[1]]);
                line[j * lines.stride] = *cell;
            }
        }
    }
}
