//! Passes over a whole file before its results are written: smooth boxes, and tracking from both sides between two given
//! boxes.

use std::collections::{BTreeMap, VecDeque};

use super::{Cause, Follower, Halt, Session, Step};
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::frame::{Channels, Frame};
use crate::media::{Demand, Item, Source, Span};
use crate::tracker::{Estimate, ResponseMap, State, Tracker};

/// Width of the filter in frames, and how far it may move a box as a share of its size: of two sides, and of one.
const TWO_SIDED: (f64, f64) = (1.0, 0.1);
const ONE_SIDED: (f64, f64) = (1.5, 0.05);

/// Frames that a filter reaches, in deviations.
const REACH: f64 = 3.0;

/// Bytes of frames that are held to go through them backwards.
const MAX_BYTES: usize = 256 << 20;

/// The value at 0 of a line that is fitted to `(place, value)` pairs with Gaussian weights. Values from one side only
/// give a value without delay.
pub(crate) fn local_fit(values: impl Iterator<Item = (f64, f64)>, sigma: f64) -> f64 {
    let [mut weights, mut places, mut squares, mut sum, mut product] = [0.0; 5];
    for (place, value) in values {
        let weight = (-0.5 * (place / sigma).powi(2)).exp();
        weights += weight;
        places += weight * place;
        squares += weight * place * place;
        sum += weight * value;
        product += weight * place * value;
    }
    let determinant = weights * squares - places * places;
    if determinant > 1e-9 * weights * weights {
        (squares * sum - places * product) / determinant
    } else {
        sum / weights
    }
}

/// Whether a smooth path leads through this estimate.
fn is_followed(estimate: &Estimate) -> bool {
    matches!(estimate.state, State::Tracking | State::Uncertain) && estimate.bbox.is_valid()
}

/// The estimate at `at`, smoothed over its neighbours. A given box stays, and so does one of a target that is lost or
/// was just found again.
fn smoothed(track: &[Estimate], at: usize, (sigma, limit): (f64, f64)) -> Estimate {
    let mut estimate = track[at];
    if !is_followed(&estimate) {
        return estimate;
    }
    let reach = (REACH * sigma).ceil() as usize;
    // The box that was given or found begins the path.
    let before = track[..at].iter().rev().take(reach);
    let followed = before.clone().take_while(|estimate| is_followed(estimate)).count();
    let begins = before.clone().nth(followed).is_some_and(|first| first.state == State::Initial);
    let first = at - followed - usize::from(begins);
    let after = track[at + 1..].iter().take(reach).take_while(|estimate| is_followed(estimate)).count();
    let part = &track[first..=at + after];
    let fit = |value: fn(&BBox) -> f64, most: f64| {
        let values = part.iter().enumerate().map(|(i, e)| ((first + i) as f64 - at as f64, value(&e.bbox)));
        let here = value(&track[at].bbox);
        local_fit(values, sigma).clamp(here - most, here + most)
    };
    let BBox { w, h, .. } = estimate.bbox;
    let center = (fit(|bbox| bbox.center().0, limit * w), fit(|bbox| bbox.center().1, limit * h));
    let size = (fit(|bbox| bbox.w.ln(), limit).exp(), fit(|bbox| bbox.h.ln(), limit).exp());
    let old = estimate.bbox.center();
    estimate.bbox = BBox::new(center.0 - size.0 / 2.0, center.1 - size.1 / 2.0, size.0, size.1);
    for (i, number) in estimate.polygon.iter_mut().flatten().enumerate() {
        let (old, new, scale) = if i % 2 == 0 { (old.0, center.0, size.0 / w) } else { (old.1, center.1, size.1 / h) };
        *number = new + (*number - old) * scale;
    }
    estimate
}

/// Follows a target, or repeats what was found before.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a target has one of them")]
pub(crate) enum Pilot {
    /// With the latest estimates, if boxes are smoothed.
    Live(Tracker, Option<VecDeque<Estimate>>),
    /// The estimates of all frames to come.
    Stored(VecDeque<Estimate>),
}

