//! Transforms of lines of cells of any length: passes of small radices, or Bluestein's way around a large prime.

use super::bluestein::Bluestein;
use super::mixed::{Lines, MixedRadix};
use super::radix::Cell;

/// How a line of a given length is transformed.
#[derive(Clone, Debug)]
pub(super) enum LinePlan {
    Mixed(MixedRadix),
    Bluestein(Box<Bluestein>),
}

impl LinePlan {
    pub fn new(len: usize) -> Self {
        match MixedRadix::new(len) {
            Ok(mixed) => LinePlan::Mixed(mixed),
            Err(_) => LinePlan::Bluestein(Box::new(Bluestein::new(len))),
        }
    }

    pub fn scratch_cells(&self, block: usize) -> usize {
        match self {
            LinePlan::Mixed(mixed) => mixed.scratch_cells(block),
            LinePlan::Bluestein(bluestein) => bluestein.scratch_cells(),
        }
    }

    pub fn run(&self, cells: &mut [Cell], lines: Lines, scratch: &mut [Cell]) {
        match self {
            LinePlan::Mixed(mixed) => mixed.run(cells, lines, scratch),
            LinePlan::Bluestein(bluestein) => bluestein.run(cells, lines, scratch),
        }
    }
}
