//! What the transform of a line costs, by a fixed table: search areas are chosen by it.
//!
//! The table was measured once (`cargo bench --bench spectrum -- lengths` prints measurement and estimate beside each
//! other) and is a constant, not a measurement at run time: the same box gets the same search area on every machine.

use super::mixed::radices;

/// Nanoseconds for each cell of all that is not a transform: features, products, interpolation.
const OTHER: f64 = 90.0;
/// Nanoseconds for each cell of a transform whose length is too large a prime's multiple for a pass of its own.
const BLUESTEIN: f64 = 120.0;

/// Nanoseconds that a pass of this radix takes for each cell.
fn pass(radix: usize) -> f64 {
    match radix {
        2 => 3.0,
        3 => 3.4,
        4 => 3.4,
        5 => 4.0,
        7 => 6.5,
        8 => 4.6,
        11 => 12.0,
        13 => 13.5,
        // Dense: as many products as the prime has elements.
        prime => 5.0 + 0.65 * prime as f64,
    }
}

/// Estimated nanoseconds for each cell of a line of `len` cells.
pub fn line(len: usize) -> f64 {
    radices(len).map_or(BLUESTEIN, |passes| passes.into_iter().map(pass).sum())
}

/// The length from `cells` on, up to an eighth and one more, that costs least: transform and all else of a search area
/// whose other side stays. A longer line has more cells, so one that is quick already stays as it is.
pub fn cheapest_from(cells: usize) -> usize {
    cheapest(cells..=cells + cells / 8 + 1).unwrap_or(cells)
}

/// As [`cheapest_from`], of lengths that are even or odd as `cells` is, so that what stood in the middle still does.
pub fn cheapest_centred_from(cells: usize) -> usize {
    cheapest((cells..=cells + cells / 8 + 2).step_by(2)).unwrap_or(cells)
}

fn cheapest(lengths: impl Iterator<Item = usize>) -> Option<usize> {
    let cost = |n: usize| n as f64 * (OTHER + line(n));
    lengths.min_by(|&a, &b| cost(a).total_cmp(&cost(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_primes_are_left_for_small_factors_nearby() {
        for prime in [17, 19, 23, 31, 37, 41, 59, 71, 131] {
            let chosen = cheapest_from(prime);
            assert!(chosen > prime && line(chosen) < 0.8 * line(prime), "{prime}: {chosen}");
        }
        // What is cheap stays.
        for cheap in [3, 4, 5, 8, 12, 16, 20, 24, 32, 40, 64] {
            assert_eq!(cheapest_from(cheap), cheap);
        }
    }

    #[test]
    fn no_length_grows_by_more_than_an_eighth_and_a_cell() {
        for n in 1..400 {
            let chosen = cheapest_from(n);
            assert!((n..=n + n / 8 + 1).contains(&chosen), "{n}: {chosen}");
        }
    }

    #[test]
    fn what_stood_in_the_middle_still_does() {
        let total = |n: usize| n as f64 * (OTHER + line(n));
        let mut longer = 0;
        for cells in 1..400 {
            let (centred, free) = (cheapest_centred_from(cells), cheapest_from(cells));
            assert_eq!(centred % 2, cells % 2, "{cells} to {centred}");
            assert!((cells..=cells + cells / 8 + 2).contains(&centred), "{cells} to {centred}");
            assert!((cells..=cells + cells / 8 + 1).contains(&free), "{cells} to {free}");
            assert!(total(centred) <= total(cells) && total(free) <= total(cells), "{cells}");
            longer += usize::from(centred > cells);
        }
        assert!(longer > 50, "{longer}");
    }
}
