//! The tracker, and its loop: detect, decide the state, learn, ask the guard.

use serde::Serialize;

use super::background_search::BackgroundSearch;
use super::confidence::StateMachine;
#[cfg(feature = "neural")]
use super::expert_search::ExpertSearch;
use super::filter_search::FilterSearch;
use super::guard::Guard;
use super::params::SearchParams;
use super::scale_rotation::ScaleSearch;
use super::search::{Detection, Evidence, Finds, Learned, Pose, SCAN_SCALES, Search, TileScan};
#[cfg(feature = "neural")]
use super::siamese_search::SiameseSearch;
use super::window_search::WindowSearch;
use super::{Params, ResponseMap, State};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Frame;

/// Visible share of a box below which its state is at most uncertain: a box whose target leaves stays at the border,
/// and its search learns the border, which the evidence does not show.
const MIN_VISIBLE: f64 = 0.5;

/// Frames in a row in which a target must be found in another scene, and least peak-to-sidelobe ratio.
const MIN_FRAMES_ELSEWHERE: usize = 5;
const MIN_PSR_ELSEWHERE: f32 = 18.0;

/// Most frames for which the box waits at the place where the target was hidden, or for which a target without an
/// identity is followed while it is hidden.
const MAX_WAIT: usize = 60;

/// How fast the filter learns a hidden target without an identity, in each frame: it is held forty times as strongly as
/// usual near the one before. Colours and size are learned as usual.
const HIDDEN_RATE: f64 = 1.0 / 1961.0;

/// Whether the box goes to a detection, and the rate at which it is learned there; `None` for the usual one.
enum Followed {
    Not,
    At { rate: Option<f64> },
}

/// What a tracker says of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Where the target is, or was last seen.
    pub bbox: BBox,
    /// The corners `x1, y1, …, x4, y4` of a target that has turned, clockwise from what was the upper left one: the
    /// box is then the upright one around the ellipse in them. `None` of one that stands as it did, and of searches
    /// that follow no turns.
    pub polygon: Option<[f64; 8]>,
    /// The state of the target in this frame.
    pub state: State,
    /// What speaks for the box.
    pub evidence: Evidence,
}

/// Follows one target: by a correlation filter or by a kernel machine over real windows, alone or with another
/// machine as guard.
///
/// [`Tracker::init`] allocates all memory; with a correlation filter [`Tracker::update`] allocates nothing. A machine over
/// windows is refitted in every frame that it learns: the matrices of a fit are allocated and freed within that update.
#[derive(Clone, Debug)]
pub struct Tracker {
    params: Params,
    /// Kept, so that each target finds them loaded.
    #[cfg(feature = "neural")]
    _networks: Option<std::sync::Arc<super::network::Networks>>,
    target: Option<Engine>,
}

impl Tracker {
    /// A tracker with these settings and no target yet.
    ///
    /// # Errors
    /// [`Error::Setting`] with the path of a value outside its range; of searches with a network [`Error::Io`] and
    /// [`Error::Network`] for one that cannot be used.
    pub fn new(params: Params) -> Result<Self> {
        params.check()?;
        #[cfg(feature = "neural")]
        let _networks =
            params.search.model().map(|model| super::network::Networks::load(model.as_ref())).transpose()?;
        Ok(Self {
            params,
            #[cfg(feature = "neural")]
            _networks,
            target: None,
        })
    }

