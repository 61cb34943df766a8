//! One evaluation split over machines.

use std::fmt;
use std::str::FromStr;

use super::dataset::LabelledSequence;
use crate::error::Error;

/// The part `index` of `count`, counted from 1: `2/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Which part it is, from 1.
    pub fn index(self) -> usize {
        self.index
    }

    /// Number of parts.
    pub fn count(self) -> usize {
        self.count
    }

    /// For each of `sequences` whether it belongs to this part. The parts have about the same number of frames, and any
    /// machine divides the same sequences in the same way.
    pub fn members(self, sequences: &[LabelledSequence]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..sequences.len()).collect();
        order.sort_by(|&a, &b| {
            let frames = |i: usize| sequences[i].frames.len();
            frames(b).cmp(&frames(a)).then_with(|| sequences[a].name.cmp(&sequences[b].name))
        });
        // Longest first, each to the part that has the least so far.
        let mut loads = vec![0usize; self.count.min(sequences.len())];
        let mut members = vec![false; sequences.len()];
        for i in order {
            let Some((part, load)) = loads.iter_mut().enumerate().min_by_key(|(part, load)| (**load, *part)) else {
                break;
            };
            *load += sequences[i].frames.len();
            members[i] = part + 1 == self.index;
        }
        members
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(Error::Parameter {
                name: "shard",
                value: text.to_owned(),
                expected: "i/n with i from 1 to n, as 2/3 for the second of three parts".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::annotation::Base;

    #[test]
    fn only_parts_that_exist_are_accepted() {
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for wrong in ["3/2", "0/2", "1/0", "1", "a/b", "-1/2", "1/2/3", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_sequence_is_in_one_part_and_parts_are_even() {
        let sequences: Vec<LabelledSequence> = (0..23)
            .map(|i| LabelledSequence {
                name: format!("s{i}"),
                frames: vec!["x".into(); 50 + i * 37 % 500],
                skipped: 0,
                truth: vec![],
                attributes: vec![],
                base: Base::One,
            })
            .collect();
        for count in [1, 2, 3, 7, 23, 40] {
            let parts: Vec<Vec<bool>> =
                (1..=count).map(|i| format!("{i}/{count}").parse::<Shard>().unwrap().members(&sequences)).collect();
            for s in 0..sequences.len() {
                assert_eq!(parts.iter().filter(|p| p[s]).count(), 1);
            }
            let loads: Vec<usize> =
                parts.iter().map(|p| (0..23).filter(|&s| p[s]).map(|s| sequences[s].frames.len()).sum()).collect();
            if count <= 3 {
                let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
                assert!(most - least <= 100, "{loads:?}");
            }
        }
    }
}
