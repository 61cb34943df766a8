//! What a kernel machine over a bank of real windows can be set to.

use serde::{Deserialize, Deserializer, Serialize};

use super::ScaleParams;
use crate::kernels::Kernel;
use crate::machines::{MachineKind, MachineParams};

/// How a kernel machine over a bank of windows searches for the target and learns.
///
/// Supports are templates of HOG cells of 4 pixels, weighted by a cosine mask, cut from the picture at a size at which
/// the target has about [`WindowParams::template_size`] pixels. The defaults were chosen on OTB's sequences, as means
/// over machines, and are the same for every machine but [`WindowParams::gate`] and [`WindowParams::every`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WindowParams {
    /// The machine and its settings.
    pub machine: MachineParams,
    /// The kernel between two windows.
    pub kernel: Kernel,
    /// Targets larger than this, `sqrt(width * height)` in pixels, are seen so coarsely that they have this size.
    pub template_size: f64,
    /// Extra area around the target in a template, relative to its size.
    pub context: f64,
    /// The target's centre may move by half of this, relative to its size, in each direction.
    pub reach: f64,
    /// How much nearness to the last position counts, 0 to 1: the score of a window farthest away, over the
    /// background's -1, is lowered by this share.
    pub prior: f64,
    /// Share of the newest sample of the target in the weight of all its samples.
    pub sample_share: f64,
    /// A frame is learned from if the decision is above this.
    pub gate: f64,
    /// Of so many believed frames one is learned from.
    pub every: usize,
    /// Samples of the target that are remembered, at most; the closest two are merged.
    pub positives: usize,
    /// Samples of the background that are remembered, at most; the one least like the target is forgotten.
    pub negatives: usize,
    /// Samples of the background that each frame adds: the highest wrong peaks of the response.
    pub hard_negatives: usize,
    /// Channels that the 31 of HOG are projected onto by a PCA of the first search area, 1 to 15; 31 for all of them.
    pub channels: usize,
}

/// A kernel machine over a bank of windows that searches by itself: it follows the target's size and says when it is
/// lost, where a guard goes by the search's size and has thresholds of its own. Written as [`WindowParams`] with these
/// beside the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WindowSearchParams {
    /// How it searches and learns.
    #[serde(flatten)]
    pub windows: WindowParams,
    /// How the target's size is followed.
    pub scale: ScaleParams,
    /// Decisions below this, or below the gate where that is lower, are [`State::Lost`](crate::State::Lost). Boxes do
    /// not depend on it.
    ///
    /// The classes lie about +1 and -1 (their means do, those of `krr` are lower, `svm` has its margins there), but the
    /// window is the best of hundreds. Of frames that overlap the truth by more than half (on OTB), two to five in a
    /// hundred lie below the default, by the machine; of the others a third and more.
    pub lost: f64,
}

/// By hand: a struct that is flattened into another does not refuse unknown fields.
impl<'de> Deserialize<'de> for WindowSearchParams {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut fields = serde_json::Map::deserialize(from)?;
        let mut own = |name| fields.remove(name).ok_or_else(|| Error::missing_field(name));
        let lost = serde_json::from_value(own("lost")?).map_err(Error::custom)?;
        let scale = serde_json::from_value(own("scale")?).map_err(Error::custom)?;
        Ok(Self { windows: serde_json::from_value(fields.into()).map_err(Error::custom)?, scale, lost })
    }
}

impl From<WindowParams> for WindowSearchParams {
    /// With the default of what is lost, the size being what it is at first.
    fn from(windows: WindowParams) -> Self {
        Self { windows, scale: ScaleParams::None, lost: -0.3 }
    }
}

impl WindowParams {
    /// The kernel between windows, if nothing else is said.
    pub const KERNEL: Kernel = Kernel::Gaussian { sigma: 0.25 };

    /// The settings for a machine with its defaults.
    pub fn of(machine: MachineKind) -> Self {
        Self {
            machine: machine.params(),
            kernel: Self::KERNEL,
            template_size: 32.0,
            context: 0.5,
            reach: 2.5,
            prior: 0.5,
            sample_share: 0.05,
            gate: machine.gate(),
            every: machine.every(),
            positives: 12,
            negatives: 40,
            hard_negatives: 3,
            channels: 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::machines::svm;
    use crate::tracker::{GuardParams, Params, SearchParams};

    fn read(text: &str) -> Params {
        serde_json::from_value(serde_json::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn settings_are_written_and_read_back() {
        let changed = |kind| WindowParams {
            kernel: Kernel::Polynomial { a: 0.5, b: 3 },
            gate: 0.4,
            positives: 7,
            channels: 31,
            prior: 0.25,
            machine: MachineParams::Svm(svm::Params { c: 3.5, ..svm::Params::default() }),
            ..WindowParams::of(kind)
        };
        for &kind in MachineKind::ALL {
            let windows = [changed(kind), WindowParams::of(kind)];
            let searches = windows.clone().map(|windows| WindowSearchParams { lost: -0.5, ..windows.into() });
            for params in searches.map(|search| Params { search: SearchParams::Windows(search), guard: None }) {
                let text = serde_json::to_string(&params).unwrap();
                assert_eq!(read(&text), params, "{text}");
            }
            for windows in windows {
                let guard = GuardParams { windows, belief: 0.2, tiles: 5, ..GuardParams::of(MachineKind::Svm) };
                let params = Params::paper().guarded(guard);
                let text = serde_json::to_string(&params).unwrap();
                assert_eq!(read(&text), params, "{text}");
            }
        }
    }

    #[test]
    fn unknown_settings_are_refused() {
        let mut unknown = serde_json::to_value(WindowParams::of(MachineKind::Svm)).unwrap();
        unknown["positive"] = 3.into();
        assert!(serde_json::from_value::<WindowParams>(unknown).unwrap_err().to_string().contains("positive"));
        // Those of a search have one more, and no others.
        let mut search = serde_json::to_value(Params::from(WindowParams::of(MachineKind::Svm))).unwrap();
        assert_eq!(search["search"]["windows"]["lost"], -0.3);
        search["search"]["windows"]["positive"] = 3.into();
        assert!(serde_json::from_value::<Params>(search).unwrap_err().to_string().contains("positive"));
        let mut guard: Value = serde_json::to_value(GuardParams::of(MachineKind::Svm)).unwrap();
        guard["windows"]["lost"] = (-0.3).into();
        assert!(serde_json::from_value::<GuardParams>(guard).unwrap_err().to_string().contains("lost"));
    }
}
