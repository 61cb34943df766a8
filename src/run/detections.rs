//! A detector now and then: its boxes begin, correct and end the targets of a [`Session`].
//!
//! Between detections each target is followed by its own tracker. A detection is compared with where the targets were in
//! its frame, which may be [`DetectionParams::late`] frames old, and what it says is carried forward to the newest one.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::session::{Follower, Outcome, Session, Target};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameBuf};
use crate::settings::{Setting, settings};
use crate::tracker::{Estimate, State, Tracker, check_start};

/// The estimates of a target in the last frames, by position.
type Track = VecDeque<(usize, Estimate)>;

/// Maximum detections of a frame.
pub const MAX_DETECTIONS: usize = 1000;

/// Maximum bytes of frames that are kept for detections that come late.
const MAX_FRAME_BYTES: usize = 256 << 20;

/// Maximum number of margins around the box of a target.
const MAX_REACH: usize = 3;

/// Confidence from which a target is sure, and by how much verifiers must differ to decide between two targets.
const SURE: f32 = 0.8;
const VERIFIED: f32 = 0.2;

/// A box of a detector.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detection {
    /// The box, 0-based.
    #[serde(alias = "box")]
    pub bbox: BBox,
    /// How sure the detector is, 0 to 1.
    #[serde(default = "certain")]
    pub score: f64,
    /// Its class. Detections of one class begin no target of another and correct none.
    #[serde(default)]
    pub class: Option<String>,
}

fn certain() -> f64 {
    1.0
}

settings! {
    /// Rules by which detections become targets.
    pub struct DetectionParams {
        /// Score from which a detection begins a target
        birth: f64 = 0.6, Within(0.0, 1.0);
        /// Score from which a detection chooses its target first
        high: f64 = 0.5, Within(0.0, 1.0);
        /// Score from which a detection counts at all; below `high` only for a target that is followed
        low: f64 = 0.1, Within(0.0, 1.0);
        /// Least overlap (intersection over union) of a detection with its target
        overlap: f64 = 0.2, Within(0.0, 1.0);
        /// Least overlap for scores below `high`
        overlap_low: f64 = 0.5, Within(0.0, 1.0);
        /// Least overlap for a target that is not yet confirmed
        overlap_new: f64 = 0.35, Within(0.0, 1.0);
        /// Margin around both boxes, in shares of their sides, for a target that is lost; once more for each detection in
        /// a row that has missed it, up to three times
        reach: f64 = 0.3, Within(0.0, 10.0);
        /// Standard deviation of a detection's sides, as a share of its size
        noise: f64 = 0.06, Within(0.0, 1.0);
        /// Detections after which a target is shown
        confirm: usize = 2, Within(1.0, 100.0);
        /// Show the targets of the first detections of a run at once
        first: bool = true;
        /// Detections in a row that may miss a target that is tracked; one that is uncertain ends after half as many
        patience: usize = 4, Within(1.0, 1000.0);
        /// Share of a miss that counts against a sure target where no target was detected at all
        blind_miss: f64 = 0.3, Within(0.0, 1.0);
        /// How far corrections may move a box from what its tracker follows, in shares of its size, until that is learned
        /// anew
        drift: f64 = 0.35, Above(0.0, 10.0);
        /// Detections of a lost target after which it is learned anew
        relearn: usize = 2, Within(1.0, 100.0);
        /// Overlap of two targets above which they may be one
        double: f64 = 0.6, Within(0.0, 1.0);
        /// Frames in a row after which one of two such targets ends
        double_frames: usize = 10, Within(1.0, 1000.0);
        /// Frames by which a detection may come late
        late: usize = 60, Within(0.0, 600.0);
        /// Frames by which rows wait, so that detections that come late correct them and begin targets in them
        delay: usize = 0, Within(0.0, 600.0);
        /// Targets at a time
        targets: usize = 100, Within(1.0, 10000.0);
    }
}

