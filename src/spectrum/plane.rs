//! placeholder
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner, num_complex::Complex32};
use std::sync::Arc;

/// Plan.
#[derive(Clone)]
pub struct PlanePlan {
    rows: usize,
    cols: usize,
    r2c: Arc<dyn RealToComplex<f32>>,
    c2r: Arc<dyn ComplexToReal<f32>>,
    fwd: Arc<dyn Fft<f32>>,
    inv: Arc<dyn Fft<f32>>,
}

impl PlanePlan {
    /// New.
    pub fn new(rows: usize, cols: usize) -> Self {
        let mut r = RealFftPlanner::new();
        let mut c = FftPlanner::new();
        Self {
            rows,
            cols,
            r2c: r.plan_fft_forward(cols),
            c2r: r.plan_fft_inverse(cols),
            fwd: c.plan_fft_forward(rows),
            inv: c.plan_fft_inverse(rows),
        }
    }
    /// Half columns.
    pub fn half_cols(&self) -> usize {
        self.cols / 2 + 1
    }
    /// fwd
    pub fn forward(&self, plane: &mut [f32], out: &mut [Complex32], scratch: &mut [Complex32]) {
        let hc = self.half_cols();
        for (row, out) in plane.chunks_exact_mut(self.cols).zip(out.chunks_exact_mut(hc)) {
            self.r2c.process_with_scratch(row, out, scratch).unwrap();
        }
        self.columns(&*self.fwd, out, scratch);
    }
    fn columns(&self, fft: &dyn Fft<f32>, out: &mut [Complex32], scratch: &mut [Complex32]) {
        let hc = self.half_cols();
        let (line, scratch) = scratch.split_at_mut(self.rows);
        for c in 0..hc {
            for r in 0..self.rows {
                line[r] = out[r * hc + c];
            }
            fft.process_with_scratch(line, scratch);
            for r in 0..self.rows {
                out[r * hc + c] = line[r];
            }
        }
    }
    /// inverse, normalised; destroys the spectrum
    pub fn inverse(&self, spectrum: &mut [Complex32], out: &mut [f32], scratch: &mut [Complex32]) {
        let hc = self.half_cols();
        self.columns(&*self.inv, spectrum, scratch);
        let n = 1.0 / (self.rows * self.cols) as f32;
        for (row, out) in spectrum.chunks_exact_mut(hc).zip(out.chunks_exact_mut(self.cols)) {
            row[0].im = 0.0;
            if self.cols.is_multiple_of(2) {
                row[hc - 1].im = 0.0;
            }
            self.c2r.process_with_scratch(row, out, scratch).unwrap();
            out.iter_mut().for_each(|v| *v *= n);
        }
    }
    /// scratch
    pub fn scratch_len(&self) -> usize {
        let a = self.r2c.get_scratch_len().max(self.c2r.get_scratch_len());
        let b = self.fwd.get_inplace_scratch_len().max(self.inv.get_inplace_scratch_len()) + self.rows;
        a.max(b)
    }
}
impl std::fmt::Debug for PlanePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanePlan")
    }
}
