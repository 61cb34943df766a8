//! From the best place in the area at hand to the target's pose: its angle, its size and its shape there.

use super::{Answer, BackgroundSearch, Where};
use crate::frame::Frame;
use crate::profile::{Stage, Stopwatch};
use crate::tracker::pose::Pose;
use crate::tracker::{PyramidSettings, RotationParams, ScaleParams, scale};

impl BackgroundSearch {
    /// The smallest and the largest scale of a target of `aspect`.
    pub(super) fn limits(&self, frame: &Frame<'_>, aspect: f64) -> (f64, f64) {
        let stretch = Pose { aspect, ..self.first }.stretch();
        scale::limits((self.size.0 * stretch.0, self.size.1 * stretch.1), (frame.width(), frame.height()))
    }

    /// The place found, turned, and the size and the shape there.
    pub(super) fn settle(
        &mut self,
        frame: &Frame<'_>,
        at: Pose,
        mut best: Answer,
        watch: &mut Stopwatch,
    ) -> (Pose, Answer) {
        let measures = self.stagger.measures();
        if let (Some(rotation), RotationParams::Filter(settings)) = (&mut self.rotation, &self.params.rotation)
            && measures
        {
            let settings = *settings;
            watch.start();
            let degrees = rotation.find(self.view.gray_patch(), self.view.point(best.shift), at.stretch());
            watch.lap(Stage::Rotation);
            if degrees.abs() >= settings.least {
                let angle = self.view.pose.angle + degrees.to_radians();
                let turned = Pose { center: self.view.in_frame(best.shift), angle, ..self.view.pose };
                best = self.challenge(frame, turned, (&best, settings.margin), watch).unwrap_or(best);
            }
        }
        let limits = self.limits(frame, at.aspect);
        if let ScaleParams::Pyramid(PyramidSettings { step, margin, every }) = self.params.scale
            && self.stagger.compares(self.frames, every)
        {
            let step = self.stagger.step(step);
            let middle = self.view.pose.at(self.view.in_frame(best.shift));
            for factor in [1.0 / step, step] {
                let scale = (middle.scale * factor).clamp(limits.0, limits.1);
                best = self.challenge(frame, Pose { scale, ..middle }, (&best, margin), watch).unwrap_or(best);
            }
        }
        let center = self.view.in_frame(best.shift);
        // The middle does not leave the frame, and from outside it does not go farther.
        let inside = |v: f64, before: f64, length: usize| v.clamp(before.min(0.0), before.max(length as f64));
        let before = at.center;
        let center = (inside(center.0, before.0, frame.width()), inside(center.1, before.1, frame.height()));
        let mut pose = self.view.pose.at(center);
        if let Some(scale) = self.scale.as_mut().filter(|_| measures) {
            watch.start();
            let factor = scale.find(self.view.gray_patch(), self.view.point(best.shift), pose.stretch());
            pose.scale = (pose.scale * factor).clamp(limits.0, limits.1);
            watch.lap(Stage::Scale);
        }
        if let Some(aspect) = self.aspect.as_mut().filter(|_| measures) {
            watch.start();
            let (zoom, stretch) = (pose.scale / self.view.pose.scale, pose.stretch());
            let zoom = (zoom * stretch.0, zoom * stretch.1);
            pose.aspect = aspect.find(self.view.gray_patch(), self.view.point(best.shift), zoom, pose.aspect);
            let limits = self.limits(frame, pose.aspect);
            pose.scale = pose.scale.clamp(limits.0, limits.1);
            watch.lap(Stage::Aspect);
        }
        (pose, best)
    }

    /// The search in the view at `pose`, if it is better than `best` by `margin`; else the view stays.
    fn challenge(
        &mut self,
        frame: &Frame<'_>,
        pose: Pose,
        (best, margin): (&Answer, f64),
        watch: &mut Stopwatch,
    ) -> Option<Answer> {
        std::mem::swap(&mut self.view, &mut self.other);
        let seen = self.take(frame, pose, watch);
        let other = self.answer(frame, Where::Anywhere, watch);
        let better = other.filter(|other| seen && other.merged * (1.0 - margin) > best.merged);
        if better.is_none() {
            std::mem::swap(&mut self.view, &mut self.other);
            self.at_hand = false;
        }
        better
    }
}
