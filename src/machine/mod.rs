//! Kernel machines: a Gram matrix, labels and weights in, a decision function of kernel values out.
//!
//! A machine knows nothing of images, and not even of feature values: [`Samples`] hold a Gram matrix of any kernel, [`Machine::fit`] gives
//! a [`Head`], and [`Head::decision`] turns the kernel values of new samples into decisions. The machines that find a subspace also
//! [`embed`](kpca::Kpca::embed) samples into it.
//!
//! | name | machine | decision |
//! | --- | --- | --- |
//! | `krr` | [kernel ridge regression](krr) | affine |
//! | `svm` | [support vector machine](svm) | affine |
//! | `klda` | [kernel Fisher discriminant](klda) | affine |
//! | `kpca` | [kernel principal components](kpca) | distances to subspaces |
//! | `slem` | [square-loss exemplar machine](slem) | affine |
//! | `kdspe` | [kernel discriminative sparsity preserving embedding](kdspe) | affine |
//!
//! ```
//! use kcf_track::kernel::{Kernel, cross_gram, gram};
//! use kcf_track::machine::{Samples, from_name};
//! use ndarray::array;
//!
//! let train = array![[0.0, 0.1], [0.1, 0.0], [1.0, 0.9], [0.9, 1.0]];
//! let test = array![[0.0, 0.0], [1.0, 1.0]];
//! let kernel = Kernel::Gaussian { sigma: 0.5 };
//! let samples = Samples::new(gram(kernel, train.view())?.view(), &[1.0, 1.0, -1.0, -1.0])?;
//! let head = from_name("svm", &serde_json::json!({ "c": 10.0 }))?.fit(&samples)?;
//! // A Gaussian kernel of a sample with itself is 1.
//! let decision = head.decision(cross_gram(kernel, test.view(), train.view())?.view(), array![1.0, 1.0].view())?;
//! assert!(decision[0] > 0.0 && decision[1] < 0.0);
//! # Ok::<(), kcf_track::Error>(())
//! ```

mod components;
mod constrained;
mod embedding;
mod exemplar;
mod head;
pub mod kdspe;
pub mod klda;
pub mod kpca;
pub mod krr;
pub mod preimage;
mod preserving;
mod samples;
pub mod slem;
pub mod svm;
#[cfg(test)]
pub(crate) mod vectors;
mod weights;

use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use components::Novelty;
pub use constrained::constrained_weights;
pub use embedding::{Embedding, LinearEmbedding};
pub use exemplar::{Encoder, Encoding};
pub use head::{Affine, Head, Subspace};
pub use samples::Samples;

use crate::error::{Error, Result};

/// Something that learns a decision function from a Gram matrix.
pub trait Machine: std::fmt::Debug + Send + Sync {
    /// Solves the machine's equations. Call [`Machine::fit`], which also looks at the result.
    ///
    /// # Errors
    /// [`Error::Gram`] and [`Error::Samples`] when there is no solution.
    fn solve(&self, samples: &Samples) -> Result<Head>;

    /// Learns the decision function of `samples`. All its numbers are finite.
    ///
    /// # Errors
    /// [`Error::Gram`] and [`Error::Samples`] when there is no solution, or none that numbers can hold.
    fn fit(&self, samples: &Samples) -> Result<Head> {
        self.solve(samples)?.checked()
    }
}

/// How a machine is made: from parameters, checked once.
pub trait Build: Machine + Sized + 'static {
    /// The parameters, each with a default; read from JSON by name.
    type Params: Default + Serialize + DeserializeOwned;

    /// The machine's name.
    const NAME: &'static str;

    /// The machine with these parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter out of its range.
    fn new(params: Self::Params) -> Result<Self>;
}

type Maker = fn(&serde_json::Value) -> Result<Box<dyn Machine>>;

/// Every machine: a new one is one file and one line here.
const MACHINES: &[(&str, Maker)] = &[
    (krr::Krr::NAME, make::<krr::Krr>),
    (svm::Svm::NAME, make::<svm::Svm>),
    (klda::Klda::NAME, make::<klda::Klda>),
    (kpca::Kpca::NAME, make::<kpca::Kpca>),
    (slem::Slem::NAME, make::<slem::Slem>),
    (kdspe::Kdspe::NAME, make::<kdspe::Kdspe>),
];

fn make<M: Build>(settings: &serde_json::Value) -> Result<Box<dyn Machine>> {
    let params = match settings {
        serde_json::Value::Null => M::Params::default(),
        given => serde_json::from_value(given.clone()).map_err(|error| Error::Parameter {
            name: M::NAME,
            value: given.to_string(),
            expected: error.to_string(),
        })?,
    };
    Ok(Box::new(M::new(params)?))
}

/// The names that [`from_name`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

/// The machine of that name. `settings` is a JSON object of those of its parameters that are not the default, or `null`.
///
/// # Errors
/// [`Error::Parameter`] for an unknown name, an unknown parameter, or a value out of its range.
pub fn from_name(name: &str, settings: &serde_json::Value) -> Result<Box<dyn Machine>> {
    match MACHINES.iter().find(|(known, _)| *known == name) {
        Some((_, maker)) => maker(settings),
        None => Err(Error::Parameter {
            name: "detector",
            value: name.into(),
            expected: format!("one of {}", names().collect::<Vec<_>>().join(", ")),
        }),
    }
}

/// A parameter's value must lie in its range.
fn in_range(name: &'static str, value: f64, range: RangeInclusive<f64>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = format!("must lie between {} and {}", range.start(), range.end());
    Err(Error::Parameter { name, value: value.to_string(), expected })
}

/// The members of each class, classes in the order of their numbers.
fn classes_of(classes: &[usize], n: usize) -> Result<Vec<Vec<usize>>> {
    if classes.len() != n {
        return Err(Error::Samples { reason: format!("there are {} classes for {n} samples", classes.len()) });
    }
    let mut members = std::collections::BTreeMap::<usize, Vec<usize>>::new();
    for (i, &class) in classes.iter().enumerate() {
        members.entry(class).or_default().push(i);
    }
    Ok(members.into_values().collect())
}
