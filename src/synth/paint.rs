//! Pixels: canvas and textures, noise, the ground, the sprites and the camera's optics.

use image::{Rgb, RgbImage};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::motion::Swing;
use super::motion::{Outline, Pose};
use super::params::{Pattern, SceneParams};
use crate::bbox::BBox;

/// Red, green, blue, each nominally 0 to 255.
pub(super) type Colour = [f32; 3];

/// A colour from each of its channels in turn. The arrays' own `map` does the same, but is a call for every pixel where
/// the tests are built.
#[inline(always)]
pub(super) fn each(mut channel: impl FnMut(usize) -> f32) -> Colour {
    [channel(0), channel(1), channel(2)]
}

/// Rounds to bytes; the cast saturates.
#[inline(always)]
fn bytes(colour: Colour) -> [u8; 3] {
    [(colour[0] + 0.5) as u8, (colour[1] + 0.5) as u8, (colour[2] + 0.5) as u8]
}

/// `a` for `t = 0`, `b` for `t = 1`; `t` is clipped.
pub(super) fn blend(a: Colour, b: Colour, t: f64) -> Colour {
    let t = t.clamp(0.0, 1.0) as f32;
    each(|c| a[c] + (b[c] - a[c]) * t)
}

/// A colour made lighter or darker.
pub(super) fn shade(colour: Colour, gain: f64) -> Colour {
    each(|c| colour[c] * gain as f32)
}

/// 0 below `lo`, 1 above `hi`, a smooth step between.
pub(super) fn smooth_step(lo: f64, hi: f64, value: f64) -> f64 {
    let t = ((value - lo) / (hi - lo)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A frame before it is rounded to bytes, row by row.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<Colour>,
    /// Samples per pixel and axis with which a layer's coverage is counted.
    pub(super) fineness: u32,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![[0.0; 3]; width * height], fineness: 4 }
    }

    /// Lays something over the pixels within `area`: `ink` tells its opacity (0 to 1) and colour at a point of the
    /// image.
    ///
    /// The opacity of a pixel is the mean of `fineness` x `fineness` samples. `near` may tell early that a pixel, given
    /// by its centre, has none of it.
    pub(super) fn lay(&mut self, area: BBox, near: impl Fn(f64, f64) -> bool, ink: impl Fn(f64, f64) -> (f64, Colour)) {
        // Casts from float saturate, so that whatever lies outside gives an empty range.
        let (left, top) = (area.x.floor().max(0.0) as usize, area.y.floor().max(0.0) as usize);
        let right = ((area.x + area.w).ceil().max(0.0) as usize).min(self.width);
        let bottom = ((area.y + area.h).ceil().max(0.0) as usize).min(self.height);
        let fineness = self.fineness;
        let part = 1.0 / f64::from(fineness);
        for row in top..bottom {
            for column in left..right {
                let (x, y) = (column as f64, row as f64);
                if !near(x + 0.5, y + 0.5) {
                    continue;
                }
                let (mut cover, mut sum) = (0.0_f64, [0.0_f32; 3]);
                for sub in 0..fineness * fineness {
                    let dx = (f64::from(sub % fineness) + 0.5) * part;
                    let dy = (f64::from(sub / fineness) + 0.5) * part;
                    let (alpha, colour) = ink(x + dx, y + dy);
                    if alpha > 0.0 {
                        cover += alpha;
                        sum = each(|c| sum[c] + colour[c] * alpha as f32);
                    }
                }
                if cover > 0.0 {
                    let weight = (part * part) as f32;
                    let rest = 1.0 - cover as f32 * weight;
                    let pixel = &mut self.pixels[row * self.width + column];
                    *pixel = each(|c| pixel[c] * rest + sum[c] * weight);
                }
            }
        }
    }

    /// Adds another canvas of the same size, times `weight`.
    pub(super) fn add(&mut self, other: &Self, weight: f32) {
        for (mine, theirs) in self.pixels.iter_mut().zip(&other.pixels) {
            *mine = each(|c| mine[c] + theirs[c] * weight);
        }
    }

    /// Rounds to bytes.
    pub(super) fn to_image(&self) -> RgbImage {
        RgbImage::from_fn(self.width as u32, self.height as u32, |x, y| {
            Rgb(bytes(self.pixels[y as usize * self.width + x as usize]))
        })
    }
}

/// A picture to paint with, in bytes, read at fractional positions. Outside, its border is repeated.
#[derive(Clone, Debug)]
pub(super) struct Texture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Texture {
    /// Paints `width` x `height` pixels (both at least 1), rows in parallel; `paint` gets the coordinates of a pixel's
    /// centre.
    pub(super) fn paint(width: usize, height: usize, paint: impl Fn(f64, f64) -> Colour + Sync) -> Self {
        use rayon::prelude::*;
        let (width, height) = (width.max(1), height.max(1));
        let mut pixels = vec![[0; 3]; width * height];
        pixels.par_chunks_mut(width).enumerate().for_each(|(row, line)| {
            for (column, pixel) in line.iter_mut().enumerate() {
                *pixel = bytes(paint(column as f64 + 0.5, row as f64 + 0.5));
            }
        });
        Self { width, height, pixels }
    }

