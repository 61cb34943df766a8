//! The resampler: cuts any part of a frame, at any scale and angle, to a patch of fixed size.
//!
//! A patch pixel that covers at least one frame pixel is the mean over its area, the box filter, so fine texture does
//! not alias. A smaller pixel is interpolated linearly. Both are the same two passes (a mean of rows, then pixels along
//! the row) with different weights, rounded to 8 bits after each. Weights are multiples of 1/256, so sums fit 16 bits
//! and have the same bits on every machine. The border of the frame is repeated.
//!
//! The frame is read row by row and never copied.

use std::ops::{Deref, DerefMut};

use super::{Channels, Frame, PixelFormat, patch};
use crate::simd::{block_starts, leveled, prefetch};

/// The range of scales, in pixels of the frame per pixel of the patch; others are clamped to it.
const SCALES: (f64, f64) = (1e-3, 1e6);
/// Coordinates are clamped to this.
const MAX_COORDINATE: f64 = 1e12;
/// Rows to average at once; their gray values are cached for the next row of the patch.
const ROWS: usize = 8;

/// Rows of the patch from a request for rows of the frame to their use.
const AHEAD: usize = 2;

/// The part of a frame under a patch. As for boxes, pixel `i` spans `i` to `i + 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The centre of the patch: x, y in pixels of the frame.
    pub center: (f64, f64),
    /// Pixels of the frame per pixel of the patch, along the patch's rows and columns.
    pub scale: (f64, f64),
    /// Angle from the frame's x axis to the patch's, in radians; positive from x to y, clockwise on a screen.
    pub angle: f64,
}

impl Region {
    /// An upright region around `center`, with `scale` pixels of the frame per pixel of the patch.
    pub fn new(center: (f64, f64), scale: f64) -> Self {
        Self { center, scale: (scale, scale), angle: 0.0 }
    }

    /// The region rotated about its centre to `angle` radians.
    pub fn turned(self, angle: f64) -> Self {
        Self { angle, ..self }
    }
}

/// Cuts patches of one size, gray or RGB.
///
/// A gray patch has one byte per pixel; an RGB patch has four, the last one 0, in this order for any frame.
#[derive(Clone, Debug)]
pub struct Resampler {
    width: usize,
    height: usize,
    channels: Channels,
    straight: Straight,
    /// The upright patch that a rotated patch is interpolated from.
    upright: Preallocated<u8>,
}

impl Resampler {
    /// Creates a resampler for patches of `width` x `height` pixels.
    ///
    /// # Panics
    /// If the patch is empty.
    pub fn new(width: usize, height: usize, channels: Channels) -> Self {
        assert!(width > 0 && height > 0, "a patch has pixels");
        let mut resampler =
            Self { width, height, channels, straight: Straight::default(), upright: Preallocated::default() };
        resampler.reserve(1.0);
        resampler
    }

    /// Preallocates for upright patches at scales up to `scale`; those allocate nothing later.
    pub fn reserve(&mut self, scale: f64) {
        self.straight.reserve(self.width, self.height, checked_scale(scale));
    }

    /// Preallocates like [`Resampler::reserve`], also for rotated patches.
    pub fn reserve_rotated(&mut self, scale: f64) {
        let side = largest_side((self.width, self.height));
        self.straight.reserve(side, side, checked_scale(scale).max(1.0));
        self.upright.reserve_total(side * side * self.channels.bytes());
    }

    /// Width and height of a patch in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Cuts the patch of `region` into `out`, row by row.
    ///
    /// A rotated patch is interpolated linearly from an upright one, at the larger of the two scales if that is above 1,
    /// so it does not alias. A scale that is not positive counts as 1, a coordinate that is NaN as 0; others are clamped.
    pub fn cut(&mut self, frame: &Frame<'_>, region: Region, out: &mut [u8]) {
        let scale = (checked_scale(region.scale.0), checked_scale(region.scale.1));
        let center = (checked_place(region.center.0), checked_place(region.center.1));
        let region = Region { center, scale, angle: region.angle };
        if region.angle != 0.0 && region.angle.is_finite() {
            return self.cut_rotated(frame, region, out);
        }
        let corner = (center.0 - 0.5 * self.width as f64 * scale.0, center.1 - 0.5 * self.height as f64 * scale.1);
        self.straight.cut(frame, corner, scale, (self.width, self.height), self.channels, out);
    }

