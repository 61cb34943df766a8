//! Verifiers tell whether a place looks like the given target: the [appearance](super::appearance) of the search area,
//! the features of a network, and a guard.
//!
//! A guard is a verifier that can propose a place: a kernel machine over real windows. A localizer adapts to whatever it
//! is on, the guard learns only above its gate. When it no longer recognises the target where the box is, but does
//! elsewhere, the box is put there.

use super::localizer::{Learned, Pose};
use super::params::GuardParams;
use super::redetection::TileScan;
use super::window_localizer::WindowLocalizer;
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;

/// The search area of a localizer, in features.
#[derive(Clone, Copy)]
pub(super) struct ViewFeatures<'a> {
    /// Features without their window function, `[row][column][32]`; empty where nothing compares them.
    pub map: &'a [f32],
    /// Colour bins of the pixels.
    pub bins: &'a [u16],
    /// Rows and columns of cells from the middle to the place that is compared.
    pub shift: (f64, f64),
}

/// A place of a frame that is compared with what was given.
#[derive(Clone, Copy)]
pub(super) struct Sample<'a> {
    pub frame: &'a Frame<'a>,
    pub pose: Pose,
    /// The area that a localizer has cut around the place.
    pub view: Option<ViewFeatures<'a>>,
}

/// Says whether a place looks like the given target.
pub(super) trait Verifier {
    /// About 1 for the target as it was given, lower for anything else; `None` where the place cannot be judged.
    fn score(&mut self, sample: &Sample<'_>) -> Option<f32>;

    /// Offers the target at a place, which is `certain` or not.
    fn learn(&mut self, sample: &Sample<'_>, certain: bool) -> Learned;
}

/// A verifier that can propose a place.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub params: GuardParams,
    detector: WindowLocalizer,
    /// Doubtful frames in a row.
    pub doubts: usize,
    /// The target's size when it was recognised last: a localizer that has lost it follows the size of something else.
    scale: f64,
    scan: TileScan,
}

/// Result of a guard for one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// The decision: at the place that was asked for, or at the one that was found instead. `None` where there was
    /// nothing to see.
    pub decision: Option<f32>,
    /// The place to move the target to.
    pub found: Option<Pose>,
    pub learned: Learned,
}

impl Guard {
    /// Learns the target at `bbox` in `frame`.
    ///
    /// # Errors
    /// As [`WindowLocalizer::new`].
    pub fn new(params: &GuardParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let detector = WindowLocalizer::new(&params.windows, frame, bbox)?;
        Ok(Self { params: params.clone(), detector, doubts: 0, scale: 1.0, scan: TileScan::default() })
    }

    /// Judges the target's place `here`. In doubt it looks around; after `lost-after` doubtful frames,
    /// everywhere.
    pub fn watch(&mut self, frame: &Frame<'_>, here: Pose) -> Verdict {
        let sample = Sample { frame, pose: here, view: None };
        let seen = self.score(&sample);
        if seen.is_some_and(|score| f64::from(score) >= self.params.uncertain_below) {
            (self.doubts, self.scale) = (0, here.scale);
            return Verdict { decision: seen, found: None, learned: self.learn(&sample, true) };
        }
        self.doubts += 1;
        let (score, found) = self.propose(frame, here, seen).unzip();
        if found.is_some() {
            self.doubts = 0;
        }
        Verdict { decision: score.map(|score| score as f32).or(seen), found, learned: Learned::Done }
    }

    /// A better place than `here`, which scores as `seen` says, and the score there.
    fn propose(&mut self, frame: &Frame<'_>, here: Pose, seen: Option<f32>) -> Option<(f64, Pose)> {
        let elsewhere = seen.map_or(f64::NEG_INFINITY, f64::from) + self.params.margin;
        let near = self.detector.best(true);
        let there = Pose { scale: self.scale, ..here };
        if seen.is_some() && near.score > self.params.accept_above.max(elsewhere) {
            return Some((near.score, there.at(near.center)));
        }
        let accept_above = (self.params.accept_above + self.params.far_margin).max(elsewhere);
        if self.doubts < self.params.lost_after {
            return None;
        }
        self.search_tiles(frame, there, accept_above)
    }

