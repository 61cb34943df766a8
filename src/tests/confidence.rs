//! The peak, its displacement, PSR and APCE by their definitions.

use crate::tracker::ResponseLayout;
use crate::tracker::confidence::{Peak, displacement};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

/// The distance of two rows or columns, round the borders where a map wraps around.
fn apart(a: usize, b: usize, n: usize, layout: ResponseLayout) -> usize {
    match layout {
        ResponseLayout::Wrapped => a.abs_diff(b).min(n - a.abs_diff(b)),
        ResponseLayout::Centered => a.abs_diff(b),
    }
}

proptest! {
    #[test]
    fn psr_and_apce(
        rows in 1usize..20, cols in 1usize..20, radius in 0usize..6, seed: u64, offset in -3.0..3.0f32, wraps: bool,
    ) {
        let layout = if wraps { ResponseLayout::Wrapped } else { ResponseLayout::Centered };
        let mut rng = Pcg32::seed_from_u64(seed);
        let map: Vec<f32> = (0..rows * cols).map(|_| offset + rng.random_range(0.0..1.0f32)).collect();
        let peak = Peak::find(&map, (rows, cols), radius, layout);

        let highest = map.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        prop_assert_eq!(peak.value, highest);
        let first = (0..cols).flat_map(|c| (0..rows).map(move |r| (r, c))).find(|&(r, c)| map[r * cols + c] == highest);
        prop_assert_eq!(Some((peak.row, peak.col)), first);

        let side: Vec<f64> = (0..rows * cols)
            .filter(|i| {
                let (row, col) = (i / cols, i % cols);
                apart(row, peak.row, rows, layout) > radius || apart(col, peak.col, cols, layout) > radius
            })
            .map(|i| f64::from(map[i]))
            .collect();
        let n = side.len() as f64;
        let mean = side.iter().sum::<f64>() / n;
        let deviation = (side.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        let psr = (f64::from(highest) - mean) / deviation;
        if side.len() > 3 {
            prop_assert!((f64::from(peak.psr) - psr).abs() < 1e-4 * psr.abs(), "{} instead of {psr}", peak.psr);
        } else if side.is_empty() {
            prop_assert_eq!(peak.psr, 0.0);
        }

        let least = f64::from(map.iter().copied().fold(f32::INFINITY, f32::min));
        let above: Vec<_> = map.iter().map(|&v| (f64::from(v) - least).powi(2)).collect();
        let mean = above.iter().sum::<f64>() / above.len() as f64;
        if mean > 0.0 {
            let apce = (f64::from(highest) - least).powi(2) / mean;
            prop_assert!((f64::from(peak.apce) - apce).abs() < 1e-4 * apce, "{} instead of {apce}", peak.apce);
        } else {
            prop_assert_eq!(peak.apce, 0.0);
        }
    }

    /// Few levels, so that the maximum is there many times.
    #[test]
    fn ties_go_down_the_columns(rows in 1usize..9, cols in 1usize..9, seed: u64) {
        let mut rng = Pcg32::seed_from_u64(seed);
        let map: Vec<f32> = (0..rows * cols).map(|_| f32::from(rng.random_range(0..3u8))).collect();
        let highest = map.iter().copied().fold(0.0, f32::max);
        let first = (0..cols).flat_map(|c| (0..rows).map(move |r| (r, c))).find(|&(r, c)| map[r * cols + c] == highest);
        let peak = Peak::find(&map, (rows, cols), 1, ResponseLayout::Wrapped);
        prop_assert_eq!(Some((peak.row, peak.col)), first);
    }
}

/// `if delta > n / 2, delta = delta - n, end`, then `delta - 1`, in the published code's numbers from 1.
#[test]
fn displacements_wrap_as_published() {
    for n in 2..60usize {
        for i in 0..n {
            let mut delta = i as f64 + 1.0;
            if delta > n as f64 / 2.0 {
                delta -= n as f64;
            }
            assert_eq!(displacement(i, n) as f64, delta - 1.0, "{i} of {n}");
        }
    }
}