impl Pilot {
    /// The tracker.
    pub(crate) fn tracker(&self) -> Option<&Tracker> {
        match self {
            Self::Live(tracker, _) => Some(tracker),
            Self::Stored(_) => None,
        }
    }
}

impl Follower for Pilot {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
        match self {
            Self::Live(tracker, latest) => {
                let estimate = tracker.init(frame, bbox)?;
                if let Some(latest) = latest {
                    *latest = VecDeque::from([estimate]);
                }
                Ok(estimate)
            }
            Self::Stored(estimates) => estimates.pop_front().ok_or(Error::NotInitialized),
        }
    }

    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
        match self {
            Self::Live(tracker, None) => tracker.update(frame),
            Self::Live(tracker, Some(latest)) => {
                latest.push_back(tracker.update(frame)?);
                if latest.len() as f64 > REACH * ONE_SIDED.0 + 1.0 {
                    latest.pop_front();
                }
                let track = latest.make_contiguous();
                Ok(smoothed(track, track.len() - 1, ONE_SIDED))
            }
            Self::Stored(estimates) => estimates.pop_front().ok_or(Error::NotInitialized),
        }
    }

    fn response(&self) -> Option<ResponseMap<'_>> {
        self.tracker().and_then(Tracker::response)
    }
}

/// The estimates of a target by position.
type Track = BTreeMap<usize, Estimate>;

/// What the passes need to know of a run.
#[derive(Clone, Copy)]
pub(crate) struct Passes<'a> {
    pub source: &'a dyn Source,
    pub channels: Channels,
    pub cancel: &'a CancelToken,
    /// Whether boxes are smoothed.
    pub smooth: bool,
}

impl Passes<'_> {
    /// Runs a session over all frames, and returns followers that repeat what its targets did, with the error that ended
    /// it. Between two given boxes, in `pairs` by target, a copy of `backward` follows the target from the second to the
    /// first, and the two paths are joined where they overlap most.
    pub(crate) fn run(
        &self,
        mut session: Session<Pilot>,
        frames: impl Iterator<Item = Item>,
        pairs: &[Vec<[(usize, BBox); 2]>],
        backward: Option<&Tracker>,
        mut tick: impl FnMut(),
    ) -> (Vec<Pilot>, Option<Halt>) {
        let mut tracks = vec![Track::new(); pairs.len()];
        let ended = session.run(frames, &mut |step: &Step<'_, Pilot>| {
            for outcome in step.outcomes {
                let estimate = outcome.estimate.map(|estimate| Estimate { bbox: outcome.bbox, ..estimate });
                tracks[outcome.target].extend(estimate.map(|estimate| (step.item.position, estimate)));
            }
            tick();
            if self.cancel.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
        });
        let mut halt = ended.err();
        for (track, pairs) in tracks.iter_mut().zip(pairs) {
            for &[first, last] in pairs.iter().filter(|pair| pair[0].0 + 1 < pair[1].0) {
                let met = halt.is_none() && track.contains_key(&last.0);
                let Some(tracker) = backward.filter(|_| met) else { continue };
                match self.backward(tracker.clone(), first.0, last) {
                    Ok(path) => join(track, &path),
                    Err(error) => halt = Some(error),
                }
            }
        }
        (tracks.into_iter().map(|track| self.stored(track)).collect(), halt)
    }

    fn stored(&self, track: Track) -> Pilot {
        let track: Vec<Estimate> = track.into_values().collect();
        let all = 0..track.len();
        Pilot::Stored(match self.smooth {
            true => all.map(|at| smoothed(&track, at, TWO_SIDED)).collect(),
            false => track.into(),
        })
    }

    /// Follows a target from the frame and box `last` back to the frame after `first`.
    fn backward(&self, tracker: Tracker, first: usize, last: (usize, BBox)) -> Result<Track, Halt> {
        let info = self.source.info();
        let samples = if self.channels == Channels::Color { 3 } else { 1 };
        let bytes = info.size.map_or(1 << 22, |(width, height)| width * height * samples);
        let count = (MAX_BYTES / bytes.max(1)).max(1);
        let mut session = Session::of(tracker, last.0, last.1);
        session.skip_bad_frames(true);
        let (mut path, mut end) = (Track::new(), last.0);
        while end > first {
            let begin = end.saturating_sub(count - 1).max(first + 1);
            let span = Span { first: begin, last: Some(end) };
            let frames = self.source.stream(span, Demand::from(self.channels), self.cancel);
            let frames = frames.map_err(|error| Halt { position: begin, path: None, cause: Cause::Frame(error) })?;
            let frames: Vec<Item> = frames.take_while(|_| !self.cancel.is_cancelled()).collect();
            session.run(frames.into_iter().rev(), &mut |step: &Step<'_, Tracker>| {
                let estimate = step.outcomes.first().and_then(|outcome| outcome.estimate);
                path.extend(estimate.map(|estimate| (step.item.position, estimate)));
                Ok(())
            })?;
            end = begin - 1;
        }
        path.remove(&last.0);
        Ok(path)
    }
}

