//! Detections that come in time or late, noisy, doubled, missing and wrong.

use super::*;
use crate::frame::PixelFormat;
use crate::tracker::Params;

const SIZE: (usize, usize) = (200, 120);

/// Textured squares of 24 pixels on another texture.
fn frame(squares: &[(f64, f64)]) -> FrameBuf {
    let noise = |x: usize, y: usize, seed: usize| ((x * 7919 + y * 104_729 + seed * 1301) % 251) as u8;
    let mut pixels: Vec<u8> = (0..SIZE.0 * SIZE.1).map(|i| 60 + noise(i % SIZE.0 / 4, i / SIZE.0 / 4, 3) / 4).collect();
    for (seed, (x, y)) in squares.iter().enumerate() {
        for (dy, dx) in (0..24).flat_map(|dy| (0..24).map(move |dx| (dy, dx))) {
            let (x, y) = (*x as usize + dx, *y as usize + dy);
            if x < SIZE.0 && y < SIZE.1 {
                pixels[y * SIZE.0 + x] = noise(dx / 3, dy / 3, 17 * seed + 5);
            }
        }
    }
    FrameBuf::new(pixels, SIZE.0, SIZE.1, PixelFormat::Gray8).unwrap()
}

fn at((x, y): (f64, f64)) -> BBox {
    BBox::new(x, y, 24.0, 24.0)
}

fn detection(place: (f64, f64)) -> Detection {
    Detection { bbox: at(place), score: 0.9, class: None }
}

fn session(change: impl FnOnce(&mut DetectionParams)) -> Session<Tracker> {
    let (mut session, mut params) = (Session::default(), DetectionParams::default());
    change(&mut params);
    session.expect_detections(Tracker::new(Params::preset("fast").unwrap()).unwrap(), params).unwrap();
    session
}

/// The place of the moving square.
fn path(position: usize) -> (f64, f64) {
    (10.0 + 2.0 * position as f64, 40.0)
}

fn boxes(session: &Session<Tracker>) -> Vec<(usize, BBox)> {
    session.outcomes().iter().map(|outcome| (outcome.target, outcome.bbox)).collect()
}

#[test]
fn two_detections_begin_a_target_that_is_followed_between_them() {
    let mut session = session(|params| params.first = false);
    for position in 1..=40 {
        session.feed(position, &frame(&[path(position)])).unwrap();
        if position % 10 == 1 {
            let found = session.detect(position, &[detection(path(position))]).unwrap();
            assert_eq!(found.ids, [Some(1)], "{position}");
        }
        match boxes(&session)[..] {
            [] => assert!(position < 11),
            [(1, bbox)] => {
                assert!(position >= 11 && bbox.overlap(&at(path(position))) > 0.8, "{position}: {bbox}");
            }
            ref more => panic!("{position}: {more:?}"),
        }
    }
}

#[test]
fn boxes_that_come_late_are_compared_with_their_own_frame() {
    // Six frames late, twelve pixels behind: taken for the newest frame, each would pull the box back.
    let mut session = session(|params| params.confirm = 1);
    for position in 1..=60 {
        session.feed(position, &frame(&[path(position)])).unwrap();
        if position > 6 && position % 6 == 0 {
            assert_eq!(session.detect(position - 6, &[detection(path(position - 6))]).unwrap().ids, [Some(1)]);
        }
        if position >= 12 {
            let bbox = boxes(&session)[0].1;
            assert!(bbox.overlap(&at(path(position))) > 0.8, "{position}: {bbox}");
        }
    }
}

