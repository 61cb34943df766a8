//! The loop over a localizer whose answers are written down, and a guard that really looks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ndarray::ArrayView2;

use super::*;
use crate::machines::MachineKind;
use crate::tracker::ResponseLayout;
use crate::tracker::lifecycle::MAX_OCCLUDED;
use crate::tracker::params::{ConfidenceParams, GuardParams, PsrParams};
use crate::tracker::redetection::RedetectionCriteria;
use crate::tracker::scenes::{Picture, SIDE, target_at};

const START: (f64, f64) = (50.0, 50.0);
const NEARBY: (f64, f64) = (66.0, 58.0);
const SIZE: (usize, usize) = (260, 200);

/// A call of a localizer, with the place that it was asked of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Look(Pose),
    /// For a lost target.
    LookLost(Pose),
    LookAt(Pose),
    Learn(Pose, Update),
    Snapshot(Pose),
    Restore,
    Restart(Pose),
}

/// Gives scripted answers, and remembers the calls.
#[derive(Clone, Debug)]
struct Scripted {
    /// The result of a look, and whether there is anything to see.
    found: Pose,
    seen: bool,
    /// A place where there is nothing to see.
    blank: Option<Pose>,
    /// The probability of all places, and the result of learning.
    confidence: Option<f64>,
    learned: Learned,
    /// Peak-to-sidelobe ratio of all places, and their answer of the long-term model.
    psr: f32,
    long_term: Option<f32>,
    /// Places and confidences of the next looks, one after another, in place of `found`.
    looks: VecDeque<((f64, f64), f64)>,
    /// Pixels of the only cell of its response.
    cell: (f64, f64),
    /// Least appearance score and frames in a row for a place far away; the appearance score of all places.
    finds: (f64, usize),
    identity: Option<f32>,
    /// The pose of the last certain frame.
    saved: Option<Pose>,
    /// A place where a lost target may be.
    guess: Option<(Pose, Evidence)>,
    calls: Arc<Mutex<Vec<Call>>>,
}

/// Peaks of a look at all places and at one.
const PEAKS: (f32, f32) = (0.75, 0.25);

impl Scripted {
    fn at(corner: (f64, f64)) -> Self {
        let found = Pose::of(target_at(corner));
        let (learned, calls) = (Learned::Done, Arc::default());
        let (looks, cell) = (VecDeque::new(), (1.0, 1.0));
        Self {
            found,
            seen: true,
            blank: None,
            confidence: None,
            learned,
            psr: 20.0,
            long_term: None,
            looks,
            cell,
            finds: (0.0, 1),
            identity: None,
            saved: None,
            guess: None,
            calls,
        }
    }

    /// A scripted localizer with this probability.
    fn sure(corner: (f64, f64), confidence: f64) -> Self {
        Self { confidence: Some(confidence), ..Self::at(corner) }
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }
}

fn evidence(peak: f32) -> Evidence {
    Evidence { peak, psr: 20.0, apce: 30.0, ..Evidence::default() }
}

impl Localizer for Scripted {
    fn locate(&mut self, _: &Frame<'_>, at: Pose, extent: Extent) -> Located {
        self.note(if extent == Extent::Lost { Call::LookLost(at) } else { Call::Look(at) });
        let seen = self.seen && self.blank != Some(at);
        let (found, probability) = match self.looks.pop_front() {
            Some((corner, probability)) => (Pose::of(target_at(corner)), Some(probability)),
            None => (self.found, self.confidence),
        };
        let (long_term, identity) = (self.long_term, self.identity);
        let evidence = Evidence { psr: self.psr, long_term, identity, ..evidence(PEAKS.0) };
        let likeness = match identity {
            None => Likeness::Unknown,
            Some(score) if score < 0.0 => Likeness::Denied,
            Some(score) if score > 0.9 => Likeness::Certain,
            Some(_) => Likeness::Plausible,
        };
        Located { likeness, guess: self.guess, ..Located::new(found, evidence, probability, seen) }
    }

