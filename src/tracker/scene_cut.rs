//! Scene cuts: compares a frame with the last frame in which the target was followed.

use super::lifecycle::{Cause, Phase};
use crate::archive::Archive;
use crate::frame::Frame;

/// Rows and columns of points of a frame.
const POINTS: (usize, usize) = (24, 32);
/// Least correlation of the points, and least number of points of the same colours, of two frames of one scene. A cut needs
/// both below their limits, and differences of neighbours that do not correlate either (under a flash they do). The rule
/// finds 95 % of pairs of frames of different sequences and none of 44,000 pairs of consecutive frames; .05 % of the pairs
/// of different sequences count as one scene.
const MIN_CORRELATION: f32 = 0.5;
const MIN_COMMON: usize = POINTS.0 * POINTS.1 * 3 / 4;
const MIN_DETAIL: f32 = 0.15;

/// A frame in a few points.
#[derive(Clone, Copy, Debug)]
struct SceneThumbnail {
    /// Sums of the channels.
    points: [f32; POINTS.0 * POINTS.1],
    /// Points of each colour of two bits a channel.
    colors: [usize; 64],
}

impl SceneThumbnail {
    fn of(frame: &Frame<'_>) -> Self {
        let mut thumbnail = Self { points: [0.0; POINTS.0 * POINTS.1], colors: [0; 64] };
        let bytes = frame.format().bytes();
        let middle = |i: usize, count: usize, length: usize| (2 * i + 1) * length / (2 * count);
        for (i, point) in thumbnail.points.iter_mut().enumerate() {
            let (y, x) =
                (middle(i / POINTS.1, POINTS.0, frame.height()), middle(i % POINTS.1, POINTS.1, frame.width()));
            let pixel = &frame.row(y)[x * bytes..][..bytes];
            let [first, second, third] = [0, 1, 2].map(|channel| usize::from(pixel[channel.min(bytes - 1)]));
            thumbnail.colors[first >> 6 << 4 | second >> 6 << 2 | third >> 6] += 1;
            *point = (first + second + third) as f32;
        }
        let mean = thumbnail.points.iter().sum::<f32>() / thumbnail.points.len() as f32;
        thumbnail.points.iter_mut().for_each(|point| *point -= mean);
        thumbnail
    }

    /// True if the two frames show different scenes. A blank frame shows no scene.
    fn is_cut_from(&self, before: &Self) -> bool {
        let detail = |view: &Self, i: usize| view.points[i] - view.points[i - 1];
        !self.has_colors_of(before)
            && self.correlates_below(before, MIN_CORRELATION, |view, i| view.points[i])
            && self.correlates_below(before, MIN_DETAIL, detail)
    }

    /// True if the two frames show the same scene.
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

/// The last frame in which the target was followed, and the one that is looked at.
#[derive(Clone, Debug)]
pub(super) struct SceneCut {
    followed: SceneThumbnail,
    now: SceneThumbnail,
}

impl SceneCut {
    /// Starts with the frame in which the target was given.
    pub fn new(frame: &Frame<'_>) -> Self {
        let now = SceneThumbnail::of(frame);
        Self { followed: now, now }
    }

    /// Whether the next frame of a target in this phase shows another scene. After a cut that holds until the scene is
    /// back; while the target is lost for another reason, nothing is known of the scene.
    pub fn observe(&mut self, frame: &Frame<'_>, phase: Phase) -> bool {
        self.now = SceneThumbnail::of(frame);
        match phase {
            Phase::Lost { cause: Cause::Cut } => !self.now.is_same_as(&self.followed),
            Phase::Lost { .. } => false,
            Phase::Following | Phase::Occluded { .. } => self.now.is_cut_from(&self.followed),
        }
    }

    /// Writes or reads the thumbnails.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        for thumbnail in [&mut self.followed, &mut self.now] {
            archive.floats(&mut thumbnail.points);
            thumbnail.colors.iter_mut().for_each(|count| archive.value(count));
        }
    }

    /// Keeps this frame as the last one in which the target was followed.
    pub fn keep(&mut self) {
        self.followed = self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: (usize, usize) = (96, 72);

    /// A picture of two colours in blobs, seen from `left` on, that is lighter by `glare` at its right border.
    fn thumbnail(left: f64, (light, dark): ([u8; 3], [u8; 3]), glare: usize) -> SceneThumbnail {
        let wave = |i: usize| {
            let (x, y) = ((i % VIEW.0) as f64 + left, (i / VIEW.0) as f64);
            let color = if (0.11 * x).sin() + (0.13 * y).cos() > 0.2 { light } else { dark };
            color.map(|value| value.saturating_add((glare * (i % VIEW.0) / VIEW.0) as u8))
        };
        let pixels: Vec<u8> = (0..VIEW.0 * VIEW.1).flat_map(wave).collect();
        SceneThumbnail::of(&Frame::rgb(&pixels, VIEW.0, VIEW.1).unwrap())
    }

    #[test]
    fn a_cut_has_another_layout_and_other_colours() {
        let colors = ([100, 60, 30], [20, 40, 20]);
        let before = thumbnail(0.0, colors, 0);
        for (left, colors, glare, cut, same) in [
            (0.0, colors, 0, false, true),
            (5.0, colors, 0, false, true),
            // Two flashes, and a camera that turns fast.
            (0.0, ([255, 190, 130], [140, 160, 120]), 0, false, false),
            (0.0, colors, 150, false, false),
            (28.0, colors, 0, false, false),
            (28.0, ([30, 90, 200], [90, 200, 150]), 0, true, false),
            (28.0, ([0; 3], [0; 3]), 0, false, false),
        ] {
            let now = thumbnail(left, colors, glare);
            assert_eq!((now.is_cut_from(&before), now.is_same_as(&before)), (cut, same), "{left} {colors:?} {glare}");
        }
    }

    #[test]
    fn frames_of_any_size_have_one() {
        for (width, height) in [(1, 1), (3000, 1), (2, 500)] {
            let frame = SceneThumbnail::of(&Frame::gray(&vec![9; width * height], width, height).unwrap());
            assert!(!frame.is_cut_from(&frame));
        }
    }
}
