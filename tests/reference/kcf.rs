//! The kernelized correlation filter without any trick of Fourier: kernels are evaluated on one cyclic shift after the
//! other, and responses are sums over all samples. Double precision, `[row][column][channel]`.

use kcf_track::kernels::Kernel;

use super::dft::{Complex, dft};

/// Feature maps of one size.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub rows: usize,
    pub cols: usize,
    pub channels: usize,
}

impl Size {
    pub fn cells(self) -> usize {
        self.rows * self.cols
    }

    pub fn len(self) -> usize {
        self.cells() * self.channels
    }

    /// The map moved up and left by `dr`, `dc`, wrapped around: what was at `(dr, dc)` stands at `(0, 0)`.
    pub fn shifted(self, map: &[f64], dr: usize, dc: usize) -> Vec<f64> {
        let mut out = Vec::with_capacity(map.len());
        for r in 0..self.rows {
            for c in 0..self.cols {
                let from = ((r + dr) % self.rows * self.cols + (c + dc) % self.cols) * self.channels;
                out.extend_from_slice(&map[from..from + self.channels]);
            }
        }
        out
    }

    /// [`Size::shifted`] by the element number `i` of a plane.
    pub fn shift(self, map: &[f64], i: usize) -> Vec<f64> {
        self.shifted(map, i / self.cols, i % self.cols)
    }
}

/// The kernel of two samples, from the formulas of Henriques et al. (TPAMI 2015, section 5), with norms and products
/// taken as means over the values, as the authors' code does.
pub fn kernel(kind: Kernel, a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let dot = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    match kind {
        Kernel::Gaussian { sigma } => {
            let distance = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            (-distance / n / sigma.powi(2)).exp()
        }
        Kernel::Polynomial { a, b } => (dot / n + a).powi(b as i32),
        Kernel::Linear => dot / n,
    }
}

/// `k[i]`: the kernel of `z` moved back by shift `i`, and `x`.
pub fn kernel_correlation(kind: Kernel, size: Size, z: &[f64], x: &[f64]) -> Vec<f64> {
    (0..size.cells()).map(|i| kernel(kind, &size.shift(z, i), x)).collect()
}

/// Model and learning; α and x stay in space.
pub struct ReferenceKcf {
    pub size: Size,
    pub kind: Kernel,
    pub lambda: f64,
    pub target: Vec<f64>,
    pub alpha: Vec<f64>,
    pub model: Vec<f64>,
}

impl ReferenceKcf {
    pub fn new(size: Size, kind: Kernel, lambda: f64, target: Vec<f64>) -> Self {
        Self { size, kind, lambda, target, alpha: Vec::new(), model: Vec::new() }
    }

    /// α of one sample, `F(α) = F(y) / (F(k) + lambda)`.
    pub fn dual(&self, x: &[f64]) -> Vec<f64> {
        let (rows, cols) = (self.size.rows, self.size.cols);
        let transform =
            |plane: &[f64]| dft(&plane.iter().map(|&v| Complex::new(v, 0.0)).collect::<Vec<_>>(), rows, cols, false);
        let (y, k) = (transform(&self.target), transform(&kernel_correlation(self.kind, self.size, x, x)));
        let alpha: Vec<_> = y.iter().zip(&k).map(|(y, k)| y / (k + self.lambda)).collect();
        dft(&alpha, rows, cols, true).iter().map(|v| v.re).collect()
    }

    /// α and the sample are interpolated, each for itself; the first sample is taken as it is.
    pub fn learn(&mut self, x: &[f64], rate: f64) {
        let alpha = self.dual(x);
        if self.model.is_empty() {
            (self.alpha, self.model) = (alpha, x.to_vec());
            return;
        }
        let mix = |old: &mut Vec<f64>, new: &[f64]| {
            old.iter_mut().zip(new).for_each(|(old, new)| *old = (1.0 - rate) * *old + rate * new);
        };
        mix(&mut self.alpha, &alpha);
        mix(&mut self.model, x);
    }

    /// `f[i] = Σ_j α_j κ(z moved back by i, x moved back by j)`, where the kernel depends on `i - j` only.
    pub fn respond(&self, z: &[f64]) -> Vec<f64> {
        let (rows, cols) = (self.size.rows, self.size.cols);
        let k = kernel_correlation(self.kind, self.size, z, &self.model);
        (0..self.size.cells())
            .map(|i| {
                (0..self.size.cells())
                    .map(|j| {
                        let r = (rows + i / cols - j / cols) % rows;
                        let c = (cols + i % cols - j % cols) % cols;
                        self.alpha[j] * k[r * cols + c]
                    })
                    .sum()
            })
            .collect()
    }
}
