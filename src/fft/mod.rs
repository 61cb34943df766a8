//! Planned transforms of feature maps and response planes, and the algebra of their spectra.

mod line;
mod map;
mod supports;

pub(crate) use line::{Cell, LANES, split_real};
pub(crate) use map::{AlignedBuf, CHANNELS, FeatureMap, LanePlan, MapPlan, PlanePlan, Scratch, phase_shift};
pub(crate) use supports::{ChannelPlan, SupportSpectra};

/// Lengths whose transforms cost less, with all other work per cell, than those of any slightly larger length of the same
/// parity.
const FAST: [usize; 99] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 32, 33,
    35, 36, 39, 40, 42, 44, 45, 48, 49, 50, 51, 52, 54, 55, 56, 57, 60, 63, 64, 65, 66, 70, 72, 75, 77, 80, 81, 84, 85,
    90, 91, 95, 96, 99, 100, 105, 108, 112, 117, 120, 125, 128, 132, 135, 140, 144, 147, 150, 153, 160, 162, 165, 168,
    175, 180, 189, 192, 195, 200, 207, 210, 216, 224, 225, 231, 240, 250, 255,
];

/// The smallest fast length from `cells` on that has its parity, so that the middle of a map stays its middle. Lengths
/// beyond the table stay as they are.
pub(crate) fn fast_length_of_parity(cells: usize) -> usize {
    FAST.into_iter().find(|&n| n >= cells && (n - cells).is_multiple_of(2)).unwrap_or(cells)
}

#[cfg(test)]
mod tests {
    //! Transforms against their definitions, and the same bits at every SIMD level.

    use rand::{RngExt, SeedableRng};
    use rustfft::algorithm::Dft;
    use rustfft::num_complex::{Complex32, Complex64};
    use rustfft::{Fft, FftDirection};

    use super::*;
    use crate::simd::tests::assert_same_on_all_levels;