    fn score_at(&mut self, _: &Frame<'_>, at: Pose) -> Located {
        self.note(Call::LookAt(at));
        Located::new(at, evidence(PEAKS.1), self.confidence, self.seen)
    }

    fn learn(&mut self, _: &Frame<'_>, located: &Located, update: Update) -> Learned {
        self.note(Call::Learn(located.pose, update));
        self.learned
    }

    fn snapshot(&mut self, at: Pose) {
        self.note(Call::Snapshot(at));
    }

    fn restore(&mut self) -> Option<Pose> {
        self.note(Call::Restore);
        self.saved
    }

    fn restart(&mut self, at: Pose) {
        self.note(Call::Restart(at));
    }

    fn response(&self) -> ResponseMap<'_> {
        let values = ArrayView2::from_shape((1, 1), &[0.0]).unwrap();
        ResponseMap { values, layout: ResponseLayout::Centered, center: self.found.center, step: self.cell, angle: 0.0 }
    }

    fn transfer(&mut self, archive: &mut crate::archive::Archive<'_>) {
        archive.refuse("a stub");
    }
}

fn picture(corner: (f64, f64)) -> Picture {
    Picture::ground(SIZE.0, SIZE.1).with_target(corner)
}

/// An engine that stood at [`START`], over `search`, with states by the peak-to-sidelobe ratio.
fn engine(search: &Scripted, guard: Option<GuardParams>) -> Engine {
    let (first, bbox) = (picture(START), target_at(START));
    let max_doubts = guard.as_ref().map_or(usize::MAX, |guard| guard.lost_after);
    let rules = Rules::Psr(PsrParams { uncertain_below: 8.0, lost_below: 5.0 });
    Engine {
        first: Beginning { frame_size: SIZE, in_color: false, size: (SIDE, SIDE), center: bbox.center(), turn: 0 },
        pose: Pose::of(bbox),
        guess: None,
        sure_center: bbox.center(),
        localizer: Box::new(search.clone()),
        guard: guard.map(|params| Guard::new(&params, &first.frame(), bbox).unwrap()),
        lifecycle: Lifecycle::new(rules, max_doubts),
        redetection: None,
    }
}

/// An engine with states of this confidence.
fn with_states(search: &Scripted, confidence: ConfidenceParams, guard: Option<GuardParams>) -> Engine {
    let max_doubts = guard.as_ref().map_or(usize::MAX, |guard| guard.lost_after);
    let (probability, tiles, (appearance, frames)) = (confidence.redetected_from, confidence.tiles, search.finds);
    let criteria = RedetectionCriteria { probability, appearance, frames, tiles };
    let redetection = Some(Redetection::new(criteria, &picture(START).frame()));
    let lifecycle = Lifecycle::new(Rules::Confidence(confidence), max_doubts);
    Engine { lifecycle, redetection, ..engine(search, guard) }
}

/// A target is lost in the first frame of doubt.
fn impatient(tiles: usize) -> ConfidenceParams {
    ConfidenceParams { lost_after: 1, tiles, ..ConfidenceParams::default() }
}

fn calls(search: &Scripted) -> Vec<Call> {
    std::mem::take(&mut search.calls.lock().unwrap())
}

/// A frame in which nothing covers the target.
fn follow_once(engine: &mut Engine, search: &Scripted) {
    let seen = Scripted {
        psr: 20.0,
        found: Pose::of(target_at(START)),
        ..Scripted { confidence: Some(0.9), ..search.clone() }
    };
    let covering = std::mem::replace(&mut engine.localizer, Box::new(seen));
    engine.update(&picture(START).frame());
    (engine.localizer, _) = (covering, calls(search));
}

