//! What a wrong answer of a correlation filter costs.

use serde::{Deserialize, Serialize};

/// What a wrong answer of a correlation filter costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The squared distance from labels that fall off smoothly (Henriques et al., TPAMI 2015, equation 17).
    #[default]
    Ridge,
    /// The squared hinge of binary labels: a support vector machine (Zuo et al., TPAMI 2019).
    Hinge,
    /// The squared distance from centred binary labels: the kernel Fisher discriminant.
    Fisher,
}
