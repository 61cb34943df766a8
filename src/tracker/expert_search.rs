//! A background-aware filter and a siamese network together: two trackers that fail in different frames.
//!
//! Where their boxes overlap, the box is their mean. Where they do not, the comparisons with what was given (the identity,
//! and the similarity of the network's features) and both confidences are weighed over some frames; the one that loses
//! starts anew at the place of the other, the filter with the models of its last certain frame. A box whose similarity
//! stays low is lost, although both agree.

use super::ResponseMap;
use super::background_search::BackgroundSearch;
use super::confidence::{log_odds, logistic};
use super::params::ExpertParams;
use super::search::{Detection, Evidence, Finds, Learned, Pose, Search};
use super::siamese_search::{SiameseSearch, probability};
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;

/// Overlap from which two boxes show the same target.
const SAME: f64 = 0.3;
/// Share of the network's box in the joint one where the filter is sure and where it is not, times the network's
/// probability.
const NETWORK_SHARE: (f64, f64) = (0.35, 1.15);
/// How fast the doubt follows.
const DOUBT_RATE: f64 = 0.3;
/// Doubt at which the loser starts anew, and frames in a row in which they have not agreed.
const DECIDED: f64 = 0.25;
const MIN_APART: usize = 4;
/// Confidence of the filter from which the network need not be asked in every frame.
const SURE: f64 = 0.9;
/// Score of the network and overlap of both boxes above which a low confidence of the filter alone does not call the
/// network in the next frame.
const AGREED: (f32, f32) = (0.9, 0.5);

/// Running mean of the similarity below which the target is lost, however well both agree, and its rate.
const UNLIKE: f64 = 0.55;
const SIMILARITY_RATE: f64 = 0.1;
/// Similarity above which a place elsewhere may show the target.
const LIKE: f32 = 0.7;
/// Similarity below which the box shows something else, so that it stays at its last place.
const HIDDEN: f32 = 0.35;
/// Score of the network above which the box of a lost target goes with it.
const GUESSED: f64 = 0.9;
/// What counts as the similarity of a box outside the network's search area.
const OUTSIDE: f64 = 0.6;

/// Weights of the log-odds of the filter, those of the network's score, their agreement, the similarity, and the constant:
/// fitted to sequences of four groups.
const EXPERTS: (f64, f64, f64, f64, f64) = (0.20, 0.25, 2.34, 9.26, -8.27);
/// The same where the box of a lost target goes with the network: weights of its score, the similarity, and the constant.
const GUESS: (f64, f64, f64) = (0.73, 8.06, -9.40);

/// Both searches of one target.
#[derive(Clone, Debug)]
pub(super) struct ExpertSearch {
    params: ExpertParams,
    size: (f64, f64),
    filter: BackgroundSearch,
    network: SiameseSearch,
    filter_at: Pose,
    network_at: Pose,
    /// The pose that was last returned.
    last: Pose,
    /// From the filter's box to the joint one: motion in its widths and heights, factors of width and height.
    relation: [f64; 4],
    /// Above 0 where the evidence favours the network.
    doubt: f64,
    /// Running mean of the similarity.
    mean_similarity: f64,
    /// Frames in a row without agreement.
    apart: usize,
    /// Frames since the network was asked.
    waited: usize,
    /// The network's score, and the overlap of its box with the filter's, when it answered last.
    last_answer: Option<(f32, f32)>,
    /// How like the given box the joint one was then.
    last_similarity: Option<f32>,
}

impl ExpertSearch {
    /// Learns the target at `bbox`.
    ///
    /// # Errors
    /// As [`BackgroundSearch::new`] and [`SiameseSearch::new`].
    pub fn new(params: &ExpertParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let network = SiameseSearch::new(&params.model, frame, bbox)?;
        let filter = BackgroundSearch::new(&params.filter, frame, bbox)?;
        let at = Pose::of(bbox);
        Ok(Self {
            params: params.clone(),
            size: (bbox.w, bbox.h),
            filter,
            network,
            filter_at: at,
            network_at: at,
            last: at,
            relation: [0.0, 0.0, 1.0, 1.0],
            doubt: 0.0,
            mean_similarity: 1.0,
            apart: 0,
            waited: 0,
            last_answer: None,
            last_similarity: None,
        })
    }