#[test]
fn a_frame_is_looked_at_and_learned_where_the_target_was_found() {
    let search = Scripted::at(NEARBY);
    let mut engine = engine(&search, None);
    let estimate = engine.update(&picture(NEARBY).frame());
    let (before, now) = (Pose::of(target_at(START)), Pose::of(target_at(NEARBY)));
    assert_eq!(calls(&search), [Call::Look(before), Call::Learn(now, Update::Usual)]);
    assert_eq!((estimate.bbox, estimate.state), (target_at(NEARBY), State::Tracking));
    assert_eq!(estimate.evidence, evidence(PEAKS.0));
    assert_eq!(engine.bbox(), target_at(NEARBY));
    // The next look starts there.
    engine.update(&picture(NEARBY).frame());
    assert_eq!(calls(&search)[0], Call::Look(now));
}

#[test]
fn what_is_not_seen_is_lost_where_it_was_and_not_learned() {
    let search = Scripted { seen: false, ..Scripted::at(NEARBY) };
    let mut engine = engine(&search, None);
    let estimate = engine.update(&picture(NEARBY).frame());
    assert_eq!((estimate.bbox, estimate.state), (target_at(START), State::Lost));
    assert_eq!(calls(&search), [Call::Look(Pose::of(target_at(START)))]);
}

#[test]
fn a_state_is_that_of_the_response() {
    for (psr, state) in [(20.0, State::Tracking), (6.0, State::Uncertain), (2.0, State::Lost)] {
        let search = Scripted { psr, ..Scripted::at(START) };
        assert_eq!(engine(&search, None).update(&picture(START).frame()).state, state);
    }
}

#[test]
fn a_box_that_leaves_the_picture_is_believed_less_and_then_not_at_all() {
    for (x, state) in
        [(0.0, State::Tracking), (-11.0, State::Tracking), (-13.0, State::Uncertain), (-24.0, State::Lost)]
    {
        let search = Scripted::at((x, 50.0));
        assert_eq!(engine(&search, None).update(&picture(START).frame()).state, state, "{x}");
    }
    let search = Scripted { psr: 2.0, ..Scripted::at((-13.0, 50.0)) };
    assert_eq!(engine(&search, None).update(&picture(START).frame()).state, State::Lost);
}

/// The guard sees the target where the search is not: the search is put there, looks there, and learns what it sees by
/// the guard's own share.
#[test]
fn a_search_is_put_where_its_guard_finds_the_target() {
    for psr in [20.0, 2.0] {
        let search = Scripted { psr, ..Scripted::at(START) };
        let guard = GuardParams { tiles: 0, relearn_rate: 0.375, ..GuardParams::of(MachineKind::Klda) };
        let mut engine = engine(&search, Some(guard));
        let estimate = engine.update(&picture(NEARBY).frame());
        let before = Pose::of(target_at(START));
        let [
            Call::Look(looked),
            Call::Learn(first, Update::Usual),
            Call::LookAt(put),
            Call::Restart(to),
            Call::Learn(again, Update::Blend(rate)),
        ] = calls(&search)[..]
        else {
            panic!("not put anywhere: {estimate:?}");
        };
        assert_eq!((looked, first, to, again, rate), (before, before, put, put, 0.375));
        assert!(estimate.bbox.overlap(&target_at(NEARBY)) > 0.8, "{}", estimate.bbox);
        assert_eq!(estimate.bbox, put.bbox((SIDE, SIDE)));
        // Evidence and state are those of the place that was found, whatever was said of the other.
        assert_eq!((estimate.evidence.peak, estimate.state), (PEAKS.1, State::Tracking));
        assert!(estimate.evidence.decision > Some(0.5), "{:?}", estimate.evidence);
    }
}

#[test]
fn a_guard_in_doubt_lowers_the_state_and_moves_nothing() {
    let search = Scripted::at(START);
    let guard = GuardParams { accept_above: 100.0, tiles: 0, lost_after: 2, ..GuardParams::of(MachineKind::Klda) };
    let mut engine = engine(&search, Some(guard));
    let elsewhere = picture(NEARBY);
    let states = [(); 3].map(|()| engine.update(&elsewhere.frame()).state);
    assert_eq!(states, [State::Uncertain, State::Lost, State::Lost]);
    assert_eq!(engine.bbox(), target_at(START));
    let estimate = engine.update(&picture(START).frame());
    assert!(estimate.state == State::Tracking && estimate.evidence.decision > Some(0.5), "{estimate:?}");
}