    fn noise(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
        (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    /// The full spectrum in double precision.
    fn dft(rows: usize, cols: usize, mut plane: Vec<Complex64>) -> Vec<Complex64> {
        Dft::new(cols, FftDirection::Forward).process(&mut plane);
        let mut turned: Vec<_> = (0..plane.len()).map(|i| plane[i % rows * cols + i / rows]).collect();
        Dft::new(rows, FftDirection::Forward).process(&mut turned);
        (0..rows * cols).map(|i| turned[i % cols * rows + i / cols]).collect()
    }

    fn lanes_forward(plan: &LanePlan, map: &[f32]) -> Vec<f32> {
        let mut map = map.to_vec();
        // The initial values of the scratch must not matter.
        plan.forward(&mut map, &mut vec![f32::NAN; plan.scratch_len()]);
        map
    }

    /// One complex lane of a map.
    fn lane(map: &[f32], lane: usize) -> Vec<Complex64> {
        let value = |cell: &[f32]| Complex64::new(cell[lane].into(), cell[LANES + lane].into());
        map.chunks(CHANNELS).map(value).collect()
    }

    fn check_lanes(rows: usize, cols: usize) {
        let plan = LanePlan::new(rows, cols);
        let map = noise(plan.map_len(), (rows * 1000 + cols) as u64);
        let got = lanes_forward(&plan, &map);
        for l in [0, 7, 15] {
            for (got, expected) in lane(&got, l).iter().zip(dft(rows, cols, lane(&map, l))) {
                let error = (got - expected).norm() / ((rows * cols) as f64).sqrt();
                assert!(error < 5e-6, "{rows}x{cols}: {error:e}");
            }
        }
    }

    fn plane_forward(plan: &PlanePlan, plane: &[f32]) -> Vec<Complex32> {
        let mut half = vec![Complex32::default(); plan.half_len()];
        plan.forward(plane, &mut half, &mut vec![f32::NAN; plan.scratch_len()]);
        half
    }

    fn plane_inverse(plan: &PlanePlan, half: &[Complex32]) -> Vec<f32> {
        let mut plane = vec![0.0; plan.plane_len()];
        plan.inverse(half, &mut plane, &mut vec![f32::NAN; plan.scratch_len()]);
        plane
    }

    fn check_plane(rows: usize, cols: usize) {
        let plan = PlanePlan::new(rows, cols);
        let plane = noise(rows * cols, (rows * 1000 + cols) as u64);
        let half = plane_forward(&plan, &plane);
        let full = dft(rows, cols, plane.iter().map(|&v| Complex64::new(v.into(), 0.0)).collect());
        for (got, expected) in half.chunks(cols / 2 + 1).zip(full.chunks(cols)) {
            for (got, expected) in got.iter().zip(expected) {
                let error = (Complex64::new(got.re.into(), got.im.into()) - expected).norm();
                assert!(error / ((rows * cols) as f64).sqrt() < 4e-6, "{rows}x{cols}: {error:e}");
            }
        }
        for (got, expected) in plane_inverse(&plan, &half).iter().zip(&plane) {
            assert!((got / (rows * cols) as f32 - expected).abs() < 4e-6, "{rows}x{cols}: inverse");
        }
    }

    #[test]
    fn transforms_agree_with_the_definition() {
        for n in (1..=40).chain([41, 59, 77, 97, 121, 127, 131, 139, 169, 254, 262, 411]) {
            for (rows, cols) in [(n, 1), (1, n), (n, 4), (3, n)] {
                check_lanes(rows, cols);
                check_plane(rows, cols);
            }
        }
        for (rows, cols) in [(50, 21), (40, 60), (64, 64), (59, 40), (31, 10), (99, 26), (50, 62), (127, 101)] {
            check_lanes(rows, cols);
            check_plane(rows, cols);
        }
    }

    #[test]
    fn every_simd_level_gives_the_same_bits() {
        for (rows, cols) in [(50, 21), (64, 64), (59, 40), (31, 62), (99, 26), (7, 49), (131, 5), (11, 13), (1, 1)] {
            let map = noise(rows * cols * CHANNELS, 7);
            let plane = &map[..rows * cols];
            assert_same_on_all_levels(&format!("{rows}x{cols}"), || {
                let plan = PlanePlan::new(rows, cols);
                let half = plane_forward(&plan, plane);
                let maps = MapPlan::new(rows, cols, CHANNELS);
                let (mut x, mut y, mut scratch) = (maps.map(), maps.map(), maps.scratch());
                x.values_mut().copy_from_slice(&map);
                y.values_mut().iter_mut().zip(map.iter().rev()).for_each(|(y, v)| *y = *v);
                maps.transform(&mut x, &mut scratch);
                maps.transform(&mut y, &mut scratch);
                let mut cross = vec![Complex32::default(); maps.half_len()];
                let energy = maps.cross_power(&x, &y, &mut cross, &mut scratch);
                let complex = |v: &[Complex32]| v.iter().map(|v| (v.re.to_bits(), v.im.to_bits())).collect::<Vec<_>>();
                let real = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                let planes = (complex(&half), real(&plane_inverse(&plan, &half)));
                (planes, real(&lanes_forward(&LanePlan::new(rows, cols), &map)), complex(&cross), energy.to_bits())
            });
        }
    }

    #[test]
    fn empty_maps_are_no_error() {
        for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
            let plan = LanePlan::new(rows, cols);
            plan.forward(&mut [], &mut vec![0.0; plan.scratch_len()]);
        }
        assert!(plane_forward(&PlanePlan::new(0, 7), &[]).is_empty());
    }

    #[test]
    fn partial_transforms_agree_with_whole_ones() {
        for (rows, cols, part) in [(20, 27, 3..12), (16, 31, 0..1), (7, 8, 0..7), (13, 5, 6..12), (24, 1, 0..5)] {
            let plan = LanePlan::new(rows, cols);
            let mut map = noise(plan.map_len(), 11);
            map[..part.start * cols * CHANNELS].fill(0.0);
            map[part.end * cols * CHANNELS..].fill(0.0);
            let expected = lanes_forward(&plan, &map);
            let mut scratch = vec![f32::NAN; plan.scratch_len()];
            let (mut from, mut to) = (map.clone(), map);
            plan.forward_from_rows(&mut from, part.clone(), &mut scratch);
            assert!(from == expected, "{rows}x{cols}, {part:?}");
            plan.forward_to_rows(&mut to, part.clone(), &mut scratch);
            let range = part.start * cols * CHANNELS..part.end * cols * CHANNELS;
            let close = to[range.clone()].iter().zip(&expected[range]).all(|(a, b)| (a - b).abs() < 2e-4);
            assert!(close, "{rows}x{cols}, {part:?}");
        }
    }

    #[test]
    fn fast_lengths_are_close_and_keep_parity() {
        for n in 1..=250 {
            let same_parity = fast_length_of_parity(n);
            assert!(same_parity % 2 == n % 2 && (n..=n + n / 8 + 2).contains(&same_parity), "{n}: {same_parity}");
        }
        assert_eq!([59, 5000].map(fast_length_of_parity), [63, 5000]);
    }

    #[test]
    fn aligned_buffers_start_on_a_cache_line() {
        for len in [0, 1, 15, 16, 1000, 100_000] {
            let mut buf = AlignedBuf::zeroed(len);
            buf.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32);
            let copy = buf.clone();
            assert!(copy[..] == buf[..] && buf.len() == len);
            assert!([buf, copy].iter().all(|buf| (buf.as_ptr() as usize).is_multiple_of(64)));
        }
    }

