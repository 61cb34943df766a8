//! Which pixels of a line of the frame make up the pixels of a line of the patch, and by how much.

use super::room::Room;

/// The sum of the weights of a pixel. Whole weights keep sums in 16 bits and results the same on every machine.
pub(super) const ONE: u16 = 256;

/// The weights of one direction; made anew in place for every patch.
#[derive(Clone, Debug, Default)]
pub(super) struct Taps {
    /// Weights of each pixel of the patch.
    pub each: usize,
    /// For each pixel of the patch, the first pixel of the frame that it is made of.
    pub first: Room<u32>,
    /// `each` weights for each pixel of the patch.
    pub weights: Room<u16>,
    /// The same as numbers of four 16-bit fields, the first weight in the highest; made by [`pack`](Taps::pack).
    pub packed: Room<u64>,
    /// For each pixel of the patch, the pixel behind the last that it is made of.
    behind: Room<u32>,
    /// The pixels of the frame that are needed, from the first to behind the last.
    pub from: usize,
    pub to: usize,
}

impl Taps {
    /// Memory for lines of `len` pixels, each of up to `scale` pixels of the frame.
    pub fn reserve(&mut self, len: usize, scale: f64) {
        self.first.reserve_in_all(len);
        self.behind.reserve_in_all(len);
        self.weights.reserve_in_all(most(scale).saturating_mul(len));
    }

    /// The same, for lines along which pixels are [packed](Taps::pack).
    pub fn reserve_packed(&mut self, len: usize, scale: f64) {
        self.reserve(len, scale);
        self.packed.reserve_in_all(most(scale).div_ceil(4).saturating_mul(len));
    }

    /// A line of `len` pixels that begins at `corner` of a frame's line of `frame` pixels, each of its pixels `scale`
    /// pixels wide. A pixel is the mean over its width where that is at least a pixel of the frame, else over the width
    /// of one around its centre, which is linear interpolation. Beyond the frame its border is repeated.
    pub fn set(&mut self, len: usize, corner: f64, scale: f64, frame: usize) {
        self.first.resize(len, 0);
        self.behind.resize(len, 0);
        let base = floor(corner);
        let offset = corner - base as f64;
        let shrinks = scale >= 1.0;
        let ends = |i: usize| {
            if shrinks {
                (offset + i as f64 * scale, offset + (i + 1) as f64 * scale)
            } else {
                let start = offset + (i as f64 + 0.5) * scale - 0.5;
                (start, start + 1.0)
            }
        };
        let frame = frame as i64;
        // The pixels of the frame from a start to an end, clamped to it.
        let span = |(start, end): (f64, f64)| {
            let first = (base + floor(start)).clamp(0, frame - 1);
            (first, (base + ceil(end)).clamp(first + 1, frame))
        };
        self.each = 1;
        for (i, (first, behind)) in self.first.iter_mut().zip(self.behind.iter_mut()).enumerate() {
            let (a, b) = span(ends(i));
            (*first, *behind) = (a as u32, b as u32);
            self.each = self.each.max((b - a) as usize);
        }
        self.packed.clear();
        self.weights.clear();
        self.weights.resize(self.each * len, 0);
        (self.from, self.to) = (frame as usize, 0);
        let pixels = self.first.iter_mut().zip(self.behind.iter()).zip(self.weights.chunks_exact_mut(self.each));
        for (i, ((first, &behind), weights)) in pixels.enumerate() {
            let (start, end) = ends(i);
            let (a, b) = (i64::from(*first), i64::from(behind));
            // Every pixel has the same number of taps, so that no loop has a length of its own.
            let begin = a.min(frame - weights.len() as i64);
            *first = begin as u32;
            self.from = self.from.min(begin as usize);
            self.to = self.to.max(begin as usize + weights.len());
            // The cumulative share is rounded, so that the weights of a pixel sum up to exactly one; what lies beyond
            // the frame counts for its border.
            let mut before = 0;
            for x in a..b - 1 {
                let x_end = ((x + 1 - base) as f64).clamp(start, end);
                let share = (f64::from(ONE) * (x_end - start) / (end - start) + 0.5) as u16;
                weights[(x - begin) as usize] = share - before;
                before = share;
            }
            weights[(b - 1 - begin) as usize] = ONE - before;
        }
    }

    /// Puts four weights each into a number, as [`along_gray`](super::passes::along_gray) asks for it.
    pub fn pack(&mut self) {
        self.packed.clear();
        for weights in self.weights.chunks_exact(self.each) {
            let four =
                |weights: &[u16]| weights.iter().rev().fold(0, |four, &weight| four >> 16 | u64::from(weight) << 48);
            self.packed.extend(weights.chunks(4).map(four));
        }
    }

    /// The first pixel of the frame and the weights of pixel `i`.
    #[inline(always)]
    pub fn of(&self, i: usize) -> (usize, &[u16]) {
        (self.first[i] as usize, &self.weights[i * self.each..][..self.each])
    }
}

/// Most pixels of a frame's line that a pixel of `scale` is made of.
fn most(scale: f64) -> usize {
    (scale.ceil() as usize).saturating_add(1).max(2)
}

/// `v.floor()`, without a call where the CPU's baseline has no instruction for it.
#[inline(always)]
pub(super) fn floor(v: f64) -> i64 {
    let whole = v as i64;
    whole - i64::from(whole as f64 > v)
}

#[inline(always)]
fn ceil(v: f64) -> i64 {
    let whole = v as i64;
    whole + i64::from((whole as f64) < v)
}
