//! Smooth boxes of a stream, and a pass over a whole file before its results are written, whose boxes are smoothed then or
//! tracked from both sides between two given ones.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{Cause, Halt, Outcome, Session, Step, Watch};
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::frame::Channels;
use crate::media::{Demand, Item, Source, Span};
use crate::tracker::{Estimate, State, Tracker};

/// Weight of the second differences of a smooth path against its distance from what was tracked, in sizes of the target.
const TREND_WEIGHT: f64 = 0.03;

/// How far a smooth box may be from the tracked one, as a share of its size.
const MAX_SHIFT: f64 = 0.1;

/// Rounds of reweighting, and the second difference below which a path is straight.
const ROUNDS: usize = 5;
const STRAIGHT: f64 = 1e-4;

/// Weight of the second differences for a stream.
const LATE_WEIGHT: f64 = 0.07;

/// Frames that a step of a stream waits for.
const LAG: usize = 2;

/// Frames of the path that smooths a step of a stream, these among them.
const WINDOW: usize = 12;

/// Error of the prediction, as a share of the size, at which the gain of the one-sided filter is one half.
const HALF_GAIN: f64 = 0.045;

/// Bytes of frames that are held to go through them backwards.
const MAX_BYTES: usize = 256 << 20;

/// Whether a smooth path leads through this estimate.
fn is_followed(estimate: &Estimate) -> bool {
    matches!(estimate.state, State::Tracking | State::Uncertain) && estimate.bbox.is_valid()
}

/// The centre of a box in pixels and the logarithms of its sides, each with its unit.
fn parts(bbox: &BBox) -> [([f64; 2], f64); 2] {
    [(bbox.center().into(), (bbox.w * bbox.h).sqrt()), ([bbox.w.ln(), bbox.h.ln()], 1.0)]
}

/// Moves an estimate to a centre and a size.
fn put(estimate: &mut Estimate, center: [f64; 2], sides: [f64; 2]) {
    let [w, h] = sides.map(f64::exp);
    *estimate = estimate.with_box(BBox::new(center[0] - w / 2.0, center[1] - h / 2.0, w, h));
}

fn distance([x, y]: [f64; 2]) -> f64 {
    x.hypot(y)
}

/// Smooths a track along all of its frames, with a weight of its second differences. A given box stays, and so does one of
/// a target that is lost or was just found again.
fn smooth(track: &mut [Estimate], weight: f64) {
    let mut at = 0;
    while at < track.len() {
        let count = track[at..].iter().take_while(|estimate| is_followed(estimate)).count();
        // The box that was given begins the path.
        let begins = at > 0 && track[at - 1].state == State::Initial;
        let run = &mut track[at - usize::from(begins)..at + count];
        if run.len() > 2 {
            let [center, sides] = [0, 1].map(|part| {
                let (path, units): (Vec<_>, Vec<_>) = run.iter().map(|estimate| parts(&estimate.bbox)[part]).unzip();
                trend(&path, &units, weight, begins)
            });
            for (i, estimate) in run.iter_mut().enumerate().skip(usize::from(begins)) {
                let [(here, _), (size, _)] = parts(&estimate.bbox);
                let most = size.map(|side| MAX_SHIFT * side.exp());
                let clamp = |value: [f64; 2], here: [f64; 2], most: [f64; 2]| {
                    [0, 1].map(|axis| value[axis].clamp(here[axis] - most[axis], here[axis] + most[axis]))
                };
                put(estimate, clamp(center[i], here, most), clamp(sides[i], size, [MAX_SHIFT; 2]));
            }
        }
        at += count + 1;
    }
}

/// The path near `path` with the least sum of second differences: l1 trend filtering (Kim et al. 2009), by reweighted
/// least squares. Most of it is straight; it bends where the target does. A path that `begins` keeps its first point.
fn trend(path: &[[f64; 2]], units: &[f64], trend: f64, begins: bool) -> Vec<[f64; 2]> {
    let mut weights = vec![10.0 * trend; path.len() - 2];
    let mut smooth = Vec::new();
    for _ in 0..ROUNDS {
        smooth = least_squares(path, &weights, begins);
        for ((weight, points), unit) in weights.iter_mut().zip(smooth.windows(3)).zip(&units[1..]) {
            let bend = distance([0, 1].map(|axis| points[0][axis] - 2.0 * points[1][axis] + points[2][axis]));
            *weight = trend / (bend / unit + STRAIGHT);
        }
    }
    smooth
}

