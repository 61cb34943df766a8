//! Colour names: how black, blue, brown, gray, green, orange, pink, purple, red, white or yellow a colour is.
//!
//! The eleven are the basic colour terms of Berlin and Kay ("Basic Color Terms", 1969). Each is told by a few named
//! colours of the web (CSS Color Module Level 4, section 6.1) and of X11 (`rgb.txt`), whose values are in `CENTRES`.
//! The distance of a colour to a name is that to the nearest of its centres in CIELAB (CIE 1976, white D65, two
//! degrees); memberships are a softmax over the names,
//!
//! `m_k = exp(-d_k² / 2 s²) / Σ_j exp(-d_j² / 2 s²)`, `s` = [`WIDTH`],
//!
//! so that they sum to one. (The learned table of van de Weijer, Schmid, Verbeek and Larlus, IEEE TIP 2009, serves the
//! same purpose.)

use std::sync::OnceLock;

use super::color_bins::{BINS, middle_of};

/// Number of names.
pub const NAMES: usize = 11;
/// The names, in the order of the memberships.
pub const LABELS: [&str; NAMES] =
    ["black", "blue", "brown", "gray", "green", "orange", "pink", "purple", "red", "white", "yellow"];
/// The width of a name in CIELAB.
pub const WIDTH: f64 = 15.0;

/// Memberships of a bin in 255ths, padded to a vector.
type Entry = [u8; 16];

/// The centres of each name as `0xRRGGBB`.
const CENTRES: [&[u32]; NAMES] = [
    // black, gray11
    &[0x000000, 0x1c1c1c],
    // blue, navy, mediumblue, royalblue, dodgerblue, steelblue, deepskyblue, skyblue
    &[0x0000ff, 0x000080, 0x0000cd, 0x4169e1, 0x1e90ff, 0x4682b4, 0x00bfff, 0x87ceeb],
    // saddlebrown, sienna, chocolate, peru, tan4, sienna4
    &[0x8b4513, 0xa0522d, 0xd2691e, 0xcd853f, 0x8b5a2b, 0x8b4726],
    // gray31, dimgray, gray, darkgray
    &[0x4f4f4f, 0x696969, 0x808080, 0xa9a9a9],
    // green, lime, darkgreen, forestgreen, limegreen, seagreen, olivedrab, palegreen
    &[0x008000, 0x00ff00, 0x006400, 0x228b22, 0x32cd32, 0x2e8b57, 0x6b8e23, 0x98fb98],
    // orange, darkorange, orange2, darkorange2, coral
    &[0xffa500, 0xff8c00, 0xee9a00, 0xee7600, 0xff7f50],
    // pink, hotpink, deeppink, lightpink, palevioletred
    &[0xffc0cb, 0xff69b4, 0xff1493, 0xffb6c1, 0xdb7093],
    // purple, darkviolet, blueviolet, indigo, mediumorchid, mediumpurple
    &[0x800080, 0x9400d3, 0x8a2be2, 0x4b0082, 0xba55d3, 0x9370db],
    // red, firebrick, crimson, darkred, red3
    &[0xff0000, 0xb22222, 0xdc143c, 0x8b0000, 0xcd0000],
    // white, snow, ghostwhite, whitesmoke, gray90
    &[0xffffff, 0xfffafa, 0xf8f8ff, 0xf5f5f5, 0xe5e5e5],
    // yellow, gold, khaki, yellow3, yellow2
    &[0xffff00, 0xffd700, 0xf0e68c, 0xcdcd00, 0xeeee00],
];

