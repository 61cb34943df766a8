//! The filters on a smooth texture.

use super::*;

pub(crate) const WIDTH: usize = 160;

fn patch(pixels: &[u8]) -> GrayPatch<'_> {
    GrayPatch { pixels, width: WIDTH }
}

/// A smooth texture around `center`, turned by `degrees` and seen `zoom` times as large.
pub(crate) fn texture(center: (f64, f64), degrees: f64, zoom: f64) -> Vec<u8> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let value = |x: f64, y: f64| {
        let (x, y) = ((x - center.0) / zoom, (y - center.1) / zoom);
        let (x, y) = (cos * x + sin * y, cos * y - sin * x);
        127.0 + 50.0 * (0.35 * x + 0.1 * y).sin() * (0.27 * y).cos() + 40.0 * (0.11 * x * y / 10.0 + 0.2 * y).sin()
    };
    (0..WIDTH * WIDTH).map(|i| value((i % WIDTH) as f64 + 0.5, (i / WIDTH) as f64 + 0.5) as u8).collect()
}

#[test]
fn finds_by_how_much_the_target_has_turned() {
    for size in [(40.0, 40.0), (25.0, 60.0), (60.0, 24.0)] {
        let center = (80.3, 79.6);
        // A prior this wide is as good as none.
        let settings = RotationFilterParams { prior: 1e3, ..RotationFilterParams::default() };
        let mut filter = RotationFilter::new(size, settings);
        let first = texture(center, 0.0, 1.0);
        assert_eq!(filter.find(patch(&first), center), 0.0);
        filter.learn(patch(&first), center, 1.0);
        for degrees in [-26.0, -16.0, -9.0, 0.0, 5.0, 16.0, 25.0] {
            let found = filter.find(patch(&texture(center, degrees, 1.0)), center);
            // Between two of the angles that were cut out, the answer leans towards the nearer one.
            assert!((found - degrees).abs() < STEP / 2.0, "{size:?}: {found} for {degrees}");
            // When the patch is cut at that angle, the rest is found to a quarter step.
            let rest = filter.find(patch(&texture(center, degrees - found, 1.0)), center);
            assert!((found + rest - degrees).abs() <= STEP / 4.0, "{size:?}: {found} and {rest} for {degrees}");
        }
    }
}

/// Twice the prior's width is thought hardly likely, four times not at all.
#[test]
fn large_turns_are_held_back_by_the_prior() {
    let (center, size) = ((80.0, 80.0), (40.0, 40.0));
    let (first, turned) = (texture(center, 0.0, 1.0), texture(center, 32.0, 1.0));
    let found = |prior: f64| {
        let mut filter = RotationFilter::new(size, RotationFilterParams { prior, ..RotationFilterParams::default() });
        filter.learn(patch(&first), center, 1.0);
        filter.find(patch(&turned), center)
    };
    let (free, held) = (found(1e3), found(8.0));
    assert!((free - 32.0).abs() < STEP / 2.0 && held.abs() < 16.0, "{free}, held {held}");
}

#[test]
fn odd_boxes_and_places_are_no_panic() {
    let pixels = vec![90; WIDTH * 100];
    let patch = patch(&pixels);
    for size in [(0.0, 1.0), (2.0, 150.0), (900.0, 45.0)] {
        let mut filter = RotationFilter::new(size, RotationFilterParams::default());
        for center in [(80.0, 50.0), (-40.0, 0.0), (500.0, 99.5)] {
            filter.learn(patch, center, 2.0);
            assert_eq!(filter.find(patch, center), 0.0, "{size:?}, {center:?}");
        }
    }
}