/// The path that minimises the squared distances from `path` and the weighted squares of its second differences: a
/// system of five diagonals, solved by its LDL factors.
fn least_squares(path: &[[f64; 2]], weights: &[f64], begins: bool) -> Vec<[f64; 2]> {
    #[derive(Clone, Copy)]
    struct Row {
        last: f64,
        last_but_one: f64,
        diagonal: f64,
        value: [f64; 2],
    }
    let none = Row { last: 0.0, last_but_one: 0.0, diagonal: 1.0, value: [0.0; 2] };
    let weight = |i: usize, back: usize| i.checked_sub(back).and_then(|i| weights.get(i)).copied().unwrap_or(0.0);
    let count = path.len();
    let mut rows = vec![none; 2];
    for (i, point) in path.iter().enumerate() {
        let (before, last) = (rows[i], rows[i + 1]);
        let (first, middle, end) = (weight(i, 0), weight(i, 1), weight(i, 2));
        let hold = if begins && i == 0 { 1e6 } else { 1.0 };
        let last_but_one = end / before.diagonal;
        let factor = (-2.0 * (middle + end) - end * last.last) / last.diagonal;
        let diagonal = hold + first + 4.0 * middle + end
            - factor * factor * last.diagonal
            - last_but_one * last_but_one * before.diagonal;
        let value =
            [0, 1].map(|axis| hold * point[axis] - factor * last.value[axis] - last_but_one * before.value[axis]);
        rows.push(Row { last: factor, last_but_one, diagonal, value });
    }
    rows.extend([none; 2]);
    let mut smooth = vec![[0.0; 2]; count + 2];
    for i in (0..count).rev() {
        let (row, next, after) = (rows[i + 2], rows[i + 3], rows[i + 4]);
        smooth[i] = [0, 1].map(|axis| {
            row.value[axis] / row.diagonal - next.last * smooth[i + 1][axis] - after.last_but_one * smooth[i + 2][axis]
        });
    }
    smooth.truncate(count);
    smooth
}

/// Smooths the boxes of a stream.
#[derive(Debug)]
pub(crate) enum Smoothing {
    /// Each step at once, by the frames before; the filters and the last boxes of the targets.
    AtOnce(BTreeMap<usize, (OneSided, BBox)>),
    /// Each step by the frames after too.
    Late(Late),
}

impl Smoothing {
    pub(crate) fn new(at_once: bool) -> Self {
        if at_once { Self::AtOnce(BTreeMap::new()) } else { Self::Late(Late::default()) }
    }
}

/// Smooth outcomes by the frames before.
pub(crate) fn at_once(filters: &mut BTreeMap<usize, (OneSided, BBox)>, outcomes: &[Outcome]) -> Vec<Outcome> {
    filters.retain(|id, _| outcomes.iter().any(|outcome| outcome.target == *id));
    let smooth = |outcome: &Outcome| {
        let (filter, last) = filters.entry(outcome.target).or_insert((OneSided::default(), outcome.bbox));
        let estimate = outcome.estimate.map(|estimate| filter.next(estimate));
        *last = estimate.map_or(*last, |estimate| estimate.bbox);
        Outcome { bbox: *last, estimate, ..*outcome }
    };
    outcomes.iter().map(smooth).collect()
}

/// Holds the steps of a stream until the next [`LAG`] frames are tracked, and smooths their boxes over these too.
#[derive(Debug, Default)]
pub(crate) struct Late {
    /// The frames that wait.
    waiting: VecDeque<Arc<Item>>,
    /// Outcomes of the last frames, those of waiting frames among them.
    tracked: VecDeque<Vec<Outcome>>,
    /// The last smooth box of each target, for frames that cannot be read.
    last: BTreeMap<usize, BBox>,
}

impl Late {
    pub(crate) fn add(&mut self, step: &Step<'_, Tracker>) {
        self.waiting.push_back(Arc::clone(step.item));
        self.last.retain(|id, _| self.tracked.iter().flatten().any(|outcome| outcome.target == *id));
        self.tracked.push_back(step.outcomes.to_vec());
        if self.tracked.len() > WINDOW {
            self.tracked.pop_front();
        }
    }