impl DetectionParams {
    /// Sets a parameter by its name, as `double-frames` or `double_frames`, to what `text` says.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown name and a value out of its range.
    pub fn change(&mut self, name: &str, text: &str) -> Result<()> {
        Setting::set(self, "detections", &name.replace('_', "-"), text, false)
    }

    /// Checks that all parameters are in their ranges.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first that is not.
    pub fn check(&self) -> Result<()> {
        self.check_ranges("detections")
    }
}

/// Result of the detections of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detected {
    /// The target of each detection, which may not be confirmed yet; `None` for one that is not used.
    pub ids: Vec<Option<usize>>,
    /// Why detections are not understood, by their places.
    pub refused: Vec<(usize, String)>,
}

/// State of a session with detections.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Detector<F> {
    pub params: DetectionParams,
    /// A copy follows each new target.
    pub tracker: F,
    /// The latest frames, by position.
    pub frames: VecDeque<(usize, FrameBuf)>,
    /// Frames in a row for which two targets have lain on each other.
    pub doubles: BTreeMap<(usize, usize), usize>,
    /// Targets that have ended.
    pub ended: Vec<usize>,
    /// Whether there were detections.
    pub has_begun: bool,
}

/// The evidence of detections for a target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Life {
    /// Whether the target is shown.
    pub confirmed: bool,
    /// Whether the caller added the target, who ends it too.
    given: bool,
    class: Option<String>,
    /// Detections less misses, at most the patience; at 0 the target ends.
    evidence: f64,
    hits: usize,
    /// Detections in a row that have missed the target.
    missed: usize,
    /// Detections since the target was lost.
    hits_lost: usize,
    /// The frame of the last detection.
    last_hit: usize,
    /// Its estimates in the latest frames, corrected by later detections.
    track: Track,
}

impl Life {
    /// The life of a target that the caller has added.
    fn given() -> Self {
        Self { confirmed: true, given: true, ..Self::default() }
    }

    fn at(&self, position: usize) -> Option<BBox> {
        self.track.iter().rev().find(|(at, _)| *at <= position).map(|(_, estimate)| estimate.bbox)
    }
}

/// The box `now` corrected as if `then`, its box in an earlier frame, had been `right`.
fn carried(then: BBox, now: BBox, right: BBox) -> BBox {
    let (old, new, center) = (then.center(), right.center(), now.center());
    let (w, h) = (right.w * now.w / then.w, right.h * now.h / then.h);
    let x = center.0 + (new.0 - old.0) * now.w / then.w;
    let y = center.1 + (new.1 - old.1) * now.h / then.h;
    BBox::new(x - w / 2.0, y - h / 2.0, w, h)
}

impl<F: Follower> Session<F> {
    /// Keeps a frame and the boxes of the targets in it for late detections, and ends one of two targets on one object.
    pub(super) fn watch_detected(&mut self, position: usize, frame: &Frame<'_>) {
        let Some(detector) = &mut self.detector else { return };
        let bytes = frame.width() * frame.height() * frame.format().bytes();
        let kept = (detector.params.late + 1).min((MAX_FRAME_BYTES / bytes.max(1)).max(1));
        while detector.frames.len() >= kept {
            detector.frames.pop_front();
        }
        detector.frames.push_back((position, FrameBuf::from(*frame)));
        for target in self.targets.values_mut() {
            let Some(estimate) = target.last else { continue };
            let life = target.life.get_or_insert_with(Life::given);
            life.hits_lost *= usize::from(estimate.state == State::Lost);
            life.track.push_back((position, estimate));
            if life.track.len() > detector.params.late + 1 {
                life.track.pop_front();
            }
        }
        for id in self.doubles() {
            self.end_by_detections(id);
        }
    }