    /// Score and place of the best window of the next search areas, if it is accepted.
    fn search_tiles(&mut self, frame: &Frame<'_>, here: Pose, accept_above: f64) -> Option<(f64, Pose)> {
        let reach = self.detector.grid.reach();
        let size = frame.size();
        let mut best: Option<(f64, Pose)> = None;
        // Areas whose windows meet: every place of the frame is the centre of one.
        let step = (2.0 * reach.0, 2.0 * reach.1);
        for _ in 0..self.params.tiles.min(TileScan::tiles(size, step)) {
            let there = self.scan.next(size, step, here);
            if !self.detector.scan(frame, there) {
                continue;
            }
            let found = self.detector.best(false);
            if found.score > accept_above && best.is_none_or(|(score, _)| found.score > score) {
                best = Some((found.score, here.at(found.center)));
            }
        }
        best
    }
}

impl Verifier for Guard {
    fn score(&mut self, sample: &Sample<'_>) -> Option<f32> {
        self.detector.scan(sample.frame, sample.pose).then(|| self.detector.score_at_middle() as f32)
    }

    /// The place is the one that was scored last. It is learned above the gate.
    fn learn(&mut self, sample: &Sample<'_>, _: bool) -> Learned {
        self.detector.learn_above_gate(sample.frame, sample.pose, self.detector.score_at_middle())
    }
}

#[cfg(test)]
mod tests {
    //! When a guard doubts, accepts, learns, searches everywhere and gives up: each threshold just below and just above
    //! what the pictures score.

    use super::*;
    use crate::machines::MachineKind;
    use crate::tracker::params::WindowParams;
    use crate::tracker::scenes::{Picture, target_at};

    const START: (f64, f64) = (50.0, 50.0);
    /// A place within the search area around [`START`].
    const NEARBY: (f64, f64) = (66.0, 58.0);
    /// A place far outside it.
    const AWAY: (f64, f64) = (190.0, 140.0);
    /// A number of search areas above that of the pictures.
    const ALL_TILES: usize = 30;
    /// The distance of a threshold from a score.
    const HAIR: f64 = 1e-3;

    fn picture(corner: (f64, f64)) -> Picture {
        Picture::ground(260, 200).with_target(corner)
    }

    fn here() -> Pose {
        Pose::of(target_at(START))
    }

    /// A guard that doubts whatever it sees, and else is at its defaults but for `change`.
    fn doubting(change: impl FnOnce(&mut GuardParams)) -> Guard {
        let mut params = GuardParams { uncertain_below: 100.0, ..GuardParams::of(MachineKind::Klda) };
        change(&mut params);
        Guard::new(&params, &picture(START).frame(), target_at(START)).unwrap()
    }

    fn watch(guard: &mut Guard, picture: &Picture) -> Verdict {
        guard.watch(&picture.frame(), here())
    }

    /// The score at [`START`] and the best one nearby, nearness counted.
    fn scores(picture: &Picture) -> (f64, f64) {
        let mut guard = doubting(|_| {});
        assert!(guard.detector.scan(&picture.frame(), here()));
        (guard.detector.score_at_middle(), guard.detector.best(true).score)
    }

    /// The best score in all of the picture.
    fn score_anywhere(picture: &Picture) -> f64 {
        let mut guard = doubting(|p| (p.accept_above, p.far_margin, p.margin, p.tiles) = (-100.0, 0.0, 0.0, ALL_TILES));
        let anywhere = guard.search_tiles(&picture.frame(), here(), -100.0);
        anywhere.expect("something is best").0
    }

    fn center_of(corner: (f64, f64)) -> (f64, f64) {
        target_at(corner).center()
    }

    #[track_caller]
    fn at(found: Option<Pose>, corner: (f64, f64)) {
        let found = found.expect("the target is found").center;
        let truth = center_of(corner);
        assert!((found.0 - truth.0).abs() < 2.0 && (found.1 - truth.1).abs() < 2.0, "{found:?}, not {truth:?}");
    }

