use proptest::prelude::*;

use super::*;
use crate::error::Error;

/// A small quick scene.
fn small() -> SceneParams {
    SceneParams { width: 120, height: 90, target_width: 20, target_height: 28, noise: 0.0, ..SceneParams::default() }
}

fn scene(params: SceneParams) -> Scene {
    Scene::new(params).unwrap()
}

/// A scene with a red target on black ground.
fn red_on_black(params: SceneParams) -> Scene {
    let mut scene = scene(SceneParams { noise: 0.0, ..params });
    scene.ground.pixels.fill([0.0; 3]);
    scene.target.texture.pixels.fill([255.0, 0.0, 0.0]);
    scene
}

/// How red a pixel is, 0 to 1. Shadows and beams are nearly gray.
fn red(pixel: &image::Rgb<u8>) -> f64 {
    f64::from(pixel[0].saturating_sub(pixel[1])) / 255.0
}

fn checksum(picture: &RgbImage) -> u64 {
    // FNV-1a.
    picture.as_raw().iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn a_seed_gives_the_same_bytes_on_any_number_of_threads_and_any_machine() {
    let params = SceneParams { width: 160, height: 120, ..Preset::Hard.params() };
    let pictures = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let scene = scene(params.clone());
            [0, 31, 77].map(|i| scene.render(i))
        })
    };
    let one = pictures(1);
    assert!(one == pictures(3));
    // Rendered on x86-64 Linux.
    assert_eq!(
        one.each_ref().map(|(picture, _)| checksum(picture)),
        [0x11bdf8bb72d0dd69, 0x00c0f1f057b7ee16, 0xcb8937c2a350e890]
    );
    let other = scene(SceneParams { seed: 2, ..params }).render(31);
    assert!(other.0 != one[1].0 && other.1 != one[1].1);
}

#[test]
fn frames_do_not_depend_on_how_many_there_are() {
    let short = scene(SceneParams { frames: 3, ..Preset::Medium.params() });
    let long = scene(SceneParams { frames: 3000, ..Preset::Medium.params() });
    assert!(short.render(2) == long.render(2));
    assert_eq!(short.iter().len(), 3);
}

/// Where a profile crosses half of its level, from both ends.
fn extent(profile: &[f64]) -> (f64, f64) {
    let edge = |values: &[f64]| {
        let first = values.iter().position(|v| *v >= 0.5).unwrap();
        let (before, after) = (values[first - 1], values[first]);
        first as f64 - 0.5 + (0.5 - before) / (after - before)
    };
    let back: Vec<f64> = profile.iter().rev().copied().collect();
    (edge(profile), profile.len() as f64 - edge(&back))
}

#[test]
fn the_box_is_the_extent_of_the_pixels() {
    for (seed, (target_width, target_height)) in (0..).zip([(40, 60), (60, 30), (33, 33), (16, 90)]) {
        let (width, height) = (260, 240);
        let params = SceneParams { width, height, target_width, target_height, seed, ..SceneParams::default() };
        let scene = red_on_black(SceneParams { motion: 3.0, scale: 0.4, rotation: 100.0, ..params });
        for index in 0..20 {
            let (picture, truth) = scene.render(index * 10);
            let level = |x: u32, y: u32| red(picture.get_pixel(x, y));
            let columns: Vec<f64> = (0..260).map(|x| (0..240).map(|y| level(x, y)).fold(0.0, f64::max)).collect();
            let rows: Vec<f64> = (0..240).map(|y| (0..260).map(|x| level(x, y)).fold(0.0, f64::max)).collect();
            let ((left, right), (top, bottom)) = (extent(&columns), extent(&rows));
            let b = truth.bbox;
            let errors = [left - b.x, right - b.x - b.w, top - b.y, bottom - b.y - b.h];
            assert!(errors.iter().all(|e| e.abs() < 0.5), "frame {index}, {truth:?}: {errors:?}");
            // The centre of mass is the centre: the outline is symmetric.
            let mass: f64 = picture.pixels().map(red).sum();
            let middle = |axis: usize| {
                let place = |x: u32, y: u32| f64::from(if axis == 0 { x } else { y }) + 0.5;
                picture.enumerate_pixels().map(|(x, y, p)| place(x, y) * red(p)).sum::<f64>() / mass
            };
            assert!((middle(0) - truth.center[0]).abs() < 0.02 && (middle(1) - truth.center[1]).abs() < 0.02);
            let (x, y) = b.center();
            assert!((x - truth.center[0]).abs() < 1e-9 && (y - truth.center[1]).abs() < 1e-9);
        }
    }
}

