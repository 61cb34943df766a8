use super::*;
use crate::error::Error;
use proptest::prelude::*;

const RED: [u8; 3] = [255, 0, 0];

/// A small quick scene.
fn small() -> SceneParams {
    SceneParams {
        frames: 12,
        width: 120,
        height: 90,
        target_width: 20,
        target_height: 28,
        noise: 0.0,
        ..SceneParams::default()
    }
}

fn scene(params: SceneParams) -> Scene {
    Scene::new(params).unwrap()
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
    // Made on x86-64 Linux; another number on another machine would break the promise.
    assert_eq!(
        one.each_ref().map(|(picture, _)| checksum(picture)),
        [0xee38c42e5b991851, 0xc62ea3a6abaee628, 0x932b165b50141754]
    );
    let other = Scene::new(SceneParams { seed: 2, ..params }).unwrap().render(31);
    assert!(other.0 != one[1].0 && other.1 != one[1].1);
}

#[test]
fn frames_do_not_depend_on_how_many_there_are() {
    let short = scene(SceneParams { frames: 3, ..Preset::Medium.params() });
    let long = scene(SceneParams { frames: 3000, ..Preset::Medium.params() });
    assert!(short.render(2) == long.render(2));
    assert_eq!(short.iter().len(), 3);
}

/// Where the brightest row or column profile crosses half, from both ends.
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
    let mut widest = 0.0_f64;
    for (seed, (target_width, target_height)) in [(40, 60), (60, 30), (33, 33), (16, 90)].into_iter().enumerate() {
        let scene = scene(SceneParams {
            width: 260,
            height: 240,
            target_width,
            target_height,
            seed: seed as u64,
            motion: 3.0,
            scale: 0.4,
            rotation: 100.0,
            noise: 0.0,
            backdrop: Backdrop::Flat([0; 3]),
            pattern: Pattern::Flat([255; 3]),
            ..SceneParams::default()
        });
        for index in 0..40 {
            let (picture, truth) = scene.render(index * 5);
            let level = |x: u32, y: u32| f64::from(picture.get_pixel(x, y)[0]) / 255.0;
            let columns: Vec<f64> = (0..260).map(|x| (0..240).map(|y| level(x, y)).fold(0.0, f64::max)).collect();
            let rows: Vec<f64> = (0..240).map(|y| (0..260).map(|x| level(x, y)).fold(0.0, f64::max)).collect();
            let ((left, right), (top, bottom)) = (extent(&columns), extent(&rows));
            let b = truth.bbox;
            let errors = [left - b.x, right - b.x - b.w, top - b.y, bottom - b.y - b.h];
            let worst = errors.iter().fold(0.0_f64, |most, e| most.max(e.abs()));
            assert!(worst < 0.5, "frame {index}, {truth:?}: {errors:?}");
            widest = widest.max(worst);
            // The centre of mass is the centre: the outline is symmetric.
            let mass: f64 = picture.pixels().map(|p| f64::from(p[0])).sum::<f64>();
            let middle = |axis: usize| {
                let place = |x: u32, y: u32| f64::from(if axis == 0 { x } else { y }) + 0.5;
                picture.enumerate_pixels().map(|(x, y, p)| place(x, y) * f64::from(p[0])).sum::<f64>() / mass
            };
            assert!((middle(0) - truth.center[0]).abs() < 0.02 && (middle(1) - truth.center[1]).abs() < 0.02);
            let (x, y) = b.center();
            assert!((x - truth.center[0]).abs() < 1e-9 && (y - truth.center[1]).abs() < 1e-9);
        }
    }
    assert!(widest > 0.0);
}