    /// Cuts the upright patch with its top left corner at `corner` (x, y in pixels of the frame). At a whole corner and a
    /// scale of at least 1 the weights do not depend on the position.
    pub fn cut_from(&mut self, frame: &Frame<'_>, corner: (f64, f64), scale: f64, out: &mut [u8]) {
        let scale = checked_scale(scale);
        let corner = (checked_place(corner.0), checked_place(corner.1));
        self.straight.cut(frame, corner, (scale, scale), (self.width, self.height), self.channels, out);
    }

    fn cut_rotated(&mut self, frame: &Frame<'_>, region: Region, out: &mut [u8]) {
        let grid = RotatedGrid::new(region, (self.width, self.height));
        let bytes = grid.size.0 * grid.size.1 * self.channels.bytes();
        self.upright.resize(bytes, 0);
        let scale = (grid.scale, grid.scale);
        self.straight.cut(frame, grid.corner, scale, grid.size, self.channels, &mut self.upright);
        match self.channels {
            Channels::Luma => sample_gray(&grid, &self.upright, self.width, out),
            Channels::Color => sample_color(&grid, &self.upright, self.width, out),
        }
    }
}

fn checked_scale(scale: f64) -> f64 {
    if scale > 0.0 { scale.clamp(SCALES.0, SCALES.1) } else { 1.0 }
}

fn checked_place(place: f64) -> f64 {
    if place.is_nan() { 0.0 } else { place.clamp(-MAX_COORDINATE, MAX_COORDINATE) }
}

/// Cuts upright patches of any size.
#[derive(Clone, Debug, Default)]
struct Straight {
    columns: Taps,
    rows: Taps,
    /// Gray values of the last rows of a colour frame, row `y` at `y % ROWS`, and their numbers.
    luma: [Preallocated<u8>; ROWS],
    luma_rows: [Option<usize>; ROWS],
    /// A row of the patch before the pass along the row, with padding.
    line: Preallocated<u16>,
    /// The row of the patch after the pass along the row, in colour.
    sums: Preallocated<u64>,
}

impl Straight {
    fn reserve(&mut self, width: usize, height: usize, scale: f64) {
        self.columns.reserve_packed(width, scale);
        self.rows.reserve(height, scale);
        let pixels = (width as f64 * scale.max(1.0)).ceil() as usize + 2;
        self.luma.iter_mut().for_each(|row| row.reserve_total(pixels));
        self.line.reserve_total(4 * pixels + PADDING);
        self.sums.reserve_total(width);
    }

    fn cut(
        &mut self,
        frame: &Frame<'_>,
        corner: (f64, f64),
        scale: (f64, f64),
        (width, height): (usize, usize),
        channels: Channels,
        out: &mut [u8],
    ) {
        let row_bytes = width * channels.bytes();
        assert_eq!(out.len(), row_bytes * height, "the patch buffer has the patch's size");
        self.columns.set(width, corner.0, scale.0, frame.width());
        self.rows.set(height, corner.1, scale.1, frame.height());
        let to_gray = channels == Channels::Luma && frame.format() != PixelFormat::Gray8;
        let pixel = if to_gray { 1 } else { frame.format().bytes() };
        if pixel == 1 {
            self.columns.pack();
        }
        let run = (self.columns.to - self.columns.from) * pixel;
        self.luma_rows = [None; ROWS];
        if to_gray {
            self.luma.iter_mut().for_each(|row| row.resize(run, 0));
        }
        self.line.resize(run + PADDING, 0);
        self.sums.resize(width, 0);
        let mut fetched = 0;
        for i in 0..height {
            let (first, weights) = self.rows.of((i + AHEAD).min(height - 1));
            for y in first.max(fetched)..first + weights.len() {
                let bytes = frame.format().bytes();
                prefetch(&frame.row(y)[self.columns.from * bytes..self.columns.to * bytes]);
                fetched = y + 1;
            }
            if i > 0 && self.rows.of(i) == self.rows.of(i - 1) {
                out.copy_within((i - 1) * row_bytes..i * row_bytes, i * row_bytes);
                continue;
            }
            self.average_rows(frame, i, to_gray, pixel);
            let out = &mut out[i * row_bytes..][..row_bytes];
            match (channels, pixel) {
                (Channels::Luma, _) => along_gray(&self.columns, &self.line, out),
                (Channels::Color, 1) => self.along_as_color(out),
                (Channels::Color, bytes) => {
                    let blue_first = matches!(frame.format(), PixelFormat::Bgr8 | PixelFormat::Bgra8);
                    let along = if bytes == 3 { along_color::<3> } else { along_color::<4> };
                    along(&self.columns, &self.line, &mut self.sums);
                    round_colors(&self.sums, blue_first, out);
                }
            }
        }
    }

