//! Planned transforms of feature maps and response planes, and the algebra of their spectra.

mod line;
mod map;
mod supports;
#[cfg(test)]
mod tests;

pub(crate) use line::{Cell, LANES, split_real};
pub(crate) use map::{AlignedBuf, CHANNELS, FeatureMap, LanePlan, MapPlan, PlanePlan, Scratch, phase_shift};
pub(crate) use supports::{ChannelPlan, SupportSpectra};

/// Lengths whose transforms cost less, with all other work per cell, than those of any slightly larger length.
const FAST: [usize; 75] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21, 22, 24, 25, 27, 28, 30, 32, 33, 35, 36, 40, 42,
    45, 48, 49, 50, 52, 54, 56, 60, 64, 65, 66, 70, 72, 75, 80, 81, 84, 90, 96, 100, 105, 108, 112, 120, 125, 128, 135,
    140, 144, 147, 150, 160, 162, 168, 175, 180, 192, 200, 210, 216, 224, 225, 240, 250,
];

/// More lengths that are fast among those of their parity.
const FAST_OF_PARITY: [usize; 24] =
    [17, 19, 26, 29, 39, 44, 51, 55, 57, 63, 77, 85, 91, 95, 99, 117, 132, 153, 165, 189, 195, 207, 231, 255];

/// The smallest fast length from `cells` on that has its parity, so that the middle of a map stays its middle. Lengths
/// beyond the table stay as they are.
pub(crate) fn fast_length_of_parity(cells: usize) -> usize {
    let lengths = FAST.into_iter().chain(FAST_OF_PARITY);
    lengths.filter(|&n| n >= cells && (n - cells).is_multiple_of(2)).min().unwrap_or(cells)
}
