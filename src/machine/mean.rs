//! The kernel nearest-mean classifier: nearer to the mean of which class, in the kernel's space.

use nalgebra::DVector;
use serde::{Deserialize, Serialize};

use super::{Build, Head, Machine, MachineParams, Samples};
use crate::error::Result;
use crate::setting::{Row, check};

/// Parameters of [`Mean`]: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Params {}

/// The difference of the class means, scaled so that they have the decisions +1 and -1.
#[derive(Clone, Copy, Debug)]
pub struct Mean;

impl Build for Mean {
    type Params = Params;

    const SETTINGS: &'static [Row] = &[];

    fn new(params: Params) -> Result<Self> {
        check(&MachineParams::Mean(params), Self::SETTINGS)?;
        Ok(Self)
    }
}

impl Machine for Mean {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = samples.two_classes()?;
        let alpha: DVector<f64> = samples.shares(&target) - samples.shares(&background);
        Head::affine(&alpha, 0.0).calibrated(samples)
    }
}
