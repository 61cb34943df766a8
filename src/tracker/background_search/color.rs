//! What colour says of each shift: histograms of the target and of what surrounds it, and the mean likelihood of the
//! colours in the target's box.

use super::view::{CELL, View};
use crate::error::Result;
use crate::feature::color_histogram::{Area, BoxMean, ColorHistogram};
use crate::tape::{Recorded, Tape};

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
    likelihood: Vec<f32>,
    box_mean: BoxMean,
    answers: Vec<f32>,
}

impl ColorModel {
    /// For views of `cells` on a side that show the target at `size` (width, height in pixels), learning at `rate`.
    pub fn new(cells: usize, size: (f64, f64), rate: f64) -> Self {
        let in_cells = (size.1 / CELL as f64, size.0 / CELL as f64);
        Self {
            histogram: ColorHistogram::new(rate),
            size,
            likelihood: vec![0.0; cells * cells],
            box_mean: BoxMean::new((cells, cells), in_cells),
            answers: vec![NOTHING; cells * cells],
        }
    }

    /// The mean likelihood of the colours in the box at each shift of whole cells, no shift in the middle.
    pub fn respond(&mut self, view: &View) -> &[f32] {
        self.histogram.likelihood_map(&view.bins, view.side(), CELL, &mut self.likelihood);
        self.box_mean.apply(&self.likelihood, &mut self.answers);
        &self.answers
    }

    /// Learns the target at `center` (x, y) of the view, `zoom` times as large as it should be there.
    pub fn learn(&mut self, view: &View, center: (f64, f64), zoom: f64) {
        let (w, h) = (self.size.0 * zoom, self.size.1 * zoom);
        let (ring, gap) = ((w + h) / 2.0, CELL as f64);
        let side = view.side();
        let area = |w: f64, h: f64| Area::around(side, center, (w, h));
        let (inside, around) = (area(CORE * w, CORE * h), area(w + ring, h + ring));
        self.histogram.learn(&view.bins, side, &inside, &around, &area(w + gap, h + gap));
    }
}

impl Recorded for ColorModel {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.histogram.record(tape)
    }
}