    /// Ids of the targets that end because another target is on the same object.
    fn doubles(&mut self) -> Vec<usize> {
        let Self { detector: Some(detector), targets, .. } = self else { return Vec::new() };
        let shown = |(&id, target): (&usize, &'_ Target<F>)| {
            let life = target.life.as_ref().filter(|life| life.confirmed)?;
            let found = target.last.filter(|last| last.state != State::Lost)?;
            Some((id, life.given, life.last_hit, found))
        };
        let all: Vec<_> = targets.iter().filter_map(shown).collect();
        let (mut doubles, mut ending) = (BTreeMap::new(), Vec::new());
        for (place, &(a, a_given, a_hit, a_found)) in all.iter().enumerate() {
            for &(b, b_given, b_hit, b_found) in &all[place + 1..] {
                if a_found.bbox.overlap(&b_found.bbox) < detector.params.double {
                    continue;
                }
                let frames = detector.doubles.get(&(a, b)).map_or(1, |frames| frames + 1);
                if frames < detector.params.double_frames || a_given && b_given {
                    doubles.insert((a, b), frames);
                    continue;
                }
                let looks = a_found.evidence.identity.zip(b_found.evidence.identity).map_or(0.0, |(a, b)| a - b);
                let is_a_worse = match (a_given, b_given) {
                    (true, false) => false,
                    (false, true) => true,
                    _ if looks.abs() > VERIFIED => looks < 0.0,
                    // The older one stays.
                    _ => b_hit > a_hit,
                };
                ending.push(if is_a_worse { a } else { b });
            }
        }
        detector.doubles = doubles;
        ending
    }

    /// Ends a target and says so in [`Session::take_ended`].
    fn end_by_detections(&mut self, id: usize) {
        let was_shown = self.targets.get(&id).is_some_and(|target| target.is_shown());
        self.drop_target(id);
        if let Some(detector) = self.detector.as_mut().filter(|_| was_shown) {
            detector.ended.push(id);
        }
    }

    /// The targets that detections have ended since the last call.
    pub fn take_ended(&mut self) -> Vec<usize> {
        self.detector.as_mut().map_or(Vec::new(), |detector| std::mem::take(&mut detector.ended))
    }

    /// Whether the rows of an earlier frame need not wait for later detections in the frame at `now`: the delay is over, or
    /// memory for frames is.
    #[cfg(feature = "cli")]
    pub(crate) fn is_settled(&self, position: usize, now: usize) -> bool {
        let oldest = |detector: &Detector<F>| detector.frames.front().map_or(now, |(oldest, _)| *oldest);
        self.detector
            .as_ref()
            .is_none_or(|detector| position + detector.params.delay <= now || position < oldest(detector))
    }

    /// Corrects the outcomes of an earlier frame by what later detections have said, and adds the targets that these have
    /// begun in it.
    pub fn revise(&self, position: usize, outcomes: &mut Vec<Outcome>) {
        for (&id, target) in self.targets.iter().filter(|(_, target)| target.is_shown()) {
            let track = target.life.iter().flat_map(|life| &life.track);
            let Some((_, estimate)) = track.clone().find(|(at, _)| *at == position) else { continue };
            match outcomes.iter_mut().find(|outcome| outcome.target == id) {
                Some(outcome) => (outcome.bbox, outcome.estimate) = (estimate.bbox, Some(*estimate)),
                None => outcomes.push(Outcome::untimed(id, *estimate)),
            }
        }
        outcomes.sort_by_key(|outcome| outcome.target);
    }

    /// The first frame of a target that is not before `from`, and its box there.
    #[cfg(feature = "cli")]
    pub(crate) fn first_since(&self, target: usize, from: usize) -> Option<(usize, BBox)> {
        let track = &self.targets.get(&target)?.life.as_ref()?.track;
        track.iter().find(|(at, _)| *at >= from).map(|(at, estimate)| (*at, estimate.bbox))
    }

    /// The class of a target that a detection has begun.
    pub fn class(&self, target: usize) -> Option<&str> {
        self.targets.get(&target)?.life.as_ref()?.class.as_deref()
    }
}

impl Session<Tracker> {
    /// Takes detections from now on: a copy of `tracker` follows each new target. The latest frames are kept for those
    /// that come late, at most 256 MB.
    ///
    /// # Errors
    /// [`Error::Setting`] for a number out of its range.
    pub fn expect_detections(&mut self, tracker: Tracker, params: DetectionParams) -> Result<()> {
        params.check()?;
        let (frames, doubles, ended) = (VecDeque::new(), BTreeMap::new(), Vec::new());
        self.detector = Some(Box::new(Detector { params, tracker, frames, doubles, ended, has_begun: false }));
        Ok(())
    }

