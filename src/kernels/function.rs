//! Kernel functions, and their correlation: a kernel between one signal and all cyclic shifts of another, by FFT
//! (Henriques et al., TPAMI 2015, sections 5.2, 6 and 7).

use rustfft::num_complex::Complex32;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fft::{FeatureMap, MapPlan, Scratch};
use crate::settings::{Field, Range, Setting};
use crate::simd::leveled;

const SIGMA: Range = Range::Within(1e-6, 1e6);
const CONSTANT: Range = Range::Within(0.0, 1e6);
const DEGREE: Range = Range::Within(1.0, 32.0);

/// A kernel of the inner product of two samples and their squared norms.
///
/// `D` is the number of feature values of a sample (for masked windows: channels times the sum of the squared mask).
/// Dividing by it, as the authors of KCF do, makes the parameters independent of the size of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Kernel {
    /// `exp(-max(0, ‖a‖² + ‖b‖² - 2 a·b) / (D σ²))`, section 6.2 of Henriques et al., TPAMI 2015.
    Gaussian {
        /// Bandwidth σ, 0.000001 to 1000000.
        #[serde(default = "hog_sigma")]
        sigma: f64,
    },
    /// `(a·b / D + a)^b`, section 6.1 of the same paper.
    Polynomial {
        /// The additive constant, not negative (with a negative one the matrix is not positive semidefinite).
        #[serde(default = "hog_constant")]
        a: f64,
        /// The degree, 1 to 32. Only whole degrees make a kernel.
        #[serde(default = "hog_degree")]
        b: u32,
    },
    /// `a·b / D`: the dual correlation filter.
    Linear,
}

fn hog_sigma() -> f64 {
    0.5
}

fn hog_constant() -> f64 {
    1.0
}

fn hog_degree() -> u32 {
    9
}

impl Setting for Kernel {
    fn visit(&self, field: &Field<'_>, visit: &mut dyn FnMut(&Field<'_>, serde_json::Value)) {
        let mut number = |name: &str, doc, range, value: serde_json::Value| {
            let path = field.below(&format!("{}.{name}", self.name()));
            visit(&Field { path: &path, doc, range, names: &[] }, value);
        };
        match *self {
            Self::Gaussian { sigma } => number("sigma", "Bandwidth of the Gaussian kernel", SIGMA, sigma.into()),
            Self::Polynomial { a, b } => {
                number("a", "Constant added in the polynomial kernel", CONSTANT, a.into());
                number("b", "Degree of the polynomial kernel", DEGREE, b.into());
            }
            Self::Linear => visit(&Field { names: &Self::NAMES, ..*field }, "linear".into()),
        }
    }
}