#[test]
fn the_visible_share_is_the_share_of_the_pixels() {
    let params = SceneParams { scale: 0.3, rotation: 30.0, motion: 3.0, ..SceneParams::default() };
    let scene = red_on_black(SceneParams { occlusion: 0.6, out_of_view: true, ..params });
    let (mut least, mut partly_outside) = (1.0_f64, 0);
    for index in (0..120).step_by(2) {
        let (picture, truth) = scene.render(index);
        let seen: f64 = picture.pixels().map(red).filter(|red| *red > 0.15).sum();
        // Area of the superellipse of exponent 4: 4 a b Γ(5/4)² / Γ(3/2).
        let whole = 3.708_149_354_602_744 * 19.0 * 30.0 * truth.scale * truth.scale;
        assert!((seen / whole - truth.visible).abs() < 0.03, "frame {index}: {} {}", seen / whole, truth.visible);
        let share = truth.bbox.visible_share(320, 240);
        assert_eq!(truth.in_view, share > 0.0);
        if share == 1.0 {
            least = least.min(truth.visible);
        }
        partly_outside += usize::from(0.0 < share && share < 1.0);
    }
    assert!((least - 0.4).abs() < 0.05 && partly_outside > 1, "{least} {partly_outside}");
}

#[test]
fn a_beam_hides_its_share() {
    for share in [0.1, 0.35, 0.8, 1.0] {
        let scene = scene(SceneParams { occlusion: share, motion: 3.0, rotation: 45.0, ..SceneParams::default() });
        let least = (0..80).map(|i| scene.truth(i).visible).fold(1.0, f64::min);
        assert!((least - (1.0 - share)).abs() < 0.01, "{share}: {least}");
    }
}

/// Frames from the first to the last without a visible pixel of the first event.
fn gone(params: SceneParams) -> usize {
    let scene = scene(SceneParams { motion: 4.0, ..params });
    let seen: Vec<f64> = (0..170).map(|i| scene.truth(i).visible).collect();
    let first = seen.iter().position(|&seen| seen == 0.0).unwrap();
    assert_eq!(seen[0], 1.0, "the first frame shows the target");
    assert!(seen[first..].contains(&1.0), "it comes back");
    seen[first..].iter().take_while(|&&seen| seen < 0.01).count()
}

#[test]
fn occlusions_and_absences_last_as_long_as_they_should() {
    for (hold, least) in [(0.0, 1), (20.0, 20), (60.0, 60)] {
        let hidden = gone(SceneParams { occlusion: 1.0, rotation: 30.0, hold, ..SceneParams::default() });
        assert!((least..least + 6).contains(&hidden), "{hold}: {hidden}");
        let away = gone(SceneParams { out_of_view: true, hold, ..SceneParams::default() });
        assert!((least + 9..least + 18).contains(&away), "{hold}: {away}");
    }
}

#[test]
fn effects_on_the_picture_leave_the_truth_alone() {
    let base = SceneParams { scale: 0.1, rotation: 10.0, ..small() };
    let plain = scene(base.clone());
    let cases: [(&str, SceneParams); 5] = [
        ("illumination", SceneParams { illumination: 0.7, ..base.clone() }),
        ("blur", SceneParams { blur: 2.0, ..base.clone() }),
        ("noise", SceneParams { noise: 4.0, ..base.clone() }),
        ("clutter", SceneParams { clutter: 3, ..base.clone() }),
        ("camera", SceneParams { camera: 1.0, ..base.clone() }),
    ];
    for (name, params) in cases {
        let changed = scene(params);
        for index in [0, 9, 40] {
            let ((before, was), (after, is)) = (plain.render(index), changed.render(index));
            assert_eq!(was, is, "{name}");
            // Light and focus begin neutral.
            let neutral = index == 0 && ["illumination", "blur"].contains(&name);
            assert_eq!(before == after, neutral, "{name}, frame {index}");
        }
    }
}