    #[test]
    fn each_channel_has_the_half_spectrum_of_its_plane() {
        for (rows, cols) in [(1, 1), (5, 6), (7, 4), (6, 1), (12, 11), (131, 2)] {
            let plan = ChannelPlan::new(rows, cols);
            let map = noise(plan.map_len(), 1);
            let mut spectra = vec![f32::NAN; plan.spectra_len()];
            plan.forward(&mut map.clone(), &mut spectra, &mut vec![f32::NAN; plan.scratch_len()]);
            for c in [0, 5, 31] {
                let plane: Vec<f32> = map[c..].iter().step_by(CHANNELS).copied().collect();
                let bins = spectra.chunks(2 * CHANNELS);
                for (bin, expected) in bins.zip(plane_forward(&PlanePlan::new(rows, cols), &plane)) {
                    let got = Complex32::new(bin[c], bin[CHANNELS + c]);
                    assert!((got - expected).norm() < 1e-4, "{rows}x{cols}, {c}: {got} for {expected}");
                }
            }
        }
    }

    #[test]
    fn energies_and_interpolation_agree_with_the_maps() {
        for (rows, cols, channels) in [(5, 6, 31), (4, 7, 31), (5, 6, 1), (4, 7, 1), (3, 1, 1), (9, 8, 30)] {
            let plan = MapPlan::new(rows, cols, channels);
            let (mut a, mut b, mut scratch) = (plan.map(), plan.map(), plan.scratch());
            let (mut mixed, mut energy_a) = (0.0f64, 0.0f64);
            for i in 0..a.values_mut().len() {
                let (va, vb) = ((i * 7 % 13) as f32 - 5.0, (i * 5 % 11) as f32 * 0.25);
                (a.values_mut()[i], b.values_mut()[i]) = (va, vb);
                mixed += f64::from(0.75 * va + 0.25 * vb).powi(2);
                energy_a += f64::from(va * va);
            }
            plan.transform(&mut a, &mut scratch);
            plan.transform(&mut b, &mut scratch);
            let mut out = vec![Complex32::default(); plan.half_len()];
            let close = |got: f32, expected: f64| (f64::from(got) - expected).abs() < 1e-4 * expected;
            assert!(close(plan.cross_power(&a, &b, &mut out, &mut scratch), energy_a), "{rows}x{cols}x{channels}");
            assert!(close(plan.interpolate(&mut a, &b, 0.25), mixed), "{rows}x{cols}x{channels}");
        }
    }