    #[test]
    fn a_guard_learns_above_its_gate_only() {
        let next = Picture::ground(260, 200).with_likeness(START, 0.8);
        let (score, _) = scores(&next);
        let after = |gate: f64| {
            let windows = WindowParams { gate, interval: 1, ..WindowParams::of(MachineKind::Klda) };
            let mut guard = doubting(|p| (p.uncertain_below, p.windows) = (-100.0, windows));
            let first = watch(&mut guard, &next).decision;
            (first, watch(&mut guard, &next).decision)
        };
        for gate in [score, score + HAIR] {
            let (before, still) = after(gate);
            assert_eq!(
                (before, still),
                (Some(score as f32), Some(score as f32)),
                "at or below the gate nothing is learned"
            );
        }
        let (before, learned) = after(score - HAIR);
        assert!(before == Some(score as f32) && learned > before, "what was learned scores higher: {learned:?}");
    }

    #[test]
    fn a_doubtful_frame_teaches_nothing() {
        let next = Picture::ground(260, 200).with_likeness(START, 0.8);
        let (score, _) = scores(&next);
        for (doubt, learns) in [(score + HAIR, false), (score, true), (score - HAIR, true)] {
            let windows = WindowParams { gate: -100.0, interval: 1, ..WindowParams::of(MachineKind::Klda) };
            let mut guard =
                doubting(|p| (p.uncertain_below, p.accept_above, p.tiles, p.windows) = (doubt, 100.0, 0, windows));
            watch(&mut guard, &next);
            assert_eq!(guard.doubts, usize::from(!learns));
            assert_eq!(watch(&mut guard, &next).decision != Some(score as f32), learns, "doubt {doubt}");
        }
    }

    #[test]
    fn a_window_nearby_is_accepted_by_its_score_and_by_its_margin() {
        let next = picture(NEARBY);
        let (score, nearby) = scores(&next);
        assert!(nearby > score + 0.5, "{nearby} and {score}");
        // The guard has no tiles: it looks nearby or nowhere.
        let verdict = |accept_above: f64, margin: f64| {
            let mut guard = doubting(|p| (p.accept_above, p.margin, p.tiles) = (accept_above, margin, 0));
            let verdict = watch(&mut guard, &next);
            assert_eq!(guard.doubts, usize::from(verdict.found.is_none()), "what is found ends the doubt");
            verdict
        };
        for (accept_above, margin) in [(nearby - HAIR, 0.0), (-100.0, nearby - score - HAIR)] {
            let accepted = verdict(accept_above, margin);
            at(accepted.found, NEARBY);
            assert_eq!(accepted.decision, Some(nearby as f32));
        }
        for (accept_above, margin) in [(nearby, 0.0), (nearby + HAIR, 0.0), (-100.0, nearby - score + HAIR)] {
            let doubted = verdict(accept_above, margin);
            assert_eq!((doubted.found, doubted.decision), (None, Some(score as f32)));
        }
    }

    #[test]
    fn a_window_far_away_must_score_higher_than_one_nearby() {
        let next = picture(AWAY);
        let ((score, nearby), anywhere) = (scores(&next), score_anywhere(&next));
        assert!(anywhere > nearby.max(score) + 0.5, "{anywhere}, {nearby} and {score}");
        let found = |accept_above: f64, far: f64, margin: f64| {
            let mut guard = doubting(|p| {
                (p.accept_above, p.far_margin, p.margin) = (accept_above, far, margin);
                (p.lost_after, p.tiles) = (1, ALL_TILES);
            });
            watch(&mut guard, &next)
        };
        for (accept_above, far, margin) in
            [(anywhere - 0.2, 0.2 - HAIR, 0.0), (anywhere - 0.2, 0.0, anywhere - score - HAIR)]
        {
            let verdict = found(accept_above, far, margin);
            at(verdict.found, AWAY);
            assert_eq!(verdict.decision, Some(anywhere as f32));
        }
        for (accept_above, far, margin) in
            [(anywhere - 0.2, 0.2 + HAIR, 0.0), (anywhere, 0.0, 0.0), (anywhere - 0.2, 0.0, anywhere - score + HAIR)]
        {
            assert_eq!(
                found(accept_above, far, margin).found,
                None,
                "accept_above {accept_above}, far {far}, margin {margin}"
            );
        }
    }

