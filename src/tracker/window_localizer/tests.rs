//! A search by windows: the place that it finds, the samples that it learns and their weight.

use super::*;
use crate::machines::{MachineKind, MachineParams, krr};
use crate::tracker::Evidence;
use crate::tracker::scenes::{Picture, target_at};
use crate::{State, Tracker};

const START: (f64, f64) = (70.0, 60.0);
/// A place in the search area apart from the target.
const BESIDE: (f64, f64) = (98.0, 64.0);

fn picture(corner: (f64, f64)) -> Picture {
    Picture::ground(180, 150).with_target(corner)
}

fn search(machine: MachineKind, change: impl FnOnce(&mut WindowParams)) -> WindowLocalizer {
    let mut params = WindowParams::of(machine);
    change(&mut params);
    WindowLocalizer::new(&params, &picture(START).frame(), target_at(START)).unwrap()
}

fn here() -> Pose {
    Pose::of(target_at(START))
}

fn scan(search: &mut WindowLocalizer, picture: &Picture) {
    assert!(search.scan(&picture.frame(), here()));
}

fn learn(search: &mut WindowLocalizer, picture: &Picture, update: Update) {
    let learned = search.learn(&picture.frame(), &Located::new(here(), Evidence::default(), None, true), update);
    assert_eq!(learned, Learned::Done);
}

/// The score of the window whose target has its corner there.
fn score(search: &WindowLocalizer, corner: (f64, f64)) -> f64 {
    let (row, col) = search.grid.place_of(target_at(corner).center());
    let width = search.grid.windows().1;
    f64::from(search.detector.response()[row.round() as usize * width + col.round() as usize])
}

fn distance(center: (f64, f64), corner: (f64, f64)) -> f64 {
    let truth = target_at(corner).center();
    (center.0 - truth.0).hypot(center.1 - truth.1)
}

/// Cells are 4 pixels wide: without the parabola a target in between would be 2 pixels off.
#[test]
fn a_target_between_two_cells_is_found_between_them() {
    for kind in [MachineKind::Svm, MachineKind::Klda, MachineKind::Krr] {
        for moved in [(2.0, 0.0), (0.0, 2.0), (-1.5, 1.5)] {
            let corner = (START.0 + moved.0, START.1 + moved.1);
            let mut search = search(kind, |_| {});
            let found = search.locate(&picture(corner).frame(), here(), Extent::Pose).pose;
            let off = distance(found.center, corner);
            assert!(off < 1.6, "{kind}, moved by {moved:?}: {off} pixels off");
        }
    }
}

#[test]
fn the_nearer_of_two_likenesses_is_the_target_by_the_prior() {
    let (near, far) = ((74.0, 64.0), (98.0, 80.0));
    let two = Picture::ground(180, 150).with_likeness(near, 0.85).with_target(far);
    let found = |prior: f64| {
        let mut search = search(MachineKind::Klda, |p| p.prior = prior);
        scan(&mut search, &two);
        (search.best(true), search.best(false))
    };
    let (blind, highest) = found(0.0);
    assert!(distance(blind.center, far) < 2.0 && distance(highest.center, far) < 2.0, "{blind:?}");
    let (found, highest) = found(WindowParams::of(MachineKind::Klda).prior);
    assert!(distance(found.center, near) < 2.5, "{found:?}");
    // The score is the machine's own, whatever nearness made of it.
    assert!(found.score < highest.score && distance(highest.center, far) < 2.0);
}

