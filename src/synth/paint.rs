//! Pixels: the canvas, the ground, the objects on it, and the camera's optics.

use image::{Rgb, RgbImage};
use rand_pcg::rand_core::Rng;
use rayon::prelude::*;

use super::SceneParams;
use super::motion::{Beam, Outline, Pose, bits, fraction, mix, sin_cos, stream, swing, uniform};
use crate::bbox::BBox;

/// Red, green, blue, each nominally 0 to 255.
type Color = [f32; 3];

/// A colour, channel by channel. In unoptimised builds `array::map` would be a call for every pixel.
#[inline(always)]
fn each(mut channel: impl FnMut(usize) -> f32) -> Color {
    [channel(0), channel(1), channel(2)]
}

/// The colour of `0xRRGGBB`.
fn rgb(hex: u32) -> Color {
    let bytes = hex.to_be_bytes();
    each(|c| f32::from(bytes[c + 1]))
}

/// `a` for `t = 0`, `b` for `t = 1`; `t` is clipped.
fn blend(a: Color, b: Color, t: f64) -> Color {
    let t = t.clamp(0.0, 1.0) as f32;
    each(|c| a[c] + (b[c] - a[c]) * t)
}

/// A colour made lighter or darker.
fn shade(color: Color, gain: f64) -> Color {
    each(|c| color[c] * gain as f32)
}

