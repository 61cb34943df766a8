//! What a guard can be set to.

use serde::{Deserialize, Serialize};

use super::WindowParams;
use crate::machines::MachineKind;

/// A machine over real windows that watches another search: when it doubts that search, and when it believes a window
/// elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GuardParams {
    /// How it searches and learns.
    pub windows: WindowParams,
    /// Decisions at the place of the other search below this are a doubt.
    pub doubt: f64,
    /// A window elsewhere is believed above this.
    pub belief: f64,
    /// And by this much above the one at the place of the other search.
    pub margin: f64,
    /// Added to `belief` for windows that may be anywhere in the frame.
    pub far: f64,
    /// Doubtful frames in a row after which the whole frame is searched.
    pub patience: usize,
    /// Search areas per frame while it is.
    pub tiles: usize,
    /// Weight of the new sample when the other search is put to another place: 1 forgets the old model.
    pub relearn: f64,
}

impl GuardParams {
    /// The settings for a machine with its defaults.
    pub fn of(machine: MachineKind) -> Self {
        Self {
            windows: WindowParams::of(machine),
            doubt: 0.0,
            belief: machine.belief(),
            margin: 0.3,
            far: 0.1,
            patience: 3,
            tiles: 2,
            relearn: 0.2,
        }
    }
}