#[test]
fn visible_share_is_the_share_of_the_pixels() {
    let params = SceneParams {
        frames: 120,
        scale: 0.3,
        rotation: 30.0,
        motion: 3.0,
        noise: 0.0,
        backdrop: Backdrop::Flat([0; 3]),
        pattern: Pattern::Flat(RED),
        ..SceneParams::default()
    };
    let hidden = scene(SceneParams { occlusion: 0.6, out_of_view: true, ..params });
    let (mut least_occluded, mut partly_outside) = (1.0_f64, 0);
    for index in (0..120).step_by(2) {
        let (picture, truth) = hidden.render(index);
        // Beams are gray, the target is red.
        let red = |p: &image::Rgb<u8>| (f64::from(p[0]) - f64::from(p[1])) / 255.0;
        let seen: f64 = picture.pixels().map(red).filter(|r| *r > 0.15).sum();
        let whole = picture_area(&truth, hidden.params());
        assert!((seen / whole - truth.visible).abs() < 0.03, "frame {index}: {} {}", seen / whole, truth.visible);
        assert_eq!(truth.in_view, truth.bbox.visible_share(320, 240) > 0.0);
        if truth.bbox.visible_share(320, 240) == 1.0 {
            least_occluded = least_occluded.min(truth.visible);
        } else if truth.in_view {
            partly_outside += 1;
        }
    }
    assert!((least_occluded - 0.4).abs() < 0.05, "{least_occluded}");
    assert!(partly_outside > 1);
    assert!(!hidden.truth(hidden_middle(&hidden)).in_view);
}

/// Area of the superellipse of exponent 4: 4 a b Γ(5/4)² / Γ(3/2), in pixels.
fn picture_area(truth: &Truth, params: &SceneParams) -> f64 {
    let (a, b) = (f64::from(params.target_width) / 2.0, f64::from(params.target_height) / 2.0);
    3.708_149_354_602_744 * a * b * truth.scale * truth.scale
}

/// A frame in which the target is away.
fn hidden_middle(scene: &Scene) -> usize {
    (0..200).find(|i| !scene.truth(*i).in_view).unwrap()
}

#[test]
fn a_beam_hides_its_share() {
    let scene = scene(SceneParams { occlusion: 1.0, motion: 3.0, rotation: 45.0, ..SceneParams::default() });
    let least = |scene: &Scene| (0..80).map(|i| scene.truth(i).visible).fold(1.0, f64::min);
    assert_eq!(least(&scene), 0.0);
    // And a share is that share.
    for share in [0.1, 0.35, 0.8] {
        let scene = self::scene(SceneParams { occlusion: share, ..scene.params().clone() });
        assert!((least(&scene) - (1.0 - share)).abs() < 0.01, "{share}: {}", least(&scene));
    }
}

#[test]
fn a_beam_that_holds_hides_the_target_for_so_many_frames_and_goes_along_with_it() {
    let params = SceneParams { occlusion: 1.0, motion: 4.0, rotation: 30.0, frames: 150, ..SceneParams::default() };
    let hidden = |hold: f64| {
        let scene = scene(SceneParams { hold, ..params.clone() });
        let seen: Vec<f64> = (0..150).map(|i| scene.truth(i).visible).collect();
        let first = seen.iter().position(|&seen| seen == 0.0).unwrap();
        assert_eq!(seen[0], 1.0);
        assert!(seen[first..].contains(&1.0), "it comes back");
        seen[first..].iter().take_while(|&&seen| seen < 0.01).count()
    };
    assert!((1..4).contains(&hidden(0.0)), "{}", hidden(0.0));
    assert!((20..24).contains(&hidden(20.0)), "{}", hidden(20.0));
}

