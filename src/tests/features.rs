//! The gray feature, the cosine window and the regression target, by definition.

use crate::features::{Features, Window, gaussian_labels, window};

use super::reference::{hann, labels};
use super::{assert_close, picture};

#[test]
fn gray_is_centred_and_windowed() {
    let (width, height) = (31, 22);
    let patch = picture(width, height, 2);
    let mean = patch.iter().map(|&v| f64::from(v)).sum::<f64>() / patch.len() as f64;
    let expected: Vec<_> = (0..width * height)
        .map(|i| (f64::from(patch[i]) - mean) / 255.0 * hann(i / width, height) * hann(i % width, width))
        .collect();
    let mut found = vec![f32::NAN; width * height];
    Features::Gray.extract(&patch, &Window::hann(height, width), &mut found, &mut Default::default());
    assert_close(&found, &expected, 1e-6, "gray");
}

#[test]
fn the_window_is_matlabs_hann() {
    for n in 2..70 {
        let expected: Vec<_> = (0..n).map(|i| hann(i, n)).collect();
        assert_close(&window::hann(n), &expected, 1e-7, &format!("hann({n})"));
    }
}

#[test]
fn the_target_is_the_published_one_at_every_parity() {
    for (rows, cols) in (2..14).flat_map(|rows| (2..14).map(move |cols| (rows, cols))).chain([(59, 40), (31, 10)]) {
        for sigma in [0.4, 1.3, 5.0] {
            let found = gaussian_labels(rows, cols, sigma);
            assert_eq!(found[0], 1.0);
            assert_close(&found, &labels(rows, cols, sigma), 1e-7, &format!("{rows}x{cols} sigma {sigma}"));
        }
    }
}
