//! Where the time of a run goes: the stages of an update, and a stopwatch that measures them.
//!
//! A [`Stopwatch`] is off unless it is switched on. A lap costs one comparison when it is off and one reading of the
//! clock when it is on; it never allocates. A [`Tracker`](crate::Tracker) owns one and lends it to everything that works
//! in an update.

use std::time::{Duration, Instant};

/// The stages, in the order in which a frame passes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waiting for a decoded frame.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "a build without runs"))]
    Wait,
    /// Cutting the search area out of the frame and resampling it.
    Crop,
    /// Gradients: magnitudes and orientations.
    Gradient,
    /// Histograms of the cells.
    Cells,
    /// Normalisation of the cells and the taper (gray values: all of the feature).
    Normalise,
    /// Forward transforms of the feature maps.
    Forward,
    /// Kernel correlation: products of spectra, summed over the channels, and energies.
    CrossPower,
    /// Kernel correlation: inverse transforms of the inner products.
    KernelInverse,
    /// Kernel correlation: the kernel function on the map of inner products.
    KernelMap,
    /// Kernel correlation: forward transforms of the kernel map.
    KernelForward,
    /// Learning and interpolating the dual coefficients of a filter.
    Alpha,
    /// Solving a filter in the primal, with its constraints.
    Solve,
    /// Interpolating the model's appearance.
    Interpolate,
    /// Response: product with the filter and inverse transform.
    Inverse,
    /// The response's peak, its ratio to the sidelobe and its energy.
    Peak,
    /// Colour histograms: likelihoods in the search area, and learning.
    Color,
    /// The filter for the target's scale.
    Scale,
    /// The comparison with what was given.
    Identity,
    /// The filter for the target's angle.
    Rotation,
    /// A siamese network.
    #[cfg_attr(not(feature = "neural"), allow(dead_code, reason = "a build without networks"))]
    Network,
    /// A kernel machine's decisions on all windows.
    Windows,
    /// Adding samples to a kernel machine and refitting it.
    Refit,
    /// Writing results.
    Export,
}

/// The names of the stages in [`Profile::table`], in their order.
const LABELS: [&str; Stage::Export as usize + 1] = [
    "wait for decoding",
    "crop",
    "gradient, orientation",
    "cell histograms",
    "normalisation, taper",
    "forward FFT",
    "kernel: cross power",
    "kernel: inverse FFT",
    "kernel: function",
    "kernel: forward FFT",
    "alpha",
    "filter: primal solver",
    "interpolation",
    "response: inverse FFT",
    "peak",
    "colour histograms",
    "scale",
    "identity",
    "rotation",
    "network",
    "machine: all windows",
    "machine: refit",
    "exports",
];

/// Time and number of visits of each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    stages: [(u64, Duration); LABELS.len()],
}

impl Profile {
    /// Adds one visit of `stage`.
    pub(crate) fn add(&mut self, stage: Stage, time: Duration) {
        let (count, total) = &mut self.stages[stage as usize];
        *count += 1;
        *total += time;
    }

    /// The time of all stages.
    pub fn total(&self) -> Duration {
        self.stages.iter().map(|(_, time)| *time).sum()
    }

    /// A table of the visited stages over `frames` frames: count, total time, mean per frame, share.
    pub fn table(&self, frames: u64) -> String {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let (all, frames) = (self.total(), frames.max(1) as f64);
        let line = |name: &str, count: String, time: Duration| {
            let share = 100.0 * time.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
            let mean = millis(time) * 1e3 / frames;
            format!("  {name:<24} {count:>10} {:>12.3} {mean:>12.1} {share:>6.1}%\n", millis(time))
        };
        let mut table =
            format!("  {:<24} {:>10} {:>12} {:>12} {:>7}\n", "stage", "count", "total ms", "us a frame", "share");
        for (label, &(count, time)) in LABELS.iter().zip(&self.stages).filter(|(_, (count, _))| *count > 0) {
            table += &line(label, count.to_string(), time);
        }
        table + &line("all stages", String::new(), all)
    }

    /// The sum of this profile and another one, stage by stage.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for ((count, time), (more_count, more_time)) in self.stages.iter_mut().zip(&other.stages) {
            *count += more_count;
            *time += *more_time;
        }
        self
    }
}

/// Measures the time between laps; off by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch {
    on: bool,
    last: Option<Instant>,
    profile: Profile,
}

impl Stopwatch {
    /// Switches it on or off. Measurements are kept.
    pub fn switch(&mut self, on: bool) {
        *self = Self { on, last: None, profile: self.profile };
    }

    /// Begins a series of laps.
    #[inline]
    pub fn start(&mut self) {
        if self.on {
            self.last = Some(Instant::now());
        }
    }

    /// Ends a lap: the time since the last start or lap was spent on `stage`.
    #[inline]
    pub fn lap(&mut self, stage: Stage) {
        if self.on {
            self.end_lap(stage);
        }
    }

    #[cold]
    fn end_lap(&mut self, stage: Stage) {
        let now = Instant::now();
        if let Some(last) = self.last.replace(now) {
            self.profile.add(stage, now - last);
        }
    }

    /// The measurements.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_laps_only_while_it_is_on() {
        let mut watch = Stopwatch::default();
        watch.start();
        watch.lap(Stage::Crop);
        assert_eq!(watch.profile(), &Profile::default());
        watch.switch(true);
        // Without a start there is nothing to measure from.
        watch.lap(Stage::Crop);
        assert_eq!(watch.profile().stages[Stage::Crop as usize].0, 0);
        watch.start();
        std::thread::sleep(Duration::from_millis(2));
        watch.lap(Stage::Crop);
        watch.lap(Stage::Peak);
        let (count, time) = watch.profile().stages[Stage::Crop as usize];
        assert!(count == 1 && time >= Duration::from_millis(2));
        let table = watch.profile().table(1);
        assert!(table.contains("crop") && table.contains("all stages") && !table.contains("alpha"), "{table}");
        let twice = watch.profile().plus(watch.profile());
        assert_eq!(twice.stages[Stage::Peak as usize].0, 2);
        assert_eq!(twice.total(), watch.profile().total() * 2);
    }
}