    /// The settings.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Learns the target at `bbox` in `frame`, and forgets any earlier one. The box may reach over the frame's border.
    /// The evidence is what the new model answers to this very frame: a measure of how distinct the target is.
    ///
    /// # Errors
    /// [`Error::Box`] for a box that is not finite, smaller than a pixel, wholly outside the frame, too large to track
    /// or around nothing but uniform pixels; [`Error::Samples`] and [`Error::Gram`] when a machine cannot be fitted at
    /// all, as with settings far off the default. The earlier target, if any, is then kept.
    pub fn init<'f>(&mut self, frame: impl Into<Frame<'f>>, bbox: BBox) -> Result<Estimate> {
        let frame = frame.into();
        let (target, estimate) = Engine::new(&self.params, &frame, bbox)?;
        self.target = Some(target);
        Ok(estimate)
    }

    /// Finds the target in the next frame and learns how it looks there.
    ///
    /// Frames may turn from colour to gray and back: nothing is refused. In gray frames colour histograms have no say,
    /// and a tracker that began with a gray frame has none.
    ///
    /// A machine over real windows that cannot be fitted to what it has seen by now keeps its earlier decision
    /// function, and [`Evidence::refit_kept`] says so.
    ///
    /// # Errors
    /// [`Error::NotInitialized`] before [`Tracker::init`]; [`Error::FrameSize`] for a frame of another size than the
    /// first one, which [`Tracker::init`] takes. Neither changes the tracker.
    pub fn update<'f>(&mut self, frame: impl Into<Frame<'f>>) -> Result<Estimate> {
        let target = self.target.as_mut().ok_or(Error::NotInitialized)?;
        let frame = frame.into();
        let (expected, got) = (target.frame_size, frame.size());
        if got != expected {
            return Err(Error::FrameSize { expected, got });
        }
        Ok(target.update(&frame))
    }

    /// The score of every translation in the last area that was looked at; `None` before [`Tracker::init`]. While a
    /// target is lost, that area may be anywhere in the frame.
    pub fn response(&self) -> Option<ResponseMap<'_>> {
        self.target.as_ref().map(|target| target.search.response())
    }

    /// Where the target was last; `None` before [`Tracker::init`].
    pub fn bbox(&self) -> Option<BBox> {
        self.target.as_ref().map(|target| target.bbox())
    }
}

/// One target: where it is, what finds it and what watches over that.
#[derive(Clone, Debug)]
struct Engine {
    /// Width and height of all frames.
    frame_size: (usize, usize),
    /// Width and height of the initial box.
    size: (f64, f64),
    pose: Pose,
    search: Box<dyn Search>,
    guard: Option<Guard>,
    /// Of a search whose states are made of the confidence.
    states: Option<StateMachine>,
    /// Through the frame, for a lost target.
    scan: TileScan,
    /// Where a lost target was found last, and in how many frames in a row.
    candidate: Option<(Pose, usize)>,
    /// Frames in a row in which a hidden target was denied, or followed without an identity.
    waited: usize,
    /// The centre in the last frame that was `tracking`.
    sure_center: (f64, f64),
    /// Of the last frame in which the target was followed.
    overview: Overview,
    /// Whether the target was lost by a cut, and has not been found since.
    cut: bool,
    /// Whether it was, and this frame does not show the scene before the cut.
    elsewhere: bool,
}

impl Engine {
    /// Learns the target at `bbox`. The estimate says how distinct it is in this very frame.
    ///
    /// # Errors
    /// [`Error::Box`] for a box that cannot be tracked; the error of a machine's first fit.
    fn new(params: &Params, frame: &Frame<'_>, bbox: BBox) -> Result<(Self, Estimate)> {
        let mut pose = Pose::of(bbox);
        let mut search: Box<dyn Search> = match &params.search {
            SearchParams::Filter(params) => {
                let search = FilterSearch::new(params, frame, bbox)?;
                pose = search.pose();
                ScaleSearch::around(Box::new(search), params.scale, frame, bbox)
            }
            // It follows the size itself, in its own view.
            SearchParams::Background(params) => Box::new(BackgroundSearch::new(params, frame, bbox)?),
            #[cfg(feature = "neural")]
            SearchParams::Siamese(params) => Box::new(SiameseSearch::new(&params.model, frame, bbox)?),
            #[cfg(feature = "neural")]
            SearchParams::Expert(params) => Box::new(ExpertSearch::new(params, frame, bbox)?),
            #[cfg(not(feature = "neural"))]
            SearchParams::Siamese(_) | SearchParams::Expert(_) => unreachable!("the settings were checked"),
            SearchParams::Machine(params) => {
                let search = WindowSearch::new(&params.windows, params.lost_below, frame, bbox)?;
                ScaleSearch::around(Box::new(search), params.scale, frame, bbox)
            }
        };
        let guard = params.guard.as_ref().map(|guard| Guard::new(guard, frame, bbox)).transpose()?;
        let mut evidence = search.evaluate_at(frame, pose).evidence;
        let states = params.search.confidence().map(StateMachine::new);
        let mut engine = Self {
            frame_size: frame.size(),
            size: (bbox.w, bbox.h),
            pose,
            search,
            guard,
            states,
            scan: TileScan::default(),
            candidate: None,
            waited: 0,
            sure_center: pose.center,
            overview: Overview::of(frame),
            cut: false,
            elsewhere: false,
        };
        if let Some(guard) = &mut engine.guard {
            evidence.decision = guard.first_decision(frame, pose);
        }
        Ok((engine, Estimate { bbox, polygon: None, state: State::Initial, evidence }))
    }

