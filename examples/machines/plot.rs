//! Pictures of functions of two numbers: colours, contour lines, points and titles.

use std::fs::{self, File};
use std::io::BufWriter;

use ab_glyph::FontRef;
use anyhow::Context;
use image::codecs::png::PngEncoder;
use image::{Rgb, RgbImage};
use imageproc::drawing::{draw_text_mut, text_size};
use ndarray::Array2;

/// The part of the plane that a panel shows.
#[derive(Clone, Copy)]
pub struct View {
    pub x: (f64, f64),
    pub y: (f64, f64),
}

impl View {
    /// The points under the pixels of a square panel of `size` pixels, row by row from the top: size² x 2.
    pub fn grid(&self, size: usize) -> Array2<f64> {
        let at = |(low, high): (f64, f64), i: usize| low + (high - low) * (i as f64 + 0.5) / size as f64;
        Array2::from_shape_fn((size * size, 2), |(i, axis)| match axis {
            0 => at(self.x, i % size),
            _ => at(self.y, size - 1 - i / size),
        })
    }

    fn pixel(&self, x: f64, y: f64, size: usize) -> (f64, f64) {
        let share = |(low, high): (f64, f64), v: f64| (v - low) / (high - low) * size as f64;
        (share(self.x, x), size as f64 - share(self.y, y))
    }
}

/// Panels side by side in rows, each with a title above it.
pub struct Figure {
    picture: RgbImage,
    size: usize,
    columns: usize,
    font: FontRef<'static>,
}

const GAP: usize = 14;
const TITLE: usize = 44;
const HEADING: usize = 46;

impl Figure {
    /// A white figure of `rows` x `columns` panels of `size` pixels square, under a heading.
    pub fn new(rows: usize, columns: usize, size: usize, heading: &str) -> anyhow::Result<Self> {
        let width = columns * (size + GAP) + GAP;
        let height = HEADING + rows * (size + TITLE) + GAP;
        let mut picture = RgbImage::from_pixel(width as u32, height as u32, Rgb([255; 3]));
        let font = FontRef::try_from_slice(dejavu::sans::regular())?;
        draw_text_mut(&mut picture, Rgb([20; 3]), GAP as i32, 12, 21.0, &font, heading);
        Ok(Self { picture, size, columns, font })
    }

    /// Fills panel `index` with `values` (size², as [`View::grid`]) through `colour`, with contour lines at `levels`:
    /// each a value, a width in pixels and a darkness from 0 to 1.
    pub fn surface(
        &mut self,
        index: usize,
        title: (&str, &str),
        values: &[f64],
        colour: impl Fn(f64) -> [f64; 3],
        levels: &[(f64, f64, f64)],
    ) {
        let (size, (left, top)) = (self.size, self.corner(index));
        for row in 0..size {
            for column in 0..size {
                let value = values[row * size + column];
                let slope =
                    |next: usize, previous: usize, span: usize| (values[next] - values[previous]) / span.max(1) as f64;
                let (l, r) = (column.saturating_sub(1), (column + 1).min(size - 1));
                let (t, b) = (row.saturating_sub(1), (row + 1).min(size - 1));
                let steepness = slope(row * size + r, row * size + l, r - l)
                    .hypot(slope(b * size + column, t * size + column, b - t))
                    .max(1e-12);
                let mut ink = 0.0f64;
                for &(level, width, darkness) in levels {
                    let distance = (value - level).abs() / steepness;
                    ink = ink.max(darkness * (0.5 + 0.5 * width - distance).clamp(0.0, 1.0));
                }
                let pixel = colour(value).map(|c| (c * (1.0 - ink)).round().clamp(0.0, 255.0) as u8);
                self.picture.put_pixel((left + column) as u32, (top + row) as u32, Rgb(pixel));
            }
        }
        let (bold, small) = title;
        let y = top as i32 - TITLE as i32;
        draw_text_mut(&mut self.picture, Rgb([20; 3]), left as i32, y + 8, 17.0, &self.font, bold);
        let (width, _) = text_size(17.0, &self.font, bold);
        let start = left as i32 + width as i32 + 9;
        draw_text_mut(&mut self.picture, Rgb([95; 3]), start, y + 11, 13.5, &self.font, small);
    }

    /// Draws discs with a dark rim at `points` (n x 2) into panel `index`.
    pub fn points(
        &mut self,
        index: usize,
        view: View,
        points: &Array2<f64>,
        radius: f64,
        colour: impl Fn(usize) -> [u8; 3],
    ) {
        let (size, (left, top)) = (self.size, self.corner(index));
        for (i, point) in points.outer_iter().enumerate() {
            let (x, y) = view.pixel(point[0], point[1], size);
            let reach = radius.ceil() as i64 + 2;
            for py in (y as i64 - reach).max(0)..(y as i64 + reach + 1).min(size as i64) {
                for px in (x as i64 - reach).max(0)..(x as i64 + reach + 1).min(size as i64) {
                    let distance = (px as f64 + 0.5 - x).hypot(py as f64 + 0.5 - y);
                    let rim = (radius + 1.0 - distance).clamp(0.0, 1.0);
                    let fill = (radius - 0.2 - distance).clamp(0.0, 1.0);
                    let pixel = self.picture.get_pixel_mut((left as i64 + px) as u32, (top as i64 + py) as u32);
                    for (channel, paint) in pixel.0.iter_mut().zip(colour(i)) {
                        let rimmed = f64::from(*channel) * (1.0 - rim) + 25.0 * rim;
                        *channel = (rimmed * (1.0 - fill) + f64::from(paint) * fill).round() as u8;
                    }
                }
            }
        }
    }

    /// Writes the figure as PNG, in a folder that is made if it is not there.
    pub fn save(&self, path: &std::path::Path) -> anyhow::Result<()> {
        let named = || path.display().to_string();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(named)?;
        }
        let encoder = PngEncoder::new(BufWriter::new(File::create(path).with_context(named)?));
        self.picture.write_with_encoder(encoder)?;
        println!("{}", path.display());
        Ok(())
    }

    fn corner(&self, index: usize) -> (usize, usize) {
        let (row, column) = (index / self.columns, index % self.columns);
        (GAP + column * (self.size + GAP), HEADING + TITLE + row * (self.size + TITLE))
    }
}

/// Blue below zero, white at zero, orange above; full colour at `full`.
pub fn diverging(value: f64, full: f64) -> [f64; 3] {
    let share = (value / full).clamp(-1.0, 1.0);
    let end = if share < 0.0 { [62.0, 118.0, 190.0] } else { [232.0, 132.0, 44.0] };
    // The root keeps the faint slopes near the boundary visible.
    let strength = share.abs().sqrt();
    end.map(|c| 250.0 + (c - 250.0) * strength)
}