    #[test]
    fn everywhere_is_searched_after_that_many_doubtful_frames() {
        let (next, good) = (picture(AWAY), picture(START));
        for lost_after in [1, 2, 3, 5] {
            let mut guard = doubting(|p| (p.uncertain_below, p.lost_after, p.tiles) = (0.0, lost_after, ALL_TILES));
            for _ in 1..lost_after {
                assert_eq!(watch(&mut guard, &next).found, None, "{lost_after} frames");
            }
            at(watch(&mut guard, &next).found, AWAY);
            assert_eq!(guard.doubts, 0);
            // A frame without doubt in between begins the count anew.
            let mut guard = doubting(|p| (p.uncertain_below, p.lost_after, p.tiles) = (0.0, lost_after, ALL_TILES));
            for frame in (1..lost_after).map(|_| &next).chain([&good]).chain((1..lost_after).map(|_| &next)) {
                assert_eq!(watch(&mut guard, frame).found, None, "{lost_after} frames");
            }
            assert_eq!(guard.doubts, lost_after - 1);
        }
    }

    #[test]
    fn search_areas_take_turns_until_all_were_seen() {
        let next = picture(AWAY);
        let reach = doubting(|_| {}).detector.grid.reach();
        let areas = (260.0 / (2.0 * reach.0)).ceil() as usize * (200.0 / (2.0 * reach.1)).ceil() as usize;
        assert!(areas > 4);
        for tiles in [1, 2] {
            let mut guard = doubting(|p| (p.lost_after, p.tiles) = (1, tiles));
            let frames = (1..=areas).find(|_| watch(&mut guard, &next).found.is_some());
            let frames = frames.expect("all areas were seen");
            assert!(frames > 1 && frames <= areas.div_ceil(tiles), "{frames} frames of {tiles} of {areas} areas");
        }
        // One round sees all of these places, wherever the target is.
        for corner in [(4.0, 4.0), (230.0, 4.0), (4.0, 170.0), (230.0, 170.0), (118.0, 170.0)] {
            let there = picture(corner);
            let mut guard = doubting(|p| (p.lost_after, p.tiles) = (1, areas));
            at(watch(&mut guard, &there).found, corner);
        }
        let mut guard = doubting(|p| (p.lost_after, p.tiles) = (1, 0));
        assert!((0..areas).all(|_| watch(&mut guard, &next).found.is_none()));
    }

    #[test]
    fn a_frame_is_searched_once_however_many_areas_are_asked_for() {
        let (next, reach) = (picture(AWAY), doubting(|_| {}).detector.grid.reach());
        let (size, step) = ((260, 200), (2.0 * reach.0, 2.0 * reach.1));
        let areas = TileScan::tiles(size, step);
        for tiles in [areas, areas + 1, 1000] {
            let mut guard = doubting(|p| (p.accept_above, p.lost_after, p.tiles) = (100.0, 1, tiles));
            let first = { guard.scan }.next(size, step, here());
            watch(&mut guard, &next);
            assert_eq!(guard.scan.next(size, step, here()), first, "{tiles} of {areas} areas");
        }
    }

    #[test]
    fn where_there_is_nothing_to_see_there_is_no_decision() {
        let black = vec![0; 260 * 200];
        let black = Frame::gray(&black, 260, 200).unwrap();
        let mut guard =
            doubting(|p| (p.uncertain_below, p.accept_above, p.margin, p.lost_after) = (-100.0, -100.0, 0.0, 1));
        let verdict = guard.watch(&black, here());
        assert_eq!((verdict.decision, verdict.found, verdict.learned), (None, None, Learned::Done));
        assert_eq!(guard.doubts, 1);
        assert_eq!(guard.score(&Sample { frame: &black, pose: here(), view: None }), None);
    }

    #[test]
    fn a_score_is_of_the_place_that_was_asked_for_and_teaches_nothing() {
        let first = picture(START);
        let mut guard = doubting(|p| p.windows.gate = -100.0);
        let sample = Sample { frame: &first.frame(), pose: here(), view: None };
        let score = guard.score(&sample);
        assert_eq!(score, Some(scores(&first).0 as f32));
        assert_eq!(guard.score(&sample), score);
    }

    /// A search that has lost the target follows the size of something else.
    #[test]
    fn a_target_that_is_found_elsewhere_has_the_size_that_it_had() {
        let next = picture(AWAY);
        let mut guard = doubting(|p| (p.margin, p.lost_after, p.tiles) = (0.0, 1, ALL_TILES));
        let grown = Pose { scale: 2.5, ..here() };
        let verdict = guard.watch(&next.frame(), grown);
        let found = verdict.found.expect("it is there");
        assert_eq!(found.scale, here().scale);
        at(Some(found), AWAY);
    }
}
