//! What every feature can do: turn a patch into values of its cells.

use std::fmt;

use super::Taper;
use crate::fft::CHANNELS;
use crate::frame::Channels;
use crate::profile::Stopwatch;

/// A feature of patches of one size; owns the memory that it works in.
///
/// A feature is added by one file that implements this trait.
pub trait Extractor: fmt::Debug + Send + Sync {
    /// Channels: values of a cell.
    fn channels(&self) -> usize;

    /// Rows and columns of cells.
    fn cells(&self) -> (usize, usize);

    /// What the patch holds: a byte a pixel ([`Channels::Luma`]) or red, green and blue ([`Channels::Color`]).
    fn needs(&self) -> Channels;

    /// Whether [`Extractor::extract`] writes all lanes of a block, zeros where it has no channel: it then comes before
    /// all that share the block, and from its first lane on.
    fn fills_block(&self) -> bool {
        false
    }

    /// Writes the features of `patch` (row-major, as [`Extractor::needs`] says), each cell times its weight of the
    /// `taper`, to [`Extractor::channels`] lanes of each cell of `out`.
    ///
    /// # Panics
    /// When the patch, the taper or the map is not of the size that the extractor was made for.
    fn extract(&mut self, patch: &[u8], taper: Option<&Taper>, out: Lanes<'_>, watch: &mut Stopwatch);

    /// A copy.
    fn boxed(&self) -> Box<dyn Extractor>;
}

impl Clone for Box<dyn Extractor> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}

/// The lanes of a map that an extractor writes to: of each cell some floats, from one of them on.
#[derive(Debug)]
pub struct Lanes<'a> {
    values: &'a mut [f32],
    floats: usize,
    first: usize,
}

impl<'a> Lanes<'a> {
    /// Those of a map of one channel.
    pub fn plane(values: &'a mut [f32]) -> Self {
        Self { values, floats: 1, first: 0 }
    }

    /// Those from lane `first` on of a block `[row][column][32]`.
    ///
    /// # Panics
    /// When there is no such lane.
    pub fn of_block(values: &'a mut [f32], first: usize) -> Self {
        assert!(first < CHANNELS, "a block has {CHANNELS} lanes");
        Self { values, floats: CHANNELS, first }
    }

    /// All lanes of all cells, `[row][column]`.
    ///
    /// # Panics
    /// When these are not the lanes of a block from its first one on.
    pub fn whole(self) -> &'a mut [[f32; CHANNELS]] {
        assert!(self.floats == CHANNELS && self.first == 0, "the feature fills a block");
        self.values.as_chunks_mut().0
    }

    /// The `channels` lanes of one cell after the other.
    pub fn cells(self, channels: usize) -> impl Iterator<Item = &'a mut [f32]> {
        let first = self.first;
        self.values.chunks_exact_mut(self.floats).map(move |cell| &mut cell[first..first + channels])
    }

    /// How many cells there are.
    pub fn count(&self) -> usize {
        self.values.len() / self.floats
    }
}
