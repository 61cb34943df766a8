//! Gradients and colours in one block of 32 lanes: the 18 signed orientations and 4 texture energies of
//! [HOG](super), and ten [colour names](crate::features::color_names) in place of the unsigned orientations and the
//! empty lane. (The eleventh is what is left to one.)
//!
//! Each of the two kinds is brought to a mean square of 1 over the map before the taper, so that neither outweighs the
//! other, and a filter's settings mean the same in every picture.

use super::Hog;
use super::cell::{LANES, SIGNED, UNSIGNED};
use crate::features::color_names::ColorNames;
use crate::profile::{Stage, Stopwatch};
use crate::simd::leveled;

/// Lanes of the colours: those of the unsigned orientations, and the last.
const COLORS: usize = UNSIGNED + 1;
/// Less than this is no energy.
const NOTHING: f32 = 1e-12;

/// Computes the maps of patches of one size; owns the memory for it.
#[derive(Clone, Debug)]
pub struct HogColors {
    hog: Hog,
    names: ColorNames,
    width: usize,
    flat: Vec<f32>,
}

impl HogColors {
    /// For patches of `width` x `height` pixels and cells of `cell` pixels a side.
    ///
    /// # Panics
    /// When the patch does not hold a single cell, or a cell has more than 16 pixels a side.
    pub fn new(width: usize, height: usize, cell: usize) -> Self {
        let hog = Hog::new(width, height, cell);
        let flat = vec![1.0; hog.rows().max(hog.cols())];
        Self { hog, names: ColorNames::new(cell), width, flat }
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.hog.rows(), self.hog.cols())
    }

    /// Writes the map of a patch, tapered by `rows` x `cols`, to `out`: `[row][column][32]`. `gray` are its gray
    /// values, `bins` its [colours](crate::features::color_bins).
    ///
    /// # Panics
    /// When a slice has another length than the sizes given at construction ask for.
    pub fn extract(
        &mut self,
        gray: &[u8],
        bins: &[u16],
        rows: &[f32],
        cols: &[f32],
        out: &mut [f32],
        watch: &mut Stopwatch,
    ) -> bool {
        let (height, width) = self.size();
        assert_eq!((rows.len(), cols.len()), (height, width));
        assert_eq!(bins.len(), gray.len());
        self.hog.extract(gray, &self.flat[..height], &self.flat[..width], out, watch);
        let seen = finish(self.names, bins, self.width, rows, cols, out.as_chunks_mut().0);
        watch.lap(Stage::Normalise);
        seen
    }
}

/// Whether a lane is a colour's.
#[inline(always)]
fn is_color(lane: usize) -> bool {
    lane == LANES - 1 || (SIGNED..SIGNED + UNSIGNED).contains(&lane)
}

leveled! {
    /// Writes the colours, brings both kinds to one energy and tapers them.
    avx2 fn finish(
        names: ColorNames,
        bins: &[u16],
        width: usize,
        rows: &[f32],
        cols: &[f32],
        cells: &mut [[f32; LANES]],
    ) -> bool {
        let mut squares = [0.0f32; LANES];
        for (r, cells) in cells.chunks_exact_mut(cols.len()).enumerate() {
            for (c, cell) in cells.iter_mut().enumerate() {
                let names = names.of_cell(bins, width, (r, c));
                cell[SIGNED..SIGNED + UNSIGNED].copy_from_slice(&names[..UNSIGNED]);
                cell[LANES - 1] = names[UNSIGNED];
                for l in 0..LANES {
                    squares[l] += cell[l] * cell[l];
                }
            }
        }
        let gain = |color: bool, lanes: usize| {
            let sum: f32 = (0..LANES).filter(|&l| is_color(l) == color).map(|l| squares[l]).sum();
            let mean = sum / (rows.len() * cols.len() * lanes) as f32;
            if mean > NOTHING { 1.0 / mean.sqrt() } else { 0.0 }
        };
        let (gradients, colors) = (gain(false, LANES - COLORS), gain(true, COLORS));
        let mut gains = [0.0; LANES];
        for (l, gain) in gains.iter_mut().enumerate() {
            *gain = if is_color(l) { colors } else { gradients };
        }
        for (cells, row) in cells.chunks_exact_mut(cols.len()).zip(rows) {
            for (cell, col) in cells.iter_mut().zip(cols) {
                let taper = row * col;
                for l in 0..LANES {
                    cell[l] *= gains[l] * taper;
                }
            }
        }
        gradients > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::color_bins::take_colors_apart;

    fn patch(width: usize, height: usize) -> (Vec<u8>, Vec<u16>) {
        let rgb: Vec<u8> = (0..width * height * 3).map(|i| (i * i * 31 % 253) as u8).collect();
        let (mut gray, mut bins) = (vec![0; width * height], vec![0; width * height]);
        take_colors_apart(&rgb, &mut gray, &mut bins);
        (gray, bins)
    }

    #[test]
    fn both_kinds_have_a_mean_square_of_one_and_the_taper_comes_last() {
        let (width, height) = (24, 20);
        let (gray, bins) = patch(width, height);
        let mut feature = HogColors::new(width, height, 4);
        let (rows, cols) = feature.size();
        let mut flat = vec![0.0; rows * cols * LANES];
        let (ones, halves) = ((vec![1.0; rows], vec![1.0; cols]), (vec![0.5; rows], vec![0.25; cols]));
        assert!(feature.extract(&gray, &bins, &ones.0, &ones.1, &mut flat, &mut Stopwatch::default()));
        let is_color = |l: usize| (18..27).contains(&l) || l == 31;
        for (color, lanes) in [(true, 10), (false, 22)] {
            let values = flat.iter().enumerate().filter(|(i, _)| is_color(i % LANES) == color);
            let mean = values.map(|(_, v)| v * v).sum::<f32>() / (rows * cols * lanes) as f32;
            assert!((mean - 1.0).abs() < 1e-4, "{color}: {mean}");
        }
        let mut tapered = vec![0.0; rows * cols * LANES];
        feature.extract(&gray, &bins, &halves.0, &halves.1, &mut tapered, &mut Stopwatch::default());
        assert!(flat.iter().zip(&tapered).all(|(a, b)| (a * 0.125 - b).abs() < 1e-6));
    }

    #[test]
    fn a_patch_without_gradients_has_none() {
        let mut feature = HogColors::new(16, 16, 4);
        let mut map = vec![f32::NAN; 16 * LANES];
        assert!(!feature.extract(&[70; 256], &[5; 256], &[1.0; 4], &[1.0; 4], &mut map, &mut Stopwatch::default()));
        assert!(map.iter().all(|v| v.is_finite()));
        assert!(map.chunks(LANES).all(|cell| cell[..18].iter().chain(&cell[27..31]).all(|v| *v == 0.0)));
    }
}
