//! Raw gray values as a feature: one channel, the patch's own mean removed (Henriques et al., TPAMI 2015, section 8.1).

/// Writes `patch` (gray, 0 to 255) as `value / 255` less its mean, times the cosine window `rows` x `cols`, to `out`
/// (`[row][column]`, one channel).
///
/// # Panics
/// When the lengths of `patch`, `out` and `rows * cols` differ.
pub fn extract(patch: &[u8], rows: &[f32], cols: &[f32], out: &mut [f32]) {
    assert_eq!(patch.len(), rows.len() * cols.len());
    assert_eq!(patch.len(), out.len());
    let sum: u64 = patch.iter().map(|&v| u64::from(v)).sum();
    let mean = (sum as f64 / patch.len() as f64 / 255.0) as f32;
    for ((row, out), &wr) in patch.chunks_exact(cols.len()).zip(out.chunks_exact_mut(cols.len())).zip(rows) {
        for ((&v, out), &wc) in row.iter().zip(out).zip(cols) {
            *out = (f32::from(v) / 255.0 - mean) * (wr * wc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_removed_and_the_window_applied() {
        let mut out = [0.0; 4];
        extract(&[0, 255, 255, 0], &[1.0, 0.5], &[1.0, 1.0], &mut out);
        assert_eq!(out, [-0.5, 0.5, 0.25, -0.25]);
        extract(&[90; 4], &[1.0, 1.0], &[1.0, 1.0], &mut out);
        assert!(out.iter().all(|v| v.abs() < 1e-7));
    }
}
