//! The 31-channel histogram of oriented gradients of Felzenszwalb et al. (TPAMI 2010, section 6.2), as the KCF's authors
//! computed it: 18 signed and 9 unsigned orientations and 4 texture energies for each cell.
//!
//! What decides boxes and is easily missed:
//! - gradients are central differences, one-sided at the border of the patch, so twice as strong there;
//! - an orientation goes to the *nearest* of 18 bins, whole; one exactly between two (a vertical gradient, everywhere in
//!   8-bit pictures) goes to the higher one, 5 or 14;
//! - magnitudes are shared bilinearly between the four nearest cells; a border cell misses what lies outside the patch,
//!   so its sums are taken times 8/7;
//! - a cell is normalised by each of the four 2x2 blocks that it belongs to; blocks that reach over the border borrow
//!   the norm of their inner neighbour;
//! - values are clipped at 0.2 and averaged in pairs: sum of four times 0.5; the texture is the sum over the signed
//!   orientations of one block's values times 0.2357.

/// Channels of a cell: 18 signed orientations, 9 unsigned ones, 4 texture energies.
pub const CHANNELS: usize = 31;
/// Floats that a cell takes in memory: its channels and a zero, so that it fills whole SIMD registers.
pub const LANES: usize = 32;

const SIGNED: usize = 18;
const UNSIGNED: usize = 9;
const CLIP: f32 = 0.2;
const TEXTURE_GAIN: f32 = 0.2357;
/// Weights of a border cell, which gets only 7/8 of an inner cell's gradients in each direction.
const BORDER_GAIN: f32 = 8.0 / 7.0;

/// Computes the feature maps of patches of one size; owns the memory for it.
#[derive(Clone, Debug)]
pub struct Hog {
    width: usize,
    height: usize,
    cell: usize,
    rows: usize,
    cols: usize,
    /// For each pixel offset along an axis: the first of its two cells (from -1) and the share of the second one.
    column_share: Vec<(isize, f32)>,
    row_share: Vec<(isize, f32)>,
    magnitude: Vec<f32>,
    bin: Vec<u8>,
    /// `[row][column][LANES]`: 18 signed and 9 unsigned orientation sums.
    histogram: Vec<f32>,
    /// `[row + 1][column + 1]`: reciprocal norms of the 2x2 blocks whose last cell is (row, column).
    norm: Vec<f32>,
    energy: Vec<f32>,
}

impl Hog {
    /// For patches of `width` x `height` pixels and cells of `cell` x `cell` pixels; what is left over at the right and
    /// bottom only serves the gradients beside it.
    ///
    /// # Panics
    /// When the patch does not hold a single cell.
    pub fn new(width: usize, height: usize, cell: usize) -> Self {
        let (rows, cols) = (height / cell, width / cell);
        assert!(cell > 0 && rows > 0 && cols > 0, "a patch holds at least one cell");
        let share = |cells: usize| {
            let shares = (0..cells * cell).map(|p| {
                let at = (p as f32 + 0.5) / cell as f32 - 0.5;
                (at.floor() as isize, at - at.floor())
            });
            shares.collect()
        };
        Self {
            width,
            height,
            cell,
            rows,
            cols,
            column_share: share(cols),
            row_share: share(rows),
            magnitude: vec![0.0; cols * cell],
            bin: vec![0; cols * cell],
            histogram: vec![0.0; rows * cols * LANES],
            norm: vec![0.0; (rows + 1) * (cols + 1)],
            energy: vec![0.0; rows * cols],
        }
    }

    /// Rows of cells.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of cells.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Writes the feature map of `patch` (gray, row-major), tapered by the window `row_window` x `col_window`, to `out`:
    /// `[row][column][LANES]`, the last lane zero.
    ///
    /// # Panics
    /// When a slice has another length than the sizes given at construction ask for.
    pub fn extract(&mut self, patch: &[u8], row_window: &[f32], col_window: &[f32], out: &mut [f32]) {
        assert_eq!(patch.len(), self.width * self.height);
        assert_eq!((row_window.len(), col_window.len()), (self.rows, self.cols));
        assert_eq!(out.len(), self.rows * self.cols * LANES);
        self.histogram.fill(0.0);
        for y in 0..self.rows * self.cell {
            self.gradient_row(patch, y);
            self.splat_row(y);
        }
        self.fold_orientations();
        self.block_norms();
        self.normalise(row_window, col_window, out);
    }