    fn at(&self, column: i64, row: i64) -> Colour {
        let column = column.clamp(0, self.width as i64 - 1) as usize;
        let row = row.clamp(0, self.height as i64 - 1) as usize;
        let pixel = &self.pixels[row * self.width + column];
        each(|c| f32::from(pixel[c]))
    }

    /// Bilinear interpolation; pixel centres lie at halves.
    pub(super) fn linear(&self, x: f64, y: f64) -> Colour {
        let (x, y) = (x - 0.5, y - 0.5);
        let (x0, y0) = (x.floor(), y.floor());
        let (ix, iy) = (x0 as i64, y0 as i64);
        let (right, below) = (ix.saturating_add(1), iy.saturating_add(1));
        let top = blend(self.at(ix, iy), self.at(right, iy), x - x0);
        let bottom = blend(self.at(ix, below), self.at(right, below), x - x0);
        blend(top, bottom, y - y0)
    }

    /// `width` x `height` pixels of the texture; the first one's corner lies at `left, top`, which may be fractional.
    ///
    /// Cubic interpolation (Catmull-Rom), which hardly changes sharpness with the fraction; whole shifts are exact.
    pub(super) fn cut(&self, left: f64, top: f64, width: usize, height: usize) -> Canvas {
        let (x0, y0) = (left.floor(), top.floor());
        let (across, down) = (catmull_rom((left - x0) as f32), catmull_rom((top - y0) as f32));
        let (ix, iy) = (x0 as i64, y0 as i64);
        // The shift is the same for all pixels, so rows can go first.
        let mut rows = Canvas::new(width, height + 3);
        for (row, line) in (iy - 1..).zip(rows.pixels.chunks_mut(width)) {
            for (column, pixel) in (ix..).zip(line) {
                *pixel = weighted(|k| self.at(column - 1 + k as i64, row), &across);
            }
        }
        let mut cut = Canvas::new(width, height);
        for (row, line) in cut.pixels.chunks_mut(width).enumerate() {
            for (column, pixel) in line.iter_mut().enumerate() {
                let sum = weighted(|k| rows.pixels[(row + k) * width + column], &down);
                *pixel = each(|c| sum[c].clamp(0.0, 255.0));
            }
        }
        cut
    }
}

/// The sum of four colours times their weights.
#[inline(always)]
fn weighted(tap: impl Fn(usize) -> Colour, weights: &[f32; 4]) -> Colour {
    let taps = [tap(0), tap(1), tap(2), tap(3)];
    each(|c| taps[0][c] * weights[0] + taps[1][c] * weights[1] + taps[2][c] * weights[2] + taps[3][c] * weights[3])
}

/// The weights of the four neighbours of a point at the fraction `t` between the middle two.
fn catmull_rom(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [0.5 * (-t3 + 2.0 * t2 - t), 0.5 * (3.0 * t3 - 5.0 * t2 + 2.0), 0.5 * (-3.0 * t3 + 4.0 * t2 + t), 0.5 * (t3 - t2)]
}

/// A generator for one purpose (`tag`) and one item of it (`index`, a frame or an object).
pub(super) fn stream(seed: u64, tag: &str, index: u64) -> Pcg64Mcg {
    let mixed = tag.bytes().fold(mix(seed), |hash, byte| mix(hash ^ u64::from(byte)));
    Pcg64Mcg::seed_from_u64(mix(mixed ^ index))
}

