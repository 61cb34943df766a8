//! The registry of machines.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Machine, kdspe, klda, kpca, krr, slem, svm};
use crate::error::{Error, Result};
use crate::settings::{Setting, choice};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for &kind in MachineKind::ALL {
            assert_eq!(kind.name().parse::<MachineKind>().unwrap(), kind);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.to_string());
            assert_eq!(kind.params().kind(), kind);
            assert!(serde_json::to_value(kind.params()).unwrap()[kind.name()].is_object());
            kind.params().build().unwrap();
        }
        assert!("rbf".parse::<MachineKind>().unwrap_err().to_string().contains("krr, svm"));
    }
}
