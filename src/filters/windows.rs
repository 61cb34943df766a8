//! A kernel machine as a detector: fitted to a bank of real windows, it scores every window of a search map.

use std::sync::Arc;

use ndarray::Array2;

use super::bank::SampleBank;
use super::dense::{DenseHead, DenseKernel, DenseSettings};
use super::projection::Projection;
use crate::error::Result;
use crate::fft::CHANNELS;
use crate::kernels::Kernel;
use crate::machines::{Machine, Samples};

/// What a [`WindowDetector`] is made of.
#[derive(Clone, Debug)]
pub struct WindowSettings {
    /// The kernel.
    pub kernel: Kernel,
    /// Rows and columns of cells of the search map.
    pub size: (usize, usize),
    /// Rows and columns of cells of the template.
    pub template: (usize, usize),
    /// Channels of the features.
    pub channels: usize,
    /// Channels that are kept by a projection onto principal axes, at most 15; all of them if there are no more.
    pub kept: usize,
    /// Windows of the target that are remembered.
    pub positives: usize,
    /// Windows of the background that are remembered.
    pub negatives: usize,
}

/// A kernel machine over a bounded bank of windows.
#[derive(Clone, Debug)]
pub struct WindowDetector {
    settings: WindowSettings,
    machine: Arc<dyn Machine>,
    projection: Option<Projection>,
    pub(super) dense: DenseKernel,
    bank: SampleBank,
    head: DenseHead,
    /// Places whose windows the dense kernel has not seen yet.
    changed: Vec<usize>,
    /// Coefficients of the last fit by place.
    coefficients: Vec<f64>,
    input: Vec<f32>,
    map: Vec<f32>,
    template: Vec<f32>,
    /// The last response, `[row][column]`.
    pub(crate) response: Vec<f32>,
    scratch: Vec<f32>,
}

/// `sin(π (i + ½) / n)`: half a period, zero at the borders of the template.
fn sine(n: usize) -> Vec<f32> {
    (0..n).map(|i| (std::f64::consts::PI * (i as f64 + 0.5) / n as f64).sin() as f32).collect()
}

impl WindowDetector {
    /// A detector that knows nothing yet; `first` is the first search map, `[row][column][32]`, whose cells give the
    /// projection.
    pub fn new(settings: WindowSettings, machine: Arc<dyn Machine>, first: &[f32]) -> Self {
        let WindowSettings { kernel, size, template, channels, kept, positives, negatives } = settings;
        let projection = (kept < channels.min(16)).then(|| Projection::new(first, channels, kept));
        let kept = projection.as_ref().map_or(channels, Projection::kept);
        let (by_row, by_col) = (sine(template.0), sine(template.1));
        let mask: Vec<f32> = by_row.iter().flat_map(|r| by_col.iter().map(move |c| r * c)).collect();
        let slots = positives + negatives;
        let dense = DenseKernel::new(
            &DenseSettings { kernel, size, template, channels: kept, features: channels, slots },
            &mask,
        );
        let (height, width) = dense.windows();
        let stride = dense.stride();
        Self {
            bank: SampleBank::new(kernel, dense.per_feature(), &mask, stride, positives, negatives),
            head: DenseHead::default(),
            changed: Vec::with_capacity(positives + negatives),
            coefficients: vec![0.0; positives + negatives],
            input: vec![0.0; size.0 * size.1 * CHANNELS],
            map: vec![0.0; size.0 * size.1 * stride],
            template: vec![0.0; template.0 * template.1 * stride],
            response: vec![0.0; height * width],
            scratch: vec![0.0; height * width],
            settings,
            machine,
            projection,
            dense,
        }
    }

    /// The memory to write the next search map to, `[row][column][32]`.
    pub fn input(&mut self) -> &mut [f32] {
        &mut self.input
    }

    /// Takes the input in as the current search map: [`WindowDetector::add_negative_at`] and
    /// [`WindowDetector::respond`] look at it.
    pub fn take_input(&mut self) {
        match &self.projection {
            Some(projection) => projection.apply(&self.input, &mut self.map),
            None => self.map.copy_from_slice(&self.input),
        }
    }