impl Kernel {
    /// The names that [`Kernel::from_name`] knows.
    pub const NAMES: [&'static str; 3] = ["gaussian", "polynomial", "linear"];

    /// The kernel of that name with the parameters that the authors of KCF use for HOG: σ = 0.5, or `(a·b/D + 1)^9`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an unknown name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "gaussian" => Ok(Self::Gaussian { sigma: hog_sigma() }),
            "polynomial" => Ok(Self::Polynomial { a: hog_constant(), b: hog_degree() }),
            "linear" => Ok(Self::Linear),
            _ => Err(Error::parameter("kernel", name, format!("one of {}", Self::NAMES.join(", ")))),
        }
    }

    /// The kernel itself if its parameters are in range.
    ///
    /// # Errors
    /// [`Error::Setting`] for a σ outside 1e-6 to 1e6, a constant outside 0 to 1e6, a degree outside 1 to 32.
    pub fn checked(self) -> Result<Self> {
        self.check_ranges("kernel").map(|()| self)
    }

    /// The name, as [`Kernel::from_name`] takes it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::Polynomial { .. } => "polynomial",
            Self::Linear => "linear",
        }
    }

    /// The kernel value of two samples in single precision: `dot` = a·b, `aa` = ‖a‖², `bb` = ‖b‖², `inv_d` =
    /// 1/D.
    #[inline(always)]
    pub fn eval(&self, dot: f32, aa: f32, bb: f32, inv_d: f32) -> f32 {
        match *self {
            // Rounding, above all that of an FFT, can push the distance of two equal samples below zero.
            Self::Gaussian { sigma } => {
                (-(aa + bb - 2.0 * dot).max(0.0) * (inv_d * (1.0 / (sigma * sigma)) as f32)).exp()
            }
            Self::Polynomial { a, b } => (dot * inv_d + a as f32).powi(b as i32),
            Self::Linear => dot * inv_d,
        }
    }

    /// [`Kernel::eval`] in double precision, for Gram matrices: single precision is too
    /// coarse for their condition numbers. An undefined value is NaN.
    ///
    /// A Gaussian value is right to `ε (‖a‖² + ‖b‖²) / σ²` with ε = 2.2e-16: far from the origin the norms lose
    /// the distance. [`gram()`](super::gram()) and [`cross_gram`](super::cross_gram) use differences there.
    #[inline(always)]
    pub fn eval64(&self, dot: f64, aa: f64, bb: f64, inv_d: f64) -> f64 {
        match *self {
            Self::Gaussian { .. } => {
                let distance = aa + bb - 2.0 * dot;
                // A comparison, not `max`, to which NaN would be a distance of zero.
                self.of_distance(if distance < 0.0 { 0.0 } else { distance }, inv_d)
            }
            Self::Polynomial { a, b } => (dot * inv_d + a).powi(b as i32),
            Self::Linear => dot * inv_d,
        }
    }

    /// Replaces inner products of one sample with others, of the squared norms `bb`, by [`Kernel::eval64`].
    pub(super) fn apply64(&self, dots: &mut [f64], aa: f64, bb: &[f64], inv_d: f64) {
        let Self::Gaussian { sigma } = *self else {
            dots.iter_mut().zip(bb).for_each(|(value, &bb)| *value = self.eval64(*value, aa, bb, inv_d));
            return;
        };
        gaussian_exponents(dots, aa, bb, inv_d / (sigma * sigma));
        match dots.iter().fold(true, |near, &exponent| near & (exponent > MIN_EXPONENT)) {
            true => exp_all(dots),
            false => dots.iter_mut().for_each(|value| *value = libm::exp(*value)),
        }
    }

    /// The value of two samples whose squared distance is known, of a kernel that is a function of it.
    #[inline(always)]
    pub(super) fn of_distance(&self, distance: f64, inv_d: f64) -> f64 {
        match *self {
            Self::Gaussian { sigma } => libm::exp(-distance * (inv_d / (sigma * sigma))),
            Self::Polynomial { .. } | Self::Linear => f64::NAN,
        }
    }

    /// The rounding error of [`Kernel::eval64`] for two samples of these squared norms, from cancellation in their
    /// distance.
    ///
    /// A sum of D products is rounded by at most D ε/2 of what it adds up to in magnitude, and the distance by three
    /// such sums: by D ε (‖a‖² + ‖b‖²) in all, of which the Gaussian kernel takes the share 1/(D σ²).
    #[inline(always)]
    pub(super) fn cancellation(&self, aa: f64, bb: f64) -> f64 {
        match *self {
            Self::Gaussian { sigma } => f64::EPSILON * ((aa + bb) / (sigma * sigma)),
            Self::Polynomial { .. } | Self::Linear => 0.0,
        }
    }

    /// Replaces each inner product of a map by the kernel value, for one pair of squared norms: all shifts of one
    /// sample have the same norm.
    pub fn apply(&self, dots: &mut [f32], aa: f32, bb: f32, inv_d: f32) {
        // One loop per kernel, so the match is outside the loop.
        match *self {
            Self::Gaussian { .. } => dots.iter_mut().for_each(|v| *v = self.eval(*v, aa, bb, inv_d)),
            Self::Polynomial { .. } => dots.iter_mut().for_each(|v| *v = self.eval(*v, aa, bb, inv_d)),
            Self::Linear => dots.iter_mut().for_each(|v| *v *= inv_d),
        }
    }
}

