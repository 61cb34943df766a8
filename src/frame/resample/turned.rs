//! Turned patches: a grid of points, interpolated linearly from an upright patch.

use super::Region;

/// Points of a short run lie at whole multiples of 2^-16 pixels from its first one.
const BITS: u32 = 16;
const POINT: f64 = (1u64 << BITS) as f64;
/// Points that are found at once.
const AT_ONCE: usize = 16;
/// Pixels around the grid's bounding box: for the neighbours that are interpolated, and for the corner's rounding.
const MARGIN: usize = 4;

/// The points of a turned patch, and the upright patch that they lie on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// The upright patch's top left corner on the frame, whole; its pixels in pixels of the frame, at least 1; its
    /// width and height.
    pub corner: (f64, f64),
    pub scale: f64,
    pub size: (usize, usize),
    /// The first point, and the steps to the next of a row and of a column, x and y, in pixels of the upright patch
    /// whose middles have whole coordinates.
    first: (f64, f64),
    along: (f64, f64),
    down: (f64, f64),
}

impl Grid {
    /// For a patch of `size` (width, height).
    pub fn new(region: Region, size: (usize, usize)) -> Self {
        let scale = region.scale.0.max(region.scale.1).max(1.0);
        let (sin, cos) = region.angle.sin_cos();
        let (along, down) = (region.scale.0 / scale, region.scale.1 / scale);
        let (along, down) = ((along * cos, along * sin), (-down * sin, down * cos));
        let (w, h) = (size.0 as f64, size.1 as f64);
        // The sides of the bounding box; not above the patch's diagonal.
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

    /// Interpolates rows of `width` pixels of `BYTES` bytes from the `upright` patch, which ends with `LANES - BYTES`
    /// bytes that belong to no pixel: so many more are computed, as registers have them.
    pub fn sample<const BYTES: usize, const LANES: usize>(&self, upright: &[u8], width: usize, out: &mut [u8]) {
        let stride = self.size.0 * BYTES;
        for (j, out) in out.chunks_exact_mut(width * BYTES).enumerate() {
            let down = j as f64;
            for (i, out) in (0..).step_by(AT_ONCE).zip(out.chunks_mut(AT_ONCE * BYTES)) {
                let along = i as f64;
                let first = (
                    self.first.0 + along * self.along.0 + down * self.down.0,
                    self.first.1 + along * self.along.1 + down * self.down.1,
                );
                let points = points(first, self.along, self.size);
                for ((out, at), (&fx, &fy)) in
                    out.as_chunks_mut::<BYTES>().0.iter_mut().zip(points.at).zip(points.fx.iter().zip(&points.fy))
                {
                    let upper = &upright[at as usize * BYTES..][..stride + BYTES + LANES];
                    let mut values = [0; LANES];
                    let (a, b) = (&upper[..BYTES + LANES], &upper[stride..][..BYTES + LANES]);
                    for c in 0..LANES {
                        let mix = |row: &[u8]| (256 - fx) * u32::from(row[c]) + fx * u32::from(row[c + BYTES]);
                        values[c] = (((256 - fy) * mix(a) + fy * mix(b) + (1 << 15)) >> 16) as u8;
                    }
                    out.copy_from_slice(&values[..BYTES]);
                }
            }
        }
    }
}

/// Neighbours along a row of the turned patch: the pixel of the upright patch before each, and how far behind it it
/// lies in 256ths.
struct Points {
    at: [u32; AT_ONCE],
    fx: [u32; AT_ONCE],
    fy: [u32; AT_ONCE],
}

#[inline(always)]
fn points(first: (f64, f64), step: (f64, f64), size: (usize, usize)) -> Points {
    let fixed = |v: f64| (v * POINT) as i32;
    let (x, y, dx, dy) = (fixed(first.0), fixed(first.1), fixed(step.0), fixed(step.1));
    // The right and lower neighbours are there, whatever rounding does.
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

/// The longest side of an upright patch that a patch of `size` is taken from, at any angle.
pub(super) fn largest_side(size: (usize, usize)) -> usize {
    (size.0 as f64).hypot(size.1 as f64).ceil() as usize + 1 + MARGIN
}
