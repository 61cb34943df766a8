//! Feature maps of patches, windows and regression labels.
//!
//! A feature map is `[row][column][channel]` in `f32`, channel fastest: a plane for one channel, 32 lanes otherwise. The
//! filters of the paper take [`Features`]; `robust` takes [`HogColors`]; windows, scale and rotation take HOG.

pub(crate) mod color;
pub(crate) mod hog;

pub(crate) use hog::Hog;

/// The features of a filter of the paper, for gray patches of one size. A feature is a variant here.
#[derive(Clone, Debug)]
pub(crate) enum Features {
    Hog(Box<Hog>),
    /// Gray values less the mean of the patch (Henriques et al., TPAMI 2015, section 8.1); a cell is a pixel.
    Gray,
}

impl Features {
    pub fn channels(&self) -> usize {
        match self {
            Self::Hog(_) => hog::CHANNELS,
            Self::Gray => 1,
        }
    }

    /// Writes the features of `patch` (row-major), times `window`, to `out`.
    pub fn extract(&mut self, patch: &[u8], window: &Window, out: &mut [f32]) {
        match self {
            Self::Hog(hog) => hog.extract(patch, &window.rows, &window.cols, out),
            Self::Gray => {
                gray(patch, window, out);
            }
        }
    }
}

/// Gray values as shares of 255, less their mean, times the window.
fn gray(patch: &[u8], window: &Window, out: &mut [f32]) {
    assert_eq!((patch.len(), out.len()), (window.rows.len() * window.cols.len(), patch.len()));
    let sum: u64 = patch.iter().map(|&v| u64::from(v)).sum();
    let mean = (sum as f64 / patch.len() as f64 / 255.0) as f32;
    let cols = &window.cols;
    for ((row, out), &wr) in patch.chunks_exact(cols.len()).zip(out.chunks_exact_mut(cols.len())).zip(&window.rows) {
        for ((&v, &wc), out) in row.iter().zip(cols).zip(out) {
            *out = (f32::from(v) / 255.0 - mean) * (wr * wc);
        }
    }
}

/// The symmetric Hann window of `n` values, `0.5 (1 - cos(2 pi i / (n - 1)))`: zero at both ends, MATLAB's `hann(n)`.
/// One value is 1.
pub fn hann(n: usize) -> Vec<f32> {
    if n == 1 {
        return vec![1.0];
    }
    let step = std::f64::consts::TAU / (n as f64 - 1.0);
    (0..n).map(|i| (0.5 * (1.0 - (step * i as f64).cos())) as f32).collect()
}

/// The Hann window of `n` values that reaches zero half a value beyond its ends, `0.5 (1 - cos(2 pi (i + 0.5) / n))`.
pub fn half_sample_hann(n: usize) -> Vec<f32> {
    let step = std::f64::consts::TAU / n as f64;
    (0..n).map(|i| (0.5 * (1.0 - (step * (i as f64 + 0.5)).cos())) as f32).collect()
}

/// A 2-D window: the weight of a cell is the product of its row weight and its column weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// A weight for each row of cells.
    pub rows: Vec<f32>,
    /// A weight for each column of cells.
    pub cols: Vec<f32>,
}

impl Window {
    /// The [`hann`] window of `rows` x `cols` cells.
    pub fn hann(rows: usize, cols: usize) -> Self {
        Self { rows: hann(rows), cols: hann(cols) }
    }
}

