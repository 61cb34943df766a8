//! Small discrete Fourier transforms of one lane, `X_k = Σ_j x_j exp(-2πi jk/R)`, unnormalised.
//!
//! Each is straight-line code on scalars; a loop over the lanes of a cell around it becomes SIMD code.

use std::ops::{Add, Mul, Sub};

/// One complex number: one lane of a cell.
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

#[inline(always)]
pub(super) fn dft7(x: [Lane; 7]) -> [Lane; 7] {
    const C1: f32 = 0.623_489_8;
    const C2: f32 = -0.222_520_93;
    const C3: f32 = -0.900_968_85;
    const S1: f32 = 0.781_831_5;
    const S2: f32 = 0.974_927_9;
    const S3: f32 = 0.433_883_73;
    let (a1, b1) = (x[1] + x[6], x[1] - x[6]);
    let (a2, b2) = (x[2] + x[5], x[2] - x[5]);
    let (a3, b3) = (x[3] + x[4], x[3] - x[4]);
    let even1 = x[0] + a1 * C1 + a2 * C2 + a3 * C3;
    let even2 = x[0] + a1 * C2 + a2 * C3 + a3 * C1;
    let even3 = x[0] + a1 * C3 + a2 * C1 + a3 * C2;
    let odd1 = b1 * S1 + b2 * S2 + b3 * S3;
    let odd2 = b1 * S2 - b2 * S3 - b3 * S1;
    let odd3 = b1 * S3 - b2 * S1 + b3 * S2;
    [
        x[0] + a1 + a2 + a3,
        even1.minus_i(odd1),
        even2.minus_i(odd2),
        even3.minus_i(odd3),
        even3.plus_i(odd3),
        even2.plus_i(odd2),
        even1.plus_i(odd1),
    ]
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
