//! Which colours are learned as the target's, and which as its surroundings'.

use super::*;

/// Pixels on a side of the view, and the target's box in its middle.
const SIDE: usize = 144;
const SIZE: f64 = 40.0;

/// What is said of a colour that was never learned.
const UNKNOWN: f32 = color::NOTHING;

/// Bins of colours by where they are in the view, the target being in its middle.
mod bin {
    pub const CORE: u16 = 1;
    pub const LEFT_AND_RIGHT: u16 = 2;
    pub const ABOVE_AND_BELOW: u16 = 3;
    pub const CORNER: u16 = 4;
    pub const GAP: u16 = 5;
    pub const RING: u16 = 6;
    pub const BEYOND: u16 = 7;
}

/// The core is four fifths of the box's 40 pixels, the gap two pixels wide on each side, the ring up to twice the box.
fn bin_at(x: usize, y: usize) -> u16 {
    let from_middle = |at: usize| (at as f64 + 0.5 - SIDE as f64 / 2.0).abs();
    let (x, y) = (from_middle(x), from_middle(y));
    match (x.max(y), x < 16.0, y < 16.0) {
        (d, ..) if d > 40.0 => bin::BEYOND,
        (d, ..) if d > 22.0 => bin::RING,
        (d, ..) if d > 20.0 => bin::GAP,
        (_, true, true) => bin::CORE,
        (_, false, true) => bin::LEFT_AND_RIGHT,
        (_, true, false) => bin::ABOVE_AND_BELOW,
        (_, false, false) => bin::CORNER,
    }
}

/// What lies at the box's border may be either's, and teaches nothing.
#[test]
fn the_border_of_the_box_is_neither_the_targets_nor_its_surroundings() {
    let mut view = View::new(SIDE / CELL, 1.0, Pose::of(BOX));
    view.bins = (0..SIDE * SIDE).map(|i| bin_at(i % SIDE, i / SIDE)).collect();
    let mut model = ColorModel::new(SIDE / CELL, (SIZE, SIZE), 0.04, ColorWeighting::Fixed);
    let middle = SIDE as f64 / 2.0;
    model.learn(&view, (middle, middle), (1.0, 1.0));
    let mut said = |bin: u16| {
        view.bins.fill(bin);
        let answers = model.respond(&view);
        assert!(answers.iter().all(|&answer| answer == answers[0]));
        answers[0]
    };
    for (bin, likelihood) in [
        (bin::CORE, 1.0),
        (bin::LEFT_AND_RIGHT, UNKNOWN),
        (bin::ABOVE_AND_BELOW, UNKNOWN),
        (bin::CORNER, UNKNOWN),
        (bin::GAP, UNKNOWN),
        (bin::RING, 0.0),
        (bin::BEYOND, UNKNOWN),
    ] {
        assert_eq!(said(bin), likelihood, "bin {bin}");
    }
}
