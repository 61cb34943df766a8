//! Principal axes.

use rand::{RngExt, SeedableRng};

use super::cells;
use crate::filters::projection::Projection;
use crate::simd::tests::assert_same_on_all_levels;

const LANES: usize = 32;

fn projected(projection: &Projection, map: &[f32]) -> Vec<f32> {
    let mut out = vec![f32::NAN; map.len() / 2];
    projection.apply(map, &mut out);
    out
}

/// `[channel][axis]`: the images of the unit vectors.
fn axes(projection: &Projection, channels: usize) -> Vec<f32> {
    let mut units = vec![0.0; channels * LANES];
    (0..channels).for_each(|c| units[c * LANES + c] = 1.0);
    projected(projection, &units)
}

fn energy(map: &[f32], axis: usize) -> f64 {
    map.chunks_exact(16).map(|cell| f64::from(cell[axis]).powi(2)).sum()
}

#[test]
fn axes_are_orthonormal_and_those_beyond_are_zero() {
    let map = cells(200, 31, LANES, 1);
    for kept in [1, 8, 15] {
        let projection = Projection::new(&map, 31, kept);
        assert_eq!(projection.kept(), kept);
        let axes = axes(&projection, 31);
        for a in 0..16 {
            for b in 0..16 {
                let dot: f64 = axes.chunks_exact(16).map(|row| f64::from(row[a]) * f64::from(row[b])).sum();
                let expected = f64::from(u8::from(a == b && a < kept));
                assert!((dot - expected).abs() < 1e-5, "axes {a} and {b} of {kept}: {dot}");
            }
        }
    }
}

#[test]
fn energy_falls_from_axis_to_axis_and_no_direction_has_more_than_the_first() {
    let mut map = cells(300, 31, LANES, 2);
    // Channels of different strength, so that there is an order.
    map.chunks_exact_mut(LANES).for_each(|cell| (0..31).for_each(|c| cell[c] *= 1.0 + ((7 * c) % 31) as f32 / 10.0));
    let out = projected(&Projection::new(&map, 31, 15), &map);
    let energies: Vec<f64> = (0..15).map(|axis| energy(&out, axis)).collect();
    assert!(energies.windows(2).all(|pair| pair[0] > pair[1]), "{energies:?}");
    let mut rng = rand_pcg::Pcg32::seed_from_u64(3);
    for _ in 0..200 {
        let direction: Vec<f64> = (0..31).map(|_| rng.random_range(-0.2..1.0)).collect();
        let norm: f64 = direction.iter().map(|v| v * v).sum();
        let along = |cell: &[f32]| cell.iter().zip(&direction).map(|(v, d)| f64::from(*v) * d).sum::<f64>();
        let found = map.chunks_exact(LANES).map(|cell| along(cell).powi(2)).sum::<f64>() / norm;
        assert!(found <= energies[0] * (1.0 + 1e-6), "{found}, {}", energies[0]);
    }
}

#[test]
fn distances_are_kept_where_all_that_varies_is() {
    // 12 channels on 12 axes, and 31 channels that are mixtures of 6.
    let full = cells(60, 12, LANES, 4);
    let sources = cells(60, 6, LANES, 5);
    let mixing = cells(31, 6, LANES, 6);
    let mixed: Vec<f32> = sources
        .chunks_exact(LANES)
        .flat_map(|cell| {
            let mix = |c: usize| cell.iter().zip(&mixing[c * LANES..]).map(|(v, m)| v * m).sum::<f32>();
            (0..LANES).map(|c| if c < 31 { mix(c) } else { 0.0 }).collect::<Vec<_>>()
        })
        .collect();
    let apart = |map: &[f32], stride: usize, a: usize, b: usize| -> f64 {
        (0..stride).map(|l| f64::from(map[a * stride + l] - map[b * stride + l]).powi(2)).sum()
    };
    for (map, channels, kept) in [(full, 12, 12), (mixed, 31, 6)] {
        let out = projected(&Projection::new(&map, channels, kept), &map);
        for a in 0..60 {
            for b in 0..a {
                let (expected, got) = (apart(&map, LANES, a, b), apart(&out, 16, a, b));
                assert!((got - expected).abs() < 1e-5 * expected, "{kept} axes: {got}, {expected}");
            }
        }
    }
}

#[test]
fn every_level_gives_the_same_bits() {
    let map = cells(50, 31, LANES, 8);
    assert_same_on_all_levels("a projection", || -> Vec<u32> {
        projected(&Projection::new(&map, 31, 8), &map).iter().map(|v| v.to_bits()).collect()
    });
}
