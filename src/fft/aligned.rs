//! Memory that starts on a cache line.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest vector register.
const LINE: usize = 64;
/// Floats to skip at most to reach the next cache line.
pub(super) const SLACK: usize = LINE / size_of::<f32>();

/// A fixed number of floats that starts on a cache line, used as a `[f32]`.
///
/// The cells of a map are two cache lines long. Without alignment, every vector of 16 floats straddles two lines, and a
/// transform takes up to twice as long.
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

impl Default for AlignedBuf {
    fn default() -> Self {
        Self::zeroed(0)
    }
}

impl PartialEq for AlignedBuf {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
