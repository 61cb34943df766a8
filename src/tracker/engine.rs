//! The tracker, and its loop: locate, step, act.

use serde::{Deserialize, Serialize};

use super::background_localizer::BackgroundLocalizer;
use super::correction::Correction;
use super::filter_localizer::FilterLocalizer;
use super::lifecycle::{Decision, Lifecycle, Observation, Place, Rules};
use super::localizer::{Evidence, Extent, Learned, Likeness, Localizer, Located, Pose, Update, check_start};
use super::params::SearchParams;
use super::redetection::{Redetection, RedetectionCriteria, Wanted};
use super::scale_localizer::ScaleLocalizer;
use super::verifier::{Guard, Sample, Verifier};
use super::window_localizer::WindowLocalizer;
use super::{Params, ResponseMap, State};
#[cfg(feature = "neural")]
use super::{fused_localizer::FusedLocalizer, siamese_localizer::SiameseLocalizer};
use crate::archive::Archive;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::features::color;
use crate::frame::{Channels, Frame, PixelFormat};

/// Result of a tracker for one frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The box of the target, or its last place.
    pub bbox: BBox,
    /// The corners `x1, y1, …, x4, y4` of a target that has turned, clockwise from what was the upper left one: the
    /// box is then the upright one around the ellipse in them. `None` of one that stands as it did, and of searches
    /// that follow no turns.
    pub polygon: Option<[f64; 8]>,
    /// The state of the target in this frame.
    pub state: State,
    /// The signals behind the box.
    pub evidence: Evidence,
}

impl Estimate {
    /// The estimate with another box; the corners of a turned target go with it.
    pub(crate) fn with_box(mut self, bbox: BBox) -> Self {
        let (old, new) = ([self.bbox.x, self.bbox.y], [bbox.x, bbox.y]);
        let scale = [bbox.w / self.bbox.w, bbox.h / self.bbox.h];
        for (i, number) in self.polygon.iter_mut().flatten().enumerate() {
            *number = new[i % 2] + (*number - old[i % 2]) * scale[i % 2];
        }
        Self { bbox, ..self }
    }
}

/// Follows one target: by a correlation filter (the default is background-aware), by a kernel machine over real windows
/// or by a network, alone or with a machine as guard.
///
/// [`Tracker::init`] allocates all memory; with a correlation filter [`Tracker::update`] allocates nothing. A machine over
/// windows is refitted in every frame that it learns: the matrices of a fit are allocated and freed within that update.
#[derive(Clone, Debug)]
pub struct Tracker {
    pub(super) params: Params,
    /// Networks that stay loaded for each new target.
    #[cfg(feature = "neural")]
    _networks: Option<std::sync::Arc<crate::network::Networks>>,
    pub(super) target: Option<Engine>,
    pub(super) correction: Correction,
    pub(super) turn: usize,
}

impl Tracker {
    /// A tracker with these settings and no target yet.
    ///
    /// # Errors
    /// [`Error::Setting`] with the path of a value outside its range; of searches with a network [`Error::Io`] and
    /// [`Error::Network`] for one that cannot be used.
    pub fn new(params: Params) -> Result<Self> {
        params.check()?;
        if params.channels() == Channels::Color {
            color::prepare();
        }
        #[cfg(feature = "neural")]
        let _networks =
            params.search.model().map(|model| crate::network::Networks::load(model.as_ref())).transpose()?;
        Ok(Self {
            params,
            #[cfg(feature = "neural")]
            _networks,
            target: None,
            correction: Correction::default(),
            turn: 0,
        })
    }

    /// The place of the next target among others that are followed: with `search.background.in-turn` each learns in other
    /// frames than the next one, so that all frames take the same time.
    pub fn take_turn(&mut self, turn: usize) {
        self.turn = turn;
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
        let (target, estimate) = Engine::new(&self.params, &frame, bbox, self.turn)?;
        self.target = Some(target);
        self.correction = Correction::of(estimate);
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
        let (expected, got) = (target.first.frame_size, frame.size());
        if got != expected {
            return Err(Error::FrameSize { expected, got });
        }
        Ok(self.correction.follow(target.update(&frame)))
    }

    /// Corrects the place and the size of the target in the last frame by a box from elsewhere, as a detector's, whose
    /// sides have this noise: a standard deviation, in pixels. Nothing is learned. The box counts the more, the less
    /// noise it has, the less sure the tracker was since the last correction, and the longer ago that is. A target that
    /// is lost, or does not touch the box, is looked for there from the next frame on.
    ///
    /// # Errors
    /// [`Error::NotInitialized`] before [`Tracker::init`]; [`Error::Box`] for a box where no target can be, and for noise
    /// below zero. Neither changes the tracker.
    pub fn adjust(&mut self, bbox: BBox, noise: f64) -> Result<Estimate> {
        let target = self.target.as_mut().ok_or(Error::NotInitialized)?;
        check_start(target.first.frame_size, bbox)?;
        if !noise.is_finite() || noise < 0.0 {
            return Err(Error::Box { bbox, reason: format!("its noise is {noise}: it must be 0 or more pixels") });
        }
        if self.correction.is_elsewhere(bbox) {
            target.put(bbox.center());
            self.correction.restart(bbox);
        } else {
            self.correction.adjust(bbox, noise);
        }
        self.correction.estimate().ok_or(Error::NotInitialized)
    }