#[test]
fn a_fit_that_did_not_settle_is_said() {
    for (learned, said) in [(Learned::Done, false), (Learned::KeptModel, true)] {
        let search = Scripted { learned, ..Scripted::at(START) };
        for guard in [None, Some(GuardParams::of(MachineKind::Klda))] {
            let estimate = engine(&search, guard).update(&picture(START).frame());
            assert_eq!(estimate.evidence.refit_kept, said);
        }
    }
}

/// The frame is searched as soon as the target is lost, whether or not its last place has texture.
#[test]
fn a_target_lost_on_plain_ground_is_searched_elsewhere() {
    let here = Pose::of(target_at(START));
    for blank in [None, Some(here)] {
        let search = Scripted { confidence: Some(0.1), blank, ..Scripted::at(NEARBY) };
        let confidence = ConfidenceParams { lost_after: 2, tiles: 3, ..ConfidenceParams::default() };
        let mut engine = with_states(&search, confidence, None);
        let states = [(); 2].map(|()| {
            engine.pose = here;
            engine.update(&picture(START).frame()).state
        });
        assert_eq!(states, [if blank.is_some() { State::Lost } else { State::Uncertain }, State::Lost], "{blank:?}");
        let looks = calls(&search).iter().filter(|call| matches!(call, Call::Look(_))).count();
        assert_eq!(looks, 1 + 1 + 3, "{blank:?}");
        engine.localizer = Box::new(Scripted { confidence: Some(0.9), ..search });
        let estimate = engine.update(&picture(NEARBY).frame());
        assert_eq!((estimate.bbox, estimate.state), (target_at(NEARBY), State::Recovered), "{blank:?}");
    }
}

/// One picture without texture is called lost; in the next one all goes on, and the target is found again.
#[test]
fn what_was_called_lost_for_one_picture_is_found_again() {
    let search = Scripted { confidence: Some(0.9), ..Scripted::at(START) };
    let mut engine = with_states(&search, ConfidenceParams::default(), None);
    let frame = picture(START);
    let mut said = |seen: bool| {
        engine.localizer = Box::new(Scripted { seen, ..search.clone() });
        engine.update(&frame.frame()).state
    };
    let states = [true, false, true, true].map(&mut said);
    assert_eq!(states, [State::Tracking, State::Lost, State::Recovered, State::Tracking]);
}

#[test]
fn what_is_found_at_the_border_is_found_when_most_of_it_is_seen() {
    let search = Scripted::sure((-13.0, 50.0), 0.9);
    let mut engine = with_states(&Scripted { confidence: Some(0.1), ..search.clone() }, impatient(0), None);
    let frame = picture(START);
    assert_eq!(engine.update(&frame.frame()).state, State::Lost);
    engine.localizer = Box::new(search.clone());
    assert_eq!(engine.update(&frame.frame()).state, State::Uncertain);
    engine.localizer = Box::new(Scripted::sure((-11.0, 50.0), 0.9));
    let states = [(); 2].map(|()| engine.update(&frame.frame()).state);
    assert_eq!(states, [State::Recovered, State::Tracking]);
}

