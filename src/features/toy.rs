//! A toy feature: differences of horizontal neighbours. A cell is a pixel.

use super::Window;

/// Writes the differences as shares of 255, times the window, to `out`.
pub(super) fn extract(patch: &[u8], window: &Window, out: &mut [f32]) {
    let cols = &window.cols;
    for ((row, out), &wr) in patch.chunks_exact(cols.len()).zip(out.chunks_exact_mut(cols.len())).zip(&window.rows) {
        let right = row.iter().skip(1).chain(row.last());
        for (((&v, &next), &wc), out) in row.iter().zip(right).zip(cols).zip(out) {
            *out = (f32::from(next) - f32::from(v)) / 255.0 * (wr * wc);
        }
    }
}