    /// The rows of the frame that make up row `i` of the patch, averaged, to `line`.
    fn average_rows(&mut self, frame: &Frame<'_>, i: usize, to_gray: bool, pixel: usize) {
        let (columns, run) = (&self.columns, self.line.len() - PADDING);
        let (first, weights) = self.rows.of(i);
        let line = &mut self.line[..run];
        if to_gray {
            // With more taps than cached rows, rows are converted one by one below.
            for y in (first..first + weights.len()).take(ROWS) {
                fill_luma(&mut self.luma, &mut self.luma_rows, frame, y, columns.from);
            }
        }
        if weights.len() <= ROWS {
            let mut rows = [&[][..]; ROWS];
            for (k, row) in rows.iter_mut().enumerate().take(weights.len()) {
                let y = first + k;
                *row = if to_gray { &self.luma[y % ROWS] } else { &frame.row(y)[columns.from * pixel..][..run] };
            }
            return mean_of_rows(rows, weights, line);
        }
        line.fill(0);
        for (y, &weight) in (first..).zip(weights).filter(|(_, weight)| **weight > 0) {
            let row = if to_gray {
                fill_luma(&mut self.luma, &mut self.luma_rows, frame, y, columns.from);
                &self.luma[y % ROWS][..]
            } else {
                &frame.row(y)[columns.from * pixel..][..run]
            };
            add_row(row, weight, line);
        }
        round_row(line);
    }

    /// A row of gray values as three equal colours.
    fn along_as_color(&self, out: &mut [u8]) {
        let width = out.len() / 4;
        along_gray(&self.columns, &self.line, &mut out[..width]);
        // The loop goes backwards, so no value is overwritten before it is read.
        for x in (0..width).rev() {
            let gray = out[x];
            out[4 * x..4 * x + 4].copy_from_slice(&[gray, gray, gray, 0]);
        }
    }
}

/// Caches the gray values of row `y` of the frame from column `x` on.
fn fill_luma(
    luma: &mut [Preallocated<u8>; ROWS],
    rows: &mut [Option<usize>; ROWS],
    frame: &Frame<'_>,
    y: usize,
    x: usize,
) {
    let slot = y % ROWS;
    if rows[slot] != Some(y) {
        patch::gray_run(frame, y, x, &mut luma[slot]);
        rows[slot] = Some(y);
    }
}

/// Padding at the end of a row, which is read four values at a time.
const PADDING: usize = 3;

/// Values per block.
const BLOCK: usize = 32;

/// A sum with weights of 256 in all, as a mean; it fits 16 bits.
#[inline(always)]
fn rounded(sum: u16) -> u16 {
    (sum + 128) >> 8
}

