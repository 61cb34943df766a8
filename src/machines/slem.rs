//! The square-loss exemplar machine (Rezende et al., CVPR 2017), in closed form on a low-rank factor of the negatives.
//!
//! One exemplar against all negatives, in closed form ([`Encoder`]). The machine of a tracker is the sum over several
//! exemplars.

use nalgebra::{DMatrix, DVector};
use ndarray::ArrayView2;

use super::exemplar::Encoder;
pub use super::exemplar::Params;
use super::{Build, Head, Machine, Samples};
use crate::error::Result;
use crate::kernels::gram::check_gram;
use crate::settings::Setting;

/// The sum of the exemplar machines of all the target's samples, by their weights, scaled so that the class means have
/// the decisions +1 and -1. Samples that cannot be told apart give the decision zero everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Slem(Params);

impl Build for Slem {
    type Params = Params;

    fn new(params: Params) -> Result<Self> {
        params.check_ranges("slem")?;
        Ok(Self(params))
    }
}

impl Machine for Slem {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = samples.two_classes()?;
        let negatives = samples.gram.select_rows(&background).select_columns(&background);
        let encoder = Encoder::new(self.0, &negatives, &samples.weights.select_rows(&background))?;
        let mut alpha = DVector::zeros(samples.len());
        let mut over_negatives = DMatrix::zeros(encoder.rank(), 1);
        for (&i, share) in target.iter().zip(samples.shares(&target).select_rows(&target).iter()) {
            let values = samples.gram.column(i).select_rows(&background);
            let encoding = encoder.encode_vector(&values, samples.gram[(i, i)]);
            alpha[i] = share * encoding.alpha0();
            over_negatives += encoding.negative_part() * *share;
        }
        for (&i, value) in background.iter().zip(encoder.expand(&over_negatives).iter()) {
            alpha[i] = *value;
        }
        Head::affine(&alpha, 0.0).calibrated(samples)
    }
}

impl Slem {
    /// Factors the negatives of the Gram matrix `gram` (n x n), all of the same weight.
    ///
    /// # Errors
    /// [`Error::Gram`](crate::Error::Gram) for a matrix that is none (see [`Samples::new`]).
    pub fn encoder(&self, gram: ArrayView2<f64>) -> Result<Encoder> {
        let gram = check_gram(gram)?;
        Encoder::new(self.0, &gram, &DVector::from_element(gram.nrows(), 1.0))
    }
}
