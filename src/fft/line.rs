//! Transforms of lines of cells of any length, as Stockham passes of radices 2, 3, 4, 5, 7, 8, 11, 13 and larger primes.
//!
//! A pass of radix `R` runs `n/R` small transforms. With `n = s · m · R`, where `s` is the product of the radices
//! already done, it reads, for `p < m` and `q < s`, the cells `q + s(p + m j)`, transforms them over `j < R`, turns
//! output `k` by `exp(-2πi pk/(mR))` and writes it to the cell `q + s(R p + k)`. After the last pass (`m = 1`) the
//! order is natural.
//!
//! The small transforms are straight-line scalar code on one lane, `X_k = Σ_j x_j exp(-2πi jk/R)`, unnormalised; the
//! compiler vectorises the loop over the lanes of a cell around it.

use std::f64::consts::TAU;
use std::ops::{Add, Mul, Sub};

use crate::simd::leveled;

/// Complex lanes of a cell.
pub(crate) const LANES: usize = 16;

/// The 32 floats of one cell: 16 real parts, then 16 imaginary parts.
pub(crate) type Cell = [f32; 2 * LANES];

/// Splits a complex spectrum of 16 lanes into the spectra of its 32 real signals at one frequency. `z` is the cell at
/// that frequency and `m` the cell at the opposite one: `(Z + conj M) / 2` for the 16 real parts, then
/// `(Z - conj M) / 2i` for the 16 imaginary parts. Returns real parts and imaginary parts.
#[inline(always)]
pub(crate) fn split_real(z: &Cell, m: &Cell) -> (Cell, Cell) {
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

/// One complex lane of a cell.
#[derive(Clone, Copy, Debug)]
struct Lane {
    re: f32,
    im: f32,
}

impl Add for Lane {
    type Output = Lane;
    #[inline(always)]
    fn add(self, o: Lane) -> Lane {
        Lane { re: self.re + o.re, im: self.im + o.im }
    }
}

impl Sub for Lane {
    type Output = Lane;
    #[inline(always)]
    fn sub(self, o: Lane) -> Lane {
        Lane { re: self.re - o.re, im: self.im - o.im }
    }
}

/// Scaling by a real number.
impl Mul<f32> for Lane {
    type Output = Lane;
    #[inline(always)]
    fn mul(self, k: f32) -> Lane {
        Lane { re: self.re * k, im: self.im * k }
    }
}

impl Lane {
    #[inline(always)]
    fn of(cell: &Cell, l: usize) -> Lane {
        Lane { re: cell[l], im: cell[LANES + l] }
    }

    #[inline(always)]
    fn put(self, cell: &mut Cell, l: usize) {
        cell[l] = self.re;
        cell[LANES + l] = self.im;
    }

    /// Complex product with a twiddle factor `[re, im]`.
    #[inline(always)]
    fn turned(self, w: [f32; 2]) -> Lane {
        Lane { re: self.re * w[0] - self.im * w[1], im: self.re * w[1] + self.im * w[0] }
    }

    /// `self - i o`.
    #[inline(always)]
    fn minus_i(self, o: Lane) -> Lane {
        Lane { re: self.re + o.im, im: self.im - o.re }
    }

    /// `self + i o`.
    #[inline(always)]
    fn plus_i(self, o: Lane) -> Lane {
        Lane { re: self.re - o.im, im: self.im + o.re }
    }
}

#[inline(always)]
fn dft2(x: [Lane; 2]) -> [Lane; 2] {
    [x[0] + x[1], x[0] - x[1]]
}

#[inline(always)]
fn dft3(x: [Lane; 3]) -> [Lane; 3] {
    const SIN: f32 = 0.866_025_4;
    let sum = x[1] + x[2];
    let turn = (x[1] - x[2]) * SIN;
    let mid = x[0] - sum * 0.5;
    [x[0] + sum, mid.minus_i(turn), mid.plus_i(turn)]
}

#[inline(always)]
fn dft4(x: [Lane; 4]) -> [Lane; 4] {
    let (a, b) = (x[0] + x[2], x[0] - x[2]);
    let (c, d) = (x[1] + x[3], x[1] - x[3]);
    [a + c, b.minus_i(d), a - c, b.plus_i(d)]
}

#[inline(always)]
fn dft5(x: [Lane; 5]) -> [Lane; 5] {
    const C1: f32 = 0.309_017;
    const C2: f32 = -0.809_017;
    const S1: f32 = 0.951_056_5;
    const S2: f32 = 0.587_785_25;
    let (a1, b1) = (x[1] + x[4], x[1] - x[4]);
    let (a2, b2) = (x[2] + x[3], x[2] - x[3]);
    let even1 = x[0] + a1 * C1 + a2 * C2;
    let even2 = x[0] + a1 * C2 + a2 * C1;
    let odd1 = b1 * S1 + b2 * S2;
    let odd2 = b1 * S2 - b2 * S1;
    [x[0] + a1 + a2, even1.minus_i(odd1), even2.minus_i(odd2), even2.plus_i(odd2), even1.plus_i(odd1)]
}

/// Sums of output `k` of an odd length `P = 2H + 1`: `x_0 + Σ_j a_j cos(2πjk/P)` and `Σ_j b_j sin(2πjk/P)`.
#[inline(always)]
fn odd_row<const P: usize, const H: usize>(
    k: usize,
    x0: Lane,
    a: &[Lane; H],
    b: &[Lane; H],
    cos: &[f32; P],
    sin: &[f32; P],
) -> (Lane, Lane) {
    let mut even = x0 + a[0] * cos[k];
    let mut odd = b[0] * sin[k];
    for j in 1..H {
        even = even + a[j] * cos[(j + 1) * k % P];
        odd = odd + b[j] * sin[(j + 1) * k % P];
    }
    (even, odd)
}

/// The values at all multiples of a turn's `P`th part, from that at 0 and those of the first half; `sign` is that of the
/// mirror image.
const fn mirrored<const P: usize, const H: usize>(zero: f32, half: [f32; H], sign: f32) -> [f32; P] {
    let mut all = [zero; P];
    let mut j = 0;
    while j < H {
        (all[j + 1], all[P - j - 1]) = (half[j], sign * half[j]);
        j += 1;
    }
    all
}

/// A transform of an odd length by its definition, with the symmetry of `a_j, b_j = x_j ± x_{P-j}`.
/// A macro, because the compiler vectorises before it unrolls a loop over the outputs.
macro_rules! dft_odd {
    ($x:ident, $p:literal, $h:literal, $($k:literal)*) => {{
        let a: [Lane; $h] = [$($x[$k] + $x[$p - $k]),*];
        let b: [Lane; $h] = [$($x[$k] - $x[$p - $k]),*];
        let mut out = $x;
        $(out[0] = out[0] + a[$k - 1];)*
        $(
            let (even, odd) = odd_row::<$p, $h>($k, $x[0], &a, &b, &COS, &SIN);
            out[$k] = even.minus_i(odd);
            out[$p - $k] = even.plus_i(odd);
        )*
        out
    }};
}

#[inline(always)]
fn dft7(x: [Lane; 7]) -> [Lane; 7] {
    const COS: [f32; 7] = mirrored(1.0, [0.623_489_8, -0.222_520_93, -0.900_968_85], 1.0);
    const SIN: [f32; 7] = mirrored(0.0, [0.781_831_5, 0.974_927_9, 0.433_883_73], -1.0);
    dft_odd!(x, 7, 3, 1 2 3)
}

#[inline(always)]
fn dft11(x: [Lane; 11]) -> [Lane; 11] {
    const COS: [f32; 11] = mirrored(1.0, [0.841_253_5, 0.415_415_02, -0.142_314_84, -0.654_860_73, -0.959_493], 1.0);
    const SIN: [f32; 11] = mirrored(0.0, [0.540_640_83, 0.909_631_97, 0.989_821_43, 0.755_749_6, 0.281_732_56], -1.0);
    dft_odd!(x, 11, 5, 1 2 3 4 5)
}

#[inline(always)]
fn dft13(x: [Lane; 13]) -> [Lane; 13] {
    const COS: [f32; 13] =
        mirrored(1.0, [0.885_456, 0.568_064_75, 0.120_536_68, -0.354_604_9, -0.748_510_8, -0.970_941_84], 1.0);
    const SIN: [f32; 13] =
        mirrored(0.0, [0.464_723_17, 0.822_983_86, 0.992_708_86, 0.935_016_2, 0.663_122_65, 0.239_315_66], -1.0);
    dft_odd!(x, 13, 6, 1 2 3 4 5 6)
}

#[inline(always)]
fn dft8(x: [Lane; 8]) -> [Lane; 8] {
    const H: f32 = std::f32::consts::FRAC_1_SQRT_2;
    let e = dft4([x[0], x[2], x[4], x[6]]);
    let o = dft4([x[1], x[3], x[5], x[7]]);
    // Lanes turned by exp(-iπ/4) and exp(-3iπ/4).
    let o1 = Lane { re: o[1].re + o[1].im, im: o[1].im - o[1].re } * H;
    let o3 = Lane { re: o[3].im - o[3].re, im: o[3].re + o[3].im };
    let o3 = Lane { re: o3.re * H, im: o3.im * -H };
    [e[0] + o[0], e[1] + o1, e[2].minus_i(o[2]), e[3] + o3, e[0] - o[0], e[1] - o1, e[2].plus_i(o[2]), e[3] - o3]
}

/// Memory layout of a pass: `block` lines lie side by side; their element `i` is at cell `i * step`.
#[derive(Clone, Copy)]
struct Steps {
    /// Step of the source, in cells.
    src: usize,
    /// Step of the destination, in cells.
    dst: usize,
    block: usize,
}

/// Factors of one pass: `s`, `m`, and the twiddles `[p][k - 1]`.
#[derive(Clone, Copy)]
struct Stage<'a> {
    s: usize,
    m: usize,
    twiddles: &'a [[f32; 2]],
}

