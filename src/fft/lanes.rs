//! The 2-D transform of all channels of a feature map at once, over SIMD lanes, and memory that starts on a cache line.

use std::ops::{Deref, DerefMut, Range};

use super::line::{Cell, LANES, LinePlan, Lines};

/// Floats per cell of a map that [`LanePlan`] transforms: 32 real channels.
pub const CHANNELS: usize = 2 * LANES;

/// The number of columns to transform side by side. More of them share the overhead of each small transform, as long
/// as two copies of them stay in the L1 cache.
fn column_block(rows: usize) -> usize {
    (192 / rows.max(1)).clamp(1, 4)
}

/// A planned forward transform of maps of one size.
///
/// A map is `f32`, `[row][column][32]`, channel fastest. It is read **in place as 16 complex channels**: floats
/// 0..16 of a cell are real parts, floats 16..32 imaginary parts, `z_k = channel_k + i channel_{k+16}`.
/// One 2-D complex transform of 16 lanes so carries 32 real channels, without packing or unpacking:
/// the sum of correlation filters, `F⁻¹ Σ_c X̂_c conj Ŷ_c` over the real channels, is the real part of
/// `F⁻¹ Σ_k Ẑ_k conj Ẑ'_k` over the complex ones, see [`MapPlan::cross_power`](super::MapPlan::cross_power).
///
/// The transform is `Z[u][v] = Σ_rc z[r][c] exp(-2πi (ur/rows + vc/cols))`, unnormalised, in natural order.
/// Every length works; prime factors above 13 are slower. The transform is faster if the map is an
/// [`AlignedBuf`](super::AlignedBuf).
#[derive(Clone, Debug)]
pub struct LanePlan {
    pub rows: usize,
    pub cols: usize,
    along_rows: LinePlan,
    along_cols: LinePlan,
}

impl LanePlan {
    /// A plan for maps of `rows` x `cols` cells.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, along_rows: LinePlan::new(cols), along_cols: LinePlan::new(rows) }
    }

    /// Floats of a map: `rows * cols * 32`.
    pub fn map_len(&self) -> usize {
        self.rows * self.cols * CHANNELS
    }

    /// Floats of scratch that [`forward`](Self::forward) needs.
    pub fn scratch_len(&self) -> usize {
        self.along_rows.scratch_cells(1).max(self.along_cols.scratch_cells(column_block(self.rows))) * CHANNELS + SLACK
    }

    /// Transforms `map` in place.
    ///
    /// # Panics
    /// If `map` is not [`map_len`](Self::map_len) long, or `scratch` is shorter than [`scratch_len`](Self::scratch_len).
    pub fn forward(&self, map: &mut [f32], scratch: &mut [f32]) {
        self.forward_from_rows(map, 0..self.rows, scratch);
    }

    /// As [`forward`](Self::forward), for a map whose rows outside `filled` are zero.
    pub fn forward_from_rows(&self, map: &mut [f32], filled: Range<usize>, scratch: &mut [f32]) {
        let (cells, scratch) = self.cells(map, scratch);
        self.transform_rows(&mut cells[filled.start * self.cols..], filled.len(), scratch);
        self.transform_cols(cells, scratch);
    }

    /// As [`forward`](Self::forward), but only the rows `wanted` of the result are defined.
    pub fn forward_to_rows(&self, map: &mut [f32], wanted: Range<usize>, scratch: &mut [f32]) {
        let (cells, scratch) = self.cells(map, scratch);
        self.transform_cols(cells, scratch);
        self.transform_rows(&mut cells[wanted.start * self.cols..], wanted.len(), scratch);
    }

    fn cells<'m, 's>(&self, map: &'m mut [f32], scratch: &'s mut [f32]) -> (&'m mut [Cell], &'s mut [Cell]) {
        assert_eq!(map.len(), self.map_len(), "the map must have rows * cols * {CHANNELS} floats");
        assert!(scratch.len() >= self.scratch_len(), "the scratch must have {} floats", self.scratch_len());
        (map.as_chunks_mut().0, aligned(scratch).as_chunks_mut().0)
    }

    fn transform_rows(&self, cells: &mut [Cell], count: usize, scratch: &mut [Cell]) {
        if !cells.is_empty() && count > 0 {
            let rows = Lines { count, next: self.cols, stride: 1, block: 1 };
            self.along_rows.run(cells, rows, scratch);
        }
    }

    fn transform_cols(&self, cells: &mut [Cell], scratch: &mut [Cell]) {
        if !cells.is_empty() {
            let cols = Lines { count: self.cols, next: 1, stride: self.cols, block: column_block(self.rows) };
            self.along_cols.run(cells, cols, scratch);
        }
    }
}

/// Bytes of a cache line, and of the widest vector register.
const LINE: usize = 64;
/// Floats to skip at most to reach the next cache line.
pub(super) const SLACK: usize = LINE / size_of::<f32>();

/// A fixed number of floats that starts on a cache line, used as a `[f32]`.
///
/// The cells of a map are two cache lines long. Without alignment, every vector of 16 floats straddles two lines, and a
/// transform takes up to twice as long.
#[derive(Debug, Default)]
pub struct AlignedBuf {
    /// Never grows, so its address is stable.
    floats: Vec<f32>,
    start: usize,
    len: usize,
}

/// `floats` from its first cache line on.
pub(super) fn aligned(floats: &mut [f32]) -> &mut [f32] {
    let start = floats.as_ptr().align_offset(LINE).min(floats.len());
    &mut floats[start..]
}

impl AlignedBuf {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let floats = vec![0.0; len + SLACK];
        // `align_offset` may return `usize::MAX`; unaligned memory is only slower.
        let start = floats.as_ptr().align_offset(LINE).min(SLACK);
        Self { floats, start, len }
    }
}

impl Deref for AlignedBuf {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.floats[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.floats[self.start..self.start + self.len]
    }
}

impl From<&[f32]> for AlignedBuf {
    fn from(floats: &[f32]) -> Self {
        let mut buf = Self::zeroed(floats.len());
        buf.copy_from_slice(floats);
        buf
    }
}

/// The copy is aligned too.
impl Clone for AlignedBuf {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}