    /// Corrects a target by a box in the frame at `position`, the newest or an earlier one, without learning anew: see
    /// [`Tracker::adjust`]. Its noise is that of detections, unless it is given in pixels.
    ///
    /// # Errors
    /// An unknown target, a frame that is not or no longer kept (none is before [`Self::expect_detections`]), and those of
    /// [`Tracker::adjust`].
    pub fn adjust(&mut self, id: usize, position: Option<usize>, bbox: BBox, noise: Option<f64>) -> Result<Estimate> {
        let share = self.detector.as_ref().map_or(DetectionParams::default().noise, |detector| detector.params.noise);
        let then = match (position, &self.detector) {
            (Some(position), Some(detector)) => Some(detector.frame(position)?.0),
            (Some(position), None) => {
                let expected = "a session that expects no detections keeps no frames: leave the frame out";
                return Err(Error::parameter("frame", position, expected));
            }
            (None, _) => None,
        };
        let unknown = || Error::parameter("target", id, "there is no target with this id in that frame");
        let target = self.targets.get_mut(&id).ok_or_else(unknown)?;
        let now = target.last.ok_or_else(unknown)?;
        if !bbox.is_valid() {
            return Err(Error::Box { bbox, reason: "width and height must be above zero".into() });
        }
        let then = then.map(|at| target.life.as_ref().and_then(|life| life.at(at)).ok_or_else(unknown)).transpose()?;
        let right = then.map_or(bbox, |then| carried(then, now.bbox, bbox));
        let noise = noise.unwrap_or(share * bbox.area().sqrt());
        let estimate = Estimate { state: now.state, ..target.follower.adjust(right, noise)? };
        target.last = Some(estimate);
        // Earlier boxes are corrected too: a detection of a frame in between says the same once more.
        if let Some(life) = &mut target.life {
            let from = position.unwrap_or(life.track.back().map_or(0, |(newest, _)| *newest));
            for (_, old) in life.track.iter_mut().filter(|(at, _)| *at >= from) {
                *old = old.with_box(carried(now.bbox, old.bbox, estimate.bbox));
            }
        }
        self.show(id, estimate);
        Ok(estimate)
    }

    /// Takes the detections of the frame at `position`, which the session has seen: the newest or an earlier one. They
    /// correct the outcomes of the newest frame, begin targets and end those that they miss too often.
    ///
    /// # Errors
    /// A frame that has not come or is too old, more than [`MAX_DETECTIONS`], and a session that does not
    /// [expect](Self::expect_detections) them. Nothing is changed then.
    pub fn detect(&mut self, position: usize, detections: &[Detection]) -> Result<Detected> {
        let refuse = |expected: &str| Error::parameter("detections", format!("of frame {position}"), expected);
        let detector = self.detector.as_ref().ok_or_else(|| refuse("this session expects no detections"))?;
        if detections.len() > MAX_DETECTIONS {
            let count = detections.len();
            return Err(refuse(&format!("{count} boxes are more than {MAX_DETECTIONS}, the most of a frame")));
        }
        let (at, size) = detector.frame(position).map(|(at, frame)| (at, frame.as_frame().size()))?;
        let mut detected = Detected { ids: vec![None; detections.len()], refused: Vec::new() };
        let mut usable = Vec::new();
        for (place, detection) in detections.iter().enumerate() {
            match check(size, detection) {
                Ok(()) => usable.push(place),
                Err(reason) => detected.refused.push((place, reason)),
            }
        }
        let usable_detections: Vec<Detection> = usable.iter().map(|&place| detections[place].clone()).collect();
        let params = detector.params.clone();
        let targets = self.candidates(at);
        let found = associate(&targets, &usable_detections, &params);
        let mut matched: Vec<usize> = found.iter().flatten().map(|&place| targets[place].id).collect();
        let (mut begin, is_blind) = (params.clone(), matched.is_empty());
        if let Some(detector) = &mut self.detector {
            // Two detections: two objects.
            detector.doubles.retain(|(a, b), _| !(matched.contains(a) && matched.contains(b)));
            if !detector.has_begun && params.first {
                begin.confirm = 1;
            }
            detector.has_begun |= !usable.is_empty();
        }
        for (place, (detection, target)) in usable.into_iter().zip(usable_detections.iter().zip(&found)) {
            detected.ids[place] = match target.map(|target| targets[target].id) {
                Some(id) => self.hit(id, at, detection, &params),
                None => self.begin_detected(at, detection, &begin),
            };
            matched.extend(detected.ids[place]);
        }
        for target in targets.iter().filter(|target| !matched.contains(&target.id)) {
            self.miss(target.id, is_blind, &params);
        }
        Ok(detected)
    }

