//! The loop over a search whose answers are written down, and a guard that really looks.

mod guarded;
mod lost;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ndarray::ArrayView2;

use super::*;
use crate::machines::MachineKind;
use crate::tracker::scenes::{Picture, SIDE, target_at};
use crate::tracker::search::Sighting;
use crate::tracker::{
    BeliefParams, DecisionSettings, Evidence, GuardParams, MatchingSettings, ResponseLayout, VerifyParams,
};

const START: (f64, f64) = (50.0, 50.0);
const NEARBY: (f64, f64) = (66.0, 58.0);
const SIZE: (usize, usize) = (260, 200);

/// What a search was asked, with the place that it was asked of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Look(Pose),
    LookAt(Pose),
    Learn(Pose, Option<f64>),
    Stagger(Stagger),
}

/// Answers as it is told to, and remembers what it was asked.
#[derive(Clone, Debug)]
struct Scripted {
    /// What a look finds, and whether there is anything to see.
    found: Pose,
    seen: bool,
    /// A place where there is nothing to see.
    blank: Option<Pose>,
    /// What all evidence is worth, and what becomes of an offer to learn.
    state: State,
    confidence: Option<f64>,
    learned: Learned,
    /// What its long-term model answers everywhere.
    long_term: Option<f32>,
    /// What the next looks find instead, one after another, and how sure they are of it.
    looks: VecDeque<((f64, f64), f64)>,
    /// Pixels of the only cell of its response.
    cell: (f64, f64),
    calls: Arc<Mutex<Vec<Call>>>,
}

/// Peaks of a look at all places and at one.
const PEAKS: (f32, f32) = (0.75, 0.25);

impl Scripted {
    fn at(corner: (f64, f64)) -> Self {
        let found = Pose::of(target_at(corner));
        let (state, learned, calls) = (State::Tracking, Learned::Settled, Arc::default());
        let (looks, cell) = (VecDeque::new(), (1.0, 1.0));
        Self { found, seen: true, blank: None, state, confidence: None, learned, long_term: None, looks, cell, calls }
    }

    /// As that, of a search with this confidence.
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

/// What it says is written down already.
impl Recorded for Scripted {
    fn record(&mut self, _: &mut Tape<'_>) -> Result<()> {
        Ok(())
    }
}

impl Search for Scripted {
    fn pose(&self) -> Pose {
        self.found
    }

    fn stagger(&mut self, stagger: Stagger) {
        self.note(Call::Stagger(stagger));
    }

    fn look(&mut self, _: &Frame<'_>, at: Pose, _: &mut Stopwatch) -> Sighting {
        self.note(Call::Look(at));
        let seen = self.seen && self.blank != Some(at);
        let (found, confidence) = match self.looks.pop_front() {
            Some((corner, confidence)) => (Pose::of(target_at(corner)), Some(confidence as f32)),
            None => (self.found, None),
        };
        let evidence = Evidence { confidence, long_term: self.long_term, ..evidence(PEAKS.0) };
        Sighting { pose: found, evidence, seen }
    }

    fn look_at(&mut self, _: &Frame<'_>, at: Pose, _: &mut Stopwatch) -> Sighting {
        self.note(Call::LookAt(at));
        Sighting { pose: at, evidence: evidence(PEAKS.1), seen: self.seen }
    }

    fn learn(&mut self, _: &Frame<'_>, at: Pose, rate: Option<f64>, _: &mut Stopwatch) -> Learned {
        self.note(Call::Learn(at, rate));
        self.learned
    }

    fn judge(&self, _: &Evidence) -> State {
        self.state
    }

    fn confidence(&self, evidence: &Evidence) -> Option<f64> {
        evidence.confidence.map(f64::from).or(self.confidence)
    }

    fn response(&self) -> ResponseMap<'_> {
        let values = ArrayView2::from_shape((1, 1), &[0.0]).unwrap();
        ResponseMap { values, layout: ResponseLayout::Centered, center: self.found.center, step: self.cell, angle: 0.0 }
    }

    fn boxed_clone(&self) -> Box<dyn Search> {
        Box::new(self.clone())
    }
}

fn picture(corner: (f64, f64)) -> Picture {
    Picture::ground(SIZE.0, SIZE.1).with_target(corner)
}

/// An engine that stood at [`START`], over `search`.
fn engine(search: &Scripted, guard: Option<GuardParams>) -> Engine {
    let (first, bbox) = (picture(START), target_at(START));
    let mut watch = Stopwatch::default();
    let guard = guard.map(|params| Guard::new(&params, &first.frame(), bbox, &mut watch).unwrap());
    Engine {
        size: (SIDE, SIDE),
        pose: Pose::of(bbox),
        search: search.boxed_clone(),
        guard,
        judge: None,
        verifier: None,
        round: Round::default(),
        watch,
    }
}