    fn filter_confidence(&self, detection: &Detection) -> f64 {
        if detection.seen { self.filter.confidence(&detection.evidence).unwrap_or(0.0) } else { 0.0 }
    }

    /// A detection with the network's last answer.
    fn concluded(&mut self, mut found: Detection) -> Detection {
        (found.evidence.network, found.evidence.agreement) = self.last_answer.unzip();
        if self.waited == 0 {
            self.last_similarity = self.last_answer.and_then(|_| self.network.similarity(found.pose));
            let now = self.last_similarity.map_or(self.mean_similarity, f64::from);
            self.mean_similarity += SIMILARITY_RATE * (now - self.mean_similarity);
        }
        found.evidence.similarity = self.last_similarity;
        self.last = found.pose;
        found
    }

    /// The joint box for the filter's, by the relation of the last frame in which both were asked.
    fn joint(&self, pose: Pose) -> Pose {
        let b = pose.bbox(self.size);
        let [dx, dy, w, h] = self.relation;
        self.network.pose_of((pose.center.0 + dx * b.w, pose.center.1 + dy * b.h), (b.w * w, b.h * h))
    }
}

impl Search for ExpertSearch {
    fn detect(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        // A lost target: the network follows on, and the filter looks where the box is, which goes with the network or
        // stays.
        if at != self.last && self.doubt <= DECIDED {
            self.filter_at = Pose { angle: self.filter_at.angle, aspect: 1.0, ..at };
        }
        let (filter_before, network_before) = (self.filter_at, self.network_at);
        let mut found = self.filter.detect(frame, self.filter_at);
        let sure = self.filter_confidence(&found);
        if found.seen {
            self.filter_at = found.pose;
        }
        self.waited += 1;
        let agreed = self.last_answer.is_some_and(|(score, overlap)| score > AGREED.0 && overlap > AGREED.1);
        let unsure = sure < SURE && (!agreed || self.waited > 1);
        let ask = self.waited >= self.params.every || unsure || self.apart > 0;
        if !ask {
            let motion =
                (self.filter_at.center.0 - filter_before.center.0, self.filter_at.center.1 - filter_before.center.1);
            let center = (self.network_at.center.0 + motion.0, self.network_at.center.1 + motion.1);
            self.network_at = self.network_at.at(center);
            found.pose = self.joint(self.filter_at);
            return self.concluded(found);
        }
        self.waited = 0;
        let seen = self.network.locate(frame, self.network_at);
        let Some((network, score)) = seen else {
            // The filter goes on alone.
            self.last_answer = None;
            found.pose = self.joint(self.filter_at);
            return self.concluded(found);
        };
        self.network_at = network;
        let (by_filter, by_network) = (self.filter_at.bbox(self.size), network.bbox(self.size));
        let overlap = by_filter.overlap(&by_network);
        self.last_answer = Some((score as f32, overlap as f32));
        if overlap >= SAME {
            self.apart = 0;
            self.doubt *= 1.0 - DOUBT_RATE;
            let share = (NETWORK_SHARE.0 + (NETWORK_SHARE.1 - NETWORK_SHARE.0) * (1.0 - sure)) * probability(score);
            let mix = |a: f64, b: f64| a + (b - a) * share;
            let (f, n) = (by_filter, by_network);
            let (fc, nc) = (f.center(), n.center());
            let (w, h) = (mix(f.w, n.w), mix(f.h, n.h));
            let center = (mix(fc.0, nc.0), mix(fc.1, nc.1));
            self.relation = [(center.0 - fc.0) / f.w, (center.1 - fc.1) / f.h, w / f.w, h / f.h];
            found.pose = self.network.pose_of(center, (w, h));
            found.seen = true;
        } else {
            self.apart += 1;
            let place = Pose { aspect: 1.0, angle: self.filter_at.angle, ..network };
            let there = self.filter.evaluate_at(frame, place);
            let identity = |evidence: &Evidence| f64::from(evidence.identity.unwrap_or(0.0)).clamp(-1.0, 1.0);
            let by_identity = identity(&there.evidence) - identity(&found.evidence);
            let by_confidence = probability(score) - sure;
            let own = self.joint(self.filter_at);
            let similarity = |pose: Pose| f64::from(self.network.similarity_at(frame, pose).unwrap_or(0.0));
            let by_similarity = similarity(network) - similarity(own);
            self.doubt += DOUBT_RATE * ((by_identity + by_confidence) / 2.0 + by_similarity - self.doubt);
            if self.apart >= MIN_APART && self.doubt > DECIDED {
                self.filter.restore();
                self.filter_at = place;
                self.apart = 0;
                found = Detection { pose: network, seen: true, ..there };
                self.relation = [0.0, 0.0, 1.0, 1.0];
            } else if self.apart >= MIN_APART && self.doubt < -DECIDED {
                self.network_at = self.joint(self.filter_at);
                (self.doubt, self.apart) = (0.0, 0);
                found.pose = self.network_at;
            } else if self.doubt > 0.0 {
                found = Detection { pose: network, seen: true, ..there };
            } else {
                found.pose = self.joint(self.filter_at);
            }
        }
        let mut found = self.concluded(found);
        if self.last_similarity.is_some_and(|similarity| similarity < HIDDEN) {
            (self.filter_at, self.network_at) = (filter_before, network_before);
            (found.pose, found.seen, self.last) = (at, false, at);
        } else if score > GUESSED {
            let similarity = self.network.similarity(network);
            let (score_weight, similarity_weight, constant) = GUESS;
            let sum = score_weight * log_odds(score, 1e-4)
                + similarity_weight * similarity.map_or(OUTSIDE, f64::from)
                + constant;
            let confidence = Some(logistic(sum) as f32);
            found.guess = Some((network, Evidence { similarity, confidence, ..found.evidence }));
        }
        found
    }

