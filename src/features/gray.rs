//! Raw gray values as a feature: one channel, the patch's own mean removed (Henriques et al., TPAMI 2015, section 8.1),
//! or mean gray values of cells beside other features.

use super::{Extractor, Lanes, Taper};
use crate::frame::Channels;
use crate::profile::{Stage, Stopwatch};

/// Writes `patch` (gray, 0 to 255) as `value / 255` less its mean, times the cosine window `rows` x `cols`, to `out`
/// (`[row][column]`, one channel).
///
/// # Panics
/// When the lengths of `patch`, `out` and `rows * cols` differ.
pub fn extract(patch: &[u8], rows: &[f32], cols: &[f32], out: &mut [f32]) {
    assert_eq!(patch.len(), rows.len() * cols.len());
    assert_eq!(patch.len(), out.len());
    write(patch, mean(patch), rows, cols, out.iter_mut());
}

/// The mean of gray values 0 to 255, as a share of 255.
fn mean(patch: &[u8]) -> f32 {
    let sum: u64 = patch.iter().map(|&v| u64::from(v)).sum();
    (sum as f64 / patch.len() as f64 / 255.0) as f32
}

#[inline(always)]
fn write<'a>(patch: &[u8], mean: f32, rows: &[f32], cols: &[f32], mut out: impl Iterator<Item = &'a mut f32>) {
    for (row, &wr) in patch.chunks_exact(cols.len()).zip(rows) {
        for ((&v, &wc), out) in row.iter().zip(cols).zip(&mut out) {
            *out = (f32::from(v) / 255.0 - mean) * (wr * wc);
        }
    }
}

/// Gray values, in one channel.
#[derive(Clone, Debug)]
pub struct Gray {
    width: usize,
    height: usize,
    cell: usize,
    flat: Taper,
}

impl Gray {
    /// For patches of `width` x `height` pixels. Cells of one pixel hold its value less the patch's mean; larger ones
    /// the mean of their pixels less 0.5, the middle of the range, so that a cell's value does not depend on the
    /// others.
    ///
    /// # Panics
    /// When the patch does not hold a single cell.
    pub fn new(width: usize, height: usize, cell: usize) -> Self {
        assert!(cell > 0 && width >= cell && height >= cell, "a patch holds at least one cell");
        Self { width, height, cell, flat: Taper::flat((height / cell, width / cell)) }
    }
}

impl Extractor for Gray {
    fn channels(&self) -> usize {
        1
    }

    fn cells(&self) -> (usize, usize) {
        (self.height / self.cell, self.width / self.cell)
    }

    fn needs(&self) -> Channels {
        Channels::Luma
    }

    fn extract(&mut self, patch: &[u8], taper: Option<&Taper>, out: Lanes<'_>, watch: &mut Stopwatch) {
        watch.start();
        let (rows, cols) = self.cells();
        let taper = taper.unwrap_or(&self.flat);
        assert_eq!(patch.len(), self.width * self.height);
        assert_eq!((taper.rows.len(), taper.cols.len(), out.count()), (rows, cols, rows * cols));
        let mut out = out.cells(1).map(|cell| &mut cell[0]);
        if self.cell == 1 {
            write(patch, mean(patch), &taper.rows, &taper.cols, out);
        } else {
            let gain = 1.0 / (255.0 * (self.cell * self.cell) as f32);
            for (row, &wr) in patch.chunks_exact(self.width * self.cell).zip(&taper.rows) {
                for (c, (&wc, out)) in taper.cols.iter().zip(&mut out).enumerate() {
                    let lines = row.chunks_exact(self.width).map(|line| &line[c * self.cell..][..self.cell]);
                    let sum: u32 = lines.flatten().map(|&v| u32::from(v)).sum();
                    *out = (sum as f32 * gain - 0.5) * (wr * wc);
                }
            }
        }
        watch.lap(Stage::Normalise);
    }

    fn boxed(&self) -> Box<dyn Extractor> {
        Box::new(self.clone())
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

    #[test]
    fn cells_of_a_pixel_are_the_plain_feature_in_any_lane() {
        let patch: Vec<u8> = (0..30).map(|i| i * 7 % 250).collect();
        let taper = Taper { rows: vec![0.5, 1.0, 0.25, 0.0, 1.0], cols: vec![1.0, 0.5, 0.125, 1.0, 1.0, 2.0] };
        let (mut plain, mut plane, mut block) = (vec![0.0; 30], vec![0.0; 30], vec![7.0; 30 * 32]);
        extract(&patch, &taper.rows, &taper.cols, &mut plain);
        let mut gray = Gray::new(6, 5, 1);
        gray.extract(&patch, Some(&taper), Lanes::plane(&mut plane), &mut Stopwatch::default());
        gray.extract(&patch, Some(&taper), Lanes::of_block(&mut block, 31), &mut Stopwatch::default());
        assert_eq!(plane, plain);
        assert!(block.iter().enumerate().all(|(i, &v)| v == if i % 32 == 31 { plain[i / 32] } else { 7.0 }));
    }

    #[test]
    fn larger_cells_hold_their_means() {
        // 5 x 5 pixels, of which the last row and column belong to no cell.
        let patch: Vec<u8> = (0..25).map(|i| 10 * i).collect();
        let mut out = [0.0; 4];
        let taper = Taper { rows: vec![1.0, 0.5], cols: vec![1.0, 1.0] };
        Gray::new(5, 5, 2).extract(&patch, Some(&taper), Lanes::plane(&mut out), &mut Stopwatch::default());
        let expected =
            [30.0 / 255.0 - 0.5, 50.0 / 255.0 - 0.5, (130.0 / 255.0 - 0.5) / 2.0, (150.0 / 255.0 - 0.5) / 2.0];
        assert!(out.iter().zip(expected).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6), "{out:?}");
    }
}