leveled! {
    /// The weighted mean of one to eight rows of bytes.
    fn mean_of_rows(rows: [&[u8]; ROWS], weights: &[u16], out: &mut [u16]) {
        match *weights {
            [_] => mean(&rows, [1], |sum| sum, out),
            [a, b] => mean(&rows, [a, b], rounded, out),
            [a, b, c] => mean(&rows, [a, b, c], rounded, out),
            [a, b, c, d] => mean(&rows, [a, b, c, d], rounded, out),
            [a, b, c, d, e] => mean(&rows, [a, b, c, d, e], rounded, out),
            [a, b, c, d, e, f] => mean(&rows, [a, b, c, d, e, f], rounded, out),
            [a, b, c, d, e, f, g] => mean(&rows, [a, b, c, d, e, f, g], rounded, out),
            [a, b, c, d, e, f, g, h] => mean(&rows, [a, b, c, d, e, f, g, h], rounded, out),
            _ => unreachable!("one to eight rows"),
        }
    }
}

/// The mean of `N` rows.
#[inline(always)]
fn mean<const N: usize>(rows: &[&[u8]; ROWS], weights: [u16; N], finish: impl Fn(u16) -> u16, out: &mut [u16]) {
    let width = out.len();
    let rows: [&[u8]; N] = std::array::from_fn(|k| &rows[k][..width]);
    if width < BLOCK {
        for (x, out) in out.iter_mut().enumerate() {
            *out = finish((0..N).map(|k| u16::from(rows[k][x]) * weights[k]).sum());
        }
        return;
    }
    for x in block_starts(width, BLOCK) {
        let out: &mut [u16; BLOCK] = out[x..].first_chunk_mut().expect("a block");
        let mut sums = [0u16; BLOCK];
        for k in 0..N {
            let row: &[u8; BLOCK] = rows[k][x..].first_chunk().expect("a block");
            for l in 0..BLOCK {
                sums[l] += u16::from(row[l]) * weights[k];
            }
        }
        for l in 0..BLOCK {
            out[l] = finish(sums[l]);
        }
    }
}

leveled! {
    /// Adds a weighted row of bytes to sums.
    fn add_row(row: &[u8], weight: u16, sums: &mut [u16]) {
        for (sum, &v) in sums.iter_mut().zip(row) {
            *sum += u16::from(v) * weight;
        }
    }
}

leveled! {
    /// Turns the sums of `add_row` into means.
    fn round_row(sums: &mut [u16]) {
        for sum in sums {
            *sum = rounded(*sum);
        }
    }
}

/// The pass along a row of gray values by packed `taps`. The first value is pixel `taps.from` of the frame.
fn along_gray(taps: &Taps, row: &[u16], out: &mut [u8]) {
    let len = out.len();
    debug_assert!(!taps.packed.is_empty(), "the taps are packed");
    if taps.each == 1 && taps.to - taps.from == len {
        narrow(&row[..len], out);
        return;
    }
    match taps.packed.len() / len {
        1 => gray::<1>(taps, row, out),
        2 => gray::<2>(taps, row, out),
        3 => gray::<3>(taps, row, out),
        4 => gray::<4>(taps, row, out),
        groups => {
            for ((out, &first), weights) in out.iter_mut().zip(taps.first.iter()).zip(taps.packed.chunks_exact(groups))
            {
                let row = row[first as usize - taps.from..].chunks(4);
                *out = rounded(row.zip(weights).map(|(row, &weights)| sum_of_products(row, weights)).sum()) as u8;
            }
        }
    }
}

#[inline(always)]
fn gray<const GROUPS: usize>(taps: &Taps, row: &[u16], out: &mut [u8]) {
    for ((out, &first), weights) in out.iter_mut().zip(taps.first.iter()).zip(taps.packed.as_chunks::<GROUPS>().0) {
        let row = &row[first as usize - taps.from..][..4 * GROUPS];
        let mut sum = 0;
        for k in 0..GROUPS {
            sum += sum_of_products(&row[4 * k..], weights[k]);
        }
        *out = rounded(sum) as u8;
    }
}

leveled! {
    /// Values of at most 255 as bytes.
    fn narrow(row: &[u16], out: &mut [u8]) {
        for (out, &v) in out.iter_mut().zip(row) {
            *out = v as u8;
        }
    }
}

