//! The background: ground seen from above, with something to see at every scale that a gradient feature looks at.

use super::canvas::{Colour, Texture, blend, shade, smooth_step};
use super::noise::{bits, fractal, fraction, gradient, lattice, stream, uniform};

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
pub(super) fn paint(seed: u64, width: usize, height: usize, shown: (u32, u32)) -> Texture {
    let area = f64::from(shown.0) * f64::from(shown.1);
    let unit = (area / (320.0 * 240.0)).sqrt().clamp(0.4, 8.0);
    let mut rng = stream(seed, "ground", 0);
    let palette = &PALETTES[((uniform(&mut rng, 0.0, 4.0)) as usize).min(PALETTES.len() - 1)];
    let first = uniform(&mut rng, 0.0, 360.0);
    let roads = (0..2)
        .map(|i| {
            let (sin, cos) = super::outline::sin_cos(first + f64::from(i) * uniform(&mut rng, 55.0, 125.0));
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
