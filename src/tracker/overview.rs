//! Whether a frame shows another scene than an earlier one: a cut.

use crate::frame::Frame;

/// Rows and columns of points of the frame, two by two in a cell.
const POINTS: (usize, usize) = (24, 32);
const COLUMNS: usize = POINTS.1 / 2;
const CELLS: usize = POINTS.0 / 2 * COLUMNS;
/// Correlation of the cells, and points of the same colours, below which two frames show different scenes. Of pairs
/// of frames of different sequences 91 % lie below both, of 30,000 frames and their next ones none does.
const MIN_CORRELATION: f32 = 0.5;
const MIN_COMMON: u16 = (POINTS.0 * POINTS.1 * 7 / 10) as u16;

/// What a frame shows, in a few numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overview {
    /// Sums of the channels in the cells, less their mean.
    cells: [f32; CELLS],
    /// Points of each colour of two bits a channel.
    colors: [u16; 64],
}

impl Overview {
    pub fn of(frame: &Frame<'_>) -> Self {
        let mut overview = Self { cells: [0.0; CELLS], colors: [0; 64] };
        let bytes = frame.format().bytes();
        let middle = |i: usize, count: usize, length: usize| (2 * i + 1) * length / (2 * count);
        for r in 0..POINTS.0 {
            let row = frame.row(middle(r, POINTS.0, frame.height()));
            for c in 0..POINTS.1 {
                let pixel = &row[middle(c, POINTS.1, frame.width()) * bytes..][..bytes];
                let [first, second, third] = [0, 1, 2].map(|channel| usize::from(pixel[channel.min(bytes - 1)]));
                overview.colors[first >> 6 << 4 | second >> 6 << 2 | third >> 6] += 1;
                overview.cells[r / 2 * COLUMNS + c / 2] += (first + second + third) as f32;
            }
        }
        let mean = overview.cells.iter().sum::<f32>() / CELLS as f32;
        overview.cells.iter_mut().for_each(|value| *value -= mean);
        overview
    }

    /// Whether both show different scenes. A blank frame shows none.
    pub fn is_cut_from(&self, before: &Self) -> bool {
        let product = |a: &Self, b: &Self| a.cells.iter().zip(&b.cells).map(|(a, b)| a * b).sum::<f32>();
        let common: u16 = self.colors.iter().zip(&before.colors).map(|(a, b)| a.min(b)).sum();
        common < MIN_COMMON
            && product(self, before) < MIN_CORRELATION * (product(self, self) * product(before, before)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: (usize, usize) = (96, 72);

    /// A picture of two colours in blobs, seen from `left` on.
    fn overview(left: f64, (light, dark): ([u8; 3], [u8; 3])) -> Overview {
        let wave = |i: usize| {
            let (x, y) = ((i % SIZE.0) as f64 + left, (i / SIZE.0) as f64);
            (0.11 * x).sin() + (0.13 * y).cos() > 0.2
        };
        let pixels: Vec<u8> = (0..SIZE.0 * SIZE.1).flat_map(|i| if wave(i) { light } else { dark }).collect();
        Overview::of(&Frame::rgb(&pixels, SIZE.0, SIZE.1).unwrap())
    }

    #[test]
    fn a_cut_has_another_layout_and_other_colours() {
        let colors = ([200, 90, 30], [40, 60, 20]);
        let before = overview(0.0, colors);
        for (left, colors, cut) in [
            (0.0, colors, false),
            (5.0, colors, false),
            // A flash, and a camera that turns fast.
            (0.0, ([255, 190, 130], [140, 160, 120]), false),
            (28.0, colors, false),
            (28.0, ([30, 90, 200], [90, 200, 150]), true),
            (28.0, ([0; 3], [0; 3]), false),
        ] {
            assert_eq!(overview(left, colors).is_cut_from(&before), cut, "{left} {colors:?}");
        }
    }

    #[test]
    fn frames_of_any_size_have_one() {
        for (width, height) in [(1, 1), (3000, 1), (2, 500)] {
            let frame = Overview::of(&Frame::gray(&vec![9; width * height], width, height).unwrap());
            assert!(!frame.is_cut_from(&frame));
        }
    }
}