#[test]
fn effects_on_the_picture_leave_the_truth_alone() {
    let base = SceneParams { motion: 2.0, scale: 0.1, rotation: 10.0, ..small() };
    let plain = scene(base.clone());
    let cases: [(&str, SceneParams); 6] = [
        ("illumination", SceneParams { illumination: 0.7, ..base.clone() }),
        ("blur", SceneParams { blur: 2.0, ..base.clone() }),
        ("shutter", SceneParams { shutter: 0.8, ..base.clone() }),
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
    let base = SceneParams { motion: 2.0, ..small() };
    let plain = scene(base.clone());
    let jumping = scene(SceneParams { jump: 20.0, ..base.clone() });
    let growing = scene(SceneParams { scale: 0.3, ..base.clone() });
    let turning = scene(SceneParams { rotation: 30.0, ..base.clone() });
    let hidden = scene(SceneParams { occlusion: 0.7, ..base.clone() });
    let leaving = scene(SceneParams { out_of_view: true, ..base });
    let (mut scales, mut angles) = ((1.0_f64, 1.0_f64), (0.0_f64, 0.0_f64));
    for index in 0..150 {
        let was = plain.truth(index);
        assert_eq!((was.scale, was.angle, was.visible, was.in_view), (1.0, 0.0, 1.0, true));
        assert_eq!((was.bbox.w, was.bbox.h), (20.0, 28.0));
        let grown = growing.truth(index);
        assert_eq!((grown.angle, grown.visible), (0.0, 1.0));
        scales = (scales.0.min(grown.scale), scales.1.max(grown.scale));
        let turned = turning.truth(index);
        assert_eq!((turned.scale, turned.visible), (1.0, 1.0));
        angles = (angles.0.min(turned.angle), angles.1.max(turned.angle));
        let behind = hidden.truth(index);
        assert_eq!(Truth { visible: 1.0, ..behind }, was);
        let away = leaving.truth(index);
        assert_eq!((away.center[1], away.scale, away.angle), (was.center[1], 1.0, 0.0));
        let jumped = jumping.truth(index);
        assert_eq!(jumped.visible, 1.0);
        assert_eq!(jumped == was, index % 48 < 24, "frame {index}");
    }
    assert!((scales.0 - 1.0 / 1.3).abs() < 0.01 && (scales.1 - 1.3).abs() < 0.01, "{scales:?}");
    assert!((angles.0 + 30.0).abs() < 0.1 && (angles.1 - 30.0).abs() < 0.1, "{angles:?}");
    // The first frame is the plain one, so that the first box starts a tracker on a clear view.
    let first = scene(Preset::Hard.params()).truth(0);
    assert_eq!((first.scale, first.angle, first.visible, first.bbox.w), (1.0, 0.0, 1.0, 38.0));
}

#[test]
fn beams_and_look_alikes_change_only_the_pixels_they_cover() {
    let base = SceneParams { motion: 2.0, ..small() };
    let plain = scene(base.clone());
    let (before, truth) = plain.render(30);
    let crowded = scene(SceneParams { clutter: 2, ..base.clone() });
    let (after, _) = crowded.render(30);
    // Look-alikes pass beneath: the middle of the target stays.
    let (x, y) = (truth.center[0] as u32, truth.center[1] as u32);
    assert_eq!(before.get_pixel(x, y), after.get_pixel(x, y));
    let changed: Vec<(f64, f64)> = (before.enumerate_pixels().zip(after.pixels()))
        .filter(|((_, _, a), b)| a != b)
        .map(|((x, y, _), _)| (f64::from(x), f64::from(y)))
        .collect();
    let poses: Vec<_> = crowded.motion.others(30.0).collect();
    assert!(changed.len() > 100);
    assert!(changed.iter().all(|(x, y)| poses.iter().any(|p| (p.x - x).abs() < 26.0 && (p.y - y).abs() < 26.0)));

    let hidden = scene(SceneParams { occlusion: 0.5, ..base });
    let (after, _) = hidden.render(38);
    let (before, _) = plain.render(38);
    let beam = hidden.motion.beam(38.0).unwrap();
    for ((x, y, a), b) in before.enumerate_pixels().zip(after.pixels()) {
        let near = beam.distance(f64::from(x) + 0.5, f64::from(y) + 0.5).abs() < beam.half + 0.75;
        assert!(near || a == b);
    }
}

#[test]
fn the_camera_moves_the_ground() {
    let still = scene(SceneParams { pattern: Pattern::Flat(RED), ..small() });
    let moving = scene(SceneParams { camera: 2.0, ..still.params().clone() });
    let corner = |picture: &RgbImage| *picture.get_pixel(2, 2);
    assert_eq!(corner(&still.render(0).0), corner(&still.render(20).0));
    assert_ne!(corner(&moving.render(0).0), corner(&moving.render(20).0));
}

#[test]
fn bad_parameters_name_their_flag() {
    let flag = |params: SceneParams| match Scene::new(params) {
        Err(Error::Parameter { name, .. }) => name,
        other => panic!("{:?}", other.map(|s| s.params().clone())),
    };
    for (name, params) in [
        ("frames", SceneParams { frames: 0, ..small() }),
        ("frames", SceneParams { frames: usize::MAX, ..small() }),
        ("size", SceneParams { width: 0, ..small() }),
        ("size", SceneParams { height: u32::MAX, ..small() }),
        ("target", SceneParams { target_width: 0, ..small() }),
        ("target", SceneParams { target_height: 91, ..small() }),
        ("target", SceneParams { target_height: 80, scale: 0.5, ..small() }),
        ("target", SceneParams { target_width: 118, rotation: 90.0, ..small() }),
        ("motion", SceneParams { motion: f64::NAN, ..small() }),
        ("jump", SceneParams { jump: f64::INFINITY, ..small() }),
        ("camera", SceneParams { camera: -1.0, ..small() }),
        ("scale", SceneParams { scale: -0.5, ..small() }),
        ("rotation", SceneParams { rotation: 361.0, ..small() }),
        ("occlusion", SceneParams { occlusion: 1.5, ..small() }),
        ("hold", SceneParams { hold: 61.0, ..small() }),
        ("illumination", SceneParams { illumination: f64::NEG_INFINITY, ..small() }),
        ("shutter", SceneParams { shutter: 2.0, ..small() }),
        ("blur", SceneParams { blur: 1e9, ..small() }),
        ("clutter", SceneParams { clutter: 65, ..small() }),
        ("noise", SceneParams { noise: -0.0001, ..small() }),
    ] {
        assert_eq!(flag(params), name);
    }
    let text = Scene::new(SceneParams { motion: f64::NAN, ..small() }).unwrap_err().to_string();
    assert_eq!(text, "motion NaN: must be a number from 0 to 100 pixels per frame");
    for preset in Preset::ALL {
        assert!(preset.params().check().is_ok(), "{}", preset.name());
    }
}

fn strength() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.0..=1.0_f64, 2 => 0.0..120.0_f64, 1 => proptest::num::f64::ANY]
}