    /// Finds the target in the next frame, of the first one's size, and learns its appearance there.
    fn update(&mut self, frame: &Frame<'_>) -> Estimate {
        let mut detection = self.search.detect(frame, self.pose);
        let was_lost = self.is_lost();
        let mut state = match self.state_by_confidence(&mut detection) {
            Some(state) => self.lose_or_recover(frame, was_lost, state, &mut detection),
            None => State::Lost,
        };
        let mut learned = Learned::Done;
        if let Followed::At { rate } = self.decide_to_follow(&detection) {
            self.pose = detection.pose;
            learned = self.search.learn(frame, self.pose, &detection.evidence, rate);
            if self.states.is_none() {
                state = self.search.state(&detection.evidence);
            }
        }
        if state == State::Tracking {
            self.sure_center = self.pose.center;
        }
        state = self.ask_guard(frame, state, &mut detection, &mut learned);
        detection.evidence.refit_kept |= learned == Learned::KeptModel;
        let bbox = self.bbox();
        let visible = bbox.visible_share(frame.width(), frame.height());
        state = match state {
            _ if visible <= 0.0 => State::Lost,
            State::Tracking | State::Recovered if visible < MIN_VISIBLE => State::Uncertain,
            state => state,
        };
        if let Some(states) = &mut self.states {
            state = states.report(state);
        }
        Estimate { bbox, polygon: self.pose.polygon(self.size), state, evidence: detection.evidence }
    }

    /// Sees cuts, loses the target or searches for it, and returns the state. A loss restores the models of the last certain
    /// frame; a recovery replaces the detection.
    fn lose_or_recover(
        &mut self,
        frame: &Frame<'_>,
        was_lost: bool,
        by_confidence: State,
        detection: &mut Detection,
    ) -> State {
        let overview = Overview::of(frame);
        self.cut |= !was_lost && overview.is_cut_from(&self.overview);
        self.elsewhere = self.cut && !overview.is_same_as(&self.overview);
        // Without an identity nothing tells what is followed then.
        let hidden_for_long = self.is_hidden() && self.waited >= MAX_WAIT && detection.evidence.identity.is_none();
        let loses = self.elsewhere || hidden_for_long;
        let mut state = self.states.as_mut().filter(|_| loses).map_or(by_confidence, StateMachine::lose);
        if state == State::Recovered {
            state = self.recover();
        }
        if self.is_lost() && !was_lost {
            // A place of an earlier loss says nothing in this one.
            self.candidate = None;
            if !self.elsewhere
                && let Some(saved) = self.search.restore()
            {
                // The box may have followed what covers the target.
                self.pose = saved.at(self.sure_center);
            }
        }
        if self.elsewhere {
            self.search.moved(self.pose);
        } else if self.is_lost()
            && let Some((pose, evidence)) = detection.guess
        {
            (self.pose, detection.evidence) = (pose, evidence);
        }
        // Also where there is nothing to see at the last place: the target may be back elsewhere.
        if self.is_lost()
            && let Some(found) = self.search_frame(frame)
        {
            state = self.recover();
            *detection = found;
        }
        if !self.is_lost() {
            self.cut = false;
            if detection.seen {
                self.overview = overview;
            }
        }
        state
    }

    /// Whether the box follows a detection; counts the frames in which it waits.
    fn decide_to_follow(&mut self, detection: &Detection) -> Followed {
        let hidden = self.is_hidden();
        // The box would go with what covers the target.
        let covered = hidden && self.search.denies(&detection.evidence);
        // Without an identity it goes there, and the filter hardly learns what covers the target.
        let rate = (hidden && detection.evidence.identity.is_none()).then_some(HIDDEN_RATE);
        self.waited = if covered || rate.is_some() { self.waited + 1 } else { 0 };
        let waits = covered && self.waited <= MAX_WAIT;
        if detection.seen && !self.is_lost() && !waits { Followed::At { rate } } else { Followed::Not }
    }

