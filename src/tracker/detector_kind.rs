//! Which detector a tracker looks for its target with.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The kernel machine that scores every translation of the search window, see [`crate::machine`].
///
/// All but [`DetectorKind::Kcf`] are fitted to a bank of real windows, or, with
/// [`Params::circulant`](super::Params::circulant), to all cyclic shifts of one window as KCF is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DetectorKind {
    /// Kernel ridge regression on all cyclic shifts of a window (Henriques et al., TPAMI 2015).
    #[default]
    Kcf,
    /// Kernel ridge regression with a bias.
    Krr,
    /// Support vector machine.
    Svm,
    /// Kernel Fisher discriminant.
    Klda,
    /// Kernel principal components: how much of a window they leave unexplained.
    Kpca,
    /// Square-loss exemplar machine.
    Slem,
    /// Kernel discriminative sparsity-preserving embedding with a linear rule in it.
    Kdspe,
}

impl DetectorKind {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Kcf, Self::Krr, Self::Svm, Self::Klda, Self::Kpca, Self::Slem, Self::Kdspe];

    /// Those that tell the target from the background well enough to watch a filter.
    pub const GUARDS: [Self; 4] = [Self::Krr, Self::Klda, Self::Svm, Self::Slem];

    /// The decision from which on a frame is learned from, if nothing else is said. Means of the classes are at +1 and -1, but for ridge
    /// regression, whose labels fall off so steeply that its decisions are lower.
    pub(super) fn gate(self) -> f64 {
        if self == Self::Krr { 0.0 } else { 0.2 }
    }

    /// The decision from which on a guard believes a window elsewhere, if nothing else is said; lower for ridge regression as [`Self::gate`] is.
    pub(super) fn belief(self) -> f64 {
        if self == Self::Krr { 0.3 } else { 0.5 }
    }

    /// Of so many believed frames in a row, one is learned from, if nothing else is said: the machines that solve eigenproblems take longest.
    pub(super) fn every(self) -> usize {
        if matches!(self, Self::Kpca | Self::Kdspe) { 2 } else { 1 }
    }

    /// The name as flags and files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kcf => "kcf",
            Self::Krr => "krr",
            Self::Svm => "svm",
            Self::Klda => "klda",
            Self::Kpca => "kpca",
            Self::Slem => "slem",
            Self::Kdspe => "kdspe",
        }
    }

    /// What it is, in half a line.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Kcf => "kernelized correlation filter: ridge regression on all cyclic shifts",
            Self::Krr => "kernel ridge regression on real windows",
            Self::Svm => "support vector machine",
            Self::Klda => "kernel Fisher discriminant",
            Self::Kpca => "kernel principal components: novelty",
            Self::Slem => "square-loss exemplar machines",
            Self::Kdspe => "discriminative sparsity-preserving embedding",
        }
    }
}

impl std::fmt::Display for DetectorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DetectorKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| Error::Parameter {
            name: "detector",
            value: name.into(),
            expected: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in DetectorKind::ALL {
            assert_eq!(kind.name().parse::<DetectorKind>().unwrap(), kind);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.to_string());
        }
        assert!("rbf".parse::<DetectorKind>().unwrap_err().to_string().contains("kcf, krr, svm"));
        assert_eq!(DetectorKind::default(), DetectorKind::Kcf);
    }
}
