//! A background-aware filter and a siamese network together: two localizers that fail in different frames.
//!
//! Where their boxes overlap, the box is their mean. Where they disagree, their verifiers (the appearance, and the
//! similarity of the network's features) and both probabilities are weighed over some frames; the loser starts anew at the
//! place of the other, the filter with the models of its last snapshot.
//!
//! A lost target has two places: the filter waits where the target was lost, as it does without a network, and the network
//! follows on. Whichever is right first is where the target is found again.

use super::ResponseMap;
use super::background_localizer::BackgroundLocalizer;
use super::calibration::{by_filter_and_network, by_lone_network, by_network};
use super::localizer::{Evidence, Extent, Learned, Localizer, Located, Pose, Update};
use super::params::ExpertParams;
use super::siamese_localizer::SiameseLocalizer;
use super::verifier::{Sample, Verifier};
use crate::archive::Archive;
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;

/// Overlap from which two boxes show the same target.
const SAME: f64 = 0.3;
/// Share of the network's box in the joint one where the filter is sure and where it is not, times the network's
/// probability, and times how well it tells the target from its surroundings.
const NETWORK_SHARE: (f64, f64) = (0.35, 1.15);
/// Share of the network's bias in the first frame that is taken from its boxes.
const BIAS_SHARE: f64 = 0.5;
/// How fast the preference follows.
const PREFERENCE_RATE: f64 = 0.3;
/// Preference at which the loser starts anew, and frames in a row in which they have disagreed.
const DECIDED: f64 = 0.25;
const MIN_DISAGREEMENT: usize = 4;
/// Confidence of the filter from which the network need not be asked in every frame.
const SURE: f64 = 0.9;
/// Score of the network and overlap of both boxes above which a low confidence of the filter alone does not call the
/// network in the next frame.
const AGREED: (f32, f32) = (0.9, 0.5);

/// Likeness below which the box shows something else, so that it stays at its last place.
const HIDDEN: f64 = 0.25;
/// Probability of the filter above which a frame may be sure, and of the network from which its place may show a lost
/// target, for `MIN_DISAGREEMENT` frames in a row.
const PROBABLE: f64 = 0.5;
/// Score of the network from which the box of a lost target goes with it.
const GUESSED: f64 = 0.9;

/// The similarity that is usual for one target: small gray targets have less of it than large colourful ones.
#[derive(Clone, Copy, Debug)]
struct UsualSimilarity {
    /// Mean over sure frames of the target's box, and of boxes beside it.
    target: f64,
    beside: f64,
    /// The number of these frames.
    frames: usize,
}

impl UsualSimilarity {
    /// Most targets have these means, which count as much as so many frames.
    const PRIOR: Self = Self { target: 0.8, beside: 0.2, frames: 4 };
    /// How fast the means follow at least.
    const RATE: f64 = 0.02;
    /// Least distance of both means that counts. A network that cannot tell a target from its surroundings finds all of
    /// them alike, and denies nothing.
    const MIN_DISTANCE: f64 = 0.5;
    /// Distance from which the network tells the target well from its surroundings.
    const CLEAR: f64 = 0.7;

    /// The likeness of a similarity: 1 for what the target usually has, 0 for its surroundings.
    fn likeness(&self, similarity: f64) -> f64 {
        let distance = (self.target - self.beside).max(Self::MIN_DISTANCE);
        (1.0 - (self.target - similarity) / distance).clamp(-0.5, 1.2)
    }

    /// How well the network tells the target from its surroundings, 0 to 1.
    fn clearness(&self) -> f64 {
        ((self.target - self.beside) / Self::CLEAR).clamp(0.0, 1.0)
    }

    /// Follows the similarities of a sure frame.
    fn learn(&mut self, target: f64, beside: Option<f64>) {
        self.frames += 1;
        let rate = (1.0 / self.frames as f64).max(Self::RATE);
        self.target += rate * (target - self.target);
        self.beside += beside.map_or(0.0, |beside| rate * (beside - self.beside));
    }
}

