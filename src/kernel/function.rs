//! placeholder
/// Kernel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Kernel {
    /// g
    Gaussian {
        /// s
        sigma: f64,
    },
    /// p
    Polynomial {
        /// a
        a: f64,
        /// b
        b: i32,
    },
    /// l
    Linear,
}