/// The sum of four values times their weights by one multiplication of 16-bit fields, with the weights in opposite
/// order: the sum is in the highest field. No field overflows, since the weights sum to 256 at most.
#[inline(always)]
fn sum_of_products(row: &[u16], weights: u64) -> u16 {
    (four(row).wrapping_mul(weights) >> 48) as u16
}

/// The pass along a row of pixels of `BYTES` values, the first three of them colours, to sums in 16-bit fields.
fn along_color<const BYTES: usize>(taps: &Taps, row: &[u16], out: &mut [u64]) {
    match taps.each {
        1 => color::<1, BYTES>(taps, row, out),
        2 => color::<2, BYTES>(taps, row, out),
        3 => color::<3, BYTES>(taps, row, out),
        4 => color::<4, BYTES>(taps, row, out),
        5 => color::<5, BYTES>(taps, row, out),
        6 => color::<6, BYTES>(taps, row, out),
        _ => {
            for (i, out) in out.iter_mut().enumerate() {
                let (first, weights) = taps.of(i);
                let row = row[(first - taps.from) * BYTES..].windows(4).step_by(BYTES);
                *out = row.zip(weights).map(|(pixel, &weight)| four(pixel) * u64::from(weight)).sum();
            }
        }
    }
}

#[inline(always)]
fn color<const N: usize, const BYTES: usize>(taps: &Taps, row: &[u16], out: &mut [u64]) {
    let weights = taps.weights.as_chunks::<N>().0;
    for ((out, &first), weights) in out.iter_mut().zip(taps.first.iter()).zip(weights) {
        let row = &row[(first as usize - taps.from) * BYTES..][..(N - 1) * BYTES + 4];
        *out = (0..N).map(|k| four(&row[k * BYTES..]) * u64::from(weights[k])).sum();
    }
}

/// Four values of at most 255 in four 16-bit fields of a number.
#[inline(always)]
fn four(row: &[u16]) -> u64 {
    let field = |k: usize| u64::from(row[k]) << (16 * k);
    field(0) | field(1) | field(2) | field(3)
}

leveled! {
    /// The first three of four sums as means: red, green and blue.
    fn round_colors(sums: &[u64], blue_first: bool, out: &mut [u8]) {
        let (red, blue) = if blue_first { (32, 0) } else { (0, 32) };
        for (out, sums) in out.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
            let means = (sums + 0x0080_0080_0080_0080) >> 8;
            *out = ((means >> red & 255 | means >> 8 & 0xff00 | (means >> blue & 255) << 16) as u32).to_le_bytes();
        }
    }
}

/// The sum of the weights of a pixel.
const ONE: u16 = 256;

/// The weights of one direction, recomputed in place for every patch.
#[derive(Clone, Debug, Default)]
struct Taps {
    /// Weights of each pixel of the patch.
    pub each: usize,
    /// The first frame pixel of each patch pixel.
    pub first: Preallocated<u32>,
    /// `each` weights for each pixel of the patch.
    pub weights: Preallocated<u16>,
    /// The weights in 16-bit fields, four to a number, the first in the highest field; see [`pack`](Taps::pack).
    pub packed: Preallocated<u64>,
    /// The end of the frame pixels of each patch pixel.
    behind: Preallocated<u32>,
    /// The range of frame pixels of all patch pixels.
    pub from: usize,
    pub to: usize,
}

impl Taps {
    /// Preallocates for lines of `len` pixels, each of up to `scale` pixels of the frame.
    pub fn reserve(&mut self, len: usize, scale: f64) {
        self.first.reserve_total(len);
        self.behind.reserve_total(len);
        self.weights.reserve_total(max_taps(scale).saturating_mul(len));
    }

    /// Preallocates like [`Taps::reserve`], with [packed](Taps::pack) weights.
    pub fn reserve_packed(&mut self, len: usize, scale: f64) {
        self.reserve(len, scale);
        self.packed.reserve_total(max_taps(scale).div_ceil(4).saturating_mul(len));
    }

