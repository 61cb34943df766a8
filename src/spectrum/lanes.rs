//! placeholder
use rustfft::{Fft, FftPlanner, num_complex::Complex32};
use std::sync::Arc;
/// Plan.
#[derive(Clone)]
pub struct LanePlan {
    rows: usize,
    cols: usize,
    row_fft: Arc<dyn Fft<f32>>,
    col_fft: Arc<dyn Fft<f32>>,
}
impl LanePlan {
    /// New.
    pub fn new(rows: usize, cols: usize) -> Self {
        let mut c = FftPlanner::new();
        Self { rows, cols, row_fft: c.plan_fft_forward(cols), col_fft: c.plan_fft_forward(rows) }
    }
    /// Scratch.
    pub fn scratch_len(&self) -> usize {
        0
    }
    /// Forward.
    pub fn forward(&self, map: &mut [f32], _scratch: &mut [f32]) {
        for k in 0..16 {
            for r in 0..self.rows {
                let mut line: Vec<Complex32> = (0..self.cols)
                    .map(|c| {
                        let at = (r * self.cols + c) * 32 + k;
                        Complex32::new(map[at], map[at + 16])
                    })
                    .collect();
                self.row_fft.process(&mut line);
                for (c, v) in line.iter().enumerate() {
                    let at = (r * self.cols + c) * 32 + k;
                    map[at] = v.re;
                    map[at + 16] = v.im;
                }
            }
            for c in 0..self.cols {
                let mut line: Vec<Complex32> = (0..self.rows)
                    .map(|r| {
                        let at = (r * self.cols + c) * 32 + k;
                        Complex32::new(map[at], map[at + 16])
                    })
                    .collect();
                self.col_fft.process(&mut line);
                for (r, v) in line.iter().enumerate() {
                    let at = (r * self.cols + c) * 32 + k;
                    map[at] = v.re;
                    map[at + 16] = v.im;
                }
            }
        }
    }
}
impl std::fmt::Debug for LanePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LanePlan")
    }
}
