//! The presets, and settings by their paths: from text, in JSON and in TOML.

use serde_json::Value;

use super::lifecycle::Rules;
use super::params::*;
use crate::error::{Error, Result};
use crate::frame::Channels;
use crate::kernels::Kernel;
use crate::machines::{MachineKind, MachineParams};
use crate::settings::{Field, Setting, text_of};

/// `robust` without its most expensive parts: angles and the comparison with the given target. It learns less often and
/// compares fewer sizes.
fn fast() -> BackgroundParams {
    let scale = ScaleFilterParams { count: 9, step: 1.06, area: 400.0, ..ScaleFilterParams::default() };
    let robust = BackgroundParams::default();
    BackgroundParams {
        padding: 3.0,
        interval: 4,
        scale: ScaleParams::Filter(scale),
        rotation: RotationParams::None,
        identity: IdentityParams::None,
        confidence: ConfidenceParams { lost_after: 5, tiles: 3, ..robust.confidence },
        ..robust
    }
}

/// `fast` for many small targets: fewer cells, and each learns and compares sizes in frames of its own. A core carries 50 of
/// 40 pixels at 60 frames/s, by `scripts/detections_speed.py`.
fn crowd() -> BackgroundParams {
    let scale = ScaleFilterParams { count: 7, step: 1.08, area: 256.0, ..ScaleFilterParams::default() };
    BackgroundParams {
        max_cells: 576.0,
        warmup_frames: 4,
        size_interval: 4,
        in_turn: true,
        scale: ScaleParams::Filter(scale),
        ..fast()
    }
}

/// The error for a name at `path` that is none of `names`.
fn not_one_of(names: impl Iterator<Item = &'static str>, path: &str, name: &str) -> Error {
    Error::setting(path, name, format!("must be one of {}", names.collect::<Vec<_>>().join(", ")))
}

impl Params {
    /// The names of the presets, each with what it is.
    pub const PRESETS: [(&'static str, &'static str); 6] = [
        ("robust", "background-aware filter with colour, size, angle, appearance and recovery"),
        ("fast", "the same with size alone, at more than twice the speed"),
        ("crowd", "fast for many small targets: a core carries 50 at 60 frames/s (fast 25)"),
        ("paper", "KCF as published: HOG, Gaussian kernel"),
        ("paper-dcf", "DCF as published: HOG, linear kernel"),
        ("paper-gray", "gray values, Gaussian kernel (CSK's features)"),
    ];

    /// The preset that is used by default.
    pub const DEFAULT_PRESET: &'static str = Self::PRESETS[0].0;