/// A number in `lo..hi` with 53 random bits.
pub(super) fn uniform(rng: &mut Pcg64Mcg, lo: f64, hi: f64) -> f64 {
    lo + (hi - lo) * ((rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
}

/// A nearly normal number of mean 0 and variance 1: four 16-bit uniforms of one draw, summed.
///
/// Integers only; the tails end at 3.46.
pub(super) fn normal(rng: &mut Pcg64Mcg) -> f32 {
    let bits = rng.next_u64();
    let sum = (0..4).map(|lane| (bits >> (16 * lane)) as u16).map(i32::from).sum::<i32>();
    // Four uniforms over 0..65535 have the mean 131070 and the variance 4 * 65536^2 / 12.
    (sum - 131_070) as f32 / 37_837.2
}

/// SplitMix64's finaliser: every bit of the input turns about half of the output's bits.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number of 64 random bits for one purpose, to seed a [`lattice`] with.
pub(super) fn bits(seed: u64, tag: &str, index: u64) -> u64 {
    stream(seed, tag, index).next_u64()
}

/// 64 bits that belong to the lattice point `x, y`.
pub(super) fn lattice(seed: u64, x: i64, y: i64) -> u64 {
    mix(mix(seed ^ x as u64) ^ y as u64)
}

/// The `slot`-th (0 to 3) number in 0..1 out of the 64 bits of a lattice point.
pub(super) fn fraction(bits: u64, slot: u32) -> f64 {
    f64::from((bits >> (16 * (slot % 4))) as u16) / 65_536.0
}

/// Gradient noise (Perlin 2002) in about -1 to 1; its lattice has the spacing 1.
pub(super) fn gradient(seed: u64, x: f64, y: f64) -> f64 {
    let (x0, y0) = (x.floor(), y.floor());
    let (fx, fy) = (x - x0, y - y0);
    let (ix, iy) = (x0 as i64, y0 as i64);
    let corner = |dx: i64, dy: i64| {
        const DIAGONAL: f64 = std::f64::consts::FRAC_1_SQRT_2;
        let (gx, gy) = match lattice(seed, ix.wrapping_add(dx), iy.wrapping_add(dy)) >> 61 {
            0 => (1.0, 0.0),
            1 => (-1.0, 0.0),
            2 => (0.0, 1.0),
            3 => (0.0, -1.0),
            4 => (DIAGONAL, DIAGONAL),
            5 => (-DIAGONAL, DIAGONAL),
            6 => (DIAGONAL, -DIAGONAL),
            _ => (-DIAGONAL, -DIAGONAL),
        };
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
pub(super) fn fractal(seed: u64, x: f64, y: f64, octaves: u32) -> f64 {
    let (mut sum, mut strength, mut total, mut frequency) = (0.0, 1.0, 0.0, 1.0);
    for octave in 0..octaves {
        sum += strength * gradient(seed ^ mix(u64::from(octave)), x * frequency, y * frequency);
        total += strength;
        strength *= 0.5;
        frequency *= 2.0;
    }
    if total > 0.0 { sum / total } else { 0.0 }
}

/// The colours of one landscape.
struct Palette {
    low: Colour,
    high: Colour,
    paving: [Colour; 2],
    road: Colour,
    line: Colour,
    stone: Colour,
    bush: Colour,
}

const PALETTES: [Palette; 4] = [
    // A meadow.
    Palette {
        low: [88.0, 122.0, 62.0],
        high: [158.0, 152.0, 92.0],
        paving: [[178.0, 168.0, 150.0], [148.0, 136.0, 122.0]],
        road: [104.0, 104.0, 110.0],
        line: [226.0, 222.0, 204.0],
        stone: [168.0, 164.0, 158.0],
        bush: [46.0, 86.0, 44.0],
    },
    // A desert.
    Palette {
        low: [196.0, 164.0, 116.0],
        high: [224.0, 202.0, 156.0],
        paving: [[172.0, 132.0, 104.0], [204.0, 170.0, 138.0]],
        road: [128.0, 116.0, 108.0],
        line: [240.0, 228.0, 196.0],
        stone: [150.0, 116.0, 92.0],
        bush: [104.0, 118.0, 70.0],
    },
    // Snow.
    Palette {
        low: [186.0, 196.0, 206.0],
        high: [226.0, 230.0, 232.0],
        paving: [[138.0, 142.0, 152.0], [168.0, 172.0, 180.0]],
        road: [106.0, 112.0, 122.0],
        line: [222.0, 196.0, 110.0],
        stone: [120.0, 124.0, 130.0],
        bush: [62.0, 92.0, 78.0],
    },
    // Evening.
    Palette {
        low: [62.0, 82.0, 88.0],
        high: [104.0, 106.0, 88.0],
        paving: [[124.0, 110.0, 116.0], [98.0, 88.0, 98.0]],
        road: [66.0, 66.0, 76.0],
        line: [206.0, 190.0, 140.0],
        stone: [132.0, 126.0, 132.0],
        bush: [34.0, 58.0, 52.0],
    },
];

/// A band of asphalt that winds through the picture.
struct Road {
    sin: f64,
    cos: f64,
    offset: f64,
    swing: f64,
    length: f64,
    half: f64,
}

/// Everything that decides the colour of a point of the ground.
struct Ground {
    seed: u64,
    palette: &'static Palette,
    /// Pixels per unit: structures grow with the image, so that a large one does not become a plain of dust.
    unit: f64,
    roads: Vec<Road>,
}

/// Paints `width` x `height` pixels of ground, of which the image shows `shown` (width, height) at a time.
pub(super) fn paint_ground(seed: u64, width: usize, height: usize, shown: (u32, u32)) -> Texture {
    let area = f64::from(shown.0) * f64::from(shown.1);
    let unit = (area / (320.0 * 240.0)).sqrt().clamp(0.4, 8.0);
    let mut rng = stream(seed, "ground", 0);
    let palette = &PALETTES[((uniform(&mut rng, 0.0, 4.0)) as usize).min(PALETTES.len() - 1)];
    let first = uniform(&mut rng, 0.0, 360.0);
    let roads = (0..2)
        .map(|i| {
            let (sin, cos) = super::motion::sin_cos(first + f64::from(i) * uniform(&mut rng, 55.0, 125.0));
            // Each road passes near the middle of the picture.
            let (x, y) = (width as f64 * uniform(&mut rng, 0.25, 0.75), height as f64 * uniform(&mut rng, 0.25, 0.75));
            Road {
                sin,
                cos,
                offset: x * sin - y * cos,
                swing: unit * uniform(&mut rng, 8.0, 22.0),
                length: unit * uniform(&mut rng, 34.0, 60.0),
                half: unit * uniform(&mut rng, 13.0, 19.0),
            }
        })
        .collect();
    let ground = Ground { seed: bits(seed, "ground lattice", 0), palette, unit, roads };
    Texture::paint(width, height, |x, y| ground.colour(x, y))
}

impl Ground {
    fn colour(&self, x: f64, y: f64) -> Colour {
        let (u, v) = (x / self.unit, y / self.unit);
        let patches = fractal(self.seed, u / 70.0, v / 70.0, 4);
        let grain = fractal(self.seed ^ 0x51, u / 7.0, v / 7.0, 3);
        let mut colour = blend(self.palette.low, self.palette.high, smooth_step(-0.25, 0.3, patches));
        colour = shade(colour, 1.0 + 0.30 * grain);
        colour = self.paving(colour, u, v, grain);
        for road in &self.roads {
            colour = self.road(colour, road, x, y, grain);
        }
        self.things(colour, u, v)
    }

    /// Slabs where a slow noise is high: checks with joints.
    fn paving(&self, below: Colour, u: f64, v: f64, grain: f64) -> Colour {
        const SLAB: f64 = 15.0;
        let inside = fractal(self.seed ^ 0xa7, u / 95.0, v / 95.0, 2);
        let cover = smooth_step(0.10, 0.125, inside);
        if cover <= 0.0 {
            return below;
        }
        let (column, row) = ((u / SLAB).floor(), (v / SLAB).floor());
        let bits = lattice(self.seed ^ 0x3c, column as i64, row as i64);
        let slab = self.palette.paving[((column + row).rem_euclid(2.0)) as usize % 2];
        let slab = shade(slab, 0.88 + 0.24 * fraction(bits, 0) + 0.10 * grain);
        let edge = |t: f64| (t - t.round()).abs() * SLAB;
        let joint = edge(u / SLAB).min(edge(v / SLAB));
        let slab = blend(shade(slab, 0.55), slab, smooth_step(0.5, 1.3, joint));
        let rim = 1.0 - smooth_step(0.125, 0.145, inside);
        blend(below, blend(slab, shade(slab, 0.6), rim), cover)
    }

    /// Signed distance from the middle of a road, and the place along it, in pixels.
    fn across(road: &Road, x: f64, y: f64) -> (f64, f64) {
        let along = x * road.cos + y * road.sin;
        (x * road.sin - y * road.cos - road.offset + road.swing * libm::sin(along / road.length), along)
    }

    fn road(&self, below: Colour, road: &Road, x: f64, y: f64, grain: f64) -> Colour {
        let (across, along) = Self::across(road, x, y);
        let distance = across.abs();
        let pixel = self.unit;
        let cover = 1.0 - smooth_step(road.half - 0.6 * pixel, road.half + 0.6 * pixel, distance);
        if cover <= 0.0 {
            return below;
        }
        let mut colour = shade(self.palette.road, 1.0 + 0.16 * grain);
        let line =
            |centre: f64, half: f64| 1.0 - smooth_step(half - 0.5, half + 0.5, (distance - centre).abs() / pixel);
        colour = blend(colour, self.palette.line, 0.85 * line(road.half - 3.0 * pixel, 0.9));
        if (along / (13.0 * pixel)).rem_euclid(1.0) < 0.55 {
            colour = blend(colour, self.palette.line, 0.85 * line(0.0, 1.0));
        }
        blend(below, colour, cover)
    }

    /// Stones and bushes: one a cell of a jittered grid, at most, each with a shadow and a bright side.
    fn things(&self, below: Colour, u: f64, v: f64) -> Colour {
        const CELL: f64 = 34.0;
        let (column, row) = ((u / CELL).floor(), (v / CELL).floor());
        let mut colour = below;
        for (dx, dy) in (-1..2).flat_map(|dy| (-1..2).map(move |dx| (dx, dy))) {
            let (cx, cy) = (column as i64 + dx, row as i64 + dy);
            let bits = lattice(self.seed ^ 0x77, cx, cy);
            if fraction(bits, 0) > 0.42 {
                continue;
            }
            let bush = fraction(bits, 0) < 0.2;
            let x = (cx as f64 + 0.15 + 0.7 * fraction(bits, 1)) * CELL;
            let y = (cy as f64 + 0.15 + 0.7 * fraction(bits, 2)) * CELL;
            // Roads are kept free, but for what leans over their edge.
            let (px, py) = (x * self.unit, y * self.unit);
            if self.roads.iter().any(|road| Self::across(road, px, py).0.abs() < road.half + 2.0 * self.unit) {
                continue;
            }
            let radius = if bush { 6.0 + 7.0 * fraction(bits, 3) } else { 3.5 + 4.5 * fraction(bits, 3) };
            let ragged = if bush { 0.32 } else { 0.12 };
            let reach = |px: f64, py: f64| {
                let wobble = gradient(bits, px / (radius * 0.7), py / (radius * 0.7));
                (px * px + py * py).sqrt() / radius + ragged * wobble
            };
            let shadow = smooth_step(1.25, 0.85, reach(u - x - 0.22 * radius, v - y - 0.28 * radius));
            colour = shade(colour, 1.0 - 0.42 * shadow);
            let inside = smooth_step(1.0 + 0.7 / radius, 1.0 - 0.7 / radius, reach(u - x, v - y));
            if inside > 0.0 {
                // Light from the upper left, as for the shadow.
                let light = 1.0 - 0.38 * ((u - x) + (v - y)) / radius;
                let speckle = fractal(bits, u / 3.2, v / 3.2, 2);
                let own = if bush { self.palette.bush } else { self.palette.stone };
                let rough = if bush { 0.55 } else { 0.18 };
                colour = blend(colour, shade(own, light * (1.0 + rough * speckle)), inside);
            }
        }
        colour
    }
}

/// Texels of a sprite at most: larger targets are painted more coarsely.
const MAX_TEXELS: f64 = 4e6;

/// An object that can be laid over a canvas in any pose.
#[derive(Clone, Debug)]
pub(super) struct Sprite {
    pub(super) outline: Outline,
    half: (f64, f64),
    skin: Skin,
}

#[derive(Clone, Debug)]
enum Skin {
    /// Texels per pixel, and the texture.
    Painted(f64, Texture),
    Flat(Colour),
}

impl Sprite {
    /// The object of `width` x `height` pixels at scale 1. `likeness` 0 is the target, others are its look-alikes.
    pub(super) fn new(pattern: Pattern, width: f64, height: f64, seed: u64, likeness: u64) -> Self {
        let half = (width / 2.0, height / 2.0);
        let skin = match pattern {
            Pattern::Flat(colour) => Skin::Flat(colour.map(f32::from)),
            Pattern::Car => {
                let density = (MAX_TEXELS / (width * height)).sqrt().clamp(0.25, 2.0);
                let car = Car::new(seed, likeness);
                let (columns, rows) = ((width * density).ceil(), (height * density).ceil());
                let texture = Texture::paint(columns as usize, rows as usize, |x, y| {
                    let (u, v) = (2.0 * x / columns - 1.0, 2.0 * y / rows - 1.0);
                    // The car lies along the longer side.
                    if height >= width { car.colour(u, v, width / height) } else { car.colour(v, -u, height / width) }
                });
                Skin::Painted(density, texture)
            }
        };
        Self { outline: Outline::new(half.0, half.1), half, skin }
    }

    /// Lays the object, and beneath it its shadow, over the canvas.
    pub(super) fn lay(&self, canvas: &mut Canvas, pose: Pose) {
        let area = grown(pose.bbox(self.outline), 2.0);
        if matches!(self.skin, Skin::Painted(..)) {
            let depth = 0.07 * self.half.0.min(self.half.1) * pose.scale;
            let cast = Pose { x: pose.x + depth, y: pose.y + 1.4 * depth, ..pose };
            let to_object = cast.to_object();
            canvas.lay(
                grown(cast.bbox(self.outline), 3.0 + 3.0 * depth),
                |_, _| true,
                |x, y| {
                    let (u, v) = to_object(x, y);
                    (0.45 * self.outline.coverage(u, v, 1.0 + 3.0 * depth / pose.scale), [18.0, 18.0, 24.0])
                },
            );
        }
        let to_object = pose.to_object();
        canvas.lay(
            area,
            |_, _| true,
            |x, y| {
                let (u, v) = to_object(x, y);
                let alpha = self.outline.coverage(u, v, 1.0);
                (alpha, if alpha > 0.0 { self.colour(u, v) } else { [0.0; 3] })
            },
        );
    }

    fn colour(&self, u: f64, v: f64) -> Colour {
        match &self.skin {
            Skin::Flat(colour) => *colour,
            Skin::Painted(density, texture) => texture.linear((u + self.half.0) * density, (v + self.half.1) * density),
        }
    }
}

/// A box with `by` pixels more on every side.
fn grown(area: crate::bbox::BBox, by: f64) -> crate::bbox::BBox {
    crate::bbox::BBox::new(area.x - by, area.y - by, area.w + 2.0 * by, area.h + 2.0 * by)
}

const BODIES: [Colour; 5] =
    [[206.0, 44.0, 38.0], [232.0, 138.0, 26.0], [34.0, 108.0, 196.0], [236.0, 196.0, 44.0], [164.0, 78.0, 204.0]];

/// The look of a car in coordinates -1 to 1 across (`u`) and along (`v`, the front is at -1).
struct Car {
    seed: u64,
    body: Colour,
    trim: Colour,
    stripes: f64,
    spot: (f64, f64),
}

impl Car {
    fn new(seed: u64, likeness: u64) -> Self {
        let mut own = stream(seed, "car", 0);
        let body = BODIES[(uniform(&mut own, 0.0, 5.0) as usize).min(BODIES.len() - 1)];
        let mut car = Self {
            seed: bits(seed, "paint", likeness),
            body,
            trim: [240.0, 236.0, 224.0],
            stripes: 0.2,
            spot: (0.0, 0.08),
        };
        if likeness > 0 {
            // Of one make with the target: another paint of about the same lightness, other stripes, another spot.
            let mut rng = stream(seed, "look-alike", likeness);
            let other = BODIES[(uniform(&mut rng, 0.0, 5.0) as usize).min(BODIES.len() - 1)];
            car.body = blend(body, other, uniform(&mut rng, 0.1, 0.7));
            car.trim = blend(car.trim, [40.0, 42.0, 50.0], uniform(&mut rng, 0.0, 0.9));
            car.stripes = uniform(&mut rng, 0.05, 0.4);
            car.spot = (uniform(&mut rng, -0.2, 0.2), uniform(&mut rng, -0.05, 0.25));
        }
        car
    }

    fn colour(&self, u: f64, v: f64, aspect: f64) -> Colour {
        let side = u.abs();
        let glass = [38.0, 52.0, 70.0];
        let mut colour = shade(self.body, 1.0 + 0.08 * fractal(self.seed, u * 5.0, v * 5.0, 2));
        // Rounded flanks, darker towards the rim, lighter where the light comes from.
        colour = shade(colour, 1.08 - 0.14 * u - 0.08 * v - 0.34 * smooth_step(0.72, 1.0, side));
        let stripe = smooth_step(0.10, 0.06, (side - self.stripes).abs());
        colour = blend(colour, self.trim, stripe);
        // Bonnet and boot lines.
        let crease = smooth_step(0.035, 0.015, (v + 0.52 - 0.10 * u * u).abs());
        colour = blend(colour, [20.0, 20.0, 24.0], 0.6 * crease);
        // Front and rear windows, and the side windows between: a cabin with a roof in it.
        let cabin = window(side, 0.76, 0.03) * window_between(v, -0.42 + 0.08 * u * u, 0.66 - 0.06 * u * u, 0.025);
        let roof = window(side, 0.56, 0.03) * window_between(v, -0.16, 0.42, 0.025);
        let shine = smooth_step(0.10, 0.02, (u * 0.8 + v + 0.1 - 0.25).abs());
        let pillars = smooth_step(0.03, 0.015, (v - 0.12).abs());
        let pane = blend(blend(glass, [150.0, 176.0, 200.0], 0.6 * shine), self.body, pillars);
        let panel = blend(shade(self.body, 1.15 - 0.10 * u), self.trim, stripe);
        colour = blend(colour, pane, cabin);
        colour = blend(colour, panel, roof);
        // A start number: a light disc with a dark mark that is not symmetric.
        let (du, dv) = ((u - self.spot.0) * aspect, v - self.spot.1);
        let disc = smooth_step(0.17, 0.145, (du * du + dv * dv).sqrt());
        colour = blend(colour, [246.0, 244.0, 238.0], disc);
        let upright = window(du.abs(), 0.03, 0.012) * window(dv.abs(), 0.10, 0.012);
        let flag = window_between(du, -0.03, 0.085, 0.012) * window_between(dv, -0.10, -0.045, 0.012);
        colour = blend(colour, [22.0, 22.0, 28.0], upright.max(flag));
        // Lamps and bumpers.
        let lamp = |centre: f64, radius: f64| {
            let (lu, lv) = ((side - 0.62) / 0.2, (v - centre) / radius);
            smooth_step(1.15, 0.85, (lu * lu + lv * lv).sqrt())
        };
        colour = blend(colour, [18.0, 18.0, 22.0], 0.7 * smooth_step(0.945, 0.965, v.abs()));
        colour = blend(colour, [255.0, 246.0, 196.0], lamp(-0.84, 0.075));
        blend(colour, [250.0, 62.0, 40.0], lamp(0.87, 0.05))
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

/// Lighting, focus and noise of one scene.
#[derive(Clone, Debug)]
pub(super) struct Optics {
    seed: u64,
    illumination: f64,
    blur: f64,
    noise: f64,
    gain: Swing,
    offset: Swing,
    gamma: Swing,
    lamp: [Swing; 2],
    focus: Swing,
}

impl Optics {
    pub(super) fn new(params: &SceneParams) -> Self {
        let swing = |tag, lo, hi| Swing::new(params.seed, tag, lo, hi);
        Self {
            seed: params.seed,
            illumination: params.illumination,
            blur: params.blur,
            noise: params.noise,
            gain: swing("gain", 80.0, 130.0),
            offset: swing("offset", 60.0, 100.0),
            gamma: swing("gamma", 90.0, 140.0),
            lamp: [swing("lamp across", 50.0, 90.0), swing("lamp down", 70.0, 120.0)],
            focus: swing("focus", 100.0, 160.0),
        }
    }

    /// All of it, in the order of nature: light on the scene, defocus in the lens, noise on the sensor.
    pub(super) fn apply(&self, canvas: &mut Canvas, index: usize) {
        let t = index as f64;
        if self.illumination > 0.0 {
            self.light(canvas, t);
        }
        // From sharp to blurred and back, sharp in frame 0.
        let swing = self.focus.at(t);
        let sigma = self.blur * swing * swing;
        if sigma > 0.05 {
            defocus(canvas, sigma);
        }
        if self.noise > 0.0 {
            let mut rng = stream(self.seed, "sensor", index as u64);
            let strength = self.noise as f32;
            for pixel in &mut canvas.pixels {
                *pixel = each(|c| pixel[c] + strength * normal(&mut rng));
            }
        }
    }

    /// Value -> 255 (gain (value / 255)^gamma) + offset, the gain tilted by a light that wanders; no change in frame 0.
    fn light(&self, canvas: &mut Canvas, t: f64) {
        let strength = self.illumination;
        let gain = 1.0 + 0.35 * strength * self.gain.at(t);
        let offset = 24.0 * strength * self.offset.at(t);
        let gamma = libm::exp(0.5 * strength * self.gamma.at(t));
        let (tilt_x, tilt_y) = (0.7 * strength * self.lamp[0].at(t), 0.5 * strength * self.lamp[1].at(t));
        // The power of a byte's value, tabulated finely enough for the steps between.
        const STEPS: usize = 1024;
        let curve: Vec<f32> =
            (0..=STEPS + 1).map(|i| (255.0 * libm::pow(i as f64 / STEPS as f64, gamma)) as f32).collect();
        let bent = |value: f32| {
            let place = value.clamp(0.0, 255.0) / 255.0 * STEPS as f32;
            let step = place as usize;
            curve[step] + (curve[step + 1] - curve[step]) * (place - step as f32)
        };
        let (width, height) = (canvas.width as f64, canvas.height as f64);
        for (row, line) in canvas.pixels.chunks_mut(canvas.width).enumerate() {
            for (column, pixel) in line.iter_mut().enumerate() {
                let tilt =
                    tilt_x * ((column as f64 + 0.5) / width - 0.5) + tilt_y * ((row as f64 + 0.5) / height - 0.5);
                let gain = (gain * (1.0 + tilt)) as f32;
                *pixel = each(|c| (gain * bent(pixel[c]) + offset as f32).clamp(0.0, 255.0));
            }
        }
    }
}

/// Gaussian blur of standard deviation `sigma` (positive) in pixels, the border repeated.
fn defocus(canvas: &mut Canvas, sigma: f64) {
    let radius = (3.0 * sigma).ceil() as usize;
    let bell = |d: usize| libm::exp(-((d * d) as f64) / (2.0 * sigma * sigma));
    let total = bell(0) + 2.0 * (1..=radius).map(bell).sum::<f64>();
    let weights: Vec<f32> = (0..=radius).map(|d| (bell(d) / total) as f32).collect();
    let (width, height) = (canvas.width, canvas.height);
    let smooth = |from: &[[f32; 3]], at: usize, step: usize, place: usize, count: usize| {
        let mut sum = each(|c| from[at][c] * weights[0]);
        for (d, weight) in weights.iter().enumerate().skip(1) {
            let (back, ahead) = (from[at - d.min(place) * step], from[at + d.min(count - 1 - place) * step]);
            sum = each(|c| sum[c] + (back[c] + ahead[c]) * weight);
        }
        sum
    };
    let mut across = vec![[0.0; 3]; width * height];
    for (at, pixel) in across.iter_mut().enumerate() {
        *pixel = smooth(&canvas.pixels, at, 1, at % width, width);
    }
    for (at, pixel) in canvas.pixels.iter_mut().enumerate() {
        *pixel = smooth(&across, at, width, at / width, height);
    }
}

#[cfg(test)]
mod canvas_tests {
    use super::*;

    #[test]
    fn half_a_pixel_of_white_is_half_as_bright() {
        let mut canvas = Canvas::new(4, 1);
        canvas.lay(BBox::new(0.0, 0.0, 4.0, 1.0), |_, _| true, |x, _| (f64::from(u8::from(x < 1.5)), [200.0; 3]));
        assert_eq!(canvas.pixels.iter().map(|p| p[0]).collect::<Vec<_>>(), [200.0, 100.0, 0.0, 0.0]);
    }

    #[test]
    fn layers_outside_the_image_change_nothing() {
        let mut canvas = Canvas::new(3, 3);
        for area in
            [BBox::new(-9.0, -9.0, 5.0, 5.0), BBox::new(1e300, 0.0, 5.0, 5.0), BBox::new(f64::NAN, 0.0, 1.0, 1.0)]
        {
            canvas.lay(area, |_, _| true, |x, _| (f64::from(u8::from(!(0.0..3.0).contains(&x))), [9.0; 3]));
        }
        assert!(canvas.pixels.iter().all(|p| *p == [0.0; 3]));
    }

    #[test]
    fn both_interpolations_reproduce_a_ramp_and_its_pixels() {
        let value = |x: f64, y: f64| (x * 4.0 + y * 2.0 - 3.0) as f32;
        let ramp = Texture::paint(20, 20, |x, y| [value(x, y); 3]);
        assert!((ramp.linear(6.25, 9.5)[0] - value(6.25, 9.5)).abs() < 1e-3);
        for (left, top) in [(5.0, 7.0), (5.25, 7.0), (6.5, 7.9)] {
            let cut = ramp.cut(left, top, 6, 5);
            let last = cut.pixels[4 * 6 + 5][0];
            assert!((last - value(left + 5.5, top + 4.5)).abs() < 1e-3, "{last}");
        }
        assert_eq!(ramp.cut(5.0, 7.0, 1, 1).pixels[0], [value(5.5, 7.5); 3]);
        assert_eq!(ramp.cut(-50.0, -50.0, 1, 1).pixels[0], [value(0.5, 0.5); 3]);
    }
}

#[cfg(test)]
mod noise_tests {
    use super::*;

    #[test]
    fn streams_are_told_apart_and_repeat() {
        let first = |seed, tag, index| stream(seed, tag, index).next_u64();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        let all = [first(1, "a", 0), first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
        assert!((1..4).all(|i| !all[..i].contains(&all[i])), "{all:?}");
    }

    #[test]
    fn normal_has_its_moments() {
        let mut rng = stream(7, "normal", 0);
        let draws: Vec<f64> = (0..40_000).map(|_| f64::from(normal(&mut rng))).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn gradient_noise_is_smooth_bounded_and_zero_on_the_lattice() {
        assert_eq!(gradient(3, 5.0, -2.0), 0.0);
        let mut spread = (f64::INFINITY, f64::NEG_INFINITY);
        for step in 0..5000 {
            let (x, y) = (f64::from(step) * 0.013 - 20.0, f64::from(step) * 0.007);
            let here = gradient(3, x, y);
            assert!((here - gradient(3, x + 1e-4, y)).abs() < 1e-3);
            spread = (spread.0.min(here), spread.1.max(here));
        }
        assert!(spread.0 > -1.1 && spread.0 < -0.4 && spread.1 < 1.1 && spread.1 > 0.4, "{spread:?}");
    }
}

#[cfg(test)]
mod optics_tests {
    use super::*;

    #[test]
    fn defocus_keeps_the_light_and_has_its_width() {
        let mut canvas = Canvas::new(41, 41);
        canvas.pixels[20 * 41 + 20] = [1000.0; 3];
        defocus(&mut canvas, 2.0);
        let (mut sum, mut second) = (0.0, 0.0);
        for (at, pixel) in canvas.pixels.iter().enumerate() {
            sum += f64::from(pixel[0]);
            second += f64::from(pixel[0]) * ((at % 41) as f64 - 20.0) * ((at % 41) as f64 - 20.0);
        }
        // The bell ends at three standard deviations.
        assert!((sum - 1000.0).abs() < 0.1 && (second / sum - 4.0).abs() < 0.15, "{sum} {}", second / sum);
        let mut plain = Canvas::new(20, 3);
        plain.pixels.fill([77.0; 3]);
        defocus(&mut plain, 9.0);
        assert!(plain.pixels.iter().all(|p| (p[0] - 77.0).abs() < 1e-3));
    }

    #[test]
    fn noise_has_its_strength() {
        let optics = Optics::new(&SceneParams { noise: 5.0, ..SceneParams::default() });
        let mut canvas = Canvas::new(200, 100);
        canvas.pixels.fill([128.0; 3]);
        optics.apply(&mut canvas, 3);
        let squares: f64 = canvas.pixels.iter().map(|p| f64::from(p[1] - 128.0) * f64::from(p[1] - 128.0)).sum();
        assert!(((squares / 20_000.0).sqrt() - 5.0).abs() < 0.1);
    }
}
