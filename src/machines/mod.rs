//! Kernel machines: a Gram matrix, labels and weights in, a decision function of kernel values out.
//!
//! A machine does not depend on images or feature values: [`Samples`] hold a Gram matrix of any kernel,
//! [`Machine::fit`] gives a [`Head`], and [`Head::decision`] turns the kernel values of new samples into decisions. The
//! machines that find a subspace also [`embed`](kpca::Kpca::embed) samples into it.
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
//! [`selection`] chooses a kernel and a machine by cross-validation. [`sparse`] classifies by sparse representation: a
//! search for few samples, not a function that could be written down, and so no [`Machine`].
//!
//! ```
//! use kcf_track::kernels::{Kernel, cross_gram, gram};
//! use kcf_track::machines::{Samples, from_name};
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

mod head;
pub mod kdspe;
pub mod klda;
pub mod kpca;
pub mod krr;
pub mod preimage;
mod registry;
mod samples;
pub mod selection;
pub mod slem;
pub mod sparse;
pub mod svm;

pub use head::{Affine, Embedding, Head, Subspace};
pub use kpca::Novelty;
pub use registry::{MachineKind, MachineParams, from_name};
pub use samples::Samples;
pub use slem::{Encoder, Encoding};

use crate::error::{Error, Result};

#[cfg(test)]
pub(crate) mod tests;

/// A learner of a decision function from a Gram matrix.
pub trait Machine: std::fmt::Debug + Send + Sync {
    /// Solves the machine's equations. Call [`Machine::fit`], which also checks the result.
    ///
    /// # Errors
    /// [`Error::Gram`] and [`Error::Samples`] if there is no solution.
    fn solve(&self, samples: &Samples) -> Result<Head>;

    /// Learns the decision function of `samples`. All its numbers are finite.
    ///
    /// # Errors
    /// [`Error::Gram`] and [`Error::Samples`] without a finite solution.
    fn fit(&self, samples: &Samples) -> Result<Head> {
        self.solve(samples)?.checked()
    }
}

/// How machines for two classes tell several apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiclass {
    /// A head for each class, above zero for it and below for all others; for two classes a head of the second one
    /// only.
    OneVsRest,
    /// A head for each pair of classes, from their samples alone, above zero for the later one: (0, 1), (0, 2) …
    OneVsOne,
}

/// Fits `machine` to the `classes` (any numbers, in ascending order) of `samples`, labels aside. Where the machine
/// balances classes, a sample of weight two counts as two samples.
///
/// # Errors
/// As [`Machine::fit`], and [`Error::Samples`] for another number of classes than samples.
pub fn fit_classes(
    machine: &dyn Machine,
    mut samples: Samples,
    classes: &[usize],
    multiclass: Multiclass,
) -> Result<Vec<Head>> {
    samples.mass = samples.weights.sum();
    let members = classes_of(classes, samples.len())?;
    if multiclass == Multiclass::OneVsOne && members.len() > 2 {
        return samples.fit_pairs(machine, &members);
    }
    let heads = members.iter().skip(usize::from(members.len() == 2)).map(|class| {
        samples.labels.fill(-1.0);
        class.iter().for_each(|&i| samples.labels[i] = 1.0);
        samples.soft_labels.copy_from(&samples.labels);
        machine.fit(&samples)
    });
    heads.collect()
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