#[test]
fn the_highest_wrong_windows_become_background() {
    let two = picture(START).with_likeness(BESIDE, 0.8);
    let scores = |hard_negatives: usize| {
        let mut search = search(MachineKind::Klda, |p| p.hard_negatives = hard_negatives);
        scan(&mut search, &two);
        let before = score(&search, BESIDE);
        learn(&mut search, &two, Update::Blend(0.05));
        assert!(search.peaks.len() <= hard_negatives);
        let places = search.peaks.clone();
        scan(&mut search, &two);
        assert!(score(&search, START) > 0.8);
        (before, score(&search, BESIDE), places)
    };
    let (before, without, _) = scores(0);
    assert!(before > 0.0, "it looks like the target: {before}");
    assert!((without - before).abs() < 0.1, "{before}, then {without}");
    let (_, with, places) = scores(3);
    assert!(with < before - 0.3, "{before}, then {with}");
    // The distractor comes first; none of them is the target itself.
    let search = search(MachineKind::Klda, |_| {});
    let (_, row, col) = places[0];
    assert!(distance(search.grid.center_of((row as f64, col as f64)), BESIDE) < 4.0, "{places:?}");
    let (r0, c0) = search.grid.place_of(target_at(START).center());
    assert!(places.iter().all(|&(_, r, c)| search.grid.apart(r as f64 - r0, c as f64 - c0)), "{places:?}");
    assert!(places.windows(2).all(|pair| pair[0].0 >= pair[1].0), "{places:?}");
}

/// By its own rate a search gives a new sample the share that is set, and not another one.
#[test]
fn a_new_sample_gets_the_share_that_is_set() {
    let changed = Picture::ground(180, 150).with_likeness(START, 0.8);
    let share = WindowParams::of(MachineKind::Klda).sample_share;
    let response = |update: Update| {
        let mut search = search(MachineKind::Klda, |p| p.gate = -100.0);
        search.locate(&changed.frame(), here(), Extent::Pose);
        learn(&mut search, &changed, update);
        scan(&mut search, &changed);
        search.detector.response().to_vec()
    };
    let by_itself = response(Update::Usual);
    assert_eq!(by_itself, response(Update::Blend(share)));
    for other in [share / 2.0, share * 2.0] {
        assert_ne!(by_itself, response(Update::Blend(other)));
    }
}

/// A regression is told how far beside the target a window lies.
#[test]
fn windows_beside_the_target_are_fitted_to_softer_labels() {
    let machine = MachineParams::Krr(krr::Params { lambda: 1e-9, bias: true });
    let mut search = search(MachineKind::Krr, |p| p.machine = machine);
    scan(&mut search, &picture(START));
    for (dr, dc) in [(0.0, 0.0), (-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)] {
        let label = search.grid.label(dr, dc);
        let found = score(&search, (START.0 + dc * search.grid.step(), START.1 + dr * search.grid.step()));
        assert!((found - label).abs() < 0.05, "{dr}, {dc}: {found}, not {label}");
    }
    assert!(search.grid.label(0.0, 1.0) < 0.5 && search.grid.label(0.0, 0.0) == 1.0);
}

#[test]
fn an_evaluation_at_one_place_stays_there() {
    let mut search = search(MachineKind::Klda, |_| {});
    let beside = picture(BESIDE);
    let at = search.score_at(&beside.frame(), here());
    let best = search.locate(&beside.frame(), here(), Extent::Pose);
    assert_eq!(at.pose, here());
    assert!(distance(best.pose.center, BESIDE) < 4.0 && best.evidence.peak > at.evidence.peak + 0.5, "{at:?} {best:?}");
}

/// Of so many accepted frames one is learned from; a doubtful one is none of them.
#[test]
fn only_accepted_frames_count() {
    let same = picture(START);
    let mut search = search(MachineKind::Klda, |p| (p.gate, p.interval) = (0.2, 3));
    let mut learned = Vec::new();
    for score in [0.3, 0.1, 0.3, 0.1, 0.3, 0.3] {
        scan(&mut search, &same);
        let before = search.detector.response().to_vec();
        search.learn_above_gate(&Picture::ground(180, 150).with_likeness(START, 0.5).frame(), here(), score);
        scan(&mut search, &same);
        learned.push(search.detector.response() != before);
    }
    assert_eq!(learned, [false, false, false, false, true, false]);
}

