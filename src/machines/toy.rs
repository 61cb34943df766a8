//! A toy machine: the mean similarity to the target less that to the background.

use nalgebra::DVector;

use super::{Build, Head, Machine, Samples};
use crate::error::Result;
use crate::settings::{Setting, settings};

settings! {
    /// Settings of [`Toy`].
    #[derive(Copy)]
    pub struct Params {
        /// Weight of the mean of the background
        balance: f64 = 1.0, Within(0.0, 1000.0);
    }
}

/// The difference of the class means in the kernel's feature space.
#[derive(Clone, Copy, Debug)]
pub struct Toy(Params);

impl Build for Toy {
    type Params = Params;

    fn new(params: Params) -> Result<Self> {
        params.check_ranges("toy")?;
        Ok(Self(params))
    }
}

impl Machine for Toy {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = samples.two_classes()?;
        let alpha: DVector<f64> = samples.shares(&target) - samples.shares(&background) * self.0.balance;
        Head::affine(&alpha, 0.0).calibrated(samples)
    }
}
