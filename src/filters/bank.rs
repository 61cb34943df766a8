//! A bounded bank of real windows: samples of the target and of the background, and how much each of them counts.

use nalgebra::DMatrix;

use crate::kernels::Kernel;
use crate::simd::leveled;

/// Share of the weight that a sample of the target keeps however old it is.
const MIN_WEIGHT: f64 = 1e-4;

/// Which class a support belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The target.
    Positive,
    /// The background.
    Negative,
}

/// Labelled windows in numbered slots, their masked inner products, and the replacement policy: a full bank merges
/// positives and evicts negatives.
#[derive(Clone, Debug)]
pub struct SampleBank {
    kernel: Kernel,
    per_feature: f64,
    /// The mask of each feature value.
    mask: Vec<f32>,
    values: Vec<f32>,
    entries: Vec<Option<Entry>>,
    /// The windows times the mask.
    masked: Vec<f32>,
    /// Masked inner products `Σ m² a b` between places.
    dots: DMatrix<f64>,
    /// The kernel values that belong to them.
    gram: DMatrix<f64>,
    capacity: [usize; 2],
    /// A window on its way into the bank, for a merge, and the window times the mask.
    work: Vec<f32>,
    masked_new: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    class: Class,
    weight: f64,
    /// Answer that a regression learns: +1 at the target itself, less beside it.
    soft_label: f64,
}

impl SampleBank {
    /// Creates a bank for up to `positives` and `negatives` windows (both at least 1) of cells of `stride` floats,
    /// under the soft `mask`, one value a cell.
    pub fn new(
        kernel: Kernel,
        per_feature: f32,
        mask: &[f32],
        stride: usize,
        positives: usize,
        negatives: usize,
    ) -> Self {
        let slots = positives + negatives;
        let mask: Vec<f32> = mask.iter().flat_map(|&m| std::iter::repeat_n(m, stride)).collect();
        Self {
            kernel,
            per_feature: f64::from(per_feature),
            values: vec![0.0; slots * mask.len()],
            masked: vec![0.0; slots * mask.len()],
            work: vec![0.0; mask.len()],
            masked_new: vec![0.0; mask.len()],
            mask,
            entries: vec![None; slots],
            dots: DMatrix::zeros(slots, slots),
            gram: DMatrix::zeros(slots, slots),
            capacity: [positives, negatives],
        }
    }

    /// The window in `slot`, `[row][column][stride]`.
    pub fn sample(&self, slot: usize) -> &[f32] {
        let len = self.mask.len();
        &self.values[slot * len..][..len]
    }

    fn masked(&self, slot: usize) -> &[f32] {
        let len = self.mask.len();
        &self.masked[slot * len..][..len]
    }

    /// The masked squared norm of the window in `slot`.
    pub fn norm(&self, slot: usize) -> f32 {
        self.dots[(slot, slot)] as f32
    }