    fn probe(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        let mut found = self.filter.probe(frame, Pose { aspect: 1.0, ..at });
        if self.filter_confidence(&found) >= self.params.filter.confidence.tracking_from {
            let similarity = self.network.similarity_at(frame, self.joint(found.pose));
            found.seen &= similarity.is_none_or(|similarity| similarity > LIKE);
        }
        found
    }

    fn evaluate_at(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        let detection = self.filter.evaluate_at(frame, Pose { aspect: 1.0, ..at });
        Detection { pose: at, ..detection }
    }

    fn learn(&mut self, frame: &Frame<'_>, at: Pose, evidence: &Evidence, rate: Option<f64>) -> Learned {
        if rate.is_some() {
            return self.filter.learn(frame, Pose { aspect: 1.0, ..at }, evidence, rate);
        }
        // The filter does not learn while it is not clear who is right.
        if self.apart > 0 {
            return Learned::Done;
        }
        self.filter.learn(frame, self.filter_at, evidence, None)
    }

    fn moved(&mut self, to: Pose) {
        if to != self.last {
            self.filter_at = Pose { angle: self.filter_at.angle, aspect: 1.0, ..to };
            (self.network_at, self.last) = (to, to);
            (self.doubt, self.apart, self.mean_similarity) = (0.0, 0, 1.0);
        }
    }

    fn restore(&mut self) -> Option<Pose> {
        self.mean_similarity = 1.0;
        self.filter.restore().map(|pose| self.joint(pose))
    }

    fn finds(&self) -> Finds {
        self.filter.finds()
    }

    fn confidence(&self, evidence: &Evidence) -> Option<f64> {
        let filter = self.filter.confidence(evidence)?;
        let Some((score, agreement)) = evidence.network.zip(evidence.agreement) else { return Some(filter) };
        let (filter_weight, network_weight, agreement_weight, similarity_weight, constant) = EXPERTS;
        let sum = filter_weight * log_odds(filter, 1e-9)
            + network_weight * log_odds(f64::from(score), 1e-4)
            + agreement_weight * f64::from(agreement)
            + similarity_weight * evidence.similarity.map_or(OUTSIDE, f64::from)
            + constant;
        Some(if self.mean_similarity < UNLIKE { 0.0 } else { logistic(sum) })
    }