#[test]
fn earlier_outcomes_are_revised_by_detections_that_came_later() {
    let mut session = session(|params| (params.noise, params.confirm) = (0.0, 1));
    let outcomes = |session: &Session<Tracker>, position| {
        let mut outcomes = Vec::new();
        session.revise(position, &mut outcomes);
        outcomes
    };
    let mut known = Vec::new();
    for position in 1..=20 {
        session.feed(position, &frame(&[path(position)])).unwrap();
        match position {
            9 => {
                session.detect(3, &[detection(path(3))]).unwrap();
                assert!(outcomes(&session, 2).is_empty(), "before the frame of the detection");
                for earlier in 3..=9 {
                    let [outcome] = outcomes(&session, earlier)[..] else { panic!("{earlier}") };
                    assert_eq!((outcome.target, outcome.bbox), (1, outcome.estimate.unwrap().bbox));
                    assert!(outcome.bbox.overlap(&at(path(earlier))) > 0.8, "{earlier}: {}", outcome.bbox);
                }
            }
            14 => known = session.outcomes().to_vec(),
            18 => {
                let shifted = |position| (path(position).0 + 4.0, path(position).1 - 2.0);
                session.detect(12, &[detection(shifted(12))]).unwrap();
                let before = outcomes(&session, 11)[0].bbox;
                assert!(before.center_error(&at(path(11))) < 1.5, "not before the frame of the detection: {before}");
                let missed = Outcome { target: 7, ..known[0] };
                let mut revised = vec![known[0], missed];
                session.revise(14, &mut revised);
                assert!(revised[0].bbox.center_error(&at(shifted(14))) < 1.5, "{}", revised[0].bbox);
                assert_eq!(revised[1], missed, "a target that has ended stays as it was");
            }
            _ => {}
        }
    }
}

#[test]
fn a_correction_stays_and_nothing_is_learned() {
    let mut session = session(|params| params.noise = 0.0);
    let shifted = |position| at((path(position).0 + 4.0, path(position).1 - 2.0));
    session.learn(1, session.detector.as_ref().unwrap().tracker.clone(), 1, &frame(&[path(1)]), at(path(1))).unwrap();
    session.feed(1, &frame(&[path(1)])).unwrap();
    for position in 2..=30 {
        session.feed(position, &frame(&[path(position)])).unwrap();
        if position == 10 {
            session.adjust(1, None, shifted(10), None).unwrap();
        }
        let bbox = boxes(&session)[0].1;
        let right = if position < 10 { at(path(position)) } else { shifted(position) };
        assert!(bbox.center_error(&right) < 1.5, "{position}: {bbox} {right}");
    }
}

#[test]
fn a_target_ends_after_missed_detections_and_its_id_does_not_return() {
    let mut session = session(|params| (params.patience, params.first) = (3, false));
    let mut seen = Vec::new();
    for position in 1..=80 {
        // The square stands still, so that its tracker is sure.
        session.feed(position, &frame(&[(60.0, 40.0)])).unwrap();
        let blind = (20..40).contains(&position);
        let found = if blind { vec![] } else { vec![detection((60.0, 40.0))] };
        session.detect(position, &found).unwrap();
        seen.push(boxes(&session).first().map(|(id, _)| *id));
        if position == 30 {
            assert_eq!(session.take_ended(), [1]);
        }
    }
    assert_eq!((seen[0], seen[1], seen[18], seen[30], seen[45]), (None, Some(1), Some(1), None, Some(2)));
    // The first detections of a run have nothing to be compared with.
    let mut at_once = self::session(|_| ());
    at_once.feed(1, &frame(&[(60.0, 40.0)])).unwrap();
    at_once.detect(1, &[detection((60.0, 40.0))]).unwrap();
    assert_eq!(boxes(&at_once).len(), 1);
    // A target that was added by hand is not a detector's to end.
    session
        .learn(9, session.detector.as_ref().unwrap().tracker.clone(), 81, &frame(&[(60.0, 40.0)]), at((90.0, 60.0)))
        .unwrap();
    for position in 81..100 {
        session.feed(position, &frame(&[(60.0, 40.0)])).unwrap();
        session.detect(position, &[]).unwrap();
    }
    assert_eq!(session.ids().collect::<Vec<_>>(), [9]);
}

