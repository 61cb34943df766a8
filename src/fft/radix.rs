//! One pass of the Stockham transform: `n/R` small transforms of `R` cells each.
//!
//! With `n = s · m · R`, where `s` is the product of the radices already done, a pass reads, for `p < m` and `q < s`,
//! the cells `q + s(p + m j)`, transforms them over `j < R`, turns output `k` by `exp(-2πi pk/(mR))` and writes it to
//! the cell `q + s(R p + k)`. After the last pass (`m = 1`) the order is natural, without a bit reversal.

use super::butterfly::{Lane, dft2, dft3, dft4, dft5, dft7, dft8, dft11, dft13};

/// Complex lanes of a cell.
pub(crate) const LANES: usize = 16;

/// The 32 floats of one cell: 16 real parts, then 16 imaginary parts.
pub(crate) type Cell = [f32; 2 * LANES];

/// The spectra of the 32 real signals of a complex transform of 16 lanes at one frequency, from the cells `z` at that
/// frequency and `m` at its opposite: `(Z + conj M) / 2` of the 16 real parts, then `(Z - conj M) / 2i` of the 16
/// imaginary parts. Real parts, imaginary parts.
#[inline(always)]
pub(crate) fn take_apart(z: &Cell, m: &Cell) -> (Cell, Cell) {
    let (mut re, mut im) = ([0.0; 2 * LANES], [0.0; 2 * LANES]);
    for l in 0..LANES {
        let (zr, zi, mr, mi) = (z[l], z[LANES + l], m[l], m[LANES + l]);
        re[l] = (zr + mr) * 0.5;
        im[l] = (zi - mi) * 0.5;
        re[LANES + l] = (zi + mi) * 0.5;
        im[LANES + l] = (mr - zr) * 0.5;
    }
    (re, im)
}

impl Lane {
    #[inline(always)]
    pub(super) fn of(cell: &Cell, l: usize) -> Lane {
        Lane { re: cell[l], im: cell[LANES + l] }
    }

    #[inline(always)]
    pub(super) fn put(self, cell: &mut Cell, l: usize) {
        cell[l] = self.re;
        cell[LANES + l] = self.im;
    }
}

/// Where the numbers of a pass are: `block` lines lie side by side, element `i` of them at cell `i * step`.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// Cells from one element of the line to the next, in the source.
    pub src: usize,
    /// The same, in the destination.
    pub dst: usize,
    /// Lines that are transformed side by side.
    pub block: usize,
}

/// Factors of one pass: `s`, `m`, and the twiddles `[p][k - 1]`.
#[derive(Clone, Copy)]
pub(super) struct Stage<'a> {
    pub s: usize,
    pub m: usize,
    pub twiddles: &'a [[f32; 2]],
}

/// Skips `gap` cells of `dst` and splits the next `len` off.
#[inline(always)]
fn split_off<'a>(dst: &mut &'a mut [Cell], gap: usize, len: usize) -> &'a mut [Cell] {
    let (head, tail) = std::mem::take(dst)[gap..].split_at_mut(len);
    *dst = tail;
    head
}

impl Steps {
    /// How often, and on how many cells in a row, a small transform is repeated with the same twiddles.
    #[inline(always)]
    pub(super) fn repeats(&self, s: usize) -> (usize, usize) {
        // Where both sides are dense, the neighbours q and the neighbouring lines are one run of cells.
        if self.src == self.block && self.dst == self.block { (1, s * self.block) } else { (s, self.block) }
    }
}

macro_rules! radix_pass {
    ($pass:ident, $run:ident, $dft:ident, $r:literal, $($x:ident $y:ident $k:literal),*) => {
        // Every cell is an argument of its own: the compiler then knows that none overlaps another
        // and makes vector instructions of the loop.
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn $run<const TURN: bool>($($x: &Cell,)* $($y: &mut Cell,)* w: &[[f32; 2]; $r - 1]) {
            for l in 0..LANES {
                let out = $dft([$(Lane::of($x, l)),*]);
                $(if TURN && $k > 0 {
                    out[$k].turned(w[($k as usize).saturating_sub(1)]).put($y, l);
                } else {
                    out[$k].put($y, l);
                })*
            }
        }

        /// One Stockham pass of this radix.
        #[inline(always)]
        pub(super) fn $pass(src: &[Cell], dst: &mut [Cell], steps: Steps, stage: Stage<'_>) {
            let (s, m) = (stage.s, stage.m);
            let (repeats, len) = steps.repeats(s);
            let (twiddles, _) = stage.twiddles.as_chunks::<{ $r - 1 }>();
            if s == 1 && steps.dst == 1 && steps.block == 1 {
                // The first pass of a single line: the outputs of each small transform are neighbours.
                let (groups, _) = dst.as_chunks_mut::<$r>();
                for (p, w) in twiddles.iter().enumerate().take(m) {
                    let [$($y),*] = &mut groups[p];
                    $(let $x = &src[(p + m * $k) * steps.src];)*
                    if p == 0 { $run::<false>($($x,)* $($y,)* w) } else { $run::<true>($($x,)* $($y,)* w) }
                }
                return;
            }
            let step = s * steps.dst;
            for (p, w) in twiddles.iter().enumerate().take(m) {
                for q in 0..repeats {
                    $(let $x = &src[(q + s * (p + m * $k)) * steps.src..][..len];)*
                    let mut rest = &mut dst[(q + s * $r * p) * steps.dst..];
                    $(let $y = split_off(&mut rest, if $k == 0 { 0 } else { step - len }, len);)*
                    if p == 0 {
                        for i in 0..len {
                            $run::<false>($(&$x[i],)* $(&mut $y[i],)* w);
                        }
                    } else {
                        for i in 0..len {
                            $run::<true>($(&$x[i],)* $(&mut $y[i],)* w);
                        }
                    }
                }
            }
        }
    };
}

radix_pass!(pass2, run2, dft2, 2, x0 y0 0, x1 y1 1);
radix_pass!(pass3, run3, dft3, 3, x0 y0 0, x1 y1 1, x2 y2 2);
radix_pass!(pass4, run4, dft4, 4, x0 y0 0, x1 y1 1, x2 y2 2, x3 y3 3);
radix_pass!(pass5, run5, dft5, 5, x0 y0 0, x1 y1 1, x2 y2 2, x3 y3 3, x4 y4 4);
radix_pass!(pass7, run7, dft7, 7, x0 y0 0, x1 y1 1, x2 y2 2, x3 y3 3, x4 y4 4, x5 y5 5, x6 y6 6);
radix_pass!(pass8, run8, dft8, 8, x0 y0 0, x1 y1 1, x2 y2 2, x3 y3 3, x4 y4 4, x5 y5 5, x6 y6 6, x7 y7 7);
radix_pass!(
    pass11, run11, dft11, 11, x0 y0 0, x1 y1 1, x2 y2 2, x3 y3 3, x4 y4 4, x5 y5 5,
    x6 y6 6, x7 y7 7, x8 y8 8, x9 y9 9, x10 y10 10
);
radix_pass!(
    pass13, run13, dft13, 13, x0 y0 0, x1 y1 1, x2 y2 2, x3 y3 3, x4 y4 4, x5 y5 5, x6 y6 6,
    x7 y7 7, x8 y8 8, x9 y9 9, x10 y10 10, x11 y11 11, x12 y12 12
);
