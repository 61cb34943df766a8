//! How fast trackers were.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::dataset::LabelledSequence;
use super::runner::Trace;

/// The document `timings.json`: it differs from run to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// `kcf-track-timings/1`.
    pub schema: String,
    /// Speed by tracker; trackers without times are missing.
    pub trackers: BTreeMap<String, TrackerTiming>,
}

/// The speed of one tracker, without decoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackerTiming {
    /// Frames per second, the mean over sequences.
    pub fps: f64,
    /// Frames per second of each sequence: its frames by the time that they took together.
    pub sequences: BTreeMap<String, f64>,
    /// Frames per second by attribute, the mean over the sequences that have it.
    #[serde(default)]
    pub attributes: BTreeMap<String, f64>,
}

impl TrackerTiming {
    /// From the speed of each sequence; `None` without any.
    pub(super) fn of(fps: BTreeMap<String, f64>, sequences: &[&LabelledSequence]) -> Option<Self> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let mut by_attribute: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for sequence in sequences {
            let Some(&rate) = fps.get(&sequence.name) else { continue };
            for attribute in &sequence.attributes {
                by_attribute.entry(attribute).or_default().push(rate);
            }
        }
        let attributes = by_attribute.into_iter().map(|(name, rates)| (name.to_owned(), mean(&rates))).collect();
        let all: Vec<f64> = fps.values().copied().collect();
        (!all.is_empty()).then(|| Self { fps: mean(&all), sequences: fps, attributes })
    }
}

/// Frames per second of all runs of a sequence together.
pub(super) fn rate(traces: &[Trace]) -> Option<f64> {
    let micros: u64 = traces.iter().flat_map(|t| &t.micros).map(|&m| u64::from(m)).sum();
    let frames: usize = traces.iter().map(|t| t.micros.len()).sum();
    (micros > 0).then(|| frames as f64 * 1e6 / micros as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::dataset::Dataset;
    use crate::eval::dataset::tests::{rows, write_sequence};

    #[test]
    fn speeds_are_means_over_the_sequences_of_an_attribute() {
        let dir = tempfile::tempdir().unwrap();
        for (name, n) in [("Crossing", 9), ("Deer", 25)] {
            write_sequence(&dir.path().join(name), "img", n, "groundtruth_rect.txt", &rows(n));
        }
        let sequences = Dataset::open(dir.path(), &[]).unwrap().sequences;
        let sequences: Vec<_> = sequences.iter().collect();
        let fps = [("Crossing", 10.0), ("Deer", 20.0)].map(|(name, fps)| (name.to_owned(), fps));
        let timing = TrackerTiming::of(fps.into(), &sequences).unwrap();
        assert_eq!(timing.fps, 15.0);
        for (attribute, mean) in &timing.attributes {
            let has = |i: usize| sequences[i].attributes.contains(attribute);
            let expected = [(has(0), 10.0), (has(1), 20.0)].into_iter().filter(|(has, _)| *has).map(|(_, fps)| fps);
            let expected: Vec<f64> = expected.collect();
            assert_eq!(*mean, expected.iter().sum::<f64>() / expected.len() as f64, "{attribute}");
        }
        assert_eq!(TrackerTiming::of(BTreeMap::new(), &sequences), None);
    }
}