#[test]
fn a_false_detection_is_never_shown() {
    let mut session = session(|params| params.first = false);
    for position in 1..=40 {
        session.feed(position, &frame(&[path(position)])).unwrap();
        // Each time another place.
        let wrong = ((position * 53 % 170) as f64, if position % 2 == 0 { 5.0 } else { 90.0 });
        session.detect(position, &[detection(path(position)), detection(wrong)]).unwrap();
        assert!(boxes(&session).len() <= 1, "{position}");
    }
    assert!(session.targets.len() <= 3, "what is not confirmed ends: {}", session.targets.len());
}

#[test]
fn a_target_whose_box_stays_behind_goes_on_where_it_is_detected() {
    let mut session = session(|_| ());
    // The square vanishes behind a copy of itself, which stands still, and comes out 30 pixels on.
    let place = |position: usize| if position < 20 { path(position) } else { (path(position).0 + 10.0, 40.0) };
    for position in 1..=40 {
        let squares = [place(position), if position < 20 { (170.0, 90.0) } else { path(20) }];
        let mut pixels = frame(&squares[..1]).into_bytes();
        let copy = frame(&[squares[1]]).into_bytes();
        (0..pixels.len()).for_each(|i| {
            if position >= 20 && i % SIZE.0 < squares[1].0 as usize + 24 {
                pixels[i] = copy[i]
            }
        });
        session.feed(position, &FrameBuf::new(pixels, SIZE.0, SIZE.1, PixelFormat::Gray8).unwrap()).unwrap();
        if position % 4 == 1 && !(20..28).contains(&position) {
            session.detect(position, &[detection(place(position))]).unwrap();
        } else if position % 4 == 1 {
            session.detect(position, &[]).unwrap();
        }
    }
    let shown = boxes(&session);
    assert!(shown.len() == 1 && shown[0].0 == 1 && shown[0].1.overlap(&at(place(40))) > 0.6, "{shown:?}");
}

#[test]
fn two_targets_on_one_object_become_one() {
    let mut session = session(|_| ());
    for position in 1..=30 {
        let frame = frame(&[path(position)]);
        if position == 5 {
            for id in [1, 2] {
                let tracker = session.detector.as_ref().unwrap().tracker.clone();
                let bbox = at(path(5)).translated(id as f64, 0.0);
                session.learn(id, tracker, 5, &frame, bbox).unwrap();
            }
        }
        session.feed(position, &frame).unwrap();
        // A detector has begun them.
        session.targets.values_mut().filter_map(|target| target.life.as_mut()).for_each(|life| life.given = false);
        let count = boxes(&session).len();
        assert!(count == if position < 5 { 0 } else { count.min(2) } && (position < 20 || count == 1), "{position}");
    }
}

#[test]
fn what_is_wrong_is_refused_and_the_rest_is_used() {
    let mut session = session(|params| (params.confirm, params.late) = (1, 10));
    assert!(session.detect(1, &[]).is_err(), "no frame has come");
    for position in 1..=20 {
        session.feed(position, &frame(&[path(position)])).unwrap();
    }
    let with = |bbox: BBox, score: f64| Detection { bbox, score, class: None };
    let all = [
        with(BBox::new(f64::NAN, 1.0, 9.0, 9.0), 0.9),
        with(BBox::new(1.0, 1.0, -9.0, 9.0), 0.9),
        with(BBox::new(900.0, 1.0, 9.0, 9.0), 0.9),
        with(BBox::new(1.0, 1.0, 9.0, 9.0), 1.1),
        with(BBox::new(1.0, 1.0, 9.0, 9.0), f64::NAN),
        detection(path(20)),
        with(BBox::new(0.0, 0.0, 1e300, 1e300), 0.9),
    ];
    let found = session.detect(20, &all).unwrap();
    assert_eq!(found.ids, [None, None, None, None, None, Some(1), None]);
    assert_eq!(found.refused.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 6]);
    let refused = |position, detections: &[Detection], session: &mut Session<Tracker>| {
        session.detect(position, detections).unwrap_err().to_string()
    };
    assert!(refused(21, &[], &mut session).contains("newest frame is 20"));
    assert!(refused(9, &[], &mut session).contains("too old; the oldest that is kept is frame 10"));
    assert!(refused(20, &vec![detection(path(20)); 10_000], &mut session).contains("10000 boxes"));
    assert!(session.adjust(7, None, at(path(20)), None).is_err());
    assert!(session.adjust(1, None, at(path(20)), Some(-1.0)).is_err());
    assert!(session.adjust(1, Some(99), at(path(20)), None).is_err());
    assert!(Session::<Tracker>::default().detect(1, &[]).is_err());
    let early = Session::<Tracker>::default().adjust(1, Some(1), at(path(20)), None).unwrap_err().to_string();
    assert!(early.contains("keeps no frames"), "{early}");
    assert_eq!(session.feed(21, &frame(&[path(21)])).unwrap().len(), 1);
}

