//! How far the box of a frame can be trusted.

use serde::{Deserialize, Serialize};

/// What the tracker knows about the target in one frame. In files: the name in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The first frame: the box was given, nothing was searched for.
    Initial,
    /// The target was found.
    Tracking,
    /// The target was found again after it had been lost; the next frame is tracking or not.
    Recovered,
    /// The best match is weak, or more than half of the box has left the frame: the box is a guess.
    Uncertain,
    /// Nothing like the target is there: a search area without any texture is enough, or a box that has left the frame.
    /// Do not use the box.
    Lost,
    /// The frame could not be read and was skipped; the box is the one before it.
    Missing,
}

impl State {
    /// All states, most reliable first.
    pub const ALL: [Self; 6] =
        [Self::Initial, Self::Tracking, Self::Recovered, Self::Uncertain, Self::Lost, Self::Missing];

    /// The name as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Tracking => "tracking",
            Self::Recovered => "recovered",
            Self::Uncertain => "uncertain",
            Self::Lost => "lost",
            Self::Missing => "missing",
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_display_agree() {
        for state in State::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.to_string());
        }
        assert_eq!(format!("{:>10}|", State::Lost), "      lost|");
    }
}