    /// Magnitude and orientation bin of pixel row `y`.
    fn gradient_row(&mut self, patch: &[u8], y: usize) {
        let (w, h) = (self.width, self.height);
        let row = |y: usize| &patch[y * w..][..w];
        let (above, here, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(h - 1)));
        // A difference over one pixel counts twice one over two pixels.
        let dy_gain = if h > 1 && (y == 0 || y == h - 1) { 2.0 } else { 1.0 };
        let difference = |a: u8, b: u8| f32::from(b) - f32::from(a);
        for x in 0..self.magnitude.len() {
            let (left, right) = (x.saturating_sub(1), (x + 1).min(w - 1));
            let dx_gain = if w > 1 && (x == 0 || x == w - 1) { 2.0 } else { 1.0 };
            let gx = dx_gain * difference(here[left], here[right]);
            let gy = dy_gain * difference(above[x], below[x]);
            self.magnitude[x] = (gx * gx + gy * gy).sqrt();
            self.bin[x] = orientation_bin(gx, gy);
        }
    }

    /// Shares the magnitudes of pixel row `y` between the cells around each pixel.
    fn splat_row(&mut self, y: usize) {
        // Gray values are 0 to 1 in the published code, gradients half the difference, and a cell's sum is a mean.
        let gain = 1.0 / (2.0 * 255.0 * (self.cell * self.cell) as f32);
        let (r0, share) = self.row_share[y];
        let cell_rows = [(r0, gain * (1.0 - share)), (r0 + 1, gain * share)];
        for (r, row_gain) in cell_rows.into_iter().filter(|&(r, _)| r >= 0 && (r as usize) < self.rows) {
            let cells = &mut self.histogram[r as usize * self.cols * LANES..][..self.cols * LANES];
            for ((&(c0, share), &magnitude), &bin) in self.column_share.iter().zip(&self.magnitude).zip(&self.bin) {
                let m = row_gain * magnitude;
                if c0 >= 0 {
                    cells[c0 as usize * LANES + usize::from(bin)] += m * (1.0 - share);
                }
                if c0 + 1 < self.cols as isize {
                    cells[(c0 + 1) as usize * LANES + usize::from(bin)] += m * share;
                }
            }
        }
    }

    /// Makes up for the border, then adds the unsigned orientations and the cells' energies.
    fn fold_orientations(&mut self) {
        for (i, (cell, energy)) in
            self.histogram.as_chunks_mut::<LANES>().0.iter_mut().zip(&mut self.energy).enumerate()
        {
            let (r, c) = (i / self.cols, i % self.cols);
            let edges = [r == 0, r == self.rows - 1, c == 0, c == self.cols - 1];
            for _ in edges.into_iter().filter(|&edge| edge) {
                cell[..SIGNED].iter_mut().for_each(|v| *v *= BORDER_GAIN);
            }
            *energy = 0.0;
            for o in 0..UNSIGNED {
                let both = cell[o] + cell[o + UNSIGNED];
                cell[SIGNED + o] = both;
                *energy += both * both;
            }
        }
    }

    /// Reciprocal norms of all 2x2 blocks; a block over the border takes its inner neighbour's.
    fn block_norms(&mut self) {
        let (rows, cols) = (self.rows, self.cols);
        // The published epsilon, 1e-4 / 4 / cell^4.
        let epsilon = 1e-4 / 4.0 / (self.cell as f32).powi(4);
        let energy = |r: usize, c: usize| self.energy[r.min(rows - 1) * cols + c.min(cols - 1)];
        for r in 0..=rows {
            for c in 0..=cols {
                // Inner blocks begin at cells 0 to rows - 2; with a single row or column there is none and the cell counts twice.
                let r0 = r.clamp(1, (rows - 1).max(1)) - 1;
                let c0 = c.clamp(1, (cols - 1).max(1)) - 1;
                let block = energy(r0, c0) + energy(r0 + 1, c0) + energy(r0, c0 + 1) + energy(r0 + 1, c0 + 1);
                self.norm[r * (cols + 1) + c] = 1.0 / (block + epsilon).sqrt();
            }
        }
    }

    fn normalise(&self, row_window: &[f32], col_window: &[f32], out: &mut [f32]) {
        let stride = self.cols + 1;
        let cells = self.histogram.as_chunks::<LANES>().0.iter().zip(out.as_chunks_mut::<LANES>().0);
        for (i, (cell, out)) in cells.enumerate() {
            let (r, c) = (i / self.cols, i % self.cols);
            let window = row_window[r] * col_window[c];
            let at = r * stride + c;
            // From the block that begins at this cell to the one that ends there.
            let norms = [at + stride + 1, at + stride, at + 1, at].map(|k| self.norm[k]);
            *out = [0.0; LANES];
            for (k, norm) in norms.into_iter().enumerate() {
                for o in 0..SIGNED + UNSIGNED {
                    let v = (cell[o] * norm).min(CLIP);
                    out[o] += v * 0.5;
                    if o < SIGNED {
                        out[SIGNED + UNSIGNED + k] += v * TEXTURE_GAIN;
                    }
                }
            }
            out.iter_mut().for_each(|v| *v *= window);
        }
    }
}

/// The nearest of 18 orientations, 20 degrees apart from 0 on; a tie goes to the higher one.
#[inline(always)]
fn orientation_bin(gx: f32, gy: f32) -> u8 {
    /// Tangents of 10, 30, 50 and 70 degrees: the borders between bins in the first quadrant.
    const BORDERS: [f32; 4] = [0.176_326_98, 0.577_350_27, 1.191_753_6, 2.747_477_4];
    let (ax, ay) = (gx.abs(), gy.abs());
    let q = BORDERS.iter().map(|&t| u8::from(ay > t * ax)).sum::<u8>();
    // 90 degrees lies between bins 4 and 5, 270 between 13 and 14.
    if gy >= 0.0 {
        if gx < 0.0 || (gx == 0.0 && gy > 0.0) { 9 - q } else { q }
    } else if gx < 0.0 {
        9 + q
    } else if q == 0 {
        0
    } else {
        18 - q
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orientations_go_to_the_nearest_bin_and_ties_up() {
        for degrees in 0..360 {
            let angle = (f64::from(degrees)).to_radians();
            let (gx, gy) = (1000.0 * angle.cos(), 1000.0 * angle.sin());
            let exact = f64::from(degrees) / 20.0;
            if degrees % 20 != 10 {
                assert_eq!(f64::from(orientation_bin(gx as f32, gy as f32)), exact.round() % 18.0, "{degrees} degrees");
            }
        }
        assert_eq!(orientation_bin(0.0, 3.0), 5);
        assert_eq!(orientation_bin(0.0, -3.0), 14);
        assert_eq!(orientation_bin(3.0, 0.0), 0);
        assert_eq!(orientation_bin(-3.0, 0.0), 9);
    }
}
