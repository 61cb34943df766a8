//! Transforms against the definition of the discrete Fourier transform.

use kcf_track::fft::{CHANNELS, LanePlan, MapPlan};
use rustfft::num_complex::Complex32;

use crate::reference::dft::{Complex, dft};
use crate::reference::kcf::Size;
use crate::samples::{assert_close, random, write};

const SIZES: [(usize, usize); 14] = [
    (1, 1),
    (1, 7),
    (6, 1),
    (2, 2),
    (3, 5),
    (5, 3),
    (4, 9),
    (8, 6),
    (7, 7),
    (11, 13),
    (16, 10),
    (31, 10),
    (17, 23),
    (12, 20),
];

/// Real and imaginary parts one after the other.
fn parts(values: &[Complex]) -> Vec<f64> {
    values.iter().flat_map(|v| [v.re, v.im]).collect()
}

#[test]
fn a_plane_has_the_half_spectrum_of_the_definition() {
    for (rows, cols) in SIZES {
        let size = Size { rows, cols, channels: 1 };
        let plan = MapPlan::new(rows, cols, 1);
        let mut scratch = plan.scratch();
        let values = random(size, (rows * 50 + cols) as u64);
        let mut plane = vec![0.0; size.cells()];
        write(size, &values, &mut plane);
        let mut half = vec![Complex32::default(); plan.half_len()];
        plan.forward(&plane, &mut half, &mut scratch);

        let full = dft(&values.iter().map(|&v| Complex::new(v, 0.0)).collect::<Vec<_>>(), rows, cols, false);
        let expected: Vec<_> = full.chunks_exact(cols).flat_map(|row| row[..cols / 2 + 1].to_vec()).collect();
        let found: Vec<_> = half.iter().flat_map(|v| [v.re, v.im]).collect();
        assert_close(&found, &parts(&expected), 3e-6, &format!("{rows}x{cols} forward"));

        let mut back = vec![0.0; size.cells()];
        plan.inverse(&half, &mut back, &mut scratch);
        back.iter_mut().for_each(|v| *v /= size.cells() as f32);
        assert_close(&back, &values, 3e-6, &format!("{rows}x{cols} and back"));
    }
}

#[test]
fn lanes_carry_two_real_channels_each() {
    for (rows, cols) in SIZES {
        let size = Size { rows, cols, channels: CHANNELS };
        let plan = LanePlan::new(rows, cols);
        let values = random(size, (rows * 50 + cols) as u64);
        let mut map = vec![0.0; plan.map_len()];
        write(size, &values, &mut map);
        plan.forward(&mut map, &mut vec![f32::NAN; plan.scratch_len()]);
        for lane in [0, 7, 15] {
            let half = CHANNELS / 2;
            let channel: Vec<_> =
                values.chunks_exact(CHANNELS).map(|cell| Complex::new(cell[lane], cell[lane + half])).collect();
            let found: Vec<_> = map.chunks_exact(CHANNELS).flat_map(|cell| [cell[lane], cell[lane + half]]).collect();
            let expected = parts(&dft(&channel, rows, cols, false));
            assert_close(&found, &expected, 4e-6, &format!("{rows}x{cols} lane {lane}"));
        }
    }
}

/// Energies come from spectra.
#[test]
fn parseval_for_odd_and_even_sizes() {
    for (rows, cols) in SIZES {
        for channels in [1, 2, 31] {
            let size = Size { rows, cols, channels };
            let plan = MapPlan::new(rows, cols, channels);
            let (values, mut map, mut scratch) = (random(size, 3), plan.map(), plan.scratch());
            write(size, &values, map.values_mut());
            plan.transform(&mut map, &mut scratch);
            let expected = values.iter().map(|v| v * v).sum::<f64>();
            let mut out = vec![Complex32::default(); plan.half_len()];
            let energy = plan.cross_power(&map, &map, &mut out, &mut scratch);
            assert_close(&[energy], &[expected], 3e-6, &format!("{rows}x{cols}x{channels}"));
        }
    }
}