/// 0 below `lo`, 1 above `hi`, a smooth step between.
pub(super) fn smooth_step(lo: f64, hi: f64, value: f64) -> f64 {
    let t = ((value - lo) / (hi - lo)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A picture in rows of pixels: a frame before it is rounded to bytes, or a texture.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pub(super) pixels: Vec<Color>,
}

impl Canvas {
    /// The colours that `color` gives to each column and row, rows in parallel.
    fn from_fn(width: usize, height: usize, color: impl Fn(i64, i64) -> Color + Sync) -> Self {
        let mut pixels = vec![[0.0; 3]; width * height];
        pixels.par_chunks_mut(width).enumerate().for_each(|(row, line)| {
            line.iter_mut().zip(0..).for_each(|(pixel, column)| *pixel = color(column, row as i64));
        });
        Self { width, height, pixels }
    }

    /// Paints a texture, rounded to bytes; `paint` gets the centre of each pixel.
    fn paint(width: usize, height: usize, paint: impl Fn(f64, f64) -> Color + Sync) -> Self {
        Self::from_fn(width, height, |column, row| {
            let color = paint(column as f64 + 0.5, row as f64 + 0.5);
            each(|c| f32::from((color[c] + 0.5) as u8))
        })
    }

    /// Lays something over the pixels within `area` and `margin` pixels around it: `ink` gives its opacity (0 to 1) and
    /// colour at a point of the image. A pixel gets the mean of 4 x 4 samples.
    fn lay(&mut self, area: BBox, margin: f64, ink: impl Fn(f64, f64) -> (f64, Color)) {
        const SAMPLES: u32 = 4;
        const PART: f64 = 1.0 / SAMPLES as f64;
        // Casts from float saturate, so an area outside of the image is an empty range.
        let (left, top) = ((area.x - margin).floor() as usize, (area.y - margin).floor() as usize);
        let right = ((area.x + area.w + margin).ceil() as usize).min(self.width);
        let bottom = ((area.y + area.h + margin).ceil() as usize).min(self.height);
        let place = |pixel: usize, sample: u32| pixel as f64 + (f64::from(sample) + 0.5) * PART;
        for (row, column) in (top..bottom).flat_map(|row| (left..right).map(move |column| (row, column))) {
            let (mut cover, mut sum) = (0.0_f64, [0.0_f32; 3]);
            for sample in 0..SAMPLES * SAMPLES {
                let (alpha, color) = ink(place(column, sample % SAMPLES), place(row, sample / SAMPLES));
                cover += alpha;
                sum = each(|c| sum[c] + color[c] * alpha as f32);
            }
            let weight = (PART * PART) as f32;
            let rest = 1.0 - cover as f32 * weight;
            let pixel = &mut self.pixels[row * self.width + column];
            *pixel = each(|c| pixel[c] * rest + sum[c] * weight);
        }
    }

    /// Lays a round beam with slanted warning stripes over the picture.
    pub(super) fn lay_beam(&mut self, beam: Beam) {
        let (dark, light) = (rgb(0x34363c), rgb(0xd6d0c4));
        let (to_beam, stripe) = (beam.pose.to_object(), (1.6 * beam.half).clamp(8.0, 48.0));
        self.lay(BBox::new(0.0, 0.0, self.width as f64, self.height as f64), 0.0, |x, y| {
            let (distance, along) = to_beam(x, y);
            if distance.abs() > beam.half {
                return (0.0, dark);
            }
            let across = distance / beam.half;
            let place = (along + distance) / stripe;
            let band = (place - place.round()).abs() * 2.0;
            let color = blend(dark, light, smooth_step(0.5 - 1.0 / stripe, 0.5 + 1.0 / stripe, band));
            (1.0, shade(color, 1.08 - 0.45 * across * across - 0.1 * across))
        });
    }

    /// The pixel at `column`, `row`; outside, the border is repeated.
    fn at(&self, column: i64, row: i64) -> Color {
        let column = column.clamp(0, self.width as i64 - 1) as usize;
        let row = row.clamp(0, self.height as i64 - 1) as usize;
        self.pixels[row * self.width + column]
    }

    /// Bilinear interpolation; pixel centres lie at halves.
    fn linear(&self, x: f64, y: f64) -> Color {
        let (x, y) = (x - 0.5, y - 0.5);
        let (column, row) = (x.floor() as i64, y.floor() as i64);
        let line = |row| blend(self.at(column, row), self.at(column + 1, row), x - x.floor());
        blend(line(row), line(row + 1), y - y.floor())
    }

    /// `width` x `height` pixels of the texture; the corner of the first one lies at `left, top`, which may be
    /// fractional.
    ///
    /// Cubic interpolation (Catmull-Rom), which hardly changes sharpness with the fraction; whole shifts are exact.
    pub(super) fn cut(&self, left: f64, top: f64, width: usize, height: usize) -> Self {
        let (column, row) = (left.floor() as i64, top.floor() as i64);
        let (across, down) = (catmull_rom((left - left.floor()) as f32), catmull_rom((top - top.floor()) as f32));
        // The shift is the same for all pixels, so the rows are interpolated first.
        let line = |x, y| weighted(|k| self.at(column - 1 + x + k, row - 1 + y), across);
        let lines = Self::from_fn(width, height + 3, line);
        Self::from_fn(width, height, |x, y| {
            let sum = weighted(|k| lines.at(x, y + k), down);
            each(|c| sum[c].clamp(0.0, 255.0))
        })
    }

    /// Rounds to bytes.
    pub(super) fn to_image(&self) -> RgbImage {
        RgbImage::from_fn(self.width as u32, self.height as u32, |x, y| {
            Rgb(self.at(x.into(), y.into()).map(|value| (value + 0.5) as u8))
        })
    }
}

/// The sum of four colours times their weights.
fn weighted(tap: impl Fn(i64) -> Color, weights: [f32; 4]) -> Color {
    let taps = [tap(0), tap(1), tap(2), tap(3)];
    each(|c| taps[0][c] * weights[0] + taps[1][c] * weights[1] + taps[2][c] * weights[2] + taps[3][c] * weights[3])
}

/// The weights of the four neighbours of a point at the fraction `t` between the middle two.
fn catmull_rom(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [0.5 * (-t3 + 2.0 * t2 - t), 0.5 * (3.0 * t3 - 5.0 * t2 + 2.0), 0.5 * (-3.0 * t3 + 4.0 * t2 + t), 0.5 * (t3 - t2)]
}

/// 64 bits that belong to the lattice point `x, y`.
fn lattice(seed: u64, x: i64, y: i64) -> u64 {
    mix(mix(seed ^ x as u64) ^ y as u64)
}

/// The directions of the gradients.
const DIRECTIONS: [(f64, f64); 8] = {
    const D: f64 = std::f64::consts::FRAC_1_SQRT_2;
    [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (D, D), (-D, D), (D, -D), (-D, -D)]
};

/// Gradient noise (Perlin 2002) in about -1 to 1; its lattice has the spacing 1.
fn gradient(seed: u64, x: f64, y: f64) -> f64 {
    let (x0, y0) = (x.floor(), y.floor());
    let (fx, fy) = (x - x0, y - y0);
    let (ix, iy) = (x0 as i64, y0 as i64);
    let corner = |dx: i64, dy: i64| {
        let (gx, gy) = DIRECTIONS[(lattice(seed, ix.wrapping_add(dx), iy.wrapping_add(dy)) >> 61) as usize];
        gx * (fx - dx as f64) + gy * (fy - dy as f64)
    };
    let fade = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (u, v) = (fade(fx), fade(fy));
    let top = corner(0, 0) + u * (corner(1, 0) - corner(0, 0));
    let bottom = corner(0, 1) + u * (corner(1, 1) - corner(0, 1));
    (top + v * (bottom - top)) * std::f64::consts::SQRT_2
}

/// `octaves` layers of gradient noise, each of twice the frequency and half the strength of the one before; about -1 to
/// 1.
fn fractal(seed: u64, x: f64, y: f64, octaves: u32) -> f64 {
    let (mut sum, mut strength, mut total, mut frequency) = (0.0, 1.0, 0.0, 1.0);
    for octave in 0..octaves {
        sum += strength * gradient(seed ^ mix(u64::from(octave)), x * frequency, y * frequency);
        total += strength;
        strength *= 0.5;
        frequency *= 2.0;
    }
    sum / total
}

/// Landscapes: the ground's darkest and brightest colour, both pavings, road, line, stone, bush.
const LANDSCAPES: [[u32; 8]; 4] = [
    // Meadow, desert, snow, evening.
    [0x587a3e, 0x9e985c, 0xb2a896, 0x94887a, 0x68686e, 0xe2decc, 0xa8a49e, 0x2e562c],
    [0xc4a474, 0xe0ca9c, 0xac8468, 0xccaa8a, 0x80746c, 0xf0e4c4, 0x96745c, 0x687646],
    [0xbac4ce, 0xe2e6e8, 0x8a8e98, 0xa8acb4, 0x6a707a, 0xdec46e, 0x787c82, 0x3e5c4e],
    [0x3e5258, 0x686a58, 0x7c6e74, 0x625862, 0x42424c, 0xcebe8c, 0x847e84, 0x223a34],
];

/// A band of asphalt that winds through the picture.
struct Road {
    /// Sine and cosine of its direction.
    turn: (f64, f64),
    offset: f64,
    swing: f64,
    length: f64,
    half: f64,
}

impl Road {
    /// Signed distance of a point from the middle of the road, and the place along it, in pixels.
    fn across(&self, x: f64, y: f64) -> (f64, f64) {
        let (sin, cos) = self.turn;
        let along = x * cos + y * sin;
        (x * sin - y * cos - self.offset + self.swing * libm::sin(along / self.length), along)
    }
}

/// Everything that decides the colour of a point of the ground.
struct Ground {
    seed: u64,
    /// Pixels per unit: structures grow with the image, so a large image is not covered by tiny ones.
    unit: f64,
    roads: [Road; 2],
    /// One of [`LANDSCAPES`].
    colors: [Color; 8],
}

/// Paints the ground seen from above, with `margin` pixels more than the image on every side.
pub(super) fn paint_ground(params: &SceneParams, margin: usize) -> Canvas {
    let (width, height) = (params.width as usize + 2 * margin, params.height as usize + 2 * margin);
    let area = f64::from(params.width) * f64::from(params.height);
    let unit = (area / (320.0 * 240.0)).sqrt().clamp(0.4, 8.0);
    let mut rng = stream(params.seed, "ground", 0);
    let landscape = LANDSCAPES[uniform(&mut rng, 0.0, 4.0) as usize];
    let first = uniform(&mut rng, 0.0, 360.0);
    let roads = [0.0, 1.0].map(|i| {
        let (sin, cos) = sin_cos(first + i * uniform(&mut rng, 55.0, 125.0));
        // Each road passes near the middle of the picture.
        let (x, y) = (width as f64 * uniform(&mut rng, 0.25, 0.75), height as f64 * uniform(&mut rng, 0.25, 0.75));
        Road {
            turn: (sin, cos),
            offset: x * sin - y * cos,
            swing: unit * uniform(&mut rng, 8.0, 22.0),
            length: unit * uniform(&mut rng, 34.0, 60.0),
            half: unit * uniform(&mut rng, 13.0, 19.0),
        }
    });
    let ground = Ground { seed: bits(params.seed, "ground lattice", 0), unit, roads, colors: landscape.map(rgb) };
    Canvas::paint(width, height, |x, y| ground.color(x, y))
}

impl Ground {
    fn color(&self, x: f64, y: f64) -> Color {
        let (u, v) = (x / self.unit, y / self.unit);
        let patches = fractal(self.seed, u / 70.0, v / 70.0, 4);
        let grain = fractal(self.seed ^ 0x51, u / 7.0, v / 7.0, 3);
        let [low, high, ..] = self.colors;
        let soil = shade(blend(low, high, smooth_step(-0.25, 0.3, patches)), 1.0 + 0.30 * grain);
        let paved = self.paving(soil, u, v, grain);
        let crossed = self.roads.iter().fold(paved, |below, road| self.road(below, road, x, y, grain));
        self.things(crossed, u, v)
    }

    /// Slabs where a slow noise is high: checks with joints.
    fn paving(&self, below: Color, u: f64, v: f64, grain: f64) -> Color {
        const SLAB: f64 = 15.0;
        let inside = fractal(self.seed ^ 0xa7, u / 95.0, v / 95.0, 2);
        let cover = smooth_step(0.10, 0.125, inside);
        let (column, row) = ((u / SLAB).floor(), (v / SLAB).floor());
        let bits = lattice(self.seed ^ 0x3c, column as i64, row as i64);
        let slab = self.colors[2 + ((column + row).rem_euclid(2.0)) as usize % 2];
        let slab = shade(slab, 0.88 + 0.24 * fraction(bits, 0) + 0.10 * grain);
        let edge = |t: f64| (t - t.round()).abs() * SLAB;
        let joint = edge(u / SLAB).min(edge(v / SLAB));
        let slab = blend(shade(slab, 0.55), slab, smooth_step(0.5, 1.3, joint));
        let rim = 1.0 - smooth_step(0.125, 0.145, inside);
        blend(below, blend(slab, shade(slab, 0.6), rim), cover)
    }

    fn road(&self, below: Color, road: &Road, x: f64, y: f64, grain: f64) -> Color {
        let (pixel, (across, along)) = (self.unit, road.across(x, y));
        let distance = across.abs();
        let cover = 1.0 - smooth_step(road.half - 0.6 * pixel, road.half + 0.6 * pixel, distance);
        let [.., asphalt, white, _, _] = self.colors;
        let mut color = shade(asphalt, 1.0 + 0.16 * grain);
        let line =
            |centre: f64, half: f64| 1.0 - smooth_step(half - 0.5, half + 0.5, (distance - centre).abs() / pixel);
        color = blend(color, white, 0.85 * line(road.half - 3.0 * pixel, 0.9));
        if (along / (13.0 * pixel)).rem_euclid(1.0) < 0.55 {
            color = blend(color, white, 0.85 * line(0.0, 1.0));
        }
        blend(below, color, cover)
    }

    /// Stones and bushes: one a cell of a jittered grid, at most, each with a shadow and a bright side.
    fn things(&self, below: Color, u: f64, v: f64) -> Color {
        const CELL: f64 = 34.0;
        let (column, row) = ((u / CELL).floor(), (v / CELL).floor());
        let mut color = below;
        for (dx, dy) in (-1..2).flat_map(|dy| (-1..2).map(move |dx| (dx, dy))) {
            let (cx, cy) = (column as i64 + dx, row as i64 + dy);
            let bits = lattice(self.seed ^ 0x77, cx, cy);
            let bush = fraction(bits, 0) < 0.2;
            let x = (cx as f64 + 0.15 + 0.7 * fraction(bits, 1)) * CELL;
            let y = (cy as f64 + 0.15 + 0.7 * fraction(bits, 2)) * CELL;
            // Roads are kept free, except for bushes and stones at their edge.
            let (px, py) = (x * self.unit, y * self.unit);
            let near = |road: &Road| road.across(px, py).0.abs() < road.half + 2.0 * self.unit;
            if fraction(bits, 0) > 0.42 || self.roads.iter().any(near) {
                continue;
            }
            let [smallest, more, ragged, rough] = if bush { [6.0, 7.0, 0.32, 0.55] } else { [3.5, 4.5, 0.12, 0.18] };
            let (radius, own) = (smallest + more * fraction(bits, 3), self.colors[if bush { 7 } else { 6 }]);
            let reach = |px: f64, py: f64| {
                let wobble = gradient(bits, px / (radius * 0.7), py / (radius * 0.7));
                (px * px + py * py).sqrt() / radius + ragged * wobble
            };
            let shadow = smooth_step(1.25, 0.85, reach(u - x - 0.22 * radius, v - y - 0.28 * radius));
            color = shade(color, 1.0 - 0.42 * shadow);
            let inside = smooth_step(1.0 + 0.7 / radius, 1.0 - 0.7 / radius, reach(u - x, v - y));
            // Light from the upper left, as for the shadow.
            let light = 1.0 - 0.38 * ((u - x) + (v - y)) / radius;
            let texture = 1.0 + rough * fractal(bits, u / 3.2, v / 3.2, 2);
            color = blend(color, shade(own, light * texture), inside);
        }
        color
    }
}

/// A car seen from above, which can be laid over a canvas in any pose.
#[derive(Clone, Debug)]
pub(super) struct Sprite {
    pub(super) outline: Outline,
    /// Texels per pixel.
    density: f64,
    pub(super) texture: Canvas,
}

impl Sprite {
    /// The target for `likeness` 0, else one of its look-alikes.
    pub(super) fn new(params: &SceneParams, likeness: u64) -> Self {
        /// Larger targets are painted more coarsely.
        const MAX_TEXELS: f64 = 4e6;
        let (width, height) = (f64::from(params.target_width), f64::from(params.target_height));
        let density = (MAX_TEXELS / (width * height)).sqrt().clamp(0.25, 2.0);
        let car = Car::new(params.seed, likeness);
        let (columns, rows) = ((width * density).ceil(), (height * density).ceil());
        let texture = Canvas::paint(columns as usize, rows as usize, |x, y| {
            let (u, v) = (2.0 * x / columns - 1.0, 2.0 * y / rows - 1.0);
            // The car lies along the longer side.
            if height >= width { car.color(u, v, width / height) } else { car.color(v, -u, height / width) }
        });
        Self { outline: Outline::new(params.target_width, params.target_height), density, texture }
    }

    /// Lays the object, and beneath it its shadow, over the canvas.
    pub(super) fn lay(&self, canvas: &mut Canvas, pose: Pose) {
        /// Width in pixels, at scale 1, of the band in which the object fades out.
        const SOFT: f64 = 1.2;
        let Outline { a, b } = self.outline;
        let depth = 0.07 * a.min(b) * pose.scale;
        let cast = Pose { x: pose.x + depth, y: pose.y + 1.4 * depth, ..pose };
        let to_object = cast.to_object();
        canvas.lay(cast.bbox(self.outline), 3.0 + 3.0 * depth, |x, y| {
            let (u, v) = to_object(x, y);
            (0.45 * self.outline.coverage(u, v, SOFT * (1.0 + 3.0 * depth / pose.scale)), rgb(0x121218))
        });
        let to_object = pose.to_object();
        canvas.lay(pose.bbox(self.outline), 2.0, |x, y| {
            let (u, v) = to_object(x, y);
            let alpha = self.outline.coverage(u, v, SOFT);
            let texel = || self.texture.linear((u + a) * self.density, (v + b) * self.density);
            (alpha, if alpha > 0.0 { texel() } else { [0.0; 3] })
        });
    }
}

/// The look of a car in coordinates -1 to 1 across (`u`) and along (`v`, the front is at -1).
struct Car {
    seed: u64,
    body: Color,
    trim: Color,
    stripes: f64,
    spot: (f64, f64),
}

impl Car {
    fn new(seed: u32, likeness: u64) -> Self {
        const BODIES: [u32; 5] = [0xce2c26, 0xe88a1a, 0x226cc4, 0xecc42c, 0xa44ecc];
        let body = |rng: &mut _| rgb(BODIES[uniform(rng, 0.0, 5.0) as usize]);
        let own = body(&mut stream(seed, "car", 0));
        let (paint, trim) = (bits(seed, "paint", likeness), rgb(0xf0ece0));
        if likeness == 0 {
            return Self { seed: paint, body: own, trim, stripes: 0.2, spot: (0.0, 0.08) };
        }
        // A look-alike is the same model as the target, with another paint of similar lightness, other stripes and
        // another spot.
        let mut rng = stream(seed, "look-alike", likeness);
        let other = body(&mut rng);
        Self {
            seed: paint,
            body: blend(own, other, uniform(&mut rng, 0.1, 0.7)),
            trim: blend(trim, rgb(0x282a32), uniform(&mut rng, 0.0, 0.9)),
            stripes: uniform(&mut rng, 0.05, 0.4),
            spot: (uniform(&mut rng, -0.2, 0.2), uniform(&mut rng, -0.05, 0.25)),
        }
    }

    fn color(&self, u: f64, v: f64, aspect: f64) -> Color {
        let side = u.abs();
        let mut color = shade(self.body, 1.0 + 0.08 * fractal(self.seed, u * 5.0, v * 5.0, 2));
        // Rounded flanks, darker towards the rim, lighter where the light comes from.
        color = shade(color, 1.08 - 0.14 * u - 0.08 * v - 0.34 * smooth_step(0.72, 1.0, side));
        let stripe = smooth_step(0.10, 0.06, (side - self.stripes).abs());
        color = blend(color, self.trim, stripe);
        // Bonnet and boot lines.
        let crease = smooth_step(0.035, 0.015, (v + 0.52 - 0.10 * u * u).abs());
        color = blend(color, rgb(0x141418), 0.6 * crease);
        // Front and rear windows, and the side windows between: a cabin with a roof in it.
        let cabin = window(side, 0.76, 0.03) * window_between(v, -0.42 + 0.08 * u * u, 0.66 - 0.06 * u * u, 0.025);
        let roof = window(side, 0.56, 0.03) * window_between(v, -0.16, 0.42, 0.025);
        let shine = smooth_step(0.10, 0.02, (u * 0.8 + v + 0.1 - 0.25).abs());
        let pillars = smooth_step(0.03, 0.015, (v - 0.12).abs());
        let pane = blend(blend(rgb(0x263446), rgb(0x96b0c8), 0.6 * shine), self.body, pillars);
        let panel = blend(shade(self.body, 1.15 - 0.10 * u), self.trim, stripe);
        color = blend(color, pane, cabin);
        color = blend(color, panel, roof);
        // A start number: a light disc with a dark mark that is not symmetric.
        let (du, dv) = ((u - self.spot.0) * aspect, v - self.spot.1);
        let disc = smooth_step(0.17, 0.145, (du * du + dv * dv).sqrt());
        color = blend(color, rgb(0xf6f4ee), disc);
        let upright = window(du.abs(), 0.03, 0.012) * window(dv.abs(), 0.10, 0.012);
        let flag = window_between(du, -0.03, 0.085, 0.012) * window_between(dv, -0.10, -0.045, 0.012);
        color = blend(color, rgb(0x16161c), upright.max(flag));
        // Lamps and bumpers.
        let lamp = |centre: f64, radius: f64| {
            let (lu, lv) = ((side - 0.62) / 0.2, (v - centre) / radius);
            smooth_step(1.15, 0.85, (lu * lu + lv * lv).sqrt())
        };
        color = blend(color, rgb(0x121216), 0.7 * smooth_step(0.945, 0.965, v.abs()));
        color = blend(color, rgb(0xfff6c4), lamp(-0.84, 0.075));
        blend(color, rgb(0xfa3e28), lamp(0.87, 0.05))
    }
}

/// 1 below `edge`, 0 above, with a step of `soft` on both sides.
fn window(value: f64, edge: f64, soft: f64) -> f64 {
    1.0 - smooth_step(edge - soft, edge + soft, value)
}

/// 1 between `lo` and `hi`.
fn window_between(value: f64, lo: f64, hi: f64, soft: f64) -> f64 {
    window(value, hi, soft) * (1.0 - window(value, lo, soft))
}

/// Changes the light: value -> 255 (gain (value / 255)^gamma) + offset, the gain tilted by a light that wanders; no
/// change in frame 0.
pub(super) fn light(canvas: &mut Canvas, params: &SceneParams, t: f64) {
    let strength = params.illumination;
    let swing = |tag, lo, hi| swing(params.seed, tag, lo, hi, t);
    let gain = 1.0 + 0.35 * strength * swing("gain", 80.0, 130.0);
    let offset = 24.0 * strength * swing("offset", 60.0, 100.0);
    let gamma = libm::exp(0.5 * strength * swing("gamma", 90.0, 140.0));
    let (tilt_x, tilt_y) =
        (0.7 * strength * swing("lamp across", 50.0, 90.0), 0.5 * strength * swing("lamp down", 70.0, 120.0));
    // The power of a byte's value, tabulated finely enough for the steps between.
    const STEPS: usize = 1024;
    let curve: Vec<f32> = (0..=STEPS + 1).map(|i| (255.0 * libm::pow(i as f64 / STEPS as f64, gamma)) as f32).collect();
    let bent = |value: f32| {
        let place = value.clamp(0.0, 255.0) / 255.0 * STEPS as f32;
        let step = place as usize;
        curve[step] + (curve[step + 1] - curve[step]) * (place - step as f32)
    };
    let place = |at: i64, side: usize| (at as f64 + 0.5) / side as f64 - 0.5;
    *canvas = Canvas::from_fn(canvas.width, canvas.height, |x, y| {
        let tilt = tilt_x * place(x, canvas.width) + tilt_y * place(y, canvas.height);
        let (gain, pixel) = ((gain * (1.0 + tilt)) as f32, canvas.at(x, y));
        each(|c| (gain * bent(pixel[c]) + offset as f32).clamp(0.0, 255.0))
    });
}

/// Adds the sensor's noise of frame `index`.
///
/// It is nearly normal, with tails that end at 3.46: four 16-bit uniforms of one draw, summed, in integers only.
pub(super) fn add_noise(canvas: &mut Canvas, params: &SceneParams, index: usize) {
    let mut rng = stream(params.seed, "sensor", index as u64);
    let mut normal = || {
        let bits = rng.next_u64();
        let sum = (0..4).map(|lane| i32::from((bits >> (16 * lane)) as u16)).sum::<i32>();
        // Four uniforms over 0..65535 have the mean 131070 and the variance 4 * 65536^2 / 12.
        (sum - 131_070) as f32 / 37_837.2
    };
    for pixel in &mut canvas.pixels {
        *pixel = each(|c| pixel[c] + params.noise as f32 * normal());
    }
}

/// Gaussian blur of standard deviation `sigma` (positive) in pixels, the border repeated.
pub(super) fn defocus(canvas: &mut Canvas, sigma: f64) {
    let radius = (3.0 * sigma).ceil() as usize;
    let bell = |d: usize| libm::exp(-((d * d) as f64) / (2.0 * sigma * sigma));
    let total = bell(0) + 2.0 * (1..=radius).map(bell).sum::<f64>();
    let weights: Vec<f32> = (0..=radius).map(|d| (bell(d) / total) as f32).collect();
    let smooth = |from: &Canvas, (dx, dy): (i64, i64)| {
        Canvas::from_fn(from.width, from.height, |x, y| {
            let middle = from.at(x, y);
            (1..).zip(&weights[1..]).fold(each(|c| middle[c] * weights[0]), |sum, (d, weight)| {
                let (back, ahead) = (from.at(x - d * dx, y - d * dy), from.at(x + d * dx, y + d * dy));
                each(|c| sum[c] + (back[c] + ahead[c]) * weight)
            })
        })
    };
    *canvas = smooth(&smooth(canvas, (1, 0)), (0, 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pixel_of_white_is_half_as_bright() {
        let mut canvas = Canvas::from_fn(4, 1, |_, _| [0.0; 3]);
        canvas.lay(BBox::new(0.0, 0.0, 4.0, 1.0), 0.0, |x, _| (f64::from(u8::from(x < 1.5)), [200.0; 3]));
        assert_eq!(canvas.pixels.iter().map(|p| p[0]).collect::<Vec<_>>(), [200.0, 100.0, 0.0, 0.0]);
    }

    #[test]
    fn both_interpolations_reproduce_a_ramp_and_its_pixels() {
        let value = |x: f64, y: f64| (x * 4.0 + y * 2.0 - 3.0) as f32;
        let ramp = Canvas::paint(20, 20, |x, y| [value(x, y); 3]);
        assert!((ramp.linear(6.25, 9.5)[0] - value(6.25, 9.5)).abs() < 1e-3);
        for (left, top) in [(5.0, 7.0), (5.25, 7.0), (6.5, 7.9)] {
            let last = ramp.cut(left, top, 6, 5).pixels[4 * 6 + 5][0];
            assert!((last - value(left + 5.5, top + 4.5)).abs() < 1e-3, "{last}");
        }
    }

    #[test]
    fn defocus_keeps_the_light_and_has_its_width() {
        let mut canvas = Canvas::from_fn(41, 41, |_, _| [0.0; 3]);
        canvas.pixels[20 * 41 + 20] = [1000.0; 3];
        defocus(&mut canvas, 2.0);
        let light = |weight: &dyn Fn(f64) -> f64| -> f64 {
            let pixels = canvas.pixels.iter().enumerate();
            pixels.map(|(at, pixel)| f64::from(pixel[0]) * weight((at % 41) as f64 - 20.0)).sum()
        };
        let (sum, second) = (light(&|_| 1.0), light(&|x| x * x));
        // The bell ends at three standard deviations.
        assert!((sum - 1000.0).abs() < 0.1 && (second / sum - 4.0).abs() < 0.15, "{sum} {}", second / sum);
    }

    #[test]
    fn noise_has_its_mean_and_strength() {
        let mut canvas = Canvas::from_fn(200, 100, |_, _| [0.0; 3]);
        add_noise(&mut canvas, &SceneParams { noise: 5.0, ..SceneParams::default() }, 3);
        let mean = |power: i32| canvas.pixels.iter().map(|p| f64::from(p[1]).powi(power)).sum::<f64>() / 20_000.0;
        assert!(mean(1).abs() < 0.1 && (mean(2).sqrt() - 5.0).abs() < 0.1, "{} {}", mean(1), mean(2));
    }
}