    /// How far corrections have moved the box from where the model sees the target, and how much they have changed its
    /// size, in shares of the size.
    pub fn drift(&self) -> f64 {
        self.correction.drift()
    }

    /// The score of every translation in the last area that was looked at; `None` before [`Tracker::init`]. While a
    /// target is lost, that area may be anywhere in the frame.
    pub fn response(&self) -> Option<ResponseMap<'_>> {
        self.target.as_ref().map(|target| target.localizer.response())
    }

    /// The last box of the target; `None` before [`Tracker::init`].
    pub fn bbox(&self) -> Option<BBox> {
        self.correction.estimate().map(|estimate| estimate.bbox)
    }
}

/// One target: its pose, its localizer and its guard.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub first: Beginning,
    /// Where the target is; of a lost target where it was lost.
    pose: Pose,
    /// Where the box of a lost target is shown instead.
    guess: Option<Pose>,
    /// The centre in the last frame with the state `tracking`.
    sure_center: (f64, f64),
    localizer: Box<dyn Localizer>,
    guard: Option<Guard>,
    lifecycle: Lifecycle,
    /// The search for a lost target, if the settings have one.
    redetection: Option<Redetection>,
}

/// What a target begins with.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Beginning {
    /// Width and height of all frames.
    pub frame_size: (usize, usize),
    /// Whether the first frame had colours.
    pub in_color: bool,
    /// Width and height of the initial box, and its centre.
    pub size: (f64, f64),
    pub center: (f64, f64),
    /// The place of the target among others.
    pub turn: usize,
}

/// The localizer of these settings, and the pose in which it has learned the target at `bbox`.
fn localizer(params: &SearchParams, frame: &Frame<'_>, bbox: BBox, turn: usize) -> Result<(Box<dyn Localizer>, Pose)> {
    let mut pose = Pose::of(bbox);
    let localizer: Box<dyn Localizer> = match params {
        SearchParams::Filter(params) => {
            let localizer = FilterLocalizer::new(params, frame, bbox)?;
            pose = localizer.pose();
            ScaleLocalizer::around(Box::new(localizer), params.scale, frame, bbox)
        }
        // This localizer follows the size itself, in its own view.
        SearchParams::Background(params) => Box::new(BackgroundLocalizer::new(params, frame, bbox, turn)?),
        #[cfg(feature = "neural")]
        SearchParams::Siamese(params) => Box::new(SiameseLocalizer::new(&params.model, frame, bbox)?),
        #[cfg(feature = "neural")]
        SearchParams::Expert(params) => Box::new(FusedLocalizer::new(params, frame, bbox, turn)?),
        #[cfg(not(feature = "neural"))]
        SearchParams::Siamese(_) | SearchParams::Expert(_) => unreachable!("the settings were checked"),
        SearchParams::Machine(params) => {
            let localizer = WindowLocalizer::new(&params.windows, frame, bbox)?;
            ScaleLocalizer::around(Box::new(localizer), params.scale, frame, bbox)
        }
    };
    Ok((localizer, pose))
}

impl Engine {
    /// Learns the target at `bbox`. The estimate says how distinct it is in this very frame.
    ///
    /// # Errors
    /// [`Error::Box`] for a box that cannot be tracked; the error of a machine's first fit.
    pub fn new(params: &Params, frame: &Frame<'_>, bbox: BBox, turn: usize) -> Result<(Self, Estimate)> {
        check_start(frame.size(), bbox)?;
        let (mut localizer, pose) = localizer(&params.search, frame, bbox, turn)?;
        let mut guard = params.guard.as_ref().map(|guard| Guard::new(guard, frame, bbox)).transpose()?;
        let mut evidence = localizer.score_at(frame, pose).evidence;
        if let Some(guard) = &mut guard {
            evidence.decision = guard.score(&Sample { frame, pose, view: None });
        }
        let max_doubts = params.guard.as_ref().map_or(usize::MAX, |guard| guard.lost_after);
        let redetection = RedetectionCriteria::of(&params.search).map(|criteria| Redetection::new(criteria, frame));
        let (frame_size, in_color) = (frame.size(), frame.format() != PixelFormat::Gray8);
        let engine = Self {
            first: Beginning { frame_size, in_color, size: (bbox.w, bbox.h), center: bbox.center(), turn },
            pose,
            guess: None,
            sure_center: pose.center,
            localizer,
            guard,
            lifecycle: Lifecycle::new(Rules::of(&params.search), max_doubts),
            redetection,
        };
        Ok((engine, Estimate { bbox, polygon: None, state: State::Initial, evidence }))
    }

