//! The detector of windows: what it is told is what it answers.

use std::sync::{Arc, Mutex};

use super::noise;
use crate::error::Result;
use crate::fft::CHANNELS;
use crate::filters::windows::{WindowDetector, WindowSettings};
use crate::kernels::Kernel;
use crate::machines::{Affine, Head, Machine, Samples, klda, krr};

const SIZE: (usize, usize) = (12, 14);
const TEMPLATE: (usize, usize) = (4, 5);

fn detector(machine: Arc<dyn Machine>, seed: u64) -> WindowDetector {
    let settings = WindowSettings {
        kernel: Kernel::Gaussian { sigma: 0.25 },
        size: SIZE,
        template: TEMPLATE,
        channels: 31,
        kept: 8,
        positives: 4,
        negatives: 6,
    };
    let mut map = noise(SIZE.0 * SIZE.1 * CHANNELS, seed);
    map.chunks_exact_mut(CHANNELS).for_each(|cell| cell[31..].fill(0.0));
    let mut detector = WindowDetector::new(settings, machine, &map);
    detector.input().copy_from_slice(&map);
    detector.take_input();
    detector
}

fn regression() -> Arc<dyn Machine> {
    Arc::new(krr::Krr::new(krr::Params { lambda: 1e-9, bias: true }).unwrap())
}

/// A regression with next to no ridge reproduces the soft labels at the windows that it was told.
#[test]
fn the_soft_labels_are_what_a_regression_answers() {
    let mut detector = detector(regression(), 3);
    let told = [((2, 2), 1.0), ((2, 3), 0.3), ((6, 7), -0.4)];
    for (n, &((row, col), label)) in told.iter().enumerate() {
        detector.add_positive_at(row, col, 1.0 / (n + 1) as f64, label);
    }
    for (row, col) in [(0, 9), (8, 0), (8, 9)] {
        detector.add_negative_at(row, col);
    }
    detector.fit().unwrap();
    let width = detector.dense.windows().1;
    let response = detector.respond().to_vec();
    let expected = told.into_iter().chain([((0, 9), -1.0), ((8, 0), -1.0), ((8, 9), -1.0)]);
    for ((row, col), label) in expected {
        let found = f64::from(response[row * width + col]);
        assert!((found - label).abs() < 1e-3, "{row}, {col}: {found}, not {label}");
    }
}

/// A template that was cut from elsewhere is the same sample as the window at its place.
#[test]
fn a_template_and_the_window_at_its_place_are_one_sample() {
    let (mut by_place, mut by_template) = (detector(regression(), 5), detector(regression(), 5));
    by_place.add_positive_at(3, 4, 1.0, 1.0);
    let map = by_template.input().to_vec();
    let template: Vec<f32> = (0..TEMPLATE.0)
        .flat_map(|r| map[((3 + r) * SIZE.1 + 4) * CHANNELS..][..TEMPLATE.1 * CHANNELS].to_vec())
        .collect();
    by_template.add_positive(&template, 1.0, 1.0);
    for detector in [&mut by_place, &mut by_template] {
        detector.add_negative_at(0, 0);
        detector.fit().unwrap();
    }
    assert_eq!(by_place.respond(), by_template.respond());
}

/// A failed fit changes nothing: the earlier decision stays, with the supports it was fitted to.
#[test]
fn a_fit_that_fails_keeps_the_earlier_decision() {
    let machine = Arc::new(klda::Klda::new(klda::Params::default()).unwrap());
    let mut detector = detector(machine, 7);
    detector.add_positive_at(3, 4, 1.0, 1.0);
    assert!(detector.fit().is_err(), "one class cannot be told from nothing");
    assert!(detector.respond().iter().all(|&v| v == 0.0));
    detector.add_negative_at(8, 9);
    detector.fit().unwrap();
    let width = detector.dense.windows().1;
    let before = detector.respond().to_vec();
    assert!((before[3 * width + 4] - 1.0).abs() < 1e-3 && (before[8 * width + 9] + 1.0).abs() < 1e-3);
    // Told, but not fitted to yet.
    detector.add_negative_at(0, 0);
    assert_eq!(detector.respond(), before);
    detector.fit().unwrap();
    assert!((detector.respond()[0] + 1.0).abs() < 0.2);
}

/// Fits coefficients that grow with the place, and remembers which ones each fit was to start from.
#[derive(Debug, Default)]
struct Starts(Mutex<Vec<Vec<f64>>>);

impl Machine for Starts {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let start = samples.start.as_ref().expect("a start is given");
        self.0.lock().unwrap().push(start.iter().copied().collect());
        Ok(Head::Affine(Affine { alpha: (1..=samples.len()).map(|i| i as f64).collect(), bias: 0.0 }))
    }
}

/// A window that takes the place of another one has not its coefficient.
#[test]
fn a_fit_starts_from_the_last_one_and_new_windows_from_nothing() {
    let machine = Arc::new(Starts::default());
    let mut detector = detector(machine.clone(), 13);
    detector.add_positive_at(3, 4, 1.0, 1.0);
    let fit = |detector: &mut WindowDetector| {
        detector.fit().unwrap();
        machine.0.lock().unwrap().pop().unwrap()
    };
    for (row, col) in [(0, 0), (0, 9), (8, 0), (8, 9), (6, 1)] {
        detector.add_negative_at(row, col);
    }
    assert_eq!(fit(&mut detector), [0.0; 6]);
    detector.add_negative_at(1, 8);
    assert_eq!(fit(&mut detector), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0]);
    // There is no room for a seventh.
    detector.add_negative_at(7, 2);
    let start = fit(&mut detector);
    let new = start.iter().position(|&coefficient| coefficient == 0.0).expect("one is new");
    let mut expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    expected[new] = 0.0;
    assert!(new > 0 && start == expected, "{start:?}");
}