    /// Sets the weights of a line of `len` pixels from `corner` on, each `scale` pixels wide, in a frame's line of `frame`
    /// pixels. A pixel is the mean over its width, or over one frame pixel around its centre if it is smaller, which is
    /// linear interpolation.
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
            // Every pixel has the same number of taps, so inner loops have a fixed length.
            let begin = a.min(frame - weights.len() as i64);
            *first = begin as u32;
            self.from = self.from.min(begin as usize);
            self.to = self.to.max(begin as usize + weights.len());
            // Rounds the cumulative share, so the weights of a pixel sum to exactly one.
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

    /// Packs four weights to a number for [`along_gray`].
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

/// The maximum number of frame pixels per patch pixel of `scale`.
fn max_taps(scale: f64) -> usize {
    (scale.ceil() as usize).saturating_add(1).max(2)
}

/// `v.floor()` without a libm call on a baseline CPU.
#[inline(always)]
fn floor(v: f64) -> i64 {
    let whole = v as i64;
    whole - i64::from(whole as f64 > v)
}

#[inline(always)]
fn ceil(v: f64) -> i64 {
    let whole = v as i64;
    whole + i64::from((whole as f64) < v)
}

/// Fixed-point bits of coordinates within a short run.
const BITS: u32 = 16;
const POINT: f64 = (1u64 << BITS) as f64;
/// Points per run.
const AT_ONCE: usize = 16;
/// Pixels around the bounding box of the grid, for interpolation and the rounding of the corner.
const MARGIN: usize = 4;

/// The points of a rotated patch, and the upright patch under them.
#[derive(Clone, Copy, Debug)]
struct RotatedGrid {
    /// The upright patch: its corner in whole pixels of the frame, its scale (at least 1), its width and height.
    pub corner: (f64, f64),
    pub scale: f64,
    pub size: (usize, usize),
    /// The first point and the steps along a row and a column, x and y, in pixels of the upright patch, whose centres
    /// have whole coordinates.
    first: (f64, f64),
    along: (f64, f64),
    down: (f64, f64),
}

impl RotatedGrid {
    /// Creates the grid of a patch of `size` (width, height).
    pub fn new(region: Region, size: (usize, usize)) -> Self {
        let scale = region.scale.0.max(region.scale.1).max(1.0);
        let (sin, cos) = region.angle.sin_cos();
        let (along, down) = (region.scale.0 / scale, region.scale.1 / scale);
        let (along, down) = ((along * cos, along * sin), (-down * sin, down * cos));
        let (w, h) = (size.0 as f64, size.1 as f64);
        // The sides of the bounding box.
        let sides = ((along.0 * w).abs() + (down.0 * h).abs(), (along.1 * w).abs() + (down.1 * h).abs());
        let upright = (sides.0.ceil() as usize + MARGIN, sides.1.ceil() as usize + MARGIN);
        let corner = (
            (region.center.0 - 0.5 * scale * upright.0 as f64).floor(),
            (region.center.1 - 0.5 * scale * upright.1 as f64).floor(),
        );
        let middle = ((region.center.0 - corner.0) / scale - 0.5, (region.center.1 - corner.1) / scale - 0.5);
        let (i, j) = (0.5 * (w - 1.0), 0.5 * (h - 1.0));
        let first = (middle.0 - i * along.0 - j * down.0, middle.1 - i * along.1 - j * down.1);
        Self { corner, scale, size: upright, first, along, down }
    }