    /// The targets as they were in the frame at `position`.
    fn candidates(&self, position: usize) -> Vec<Candidate> {
        let candidate = |(&id, target): (&usize, &Target<Tracker>)| {
            let life = target.life.as_ref()?;
            let (bbox, state) = (life.at(position)?, target.last?.state);
            let times = usize::from(state == State::Lost) + life.missed;
            let (class, times) = (life.class.clone(), times.min(MAX_REACH));
            Some(Candidate { id, bbox, state, confirmed: life.confirmed, class, times })
        };
        self.targets.iter().filter_map(candidate).collect()
    }

    /// Applies a detection to its target, which is corrected or learned anew; returns the id of the target.
    fn hit(&mut self, id: usize, at: usize, detection: &Detection, params: &DetectionParams) -> Option<usize> {
        let target = self.targets.get_mut(&id)?;
        let life = target.life.as_mut()?;
        let is_lost = target.last.is_some_and(|last| last.state == State::Lost);
        life.evidence = (life.evidence + 1.0).min(params.patience as f64);
        (life.hits, life.missed) = (life.hits + 1, 0);
        life.hits_lost += usize::from(is_lost);
        life.last_hit = at;
        life.class = life.class.take().or(detection.class.clone());
        if !life.confirmed && life.hits >= params.confirm {
            life.confirmed = true;
            return self.confirm(id, params);
        }
        if life.hits_lost >= params.relearn || target.follower.drift() > params.drift {
            let (follower, estimate, track) = self.learned_at(at, id, detection, State::Recovered)?;
            let target = self.targets.get_mut(&id)?;
            (target.follower, target.last) = (follower, Some(estimate));
            if let Some(life) = &mut target.life {
                life.hits_lost = 0;
                life.track.retain(|(position, _)| *position < at);
                life.track.extend(track);
            }
            self.show(id, estimate);
            return Some(id);
        }
        let noise = params.noise * detection.bbox.area().sqrt();
        self.adjust(id, Some(at), detection.bbox, Some(noise)).ok().map(|_| id)
    }

