//! Kernel functions, and their correlation over all translations by FFT.

pub mod correlation;
pub mod function;

pub use function::Kernel;
