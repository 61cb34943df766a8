//! Lines whose length is a product of small primes: which passes it needs, and running them.

use std::f64::consts::TAU;

use super::dense::{DenseTable, pass_dense};
use super::radix::{Cell, Stage, Steps, pass2, pass3, pass4, pass5, pass7, pass8, pass11, pass13};
use crate::simd::leveled;

/// The largest prime factor with a dense pass; a length with a larger one goes by Bluestein's way.
const LARGEST_DENSE: usize = 127;

/// The lines of a map that are transformed: `count` of them, the first cells `next` apart, their elements `stride`
/// apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    pub count: usize,
    pub next: usize,
    pub stride: usize,
    /// Lines side by side (`next == 1`) that are taken at once.
    pub block: usize,
}

#[derive(Clone, Debug)]
enum Radix {
    Two,
    Three,
    Four,
    Five,
    Seven,
    Eight,
    Eleven,
    Thirteen,
    Dense(DenseTable),
}

#[derive(Clone, Debug)]
struct Pass {
    radix: Radix,
    /// Product of the radices before this one.
    s: usize,
    /// Product of the radices after this one.
    m: usize,
    twiddles: Vec<[f32; 2]>,
}

/// A length as a product of small radices.
#[derive(Clone, Debug)]
pub(super) struct MixedRadix {
    len: usize,
    passes: Vec<Pass>,
    work_cells: usize,
}

/// The radices of `n` in the order of their passes, or the large prime that stands in the way.
pub(super) fn radices(n: usize) -> Result<Vec<usize>, usize> {
    let mut rest = n.max(1);
    let mut found = Vec::new();
    let mut prime = 3;
    let twos = rest.trailing_zeros();
    rest >>= twos;
    while rest > 1 {
        while rest.is_multiple_of(prime) {
            if prime > LARGEST_DENSE {
                return Err(prime);
            }
            found.push(prime);
            rest /= prime;
        }
        // What is left has no factor up to its root, and is a prime itself.
        prime = if prime * prime > rest { rest.max(prime + 2) } else { prime + 2 };
    }
    // Dense primes first: in the first pass the fewest of their outputs share a twiddle, in the last one none has any.
    found.reverse();
    let (eights, left) = match twos {
        0 => (0, 0),
        1 => (0, 1),
        t if t % 3 == 1 => ((t - 4) / 3, 4),
        t => (t / 3, t % 3),
    };
    found.extend((0..eights).map(|_| 8));
    match left {
        1 => found.push(2),
        2 => found.push(4),
        4 => found.extend([4, 4]),
        _ => {}
    }
    Ok(found)
}

impl MixedRadix {
    /// The plan for `len`, or its prime factor that is too large.
    pub fn new(len: usize) -> Result<Self, usize> {
        let mut s = 1;
        let mut work_cells = 0;
        let passes = radices(len)?
            .into_iter()
            .map(|r| {
                let m = len / (s * r);
                let turn = TAU / (m * r) as f64;
                let twiddles = (0..m)
                    .flat_map(|p| (1..r).map(move |k| (p * k) as f64 * turn))
                    .map(|angle| [angle.cos() as f32, -angle.sin() as f32])
                    .collect();
                let radix = match r {
                    2 => Radix::Two,
                    3 => Radix::Three,
                    4 => Radix::Four,
                    5 => Radix::Five,
                    7 => Radix::Seven,
                    8 => Radix::Eight,
                    11 => Radix::Eleven,
                    13 => Radix::Thirteen,
                    prime => {
                        let table = DenseTable::new(prime);
                        work_cells = work_cells.max(table.scratch_cells());
                        Radix::Dense(table)
                    }
                };
                let pass = Pass { radix, s, m, twiddles };
                s *= r;
                pass
            })
            .collect();
        Ok(Self { len, passes, work_cells })
    }

    /// Cells of scratch for lines taken `block` at a time.
    pub fn scratch_cells(&self, block: usize) -> usize {
        2 * self.len * block + self.work_cells
    }

    /// Transforms `lines` of `cells` in place.
    pub fn run(&self, cells: &mut [Cell], lines: Lines, scratch: &mut [Cell]) {
        run_lines(self, cells, lines, scratch);
    }
}

#[inline(always)]
fn run_pass(pass: &Pass, src: &[Cell], dst: &mut [Cell], steps: Steps, work: &mut [Cell]) {
    let stage = Stage { s: pass.s, m: pass.m, twiddles: &pass.twiddles };
    match &pass.radix {
        Radix::Two => pass2(src, dst, steps, stage),
        Radix::Three => pass3(src, dst, steps, stage),
        Radix::Four => pass4(src, dst, steps, stage),
        Radix::Five => pass5(src, dst, steps, stage),
        Radix::Seven => pass7(src, dst, steps, stage),
        Radix::Eight => pass8(src, dst, steps, stage),
        Radix::Eleven => pass11(src, dst, steps, stage),
        Radix::Thirteen => pass13(src, dst, steps, stage),
        Radix::Dense(table) => pass_dense(table, src, dst, steps, stage, work),
    }
}

leveled! {
    fn run_lines(plan: &MixedRadix, cells: &mut [Cell], lines: Lines, scratch: &mut [Cell]) {
        let Some(last) = plan.passes.len().checked_sub(1) else { return };
        let (work, scratch) = scratch.split_at_mut(plan.work_cells);
        let mut first = 0;
        while first < lines.count {
            let block = lines.block.min(lines.count - first);
            let line = &mut cells[first * lines.next..];
            let (ping, pong) = scratch.split_at_mut(plan.len * block);
            let (mut from, mut to) = (&mut ping[..plan.len * block], &mut pong[..plan.len * block]);
            if last == 0 {
                for (i, cells) in from.chunks_exact_mut(block).enumerate() {
                    cells.copy_from_slice(&line[i * lines.stride..][..block]);
                }
            }
            for (i, pass) in plan.passes.iter().enumerate() {
                // The first pass reads the map, the last one writes it: gathering and scattering cost nothing extra.
                let in_map = i == 0 && last > 0;
                let out_map = i == last;
                let steps = Steps {
                    src: if in_map { lines.stride } else { block },
                    dst: if out_map { lines.stride } else { block },
                    block,
                };
                let (src, dst): (&[Cell], &mut [Cell]) = match (in_map, out_map) {
                    (true, _) => (line, to),
                    (false, true) => (from, line),
                    (false, false) => (from, to),
                };
                run_pass(pass, src, dst, steps, work);
                std::mem::swap(&mut from, &mut to);
            }
            first += block;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radices_multiply_to_the_length() {
        for n in 1..2000 {
            match radices(n) {
                Ok(found) => assert_eq!(found.iter().product::<usize>(), n, "{n}: {found:?}"),
                Err(prime) => {
                    assert!(prime > LARGEST_DENSE && n % prime == 0, "{n}: {prime}");
                    assert!((2..prime).all(|d| prime % d != 0), "{n}: {prime}");
                }
            }
        }
    }

    #[test]
    fn powers_of_two_need_few_passes() {
        for (n, expected) in [(2, vec![2]), (4, vec![4]), (8, vec![8]), (16, vec![4, 4]), (32, vec![8, 4])] {
            assert_eq!(radices(n), Ok(expected));
        }
        assert_eq!(radices(64), Ok(vec![8, 8]));
        assert_eq!(radices(128), Ok(vec![8, 4, 4]));
    }
}