    /// The places in use.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        (0..self.entries.len()).filter(|&slot| self.entries[slot].is_some())
    }

    fn of(&self, class: Class) -> impl Iterator<Item = usize> {
        (0..self.entries.len()).filter(move |&slot| self.entries[slot].is_some_and(|entry| entry.class == class))
    }

    /// Label, weight and soft label of the window in `slot`; weights sum to half the number of windows in each
    /// class.
    pub fn label(&self, slot: usize) -> Option<(f64, f64, f64)> {
        let entry = self.entries[slot]?;
        let members = self.of(entry.class).map(|other| self.entries[other].map_or(0.0, |other| other.weight));
        let half = self.places().count() as f64 / 2.0;
        let label = if entry.class == Class::Positive { 1.0 } else { -1.0 };
        Some((label, entry.weight / members.sum::<f64>() * half, entry.soft_label))
    }

    /// The kernel value of the windows in two places.
    pub fn similarity(&self, a: usize, b: usize) -> f64 {
        self.gram[(a, b)]
    }

    /// Adds a window of the target with `share` of the whole class's weight; the earlier ones keep the rest. A full bank
    /// first merges its two closest windows. Returns the changed slots.
    pub fn add_positive(&mut self, sample: &[f32], share: f64, soft_label: f64) -> [Option<usize>; 2] {
        let members: Vec<usize> = self.of(Class::Positive).collect();
        let total: f64 = members.iter().map(|&slot| self.entries[slot].map_or(0.0, |entry| entry.weight)).sum();
        let weight = if members.is_empty() { 1.0 } else { share.max(MIN_WEIGHT) };
        for &slot in &members {
            if let Some(entry) = &mut self.entries[slot] {
                entry.weight = (entry.weight * (1.0 - share) / total).max(MIN_WEIGHT);
            }
        }
        let entry = Entry { class: Class::Positive, weight, soft_label };
        if let Some(free) = self.free(Class::Positive) {
            self.put(free, sample, entry);
            return [Some(free), None];
        }
        // The closest pair among the members and the new window.
        let mut best = (f64::INFINITY, members[0], None);
        weigh(sample, &self.mask, &mut self.masked_new);
        let new = &self.masked_new;
        let new_norm = dot(new, new);
        for (i, &a) in members.iter().enumerate() {
            let with_new = self.dots[(a, a)] + new_norm - 2.0 * dot(self.masked(a), new);
            if with_new < best.0 {
                best = (with_new, a, None);
            }
            for &b in &members[..i] {
                let distance = self.dots[(a, a)] + self.dots[(b, b)] - 2.0 * self.dots[(a, b)];
                if distance < best.0 {
                    best = (distance, a, Some(b));
                }
            }
        }
        match best {
            (_, a, None) => {
                self.work.copy_from_slice(sample);
                self.merge(a, entry);
                [Some(a), None]
            }
            (_, a, Some(b)) => {
                let len = self.mask.len();
                self.work.copy_from_slice(&self.values[b * len..][..len]);
                let merged = self.entries[b].unwrap_or(entry);
                self.merge(a, merged);
                self.put(b, sample, entry);
                [Some(a), Some(b)]
            }
        }
    }

    /// Mixes the window in `work`, which counts as `other` says, into the place `slot`.
    fn merge(&mut self, slot: usize, other: Entry) {
        let Some(entry) = self.entries[slot] else { return };
        let weight = entry.weight + other.weight;
        let share = if weight > 0.0 { other.weight / weight } else { 0.5 };
        let len = self.mask.len();
        let soft_label = entry.soft_label + (other.soft_label - entry.soft_label) * share;
        for (work, value) in self.work.iter_mut().zip(&self.values[slot * len..][..len]) {
            *work = value + (*work - value) * share as f32;
        }
        let sample = std::mem::take(&mut self.work);
        self.put(slot, &sample, Entry { class: entry.class, weight, soft_label });
        self.work = sample;
    }

    /// Adds a window of the background. A full bank first evicts the one least like the target. Returns the changed
    /// slot.
    pub fn add_negative(&mut self, sample: &[f32]) -> usize {
        let entry = Entry { class: Class::Negative, weight: 1.0, soft_label: -1.0 };
        let slot = self.free(Class::Negative).unwrap_or_else(|| {
            let like_target = |slot: usize| -> f64 {
                self.of(Class::Positive)
                    .map(|p| self.entries[p].map_or(0.0, |entry| entry.weight) * self.similarity(p, slot))
                    .sum()
            };
            let weakest = self.of(Class::Negative).map(|slot| (like_target(slot), slot));
            weakest.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, slot)| slot)
        });
        self.put(slot, sample, entry);
        slot
    }

    fn free(&self, class: Class) -> Option<usize> {
        let [positives, negatives] = self.capacity;
        let mut range = match class {
            Class::Positive => 0..positives,
            Class::Negative => positives..positives + negatives,
        };
        range.find(|&slot| self.entries[slot].is_none())
    }

    fn put(&mut self, slot: usize, sample: &[f32], entry: Entry) {
        let len = self.mask.len();
        self.values[slot * len..][..len].copy_from_slice(sample);
        weigh(sample, &self.mask, &mut self.masked[slot * len..][..len]);
        self.entries[slot] = Some(entry);
        for other in 0..self.entries.len() {
            if self.entries[other].is_some() {
                let dot = dot(self.masked(slot), self.masked(other));
                self.dots[(slot, other)] = dot;
                self.dots[(other, slot)] = dot;
            }
        }
        let own = self.dots[(slot, slot)];
        for other in 0..self.entries.len() {
            if self.entries[other].is_some() {
                let norm = self.dots[(other, other)];
                let value = self.kernel.eval64(self.dots[(slot, other)], own, norm, self.per_feature);
                self.gram[(slot, other)] = value;
                self.gram[(other, slot)] = value;
            }
        }
    }
}