/// CIELAB of an sRGB colour, 0 to 255 a channel.
fn lab(rgb: [f64; 3]) -> [f64; 3] {
    // IEC 61966-2-1.
    let linear = rgb.map(|v| {
        let v = v / 255.0;
        if v <= 0.04045 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) }
    });
    let row = |m: [f64; 3]| m[0] * linear[0] + m[1] * linear[1] + m[2] * linear[2];
    let xyz =
        [row([0.4124, 0.3576, 0.1805]) / 0.9505, row([0.2126, 0.7152, 0.0722]), row([0.0193, 0.1192, 0.9505]) / 1.089];
    let [x, y, z] = xyz.map(|t| {
        let edge: f64 = 6.0 / 29.0;
        if t > edge * edge * edge { libm::cbrt(t) } else { t / (3.0 * edge * edge) + 4.0 / 29.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Memberships of an sRGB colour, 0 to 255 a channel; they sum to one.
pub fn memberships(rgb: [f64; 3]) -> [f64; NAMES] {
    let centres = centres();
    let here = lab(rgb);
    let mut distances = [f64::INFINITY; NAMES];
    for (name, centre) in centres {
        let d = (0..3).map(|i| (here[i] - centre[i]).powi(2)).sum();
        distances[*name] = distances[*name].min(d);
    }
    // Relative to the nearest, so that nothing vanishes far from all.
    let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let shares = distances.map(|d| libm::exp((least - d) / (2.0 * WIDTH * WIDTH)));
    let sum: f64 = shares.iter().sum();
    shares.map(|v| v / sum)
}

/// The name and CIELAB of all centres.
fn centres() -> &'static [(usize, [f64; 3])] {
    static ALL: OnceLock<Vec<(usize, [f64; 3])>> = OnceLock::new();
    ALL.get_or_init(|| {
        let named = CENTRES.iter().enumerate().flat_map(|(name, of)| of.iter().map(move |&rgb| (name, rgb)));
        named.map(|(name, rgb)| (name, lab([16, 8, 0].map(|shift| f64::from(rgb >> shift & 255))))).collect()
    })
}

/// The table of all bins, made when it is first asked for.
fn table() -> &'static [Entry] {
    static TABLE: OnceLock<Vec<Entry>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let entry = |bin| {
            let mut entry = [0; 16];
            for (to, m) in entry.iter_mut().zip(memberships(middle_of(bin))) {
                *to = (255.0 * m).round() as u8;
            }
            entry
        };
        (0..BINS).map(entry).collect()
    })
}

/// Mean memberships of cells of `cell` x `cell` pixels.
#[derive(Clone, Copy, Debug)]
pub struct ColorNames {
    table: &'static [Entry],
    cell: usize,
    /// What makes the sum of the black fields' entries a mean.
    gain: f32,
}

impl ColorNames {
    /// For cells of `cell` pixels. Makes the table if it is the first.
    ///
    /// # Panics
    /// When a cell has no pixel, or more than 16 in each direction.
    pub fn new(cell: usize) -> Self {
        assert!((1..=16).contains(&cell), "a cell has 1 to 16 pixels a side");
        let black: usize = (0..cell).map(|y| (cell - y % 2).div_ceil(2)).sum();
        Self { table: table(), cell, gain: 1.0 / (255 * black) as f32 }
    }

    /// The mean memberships of cell `col` of row `row` of a patch of `width` pixels a row, given as
    /// [bins](super::color_bins), less 1/11 (what they are when nothing is known): 16 values of which the first 11
    /// count.
    ///
    /// # Panics
    /// When the cell is not wholly within the patch.
    #[inline(always)]
    pub fn of_cell(&self, bins: &[u16], width: usize, (row, col): (usize, usize)) -> [f32; 16] {
        let cell = self.cell;
        let mut sums = [0u16; 16];
        for y in 0..cell {
            // Every second pixel, as the black fields of a chess board: half the time and next to no difference.
            for &bin in bins[(row * cell + y) * width + col * cell..][..cell].iter().skip(y % 2).step_by(2) {
                let entry = &self.table[usize::from(bin) % BINS];
                for k in 0..16 {
                    sums[k] += u16::from(entry[k]);
                }
            }
        }
        let mut means = [0.0; 16];
        for k in 0..16 {
            means[k] = f32::from(sums[k]) * self.gain - 1.0 / NAMES as f32;
        }
        means
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::color_bins::take_colors_apart;

    #[test]
    fn lab_is_that_of_the_standard() {
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
    fn colours_are_called_what_they_are() {
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
    fn a_cell_has_the_mean_of_every_second_pixel() {
        let (width, height) = (9, 8);
        let rgb: Vec<u8> = (0..width * height * 3).map(|i| (i * i * 31 % 253) as u8).collect();
        let (mut gray, mut bins) = (vec![0; width * height], vec![0; width * height]);
        take_colors_apart(&rgb, &mut gray, &mut bins);
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
}
