//! The resampler: cuts any part of a frame, at any scale and angle, to a patch of fixed size.
//!
//! A pixel of a patch that covers at least one pixel of the frame is the mean of what it covers, fractions of pixels
//! counted as such. That is the box filter, whose width is the new pixel distance, so that fine texture does not alias.
//! A smaller pixel is interpolated linearly. Both are the same two passes (rows are averaged first, then pixels along
//! the row) with other weights, rounded to 8 bits after each; at a scale of exactly 1 both are the same. Weights are
//! whole 256ths, so that sums fit 16 bits and are the same on every machine. The frame's border is repeated around it.
//!
//! The frame is read row by row and never copied; of a patch of `w` x `h` pixels the work grows with the part of the
//! frame that it covers, the memory with `w` and the width of that part.

mod passes;
mod room;
mod taps;
#[cfg(test)]
mod tests;
mod turned;

use super::{Channels, Frame, PixelFormat, patch};
use room::Room;
use taps::Taps;

/// Pixels of the frame that a pixel of a patch may measure: what lies beyond is taken for the nearest of the two.
const SCALES: (f64, f64) = (1e-3, 1e6);
/// Coordinates beyond this are taken for this.
const FAR: f64 = 1e12;
/// Rows that are averaged at once; they are kept as gray values for the next row of the patch.
const ROWS: usize = 4;

/// The part of a frame that a patch shows.
///
/// Coordinates are those of boxes: pixel `i` reaches from `i` to `i + 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The point of the frame that the middle of the patch shows: x, y in pixels.
    pub center: (f64, f64),
    /// Pixels of the frame per pixel of the patch, along the patch's rows and columns.
    pub scale: (f64, f64),
    /// Angle from the frame's x axis to the patch's, in radians; positive from x to y, clockwise on a screen.
    pub angle: f64,
}

impl Region {
    /// Around `center`, `scale` pixels of the frame per pixel of the patch in both directions, upright.
    pub fn new(center: (f64, f64), scale: f64) -> Self {
        Self { center, scale: (scale, scale), angle: 0.0 }
    }

    /// The `area` (width, height in pixels of the frame) around `center`, filled by a patch of `size` (width, height),
    /// upright.
    pub fn of_area(center: (f64, f64), area: (f64, f64), size: (usize, usize)) -> Self {
        Self { center, scale: (area.0 / size.0 as f64, area.1 / size.1 as f64), angle: 0.0 }
    }

    /// Turned around its centre to `angle` radians.
    pub fn turned(self, angle: f64) -> Self {
        Self { angle, ..self }
    }
}

/// Cuts patches of one size, gray or RGB.
///
/// A gray patch is one byte a pixel, the [`luma`](super::luma) of a colour frame's pixels; an RGB patch is three bytes
/// a pixel, in this order whatever the frame's, the same three of a gray frame.
#[derive(Clone, Debug)]
pub struct Resampler {
    width: usize,
    height: usize,
    channels: Channels,
    straight: Straight,
    /// What a turned patch is taken from: upright, as coarse as the patch.
    upright: Room<u8>,
}

impl Resampler {
    /// For patches of `width` x `height` pixels.
    ///
    /// # Panics
    /// When the patch is empty.
    pub fn new(width: usize, height: usize, channels: Channels) -> Self {
        assert!(width > 0 && height > 0, "a patch has pixels");
        let mut resampler = Self { width, height, channels, straight: Straight::default(), upright: Room::default() };
        resampler.reserve(1.0);
        resampler
    }

    /// Makes room for scales up to `scale`: upright patches at these allocate nothing. Beyond, the memory grows once to
    /// what is needed, at most to what patches over the whole width and height of the frame take.
    pub fn reserve(&mut self, scale: f64) {
        self.straight.reserve(self.width, self.height, checked_scale(scale));
    }

    /// As [`Resampler::reserve`], for turned patches, too.
    pub fn reserve_turned(&mut self, scale: f64) {
        let side = turned::largest_side((self.width, self.height));
        self.straight.reserve(side, side, checked_scale(scale).max(1.0));
        self.upright.reserve_in_all(side * side * self.channels.bytes() + 1);
    }

    /// Width and height of a patch in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// What a patch holds.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// Bytes of a patch.
    pub fn bytes(&self) -> usize {
        self.width * self.height * self.channels.bytes()
    }

    /// Cuts the patch of `region` into `out`, row by row.
    ///
    /// Turned patches are interpolated linearly from an upright one, which is as coarse as the patch where that is
    /// coarser than the frame (by the larger scale of the two, so that nothing aliases). Scales that are no positive
    /// numbers are taken for 1, places that are no numbers for 0, both else clamped to what can be computed.
    ///
    /// # Panics
    /// When `out` does not hold exactly [`Resampler::bytes`].
    pub fn cut(&mut self, frame: &Frame<'_>, region: Region, out: &mut [u8]) {
        let scale = (checked_scale(region.scale.0), checked_scale(region.scale.1));
        let center = (checked_place(region.center.0), checked_place(region.center.1));
        let region = Region { center, scale, angle: region.angle };
        if region.angle != 0.0 && region.angle.is_finite() {
            return self.cut_turned(frame, region, out);
        }
        let corner = (center.0 - 0.5 * self.width as f64 * scale.0, center.1 - 0.5 * self.height as f64 * scale.1);
        self.straight.cut(frame, corner, scale, (self.width, self.height), self.channels, out);
    }