/// The window `sample` times the mask.
fn weigh(sample: &[f32], mask: &[f32], out: &mut [f32]) {
    for ((out, value), mask) in out.iter_mut().zip(sample).zip(mask) {
        *out = value * mask;
    }
}

leveled! {
    /// `Σ a b`: sums of up to 512 products a lane in single precision, of those in double.
    fn dot(a: &[f32], b: &[f32]) -> f64 {
        let mut total = 0.0;
        for (a, b) in a.chunks(512 * 16).zip(b.chunks(512 * 16)) {
            let (a, b) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
            let mut sums = [[0.0f32; 16]; 4];
            let (a4, a1) = a.as_chunks::<4>();
            let (b4, b1) = b.as_chunks::<4>();
            for (a, b) in a4.iter().zip(b4) {
                for i in 0..4 {
                    for l in 0..16 {
                        sums[i][l] += a[i][l] * b[i][l];
                    }
                }
            }
            for (a, b) in a1.iter().zip(b1) {
                for l in 0..16 {
                    sums[0][l] += a[l] * b[l];
                }
            }
            for lanes in &sums {
                total += f64::from(lanes.iter().sum::<f32>());
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    //! The bank against its rules, step by step: what each call may change, and that the Gram matrix is that of the
    //! windows.

    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    use super::super::test_maps::{cells, masked_dot, noise};
    use super::*;

    const KERNEL: Kernel = Kernel::Gaussian { sigma: 0.25 };
    const CELLS: usize = 6;
    const STRIDE: usize = 16;

    fn weights() -> Vec<f32> {
        noise(CELLS, 77).iter().map(|v| 0.1 + 2.0 * v).collect()
    }

    /// The mask; its squares are the weights.
    fn mask() -> Vec<f32> {
        weights().into_iter().map(f32::sqrt).collect()
    }

    fn per_feature() -> f32 {
        1.0 / (weights().iter().sum::<f32>() * 8.0)
    }

    fn bank(positives: usize, negatives: usize) -> SampleBank {
        SampleBank::new(KERNEL, per_feature(), &mask(), STRIDE, positives, negatives)
    }

    fn window(seed: u64) -> Vec<f32> {
        cells(CELLS, 8, STRIDE, seed)
    }

    fn near(sample: &[f32], seed: u64) -> Vec<f32> {
        sample.iter().zip(window(seed)).map(|(v, change)| v + 0.02 * change).collect()
    }

    fn distance(a: &[f32], b: &[f32]) -> f64 {
        let apart: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        masked_dot(&apart, &apart, &weights())
    }

    fn mean(a: (&[f32], f64), b: (&[f32], f64)) -> Vec<f32> {
        let total = a.1 + b.1;
        a.0.iter().zip(b.0).map(|(&x, &y)| ((f64::from(x) * a.1 + f64::from(y) * b.1) / total) as f32).collect()
    }

    #[track_caller]
    fn alike(a: &[f32], b: &[f32]) {
        let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(a.len() == b.len() && worst < 1e-6, "{worst}");
    }

    /// The weight of a sample relative to its class.
    fn share(bank: &SampleBank, slot: usize) -> f64 {
        bank.label(slot).unwrap().1 / (bank.places().count() as f64 / 2.0)
    }

    #[test]
    fn a_sample_closest_to_a_known_one_is_mixed_into_it() {
        let mut bank = bank(3, 2);
        let samples: Vec<Vec<f32>> = (1..4).map(window).collect();
        for (n, sample) in samples.iter().enumerate() {
            assert_eq!(bank.add_positive(sample, 1.0 / (n + 1) as f64, 1.0 - n as f64), [Some(n), None]);
        }
        (0..3).for_each(|slot| assert!((share(&bank, slot) - 1.0 / 3.0).abs() < 1e-9));
        let fourth = near(&samples[1], 9);
        assert_eq!(bank.add_positive(&fourth, 0.4, 1.0), [Some(1), None]);
        // The earlier ones keep 0.6 of the weight: 0.2 each.
        alike(bank.sample(1), &mean((&samples[1], 0.2), (&fourth, 0.4)));
        alike(bank.sample(0), &samples[0]);
        let (label, _, soft_label) = bank.label(1).unwrap();
        assert!(label == 1.0 && (soft_label - 0.4 / 0.6).abs() < 1e-9);
        for (slot, expected) in [0.2, 0.6, 0.2].into_iter().enumerate() {
            assert!((share(&bank, slot) - expected).abs() < 1e-9);
        }
        assert!((f64::from(bank.norm(1)) - masked_dot(bank.sample(1), bank.sample(1), &weights())).abs() < 1e-5);
    }

    /// A sample without weight would be refused by every machine.
    #[test]
    fn no_look_ever_weighs_nothing() {
        for rate in [0.0, 1e-9, 0.999] {
            let mut bank = bank(2, 2);
            bank.add_negative(&window(50));
            for seed in 0..60 {
                bank.add_positive(&window(seed), rate, 1.0);
                for slot in bank.places() {
                    let weight = bank.label(slot).unwrap().1;
                    assert!((1e-6..100.0).contains(&weight), "rate {rate}: {weight}");
                }
            }
        }
    }

    /// A new sample gets its share of all the weight, although many samples at the least weight make more than one
    /// together.
    #[test]
    fn a_share_is_that_of_all_the_weight() {
        let mut bank = bank(3, 2);
        for seed in 0..200 {
            bank.add_positive(&window(seed), 0.0, 1.0);
        }
        let next = window(300);
        let changed = bank.add_positive(&next, 0.4, 1.0);
        let slot = changed.into_iter().flatten().find(|&slot| bank.sample(slot) == next).expect("a place of its own");
        assert!((share(&bank, slot) - 0.4).abs() < 1e-3, "{}", share(&bank, slot));
    }

    /// The places of the windows of a class.
    fn of_class(bank: &SampleBank, label: f64) -> Vec<usize> {
        bank.places().filter(|&slot| bank.label(slot).unwrap().0 == label).collect()
    }

    fn check(bank: &SampleBank, capacity: (usize, usize)) {
        let (positives, negatives) = (of_class(bank, 1.0), of_class(bank, -1.0));
        assert!(positives.len() <= capacity.0 && negatives.len() <= capacity.1);
        let half = (positives.len() + negatives.len()) as f64 / 2.0;
        for class in [&positives, &negatives].into_iter().filter(|class| !class.is_empty()) {
            let total: f64 = class.iter().map(|&slot| bank.label(slot).unwrap().1).sum();
            assert!((total - half).abs() < 1e-9 * half, "{total} of {half}");
        }
        let d = f64::from(per_feature());
        for a in bank.places() {
            for b in bank.places() {
                let expected = (-distance(bank.sample(a), bank.sample(b)) * d / (0.25 * 0.25)).exp();
                assert!((bank.similarity(a, b) - expected).abs() < 1e-5, "{a}, {b}");
                assert_eq!(bank.similarity(a, b), bank.similarity(b, a));
            }
        }
    }

    /// The place whose window leaves for another of the background.
    fn least_like_the_target(bank: &SampleBank) -> usize {
        let like = |slot: usize| -> f64 {
            of_class(bank, 1.0).iter().map(|&p| bank.label(p).unwrap().1 * bank.similarity(p, slot)).sum()
        };
        of_class(bank, -1.0).into_iter().min_by(|&a, &b| like(a).total_cmp(&like(b))).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn any_order_of_looks_keeps_to_the_rules(
            seed: u64, positives in 1usize..6, negatives in 1usize..7, steps in 1usize..40,
        ) {
            let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
            let mut bank = bank(positives, negatives);
            for _ in 0..steps {
                let known: Vec<usize> = bank.places().collect();
                let sample = if known.is_empty() || rng.random_bool(0.5) {
                    window(rng.random())
                } else {
                    near(bank.sample(known[rng.random_range(0..known.len())]), rng.random())
                };
                let before = bank.clone();
                if rng.random_bool(0.5) {
                    let slot = bank.add_negative(&sample);
                    alike(bank.sample(slot), &sample);
                    prop_assert!(matches!(bank.label(slot), Some((-1.0, _, -1.0))));
                    if of_class(&before, -1.0).len() == negatives {
                        if !of_class(&before, 1.0).is_empty() {
                            prop_assert_eq!(slot, least_like_the_target(&before));
                        }
                    } else {
                        prop_assert!(before.label(slot).is_none());
                    }
                    for other in before.places().filter(|&other| other != slot) {
                        prop_assert_eq!(bank.sample(other), before.sample(other));
                    }
                } else {
                    let share = rng.random_range(0.01..0.6);
                    let changed = bank.add_positive(&sample, share, 1.0);
                    let members = of_class(&before, 1.0);
                    for other in before.places().filter(|&other| !changed.contains(&Some(other))) {
                        prop_assert_eq!(bank.sample(other), before.sample(other));
                    }
                    if members.len() < positives {
                        let slot = changed[0].unwrap();
                        prop_assert!(before.label(slot).is_none() && changed[1].is_none());
                        alike(bank.sample(slot), &sample);
                    } else {
                        // All windows, the new sample last, and the closest two of them.
                        let at = |i: usize| members.get(i).map_or(&sample[..], |&slot| before.sample(slot));
                        let pairs = (0..=members.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
                        let apart = |&(i, j): &(usize, usize)| distance(at(i), at(j));
                        let closest = pairs.map(|pair| apart(&pair)).fold(f64::INFINITY, f64::min);
                        // The pair that became one: with the new sample, or two members, one of which made room.
                        let place = |slot: usize| members.iter().position(|&member| member == slot).unwrap();
                        let (to, free) = (changed[0].unwrap(), changed[1]);
                        let (i, j) = (place(to), free.map_or(members.len(), place));
                        // Pairs that are equally close up to rounding are all valid.
                        prop_assert!(apart(&(i, j)) <= closest + 2e-6, "{} and {}", apart(&(i, j)), closest);
                        let old: f64 = members.iter().map(|&slot| before.label(slot).unwrap().1).sum();
                        let weight = |i: usize| {
                            members.get(i).map_or(share, |&slot| before.label(slot).unwrap().1 / old * (1.0 - share))
                        };
                        let merged = mean((at(i), weight(i)), (at(j), weight(j)));
                        let worst = merged.iter().zip(bank.sample(to)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                        // A sample keeps a least weight, however old it is.
                        prop_assert!(worst < 1e-3, "{}", worst);
                        if let Some(free) = free {
                            alike(bank.sample(free), &sample);
                        }
                    }
                }
                check(&bank, (positives, negatives));
            }
        }
    }
}