#[test]
fn the_boxes_do_not_depend_on_threads() {
    let run = |parallel| {
        let mut session = session(|_| ());
        session.parallel(parallel);
        let mut all = Vec::new();
        for position in 1..=30 {
            let squares = [path(position), (path(position).0, 80.0), (150.0, 20.0)];
            session.feed(position, &frame(&squares)).unwrap();
            if position % 5 == 0 {
                session
                    .detect(position - 3, &squares.map(|(x, y)| detection((x - 6.0 * f64::from(y != 20.0), y))))
                    .unwrap();
            }
            all.push(boxes(&session));
        }
        all
    };
    let one = run(false);
    assert!(one.last().unwrap().len() == 3 && one == run(true));
}

#[test]
fn a_thousand_births_and_deaths_leave_nothing() {
    let mut session = session(|params| (params.confirm, params.patience) = (1, 1));
    for position in 1..=1000 {
        session.feed(position, &frame(&[(60.0, 40.0)])).unwrap();
        let place = if position % 2 == 0 { (60.0, 40.0) } else { (120.0, 80.0) };
        session.detect(position, &[detection(place)]).unwrap();
    }
    assert!(session.targets.len() <= 2 && session.next_id() > 400, "{} {}", session.targets.len(), session.next_id());
    let detector = session.detector.as_ref().unwrap();
    assert!(detector.frames.len() <= 61 && detector.doubles.len() <= 1);
}

#[test]
fn a_session_that_was_saved_continues_with_late_detections() {
    let mut session = session(|_| ());
    let step = |session: &mut Session<Tracker>, position: usize| {
        session.feed(position, &frame(&[path(position), (120.0, 80.0)])).unwrap();
        if position % 6 == 1 && position > 6 {
            session.detect(position - 6, &[detection(path(position - 6)), detection((120.0, 80.0))]).unwrap();
        }
        boxes(session)
    };
    for position in 1..=15 {
        step(&mut session, position);
    }
    session.give(1, 30, None);
    let bytes = session.to_bytes().unwrap();
    let mut again = Session::from_bytes(&bytes).unwrap();
    for position in 16..=40 {
        assert_eq!(step(&mut again, position), step(&mut session, position), "{position}");
    }
    assert_eq!((again.next_id(), again.take_ended()), (session.next_id(), session.take_ended()));
    for length in (0..bytes.len()).step_by(50_021) {
        assert!(matches!(Session::from_bytes(&bytes[..length]), Err(Error::Saved { .. })), "{length}");
    }
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    assert!(Session::from_bytes(&changed).unwrap_err().to_string().contains("changed"));
}

