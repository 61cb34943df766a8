//! Kernels: functions of two samples that are inner products in some feature space, the matrices they make, and their
//! correlation over all translations by FFT.
//!
//! [`Kernel`] is written as a function of `(a·b, ‖a‖², ‖b‖²)`, so that one definition serves two vectors, a
//! Gram matrix and a whole map of inner products made by FFT. The two kernels of histograms that are no such functions
//! exist for Gram matrices only ([`GramKernel`]). [`gram()`] and [`cross_gram`] build them, [`Mahalanobis`] in a metric
//! of one's own; [`PolynomialMap`] writes the feature space of the polynomial kernel out.

pub mod correlation;
mod explicit;
mod exponential;
pub(crate) mod factor;
pub mod function;
pub mod gram;
mod mahalanobis;

pub use explicit::PolynomialMap;
pub use exponential::exp_negative;
pub use function::{GramKernel, Kernel};
pub use gram::{cross_gram, gram, own_values};
pub use mahalanobis::Mahalanobis;