#[test]
fn the_box_of_a_lost_target_goes_where_it_may_be() {
    let guess = Some((Pose::of(target_at(NEARBY)), Evidence { confidence: Some(0.4), ..evidence(0.5) }));
    let mut engine = with_states(&Scripted { guess, ..Scripted::sure(START, 0.1) }, impatient(0), None);
    let estimate = engine.update(&picture(START).frame());
    assert_eq!((estimate.bbox, estimate.state), (target_at(NEARBY), State::Lost));
    assert_eq!((estimate.evidence.peak, estimate.evidence.confidence), (0.5, Some(0.4)));
    let search = Scripted { guess, ..Scripted::sure(START, 0.1) };
    engine.localizer = Box::new(search.clone());
    assert_eq!(engine.update(&picture(START).frame()).bbox, target_at(NEARBY));
    assert_eq!(calls(&search), [Call::LookLost(Pose::of(target_at(START)))], "the search stays where it was lost");
    engine.localizer = Box::new(Scripted::sure(START, 0.9));
    let found = engine.update(&picture(START).frame());
    assert_eq!((found.bbox, found.state), (target_at(START), State::Recovered));
}

/// The best accepted place is taken, in any order of the scan.
#[test]
fn the_surest_place_elsewhere_is_the_target() {
    let (away, other) = ((180.0, 120.0), (120.0, 30.0));
    for looks in [[(NEARBY, 0.85), (away, 0.95), (other, 0.9)], [(away, 0.95), (NEARBY, 0.85), (other, 0.3)]] {
        let search = Scripted { looks: [(START, 0.1)].into_iter().chain(looks).collect(), ..Scripted::at(START) };
        let estimate = with_states(&search, impatient(3), None).update(&picture(away).frame());
        assert_eq!((estimate.bbox, estimate.state), (target_at(away), State::Recovered));
        assert_eq!(estimate.evidence.confidence, Some(0.95));
    }
}

/// Nearby a lost target is accepted from the lower of two confidences on, elsewhere from the higher one.
#[test]
fn what_is_far_away_must_be_surer_than_what_is_near() {
    for (near, far, state) in [
        (0.49, 0.79, State::Lost),
        (0.51, 0.1, State::Recovered),
        (0.1, 0.79, State::Lost),
        (0.1, 0.81, State::Recovered),
    ] {
        let mut engine = with_states(&Scripted::sure(START, 0.1), impatient(1), None);
        assert_eq!(engine.update(&picture(START).frame()).state, State::Lost);
        let looks = [(START, near), (NEARBY, far)].into();
        engine.localizer = Box::new(Scripted { looks, ..Scripted::at(START) });
        assert_eq!(engine.update(&picture(START).frame()).state, state, "{near}, {far}");
    }
}

/// The rule holds however sure the search is: the model may have learned what it is sure of.
#[test]
fn what_the_long_term_model_does_not_know_is_not_found_elsewhere() {
    let mut search = Scripted { long_term: Some(1.0), ..Scripted::sure(START, 0.9) };
    let mut engine = with_states(&search, impatient(2), None);
    let mut said = |confidence: f64, long_term: f32| {
        (search.confidence, search.long_term) = (Some(confidence), Some(long_term));
        engine.localizer = Box::new(search.clone());
        engine.update(&picture(START).frame()).state
    };
    let states = [(0.9, 1.0), (0.1, 1.0), (0.95, 0.1), (0.95, 0.2)].map(|(p, answer)| said(p, answer));
    assert_eq!(states, [State::Tracking, State::Lost, State::Lost, State::Recovered]);
}

/// No area is searched twice in one frame, and they overlap by half in both directions.
#[test]
fn a_round_elsewhere_sees_each_area_once() {
    let cell = (SIZE.0 as f64, SIZE.1 as f64);
    let search = Scripted { cell, ..Scripted::sure(START, 0.1) };
    with_states(&search, impatient(9), None).update(&picture(START).frame());
    let (left, right, top, bottom) = (65.0, 195.0, 50.0, 150.0);
    let here = Pose::of(target_at(START));
    let areas = [(right, top), (left, bottom), (right, bottom), (left, top)].map(|center| Call::Look(here.at(center)));
    assert_eq!(calls(&search), [&[Call::Look(here), Call::Restore], &areas[..]].concat());
}