    /// The state by the guard too, which may move the box and have the search learn there.
    fn ask_guard(
        &mut self,
        frame: &Frame<'_>,
        mut state: State,
        detection: &mut Detection,
        learned: &mut Learned,
    ) -> State {
        let Self { search, guard: Some(guard), states, .. } = self else { return state };
        let verdict = guard.watch(frame, self.pose);
        if let Some(found) = verdict.found {
            // The evidence there says how far the search's model has drifted; the guard vouches for the box.
            *detection = search.evaluate_at(frame, found);
            detection.evidence.confidence = search.confidence(&detection.evidence).map(|p| p as f32);
            self.pose = detection.pose;
            search.moved(self.pose);
            if detection.seen {
                *learned = search.learn(frame, self.pose, &detection.evidence, Some(guard.relearn_rate()));
                state = states.as_mut().map_or(State::Tracking, StateMachine::restart_elsewhere);
            }
        }
        detection.evidence.decision = verdict.decision;
        detection.evidence.refit_kept = verdict.learned == Learned::KeptModel;
        guard.state(state)
    }

    fn is_lost(&self) -> bool {
        self.states.as_ref().is_some_and(StateMachine::is_lost)
    }

    fn is_hidden(&self) -> bool {
        self.states.as_ref().is_some_and(StateMachine::is_hidden)
    }

    fn recover(&mut self) -> State {
        self.states.as_mut().map_or(State::Lost, StateMachine::recover)
    }

    /// The state by the confidence of a detection, which is written to it; `None` of a search with other states.
    fn state_by_confidence(&mut self, detection: &mut Detection) -> Option<State> {
        let confidence = self.search.confidence(&detection.evidence)?;
        let confidence = if detection.seen { confidence } else { 0.0 };
        detection.evidence.confidence = Some(confidence as f32);
        let states = self.states.as_mut()?;
        let state = match detection.seen {
            true => states.update(confidence, detection.evidence.long_term, Some(detection.evidence.psr)),
            false => states.update_unseen(),
        };
        detection.evidence.confidence = Some(states.confidence() as f32);
        Some(state)
    }

    /// The detection of a lost target, once it was found in enough frames in a row.
    fn search_frame(&mut self, frame: &Frame<'_>) -> Option<Detection> {
        let mut finds = self.search.finds();
        if self.elsewhere {
            finds.frames = finds.frames.max(MIN_FRAMES_ELSEWHERE);
        }
        // One or the other, so that the time of a frame is bounded.
        let candidate = self.candidate.take();
        let found = match candidate {
            Some((pose, _)) => {
                self.search.moved(pose);
                let there = self.search.detect(frame, pose);
                self.accepted(there, finds).map(|(_, detection)| detection)
            }
            None => self.scan_tiles(frame, finds),
        };
        let frames = candidate.map_or(1, |(_, frames)| frames + 1);
        if let Some(found) = found
            && frames >= finds.frames
        {
            self.search.moved(found.pose);
            return Some(found);
        }
        if candidate.is_some() {
            self.search.moved(self.pose);
        }
        self.candidate = found.map(|found| (found.pose, frames));
        None
    }

    /// The best accepted detection in the next tiles of the frame.
    fn scan_tiles(&mut self, frame: &Frame<'_>, finds: Finds) -> Option<Detection> {
        let area = self.search.response();
        let reach = (area.values.ncols() as f64 * area.step.0 / 2.0, area.values.nrows() as f64 * area.step.1 / 2.0);
        let size = frame.size();
        // One size a pass, so that each place is searched at all of them.
        let last = match finds.frames {
            0 | 1 => self.pose,
            _ => Pose { scale: self.pose.scale * SCAN_SCALES[self.scan.passes % SCAN_SCALES.len()], ..self.pose },
        };
        let mut best: Option<(f64, Detection)> = None;
        // Areas that overlap by half: the window hides what lies at the border of one.
        for _ in 0..self.states.as_ref()?.tiles().min(TileScan::tiles(size, reach)) {
            let there = self.scan.next(size, reach, last);
            let detection = self.search.probe(frame, there);
            let found = self.accepted(detection, finds);
            best = found.into_iter().chain(best).reduce(|a, b| if b.0 > a.0 { b } else { a });
        }
        best.map(|(_, detection)| detection)
    }

