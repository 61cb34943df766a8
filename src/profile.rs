//! Where the time of a run goes: stages, and a stopwatch that counts them where the work is done.
//!
//! A [`Stopwatch`] is off unless it is switched on. Off, a lap is one comparison; on, it is one glance at the clock.
//! Neither allocates. Who asks for work hands one down to it: a [`Tracker`](crate::Tracker) has one for all that it
//! does in an update.

use std::time::{Duration, Instant};

/// What the time is spent on, in the order in which a frame passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waiting for a decoded frame.
    Wait,
    /// Cutting the search area out of the frame, resampled where it is searched at another scale.
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
    /// The filter: dual coefficients learned and interpolated.
    Alpha,
    /// A filter solved in the primal, its constraints with it.
    Solve,
    /// The model's appearance, interpolated.
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
    /// A kernel machine's decisions on all windows.
    Windows,
    /// A kernel machine's samples taken in and the machine refitted.
    Refit,
    /// Writing results.
    Export,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 22] = [
        Stage::Wait,
        Stage::Crop,
        Stage::Gradient,
        Stage::Cells,
        Stage::Normalise,
        Stage::Forward,
        Stage::CrossPower,
        Stage::KernelInverse,
        Stage::KernelMap,
        Stage::KernelForward,
        Stage::Alpha,
        Stage::Solve,
        Stage::Interpolate,
        Stage::Inverse,
        Stage::Peak,
        Stage::Color,
        Stage::Scale,
        Stage::Identity,
        Stage::Rotation,
        Stage::Windows,
        Stage::Refit,
        Stage::Export,
    ];

    /// What a person reads in a table.
    pub fn label(self) -> &'static str {
        match self {
            Stage::Wait => "wait for decoding",
            Stage::Crop => "crop",
            Stage::Gradient => "gradient, orientation",
            Stage::Cells => "cell histograms",
            Stage::Normalise => "normalisation, taper",
            Stage::Forward => "forward FFT",
            Stage::CrossPower => "kernel: cross power",
            Stage::KernelInverse => "kernel: inverse FFT",
            Stage::KernelMap => "kernel: function",
            Stage::KernelForward => "kernel: forward FFT",
            Stage::Alpha => "alpha",
            Stage::Solve => "filter: primal solver",
            Stage::Interpolate => "interpolation",
            Stage::Inverse => "response: inverse FFT",
            Stage::Peak => "peak",
            Stage::Color => "colour histograms",
            Stage::Scale => "scale",
            Stage::Identity => "identity",
            Stage::Rotation => "rotation",
            Stage::Windows => "machine: all windows",
            Stage::Refit => "machine: refit",
            Stage::Export => "exports",
        }
    }
}

/// Time and number of visits of each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    stages: [(u64, Duration); Stage::ALL.len()],
}

impl Profile {
    /// How often a stage was gone through, and the time in all.
    pub(crate) fn of(&self, stage: Stage) -> (u64, Duration) {
        self.stages[stage as usize]
    }

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

    /// A table of the stages that were gone through, for `frames` frames: count, time in all, mean for each frame,
    /// share.
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
        for stage in Stage::ALL {
            let (count, time) = self.of(stage);
            if count > 0 {
                table += &line(stage.label(), count.to_string(), time);
            }
        }
        table + &line("all stages", String::new(), all)
    }

    /// This profile and another one, stage by stage.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for ((count, time), (more_count, more_time)) in self.stages.iter_mut().zip(&other.stages) {
            *count += more_count;
            *time += *more_time;
        }
        self
    }
}

/// Measures the time between laps. Made switched off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch {
    on: bool,
    last: Option<Instant>,
    profile: Profile,
}

impl Stopwatch {
    /// Switches it on or off. What was measured stays.
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

    /// What was measured.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_stand_in_their_own_places() {
        for (i, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage as usize, i);
        }
    }

    #[test]
    fn laps_are_counted_only_while_it_is_on() {
        let mut watch = Stopwatch::default();
        watch.start();
        watch.lap(Stage::Crop);
        assert_eq!(watch.profile(), &Profile::default());
        watch.switch(true);
        // Without a start there is nothing to measure from.
        watch.lap(Stage::Crop);
        assert_eq!(watch.profile().of(Stage::Crop).0, 0);
        watch.start();
        std::thread::sleep(Duration::from_millis(2));
        watch.lap(Stage::Crop);
        watch.lap(Stage::Peak);
        let (count, time) = watch.profile().of(Stage::Crop);
        assert!(count == 1 && time >= Duration::from_millis(2));
        let table = watch.profile().table(1);
        assert!(table.contains("crop") && table.contains("all stages") && !table.contains("alpha"), "{table}");
        let twice = watch.profile().plus(watch.profile());
        assert_eq!(twice.of(Stage::Peak).0, 2);
        assert_eq!(twice.total(), watch.profile().total() * 2);
    }
}
