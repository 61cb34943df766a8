//! Contrast of cells as a feature: the difference of the brightest and the darkest pixel, one channel.

use super::{Extractor, Lanes, Taper};
use crate::frame::Channels;
use crate::profile::{Stage, Stopwatch};

/// The contrast of square cells, 0 to 1.
#[derive(Clone, Debug)]
pub struct Contrast {
    width: usize,
    cell: usize,
    flat: Taper,
}

impl Contrast {
    /// For patches of `width` x `height` pixels.
    ///
    /// # Panics
    /// When the patch does not hold a single cell.
    pub fn new(width: usize, height: usize, cell: usize) -> Self {
        assert!(cell > 0 && width >= cell && height >= cell, "a patch holds at least one cell");
        Self { width, cell, flat: Taper::flat((height / cell, width / cell)) }
    }
}

impl Extractor for Contrast {
    fn channels(&self) -> usize {
        1
    }

    fn cells(&self) -> (usize, usize) {
        (self.flat.rows.len(), self.flat.cols.len())
    }

    fn needs(&self) -> Channels {
        Channels::Luma
    }

    fn extract(&mut self, patch: &[u8], taper: Option<&Taper>, out: Lanes<'_>, watch: &mut Stopwatch) {
        watch.start();
        let taper = taper.unwrap_or(&self.flat);
        let mut out = out.cells(1);
        for (row, &wr) in patch.chunks_exact(self.width * self.cell).zip(&taper.rows) {
            for (c, (&wc, out)) in taper.cols.iter().zip(&mut out).enumerate() {
                let lines = row.chunks_exact(self.width).map(|line| &line[c * self.cell..][..self.cell]);
                let (low, high) = lines.flatten().fold((255, 0), |(low, high), &v| (v.min(low), v.max(high)));
                out[0] = f32::from(high - low.min(high)) / 255.0 * (wr * wc);
            }
        }
        watch.lap(Stage::Normalise);
    }

    fn boxed(&self) -> Box<dyn Extractor> {
        Box::new(self.clone())
    }
}
