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
    /// A window on its way into the bank, for a merge; and times the mask.
    work: Vec<f32>,
    masked_new: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    class: Class,
    weight: f64,
    /// What a regression is to answer: +1 at the target itself, less beside it.
    soft_label: f64,
}

impl SampleBank {
    /// For up to `positives` and `negatives` windows (both at least 1) of cells of `stride` floats, under the soft
    /// `mask`, one value a cell.
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
