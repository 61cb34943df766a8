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
mod samples;
pub mod selection;
pub mod slem;
pub mod sparse;
pub mod svm;

pub use head::{Affine, Embedding, Head, Subspace};
pub use kpca::Novelty;
pub use samples::Samples;
pub use slem::{Encoder, Encoding};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::settings::{Setting, choice};

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

/// Makes the types below of the lines of the registry.
macro_rules! machines {
    ($(
        $kind:ident = $name:literal ($module:ident): $what:literal, guards $guards:literal;
    )*) => {
        /// Which machine, without its settings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum MachineKind {
            $(#[doc = $what] $kind,)*
        }

        choice! {
            /// A machine by its settings.
            #[derive(Copy)]
            pub enum MachineParams {
                $(#[doc = $what] $kind($module::Params),)*
            }
        }

        $(impl $module::$kind {
            /// The machine with these parameters.
            ///
            /// # Errors
            /// [`Error::Setting`] for a parameter out of its range.
            pub fn new(params: $module::Params) -> Result<Self> {
                params.check_ranges($name)?;
                Ok(Self(params))
            }
        })*

        impl MachineKind {
            /// All machines, in the order in which they are listed.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The name as flags and files have it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// True if the machine separates target and background well enough to be a guard.
            pub const fn guards(self) -> bool {
                match self { $(Self::$kind => $guards,)* }
            }

            /// The settings of the machine, all at their defaults.
            pub fn params(self) -> MachineParams {
                match self { $(Self::$kind => MachineParams::$kind($module::Params::default()),)* }
            }
        }

        impl MachineParams {
            /// The machine of these settings.
            pub const fn kind(&self) -> MachineKind {
                match self { $(Self::$kind(_) => MachineKind::$kind,)* }
            }

            /// The machine with these settings.
            ///
            /// # Errors
            /// [`Error::Setting`] for a setting out of its range.
            pub fn build(&self) -> Result<Arc<dyn Machine>> {
                Ok(match *self { $(Self::$kind(params) => Arc::new($module::$kind::new(params)?),)* })
            }
        }
    };
}

machines! {
    Krr = "krr" (krr): "kernel ridge regression", guards true;
    Svm = "svm" (svm): "support vector machine", guards true;
    Klda = "klda" (klda): "kernel Fisher discriminant", guards true;
    Kpca = "kpca" (kpca): "kernel principal components: novelty", guards false;
    Slem = "slem" (slem): "square-loss exemplar machines", guards true;
    Kdspe = "kdspe" (kdspe): "discriminative sparsity-preserving embedding", guards false;
}

impl MachineKind {
    /// The machines that can be guards.
    pub fn all_guards() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|kind| kind.guards())
    }
}

impl std::fmt::Display for MachineKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for MachineKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
            Error::parameter(
                "machine",
                name,
                format!("must be one of {}", Self::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")),
            )
        })
    }
}

/// The machine of that name. `settings` is a JSON object of those of its settings that are not the default, or null.
///
/// # Errors
/// [`Error::Parameter`] for an unknown name or setting, or a value of another type; [`Error::Setting`] for a value out of
/// its range.
pub fn from_name(name: &str, settings: &serde_json::Value) -> Result<Arc<dyn Machine>> {
    let kind: MachineKind = name.parse()?;
    if settings.is_null() {
        return kind.params().build();
    }
    // A list would be read as the settings in some order.
    if !settings.is_object() {
        let expected = "must be an object of settings, or null";
        return Err(Error::parameter(kind.name(), settings, expected));
    }
    let given = serde_json::json!({ name: settings });
    let params: MachineParams =
        serde_json::from_value(given).map_err(|error| Error::parameter(kind.name(), settings, error.to_string()))?;
    params.build()
}
