//! Kernels, their Gram matrices, and their correlation over all translations by FFT.
//!
//! A [`Kernel`] is a function of `(a·b, ‖a‖², ‖b‖²)`, so one definition serves two vectors, a Gram matrix and a map of
//! inner products made by FFT. [`gram()`] and [`cross_gram`] build Gram matrices, [`Mahalanobis`] under a metric;
//! [`PolynomialMap`] is the explicit feature map of the polynomial kernel.

pub(crate) mod eigen;
pub(crate) mod factor;
mod feature_space;
mod function;
pub(crate) mod gram;

pub use feature_space::{Mahalanobis, PolynomialMap};
pub use function::Kernel;
pub(crate) use function::{KernelCorrelator, exp_negative};
pub use gram::{cross_gram, gram, own_values};