#[test]
fn a_place_that_was_seen_in_an_earlier_loss_does_not_count() {
    let finds = (f64::NEG_INFINITY, 2);
    let looks = [(START, 0.1), (NEARBY, 0.95), (START, 0.95), (START, 0.1), (NEARBY, 0.95)].into();
    let search = Scripted { finds, looks, ..Scripted::at(START) };
    let mut engine = with_states(&search, impatient(1), None);
    let states: Vec<_> = (0..3).map(|_| engine.update(&picture(START).frame()).state).collect();
    assert_eq!(states, [State::Lost, State::Recovered, State::Lost]);
}

/// The rule holds also where a round takes as many frames as there are sizes.
#[test]
fn each_place_is_searched_at_each_size() {
    let cell = (SIZE.0 as f64 * 2.0 / 3.0, SIZE.1 as f64);
    let finds = (0.0, 2);
    let search = Scripted { cell, finds, ..Scripted::sure(START, 0.1) };
    let mut engine = with_states(&search, impatient(2), None);
    (0..9).for_each(|_| _ = engine.update(&picture(START).frame()));
    let looks = calls(&search).into_iter().filter_map(|call| match call {
        Call::Look(pose) if pose.center != target_at(START).center() => Some((pose.center, pose.scale)),
        _ => None,
    });
    let mut looks: Vec<_> = looks.collect();
    looks.sort_by(|a, b| a.partial_cmp(b).unwrap());
    looks.dedup();
    assert_eq!(looks.len(), 6 * 3, "{looks:?}");
}

/// One frame may look like the target by chance.
#[test]
fn a_place_elsewhere_must_be_found_in_several_frames_in_a_row() {
    let search = Scripted { finds: (0.0, 3), ..Scripted::sure(START, 0.1) };
    let mut engine = with_states(&search, impatient(1), None);
    assert_eq!(engine.update(&picture(START).frame()).state, State::Lost);
    let mut look = |elsewhere: f64| {
        let looks = [(START, 0.1), (NEARBY, elsewhere)].into();
        engine.localizer = Box::new(Scripted { looks, ..search.clone() });
        engine.update(&picture(START).frame())
    };
    // Found twice, missed, and found three times.
    let states = [0.9, 0.9, 0.1, 0.9, 0.9, 0.9].map(|confidence| look(confidence).state);
    assert_eq!(states[..5], [State::Lost; 5]);
    assert_eq!(states[5], State::Recovered);
    assert_eq!(engine.bbox(), target_at(NEARBY));
}

#[test]
fn what_does_not_look_like_the_target_is_not_found_elsewhere() {
    let finds = (0.2, 1);
    for (identity, state) in [(0.1, State::Lost), (0.3, State::Recovered)] {
        let looks = [(START, 0.1), (NEARBY, 0.9)].into();
        let search = Scripted { finds, identity: Some(identity), looks, ..Scripted::at(START) };
        assert_eq!(with_states(&search, impatient(1), None).update(&picture(START).frame()).state, state);
    }
}

#[test]
fn a_certain_frame_is_kept_before_it_is_learned() {
    for (identity, kept) in [(0.95, true), (0.5, false), (-0.5, false)] {
        let search = Scripted { identity: Some(identity), ..Scripted::sure(NEARBY, 0.95) };
        with_states(&search, ConfidenceParams::default(), None).update(&picture(NEARBY).frame());
        let (before, now) = (Pose::of(target_at(START)), Pose::of(target_at(NEARBY)));
        let expected = [Call::Look(before), Call::Snapshot(now), Call::Learn(now, Update::Usual)];
        assert!(
            calls(&search)
                .into_iter()
                .eq(expected.into_iter().filter(|call| kept || !matches!(call, Call::Snapshot(_))))
        );
    }
}