    /// Shows a target from now on. If it began near a target that was not detected since (that target is lost, or its
    /// box stays on what covered it), it takes that target's id. Returns the shown id.
    fn confirm(&mut self, id: usize, params: &DetectionParams) -> Option<usize> {
        let new = self.targets.get(&id)?.life.as_ref()?;
        let &(birth, Estimate { bbox, .. }) = new.track.front()?;
        let near = |(&other, target): (&usize, &Target<Tracker>)| {
            let life = target.life.as_ref().filter(|life| life.confirmed && !life.given && life.last_hit < birth)?;
            let alike = life.class.as_ref().zip(new.class.as_ref()).is_none_or(|(a, b)| a == b);
            let margin = params.reach * MAX_REACH as f64;
            let overlap = enlarged(life.at(birth)?, margin).overlap(&enlarged(bbox, margin));
            (other != id && alike && overlap >= params.overlap).then_some((other, overlap))
        };
        let old = self.targets.iter().filter_map(near).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(other, _)| other);
        let shown = old.unwrap_or(id);
        if let Some(old) = old.and_then(|old| self.targets.remove(&old)).and_then(|old| old.life) {
            let mut target = self.targets.remove(&id)?;
            if let Some(life) = &mut target.life {
                life.evidence = old.evidence.max(life.evidence);
                life.hits += old.hits;
            }
            self.targets.insert(shown, target);
        }
        self.show(shown, self.last(shown)?);
        Some(shown)
    }

    /// Counts a miss of a target; `is_blind` says that the detector has seen no target at all.
    fn miss(&mut self, id: usize, is_blind: bool, params: &DetectionParams) {
        let Some(target) = self.targets.get_mut(&id) else { return };
        let (Some(life), Some(last)) = (&mut target.life, target.last) else { return };
        let is_sure = last.evidence.confidence.is_some_and(|confidence| confidence >= SURE);
        life.missed += 1;
        life.evidence -= match last.state {
            State::Tracking | State::Recovered if is_sure && is_blind => params.blind_miss,
            State::Uncertain => 2.0,
            _ => 1.0,
        };
        if !life.given && life.evidence <= 0.0 {
            self.end_by_detections(id);
        }
    }

    /// Begins a target, unless there is one already, or too many; returns its id.
    fn begin_detected(&mut self, at: usize, detection: &Detection, params: &DetectionParams) -> Option<usize> {
        let is_double = |target: &Candidate| target.bbox.overlap(&detection.bbox) >= params.double;
        if detection.score < params.birth
            || self.targets.len() >= params.targets
            || self.candidates(at).iter().any(is_double)
        {
            return None;
        }
        let id = self.next_id();
        let (follower, estimate, track) = self.learned_at(at, id, detection, State::Tracking)?;
        let confirmed = params.confirm <= 1;
        let (class, evidence) = (detection.class.clone(), 1.0);
        let life = Life { confirmed, class, evidence, hits: 1, last_hit: at, track, ..Life::default() };
        self.put(id, follower, estimate, life);
        self.show(id, estimate);
        Some(id)
    }

    /// A follower that has learned a detection in its frame and has seen all frames since, with its estimates in them.
    fn learned_at(
        &self,
        at: usize,
        turn: usize,
        detection: &Detection,
        state: State,
    ) -> Option<(Tracker, Estimate, Track)> {
        let detector = self.detector.as_ref()?;
        let (mut follower, mut track) = (detector.tracker.clone(), Track::new());
        follower.take_turn(turn);
        for (position, frame) in detector.frames.iter().filter(|(position, _)| *position >= at) {
            let mut estimate = match track.is_empty() {
                true => follower.init(frame, detection.bbox),
                false => follower.update(frame),
            }
            .ok()?;
            if track.is_empty() {
                // Nobody has given this box.
                (estimate.state, estimate.evidence.confidence) = (state, Some(detection.score as f32));
            }
            track.push_back((*position, estimate));
        }
        let (_, estimate) = *track.back()?;
        Some((follower, estimate, track))
    }

    /// Puts an estimate into the outcomes of the newest frame, if its target is shown.
    fn show(&mut self, id: usize, estimate: Estimate) {
        if !self.targets.get(&id).is_some_and(|target| target.is_shown()) {
            return;
        }
        match self.outcomes.iter_mut().find(|outcome| outcome.target == id) {
            Some(outcome) => (outcome.bbox, outcome.estimate) = (estimate.bbox, outcome.estimate.map(|_| estimate)),
            None => self.outcomes.push(Outcome::untimed(id, estimate)),
        }
        self.outcomes.sort_by_key(|outcome| outcome.target);
    }
}

impl<F> Detector<F> {
    /// The frame at a position, or the last one before it that was kept.
    fn frame(&self, position: usize) -> Result<(usize, &FrameBuf)> {
        let refuse = |expected: String| Error::parameter("frame", position, expected);
        let newest = self.frames.back().map_or(0, |(newest, _)| *newest);
        if position > newest {
            return Err(refuse(format!("it has not come yet; the newest frame is {newest}")));
        }
        let kept = self.frames.iter().rev().find(|(at, _)| *at <= position);
        let oldest = self.frames.front().map_or(0, |(oldest, _)| *oldest);
        kept.map(|(at, frame)| (*at, frame))
            .ok_or_else(|| refuse(format!("it is too old; the oldest that is kept is frame {oldest}")))
    }
}

