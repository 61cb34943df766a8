//! What colour says of each shift: histograms of the target and of what surrounds it, and the mean likelihood of the
//! colours in the target's box; and how much that is to be trusted.
//!
//! The histograms know the target and the ring around it. Where the rest of the search area has the target's colours
//! too, the answer is as high at many other places, and pulls the merged one there.

use super::separation::separation;
use super::view::{CELL, View};
use crate::error::Result;
use crate::features::color_histogram::{Area, BoxMean, ColorHistogram};
use crate::tape::{Recorded, Tape};
use crate::tracker::{ColorWeighting, SeparationSettings};

/// The part of the box, from its middle, whose colours are the target's.
const CORE: f64 = 0.8;
/// What colour says where it says nothing.
pub(super) const NOTHING: f32 = 0.5;

/// Histograms, and the answers of the last view.
#[derive(Clone, Debug)]
pub(super) struct ColorModel {
    histogram: ColorHistogram,
    /// Width and height of the target in pixels of the view.
    size: (f64, f64),
    /// Its rows and columns in cells.
    in_cells: (f64, f64),
    likelihood: Vec<f32>,
    box_mean: BoxMean,
    answers: Vec<f32>,
    weighting: ColorWeighting,
    /// How well colour has lately told the target from the rest of the search area; none before it was measured.
    separation: Option<f64>,
}

impl ColorModel {
    /// For views of `cells` on a side that show the target at `size` (width, height in pixels), learning at `rate`.
    pub fn new(cells: usize, size: (f64, f64), rate: f64, weighting: ColorWeighting) -> Self {
        let in_cells = (size.1 / CELL as f64, size.0 / CELL as f64);
        Self {
            histogram: ColorHistogram::new(rate),
            size,
            in_cells,
            likelihood: vec![0.0; cells * cells],
            box_mean: BoxMean::new((cells, cells), in_cells),
            answers: vec![NOTHING; cells * cells],
            weighting,
            separation: None,
        }
    }

    /// The mean likelihood of the colours in the box at each shift of whole cells, no shift in the middle.
    pub fn respond(&mut self, view: &View) -> &[f32] {
        let stretch = view.pose.stretch();
        self.box_mean.set_box((self.in_cells.0 * stretch.1, self.in_cells.1 * stretch.0));
        self.histogram.likelihood_map(&view.bins, view.side(), CELL, &mut self.likelihood);
        self.box_mean.apply(&self.likelihood, &mut self.answers);
        &self.answers
    }

    /// Learns the target at `center` (x, y) of the view, by `zoom` wider and higher than at first.
    pub fn learn(&mut self, view: &View, center: (f64, f64), zoom: (f64, f64)) {
        let (w, h) = (self.size.0 * zoom.0, self.size.1 * zoom.1);
        let (ring, gap) = ((w + h) / 2.0, CELL as f64);
        let side = view.side();
        let area = |w: f64, h: f64| Area::around(side, center, (w, h));
        let (inside, around) = (area(CORE * w, CORE * h), area(w + ring, h + ring));
        self.histogram.learn(&view.bins, side, &inside, &around, &area(w + gap, h + gap));
        if let ColorWeighting::Separation(SeparationSettings { rate, .. }) = self.weighting {
            self.respond(view);
            let cells = |length: f64| length / CELL as f64;
            let shift = (cells(center.1 - side as f64 / 2.0), cells(center.0 - side as f64 / 2.0));
            let now = separation(&self.answers, side / CELL, shift, (cells(h), cells(w)));
            self.separation = Some(self.separation.map_or(now, |before| before + rate * (now - before)));
        }
    }

    /// The share of its full weight that the answers are worth, 0 to 1.
    pub fn trust(&self) -> f64 {
        match (&self.weighting, self.separation) {
            (ColorWeighting::Separation(settings), Some(separation)) => settings.trust(separation),
            _ => 1.0,
        }
    }
}

impl Recorded for ColorModel {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.histogram.record(tape)?;
        let (mut measured, mut separation) = (self.separation.is_some(), self.separation.unwrap_or_default());
        tape.flag(&mut measured)?;
        tape.place(&mut separation)?;
        self.separation = measured.then_some(separation);
        Ok(())
    }
}
