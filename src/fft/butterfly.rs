//! Small discrete Fourier transforms of one lane, `X_k = Σ_j x_j exp(-2πi jk/R)`, unnormalised.
//!
//! Each is straight-line scalar code; the compiler vectorises the loop over the lanes of a cell around it.

use std::ops::{Add, Mul, Sub};

/// One complex lane of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub re: f32,
    pub im: f32,
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
    /// Complex product with a twiddle factor `[re, im]`.
    #[inline(always)]
    pub fn turned(self, w: [f32; 2]) -> Lane {
        Lane { re: self.re * w[0] - self.im * w[1], im: self.re * w[1] + self.im * w[0] }
    }

    /// `self - i o`.
    #[inline(always)]
    pub fn minus_i(self, o: Lane) -> Lane {
        Lane { re: self.re + o.im, im: self.im - o.re }
    }

    /// `self + i o`.
    #[inline(always)]
    pub fn plus_i(self, o: Lane) -> Lane {
        Lane { re: self.re - o.im, im: self.im + o.re }
    }
}

#[inline(always)]
pub(super) fn dft2(x: [Lane; 2]) -> [Lane; 2] {
    [x[0] + x[1], x[0] - x[1]]
}

#[inline(always)]
pub(super) fn dft3(x: [Lane; 3]) -> [Lane; 3] {
    const SIN: f32 = 0.866_025_4;
    let sum = x[1] + x[2];
    let turn = (x[1] - x[2]) * SIN;
    let mid = x[0] - sum * 0.5;
    [x[0] + sum, mid.minus_i(turn), mid.plus_i(turn)]
}

#[inline(always)]
pub(super) fn dft4(x: [Lane; 4]) -> [Lane; 4] {
    let (a, b) = (x[0] + x[2], x[0] - x[2]);
    let (c, d) = (x[1] + x[3], x[1] - x[3]);
    [a + c, b.minus_i(d), a - c, b.plus_i(d)]
}

#[inline(always)]
pub(super) fn dft5(x: [Lane; 5]) -> [Lane; 5] {
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
pub(super) fn dft7(x: [Lane; 7]) -> [Lane; 7] {
    const COS: [f32; 7] = [1.0, 0.623_489_8, -0.222_520_93, -0.900_968_85, -0.900_968_85, -0.222_520_93, 0.623_489_8];
    const SIN: [f32; 7] = [0.0, 0.781_831_5, 0.974_927_9, 0.433_883_73, -0.433_883_73, -0.974_927_9, -0.781_831_5];
    dft_odd!(x, 7, 3, 1 2 3)
}

#[inline(always)]
pub(super) fn dft11(x: [Lane; 11]) -> [Lane; 11] {
    const COS: [f32; 11] = [
        1.0,
        0.841_253_5,
        0.415_415_02,
        -0.142_314_84,
        -0.654_860_73,
        -0.959_493,
        -0.959_493,
        -0.654_860_73,
        -0.142_314_84,
        0.415_415_02,
        0.841_253_5,
    ];
    const SIN: [f32; 11] = [
        0.0,
        0.540_640_83,
        0.909_631_97,
        0.989_821_43,
        0.755_749_6,
        0.281_732_56,
        -0.281_732_56,
        -0.755_749_6,
        -0.989_821_43,
        -0.909_631_97,
        -0.540_640_83,
    ];
    dft_odd!(x, 11, 5, 1 2 3 4 5)
}

#[inline(always)]
pub(super) fn dft13(x: [Lane; 13]) -> [Lane; 13] {
    const COS: [f32; 13] = [
        1.0,
        0.885_456,
        0.568_064_75,
        0.120_536_68,
        -0.354_604_9,
        -0.748_510_8,
        -0.970_941_84,
        -0.970_941_84,
        -0.748_510_8,
        -0.354_604_9,
        0.120_536_68,
        0.568_064_75,
        0.885_456,
    ];
    const SIN: [f32; 13] = [
        0.0,
        0.464_723_17,
        0.822_983_86,
        0.992_708_86,
        0.935_016_2,
        0.663_122_65,
        0.239_315_66,
        -0.239_315_66,
        -0.663_122_65,
        -0.935_016_2,
        -0.992_708_86,
        -0.822_983_86,
        -0.464_723_17,
    ];
    dft_odd!(x, 13, 6, 1 2 3 4 5 6)
}

#[inline(always)]
pub(super) fn dft8(x: [Lane; 8]) -> [Lane; 8] {
    const H: f32 = std::f32::consts::FRAC_1_SQRT_2;
    let e = dft4([x[0], x[2], x[4], x[6]]);
    let o = dft4([x[1], x[3], x[5], x[7]]);
    // Turned by exp(-iπ/4) and exp(-3iπ/4).
    let o1 = Lane { re: o[1].re + o[1].im, im: o[1].im - o[1].re } * H;
    let o3 = Lane { re: o[3].im - o[3].re, im: o[3].re + o[3].im };
    let o3 = Lane { re: o3.re * H, im: o3.im * -H };
    [e[0] + o[0], e[1] + o1, e[2].minus_i(o[2]), e[3] + o3, e[0] - o[0], e[1] - o1, e[2].plus_i(o[2]), e[3] - o3]
}