    fn response(&self) -> ResponseMap<'_> {
        self.filter.response()
    }

    fn boxed_clone(&self) -> Box<dyn Search> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::tests::folder;
    use super::*;
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
        let mut search = ExpertSearch::new(&params, &view, given).unwrap();
        for _ in 0..15 {
            let at = search.last;
            let found = search.detect(&view, at);
            search.learn(&view, found.pose, &found.evidence, None);
        }
        search.filter_at = search.filter_at.at((twin.0 + 24.0, twin.1 + 24.0));
        for _ in 0..3 * MIN_APART {
            let at = search.last;
            let found = search.detect(&view, at);
            search.learn(&view, found.pose, &found.evidence, None);
        }
        assert!(search.filter_at.bbox((48.0, 48.0)).overlap(&given) > 0.6, "{:?}", search.filter_at);
        assert!(search.last.bbox((48.0, 48.0)).overlap(&given) > 0.6, "{:?}", search.last);
    }

    /// An expert that asks its network in every frame, and whose memory of the given box has this cosine with what the
    /// box shows.
    fn expert_with_similarity(view: &Frame<'_>, cosine: f32) -> ExpertSearch {
        let params = ExpertParams { model: folder("").to_str().unwrap().into(), every: 1, ..ExpertParams::default() };
        let given = BBox::new(80.0, 90.0, 48.0, 48.0);
        let mut search = ExpertSearch::new(&params, view, given).unwrap();
        let sine = (1.0 - cosine * cosine).sqrt();
        // Turned by that angle in each plane of two channels.
        for [a, b] in search.network.given.as_chunks_mut().0 {
            (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
        }
        search
    }

    #[test]
    fn both_that_follow_what_is_unlike_the_given_lose_it() {
        let pixels = frame((80.0, 90.0), None);
        let view = Frame::rgb(&pixels, SIZE.0, SIZE.1).unwrap();
        for (cosine, lost) in [(0.8, false), (0.45, true)] {
            let mut search = expert_with_similarity(&view, cosine);
            assert_eq!(search.probe(&view, search.last).seen, !lost, "elsewhere it must be like the given, too");
            let is_lost: Vec<_> = (0..60)
                .map(|_| {
                    let found = search.detect(&view, search.last);
                    search.confidence(&found.evidence) < Some(search.params.filter.confidence.lost_below)
                })
                .collect();
            assert!(!is_lost[..10].contains(&true), "{cosine}: {is_lost:?}");
            assert!(is_lost[50..].iter().all(|&now| now == lost), "{cosine}: {is_lost:?}");
        }
    }

    #[test]
    fn a_box_that_shows_something_else_stays() {
        let (first, second) = (frame((80.0, 90.0), None), frame((92.0, 90.0), None));
        let [first, second] = [&first, &second].map(|pixels| Frame::rgb(pixels, SIZE.0, SIZE.1).unwrap());
        for (cosine, stays) in [(0.8, false), (-0.5, true)] {
            let mut search = expert_with_similarity(&first, cosine);
            let at = search.last;
            let found = search.detect(&second, at);
            assert_eq!((found.pose == at, found.seen), (stays, !stays), "{cosine}: {:?}", found.pose);
        }
    }

    #[test]
    fn the_network_follows_on_when_the_target_is_lost() {
        let pixels = frame((80.0, 90.0), None);
        let view = Frame::rgb(&pixels, SIZE.0, SIZE.1).unwrap();
        for lost in [false, true] {
            let mut search = expert_with_similarity(&view, 1.0);
            let elsewhere = search.last.at((220.0, 170.0));
            search.detect(&view, search.last);
            if !lost {
                search.moved(elsewhere);
            }
            let guess = search.detect(&view, elsewhere).guess.map(|(pose, _)| pose);
            let center = search.network_at.center;
            assert_eq!(guess, lost.then_some(search.network_at));
            assert_eq!((center.0 - 104.0).hypot(center.1 - 114.0) < 12.0, lost, "{center:?}");
        }
    }
}