    /// Cuts the upright patch whose top left corner lies at `corner` (x, y in pixels of the frame). At a whole corner
    /// and a scale of at least 1, weights and results do not depend on where on the frame it lies.
    ///
    /// # Panics
    /// When `out` does not hold exactly [`Resampler::bytes`].
    pub fn cut_from(&mut self, frame: &Frame<'_>, corner: (f64, f64), scale: f64, out: &mut [u8]) {
        let scale = checked_scale(scale);
        let corner = (checked_place(corner.0), checked_place(corner.1));
        self.straight.cut(frame, corner, (scale, scale), (self.width, self.height), self.channels, out);
    }

    fn cut_turned(&mut self, frame: &Frame<'_>, region: Region, out: &mut [u8]) {
        let grid = turned::Grid::new(region, (self.width, self.height));
        let bytes = grid.size.0 * grid.size.1 * self.channels.bytes();
        self.upright.resize(bytes + 1, 0);
        let scale = (grid.scale, grid.scale);
        self.straight.cut(frame, grid.corner, scale, grid.size, self.channels, &mut self.upright[..bytes]);
        match self.channels {
            Channels::Luma => grid.sample::<1, 1>(&self.upright, self.width, out),
            Channels::Color => grid.sample::<3, 4>(&self.upright, self.width, out),
        }
    }
}

fn checked_scale(scale: f64) -> f64 {
    if scale > 0.0 { scale.clamp(SCALES.0, SCALES.1) } else { 1.0 }
}

fn checked_place(place: f64) -> f64 {
    if place.is_nan() { 0.0 } else { place.clamp(-FAR, FAR) }
}

/// Upright patches of any size.
#[derive(Clone, Debug, Default)]
struct Straight {
    columns: Taps,
    rows: Taps,
    /// The last rows of a colour frame as gray values, row `y` at `y % ROWS`, and which they are.
    luma: [Room<u8>; ROWS],
    luma_rows: [Option<usize>; ROWS],
    /// A row of the patch that is still as wide as the part of the frame, and what is read beyond it.
    line: Room<u16>,
}

impl Straight {
    fn reserve(&mut self, width: usize, height: usize, scale: f64) {
        self.columns.reserve_packed(width, scale);
        self.rows.reserve(height, scale);
        let pixels = (width as f64 * scale.max(1.0)).ceil() as usize + 2;
        self.luma.iter_mut().for_each(|row| row.reserve_in_all(pixels));
        self.line.reserve_in_all(4 * pixels + passes::BEYOND);
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
        self.line.resize(run + passes::BEYOND, 0);
        for i in 0..height {
            if i > 0 && self.rows.of(i) == self.rows.of(i - 1) {
                out.copy_within((i - 1) * row_bytes..i * row_bytes, i * row_bytes);
                continue;
            }
            self.average_rows(frame, i, to_gray, pixel);
            let out = &mut out[i * row_bytes..][..row_bytes];
            match (channels, pixel) {
                (Channels::Luma, _) => passes::along_gray(&self.columns, &self.line, out),
                (Channels::Color, 1) => self.along_as_color(out),
                (Channels::Color, bytes) => {
                    let blue_first = matches!(frame.format(), PixelFormat::Bgr8 | PixelFormat::Bgra8);
                    let along = if bytes == 3 { passes::along_color::<3> } else { passes::along_color::<4> };
                    along(&self.columns, &self.line, blue_first, out);
                }
            }
        }
    }

    /// The rows of the frame that make up row `i` of the patch, averaged, to `line`.
    fn average_rows(&mut self, frame: &Frame<'_>, i: usize, to_gray: bool, pixel: usize) {
        let (columns, run) = (&self.columns, self.line.len() - passes::BEYOND);
        let (first, weights) = self.rows.of(i);
        let line = &mut self.line[..run];
        if to_gray {
            // A row of more taps than are kept is converted one after the other below.
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
            return passes::mean_of_rows(rows, weights, line);
        }
        line.fill(0);
        for (y, &weight) in (first..).zip(weights).filter(|(_, weight)| **weight > 0) {
            let row = if to_gray {
                fill_luma(&mut self.luma, &mut self.luma_rows, frame, y, columns.from);
                &self.luma[y % ROWS][..]
            } else {
                &frame.row(y)[columns.from * pixel..][..run]
            };
            passes::add_row(row, weight, line);
        }
        passes::round_row(line);
    }

    /// A row of gray values as three equal colours.
    fn along_as_color(&self, out: &mut [u8]) {
        let width = out.len() / 3;
        passes::along_gray(&self.columns, &self.line, &mut out[..width]);
        // From the last on, none is overwritten before it is read.
        for x in (0..width).rev() {
            let gray = out[x];
            out[3 * x..3 * x + 3].fill(gray);
        }
    }
}

/// Row `y` of the frame from column `x` on as gray values, unless they are there.
fn fill_luma(luma: &mut [Room<u8>; ROWS], rows: &mut [Option<usize>; ROWS], frame: &Frame<'_>, y: usize, x: usize) {
    let slot = y % ROWS;
    if rows[slot] != Some(y) {
        patch::gray_run(frame, y, x, &mut luma[slot]);
        rows[slot] = Some(y);
    }
}