/// A place is the windows within a cell of it: whichever of the nine is the target counts, and none farther away.
#[test]
fn what_is_said_of_a_place_is_of_the_best_window_within_a_cell() {
    let mut search = search(MachineKind::Klda, |_| {});
    let (middle, step) = (search.grid.place_of(target_at(START).center()), search.grid.step());
    let middle = (middle.0.round() as usize, middle.1.round() as usize);
    for (rows, cols) in [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 0), (0, 1), (1, -1), (1, 0), (1, 1)] {
        let corner = (START.0 + f64::from(cols) * step, START.1 + f64::from(rows) * step);
        scan(&mut search, &picture(corner));
        let place = (middle.0.wrapping_add_signed(rows as isize), middle.1.wrapping_add_signed(cols as isize));
        assert_eq!(search.place_at_middle(), place, "{rows}, {cols}");
        assert_eq!(search.score_at_middle(), score(&search, corner), "{rows}, {cols}");
    }
    for (rows, cols) in [(0.0, 2.0), (0.0, -2.0), (2.0, 0.0), (-2.0, 0.0)] {
        let corner = (START.0 + cols * step, START.1 + rows * step);
        scan(&mut search, &picture(corner));
        assert!(search.score_at_middle() < score(&search, corner) - 0.1, "{rows}, {cols}");
    }
}

/// `1 - prior` at the border, 1 in the middle, and a Hann window in both directions between: what is left of the cosine
/// by both.
#[test]
fn nearness_is_a_raised_cosine_in_both_directions() {
    for prior in [0.0, 0.3, 1.0] {
        let search = search(MachineKind::Svm, |p| p.prior = prior);
        let (height, width) = search.grid.windows();
        let cosine = |at: usize, of: usize| {
            let angle = std::f64::consts::TAU * (at + 1) as f64 / (of + 1) as f64;
            0.5 - 0.5 * angle.cos()
        };
        for (i, &weight) in search.prior.iter().enumerate() {
            let expected = 1.0 - prior * (1.0 - cosine(i / width, height) * cosine(i % width, width));
            assert!((f64::from(weight) - expected).abs() < 1e-6, "prior {prior} at {i}: {weight}, not {expected}");
        }
    }
}

/// Where nothing is like the target, scores lie between the background's mean of -1 and 0: nearness must not favour
/// those that are far away.
#[test]
fn nearness_counts_above_the_mean_of_the_background() {
    let mut search = search(MachineKind::Klda, |_| {});
    scan(&mut search, &Picture::ground(180, 150));
    let response = search.detector.response();
    assert!(response.iter().all(|&score| score < 0.0), "something is like the target");
    let judged: Vec<f32> = response.iter().zip(&search.prior).map(|(&v, &near)| (v.max(-1.0) + 1.0) * near).collect();
    let highest = judged.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (row, col) = search.best(true).place;
    assert_eq!(judged[row * search.grid.windows().1 + col], highest);
    let (height, width) = search.grid.windows();
    let step = search.grid.step();
    assert_eq!(search.grid.reach(), ((width / 2) as f64 * step, (height / 2) as f64 * step));
}

/// Stripes all over the picture: no window scores above the background's mean, and so none is better than another.
fn covered(width: usize, height: usize) -> Vec<u8> {
    (0..width * height).map(|i| if i / width % 4 < 2 { 200 } else { 40 }).collect()
}

#[test]
fn a_target_that_is_covered_for_some_frames_stays_where_it_was() {
    let (width, height) = (300, 260);
    let start = (120.0, 100.0);
    let (shown, hidden) = (Picture::ground(width, height).with_target(start), covered(width, height));
    for &kind in MachineKind::ALL {
        for (prior, frames) in [(WindowParams::of(kind).prior, 2), (WindowParams::of(kind).prior, 4), (0.0, 4)] {
            let mut tracker = Tracker::new(WindowParams { prior, ..WindowParams::of(kind) }.into()).unwrap();
            tracker.init(shown.frame(), target_at(start)).unwrap();
            for _ in 0..3 {
                tracker.update(shown.frame()).unwrap();
            }
            let (x, y) = tracker.bbox().unwrap().center();
            let said = format!("{kind}, prior {prior}, {frames} frames");
            for _ in 0..frames {
                let blind = tracker.update(Frame::gray(&hidden, width, height).unwrap()).unwrap();
                // Windows are cut at whole pixels.
                let off = (blind.bbox.center().0 - x).hypot(blind.bbox.center().1 - y);
                assert!(off < 1.0 && blind.state == State::Lost, "{said}: {off} pixels off, {}", blind.state);
            }
            let again = tracker.update(shown.frame()).unwrap();
            let off = distance(again.bbox.center(), start);
            assert!(off < 2.5 && again.state == State::Tracking, "{said}: {off} pixels off, {}", again.state);
        }
    }
}

