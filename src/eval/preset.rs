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
        Self::changed(name, Params::preset(name)?)
    }

    /// A tracker with settings that started from those of `preset`, named after it and what was changed: `paper+svm`,
    /// `paper+guard-krr`, `fast+padding=2`.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for settings out of their ranges.
    pub fn changed(preset: &str, params: Params) -> Result<Self> {
        params.check()?;
        let base = Params::preset(preset).unwrap_or_default();
        let mut name = preset.to_owned();
        if params.search.detector() != base.search.detector() {
            name += &format!("+{}", params.search.detector());
        }
        match &params.guard {
            Some(guard) if base.guard.is_none() => name += &format!("+guard-{}", guard.windows.machine.kind()),
            _ => {}
        }
        // A branch that the preset has not got is named above.
        let known = base.values();
        for (path, value) in params.values() {
            let (_, last) = path.rsplit_once('.').unwrap_or(("", &path));
            if known.iter().any(|(other, before)| *other == path && *before != value) && path.contains('.') {
                name += &format!("+{last}={}", crate::settings::text_of(&value));
            }
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
            changes.iter().try_for_each(|(path, value)| params.set(path, value)).unwrap();
            Preset::changed(preset, params).unwrap()
        };
        let changed = named("paper", &[("search.filter.padding", "2")]);
        assert_eq!(changed.name(), "paper+padding=2.0");
        assert_ne!(changed.parameters(), runner.parameters());
        assert_eq!(changed.parameters()["changed"], serde_json::json!(["search.filter.padding"]));
        assert_eq!(named("paper", &[]).parameters(), runner.parameters());
        assert_eq!(named("paper", &[("guard", "svm")]).name(), "paper+guard-svm");
        assert_eq!(named("paper", &[("search", "svm")]).name(), "paper+svm");
        assert!(Preset::named("papre").unwrap_err().to_string().contains("paper-dcf"));
    }
}