/// The regression labels of a filter of `rows` x `cols` cells, row-major: a Gaussian of `sigma` cells whose peak 1 is at
/// element (0, 0), wrapped around (Henriques et al., TPAMI 2015, and their `gaussian_shaped_labels`). As in their
/// code, the far cell of an odd length is at `+(n+1)/2`, not at `-(n-1)/2`.
pub fn gaussian_labels(rows: usize, cols: usize, sigma: f64) -> Vec<f32> {
    let offset = |i: usize, n: usize| {
        let i = i as f64;
        // From 1 - floor(n/2) to ceil(n/2).
        if i > (n - n / 2) as f64 { i - n as f64 } else { i }
    };
    let mut labels = Vec::with_capacity(rows * cols);
    for r in 0..rows {
        for c in 0..cols {
            let (dr, dc) = (offset(r, rows), offset(c, cols));
            labels.push((-0.5 / (sigma * sigma) * (dr * dr + dc * dc)).exp() as f32);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::color::{
        Area, BINS, BoxMean, ColorHistogram, ColorNames, HogColors, NAMES, bin_of, gray_and_bins, lab, memberships,
        middle_of,
    };
    use super::hog::{CHANNELS, GROUP, Group, HogBatch, LANES, PATCHES, orientation_bin};
    use super::*;
    use crate::frame::luma;
    use crate::simd::tests::assert_same_on_all_levels;

    #[test]
    fn hog_has_the_same_bits_at_every_simd_level() {
        for (width, height, cell) in [(50, 37, 4), (12, 12, 4), (33, 21, 3), (9, 40, 8), (5, 5, 1), (4, 4, 4)] {
            let patch: Vec<u8> = (0..width * height).map(|i| (i * i * 31 % 253) as u8).collect();
            assert_same_on_all_levels(&format!("{width}x{height}, cells of {cell}"), || {
                let mut hog = Hog::new(width, height, cell);
                let tapers = (vec![1.0; hog.rows()], vec![0.5; hog.cols()]);
                let mut out = vec![f32::NAN; hog.rows() * hog.cols() * LANES];
                hog.extract(&patch, &tapers.0, &tapers.1, &mut out);
                assert!(out.iter().all(|v| v.is_finite()));
                out.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
            });
        }
    }

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

    #[test]
    fn batches_agree_with_single_patches() {
        for (width, height, count) in [(24, 24, PATCHES), (20, 12, 9), (8, 16, 22), (4, 4, 1), (4, 12, 8)] {
            let value = |i: usize, k: usize| (i * i * (31 + 2 * k) % (253 - k)) as u8;
            let pixels = width * height;
            let group = |g: usize, i: usize| std::array::from_fn(|k| f32::from(value(i, g * GROUP + k)));
            let groups = 0..count.div_ceil(GROUP);
            let patches: Vec<Group> = groups.flat_map(|g| (0..pixels).map(move |i| group(g, i))).collect();
            let mut batch = HogBatch::new(width, height);
            let cells = batch.rows() * batch.cols();
            let mut out = vec![[f32::NAN; PATCHES]; cells * CHANNELS];
            batch.extract(&vec![[9.0; GROUP]; 3 * pixels], &mut out);
            batch.extract(&patches, &mut out);
            for k in 0..count {
                let patch: Vec<u8> = (0..pixels).map(|i| value(i, k)).collect();
                let map: Vec<f32> = out.iter().map(|lanes| lanes[k]).collect();
                let mut hog = Hog::new(width, height, 4);
                let (rows, cols) = (vec![1.0; hog.rows()], vec![1.0; hog.cols()]);
                let mut expected = vec![0.0; cells * LANES];
                hog.extract(&patch, &rows, &cols, &mut expected);
                for (i, expected) in expected.chunks(LANES).enumerate() {
                    for d in 0..CHANNELS {
                        let got = map[i * CHANNELS + d];
                        assert!((got - expected[d]).abs() < 1e-4, "{width}x{height}: cell {i}, channel {d}");
                    }
                }
            }
        }
    }

    fn noise_patch(width: usize, height: usize) -> (Vec<u8>, Vec<u16>) {
        let rgb: Vec<u8> = (0..width * height * 4).map(|i| (i * i * 31 % 253) as u8).collect();
        let (mut gray, mut bins) = (vec![0; width * height], vec![0; width * height]);
        gray_and_bins(&rgb, &mut gray, &mut bins);
        (gray, bins)
    }

    #[test]
    fn gradients_and_colours_have_unit_energy_before_the_window() {
        let (width, height) = (24, 20);
        let (gray, bins) = noise_patch(width, height);
        let mut feature = HogColors::new(width, height, 4);
        let (rows, cols) = feature.size();
        let mut flat = vec![0.0; rows * cols * LANES];
        let (ones, halves) = ((vec![1.0; rows], vec![1.0; cols]), (vec![0.5; rows], vec![0.25; cols]));
        assert!(feature.extract((&gray, &bins), (&ones.0, &ones.1), &mut flat, &mut []));
        let is_color = |l: usize| (18..27).contains(&l) || l == 31;
        for (color, lanes) in [(true, 10), (false, 22)] {
            let values = flat.iter().enumerate().filter(|(i, _)| is_color(i % LANES) == color);
            let mean = values.map(|(_, v)| v * v).sum::<f32>() / (rows * cols * lanes) as f32;
            assert!((mean - 1.0).abs() < 1e-4, "{color}: {mean}");
        }
        let mut tapered = vec![0.0; rows * cols * LANES];
        let mut plain = vec![0.0; rows * cols * LANES];
        feature.extract((&gray, &bins), (&halves.0, &halves.1), &mut tapered, &mut plain);
        assert_eq!(plain, flat);
        assert!(flat.iter().zip(&tapered).all(|(a, b)| (a * 0.125 - b).abs() < 1e-6));
    }

    #[test]
    fn a_uniform_patch_has_no_gradients() {
        let mut feature = HogColors::new(16, 16, 4);
        let mut map = vec![f32::NAN; 16 * LANES];
        assert!(!feature.extract((&[70; 256], &[5; 256]), (&[1.0; 4], &[1.0; 4]), &mut map, &mut []));
        assert!(map.iter().all(|v| v.is_finite()));
        assert!(map.chunks(LANES).all(|cell| cell[..18].iter().chain(&cell[27..31]).all(|v| *v == 0.0)));
    }

    const LABELS: [&str; NAMES] =
        ["black", "blue", "brown", "gray", "green", "orange", "pink", "purple", "red", "white", "yellow"];

    #[test]
    fn lab_agrees_with_the_standard() {
        // Values of sRGB primaries, white D65, as published for CIE 1976.
        for (rgb, expected) in [
            ([255.0, 0.0, 0.0], [53.24, 80.09, 67.20]),
            ([0.0, 255.0, 0.0], [87.73, -86.18, 83.18]),
            ([0.0, 0.0, 255.0], [32.30, 79.19, -107.86]),
            ([255.0, 255.0, 255.0], [100.0, 0.0, 0.0]),
            ([119.0, 119.0, 119.0], [50.03, 0.0, 0.0]),
        ] {
            let got = lab(rgb);
            assert!((0..3).all(|i| (got[i] - expected[i]).abs() < 0.1), "{rgb:?}: {got:?}");
        }
    }

    #[test]
    fn primary_colours_have_their_names() {
        let of = |rgb: [u8; 3]| {
            let m = memberships(rgb.map(f64::from));
            assert!((m.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            LABELS[(0..NAMES).max_by(|&a, &b| m[a].total_cmp(&m[b])).unwrap()]
        };
        assert_eq!(of([5, 5, 8]), "black");
        assert_eq!(of([250, 250, 245]), "white");
        assert_eq!(of([130, 128, 126]), "gray");
        assert_eq!(of([210, 20, 30]), "red");
        assert_eq!(of([20, 60, 200]), "blue");
        assert_eq!(of([30, 140, 40]), "green");
        assert_eq!(of([250, 230, 20]), "yellow");
        assert_eq!(of([255, 150, 10]), "orange");
        assert_eq!(of([255, 170, 190]), "pink");
        assert_eq!(of([110, 20, 140]), "purple");
        assert_eq!(of([120, 70, 30]), "brown");
    }

    #[test]
    fn a_cell_averages_every_second_pixel() {
        let (width, height) = (9, 8);
        let (_, bins) = noise_patch(width, height);
        let names = ColorNames::new(4);
        let cells = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|at| names.of_cell(&bins, width, at));
        for (at, cell) in cells.iter().enumerate() {
            for (k, value) in cell.iter().enumerate().take(NAMES) {
                let black = (0..16).filter(|i| (i / 4 + i % 4) % 2 == 0);
                let pixels = black.map(|i| (at / 2 * 4 + i / 4) * width + at % 2 * 4 + i % 4);
                let mean = pixels.map(|p| memberships(middle_of(bins[p].into()))[k]).sum::<f64>() / 8.0 - 1.0 / 11.0;
                assert!((f64::from(*value) - mean).abs() < 0.003, "{at}, {k}: {value} for {mean}");
            }
        }
    }

    #[test]
    fn a_bin_spans_eight_values_a_channel() {
        for bin in (0..BINS).step_by(37) {
            let [r, g, b] = middle_of(bin).map(|v| v as u8);
            assert_eq!(usize::from(bin_of(r, g, b)), bin);
        }
        let (mut gray, mut bins) = ([0; 3], [0; 3]);
        gray_and_bins(&[0, 0, 0, 0, 7, 7, 7, 0, 8, 0, 255, 0], &mut gray, &mut bins);
        assert_eq!(bins, [0, 0, 1 << 10 | 31]);
        assert_eq!(gray, [0, 7, luma(8, 0, 255)]);
    }

    const SIDE: usize = 24;

    /// A square of one colour in the middle of others.
    fn patch(target: u16, around: u16, size: usize) -> Vec<u16> {
        let inside = |v: usize| v >= (SIDE - size) / 2 && v < (SIDE + size) / 2;
        (0..SIDE * SIDE).map(|i| if inside(i / SIDE) && inside(i % SIDE) { target } else { around }).collect()
    }

    fn learn(histogram: &mut ColorHistogram, bins: &[u16]) {
        let area = |size: f64| Area::around(SIDE, (SIDE as f64 / 2.0, SIDE as f64 / 2.0), (size, size));
        histogram.learn(bins, SIDE, &area(6.0), &area(20.0), &area(10.0));
    }

    fn likelihood(histogram: &ColorHistogram, bin: u16) -> f32 {
        color::likelihood(histogram.shares[usize::from(bin)])
    }

    #[test]
    fn likelihoods_are_running_ratios() {
        let (red, blue, green) = (bin_of(255, 0, 0), bin_of(0, 0, 255), bin_of(0, 255, 0));
        let mut histogram = ColorHistogram::new(0.25);
        learn(&mut histogram, &patch(red, blue, 8));
        assert_eq!([red, blue, green].map(|bin| likelihood(&histogram, bin)), [1.0, 0.0, 0.5]);
        // Three quarters of red remain, and one quarter of the surroundings has become red.
        learn(&mut histogram, &patch(green, red, 8));
        assert!((likelihood(&histogram, red) - 0.75).abs() < 1e-6);
        assert_eq!(likelihood(&histogram, green), 1.0);
        // After many frames the means are those of the last colours, without overflow.
        for _ in 0..3000 {
            learn(&mut histogram, &patch(blue, green, 8));
        }
        assert!(likelihood(&histogram, blue) > 0.999 && likelihood(&histogram, green) < 1e-3);
        assert!(histogram.shares.iter().flatten().all(|v| v.is_finite()));
    }

    #[test]
    fn the_likelihood_peaks_at_the_target() {
        let (red, blue) = (bin_of(200, 10, 10), bin_of(10, 10, 200));
        let mut histogram = ColorHistogram::new(0.04);
        learn(&mut histogram, &patch(red, blue, 8));
        // The second patch shows the target moved by 4 pixels right and 8 up.
        let still = patch(red, blue, 8);
        let moved: Vec<u16> =
            (0..SIDE * SIDE).map(|i| still[(i / SIDE + 8) % SIDE * SIDE + (i % SIDE + SIDE - 4) % SIDE]).collect();
        let (mut map, mut means) = (vec![0.0; 36], vec![0.0; 36]);
        histogram.likelihood_map(&moved, SIDE, &mut map);
        assert_eq!(map.iter().sum::<f32>(), 4.0);
        BoxMean::new((6, 6), (2.0, 2.0)).apply(&map, &mut means);
        let (best, value) = means.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        assert_eq!((best / 6, best % 6), (3 - 2, 3 + 1));
        assert!((value - 1.0).abs() < 1e-6);
    }

    #[test]
    fn box_means_are_means_over_fractions_of_cells() {
        let (rows, cols) = (7, 6);
        let map: Vec<f32> = (0..rows * cols).map(|i| (i * 31 % 17) as f32).collect();
        for size in [(3.0, 3.0), (2.5, 1.75), (1.0, 4.0), (20.0, 20.0)] {
            let mut out = vec![0.0; rows * cols];
            BoxMean::new((rows, cols), size).apply(&map, &mut out);
            let share = |at: usize, i: usize, n: usize, length: f64| {
                let middle = at as f64 + if n == 7 { 0.5 } else { 0.0 };
                let (start, end) = (middle - length / 2.0, middle + length / 2.0);
                let (start, end) = (start.max(0.0), end.min(n as f64));
                ((i as f64 + 1.0).min(end) - (i as f64).max(start)).max(0.0) / (end - start)
            };
            for (i, got) in out.iter().enumerate() {
                let mut mean = 0.0;
                for (j, v) in map.iter().enumerate() {
                    let weight = share(i / cols, j / cols, rows, size.0) * share(i % cols, j % cols, cols, size.1);
                    mean += weight * f64::from(*v);
                }
                assert!((f64::from(*got) - mean).abs() < 1e-4, "{size:?}: {got} for {mean}");
            }
        }
    }

    #[test]
    fn an_empty_area_changes_nothing() {
        let mut histogram = ColorHistogram::new(0.1);
        let area = |w: f64, h: f64| Area::around(SIDE, (12.0, 12.0), (w, h));
        let all = area(100.0, 90.0);
        assert_eq!(all, Area { x: 0..SIDE, y: 0..SIDE });
        histogram.learn(&patch(3, 4, 8), SIDE, &all, &all, &all);
        histogram.learn(&patch(3, 4, 8), SIDE, &area(0.0, 5.0), &all, &area(2.0, 2.0));
        assert_eq!(likelihood(&histogram, 3), 0.5);
    }
}