    /// A detection with its confidence, if that is high enough far from the last place.
    fn accepted(&self, mut detection: Detection, finds: Finds) -> Option<(f64, Detection)> {
        let states = self.states.as_ref()?;
        let confidence = self.search.confidence(&detection.evidence).filter(|_| detection.seen)?;
        detection.evidence.confidence = Some(confidence as f32);
        let Evidence { long_term, identity, .. } = detection.evidence;
        let accepted = confidence >= states.accepts_from()
            && (!self.elsewhere || detection.evidence.psr >= MIN_PSR_ELSEWHERE)
            && !states.has_dropped(long_term)
            && identity.is_none_or(|answer| f64::from(answer) >= finds.identity);
        accepted.then_some((confidence, detection))
    }

    /// Where the target was last.
    fn bbox(&self) -> BBox {
        self.pose.bbox(self.size)
    }
}

/// Rows and columns of points of a frame.
const POINTS: (usize, usize) = (24, 32);
/// Correlation of the points, and points of the same colours, from which on two frames show the same scene. There is a cut
/// where both are below, and the differences of neighbours do not correlate either (under a flash they do). That holds for
/// 95 % of pairs of frames of different sequences and for none of 44,000 frames and their next ones; .05 % of such pairs
/// count as the same scene.
const MIN_CORRELATION: f32 = 0.5;
const MIN_COMMON: usize = POINTS.0 * POINTS.1 * 3 / 4;
const MIN_DETAIL: f32 = 0.15;

/// What a frame shows, in a few points.
#[derive(Clone, Copy, Debug)]
struct Overview {
    /// Sums of the channels.
    points: [f32; POINTS.0 * POINTS.1],
    /// Points of each colour of two bits a channel.
    colors: [usize; 64],
}

impl Overview {
    fn of(frame: &Frame<'_>) -> Self {
        let mut overview = Self { points: [0.0; POINTS.0 * POINTS.1], colors: [0; 64] };
        let bytes = frame.format().bytes();
        let middle = |i: usize, count: usize, length: usize| (2 * i + 1) * length / (2 * count);
        for (i, point) in overview.points.iter_mut().enumerate() {
            let (y, x) =
                (middle(i / POINTS.1, POINTS.0, frame.height()), middle(i % POINTS.1, POINTS.1, frame.width()));
            let pixel = &frame.row(y)[x * bytes..][..bytes];
            let [first, second, third] = [0, 1, 2].map(|channel| usize::from(pixel[channel.min(bytes - 1)]));
            overview.colors[first >> 6 << 4 | second >> 6 << 2 | third >> 6] += 1;
            *point = (first + second + third) as f32;
        }
        let mean = overview.points.iter().sum::<f32>() / overview.points.len() as f32;
        overview.points.iter_mut().for_each(|point| *point -= mean);
        overview
    }

    /// Whether both show different scenes. A blank frame shows none.
    fn is_cut_from(&self, before: &Self) -> bool {
        let detail = |view: &Self, i: usize| view.points[i] - view.points[i - 1];
        !self.has_colors_of(before)
            && self.correlates_below(before, MIN_CORRELATION, |view, i| view.points[i])
            && self.correlates_below(before, MIN_DETAIL, detail)
    }

    /// Whether both show the same scene.
    fn is_same_as(&self, before: &Self) -> bool {
        self.has_colors_of(before) && !self.correlates_below(before, MIN_CORRELATION, |view, i| view.points[i])
    }

    fn has_colors_of(&self, before: &Self) -> bool {
        self.colors.iter().zip(&before.colors).map(|(a, b)| a.min(b)).sum::<usize>() >= MIN_COMMON
    }

    fn correlates_below(&self, before: &Self, least: f32, of: impl Fn(&Self, usize) -> f32) -> bool {
        let product = |a: &Self, b: &Self| (1..a.points.len()).map(|i| of(a, i) * of(b, i)).sum::<f32>();
        product(self, before) < least * (product(self, self) * product(before, before)).sqrt()
    }
}

#[cfg(test)]
mod tests;