/// What the network's box of a target differs by from the given one: a person who walks, with arms and legs or without.
#[derive(Clone, Copy, Debug)]
struct Bias {
    /// Motion in widths and heights of the network's box.
    motion: (f64, f64),
    /// Factors of width and height.
    factors: (f64, f64),
}

impl Bias {
    /// The share of the bias that counts, by the network's box of the given one.
    fn of(own: BBox, given: BBox) -> Self {
        let (from, to) = (given.center(), own.center());
        let motion = (BIAS_SHARE * (to.0 - from.0) / own.w, BIAS_SHARE * (to.1 - from.1) / own.h);
        Self { motion, factors: (libm::pow(own.w / given.w, BIAS_SHARE), libm::pow(own.h / given.h, BIAS_SHARE)) }
    }

    /// A box of the network without the bias.
    fn removed(&self, own: BBox) -> BBox {
        let (x, y) = own.center();
        let (x, y) = (x - self.motion.0 * own.w, y - self.motion.1 * own.h);
        let (w, h) = (own.w / self.factors.0, own.h / self.factors.1);
        BBox::new(x - w / 2.0, y - h / 2.0, w, h)
    }
}

/// Both localizers of one target.
#[derive(Clone, Debug)]
pub(super) struct FusedLocalizer {
    params: ExpertParams,
    size: (f64, f64),
    filter: BackgroundLocalizer,
    network: SiameseLocalizer,
    filter_at: Pose,
    network_at: Pose,
    /// How the network's boxes differ from the given one.
    bias: Bias,
    /// The pose that was last returned or guessed.
    last: Pose,
    /// From the filter's box to the joint one: motion in its widths and heights, factors of width and height.
    relation: [f64; 4],
    /// Above 0 where the evidence favours the network.
    preference: f64,
    usual: UsualSimilarity,
    /// Frames in a row without agreement; of a lost target those in which the network's place was probable.
    disagreement_frames: usize,
    /// Whether the last look was for a lost target.
    is_lost: bool,
    /// Frames since the network was asked.
    waited: usize,
    /// The network's score, and the overlap of its box with the filter's, when it answered last.
    last_answer: Option<(f32, f32)>,
    /// Similarity of the joint box at that time.
    last_similarity: Option<f32>,
}

impl FusedLocalizer {
    /// Learns the target at `bbox`.
    ///
    /// # Errors
    /// As [`BackgroundLocalizer::new`] and [`SiameseLocalizer::new`].
    pub fn new(params: &ExpertParams, frame: &Frame<'_>, bbox: BBox, turn: usize) -> Result<Self> {
        let mut network = SiameseLocalizer::new(&params.model, frame, bbox)?;
        let filter = BackgroundLocalizer::new(&params.filter, frame, bbox, turn)?;
        let (at, size) = (Pose::of(bbox), (bbox.w, bbox.h));
        let own = network.find_given(frame).map_or(bbox, |own| own.bbox(size));
        Ok(Self {
            params: params.clone(),
            size,
            filter,
            network,
            filter_at: at,
            network_at: at,
            bias: Bias::of(own, bbox),
            last: at,
            relation: [0.0, 0.0, 1.0, 1.0],
            preference: 0.0,
            usual: UsualSimilarity::PRIOR,
            disagreement_frames: 0,
            is_lost: false,
            waited: 0,
            last_answer: None,
            last_similarity: None,
        })
    }

    /// Adds the network's last answer to a place.
    fn concluded(&mut self, mut found: Located) -> Located {
        let sure = found.certainty();
        (found.evidence.network, found.evidence.agreement) = self.last_answer.unzip();
        if self.waited == 0 {
            self.last_similarity = self.last_answer.and_then(|_| self.network.similarity(found.pose));
            if let Some(similarity) = self.last_similarity.filter(|_| self.agreed() && sure > PROBABLE) {
                self.usual.learn(f64::from(similarity), self.similarity_beside(found.pose));
            }
        }
        found.evidence.similarity = self.last_similarity;
        if let Some((filter, (score, agreement))) = found.probability.zip(self.last_answer) {
            found.probability = Some(by_filter_and_network(filter, score, agreement, self.last_similarity));
        }
        self.last = found.pose;
        found
    }