/// The loss undoes later learning once. The size is that of this frame, the place that of the last sure one: from there on
/// the box may have followed what covers the target.
#[test]
fn a_loss_restores_the_models_of_the_last_certain_frame() {
    let small = Pose { scale: 0.5, ..Pose::of(target_at((10.0, 10.0))) };
    let looks = [(START, 0.9), (NEARBY, 0.1)].into();
    let search = Scripted { saved: Some(small), looks, ..Scripted::sure(NEARBY, 0.1) };
    let mut engine = with_states(&search, ConfidenceParams { lost_after: 2, ..impatient(0) }, None);
    let estimates = [(); 4].map(|()| engine.update(&picture(START).frame()));
    assert_eq!(calls(&search).iter().filter(|call| **call == Call::Restore).count(), 1);
    let center = target_at(START).center();
    assert_eq!(estimates[1].bbox, target_at(NEARBY));
    assert_eq!(estimates[3].bbox, small.at(center).bbox((SIDE, SIDE)));
}

/// A box that followed would go with what covers the target. It does not wait for ever, and a target that looks as
/// given is followed.
#[test]
fn the_box_of_a_covered_target_waits_where_it_was() {
    for (identity, waits) in [(-0.5, MAX_OCCLUDED), (0.5, 0)] {
        let search = Scripted { psr: 2.0, identity: Some(identity), ..Scripted::sure(NEARBY, 0.6) };
        let mut engine = with_states(&search, ConfidenceParams { hidden_share: 0.7, ..impatient(0) }, None);
        follow_once(&mut engine, &search);
        // The box waits as long when the target is covered again.
        for _ in 0..2 {
            let estimates = [(); MAX_OCCLUDED + 1].map(|()| engine.update(&picture(START).frame()));
            assert!(estimates.iter().all(|estimate| estimate.state == State::Occluded));
            assert_eq!(estimates.iter().filter(|estimate| estimate.bbox == target_at(START)).count(), waits);
            let learned = calls(&search).iter().filter(|call| matches!(call, Call::Learn(..))).count();
            assert_eq!(learned, MAX_OCCLUDED + 1 - waits);
            let seen = Scripted { psr: 20.0, found: Pose::of(target_at(START)), ..search.clone() };
            let covering = std::mem::replace(&mut engine.localizer, Box::new(seen));
            assert_eq!(engine.update(&picture(START).frame()).bbox, target_at(START));
            (engine.localizer, _) = (covering, calls(&search));
        }
    }
}

/// Without a verifier nothing tells what covers the target from a target that has changed.
#[test]
fn a_covered_target_that_nothing_judges_is_hardly_learned_and_then_lost() {
    let search = Scripted { psr: 2.0, ..Scripted::sure(NEARBY, 0.6) };
    let mut engine = with_states(&search, ConfidenceParams { hidden_share: 0.7, ..impatient(0) }, None);
    follow_once(&mut engine, &search);
    let lost = [(); MAX_OCCLUDED + 1].map(|()| {
        let estimate = engine.update(&picture(START).frame());
        assert_eq!(estimate.bbox, target_at(NEARBY));
        engine.lifecycle.is_lost()
    });
    assert_eq!(lost.iter().position(|lost| *lost), Some(MAX_OCCLUDED));
    let rates = calls(&search).into_iter().filter_map(|call| match call {
        Call::Learn(_, update) => Some(update),
        _ => None,
    });
    assert_eq!(rates.collect::<Vec<_>>(), [Update::Held(40.0); MAX_OCCLUDED]);
}