/// Replaces the estimates of `track` by those of `path`, from the frame on in which both overlap most.
fn join(track: &mut Track, path: &Track) {
    let overlap = |position: &usize| path[position].bbox.overlap(&track[position].bbox);
    let common = path.keys().filter(|&position| track.contains_key(position));
    let Some(&meeting) = common.clone().max_by(|a, b| overlap(a).total_cmp(&overlap(b))) else { return };
    let later: Vec<_> =
        common.filter(|&&position| position >= meeting).map(|position| (*position, path[position])).collect();
    track.extend(later);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::Evidence;

    fn estimate(x: f64, state: State) -> Estimate {
        Estimate { bbox: BBox::new(x, 0.0, 20.0, 10.0), polygon: None, state, evidence: Evidence::default() }
    }

    /// The mean second difference of the left edges.
    fn jitter(track: &[Estimate]) -> f64 {
        let all = track.windows(3).map(|e| (e[0].bbox.x - 2.0 * e[1].bbox.x + e[2].bbox.x).abs());
        all.sum::<f64>() / (track.len() - 2) as f64
    }

    #[test]
    fn smooth_boxes_jitter_less_and_stay_where_they_were() {
        let noisy = |i: usize| 3.0 * i as f64 + ((i * 7919) % 101) as f64 / 101.0;
        let mut track: Vec<_> = (0..60).map(|i| estimate(noisy(i), State::Tracking)).collect();
        track[0].state = State::Initial;
        track[30].state = State::Lost;
        for (filter, most) in [(TWO_SIDED, 0.5), (ONE_SIDED, 0.95)] {
            let part = |at: usize| if filter == ONE_SIDED { &track[..=at] } else { &track[..] };
            let smooth: Vec<_> = (0..60).map(|at| smoothed(part(at), at, filter)).collect();
            assert!(jitter(&smooth[..30]) < most * jitter(&track[..30]), "{} {}", jitter(&smooth), jitter(&track));
            assert!(smooth.iter().zip(&track).all(|(a, b)| (a.bbox.x - b.bbox.x).abs() <= filter.1 * 20.0 + 1e-9));
            assert_eq!((smooth[0], smooth[30]), (track[0], track[30]), "given and lost boxes stay");
        }
        // Steady motion is not delayed.
        let steady: Vec<_> = (0..20).map(|i| estimate(5.0 * f64::from(i), State::Tracking)).collect();
        assert!((0..20).all(|at| (smoothed(&steady[..=at], at, ONE_SIDED).bbox.x - steady[at].bbox.x).abs() < 1e-6));
    }

    #[test]
    fn two_paths_are_joined_where_they_overlap_most() {
        let mut track: Track = (1..=9).map(|n| (n, estimate(n as f64, State::Tracking))).collect();
        // The forward path drifts away from frame 5 on, the backward one before frame 5.
        (6..=9).for_each(|n| track.get_mut(&n).unwrap().bbox.x += 10.0);
        let path: Track =
            (2..=8).map(|n| (n, estimate(if n < 5 { 40.0 } else { n as f64 }, State::Tracking))).collect();
        join(&mut track, &path);
        let edges: Vec<_> = track.values().map(|estimate| estimate.bbox.x).collect();
        assert_eq!(edges, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 19.0]);
    }
}