    /// The next frame that need not wait, with its smooth boxes. Once the stream has `ended` none waits.
    pub(crate) fn next(&mut self, ended: bool) -> Option<(Arc<Item>, Vec<Outcome>)> {
        let at = self.tracked.len() - self.waiting.len();
        let item = if ended || self.waiting.len() > LAG { self.waiting.pop_front() } else { None }?;
        let mut outcomes = self.tracked[at].clone();
        for outcome in &mut outcomes {
            if outcome.estimate.is_none() {
                outcome.bbox = self.last.get(&outcome.target).copied().unwrap_or(outcome.bbox);
                continue;
            }
            let of_target =
                |outcomes: &Vec<Outcome>| outcomes.iter().find(|other| other.target == outcome.target)?.estimate;
            let mut track: Vec<_> = self.tracked.iter().filter_map(of_target).collect();
            let place = self.tracked.iter().take(at).filter_map(of_target).count();
            smooth(&mut track, LATE_WEIGHT);
            outcome.bbox = track[place].bbox;
            outcome.estimate = Some(track[place]);
            self.last.insert(outcome.target, outcome.bbox);
        }
        Some((item, outcomes))
    }
}

/// A filter that knows the frames before only: it predicts by a constant velocity, and the further its prediction is
/// from what was tracked, the less of the prediction it keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneSided {
    /// Place and velocity of the centre and of the size.
    path: Option<[[[f64; 2]; 2]; 2]>,
}

impl OneSided {
    pub(super) fn next(&mut self, mut estimate: Estimate) -> Estimate {
        let starts = is_followed(&estimate) || estimate.state == State::Initial;
        let path = self.path.take().filter(|_| is_followed(&estimate));
        let here = parts(&estimate.bbox);
        let Some(mut path) = path else {
            self.path = starts.then(|| here.map(|(place, _)| [place, [0.0; 2]]));
            return estimate;
        };
        for ([place, velocity], (tracked, unit)) in path.iter_mut().zip(here) {
            let error = [0, 1].map(|axis| tracked[axis] - place[axis] - velocity[axis]);
            let share = distance(error) / unit;
            let gain = share / (share + HALF_GAIN);
            for axis in 0..2 {
                place[axis] += velocity[axis] + gain * error[axis];
                velocity[axis] += gain * gain / (2.0 - gain) * error[axis];
            }
        }
        put(&mut estimate, path[0][0], path[1][0]);
        self.path = Some(path);
        estimate
    }
}

/// The estimates of a target by position.
type Track = BTreeMap<usize, Estimate>;

/// Two given boxes, by position, between which a target is tracked from both.
pub(crate) type Pair = [(usize, BBox); 2];

/// The outcomes of a whole run, by position.
pub(crate) type Record = BTreeMap<usize, Vec<Outcome>>;

/// Settings of the passes over a run.
#[derive(Clone, Copy)]
pub(crate) struct Passes<'a> {
    pub source: &'a dyn Source,
    pub channels: Channels,
    pub cancel: &'a CancelToken,
    /// Whether boxes are smoothed.
    pub smooth: bool,
}

/// Takes down all outcomes of a run.
struct Recorder<'a> {
    record: Record,
    /// The most pixels of a frame.
    pixels: usize,
    cancel: &'a CancelToken,
    /// Callback for each frame, with the reason for a skipped one.
    tell: &'a mut dyn FnMut(Option<&str>),
}

impl Watch<Tracker> for Recorder<'_> {
    fn step(&mut self, step: &Step<'_, Tracker>) -> Result<()> {
        let size = step.item.frame.as_ref().map_or((0, 0), |frame| frame.as_frame().size());
        self.pixels = self.pixels.max(size.0 * size.1);
        self.record.insert(step.item.position, step.outcomes.to_vec());
        (self.tell)(None);
        self.cancel.check()
    }

    fn skipped(&mut self, message: &str) {
        (self.tell)(Some(message));
    }
}

