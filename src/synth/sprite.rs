//! The target's picture, and those of its look-alikes: a toy car seen from above.

use super::canvas::{Canvas, Colour, Texture, blend, shade, smooth_step};
use super::noise::{bits, fractal, stream, uniform};
use super::outline::{Outline, Pose};
use super::params::Pattern;

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
