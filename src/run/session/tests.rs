//! Targets that begin, fail, change and end, and frames that cannot be used.

use super::*;
use crate::frame::{FrameBuf, PixelFormat};
use crate::tracker::{Evidence, State};

/// Moves right by a pixel a frame. Refuses frames that are not 4 pixels wide, and boxes that are not 2 pixels wide.
#[derive(Clone, Default)]
struct Drift(BBox);

impl Drift {
    fn estimate(&self) -> Result<Estimate> {
        let evidence = Evidence { peak: 1.0, psr: 2.0, apce: 3.0, ..Evidence::default() };
        Ok(Estimate { bbox: self.0, polygon: None, state: State::Tracking, evidence })
    }
}

impl Follower for Drift {
    fn init(&mut self, _: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
        if bbox.w != 2.0 {
            return Err(Error::Box { bbox, reason: "it is not 2 pixels wide".into() });
        }
        self.0 = bbox;
        self.estimate()
    }

    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
        if frame.width() != 4 {
            return Err(Error::FrameSize { expected: (4, 1), got: (frame.width(), frame.height()) });
        }
        self.0 = self.0.translated(1.0, 0.0);
        self.estimate()
    }
}

/// Frames of these widths; 0 for one that cannot be read.
fn items(widths: &[usize]) -> Vec<Item> {
    let item = |(position, &width): (usize, &usize)| {
        let frame = FrameBuf::new(vec![0; width], width, 1, PixelFormat::Gray8);
        Item { name: String::new(), ..Item::numbered(position, None, frame.map(|frame| (frame, None)), 0.0) }
    };
    (1..).zip(widths).map(item).collect()
}

/// The left edge of one target in each step, whether it has an estimate, and how the session ended.
fn follow(widths: &[usize], start: usize, skip: bool) -> (Vec<(f64, bool)>, Result<(), Halt>) {
    let mut session = Session::of(Drift::default(), start, BBox::new(10.0, 0.0, 2.0, 1.0));
    session.skip_bad_frames(skip);
    let mut seen = Vec::new();
    let ended = session.run(items(widths), &mut |step: &Step<'_, Drift>| {
        seen.extend(step.outcomes.iter().map(|outcome| (outcome.bbox.x, outcome.estimate.is_some())));
        Ok(())
    });
    (seen, ended)
}

#[test]
fn a_bad_frame_ends_the_session_unless_it_is_skipped() {
    for bad in [0, 5] {
        let (seen, ended) = follow(&[4, 4, bad, 4], 1, false);
        assert_eq!(seen.len(), 2);
        let halt = ended.unwrap_err();
        assert!(halt.position == 3 && matches!(halt.cause, Cause::Frame(_)), "{halt}");
        let (seen, ended) = follow(&[4, 4, bad, 4], 1, true);
        assert_eq!(seen, [(10.0, true), (11.0, true), (11.0, false), (12.0, true)]);
        ended.unwrap();
    }
    // The frame that a target starts from is needed.
    let (seen, ended) = follow(&[4, 0, 4], 2, true);
    assert!(seen.is_empty() && ended.unwrap_err().position == 2);
}

/// The left edge of each target, by its number.
fn places(outcomes: &[Outcome]) -> Vec<(usize, f64)> {
    outcomes.iter().map(|outcome| (outcome.target, outcome.bbox.x)).collect()
}

#[test]
fn targets_are_added_dropped_and_given_new_boxes_on_the_way() {
    let frame = frame(4);
    for parallel in [false, true] {
        let mut session = Session::default();
        session.parallel(parallel);
        session.add(Drift::default(), 1, at(10.0));
        session.add(Drift::default(), 1, at(20.0));
        assert_eq!(places(session.feed(1, &frame).unwrap()), [(1, 10.0), (2, 20.0)]);
        session.add(Drift::default(), 3, at(30.0));
        assert_eq!(session.waiting().collect::<Vec<_>>(), [(3, 3)]);
        assert_eq!(places(session.feed(2, &frame).unwrap()), [(1, 11.0), (2, 21.0)]);
        assert!(session.drop_target(1) && !session.drop_target(1) && !session.drop_target(9));
        assert!(session.follower(1).is_none() && places(session.outcomes()) == [(2, 21.0)]);
        session.give(2, 3, Some(at(50.0)));
        session.give(1, 3, Some(at(1.0)));
        let mut branch = session.clone();
        assert_eq!(places(session.feed(3, &frame).unwrap()), [(2, 50.0), (3, 30.0)]);
        assert_eq!(places(session.feed(4, &frame).unwrap()), [(2, 51.0), (3, 31.0)]);
        // The clone goes on from where it was taken.
        assert_eq!(places(branch.feed(3, &frame).unwrap()), [(2, 50.0), (3, 30.0)]);
        assert_eq!(session.waiting().count(), 0);
        // A waiting target begins with an earlier box, and an end is one even if its frame was left out.
        session.add(Drift::default(), 99, at(70.0));
        session.give(4, 5, Some(at(80.0)));
        session.give(3, 5, None);
        assert_eq!(places(session.feed(6, &frame).unwrap()), [(2, 52.0)]);
        assert!(session.follower(3).is_none(), "an end frees the memory");
        session.give(4, 7, Some(at(80.0)));
        assert_eq!(places(session.feed(7, &frame).unwrap()), [(2, 53.0), (4, 80.0)]);
        // The end takes effect also if a box of a later frame was left out with it.
        session.give(4, 8, None);
        session.give(4, 9, Some(at(90.0)));
        assert_eq!(places(session.feed(10, &frame).unwrap()), [(2, 54.0)]);
        // An id is not used again.
        assert_eq!(session.add(Drift::default(), 11, at(0.0)), 5);
    }
}