    /// The likeness of a box with this similarity; `None` outside the network's search area.
    fn likeness(&self, similarity: Option<f32>) -> Option<f64> {
        similarity.map(|similarity| self.usual.likeness(f64::from(similarity)))
    }

    /// The mean similarity of the boxes beside the one at `pose` that lie in the network's search area.
    fn similarity_beside(&self, pose: Pose) -> Option<f64> {
        const BESIDE: [(f64, f64); 8] =
            [(-1.2, 0.0), (1.2, 0.0), (0.0, -1.2), (0.0, 1.2), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)];
        let (w, h) = pose.size(self.size);
        let places = BESIDE.map(|(x, y)| pose.at((pose.center.0 + x * w, pose.center.1 + y * h)));
        let (sum, count) = (places.iter().filter_map(|&place| self.network.similarity(place)))
            .fold((0.0, 0), |(sum, count), similarity| (sum + f64::from(similarity), count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// The joint box of both boxes, which overlap.
    fn agree(&mut self, sure: f64, score: f64) -> Pose {
        (self.disagreement_frames, self.preference) = (0, self.preference * (1.0 - PREFERENCE_RATE));
        let (f, n) = (self.filter_at.bbox(self.size), self.bias.removed(self.network_at.bbox(self.size)));
        let share = NETWORK_SHARE.0 + (NETWORK_SHARE.1 - NETWORK_SHARE.0) * (1.0 - sure);
        let share = share * by_network(score) * self.usual.clearness();
        let mix = |a: f64, b: f64| a + (b - a) * share;
        let (fc, nc) = (f.center(), n.center());
        let (w, h) = (mix(f.w, n.w), mix(f.h, n.h));
        let center = (mix(fc.0, nc.0), mix(fc.1, nc.1));
        self.relation = [(center.0 - fc.0) / f.w, (center.1 - fc.1) / f.h, w / f.w, h / f.h];
        self.network.pose_of(center, (w, h))
    }

    /// Decides over some frames which of two boxes at different places is right.
    fn disagree(&mut self, frame: &Frame<'_>, found: Located, sure: f64, score: f64) -> Located {
        self.disagreement_frames += 1;
        let network = self.network_at;
        let place = Pose { angle: self.filter_at.angle, ..network.plain() };
        let there = self.filter.score_at(frame, place);
        let appearance = |evidence: &Evidence| f64::from(evidence.identity.unwrap_or(0.0)).clamp(-1.0, 1.0);
        let by_appearance = appearance(&there.evidence) - appearance(&found.evidence);
        let by_probability = by_network(score) - sure;
        let own = self.joint(self.filter_at);
        let mut similarity = |pose| self.network.score(&Sample { frame, pose, view: None }).unwrap_or(0.0);
        let by_similarity = f64::from(similarity(network)) - f64::from(similarity(own));
        let now = (by_appearance + by_probability) / 2.0 + by_similarity;
        self.preference += PREFERENCE_RATE * (now - self.preference);
        let decided = self.disagreement_frames >= MIN_DISAGREEMENT;
        let follows_network = self.preference > 0.0;
        if decided && self.preference > DECIDED {
            self.filter.restore();
            (self.filter_at, self.disagreement_frames) = (place, 0);
            self.relation = [0.0, 0.0, 1.0, 1.0];
        } else if decided && self.preference < -DECIDED {
            (self.network_at, self.preference, self.disagreement_frames) = (own, 0.0, 0);
        }
        match follows_network {
            true => Located { pose: network, seen: true, ..there },
            false => Located { pose: own, ..found },
        }
    }

    /// Whether the network is asked in this frame, in which the filter is right with a probability of `sure`.
    fn asks_network(&self, sure: f64) -> bool {
        let unsure = sure < SURE && (!self.agreed() || self.waited > 1);
        self.waited >= self.params.every || unsure || self.disagreement_frames > 0
    }

    /// Whether the network was sure and near the filter when it answered last.
    fn agreed(&self) -> bool {
        self.last_answer.is_some_and(|(score, overlap)| score > AGREED.0 && overlap > AGREED.1)
    }

    /// Looks for a lost target with the filter at `at`, where it was lost, and with the network where that follows on.
    fn locate_lost(&mut self, frame: &Frame<'_>, at: Pose) -> Located {
        if !self.is_lost {
            (self.is_lost, self.disagreement_frames, self.preference, self.last) = (true, 0, 0.0, at);
        }
        let answer = self.network.find(frame, self.network_at);
        let mut near = self.filter.locate(frame, at.plain(), Extent::Lost);
        let found_from = self.params.filter.confidence.found_from;
        (self.waited, self.last_answer) = (0, None);
        self.filter_at = near.pose;
        near.pose = self.joint(near.pose);
        let Some((network, score)) = answer.filter(|_| near.certainty() < found_from) else { return near };
        let overlap = self.filter_at.bbox(self.size).overlap(&network.bbox(self.size)) as f32;
        self.last_answer = Some((score as f32, overlap));
        let similarity = self.network.similarity(network);
        let likeness = self.likeness(similarity);
        if likeness.is_none_or(|likeness| likeness > HIDDEN) {
            self.network_at = network;
        }
        if score > GUESSED {
            self.last = network;
        }
        let alone = by_lone_network(score, likeness);
        self.disagreement_frames = if alone >= PROBABLE { self.disagreement_frames + 1 } else { 0 };
        let there = self.filter.score_at(frame, Pose { angle: at.angle, ..network.plain() });
        // The models of the filter are of another look.
        let evidence = Evidence {
            network: Some(score as f32),
            agreement: Some(overlap),
            similarity,
            long_term: None,
            confidence: Some(alone as f32),
            ..there.evidence
        };
        near.guess = Some((self.last, evidence));
        if self.disagreement_frames < MIN_DISAGREEMENT {
            return near;
        }
        Located { pose: network, probability: Some(alone.max(found_from)), evidence, seen: true, ..near }
    }

    /// The joint box for the filter's, by the relation of the last frame in which both were asked.
    fn joint(&self, pose: Pose) -> Pose {
        let b = pose.bbox(self.size);
        let [dx, dy, w, h] = self.relation;
        self.network.pose_of((pose.center.0 + dx * b.w, pose.center.1 + dy * b.h), (b.w * w, b.h * h))
    }
}

impl Localizer for FusedLocalizer {
    fn locate(&mut self, frame: &Frame<'_>, at: Pose, extent: Extent) -> Located {
        match extent {
            Extent::Lost => return self.locate_lost(frame, at),
            // A place elsewhere in the frame, or a second look at it.
            Extent::Pose if !self.is_lost => {}
            _ => return self.filter.locate(frame, at.plain(), extent),
        }
        if at != self.last {
            self.filter_at = Pose { angle: self.filter_at.angle, ..at.plain() };
        }
        let (filter_before, network_before) = (self.filter_at, self.network_at);
        let mut found = self.filter.locate(frame, self.filter_at, Extent::Pose);
        let sure = found.certainty();
        if found.seen {
            self.filter_at = found.pose;
        }
        self.waited += 1;
        let mut answer = None;
        if self.asks_network(sure) {
            (self.waited, self.last_answer) = (0, None);
            answer = self.network.find(frame, self.network_at);
        } else {
            let (from, to) = (filter_before.center, self.filter_at.center);
            let center = (self.network_at.center.0 + (to.0 - from.0), self.network_at.center.1 + (to.1 - from.1));
            self.network_at = self.network_at.at(center);
        }
        let Some((network, score)) = answer else {
            // The filter goes on alone.
            found.pose = self.joint(self.filter_at);
            return self.concluded(found);
        };
        self.network_at = network;
        let overlap = self.filter_at.bbox(self.size).overlap(&network.bbox(self.size));
        self.last_answer = Some((score as f32, overlap as f32));
        let found = match overlap >= SAME {
            true => Located { pose: self.agree(sure, score), seen: true, ..found },
            false => self.disagree(frame, found, sure, score),
        };
        let mut found = self.concluded(found);
        if self.likeness(self.last_similarity).is_some_and(|likeness| likeness < HIDDEN) {
            (self.filter_at, self.network_at) = (filter_before, network_before);
            (found.pose, found.seen, self.last) = (at, false, at);
        }
        found
    }

    fn score_at(&mut self, frame: &Frame<'_>, at: Pose) -> Located {
        Located { pose: at, ..self.filter.score_at(frame, at.plain()) }
    }

    fn learn(&mut self, frame: &Frame<'_>, located: &Located, update: Update) -> Learned {
        if self.is_lost {
            self.restart(located.pose);
            self.is_lost = false;
        }
        let pose = match update {
            // The filter does not learn while it is not clear who is right.
            Update::Usual if self.disagreement_frames > 0 => return Learned::Done,
            Update::Usual => self.filter_at,
            _ => located.pose.plain(),
        };
        self.filter.learn(frame, &Located { pose, ..*located }, update)
    }

    fn snapshot(&mut self, _: Pose) {
        if self.disagreement_frames == 0 {
            self.filter.snapshot(self.filter_at);
        }
    }

    fn restore(&mut self) -> Option<Pose> {
        self.filter.restore().map(|pose| self.joint(pose))
    }

    /// Both start anew at `at`.
    fn restart(&mut self, at: Pose) {
        self.filter_at = Pose { angle: self.filter_at.angle, ..at.plain() };
        (self.network_at, self.last) = (at, at);
        (self.preference, self.disagreement_frames) = (0.0, 0);
    }

    fn response(&self) -> ResponseMap<'_> {
        self.filter.response()
    }

    fn transfer(&mut self, archive: &mut Archive<'_>) {
        archive.refuse("a search by a network cannot be saved");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::tests::folder;
    use crate::tracker::{Estimate, Params, State, Tracker};

    const SIZE: (usize, usize) = (320, 240);
    const STEP: (f64, f64) = (2.0, 1.0);

    /// A frame with a target of 48 x 48 pixels at (x, y) and another look of the same colours at `twin`.
    fn frame((x, y): (f64, f64), twin: Option<(f64, f64)>) -> Vec<u8> {
        let mut pixels = Vec::with_capacity(3 * SIZE.0 * SIZE.1);
        let inside = |u: f64, v: f64| (0.0..48.0).contains(&u) && (0.0..48.0).contains(&v);
        for i in 0..SIZE.0 * SIZE.1 {
            let (px, py) = ((i % SIZE.0) as f64, (i / SIZE.0) as f64);
            let (u, v) = (px - x, py - y);
            let other = twin.map(|(x, y)| (px - x, py - y)).filter(|&(u, v)| inside(u, v));
            let value = if inside(u, v) {
                130.0 + 60.0 * (0.5 * u).sin() * (0.3 * v).cos() + 50.0 * (0.01 * u * v).sin()
            } else if let Some((u, v)) = other {
                130.0 + 100.0 * (0.9 * (u + v)).sin()
            } else {
                110.0 + 30.0 * (0.11 * px + 0.04 * py).sin()
            };
            pixels.extend([value, 0.8 * value, 200.0 - 0.5 * value].map(|v| v as u8));
        }
        pixels
    }

    fn tracker(detector: &str, networks: &str) -> Tracker {
        let mut params = Params::default();
        params.set("search", detector).unwrap();
        *params.search.model_mut().unwrap() = folder(networks).to_str().unwrap().into();
        Tracker::new(params).unwrap()
    }

    /// Follows a target that moves by `step` pixels a frame.
    fn follow(tracker: &mut Tracker, step: (f64, f64), frames: usize) -> Vec<(Estimate, BBox)> {
        let at = |i: usize| (80.0 + step.0 * i as f64, 70.0 + step.1 * i as f64);
        let bbox = |i: usize| BBox::new(at(i).0, at(i).1, 48.0, 48.0);
        tracker.init(Frame::rgb(&frame(at(0), None), SIZE.0, SIZE.1).unwrap(), bbox(0)).unwrap();
        let step = |i: usize| {
            let pixels = frame(at(i), None);
            (tracker.update(Frame::rgb(&pixels, SIZE.0, SIZE.1).unwrap()).unwrap(), bbox(i))
        };
        (1..frames).map(step).collect()
    }

    #[test]
    fn both_and_the_network_alone_follow_a_target() {
        // The fixture's network knows whole cells only, and a cell has 12 pixels here.
        for (detector, least) in [("siamese", 0.5), ("expert", 0.6)] {
            for (found, truth) in follow(&mut tracker(detector, ""), (12.0, 0.0), 9) {
                let overlap = found.bbox.overlap(&truth);
                assert!(overlap > least, "{detector}: {} for {truth}: {overlap}", found.bbox);
            }
        }
    }

    /// The fixture's network answers NaN for all pictures but a black one.
    #[test]
    fn a_network_without_an_answer_leaves_the_filter_alone() {
        let mut alone = Tracker::new(Params::default()).unwrap();
        let (with, without) = (follow(&mut tracker("expert", "nan"), STEP, 25), follow(&mut alone, STEP, 25));
        for ((found, _), (expected, _)) in with.iter().zip(&without) {
            assert_eq!((found.bbox, found.state), (expected.bbox, expected.state));
            assert_eq!(found.evidence.network, None);
        }
        let states: Vec<_> =
            follow(&mut tracker("siamese", "nan"), STEP, 25).iter().map(|(found, _)| found.state).collect();
        assert!(states.iter().all(|&state| state == State::Lost), "{states:?}");
    }

    /// The filter was moved to a look-alike; the network stayed, and the comparison with what was given agrees with it.
    #[test]
    fn the_filter_starts_anew_where_the_network_is_right() {
        let (here, twin) = ((80.0, 90.0), (200.0, 90.0));
        let pixels = frame(here, Some(twin));
        let view = Frame::rgb(&pixels, SIZE.0, SIZE.1).unwrap();
        let mut params = ExpertParams { model: folder("").to_str().unwrap().into(), ..ExpertParams::default() };
        params.filter.padding = 2.0;
        let given = BBox::new(here.0, here.1, 48.0, 48.0);
        let mut search = FusedLocalizer::new(&params, &view, given, 0).unwrap();
        for _ in 0..15 {
            let at = search.last;
            let found = search.locate(&view, at, Extent::Pose);
            search.learn(&view, &found, Update::Usual);
        }
        search.filter_at = search.filter_at.at((twin.0 + 24.0, twin.1 + 24.0));
        for _ in 0..3 * MIN_DISAGREEMENT {
            let at = search.last;
            let found = search.locate(&view, at, Extent::Pose);
            search.learn(&view, &found, Update::Usual);
        }
        assert!(search.filter_at.bbox((48.0, 48.0)).overlap(&given) > 0.6, "{:?}", search.filter_at);
        assert!(search.last.bbox((48.0, 48.0)).overlap(&given) > 0.6, "{:?}", search.last);
    }

    /// An expert that asks its network in every frame, and whose memory of the given box has this cosine with what the
    /// box shows.
    fn expert_with_similarity(view: &Frame<'_>, cosine: f32) -> FusedLocalizer {
        let params = ExpertParams { model: folder("").to_str().unwrap().into(), every: 1, ..ExpertParams::default() };
        let given = BBox::new(80.0, 90.0, 48.0, 48.0);
        let mut search = FusedLocalizer::new(&params, view, given, 0).unwrap();
        let sine = (1.0 - cosine * cosine).sqrt();
        // Turned by that angle in each plane of two channels.
        for [a, b] in search.network.given.as_chunks_mut().0 {
            (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
        }
        search
    }

    /// Looks at the same frame so many times.
    fn look(search: &mut FusedLocalizer, view: &Frame<'_>, frames: usize) {
        for _ in 0..frames {
            search.locate(view, search.last, Extent::Pose);
        }
    }

    #[test]
    fn a_target_that_is_never_like_the_given_is_found_elsewhere() {
        let pixels = frame((80.0, 90.0), None);
        let view = Frame::rgb(&pixels, SIZE.0, SIZE.1).unwrap();
        let mut search = expert_with_similarity(&view, 0.5);
        look(&mut search, &view, 30);
        let found = search.locate(&view, search.last, Extent::Place);
        assert!(found.probability > Some(search.params.filter.confidence.redetected_from), "{:?}", found.probability);
    }

    #[test]
    fn half_of_what_a_network_adds_to_the_given_box_is_taken_away() {
        let given = BBox::new(100.0, 50.0, 30.0, 60.0);
        // As wide again, to the right.
        let own = BBox::new(100.0, 50.0, 60.0, 60.0);
        let bias = Bias::of(own, given);
        let removed = bias.removed(own);
        assert!((removed.w - 30.0 * 2.0_f64.sqrt()).abs() < 1e-9 && removed.h == 60.0, "{removed}");
        assert!((removed.center().0 - (115.0 + 130.0) / 2.0).abs() < 1e-9, "{removed}");
    }

    #[test]
    fn a_network_that_cannot_tell_a_target_from_its_surroundings_has_little_say() {
        let mut usual = UsualSimilarity::PRIOR;
        (0..400).for_each(|_| usual.learn(0.6, Some(0.55)));
        assert!((usual.likeness(0.6) - 1.0).abs() < 0.02 && usual.likeness(0.5) > 0.7, "{usual:?}");
        assert!(usual.likeness(0.2) < HIDDEN, "{usual:?}");
        assert!(usual.clearness() < 0.1 && UsualSimilarity::PRIOR.clearness() > 0.8, "it has little say, too");
    }

    #[test]
    fn a_box_that_shows_something_else_stays() {
        let (first, second) = (frame((80.0, 90.0), None), frame((92.0, 90.0), None));
        let [first, second] = [&first, &second].map(|pixels| Frame::rgb(pixels, SIZE.0, SIZE.1).unwrap());
        for (cosine, stays) in [(0.8, false), (-0.5, true)] {
            let mut search = expert_with_similarity(&first, cosine);
            let at = search.last;
            let found = search.locate(&second, at, Extent::Pose);
            assert_eq!((found.pose == at, found.seen), (stays, !stays), "{cosine}: {:?}", found.pose);
        }
    }

    /// The box goes with the network, which is not sure enough to find the target, and the filter waits.
    #[test]
    fn the_network_follows_on_when_the_target_is_lost() {
        let pixels = frame((80.0, 90.0), None);
        let view = Frame::rgb(&pixels, SIZE.0, SIZE.1).unwrap();
        let mut search = expert_with_similarity(&view, 1.0);
        let lost_at = search.last.at((220.0, 170.0));
        for _ in 0..2 * MIN_DISAGREEMENT {
            let look = search.locate(&view, lost_at, Extent::Lost);
            let (guess, evidence) = look.guess.unwrap();
            assert!(guess.bbox(search.size).overlap(&BBox::new(80.0, 90.0, 48.0, 48.0)) > 0.5, "{guess:?}");
            assert!(evidence.confidence < Some(0.6) && look.probability < Some(0.1), "{look:?}");
        }
        search.restart(lost_at);
        assert_eq!(search.network_at, lost_at);
    }

    /// The network follows something else, and the target does not look like the given one to it.
    #[test]
    fn a_lost_target_is_found_again_where_the_filter_waits() {
        let pixels = frame((80.0, 90.0), None);
        let view = Frame::rgb(&pixels, SIZE.0, SIZE.1).unwrap();
        let mut search = expert_with_similarity(&view, 0.8);
        look(&mut search, &view, 20);
        search.network.given = expert_with_similarity(&view, 0.3).network.given;
        let at = search.last;
        search.locate(&view, at, Extent::Lost);
        search.network_at = at.at((250.0, 200.0));
        let found = search.locate(&view, at, Extent::Lost);
        assert!(found.probability >= Some(search.params.filter.confidence.found_from), "{found:?}");
        search.learn(&view, &found, Update::Usual);
        assert_eq!((search.network_at, search.is_lost), (found.pose, false), "both go on where it was found");
    }
}