/// Skips `gap` cells of `dst` and splits the next `len` off.
#[inline(always)]
fn split_off<'a>(dst: &mut &'a mut [Cell], gap: usize, len: usize) -> &'a mut [Cell] {
    let (head, tail) = std::mem::take(dst)[gap..].split_at_mut(len);
    *dst = tail;
    head
}

impl Steps {
    /// The number of repeats of a small transform with the same twiddles, and the cells of each repeat.
    #[inline(always)]
    fn repeats(&self, s: usize) -> (usize, usize) {
        // If both sides are dense, the neighbours q and the neighbouring lines are one run of cells.
        if self.src == self.block && self.dst == self.block { (1, s * self.block) } else { (s, self.block) }
    }
}

macro_rules! radix_pass {
    ($pass:ident, $run:ident, $dft:ident, $r:literal, $($x:ident $y:ident $k:literal),*) => {
        // Each cell is a separate argument, so the compiler knows that none overlap and vectorises the loop.
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
        fn $pass(src: &[Cell], dst: &mut [Cell], steps: Steps, stage: Stage<'_>) {
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

/// Inputs of a prime pass that are added at once.
const INPUTS: usize = 4;

/// The cosines and sines of an odd prime length.
#[derive(Clone, Debug)]
struct PrimeTable {
    prime: usize,
    /// Inputs per output: half of the prime, padded by zeros to whole groups.
    inputs: usize,
    /// `[output k][input group]`: cosines and sines of `2πjk / prime`, `j` and `k` from 1 to half of the prime.
    factors: Vec<[[f32; INPUTS]; 2]>,
}

impl PrimeTable {
    fn new(prime: usize) -> Self {
        let half = prime / 2;
        let inputs = half.next_multiple_of(INPUTS);
        let group = |k: usize, first: usize| {
            let mut group = [[0.0; INPUTS]; 2];
            for j in first..(first + INPUTS).min(half + 1) {
                let angle = TAU * (j * k % prime) as f64 / prime as f64;
                (group[0][j - first], group[1][j - first]) = (angle.cos() as f32, angle.sin() as f32);
            }
            group
        };
        let factors = (1..=half).flat_map(|k| (1..=inputs).step_by(INPUTS).map(move |first| group(k, first))).collect();
        Self { prime, inputs, factors }
    }

    /// Cells of scratch that [`pass_prime`] needs.
    fn scratch_cells(&self) -> usize {
        2 * self.inputs
    }
}

#[inline(always)]
fn sum_and_difference(x: &Cell, mirror: &Cell, a: &mut Cell, b: &mut Cell, total: &mut Cell) {
    for l in 0..2 * LANES {
        a[l] = x[l] + mirror[l];
        b[l] = x[l] - mirror[l];
        total[l] += a[l];
    }
}

/// Adds the products of four cells to `sum`, one after the other.
#[inline(always)]
fn add_products([x0, x1, x2, x3]: &[Cell; INPUTS], factors: &[f32; INPUTS], sum: &mut Cell) {
    for l in 0..2 * LANES {
        let mut total = sum[l];
        total += x0[l] * factors[0];
        total += x1[l] * factors[1];
        total += x2[l] * factors[2];
        total += x3[l] * factors[3];
        sum[l] = total;
    }
}

/// Writes `even - i odd` and `even + i odd`, times their twiddles.
#[inline(always)]
fn write_pair(even: &Cell, odd: &Cell, w: [[f32; 2]; 2], y: &mut Cell, mirror: &mut Cell) {
    for l in 0..LANES {
        let (even, odd) = (Lane::of(even, l), Lane::of(odd, l));
        even.minus_i(odd).turned(w[0]).put(y, l);
        even.plus_i(odd).turned(w[1]).put(mirror, l);
    }
}

/// One Stockham pass of an odd prime radix `P`, by the definition and its symmetry.
///
/// With `a_j = x_j + x_{P-j}`, `b_j = x_j - x_{P-j}` and sums over `j <= P / 2`, output `k` is
/// `x_0 + Σ a_j cos(2πjk/P) - i Σ b_j sin(2πjk/P)` and output `P - k` its mirror image.
#[inline(always)]
fn pass_prime(table: &PrimeTable, src: &[Cell], dst: &mut [Cell], steps: Steps, stage: Stage<'_>, work: &mut [Cell]) {
    let (s, m) = (stage.s, stage.m);
    let (prime, half) = (table.prime, table.prime / 2);
    let (repeats, len) = steps.repeats(s);
    let (a, b) = work[..2 * table.inputs].split_at_mut(table.inputs);
    a[half..].fill([0.0; 2 * LANES]);
    b[half..].fill([0.0; 2 * LANES]);
    let (apart, step) = (s * m * steps.src, s * steps.dst);
    for p in 0..m {
        let twiddles = &stage.twiddles[p * (prime - 1)..][..prime - 1];
        for q in 0..repeats {
            for i in 0..len {
                let line = &src[(q + s * p) * steps.src + i..];
                let mut total = line[0];
                for (j, (a, b)) in a.iter_mut().zip(b.iter_mut()).enumerate().take(half) {
                    sum_and_difference(&line[(j + 1) * apart], &line[(prime - j - 1) * apart], a, b, &mut total);
                }
                let dst = &mut dst[(q + s * prime * p) * steps.dst + i..];
                dst[0] = total;
                let (a, b) = (a.as_chunks().0, b.as_chunks().0);
                for (k, factors) in (1..).zip(table.factors.chunks_exact(a.len())) {
                    let (mut even, mut odd) = (line[0], [0.0; 2 * LANES]);
                    for ((a, b), [cos, sin]) in a.iter().zip(b).zip(factors) {
                        add_products(a, cos, &mut even);
                        add_products(b, sin, &mut odd);
                    }
                    let (head, tail) = dst.split_at_mut((prime - k) * step);
                    let w = [twiddles[k - 1], twiddles[prime - k - 1]];
                    write_pair(&even, &odd, w, &mut head[k * step], &mut tail[0]);
                }
            }
        }
    }
}

/// The lines of a map to transform: `count` of them, their first cells `next` apart, their elements `stride` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    pub count: usize,
    pub next: usize,
    pub stride: usize,
    /// Lines side by side (`next == 1`) to transform at once.
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
    Prime(PrimeTable),
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

/// A planned transform of lines of any length.
#[derive(Clone, Debug)]
pub(super) struct LinePlan {
    len: usize,
    passes: Vec<Pass>,
    work_cells: usize,
}

/// The radices of `n` in the order of their passes.
fn radices(n: usize) -> Vec<usize> {
    let twos = n.max(1).trailing_zeros();
    let mut rest = n.max(1) >> twos;
    let mut found = Vec::new();
    let mut prime = 3;
    while rest > 1 {
        while rest.is_multiple_of(prime) {
            found.push(prime);
            rest /= prime;
        }
        // A rest without a factor up to its root is prime.
        prime = if prime * prime > rest { rest.max(prime + 2) } else { prime + 2 };
    }
    // Large primes first: the first pass shares the fewest twiddles, and the last one has none.
    found.reverse();
    let (eights, left): (u32, &[usize]) = match twos {
        1 => (0, &[2]),
        t if t % 3 == 1 => ((t - 4) / 3, &[4, 4]),
        t if t % 3 == 2 => (t / 3, &[4]),
        t => (t / 3, &[]),
    };
    found.extend((0..eights).map(|_| 8));
    found.extend(left);
    found
}

impl LinePlan {
    pub fn new(len: usize) -> Self {
        let mut s = 1;
        let mut work_cells = 0;
        let pass = |r: usize| {
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
                    let table = PrimeTable::new(prime);
                    work_cells = work_cells.max(table.scratch_cells());
                    Radix::Prime(table)
                }
            };
            let pass = Pass { radix, s, m, twiddles };
            s *= r;
            pass
        };
        let passes = radices(len).into_iter().map(pass).collect();
        Self { len, passes, work_cells }
    }

    /// Cells of scratch for `block` lines at a time.
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
        Radix::Prime(table) => pass_prime(table, src, dst, steps, stage, work),
    }
}

leveled! {
    fn run_lines(plan: &LinePlan, cells: &mut [Cell], lines: Lines, scratch: &mut [Cell]) {
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
                // The first pass reads the map and the last one writes it, without a copy.
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