/// An engine that judges by `belief`.
fn judged(search: &Scripted, belief: BeliefParams, guard: Option<GuardParams>) -> Engine {
    Engine { judge: Some(Judge::new(belief)), ..engine(search, guard) }
}

/// A target is lost in the first frame of doubt.
fn impatient(tiles: usize) -> BeliefParams {
    BeliefParams { lost_after: 1, tiles, ..BeliefParams::default() }
}

fn calls(search: &Scripted) -> Vec<Call> {
    std::mem::take(&mut search.calls.lock().unwrap())
}

/// What is written of a verifier, without the count of frames, which ends it.
fn written(verifier: &mut Verifier) -> Vec<u8> {
    let mut tape = Tape::empty();
    verifier.record(&mut tape).unwrap();
    let bytes = tape.written();
    bytes[..bytes.len() - 8].to_vec()
}

#[test]
fn a_frame_is_looked_at_and_learned_where_the_target_was_found() {
    let search = Scripted::at(NEARBY);
    let mut engine = engine(&search, None);
    let estimate = engine.update(&picture(NEARBY).frame());
    let (before, now) = (Pose::of(target_at(START)), Pose::of(target_at(NEARBY)));
    assert_eq!(calls(&search), [Call::Look(before), Call::Learn(now, None)]);
    assert_eq!((estimate.bbox, estimate.state), (target_at(NEARBY), State::Tracking));
    assert_eq!(estimate.evidence, evidence(PEAKS.0));
    assert_eq!(engine.bbox(), target_at(NEARBY));
    // The next look starts there.
    engine.update(&picture(NEARBY).frame());
    assert_eq!(calls(&search)[0], Call::Look(now));
}

