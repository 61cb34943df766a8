//! The project's own tracker as a runner.

use serde::{Deserialize, Serialize};

use super::runner::Runner;
use crate::error::Result;
use crate::frame::Channels;
use crate::run::Follower;
use crate::tracker::{Params, Tracker};

/// A [`Tracker`] with a name and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    name: String,
    preset: String,
    params: Params,
}

impl Preset {
    /// The tracker of a published preset.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for a name that is none.
    pub fn named(name: &str) -> Result<Self> {
        Self::changed(name, Params::named(name)?)
    }

    /// A tracker with settings that started from those of `preset`, named after it and what was changed: `paper+svm`,
    /// `paper+hinge`, `paper+guard-krr`, `fast+padding=2`.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for settings out of their ranges.
    pub fn changed(preset: &str, params: Params) -> Result<Self> {
        params.check()?;
        let base = Params::preset(preset).unwrap_or_default();
        let mut name = preset.to_owned();
        for (path, value) in params.changes_from(&base) {
            let last = path.rsplit('.').next().unwrap_or(path);
            name += &match last {
                "guard" => format!("+guard-{value}"),
                "search" | "loss" | "feature" | "area" => format!("+{value}"),
                _ => format!("+{last}={value}"),
            };
        }
        Ok(Self { name, preset: preset.to_owned(), params })
    }
}

impl Runner for Preset {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> serde_json::Value {
        self.params.document(&self.preset)
    }

    fn begin(&self) -> Result<Box<dyn Follower>> {
        Ok(Box::new(Tracker::new(self.params.clone())?))
    }

    fn channels(&self) -> Channels {
        self.params.channels()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_known_by_name() {
        let runner = Preset::named("paper").unwrap();
        assert_eq!(runner.name(), "paper");
        assert!(runner.parameters().is_object());
        let named = |preset: &str, changes: &[(&str, &str)]| {
            let mut params = Params::preset(preset).unwrap();
            params.apply(changes).unwrap();
            Preset::changed(preset, params).unwrap()
        };
        let changed = named("paper", &[("search.filter.loss", "hinge")]);
        assert_eq!(changed.name(), "paper+hinge");
        assert_ne!(changed.parameters(), runner.parameters());
        assert_eq!(changed.parameters()["changed"], serde_json::json!(["search.filter.loss"]));
        assert_eq!(named("paper", &[]).parameters(), runner.parameters());
        assert_eq!(named("paper", &[("guard", "svm")]).name(), "paper+guard-svm");
        assert_eq!(named("fast", &[("search.filter.padding", "3")]).name(), "fast+padding=3");
        let settings = [("search.windows.machine.svm.c", "3"), ("search", "svm")];
        assert_eq!(named("paper", &settings).name(), "paper+svm+c=3");
        assert!(Preset::named("papre").unwrap_err().to_string().contains("paper-dcf"));
    }
}