    #[test]
    fn cross_power_is_the_sum_of_correlations() {
        for (rows, cols, channels) in [(4, 5, 31), (4, 5, 32), (9, 8, 2), (3, 7, 17)] {
            let plan = MapPlan::new(rows, cols, channels);
            let (mut z, mut x, mut scratch) = (plan.map(), plan.map(), plan.scratch());
            let cells = rows * cols;
            let value = |cell: usize, c: usize, seed: usize| ((cell * 97 + c) * seed % 101) as f64 / 101.0 - 0.5;
            for (i, c) in (0..cells).flat_map(|i| (0..channels).map(move |c| (i, c))) {
                let at = (c / CHANNELS * cells + i) * CHANNELS + c % CHANNELS;
                (z.values_mut()[at], x.values_mut()[at]) = (value(i, c, 31) as f32, value(i, c, 57) as f32);
            }
            plan.transform(&mut z, &mut scratch);
            plan.transform(&mut x, &mut scratch);
            let (mut cross, mut plane) = (vec![Complex32::default(); plan.half_len()], vec![0.0; cells]);
            let energy = plan.cross_power(&z, &x, &mut cross, &mut scratch);
            plan.inverse(&cross, &mut plane, &mut scratch);
            for (shift, got) in plane.iter().enumerate() {
                let shifted = |i: usize| (i / cols + shift / cols) % rows * cols + (i % cols + shift % cols) % cols;
                let pairs = (0..cells).flat_map(|i| (0..channels).map(move |c| (i, c)));
                let expected: f64 = pairs.map(|(i, c)| value(shifted(i), c, 31) * value(i, c, 57)).sum();
                assert!((f64::from(*got) / cells as f64 - expected).abs() < 1e-3, "{channels}, {shift}: {expected}");
            }
            let pairs = (0..cells).flat_map(|i| (0..channels).map(move |c| (i, c)));
            let expected: f64 = pairs.map(|(i, c)| value(i, c, 31).powi(2)).sum();
            assert!((f64::from(energy) / expected - 1.0).abs() < 1e-4);
        }
    }

    /// `[row][column][32]` with values in the first `channels`, from the lane `first` on, of the top-left `rows` x `cols`.
    fn support_map(
        plan: &ChannelPlan,
        first: usize,
        channels: usize,
        (rows, cols): (usize, usize),
        values: &[f32],
    ) -> Vec<f32> {
        let size = plan.size();
        let mut map = vec![0.0; plan.map_len()];
        for (i, value) in values.iter().enumerate().take(rows * cols * channels) {
            let (cell, channel) = (i / channels, first + i % channels);
            let cell = cell / cols * size.1 + cell % cols;
            map[cell * CHANNELS + channel] = *value;
        }
        map
    }

    #[test]
    fn correlations_with_supports_agree_with_the_definition() {
        let (size, of_support, wanted) = ((9, 8), (3, 4), 7);
        for channels in [1, 16, 20, 32] {
            let plan = ChannelPlan::new(size.0, size.1);
            let mut scratch = vec![f32::NAN; plan.scratch_len()];
            let z = noise(size.0 * size.1 * channels, 1);
            let mut spectra = vec![0.0; plan.spectra_len()];
            plan.forward(&mut support_map(&plan, 0, channels, size, &z), &mut spectra, &mut scratch);
            let mut supports = SupportSpectra::new(&plan, channels, 40);
            assert_eq!((supports.slots(), supports.in_pairs()), (64, channels <= 16));
            let values = |slot: usize| noise(of_support.0 * of_support.1 * channels, 10 + slot as u64);
            let slots = [3, 17, 35, 63];
            for pair in slots.chunks(2) {
                let mut first = support_map(&plan, 0, channels, of_support, &values(pair[0]));
                if supports.in_pairs() {
                    let second = support_map(&plan, 16, channels, of_support, &values(pair[1]));
                    first.iter_mut().zip(second).for_each(|(a, b)| *a += b);
                    supports.put([Some(pair[0]), Some(pair[1])], &mut first, of_support.0, &mut scratch);
                } else {
                    supports.put([Some(pair[0]), None], &mut first, of_support.0, &mut scratch);
                    let mut second = support_map(&plan, 0, channels, of_support, &values(pair[1]));
                    supports.put([Some(pair[1]), None], &mut second, of_support.0, &mut scratch);
                }
            }
            let cells = size.0 * size.1;
            for slot in slots {
                let mut out = vec![f32::NAN; cells * CHANNELS];
                supports.correlate(&spectra, slot / CHANNELS, &mut out, wanted, &mut scratch);
                let support = values(slot);
                for p in 0..wanted * size.1 {
                    let mut expected = 0.0;
                    for (i, s) in support.iter().enumerate() {
                        let (cell, c) = (i / channels, i % channels);
                        let row = (p / size.1 + cell / of_support.1) % size.0;
                        let col = (p % size.1 + cell % of_support.1) % size.1;
                        expected += z[(row * size.1 + col) * channels + c] * s;
                    }
                    let got = out[p * CHANNELS + slot % CHANNELS] / cells as f32;
                    assert!((got - expected).abs() < 1e-4, "{channels} channels, slot {slot}: {got} for {expected}");
                }
            }
        }
    }
}