/// Checks that a detection can be one.
fn check(size: (usize, usize), detection: &Detection) -> Result<(), String> {
    if !(0.0..=1.0).contains(&detection.score) {
        return Err(format!("the score {} must be 0 to 1", detection.score));
    }
    check_start(size, detection.bbox).map_err(|error| error.to_string())
}

/// A target as it was in the frame of the detections.
#[derive(Clone, Debug)]
struct Candidate {
    id: usize,
    bbox: BBox,
    state: State,
    confirmed: bool,
    class: Option<String>,
    /// How many margins of [`DetectionParams::reach`] are around its box in the last round.
    times: usize,
}

/// The target of each detection, as its place among `targets`.
///
/// As in ByteTrack (Zhang et al., ECCV 2022), detections with a high score choose among the targets first, those with a low
/// one among the targets that are left. Boxes of targets that are lost or were missed may lie farther away: both are enlarged
/// (Yang et al., WACV 2023). Targets that are not confirmed come last.
fn associate(targets: &[Candidate], detections: &[Detection], params: &DetectionParams) -> Vec<Option<usize>> {
    let mut found = vec![None; detections.len()];
    let mut round =
        |is_detection: &dyn Fn(&Detection) -> bool, is_target: &dyn Fn(&Candidate) -> bool, least: f64, reach: f64| {
            let taken: Vec<usize> = found.iter().flatten().copied().collect();
            let rows: Vec<usize> =
                (0..targets.len()).filter(|at| !taken.contains(at) && is_target(&targets[*at])).collect();
            let columns: Vec<usize> =
                (0..detections.len()).filter(|at| found[*at].is_none() && is_detection(&detections[*at])).collect();
            let gain = |row: usize, column: usize| {
                let (target, detection) = (&targets[rows[row]], &detections[columns[column]]);
                let alike = target.class.as_ref().zip(detection.class.as_ref()).is_none_or(|(a, b)| a == b);
                let margin = reach * target.times as f64;
                let overlap = enlarged(target.bbox, margin).overlap(&enlarged(detection.bbox, margin));
                if alike && overlap >= least { overlap } else { 0.0 }
            };
            for (row, column) in assign(rows.len(), columns.len(), gain) {
                found[columns[column]] = Some(rows[row]);
            }
        };
    let is_high = |detection: &Detection| detection.score >= params.high;
    let is_low = |detection: &Detection| (params.low..params.high).contains(&detection.score);
    let is_followed = |target: &Candidate| target.confirmed && target.state != State::Lost;
    round(&is_high, &is_followed, params.overlap, 0.0);
    round(&is_low, &is_followed, params.overlap_low, 0.0);
    round(&is_high, &|target| target.confirmed, params.overlap, params.reach);
    round(&is_high, &|_| true, params.overlap_new, 0.0);
    found
}

/// A box with a margin of this share of its sides.
fn enlarged(bbox: BBox, share: f64) -> BBox {
    let (dx, dy) = (bbox.w * share, bbox.h * share);
    BBox::new(bbox.x - dx, bbox.y - dy, bbox.w + 2.0 * dx, bbox.h + 2.0 * dy)
}

/// Pairs of a row and a column with the largest sum of gains; those without a gain are left out.
fn assign(rows: usize, columns: usize, gain: impl Fn(usize, usize) -> f64) -> Vec<(usize, usize)> {
    let gains = (0..rows * columns).map(|at| gain(at / columns, at % columns)).collect();
    let (found_rows, found_columns) = lsap::solve(rows, columns, &gains, true).unwrap_or_default();
    let pairs = found_rows.into_iter().zip(found_columns);
    pairs.filter(|&(row, column)| gains[row * columns + column] > 0.0).collect()
}

#[cfg(test)]
mod tests;