    /// Scores all windows of the current search map.
    pub fn respond(&mut self) -> &[f32] {
        let bank = &self.bank;
        self.dense.search(&self.map, |pair| bank.places().any(|slot| slot / CHANNELS == pair));
        self.dense.decide(&self.head, &mut self.response, &mut self.scratch);
        &self.response
    }

    /// The last response, `[row][column]`.
    pub fn response(&self) -> &[f32] {
        &self.response
    }

    /// Remembers the template `[row][column][32]` as a sample of the target, with `share` of the weight of all its
    /// samples.
    pub fn add_positive(&mut self, template: &[f32], share: f64, soft_label: f64) {
        match &self.projection {
            Some(projection) => projection.apply(template, &mut self.template),
            None => self.template.copy_from_slice(template),
        }
        self.store_positive(share, soft_label);
    }

    /// Remembers the window at `row`, `col` of the current search map as a sample of the target.
    pub fn add_positive_at(&mut self, row: usize, col: usize, share: f64, soft_label: f64) {
        self.cut(row, col);
        self.store_positive(share, soft_label);
    }

    fn store_positive(&mut self, share: f64, soft_label: f64) {
        let [first, second] = self.bank.add_positive(&self.template, share, soft_label);
        for slot in [first, second].into_iter().flatten() {
            self.changed(slot);
        }
    }

    /// Remembers the window at `row`, `col` of the current search map as background.
    pub fn add_negative_at(&mut self, row: usize, col: usize) {
        self.cut(row, col);
        let slot = self.bank.add_negative(&self.template);
        self.coefficients[slot] = 0.0;
        self.changed(slot);
    }

    fn changed(&mut self, slot: usize) {
        if !self.changed.contains(&slot) {
            self.changed.push(slot);
        }
    }

    /// Brings the dense kernel up to date with the bank: only ever with a head that was fitted to it, so that supports
    /// and coefficients belong together even where a fit failed.
    fn refresh(&mut self) {
        for pair in self.changed.chunks(2) {
            let of = |slot: usize| (slot, self.bank.sample(slot), self.bank.norm(slot));
            self.dense.set(of(pair[0]), pair.get(1).map(|&slot| of(slot)));
        }
        self.changed.clear();
    }

    fn cut(&mut self, row: usize, col: usize) {
        let (rows, cols) = self.settings.template;
        let stride = self.dense.stride();
        let width = self.settings.size.1;
        for r in 0..rows {
            let from = &self.map[((row + r) * width + col) * stride..][..cols * stride];
            self.template[r * cols * stride..][..cols * stride].copy_from_slice(from);
        }
    }

    /// Kernel values of all samples, those of the target first.
    pub fn gram(&self) -> Array2<f64> {
        let places: Vec<usize> = self.bank.places().collect();
        Array2::from_shape_fn((places.len(), places.len()), |(i, j)| self.bank.similarity(places[i], places[j]))
    }

    /// Fits the machine to the bank.
    ///
    /// # Errors
    /// What the machine says; the earlier decision then stays.
    pub fn fit(&mut self) -> Result<()> {
        let places: Vec<usize> = self.bank.places().collect();
        let gram = self.gram();
        let told: Vec<(f64, f64, f64)> = places.iter().filter_map(|&slot| self.bank.label(slot)).collect();
        let column = |pick: fn(&(f64, f64, f64)) -> f64| told.iter().map(pick).collect::<Vec<f64>>();
        let start: Vec<f64> = places.iter().map(|&slot| self.coefficients[slot]).collect();
        let samples = Samples::new(gram.view(), &column(|t| t.0))?
            .with_weights(&column(|t| t.1))?
            .with_soft_labels(&column(|t| t.2))?
            .with_start(&start)?;
        let head = self.machine.fit(&samples)?;
        for (&slot, &value) in places.iter().zip(&head.linear().alpha) {
            self.coefficients[slot] = value;
        }
        self.head = DenseHead::new(&head, &places, self.dense.slots());
        self.refresh();
        Ok(())
    }
}