#[test]
fn a_thousand_births_and_deaths_leave_nothing_behind() {
    let params = DetectionParams { patience: 1, confirm: 1, ..DetectionParams::default() };
    let (mut session, mut seen) = (Session::default(), 0);
    session.expect_detections(Tracker::new(Params::preset("paper-gray").unwrap()).unwrap(), params).unwrap();
    for position in 1..=1200 {
        let place = ((position * 37 % 150) as f64, (position * 53 % 80) as f64);
        session.feed(position, &frame(&[place])).unwrap();
        seen += session.detect(position, &[detection(place)]).unwrap().ids.iter().flatten().count();
        assert!(session.ids().count() < 20, "{position}: {}", session.ids().count());
        session.take_ended();
    }
    assert!(session.next_id() > 1000, "{} {seen}", session.next_id());
    let detector = session.detector.as_ref().unwrap();
    assert!(detector.frames.len() <= 61 && detector.doubles.len() < 20 && session.targets.len() < 20);
}

mod association {
    use super::super::*;

    fn target(x: f64, state: State, confirmed: bool) -> Candidate {
        let times = usize::from(state == State::Lost);
        Candidate { id: 0, bbox: BBox::new(x, 0.0, 20.0, 20.0), state, confirmed, class: None, times }
    }

    fn detection(x: f64, score: f64) -> Detection {
        Detection { bbox: BBox::new(x, 0.0, 20.0, 20.0), score, class: None }
    }

    fn found(targets: &[Candidate], detections: &[Detection]) -> Vec<Option<usize>> {
        associate(targets, detections, &DetectionParams::default())
    }

    #[test]
    fn the_sum_of_overlaps_is_largest_rather_than_the_first_one() {
        // The nearest detection of both targets is the same one.
        let targets = [target(0.0, State::Tracking, true), target(6.0, State::Tracking, true)];
        assert_eq!(found(&targets, &[detection(5.0, 0.9), detection(-6.0, 0.9)]), [Some(1), Some(0)]);
        let detections = [detection(4.0, 0.9), detection(14.0, 0.9), detection(99.0, 0.9)];
        assert_eq!(found(&targets, &detections), [Some(0), Some(1), None]);
    }

    #[test]
    fn scores_and_classes_and_states_have_their_rounds() {
        let tracked = [target(0.0, State::Tracking, true)];
        // A high score wins against a low one that lies better.
        assert_eq!(found(&tracked, &[detection(0.0, 0.3), detection(5.0, 0.9)]), [None, Some(0)]);
        assert_eq!(found(&tracked, &[detection(0.0, 0.3)]), [Some(0)]);
        assert_eq!(found(&tracked, &[detection(0.0, 0.01)]), [None], "below all rounds");
        assert_eq!(found(&tracked, &[detection(12.0, 0.3)]), [None], "a low score needs more overlap");
        // A target that is lost, or not confirmed, comes after those that are followed.
        for (state, confirmed) in [(State::Lost, true), (State::Tracking, false)] {
            let both = [target(0.0, state, confirmed), target(3.0, State::Tracking, true)];
            assert_eq!(found(&both, &[detection(0.0, 0.9)]), [Some(1)]);
            assert_eq!(
                found(&both[..1], &[detection(21.0, 0.9)])[0].is_some(),
                confirmed,
                "a lost one may be farther away"
            );
            assert_eq!(found(&both[..1], &[detection(8.0, 0.9)]), [Some(0)]);
            assert_eq!(found(&both[..1], &[detection(0.0, 0.3)]), [None], "but not by a low score");
        }
        // The same holds for a target that detections have missed: its box may be on what covered it.
        let missed = [Candidate { times: 1, ..target(0.0, State::Tracking, true) }];
        assert_eq!(
            (found(&missed, &[detection(21.0, 0.9)]), found(&tracked, &[detection(21.0, 0.9)])),
            (vec![Some(0)], vec![None])
        );
        let class = |name: &str| Some(name.to_owned());
        let car = [Candidate { class: class("car"), ..target(0.0, State::Tracking, true) }];
        assert_eq!(found(&car, &[Detection { class: class("dog"), ..detection(0.0, 0.9) }]), [None]);
        assert_eq!(found(&car, &[detection(0.0, 0.9)]), [Some(0)]);
    }
}
