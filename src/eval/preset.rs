//! The project's own tracker as a runner.

use serde::{Deserialize, Serialize};

use super::runner::{Run, Runner};
use crate::detector::Loss;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::tracker::{Params, SearchParams, Tracker};

/// What the presets of an evaluation are changed by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Another detector, by its name; `None` for the preset's own.
    pub detector: Option<String>,
    /// Another loss of the filter.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// A machine that watches the search, by its name.
    #[serde(default)]
    pub guard: Option<String>,
}

impl Changes {
    /// Makes the changes.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a name that is none, and for a loss where there is no filter.
    pub fn apply(&self, params: &mut Params) -> Result<()> {
        if let Some(name) = &self.detector {
            params.set_detector(name)?;
        }
        if let Some(name) = &self.guard {
            params.set_guard(name)?;
        }
        match (&mut params.search, self.loss) {
            (_, None) => Ok(()),
            (SearchParams::Filter(filter), Some(loss)) => {
                filter.loss = loss;
                Ok(())
            }
            (SearchParams::Windows(_), Some(loss)) => {
                Err(Error::Parameter { name: "loss", value: loss.to_string(), expected: "needs --detector kcf".into() })
            }
        }
    }

    /// How a preset so changed is called in reports: `paper+svm`, `paper+hinge`, `paper+guard-krr`, or as before where nothing is changed.
    pub fn rename(&self, preset: &str) -> String {
        let mut name = preset.to_owned();
        if let Some(detector) = self.detector.as_ref().filter(|name| *name != "kcf") {
            name += &format!("+{detector}");
        }
        if let Some(loss) = self.loss {
            name += &format!("+{loss}");
        }
        if let Some(guard) = &self.guard {
            name += &format!("+guard-{guard}");
        }
        name
    }
}

/// A [`Tracker`] with a name and parameters.
#[derive(Clone, Debug)]
pub struct Preset {
    name: String,
    params: Params,
}

impl Preset {
    /// A tracker with these parameters, called `name` in the report.
    ///
    /// # Errors
    /// When the parameters are wrong.
    pub fn new(name: &str, params: Params) -> Result<Self> {
        params.check()?;
        Ok(Self { name: name.to_owned(), params })
    }

    /// The tracker of a published preset.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a name that is none.
    pub fn named(name: &str) -> Result<Self> {
        let params = Params::preset(name).ok_or_else(|| Error::Parameter {
            name: "preset",
            value: name.to_owned(),
            expected: format!("one of {}", Params::PRESETS.map(|(name, _)| name).join(", ")),
        })?;
        Self::new(name, params)
    }

    /// The tracker of a published preset with some changes, named after both.
    ///
    /// # Errors
    /// As [`Preset::named`], and when the changes do not fit.
    pub fn changed(name: &str, changes: &Changes) -> Result<Self> {
        let mut params = Self::named(name)?.params;
        changes.apply(&mut params)?;
        Self::new(&changes.rename(name), params)
    }
}

impl Runner for Preset {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> serde_json::Value {
        // Parameters are plain numbers and names; were one not to be written, runs would only not be taken up again.
        serde_json::to_value(&self.params).unwrap_or_default()
    }

    fn begin(&self) -> Result<Box<dyn Run>> {
        Ok(Box::new(Tracker::new(self.params.clone())?))
    }
}

impl Run for Tracker {
    fn init(&mut self, frame: &Frame, bbox: BBox) -> Result<()> {
        Tracker::init(self, frame, bbox).map(|_| ())
    }

    fn update(&mut self, frame: &Frame) -> Result<BBox> {
        Tracker::update(self, frame).map(|estimate| estimate.bbox)
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
        let changed = Preset::changed("paper", &Changes { loss: Some(Loss::Hinge), ..Changes::default() }).unwrap();
        assert_eq!(changed.name(), "paper+hinge");
        assert_ne!(changed.parameters(), runner.parameters());
        assert_eq!(Preset::changed("paper", &Changes::default()).unwrap().parameters(), runner.parameters());
        let changes = Changes { guard: Some("svm".into()), ..Changes::default() };
        assert_eq!(Preset::changed("paper", &changes).unwrap().name(), "paper+guard-svm");
        let changes = Changes { detector: Some("kdspe".into()), loss: Some(Loss::Fisher), guard: None };
        assert!(Preset::changed("paper", &changes).unwrap_err().to_string().contains("needs --detector kcf"));
        assert!(Preset::named("papre").unwrap_err().to_string().contains("paper-dcf"));
    }
}