#[test]
fn effects_on_the_target_change_what_they_name() {
    let plain = scene(small());
    let growing = scene(SceneParams { scale: 0.3, ..small() });
    let turning = scene(SceneParams { rotation: 30.0, ..small() });
    let hidden = scene(SceneParams { occlusion: 0.7, ..small() });
    let leaving = scene(SceneParams { out_of_view: true, ..small() });
    let (mut scales, mut angles, mut path) = ((1.0_f64, 1.0_f64), (0.0_f64, 0.0_f64), 0.0);
    for index in 0..150 {
        let was = plain.truth(index);
        assert_eq!((was.scale, was.angle, was.visible, was.in_view), (1.0, 0.0, 1.0, true));
        assert_eq!((was.bbox.w, was.bbox.h), (20.0, 28.0));
        path += plain.truth(index + 1).bbox.center_error(&was.bbox).powi(2);
        let grown = growing.truth(index);
        assert_eq!((grown.angle, grown.visible), (0.0, 1.0));
        scales = (scales.0.min(grown.scale), scales.1.max(grown.scale));
        let turned = turning.truth(index);
        assert_eq!((turned.scale, turned.visible), (1.0, 1.0));
        angles = (angles.0.min(turned.angle), angles.1.max(turned.angle));
        assert_eq!(Truth { visible: 1.0, ..hidden.truth(index) }, was);
        let away = leaving.truth(index);
        assert_eq!((away.center[1], away.scale, away.angle), (was.center[1], 1.0, 0.0));
    }
    assert!(((path / 150.0).sqrt() - 2.0).abs() < 0.2, "{path}");
    assert!((scales.0 - 1.0 / 1.3).abs() < 0.01 && (scales.1 - 1.3).abs() < 0.01, "{scales:?}");
    assert!((angles.0 + 30.0).abs() < 0.1 && (angles.1 - 30.0).abs() < 0.1, "{angles:?}");
    // The first frame is the plain one, so that the first box starts a tracker on a clear view.
    let first = scene(Preset::Hard.params()).truth(0);
    assert_eq!((first.scale, first.angle, first.visible, first.bbox.w), (1.0, 0.0, 1.0, 38.0));
}

#[test]
fn look_alikes_pass_beneath_the_target() {
    let clutter: Vec<Scene> = (1..9).map(|seed| scene(SceneParams { clutter: 20, seed, ..small() })).collect();
    for crowded in &clutter {
        let plain = scene(SceneParams { clutter: 0, ..crowded.params().clone() });
        let ((before, truth), (after, _)) = (plain.render(30), crowded.render(30));
        let (x, y) = (truth.center[0] as u32, truth.center[1] as u32);
        assert_eq!(before.get_pixel(x, y), after.get_pixel(x, y));
        assert!(before != after);
    }
}

#[test]
fn an_error_names_the_parameter() {
    for (name, params) in [
        ("frames", SceneParams { frames: 0, ..small() }),
        ("width", SceneParams { width: 0, ..small() }),
        ("target-width", SceneParams { target_width: 0, ..small() }),
        ("target", SceneParams { target_height: 91, ..small() }),
        ("target", SceneParams { target_height: 80, scale: 0.5, ..small() }),
        ("target", SceneParams { target_width: 118, rotation: 90.0, ..small() }),
        ("motion", SceneParams { motion: f64::NAN, ..small() }),
        ("hold", SceneParams { hold: 61.0, ..small() }),
    ] {
        let error = Scene::new(params).unwrap_err();
        assert!(matches!(&error, Error::Setting { path, .. } if path == name), "{name}: {error}");
    }
}

fn strength() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.0..=1.0_f64, 2 => 0.0..120.0_f64, 1 => proptest::num::f64::ANY]
}

fn side() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 16..80_u32, 1 => Just(0), 1 => 4097..=u32::MAX]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_parameters_give_an_error_or_a_picture(
        sides in (side(), side(), 8..40_u32, 8..40_u32),
        moves in (strength(), strength(), strength(), strength(), strength(), strength()),
        looks in (strength(), strength(), strength()),
        rest in (any::<u32>(), 0..66_usize, any::<bool>()),
        index in prop_oneof![4 => 0..500_usize, 1 => any::<usize>()],
    ) {
        let params = SceneParams {
            frames: 10,
            width: sides.0,
            height: sides.1,
            target_width: sides.2,
            target_height: sides.3,
            seed: rest.0,
            motion: moves.0,
            jump: moves.1,
            camera: moves.2,
            scale: moves.3,
            rotation: moves.4,
            hold: moves.5,
            occlusion: looks.0,
            illumination: looks.1,
            blur: looks.2,
            clutter: rest.1,
            out_of_view: rest.2,
            noise: looks.0,
        };
        match Scene::new(params.clone()) {
            Err(error) => prop_assert!(matches!(error, Error::Setting { .. }), "{}", error),
            Ok(scene) => {
                let (picture, truth) = scene.render(index);
                prop_assert_eq!(picture.dimensions(), (params.width, params.height));
                prop_assert!(truth.bbox.is_valid() && (0.0..=1.0).contains(&truth.visible));
                let (w, h) = (params.width as usize, params.height as usize);
                prop_assert!(params.out_of_view || truth.bbox.visible_share(w, h) > 1.0 - 1e-9, "{:?}", truth);
            }
        }
    }
}
