//! The project's own tracker as a runner.

use super::runner::{Run, Runner};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::tracker::{Params, Tracker};

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
}

impl Runner for Preset {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> serde_json::Value {
        // Parameters are plain numbers and names; were one not to be written, runs would only not be taken up again.
        serde_json::to_value(&self.params).unwrap_or_default()
    }

    /// All features are of gray values: a preset gives the same boxes here as on the command line.
    fn gray(&self) -> bool {
        true
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
        assert!(runner.parameters().is_object() && runner.gray());
        assert!(Preset::named("papre").unwrap_err().to_string().contains("paper-dcf"));
    }
}