/// A cut moves no box and undoes no learning. Elsewhere the target must be found in more frames and stand out.
#[test]
fn a_cut_loses_the_target_at_once_until_the_scene_is_back() {
    let gray = |first: u8| (0..SIZE.0 * SIZE.1).map(|i| first + (i % SIZE.0 / 9 % 5 * 6) as u8).collect::<Vec<_>>();
    // The colours of the second are those of the scene.
    let (scene, other, similar) = (picture(START), gray(200), gray(90));
    let [other, similar] = [&other, &similar].map(|pixels| Frame::gray(pixels, SIZE.0, SIZE.1).unwrap());
    let guess = Some((Pose::of(target_at(NEARBY)), evidence(0.5)));
    for (tiles, psr, found) in [(0, 20.0, false), (1, 17.9, false), (1, 20.0, true)] {
        let search = Scripted { psr, guess, ..Scripted::sure(NEARBY, 0.9) };
        let mut engine = with_states(&search, impatient(tiles), None);
        assert_eq!(engine.update(&other).state, State::Lost);
        assert_eq!((engine.bbox(), calls(&search).contains(&Call::Restore)), (target_at(START), false));
        let states = [(); 4].map(|()| engine.update(&other).state);
        let (last, before) = states.split_last().unwrap();
        assert!(before.iter().all(|state| *state == State::Lost));
        assert_eq!(*last, if found { State::Recovered } else { State::Lost });
        // From there on the second picture is the scene, and the cut is forgotten: another look, without a cut, does
        // not lose the target again.
        let frames = if found { [other, similar, other] } else { [similar, scene.frame(), scene.frame()] };
        let expected = if found { [State::Tracking; 3] } else { [State::Lost, State::Recovered, State::Tracking] };
        assert_eq!(frames.map(|frame| engine.update(&frame).state), expected, "{tiles}, {psr}");
    }
}

// A search whose states have a memory, put elsewhere by its guard.

/// A guard that finds the target at [`NEARBY`], and its engine.
fn guarded(search: &Scripted, confidence: ConfidenceParams) -> Engine {
    with_states(search, confidence, Some(GuardParams { tiles: 0, ..GuardParams::of(MachineKind::Klda) }))
}

/// The search goes on at the guard's place, as a search that was never lost.
#[test]
fn a_lost_target_that_its_guard_finds_is_followed_again() {
    let search = Scripted::sure(START, 0.1);
    let mut engine = guarded(&search, impatient(0));
    let next = picture(NEARBY);
    let found = engine.update(&next.frame());
    assert!(found.state == State::Recovered && found.bbox.overlap(&target_at(NEARBY)) > 0.8, "{found:?}");
    calls(&search);
    let sure = Scripted { confidence: Some(0.9), ..search.clone() };
    engine.localizer = Box::new(Scripted { found: Pose::of(target_at(NEARBY)), ..sure });
    assert_eq!(engine.update(&next.frame()).state, State::Tracking);
    assert!(matches!(calls(&search)[..], [Call::Look(_), Call::Learn(_, Update::Usual)]), "it is learned again");
}

/// The confidence is that of the place where the guard has put the search, not of the one where it was.
#[test]
fn a_confidence_is_of_the_place_that_the_guard_has_found() {
    let search = Scripted { looks: [(START, 0.9)].into(), ..Scripted::sure(START, 0.3) };
    let estimate = guarded(&search, ConfidenceParams::default()).update(&picture(NEARBY).frame());
    assert!(estimate.bbox.overlap(&target_at(NEARBY)) > 0.8, "{estimate:?}");
    assert_eq!((estimate.evidence.confidence, estimate.state), (Some(0.3), State::Tracking));
}

/// The guard has moved the search away from the doubtful place.
#[test]
fn a_search_that_is_put_elsewhere_counts_its_doubts_anew_there() {
    let confidence = ConfidenceParams { lost_after: 3, tiles: 0, ..ConfidenceParams::default() };
    let search = Scripted::sure(START, 0.1);
    let mut engine = guarded(&search, confidence);
    assert_eq!(engine.update(&picture(START).frame()).state, State::Uncertain);
    let next = picture(NEARBY);
    assert_eq!(engine.update(&next.frame()).state, State::Tracking);
    assert!(engine.bbox().overlap(&target_at(NEARBY)) > 0.8);
    engine.localizer = Box::new(Scripted { found: Pose::of(target_at(NEARBY)), ..search });
    let states = [(); 3].map(|()| engine.update(&next.frame()).state);
    assert_eq!(states, [State::Uncertain, State::Uncertain, State::Lost]);
}