#[test]
fn a_search_is_staggered_as_its_target_is() {
    let search = Scripted::at(NEARBY);
    let stagger = Stagger::of(2, 8, 5);
    engine(&search, None).stagger(stagger);
    assert_eq!(calls(&search), [Call::Stagger(stagger)]);
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
fn a_state_is_the_searchs_judgement() {
    for state in [State::Tracking, State::Uncertain, State::Lost] {
        let search = Scripted { state, ..Scripted::at(START) };
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
    let search = Scripted { state: State::Lost, ..Scripted::at((-13.0, 50.0)) };
    assert_eq!(engine(&search, None).update(&picture(START).frame()).state, State::Lost);
}

/// The guard sees the target where the search is not: the search is put there, looks there, and learns what it sees by
/// the guard's own share.
#[test]
fn a_search_is_put_where_its_guard_finds_the_target() {
    for state in [State::Tracking, State::Lost] {
        let search = Scripted { state, ..Scripted::at(START) };
        let guard = GuardParams { tiles: 0, relearn: 0.375, ..GuardParams::of(MachineKind::Klda) };
        let mut engine = engine(&search, Some(guard));
        let estimate = engine.update(&picture(NEARBY).frame());
        let before = Pose::of(target_at(START));
        let [Call::Look(looked), Call::Learn(first, None), Call::LookAt(put), Call::Learn(again, Some(rate))] =
            calls(&search)[..]
        else {
            panic!("not put anywhere: {estimate:?}");
        };
        assert_eq!((looked, first, again, rate), (before, before, put, 0.375));
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
    let guard = GuardParams { belief: 100.0, tiles: 0, patience: 2, ..GuardParams::of(MachineKind::Klda) };
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
    for (learned, said) in [(Learned::Settled, false), (Learned::Kept, true)] {
        let search = Scripted { learned, ..Scripted::at(START) };
        for guard in [None, Some(GuardParams::of(MachineKind::Klda))] {
            let estimate = engine(&search, guard).update(&picture(START).frame());
            assert_eq!(estimate.evidence.refit_kept, said);
        }
    }
}

/// A target that was lost is taken up again only where the verifier knows it; it has seen it while it was there for
/// sure.
#[test]
fn what_is_found_again_must_be_known() {
    let machines = [MachineKind::Krr, MachineKind::Svm, MachineKind::Klda, MachineKind::Slem];
    let by_decision =
        machines.map(|machine| VerifyParams::Decision(DecisionSettings { machine, ..Default::default() }));
    for verify in by_decision.into_iter().chain([VerifyParams::Matching(MatchingSettings::default())]) {
        for (place, known) in [((120.0, 90.0), false), (NEARBY, true)] {
            let belief = BeliefParams { lost_after: 1, tiles: 0, ..BeliefParams::default() };
            let frame = picture(NEARBY);
            let mut watch = Stopwatch::default();
            let first = picture(START);
            let verifier = Verifier::new(verify, &first.frame(), target_at(START), &mut watch).unwrap();
            let base = engine(&Scripted::at(START), None);
            let mut engine = Engine { judge: Some(Judge::new(belief)), verifier, ..base };
            let search = Scripted { confidence: Some(0.1), ..Scripted::at(place) };
            engine.search = search.boxed_clone();
            assert_eq!(engine.update(&frame.frame()).state, State::Lost);
            assert_eq!(calls(&search).len(), 1, "a lost target is not learned");
            engine.search = Scripted { confidence: Some(0.9), ..search.clone() }.boxed_clone();
            let estimate = engine.update(&frame.frame());
            let (state, bbox) =
                if known { (State::Recovered, target_at(NEARBY)) } else { (State::Lost, target_at(START)) };
            assert_eq!((estimate.state, estimate.bbox), (state, bbox), "{verify:?}");
            let learned = calls(&search).iter().any(|call| matches!(call, Call::Learn(..)));
            assert_eq!(learned, known);
        }
    }
}

/// The frame is searched as soon as the target is lost, whether or not there is anything to see where it was last.
#[test]
fn a_target_lost_on_plain_ground_is_searched_elsewhere() {
    let here = Pose::of(target_at(START));
    for blank in [None, Some(here)] {
        let search = Scripted { confidence: Some(0.1), blank, ..Scripted::at(NEARBY) };
        let belief = BeliefParams { lost_after: 2, tiles: 3, ..BeliefParams::default() };
        let mut engine = Engine { judge: Some(Judge::new(belief)), ..engine(&search, None) };
        let states = [(); 2].map(|()| {
            engine.pose = here;
            engine.update(&picture(START).frame()).state
        });
        assert_eq!(states, [if blank.is_some() { State::Lost } else { State::Uncertain }, State::Lost], "{blank:?}");
        let looks = calls(&search).iter().filter(|call| matches!(call, Call::Look(_))).count();
        assert_eq!(looks, 1 + 1 + 3, "{blank:?}");
        engine.search = Scripted { confidence: Some(0.9), ..search }.boxed_clone();
        let estimate = engine.update(&picture(NEARBY).frame());
        assert_eq!((estimate.bbox, estimate.state), (target_at(NEARBY), State::Recovered), "{blank:?}");
    }
}

/// One picture without texture is called lost, and the next one, where all goes on, the target found again.
#[test]
fn what_was_called_lost_for_one_picture_is_found_again() {
    let search = Scripted { confidence: Some(0.9), ..Scripted::at(START) };
    let mut engine = Engine { judge: Some(Judge::new(BeliefParams::default())), ..engine(&search, None) };
    let frame = picture(START);
    let mut said = |seen: bool| {
        engine.search = Scripted { seen, ..search.clone() }.boxed_clone();
        engine.update(&frame.frame()).state
    };
    let states = [true, false, true, true].map(&mut said);
    assert_eq!(states, [State::Tracking, State::Lost, State::Recovered, State::Tracking]);
}

/// The verifier learns one of so many sure frames and no other.
#[test]
fn a_verifier_remembers_sure_frames_alone() {
    let verify = VerifyParams::Decision(DecisionSettings { every: 2, ..Default::default() });
    let frame = picture(START);
    let mut watch = Stopwatch::default();
    // Each frame that is learned changes what is written of it.
    let tape = |verifier: &Verifier| written(&mut verifier.clone());
    for (confidence, learns) in [(0.9, [false, true, false, true]), (0.79, [false; 4])] {
        let verifier = Verifier::new(verify, &frame.frame(), target_at(START), &mut watch).unwrap();
        let base = engine(&Scripted::at(START), None);
        let mut engine = Engine { judge: Some(Judge::new(BeliefParams::default())), verifier, ..base };
        engine.search = Scripted { confidence: Some(confidence), ..Scripted::at(START) }.boxed_clone();
        for (i, learns) in learns.into_iter().enumerate() {
            let before = tape(engine.verifier.as_ref().unwrap());
            let looks = picture((START.0 + i as f64 + 1.0, START.1));
            engine.update(&looks.frame());
            // A scan writes its response, a lesson its samples.
            let after = tape(engine.verifier.as_ref().unwrap());
            assert_eq!(before != after, learns, "{confidence}, {i}");
        }
    }
}