/// The current window wins where all are alike, whether nearness counts or not, and over NaN.
#[test]
fn where_no_window_is_better_the_target_has_not_moved() {
    let mut search = search(MachineKind::Klda, |_| {});
    let (height, width) = search.grid.windows();
    for score in [-1.0, -3.0, f32::NAN] {
        search.detector.response.fill(score);
        for near in [true, false] {
            assert_eq!(search.best(near).place, (height / 2, width / 2), "{score}, {near}");
        }
    }
    search.detector.response[width + 2] = -0.5;
    assert_eq!([true, false].map(|near| search.best(near).place), [(1, 2); 2]);
}

/// Background is learned from windows that score at least as high as all eight around them and lie apart.
#[test]
fn distractors_are_the_maxima_of_their_neighbourhoods() {
    let mut search = search(MachineKind::Svm, |p| p.hard_negatives = 1000);
    let both = picture(START).with_likeness(BESIDE, 0.7);
    scan(&mut search, &both);
    let at = search.grid.place_of(target_at(START).center());
    search.find_distractors(at);
    let (height, width) = search.grid.windows();
    let response = search.detector.response();
    let value = |r: i64, c: i64| {
        let inside = (0..height as i64).contains(&r) && (0..width as i64).contains(&c);
        inside.then(|| response[r as usize * width + c as usize])
    };
    let mut expected = Vec::new();
    for r in 0..height as i64 {
        for c in 0..width as i64 {
            let around = (-1..=1).flat_map(|y| (-1..=1).map(move |x| (r + y, c + x)));
            let highest = around.filter_map(|(y, x)| value(y, x)).fold(f32::NEG_INFINITY, f32::max);
            let here = value(r, c).unwrap();
            if here == highest && search.grid.apart(r as f64 - at.0, c as f64 - at.1) {
                expected.push((here, r as usize, c as usize));
            }
        }
    }
    let mut found = search.peaks.clone();
    found.sort_by_key(|&(_, r, c)| (r, c));
    assert!(expected.len() > 3, "{expected:?}");
    assert_eq!(found, expected);
}

/// Exactly at the gate nothing is learned.
#[test]
fn a_score_at_the_gate_has_not_passed() {
    let mut search = search(MachineKind::Klda, |p| (p.gate, p.interval) = (0.25, 1));
    scan(&mut search, &picture(START));
    let before = search.detector.response().to_vec();
    let half = Picture::ground(180, 150).with_likeness(START, 0.5);
    search.learn_above_gate(&half.frame(), here(), 0.25);
    scan(&mut search, &picture(START));
    assert_eq!(search.detector.response(), before);
}

#[test]
fn places_and_centres_are_each_others_inverse() {
    let bbox = BBox::new(20.0, 30.0, 24.0, 40.0);
    let params = WindowParams::of(MachineKind::Svm);
    let grid = WindowGrid::new(&params, bbox).unwrap();
    let (height, width) = grid.windows();
    assert_eq!(grid.center_of(((height / 2) as f64, (width / 2) as f64)), bbox.center());
    let center = grid.center_of((1.0, 2.5));
    let (row, col) = grid.place_of(center);
    assert!((row - 1.0).abs() < 1e-9 && (col - 2.5).abs() < 1e-9);
    // A target can move by the reach, and its own window is labelled as such.
    assert!(grid.reach().0 >= 0.5 * 24.0 * params.reach - grid.step());
    assert_eq!(grid.label(0.0, 0.0), 1.0);
    assert!(grid.label(3.0, 3.0) < -0.99);
    assert!(!grid.apart(0.0, 0.0) && grid.apart(0.0, 24.0 / grid.step()));
}