#[test]
fn an_error_of_the_watcher_ends_the_session() {
    let refuse = |_: &Step<'_, Drift>| Err(Error::NotInitialized);
    let mut session = Session::of(Drift::default(), 1, at(0.0));
    let halt = session.run(items(&[4]), &mut { refuse }).unwrap_err();
    assert!(matches!(halt.cause, Cause::Watch(Error::NotInitialized)));
}

/// A frame of 4 pixels, or of another size.
fn frame(width: usize) -> FrameBuf {
    FrameBuf::new(vec![0; width], width, 1, PixelFormat::Gray8).unwrap()
}

/// A box that can be learned.
fn at(x: f64) -> BBox {
    BBox::new(x, 0.0, 2.0, 1.0)
}

#[test]
fn no_target_begins_on_a_frame_of_another_size() {
    for parallel in [false, true] {
        let mut session = Session::of(Drift::default(), 1, at(10.0));
        session.parallel(parallel);
        session.add(Drift::default(), 3, at(20.0));
        session.feed(1, &frame(4)).unwrap();
        session.feed(2, &frame(4)).unwrap();
        match session.feed(3, &frame(5)) {
            Err(Cause::Frame(Error::FrameSize { expected, got })) => assert_eq!((expected, got), ((4, 1), (5, 1))),
            other => panic!("{other:?}"),
        }
        assert_eq!(session.waiting().collect::<Vec<_>>(), [(2, 3)]);
        // Both targets take the next frame.
        assert_eq!(places(session.feed(3, &frame(4)).unwrap()), [(1, 12.0), (2, 20.0)]);
        assert_eq!(places(session.feed(4, &frame(4)).unwrap()), [(1, 13.0), (2, 21.0)]);
    }
    // The first frame sets the size even before any target begins.
    let mut session = Session::of(Drift::default(), 2, at(10.0));
    session.feed(1, &frame(4)).unwrap();
    assert!(matches!(session.feed(2, &frame(5)), Err(Cause::Frame(_))));
}

#[test]
fn a_session_without_targets_takes_frames_of_any_size() {
    let mut session = Session::of(Drift::default(), 1, at(10.0));
    session.feed(1, &frame(5)).unwrap();
    session.drop_target(1);
    session.add(Drift::default(), 2, at(20.0));
    assert_eq!(places(session.feed(2, &frame(4)).unwrap()), [(2, 20.0)]);
}

#[test]
fn one_target_that_fails_takes_no_outcome_from_the_others() {
    for parallel in [false, true] {
        let mut session = Session::default();
        session.parallel(parallel);
        for bbox in [at(10.0), BBox::new(20.0, 0.0, 9.0, 1.0), at(30.0)] {
            session.add(Drift::default(), 1, bbox);
        }
        assert!(matches!(session.feed(1, &frame(4)), Err(Cause::Target { target: 2, error: Error::Box { .. } })));
        assert_eq!(places(session.outcomes()), [(1, 10.0), (3, 30.0)]);
        // The target does not wait for a position that never comes.
        assert_eq!(session.waiting().count(), 0);
        assert_eq!(places(session.feed(2, &frame(4)).unwrap()), [(1, 11.0), (3, 31.0)]);
        // A better box begins it.
        session.give(2, 3, Some(at(20.0)));
        assert_eq!(places(session.feed(3, &frame(4)).unwrap()), [(1, 12.0), (2, 20.0), (3, 32.0)]);
    }
}

#[test]
fn a_halt_has_its_error_as_source() {
    let broken = || Error::io("out.csv", std::io::ErrorKind::BrokenPipe.into());
    for cause in [Cause::Watch(broken()), Cause::Frame(broken()), Cause::Target { target: 1, error: broken() }] {
        let inner = std::error::Error::source(&cause).unwrap();
        assert!(inner.downcast_ref::<Error>().is_some_and(Error::is_broken_pipe));
        let halt = Halt { position: 3, path: None, cause };
        let inner = std::error::Error::source(&halt).unwrap().source().unwrap();
        assert!(inner.downcast_ref::<Error>().is_some_and(Error::is_broken_pipe));
        let system = inner.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(system.kind(), std::io::ErrorKind::BrokenPipe);
    }
}