    /// The presets of this build: [`Self::PRESETS`], and with networks `expert`.
    pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
        let expert = ("expert", "robust and a network together; needs a model");
        Self::PRESETS.into_iter().chain(cfg!(feature = "neural").then_some(expert))
    }

    /// The names that `search` takes as detectors.
    pub fn detectors() -> impl Iterator<Item = &'static str> {
        ["background-aware", "kcf"].into_iter().chain(MachineKind::ALL.iter().map(|kind| kind.name()))
    }

    /// The names that `guard` takes: `none`, and the machines that guard.
    pub(crate) fn guards() -> &'static [&'static str] {
        static NAMES: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
            std::iter::once("none").chain(MachineKind::all_guards().map(MachineKind::name)).collect()
        });
        &NAMES
    }

    /// The settings of a preset.
    ///
    /// # Errors
    /// [`Error::Setting`] with the names of the presets.
    pub fn preset(name: &str) -> Result<Self> {
        Ok(match name {
            "robust" => Self::default(),
            "fast" => fast().into(),
            "crowd" => crowd().into(),
            "paper" => Self::paper(),
            "paper-dcf" => FilterParams::paper(FeatureParams::default(), Kernel::Linear).into(),
            "paper-gray" => FilterParams::paper(FeatureParams::Gray, Kernel::Gaussian { sigma: 0.2 }).into(),
            "expert" => Self { search: SearchParams::Expert(ExpertParams::default()), guard: None },
            _ => return Err(not_one_of(Self::presets().map(|(name, _)| name), "preset", name)),
        })
    }

    /// KCF as published, the preset `paper`.
    pub fn paper() -> Self {
        FilterParams::default().into()
    }

    /// The same search with a guard.
    pub fn guarded(self, guard: GuardParams) -> Self {
        Self { guard: Some(guard), ..self }
    }

    /// Channels of a frame that the features read.
    pub fn channels(&self) -> Channels {
        match &self.search {
            SearchParams::Filter(_) | SearchParams::Machine(_) => Channels::Luma,
            _ => Channels::Color,
        }
    }

    /// Calls `visit` with every setting and its value.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&Field<'_>, Value)) {
        let field = |path, doc| Field { path, doc, ..Field::ROOT };
        self.guard.visit(&field("guard", "Kernel machine that watches the search"), visit);
        self.search.visit(&field("search", "What finds the target"), visit);
    }

    /// All settings by their paths.
    pub fn values(&self) -> Vec<(String, Value)> {
        let mut values = Vec::new();
        self.visit(&mut |field, value| values.push((field.path.to_owned(), value)));
        values
    }

    /// The settings that `base` lacks or has with other values.
    pub(crate) fn changes(&self, base: &Self) -> Vec<(String, Value)> {
        let base = base.values();
        self.values().into_iter().filter(|value| !base.contains(value)).collect()
    }

    /// Sets the value at `path` to what `text` says. Another variant of an enum brings its defaults; the same one
    /// changes nothing.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown path, a path of a branch that is not selected, and a value that is refused.
    pub fn set(&mut self, path: &str, text: &str) -> Result<()> {
        self.set_at(path, text, false)
    }

    /// Sets a value like [`Params::set`]; with `choose`, a path selects the branches that it goes through.
    pub(crate) fn set_at(&mut self, path: &str, text: &str, choose: bool) -> Result<()> {
        let path = path.replace('_', "-");
        let (first, rest) = path.split_once('.').unwrap_or((&path, ""));
        let before = self.clone();
        match (first, rest) {
            ("search" | "detector", "") => return self.set_detector(text.trim()),
            ("search", rest) => self.search.set("search", rest, text, choose)?,
            ("guard", "") => return self.set_guard(text.trim()),
            ("guard", rest) => {
                if choose {
                    self.guard.get_or_insert_default();
                }
                let needed = || Error::setting(&path, text, "needs a guard, such as guard = krr");
                self.guard.as_mut().ok_or_else(needed)?.set("guard", rest, text, choose)?;
            }
            _ => return Err(Error::setting(&path, "", "unknown setting: it begins with search or guard")),
        }
        match (&mut self.search, before.search) {
            (SearchParams::Filter(filter), SearchParams::Filter(before)) => filter.take_published(&before),
            (SearchParams::Filter(filter), _) => filter.take_published(&FilterParams::default()),
            (SearchParams::Machine(search), SearchParams::Machine(before)) => {
                search.windows.take_defaults(&before.windows);
            }
            (SearchParams::Machine(search), _) => search.windows.take_defaults(&WindowParams::default()),
            _ => {}
        }
        if let Some(guard) = &mut self.guard {
            let before = before.guard.unwrap_or_default().windows;
            guard.windows.take_defaults(&before);
            if guard.windows.machine.kind() != before.machine.kind() {
                guard.accept_above = GuardParams::of(guard.windows.machine.kind()).accept_above;
            }
        }
        Ok(())
    }

    fn set_guard(&mut self, name: &str) -> Result<()> {
        let kind = name.parse::<MachineKind>().ok().filter(|kind| kind.guards());
        match kind {
            None if name == "none" => self.guard = None,
            None => return Err(not_one_of(Self::guards().iter().copied(), "guard", name)),
            Some(kind) if self.guard.as_ref().is_none_or(|guard| guard.windows.machine.kind() != kind) => {
                self.guard = Some(GuardParams::of(kind));
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn set_detector(&mut self, name: &str) -> Result<()> {
        match name.parse::<MachineKind>() {
            Ok(_) if name == self.search.detector() => {}
            Ok(kind) => self.search = Self::from(WindowParams::of(kind)).search,
            Err(_) => {
                let variant = match name {
                    "kcf" => "filter",
                    "background-aware" => "background",
                    name => name,
                };
                let refused = |_| not_one_of(Self::detectors(), "search", name);
                self.search.set("search", "", variant, false).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// These settings as a document: the preset, the paths that differ from it, and the whole tree.
    pub fn document(&self, preset: &str) -> Value {
        let base = Self::preset(preset).unwrap_or_default();
        let changed: Vec<_> = self.changes(&base).into_iter().map(|(path, _)| path).collect();
        serde_json::json!({ "preset": preset, "changed": changed, "search": self.search, "guard": self.guard })
    }

    /// Checks that every value is in its range and fits the others.
    ///
    /// # Errors
    /// [`Error::Setting`] with the path of the first value that does not.
    pub fn check(&self) -> Result<()> {
        self.search.check_ranges("search")?;
        self.guard.check_ranges("guard")?;
        let refuse = |path: &str, value: String, expected: String| Err(Error::setting(path, value, expected));
        let branch = format!("search.{}", self.search.name());
        let check_machine = |path: &str, machine: MachineParams| match machine.build() {
            Ok(_) => Ok(()),
            Err(error) => refuse(path, machine.kind().to_string(), error.to_string()),
        };
        match &self.search {
            SearchParams::Filter(FilterParams { states, .. }) if states.uncertain_below < states.lost_below => {
                let expected = format!("must not be below search.filter.states.lost-below {}", states.lost_below);
                return refuse("search.filter.states.uncertain-below", states.uncertain_below.to_string(), expected);
            }
            SearchParams::Machine(search) => check_machine("search.machine.windows.machine", search.windows.machine)?,
            _ => {}
        }
        if let Some(model) = self.search.model() {
            let path = format!("{branch}.model");
            if !cfg!(feature = "neural") {
                return refuse(&path, model.into(), "needs a build with networks: --features neural".into());
            }
            if model.is_empty() {
                return refuse(&path, "\"\"".into(), "must be the folder of backbone.onnx and head.onnx".into());
            }
        }
        if let Some(ConfidenceParams { found_from, redetected_from, lost_below, .. }) =
            Rules::of(&self.search).confidence()
            && (found_from > redetected_from || lost_below > found_from)
        {
            let filter = if let SearchParams::Expert(_) = self.search { ".filter" } else { "" };
            let expected = "must be in order: lost-below, found-from, redetected-from".to_owned();
            let values = format!("{lost_below}, {found_from}, {redetected_from}");
            return refuse(&format!("{branch}{filter}.confidence"), values, expected);
        }
        let Some(GuardParams { windows: WindowParams { machine, .. }, .. }) = &self.guard else { return Ok(()) };
        if !machine.kind().guards() {
            let names = MachineKind::all_guards().map(MachineKind::name);
            return Err(not_one_of(names, "guard.windows.machine", machine.kind().name()));
        }
        check_machine("guard.windows.machine", *machine)
    }

    /// The settings in force as TOML that [`Params::read_toml`] reads, each with its meaning and range.
    #[cfg(feature = "cli")]
    pub(crate) fn to_toml(&self, preset: &str) -> String {
        let mut tables: Vec<(String, String)> = vec![(String::new(), format!("preset = \"{preset}\"\n"))];
        // JSON writes text, numbers and switches as TOML does.
        self.visit(&mut |field, value| {
            let (table, key) = field.path.rsplit_once('.').unwrap_or(("", field.path));
            let line = format!("# {} ({})\n{key} = {value}\n", field.doc, field.expected(&value));
            match tables.iter_mut().find(|(known, _)| known == table) {
                Some((_, lines)) => lines.push_str(&line),
                None => tables.push((table.to_owned(), line)),
            }
        });
        let mut out = String::from("# Settings for --config FILE; what is left out keeps the preset's value.\n");
        for (table, lines) in tables {
            if !table.is_empty() {
                out += &format!("\n[{table}]\n");
            }
            out += &lines;
        }
        out
    }

    /// The settings of a document that [`Params::document`] or `--print-config` has written for a preset of this program, or
    /// of a part of one: what it leaves out keeps the value of its preset, or of the default one.
    ///
    /// # Errors
    /// As [`Params::set`] and [`Params::check`].
    pub fn from_document(document: &Value) -> Result<Self> {
        let (_, params) = Self::read_document(document, None, Self::DEFAULT_PRESET)?;
        params.check()?;
        Ok(params)
    }

    /// The preset and the settings of a document. They start from `preset`, else from the document's preset, else from
    /// `default`.
    ///
    /// # Errors
    /// As [`Params::set`].
    pub(crate) fn read_document(document: &Value, preset: Option<&str>, default: &str) -> Result<(String, Self)> {
        fn values(tree: &Value, below: &str, all: &mut Vec<(String, String)>) {
            for (key, value) in tree.as_object().into_iter().flatten() {
                let path = if below.is_empty() { key.clone() } else { format!("{below}.{key}") };
                let text = match value {
                    Value::Object(_) => {
                        values(value, &path, all);
                        continue;
                    }
                    Value::String(_) if path == "preset" => continue,
                    Value::Array(_) if path == "changed" => continue,
                    Value::Null if path == "guard" => "none".into(),
                    Value::Array(_) | Value::Null => "not a setting".into(),
                    // TOML writes 4.0 for 4.
                    Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or(f64::NAN).to_string(),
                    value => text_of(value),
                };
                all.push((path, text));
            }
        }
        if !document.is_object() {
            return Err(Error::setting("settings", document.to_string(), "must be a table of settings"));
        }
        let of_document = document.get("preset").and_then(Value::as_str);
        let preset = preset.or(of_document).unwrap_or(default).to_owned();
        let mut params = Self::preset(&preset)?;
        let mut all = Vec::new();
        values(document, "", &mut all);
        // The first pass selects all branches, which bring defaults; the second one has the last word on values.
        for (path, text) in &all {
            params.set_at(path, text, true)?;
        }
        for (path, text) in &all {
            params.set(path, text)?;
        }
        Ok((preset, params))
    }

    /// Reads TOML like [`Params::read_document`].
    ///
    /// # Errors
    /// Also [`Error::Setting`] with the parser's message.
    #[cfg(feature = "cli")]
    pub(crate) fn read_toml(text: &str, preset: Option<&str>, default: &str) -> Result<(String, Self)> {
        let read = crate::settings::read_toml(text).map_err(|reason| Error::setting("TOML", String::new(), &reason))?;
        Self::read_document(&read, preset, default)
    }
}
impl FilterParams {
    /// Another kind of feature or kernel than `before` comes with its published settings.
    fn take_published(&mut self, before: &Self) {
        let kind = |params: &Self| (params.feature.name(), std::mem::discriminant(&params.kernel));
        if kind(self) == kind(before) {
            return;
        }
        let published = Self::paper(self.feature, self.kernel);
        (self.kernel, self.states) = (published.kernel, published.states);
        if self.feature.name() != before.feature.name() {
            (self.feature, self.learning_rate) = (published.feature, published.learning_rate);
        }
    }
}

impl WindowParams {
    /// Another machine than `before` comes with its gate and interval, another kind of kernel with its bandwidth.
    fn take_defaults(&mut self, before: &Self) {
        let kind = self.machine.kind();
        if kind != before.machine.kind() {
            Self { gate: self.gate, interval: self.interval, .. } = Self::of(kind);
        }
        if let (Kernel::Gaussian { .. }, false) = (self.kernel, self.kernel.name() == before.kernel.name()) {
            self.kernel = Self::KERNEL;
        }
    }
}

impl Setting for Option<GuardParams> {
    fn visit(&self, field: &Field<'_>, visit: &mut dyn FnMut(&Field<'_>, Value)) {
        match self {
            None => visit(&Field { names: Params::guards(), ..*field }, "none".into()),
            Some(guard) => guard.visit(field, visit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All presets, machines as detectors, and guards.
    fn all() -> Vec<Params> {
        let presets = Params::PRESETS.map(|(name, _)| Params::preset(name).unwrap());
        let detectors = MachineKind::ALL.iter().map(|&kind| WindowParams::of(kind).into());
        let guards = MachineKind::ALL.iter().filter(|kind| kind.guards());
        presets
            .into_iter()
            .chain(detectors)
            .chain(guards.map(|&kind| Params::paper().guarded(GuardParams::of(kind))))
            .collect()
    }

    /// The same with each number and switch off its default, where that goes with the others.
    fn moved(params: &Params) -> Params {
        let mut moved = params.clone();
        for (path, value) in params.values() {
            let others = match value {
                Value::Bool(on) => vec![(!on).to_string()],
                Value::Number(number) => {
                    let number = number.as_f64().unwrap();
                    [number + 0.05, number + 2.0, number * 0.9, number - 1.0].map(|other| other.to_string()).to_vec()
                }
                _ => vec![],
            };
            assert!(others.is_empty() || others.iter().any(|text| moved.set(&path, text).is_ok()), "{path}");
        }
        moved.check().unwrap();
        moved
    }

    fn refused(result: Result<()>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn every_value_can_be_set_to_itself_and_survives_json() {
        for params in all() {
            params.check().unwrap();
            let mut again = params.clone();
            for (path, value) in params.values() {
                again.set(&path, &text_of(&value)).unwrap_or_else(|error| panic!("{error}"));
            }
            assert_eq!(again, params);
            let json = serde_json::to_value(&params).unwrap();
            assert_eq!(serde_json::from_value::<Params>(json).unwrap(), params);
            assert_eq!(Params::from_document(&params.document("fast")).unwrap(), params);
        }
    }

    #[test]
    fn every_number_out_of_its_range_is_refused_with_its_path() {
        for params in all() {
            for (path, value) in params.values().into_iter().filter(|(_, value)| value.is_number()) {
                for wrong in ["-1e9", "1e300", "nan", "many", ""] {
                    let said = refused(params.clone().set(&path, wrong));
                    assert!(said.starts_with(&path), "{said}");
                }
                let (parent, name) = path.rsplit_once('.').unwrap();
                let said = refused(params.clone().set(&format!("{parent}.{name}x"), &text_of(&value)));
                assert!(said.contains(name), "{said}");
            }
        }
        let mut params = Params::default();
        if let SearchParams::Background(background) = &mut params.search {
            background.scale = ScaleParams::Filter(ScaleFilterParams { count: 4, ..Default::default() });
        }
        assert!(refused(params.check()).starts_with("search.background.scale.filter.count = 4: must be odd"));
    }

    #[test]
    fn another_variant_brings_its_defaults_and_the_same_one_changes_nothing() {
        let mut params = Params::preset("fast").unwrap();
        params.set("search.background.scale", "filter").unwrap();
        assert_eq!(params, Params::preset("fast").unwrap());
        params.set("search.background.scale", "none").unwrap();
        assert!(refused(params.set("search.background.scale.filter.step", "1.1")).contains("scale = filter"));
        params.set("search.background.scale", "filter").unwrap();
        let SearchParams::Background(background) = &params.search else { panic!("{params:?}") };
        assert_eq!(background.scale, ScaleParams::Filter(ScaleFilterParams::default()));
        assert!(refused(params.set("guard.margin", "1")).contains("guard = krr"));
        params.set("detector", "svm").unwrap();
        assert_eq!(params.search, Params::from(WindowParams::of(MachineKind::Svm)).search);
        params.set("search.machine.windows.machine", "slem").unwrap();
        assert_eq!(params.search, Params::from(WindowParams::of(MachineKind::Slem)).search);
        params.set("guard", "klda").unwrap();
        assert_eq!(params.guard, Some(GuardParams::of(MachineKind::Klda)));
        assert!(refused(params.set("guard", "kpca")).contains("none, krr"));
        params.set("guard.windows.kernel.gaussian.sigma", "0.4").unwrap();
        let before = params.clone();
        params.set("guard.windows.kernel", "gaussian").unwrap();
        refused(params.set("guard", "typo"));
        assert_eq!(params, before);
        params.set("guard", "none").unwrap();
        assert_eq!(params.guard, None);
    }

    #[test]
    fn a_feature_or_a_kernel_comes_with_its_published_settings() {
        let mut params = Params::paper();
        params.set("search.filter.feature", "gray").unwrap();
        assert_eq!(params, Params::preset("paper-gray").unwrap());
        let mut params = Params::paper();
        params.set("search.filter.kernel", "linear").unwrap();
        assert_eq!(params, Params::preset("paper-dcf").unwrap());
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        for (preset, changes) in [
            ("robust", &[("search.background.confidence.lost-below", "0.75")][..]),
            ("paper", &[("search.filter.states.lost-below", "9")]),
        ] {
            let mut params = Params::preset(preset).unwrap();
            changes.iter().for_each(|(path, value)| params.set(path, value).unwrap());
            assert!(refused(params.check()).contains("search."), "{changes:?}");
        }
    }

    #[test]
    fn a_document_names_what_differs_from_its_preset() {
        let mut params = Params::paper();
        params.set("search.filter.padding", "2").unwrap();
        let document = params.document("paper");
        assert_eq!(document["changed"], serde_json::json!(["search.filter.padding"]));
        assert_eq!(document["search"]["filter"]["padding"], 2.0);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn toml_is_read_back_and_may_be_partial() {
        let expert = ExpertParams { model: "C:\\nets \"new\"".into(), ..ExpertParams::default() };
        let expert = Params { search: SearchParams::Expert(expert), guard: None };
        let moved = all().iter().map(moved).collect::<Vec<_>>();
        for params in all().into_iter().chain(moved).chain([expert]) {
            let text = params.to_toml("robust");
            assert_eq!(Params::read_toml(&text, None, "paper").unwrap(), ("robust".into(), params), "{text}");
        }
        let text = "preset = \"paper\"\n[guard.windows.machine.svm]\nc = 3\n[search.filter]\nscale = \"filter\"\n";
        let (_, params) = Params::read_toml(text, None, "robust").unwrap();
        let mut expected = Params::paper().guarded(GuardParams::of(MachineKind::Svm));
        expected.set("guard.windows.machine.svm.c", "3").unwrap();
        expected.set("search.filter.scale", "filter").unwrap();
        assert_eq!(params, expected);
        assert_eq!(Params::read_toml(text, Some("fast"), "robust").unwrap().0, "fast");
        for wrong in ["padding = 2", "[search.filter]\npading = 2", "search = [1]", "x = ", "preset = \"fats\""] {
            assert!(Params::read_toml(wrong, None, "paper").is_err(), "{wrong}");
        }
        for wrong in ["\"fast\"", "[]", "{\"preset\": 5}", "{\"search\": {\"background\": []}}"] {
            assert!(Params::from_document(&serde_json::from_str(wrong).unwrap()).is_err(), "{wrong}");
        }
    }
}