    /// Finds the target in the next frame, of the first one's size, and learns its appearance there.
    fn update(&mut self, frame: &Frame<'_>) -> Estimate {
        let phase = self.lifecycle.phase();
        let extent = if self.lifecycle.is_lost() { Extent::Lost } else { Extent::Pose };
        let mut located = self.localizer.locate(frame, self.pose, extent);
        let another_scene = self.redetection.as_mut().is_some_and(|search| search.scene.observe(frame, phase));
        let mut decision = self.lifecycle.step(&Observation::Located { located: &located, another_scene });
        let confidence = self.lifecycle.confidence().unwrap_or(located.certainty());
        located.evidence.confidence = located.probability.map(|_| confidence as f32);
        self.place(&decision, &mut located);
        if let Some(found) = self.redetect(frame, another_scene) {
            located = found;
            decision = self.lifecycle.step(&Observation::Redetected);
            (self.pose, self.guess) = (located.pose, None);
        }
        if let Some(search) = self.redetection.as_mut().filter(|_| located.seen && !self.lifecycle.is_lost()) {
            search.scene.keep();
        }
        let learned = decision.update.map(|update| self.learn(frame, &located, update));
        if decision.state == State::Tracking {
            self.sure_center = self.pose.center;
        }
        located.evidence.refit_kept = learned == Some(Learned::KeptModel);
        self.ask_guard(frame, &mut located);
        let bbox = self.bbox();
        let visible = bbox.visible_share(frame.width(), frame.height());
        let state = self.lifecycle.step(&Observation::Framed { visible }).state;
        let bounded = |confidence: f32| self.lifecycle.bounded(f64::from(confidence)) as f32;
        located.evidence.confidence = located.evidence.confidence.map(bounded);
        Estimate { bbox, polygon: self.shown().polygon(self.first.size), state, evidence: located.evidence }
    }

    /// Puts the box where the decision says, and the models back to those of the last certain frame after a loss.
    fn place(&mut self, decision: &Decision, located: &mut Located) {
        if decision.restore
            && let Some(saved) = self.localizer.restore()
        {
            // The box may have followed what covers the target.
            self.pose = saved.at(self.sure_center);
        }
        self.guess = None;
        match decision.place {
            Place::Follow => self.pose = located.pose,
            Place::Stay => {}
            Place::Restart => self.localizer.restart(self.pose),
            Place::Guess => {
                if let Some((pose, evidence)) = located.guess {
                    (self.guess, located.evidence) = (Some(pose), evidence);
                }
            }
        }
    }

    /// The place of a lost target elsewhere in the frame.
    fn redetect(&mut self, frame: &Frame<'_>, another_scene: bool) -> Option<Located> {
        let redetection = self.redetection.as_mut()?;
        if !self.lifecycle.is_lost() {
            redetection.forget();
            return None;
        }
        let wanted = Wanted { pose: self.pose, min_long_term: self.lifecycle.min_long_term(), another_scene };
        let mut found = redetection.search(self.localizer.as_mut(), frame, wanted)?;
        found.evidence.confidence = found.probability.map(|probability| probability as f32);
        Some(found)
    }

    /// Learns the frame at the place that was located.
    fn learn(&mut self, frame: &Frame<'_>, located: &Located, update: Update) -> Learned {
        if located.likeness == Likeness::Certain {
            self.localizer.snapshot(located.pose);
        }
        self.localizer.learn(frame, located, update)
    }

    /// Asks the guard, which may put the box elsewhere and have the localizer learn there.
    fn ask_guard(&mut self, frame: &Frame<'_>, located: &mut Located) {
        let Some(guard) = &mut self.guard else { return };
        let verdict = guard.watch(frame, self.pose);
        let (doubts, blend) = (guard.doubts, Update::Blend(guard.params.relearn_rate));
        let (mut learned, kept) = (verdict.learned, located.evidence.refit_kept);
        if let Some(found) = verdict.found {
            // The localizer scores the guard's place. A low score there means that its model has drifted.
            *located = self.localizer.score_at(frame, found);
            located.evidence.confidence = located.probability.map(|probability| probability as f32);
            (self.pose, self.guess) = (located.pose, None);
            self.localizer.restart(self.pose);
            if located.seen {
                learned = self.learn(frame, located, blend);
            }
        }
        located.evidence.decision = verdict.decision;
        located.evidence.refit_kept = kept || learned == Learned::KeptModel;
        let moved = verdict.found.is_some() && located.seen;
        self.lifecycle.step(&Observation::Guarded { doubts, moved });
    }

    /// Writes or reads what has changed since the target was given.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        if self.guard.is_some() {
            archive.refuse("a tracker with a guard cannot be saved");
        }
        archive.value(&mut self.pose);
        archive.value(&mut self.sure_center);
        archive.value(&mut self.lifecycle);
        archive.optional(&mut self.redetection, Redetection::transfer);
        self.localizer.transfer(archive);
    }

    /// Puts the target at another place.
    fn put(&mut self, center: (f64, f64)) {
        (self.pose, self.guess) = (self.pose.at(center), None);
        self.localizer.restart(self.pose);
    }

    /// The pose that is shown.
    fn shown(&self) -> Pose {
        self.guess.unwrap_or(self.pose)
    }

    /// The box that is shown.
    fn bbox(&self) -> BBox {
        self.shown().bbox(self.first.size)
    }
}

#[cfg(test)]
mod tests;