/// `exp(x)` for `x <= 0` to 2 units in the last place, 0 below -87, in plain arithmetic: a loop over it becomes vector
/// instructions, and the result is the same bits on every CPU (no library call, no fused multiply-add). NaN gives NaN.
///
/// `x = n ln 2 + r` with `|r| <= ln(2) / 2`, and the polynomial of degree 6 of the Cephes library (`expf`, Moshier
/// 1989) for `exp(r)`.
#[inline(always)]
pub fn exp_negative(x: f32) -> f32 {
    /// 1.5 * 2^23: adding it rounds to an integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let clamped = if x < -87.0 { -87.0 } else { x };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, the first with few bits, so that n times it is exact.
    let r = (clamped - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let e = (p * r) * r + r + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if x < -87.0 { 0.0 } else { e * power }
}

/// Exponents above it have an exponential without loss of digits.
const MIN_EXPONENT: f64 = -708.0;

leveled! {
    /// Replaces inner products by the exponents of a Gaussian kernel.
    fn gaussian_exponents(dots: &mut [f64], aa: f64, bb: &[f64], scale: f64) {
        for (value, &bb) in dots.iter_mut().zip(bb) {
            let distance = aa + bb - 2.0 * *value;
            *value = -(if distance < 0.0 { 0.0 } else { distance }) * scale;
        }
    }
}

leveled! {
    /// `libm::exp` of values from [`MIN_EXPONENT`] to 0, to the bit: its steps (FreeBSD's `e_exp.c`) without branches
    /// become vector instructions.
    fn exp_all(values: &mut [f64]) {
        const LN2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
        const P: [f64; 5] = [
            1.666_666_666_666_660_2e-1,
            -2.777_777_777_701_559_3e-3,
            6.613_756_321_437_934e-5,
            -1.653_390_220_546_525_2e-6,
            4.138_136_797_057_238_5e-8,
        ];
        // Close to 2^-28, ln(2) / 2 and 3 ln(2) / 2: only upper halves are compared.
        let [tiny, half, more] = [0x3e30_0001, 0x3fd6_2e43, 0x3ff0_a2b2].map(|upper: u64| f64::from_bits(upper << 32));
        for value in values {
            let x = *value;
            let rounded = (std::f64::consts::LOG2_E * x - 0.5) as i32;
            let k = if -x < half { 0 } else if -x < more { -1 } else { rounded };
            let (high, low) = (x - f64::from(k) * LN2[0], f64::from(k) * LN2[1]);
            let r = high - low;
            let rr = r * r;
            let c = r - rr * (P[0] + rr * (P[1] + rr * (P[2] + rr * (P[3] + rr * P[4]))));
            let e = 1.0 + (r * c / (2.0 - c) - low + high);
            let power = f64::from_bits(((i64::from(k) + 1023) << 52) as u64);
            *value = if -x < tiny { 1.0 + x } else { e * power };
        }
    }
}

/// Correlates feature maps of one size under one kernel.
#[derive(Clone, Debug)]
pub struct KernelCorrelator {
    kernel: Kernel,
    /// 1 / (rows * columns * channels): kernels take means over the features, so bandwidths fit any size.
    per_feature: f32,
    plane: Vec<f32>,
}

impl KernelCorrelator {
    /// Creates a correlator for maps of `plan`'s size with `channels` channels.
    pub fn new(kernel: Kernel, plan: &MapPlan, channels: usize) -> Self {
        let (rows, cols) = plan.size();
        let plane = if kernel == Kernel::Linear { 0 } else { rows * cols };
        let per_feature = 1.0 / (rows * cols * channels) as f32;
        Self { kernel, per_feature, plane: vec![0.0; plane] }
    }

    /// The half-spectrum of the kernel correlation `k^xz` to `out`; its element at a shift belongs to `z` displaced
    /// against `x` by that shift. `z`, `x` are transformed maps; `xx` is the energy of `x`, or `None` when `x` is `z`.
    ///
    /// - linear: `k̂ = sum_c ẑ_c ⊙ conj(x̂_c) / D`;
    /// - polynomial: `k = (F^-1(sum_c ẑ_c ⊙ conj(x̂_c)) / D + a)^b` (section 6.1);
    /// - Gaussian: `k = exp(-max(0, ‖z‖² + ‖x‖² - 2 F^-1(sum_c ẑ_c ⊙ conj(x̂_c))) / (D sigma²))` (equation 31),
    ///
    /// where `D` is the number of feature values.
    #[allow(clippy::too_many_arguments)]
    pub fn correlate(
        &mut self,
        plan: &MapPlan,
        z: &FeatureMap,
        x: &FeatureMap,
        xx: Option<f32>,
        out: &mut [Complex32],
        scratch: &mut Scratch,
    ) {
        let zz = plan.cross_power(z, x, out, scratch);
        let d = self.per_feature;
        if self.kernel == Kernel::Linear {
            out.iter_mut().for_each(|v| *v *= d);
            return;
        }
        plan.inverse(out, &mut self.plane, scratch);
        let (rows, cols) = plan.size();
        let normalise = 1.0 / (rows * cols) as f32;
        self.plane.iter_mut().for_each(|v| *v *= normalise);
        self.kernel.apply(&mut self.plane, zz, xx.unwrap_or(zz), d);
        plan.forward(&self.plane, out, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: [Kernel; 3] = [Kernel::Gaussian { sigma: 0.4 }, Kernel::Polynomial { a: 1.0, b: 3 }, Kernel::Linear];

    #[test]
    fn a_map_is_made_of_the_same_values_as_two_vectors() {
        let dots: Vec<f32> = (0..9).map(|i| i as f32 * 0.3 - 1.0).collect();
        for kernel in KERNELS {
            let mut map = dots.clone();
            kernel.apply(&mut map, 2.0, 3.0, 0.25);
            for (&value, &dot) in map.iter().zip(&dots) {
                assert_eq!(value, kernel.eval(dot, 2.0, 3.0, 0.25));
                let exact = kernel.eval64(dot.into(), 2.0, 3.0, 0.25);
                assert!((f64::from(value) - exact).abs() < 1e-5 * (1.0 + exact.abs()), "{kernel:?}");
            }
        }
    }

    #[test]
    fn exponentials_of_a_row_are_those_of_libm_to_the_bit() {
        let spread = (0..20_000).map(|i| -707.9 * (f64::from(i) / 20_000.0).powi(4));
        let ends = [0x3e30_0000_u64, 0x3e30_0001, 0x3fd6_2e42, 0x3fd6_2e43, 0x3ff0_a2b1, 0x3ff0_a2b2];
        let near = ends
            .into_iter()
            .flat_map(|upper| [-1, 0, 1].map(|by| -f64::from_bits((upper << 32).wrapping_add_signed(by))));
        let exponents: Vec<f64> = spread.chain(near).collect();
        let expected: Vec<u64> = exponents.iter().map(|&x| libm::exp(x).to_bits()).collect();
        let found = || {
            let mut values = exponents.clone();
            exp_all(&mut values);
            values.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(found(), expected);
        crate::simd::tests::assert_same_on_all_levels("the exponential", found);
        // Values that lose digits, and values of 0 or 1, are computed too.
        let mut row = vec![0.0, 350.0, 360.0, 400.0];
        Kernel::Gaussian { sigma: 1.0 }.apply64(&mut row, 0.0, &[0.0, 0.0, 1440.0, 1600.0], 1.0);
        assert_eq!(row, [1.0, 1.0, libm::exp(-720.0), 0.0]);
    }

    #[test]
    fn a_negative_distance_counts_as_zero() {
        assert_eq!(Kernel::Gaussian { sigma: 0.1 }.eval(1.001, 1.0, 1.0, 1.0), 1.0);
        assert_eq!(Kernel::Gaussian { sigma: 0.1 }.eval64(1.001, 1.0, 1.0, 1.0), 1.0);
    }

    #[test]
    fn nan_is_not_a_distance_of_zero() {
        let infinite = f64::INFINITY;
        assert!(Kernel::Gaussian { sigma: 1.0 }.eval64(infinite, infinite, infinite, 1.0).is_nan());
        assert!(Kernel::Gaussian { sigma: 1.0 }.eval64(f64::NAN, 1.0, 1.0, 1.0).is_nan());
    }

    #[test]
    fn unknown_kernel_settings_are_errors() {
        let read = |text: &str| serde_json::from_str::<Kernel>(text);
        assert_eq!(read(r#"{ "gaussian": {} }"#).unwrap(), Kernel::from_name("gaussian").unwrap());
        let error = read(r#"{ "gaussian": { "sigma": 1.0, "gamma": 2.0 } }"#).unwrap_err();
        assert!(error.to_string().contains("gamma"), "{error}");
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
            let error = Kernel::Gaussian { sigma }.checked().unwrap_err().to_string();
            assert!(error.starts_with("kernel.gaussian.sigma"), "{error}");
        }
        assert!(Kernel::Polynomial { a: -0.1, b: 2 }.checked().is_err());
        assert!(Kernel::Polynomial { a: 1.0, b: 0 }.checked().is_err());
        assert!(Kernel::Polynomial { a: 1.0, b: 33 }.checked().is_err());
        assert!(Kernel::from_name("cubic").unwrap_err().to_string().contains("gaussian, polynomial, linear"));
        for name in Kernel::NAMES {
            Kernel::from_name(name).unwrap().checked().unwrap();
        }
    }

    #[test]
    fn is_exact_to_two_units() {
        for i in 0..2_000_000 {
            let x = -87.0 * i as f32 / 2_000_000.0;
            let (got, exact) = (exp_negative(x), f64::from(x).exp());
            assert!(
                (f64::from(got) - exact).abs() <= 2.0 * f64::from(f32::EPSILON) * exact,
                "exp({x}) = {got}, not {exact}"
            );
        }
        assert_eq!(exp_negative(0.0), 1.0);
        assert_eq!((exp_negative(-88.0), exp_negative(f32::NEG_INFINITY)), (0.0, 0.0));
        assert!(exp_negative(f32::NAN).is_nan());
    }
}