impl Passes<'_> {
    /// Runs a session over all frames, and returns what its targets did, with the error that ended it. Between two given
    /// boxes, in `pairs` by target, a copy of `backward` follows the target from the second to the first, and the two
    /// paths are joined where they overlap most.
    pub(crate) fn run(
        &self,
        session: &mut Session<Tracker>,
        frames: impl Iterator<Item = Item>,
        pairs: &[(usize, Vec<Pair>)],
        backward: Option<&Tracker>,
        tell: &mut dyn FnMut(Option<&str>),
    ) -> (Record, Option<Halt>) {
        let mut recorder = Recorder { record: Record::new(), pixels: 1, cancel: self.cancel, tell };
        let mut halt = session.run(frames, &mut recorder).err();
        let Recorder { mut record, pixels, .. } = recorder;
        for (target, pairs) in pairs {
            let mut track = track_of(&record, *target);
            for &[first, last] in pairs.iter().filter(|pair| pair[0].0 + 1 < pair[1].0) {
                let met = halt.is_none() && track.contains_key(&last.0);
                let Some(tracker) = backward.filter(|_| met) else { continue };
                match self.backward(tracker.clone(), first.0, last, pixels) {
                    Ok(path) => join(&mut track, &path),
                    Err(error) => halt = Some(error),
                }
            }
            if self.smooth {
                let mut path: Vec<Estimate> = track.values().copied().collect();
                smooth(&mut path, TREND_WEIGHT);
                track.values_mut().zip(path).for_each(|(old, new)| *old = new);
            }
            put_back(&mut record, *target, &track);
        }
        (record, halt)
    }

    /// Follows a target from the frame and box `last` back to the frame after `first`, in frames of at most `pixels`.
    fn backward(&self, tracker: Tracker, first: usize, last: (usize, BBox), pixels: usize) -> Result<Track, Halt> {
        let samples = if self.channels == Channels::Color { 3 } else { 1 };
        let count = (MAX_BYTES / (pixels * samples)).max(1);
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

/// The estimates of a target.
fn track_of(record: &Record, target: usize) -> Track {
    let of_target = |outcomes: &[Outcome]| outcomes.iter().find(|outcome| outcome.target == target)?.estimate;
    record.iter().filter_map(|(&position, outcomes)| Some((position, of_target(outcomes)?))).collect()
}

/// Gives the outcomes of a target these estimates, and to frames that could not be read the box before.
fn put_back(record: &mut Record, target: usize, track: &Track) {
    let mut last = None;
    for (position, outcomes) in record {
        for outcome in outcomes.iter_mut().filter(|outcome| outcome.target == target) {
            outcome.estimate = outcome.estimate.and_then(|_| track.get(position).copied());
            last = outcome.estimate.map(|estimate| estimate.bbox).or(last);
            outcome.bbox = last.unwrap_or(outcome.bbox);
        }
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
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::error::Error;
    use crate::frame::{FrameBuf, PixelFormat};
    use crate::media::{Info, Stream};
    use crate::tracker::{Evidence, Params};

    fn estimate(x: f64, state: State) -> Estimate {
        with_corners(BBox::new(x, 0.0, 20.0, 10.0), state)
    }

    /// An estimate whose polygon has the corners of its box.
    fn with_corners(bbox: BBox, state: State) -> Estimate {
        let BBox { x, y, w, h } = bbox;
        let polygon = Some([x, y, x + w, y, x + w, y + h, x, y + h]);
        Estimate { bbox, polygon, state, evidence: Evidence::default() }
    }

    /// The mean second difference of the left edges.
    fn jitter(track: &[Estimate]) -> f64 {
        let all = track.windows(3).map(|e| (e[0].bbox.x - 2.0 * e[1].bbox.x + e[2].bbox.x).abs());
        all.sum::<f64>() / (track.len() - 2) as f64
    }

    /// The track as `Late` gives it, with a target beside it that ends early.
    fn late(track: &[Estimate]) -> Vec<Estimate> {
        let (mut late, mut smooth) = (Late::default(), Vec::new());
        for position in 1..=track.len() + 1 {
            if let Some(estimate) = track.get(position - 1) {
                let item = Arc::new(Item::numbered(position, None, Err(Error::NotInitialized), 0.0));
                let outcome =
                    |target| Outcome { target, bbox: estimate.bbox, estimate: Some(*estimate), took: Duration::ZERO };
                late.add(&Step::again(&item, &[outcome(0), outcome(1)][usize::from(position > 5)..]));
            }
            while let Some((item, outcomes)) = late.next(position > track.len()) {
                assert_eq!(item.position, smooth.len() + 1);
                assert!(position > track.len() || position == item.position + LAG, "{position}");
                smooth.extend(outcomes.last().and_then(|outcome| outcome.estimate));
            }
        }
        smooth
    }

    #[test]
    fn smooth_boxes_jitter_less_and_stay_where_they_were() {
        let noise = |i: usize| ((i * 7919) % 101) as f64 / 101.0;
        // One box has jumped far away.
        let x = |i: usize| 3.0 * i as f64 + noise(i) + if i == 45 { 10.0 } else { 0.0 };
        let noisy = |i: usize| with_corners(BBox::new(x(i), 0.0, 20.0 + noise(i + 7), 10.0), State::Tracking);
        let mut track: Vec<_> = (0..60).map(noisy).collect();
        track[0].state = State::Initial;
        track[30].state = State::Lost;
        let mut two_sided = track.clone();
        smooth(&mut two_sided, TREND_WEIGHT);
        let mut filter = OneSided::default();
        let one_sided = track.iter().map(|estimate| filter.next(*estimate)).collect();
        for (smooth, most) in [(two_sided, 0.2), (late(&track), 0.3), (one_sided, 0.6)] {
            assert!(jitter(&smooth[..30]) < most * jitter(&track[..30]), "{} {}", jitter(&smooth), jitter(&track));
            let shift = |(a, b): (&Estimate, &Estimate)| (a.bbox.center().0 - b.bbox.center().0).abs() / b.bbox.w;
            assert!(smooth.iter().zip(&track).all(|pair| shift(pair) <= MAX_SHIFT + 1e-9));
            assert_eq!((smooth[0], smooth[30]), (track[0], track[30]), "given and lost boxes stay");
            let corners = smooth.iter().map(|found| with_corners(found.bbox, found.state).polygon.unwrap());
            let apart =
                corners.zip(&smooth).flat_map(|(all, found)| [0, 1, 2, 5].map(|i| all[i] - found.polygon.unwrap()[i]));
            assert!(apart.fold(0.0, |most: f64, by| most.max(by.abs())) < 1e-9, "corners go with their box");
        }
        // The path begins at the given box: what is off from there on is drawn to it.
        let mut track: Vec<_> = (0..30).map(|i| estimate(3.0 * f64::from(i), State::Tracking)).collect();
        track[0] = estimate(-2.0, State::Initial);
        let mut begun = track.clone();
        smooth(&mut begun, TREND_WEIGHT);
        assert!(begun[0] == track[0] && begun[1].bbox.x < track[1].bbox.x - 0.3, "{} {}", begun[1].bbox, track[1].bbox);
    }

    #[test]
    fn smoothing_follows_a_turn_without_delay() {
        let turn = |i: i32| 4.0 * f64::from(if i < 20 { i } else { 40 - i });
        let track: Vec<_> = (0..40).map(|i| estimate(turn(i), State::Tracking)).collect();
        let mut two_sided = track.clone();
        smooth(&mut two_sided, TREND_WEIGHT);
        let mut filter = OneSided::default();
        for (i, (smooth, tracked)) in late(&track).iter().zip(&track).enumerate() {
            assert!((smooth.bbox.x - tracked.bbox.x).abs() < 1.0, "{i}: {}", smooth.bbox.x - tracked.bbox.x);
        }
        for (i, (smooth, tracked)) in two_sided.iter().zip(&track).enumerate() {
            let (near, live) = ((smooth.bbox.x - tracked.bbox.x).abs(), filter.next(*tracked).bbox.x - tracked.bbox.x);
            assert!(near < 0.5 && live.abs() < HALF_GAIN * 200_f64.sqrt(), "{i}: {near} {live}");
        }
    }

    /// Large frames, and the spans that were asked for.
    #[derive(Default)]
    struct Large(Info, Mutex<Vec<[usize; 2]>>);

    impl Source for Large {
        fn info(&self) -> &Info {
            &self.0
        }

        fn stream(&self, Span { first, last }: Span, _: Demand, _: &CancelToken) -> Result<Stream> {
            self.1.lock().unwrap().push([first, last.unwrap()]);
            Ok(Box::new((first..=last.unwrap()).map(|position| {
                let (width, height) = (8192, 4096);
                let mut pixels = vec![0; width * height];
                (0..40 * width).for_each(|i| pixels[i] = (i % width * (i / width)) as u8);
                let frame = FrameBuf::new(pixels, width, height, PixelFormat::Gray8);
                Item::numbered(position, None, frame.map(|frame| (frame, None)), 0.0)
            })))
        }
    }

    #[test]
    fn frames_that_are_held_for_the_way_back_are_bounded_by_their_size() {
        let (source, cancel, given) = (Large::default(), CancelToken::default(), BBox::new(9.0, 9.0, 24.0, 24.0));
        let passes = Passes { source: &source, channels: Channels::Luma, cancel: &cancel, smooth: false };
        let tracker = Tracker::new(Params::paper()).unwrap();
        let mut session = Session::of(tracker.clone(), 1, given);
        session.give(1, 10, Some(given));
        let frames = source.stream(Span { first: 1, last: Some(10) }, Channels::Luma.into(), &cancel).unwrap();
        let pairs = [(1, vec![[(1, given), (10, given)]])];
        let (_, halt) = passes.run(&mut session, frames, &pairs, Some(&tracker), &mut |_| ());
        assert!(halt.is_none() && MAX_BYTES == 8 * 8192 * 4096);
        assert_eq!(*source.1.lock().unwrap(), [[1, 10], [3, 10], [2, 2]]);
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