fn side() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 8..80_u32, 1 => Just(0), 1 => 4097..=u32::MAX]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_parameters_give_an_error_or_a_picture(
        sides in (side(), side(), 1..40_u32, 1..40_u32),
        moves in (strength(), strength(), strength(), strength(), strength()),
        looks in (strength(), strength(), strength(), strength(), strength(), strength()),
        rest in (any::<u64>(), 0..66_usize, any::<bool>()),
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
            occlusion: looks.0,
            hold: looks.5,
            illumination: looks.1,
            shutter: looks.2,
            blur: looks.3,
            clutter: rest.1,
            out_of_view: rest.2,
            noise: looks.4,
            backdrop: Backdrop::Ground,
            pattern: Pattern::Car,
        };
        match Scene::new(params.clone()) {
            Err(error) => prop_assert!(matches!(error, Error::Parameter { .. }), "{}", error),
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

/// Half of the parameter space is an error above; this half never is.
#[test]
fn sound_parameters_give_pictures_at_the_limits() {
    for (width, height) in [(16, 16), (16, 300), (300, 16)] {
        let scene = scene(SceneParams {
            frames: 2,
            width,
            height,
            target_width: 8,
            target_height: 8,
            motion: 100.0,
            jump: 4096.0,
            camera: 20.0,
            scale: 0.4,
            rotation: 360.0,
            occlusion: 1.0,
            illumination: 1.0,
            shutter: 1.0,
            blur: 16.0,
            clutter: 64,
            out_of_view: true,
            noise: 64.0,
            ..SceneParams::default()
        });
        assert_eq!(scene.render(90).0.dimensions(), (width, height));
    }
}