    /// Interpolates rows of `width` pixels of `BYTES` bytes from the `upright` patch.
    #[inline(always)]
    fn sample<const BYTES: usize>(&self, upright: &[u8], width: usize, out: &mut [u8]) {
        let upright = upright.as_chunks::<BYTES>().0;
        for (j, out) in out.as_chunks_mut::<BYTES>().0.chunks_exact_mut(width).enumerate() {
            let down = j as f64;
            for (i, out) in (0..).step_by(AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
                let along = i as f64;
                let first = (
                    self.first.0 + along * self.along.0 + down * self.down.0,
                    self.first.1 + along * self.along.1 + down * self.down.1,
                );
                let Points { at, fx, fy } = points(first, self.along, self.size);
                // The four pixels around each point, as numbers.
                let mut pixels = [[0; AT_ONCE]; 4];
                for (i, at) in at.into_iter().enumerate() {
                    let around = &upright[at as usize..][..self.size.0 + 2];
                    let four = [around[0], around[1], around[self.size.0], around[self.size.0 + 1]];
                    for (pixels, bytes) in pixels.iter_mut().zip(four) {
                        pixels[i] = bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
                    }
                }
                let mut mixed = [0; AT_ONCE];
                for shift in (0..BYTES.min(3)).map(|channel| 8 * channel) {
                    for i in 0..AT_ONCE {
                        let value = |k: usize| pixels[k][i] >> shift & 255;
                        let mix = |k: usize| (256 - fx[i]) * value(k) + fx[i] * value(k + 1);
                        mixed[i] |= ((256 - fy[i]) * mix(0) + fy[i] * mix(2) + (1 << 15)) >> 16 << shift;
                    }
                }
                for (out, mixed) in out.iter_mut().zip(mixed) {
                    out.copy_from_slice(&mixed.to_le_bytes()[..BYTES]);
                }
            }
        }
    }
}

leveled! {
    fn sample_gray(grid: &RotatedGrid, upright: &[u8], width: usize, out: &mut [u8]) {
        grid.sample::<1>(upright, width, out);
    }
}

leveled! {
    fn sample_color(grid: &RotatedGrid, upright: &[u8], width: usize, out: &mut [u8]) {
        grid.sample::<4>(upright, width, out);
    }
}

/// A run of points: the upright pixel before each, and the distance to it in 1/256.
struct Points {
    at: [u32; AT_ONCE],
    fx: [u32; AT_ONCE],
    fy: [u32; AT_ONCE],
}

#[inline(always)]
fn points(first: (f64, f64), step: (f64, f64), size: (usize, usize)) -> Points {
    let fixed = |v: f64| (v * POINT) as i32;
    let (x, y, dx, dy) = (fixed(first.0), fixed(first.1), fixed(step.0), fixed(step.1));
    // Clamped, so the right and lower neighbours exist after any rounding.
    let last = (size.0 as i32 - 2, size.1 as i32 - 2);
    let mut points = Points { at: [0; AT_ONCE], fx: [0; AT_ONCE], fy: [0; AT_ONCE] };
    for i in 0..AT_ONCE {
        let (x, y) = (x.wrapping_add(dx * i as i32), y.wrapping_add(dy * i as i32));
        let column = (x >> BITS).max(0).min(last.0);
        let row = (y >> BITS).max(0).min(last.1);
        points.at[i] = (row * size.0 as i32 + column) as u32;
        points.fx[i] = (x >> (BITS - 8)) as u32 & 255;
        points.fy[i] = (y >> (BITS - 8)) as u32 & 255;
    }
    points
}

/// The longest side of the upright patch under a patch of `size`, at any angle.
fn largest_side(size: (usize, usize)) -> usize {
    (size.0 as f64).hypot(size.1 as f64).ceil() as usize + 1 + MARGIN
}

/// A vector whose clone keeps the capacity. With a plain `Vec`, a cloned tracker would allocate in `update`.
#[derive(Debug, Default)]
struct Preallocated<T>(Vec<T>);

impl<T> Preallocated<T> {
    /// Reserves for `len` values in total.
    pub fn reserve_total(&mut self, len: usize) {
        self.0.reserve(len.saturating_sub(self.0.len()));
    }
}

impl<T: Clone> Clone for Preallocated<T> {
    fn clone(&self) -> Self {
        let mut clone = Vec::with_capacity(self.0.capacity());
        clone.extend_from_slice(&self.0);
        Self(clone)
    }
}

impl<T> Deref for Preallocated<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Preallocated<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

#[cfg(test)]
mod tests;
