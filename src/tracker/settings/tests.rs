use super::*;
use crate::machines::MachineParams;
use crate::tracker::{GuardParams, WindowParams};

#[test]
fn every_leaf_of_every_tree_is_in_the_table_once_and_the_other_way_round() {
    let mut trees: Vec<Params> = Params::PRESETS.iter().map(|(name, _)| Params::preset(name).unwrap()).collect();
    for &kind in MachineKind::ALL {
        trees.push(WindowParams::of(kind).into());
        if kind.guards() {
            trees.push(Params::paper().guarded(GuardParams::of(kind)));
        }
    }
    let mut svm = Params::paper();
    svm.set("search", "svm").unwrap();
    let presets = ["fast", "robust"].map(|name| Params::preset(name).unwrap());
    for (params, below) in presets.into_iter().chain([svm]).zip(["filter", "background", "windows"]) {
        for (path, choice) in [
            ("scale", "filter"),
            ("scale", "pyramid"),
            ("rotation", "none"),
            ("aspect", "filter"),
            ("color-weighting", "separation"),
        ] {
            let mut params = params.clone();
            if path == "scale" || below == "background" {
                params.set(&format!("search.{below}.{path}"), choice).unwrap();
                trees.push(params);
            }
        }
    }
    for (preset, at) in [("fast", "search.filter.states.belief"), ("robust", "search.background.belief")] {
        for verify in ["decision", "matching"] {
            let mut params = Params::preset(preset).unwrap();
            params.set(&format!("{at}.verify"), verify).unwrap();
            trees.push(params);
        }
    }
    for (below, kernel) in
        [("search", "linear"), ("search", "polynomial"), ("guard", "linear"), ("guard", "polynomial")]
    {
        let mut params = Params::paper();
        params.apply(&[(below, "svm"), (&format!("{below}.windows.kernel"), kernel)]).unwrap();
        trees.push(params);
    }
    fn leaves(value: &Value, path: &str, all: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| leaves(value, &format!("{path}.{name}"), all));
            }
            _ => all.push(path.trim_start_matches('.').to_owned()),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    for params in &trees {
        let mut all = Vec::new();
        leaves(&params.tree(), "", &mut all);
        for path in all {
            // The samples of a tracker weigh the same in both classes.
            if !path.ends_with(".balance") {
                let count = table().iter().filter(|setting| setting.path == path).count();
                assert_eq!(count, 1, "{path}");
            }
            seen.insert(path);
        }
    }
    for setting in table().iter().filter(|setting| !setting.is_choice()) {
        assert!(seen.contains(setting.path), "{} is nowhere", setting.path);
    }
}

#[test]
fn all_values_at_once_are_those_that_are_read_by_path() {
    for (name, _) in Params::PRESETS {
        let params = Params::preset(name).unwrap();
        let values = params.values();
        let there = table().iter().filter(|setting| params.unmet(setting.path).is_none()).map(|setting| setting.path);
        assert_eq!(values.iter().map(|(path, _)| *path).collect::<Vec<_>>(), there.collect::<Vec<_>>());
        for (path, text) in values {
            assert_eq!(text, params.get(path).unwrap(), "{path}");
        }
    }
}

#[test]
fn values_are_set_and_read_by_path() {
    let mut params = Params::paper();
    params.set("search.filter.padding", "2").unwrap();
    assert_eq!(params.search.filter().unwrap().padding, 2.0);
    assert_eq!(params.get("search.filter.padding").unwrap(), "2");
    params.set("search.filter.area.published.half-size-from", "inf").unwrap();
    assert_eq!(params.get("search.filter.area.published.half-size-from").unwrap(), "inf");
    params.set("guard", "krr").unwrap();
    params.set("guard.windows.machine.krr.lambda", "0.5").unwrap();
    assert_eq!(params.get("guard.windows.machine").unwrap(), "krr");
    assert_eq!(params.get("guard.windows.machine.krr.lambda").unwrap(), "0.5");
    params.set("guard", "none").unwrap();
    assert_eq!(params.guard, None);
}

#[test]
fn a_choice_brings_its_own_defaults_and_the_same_one_changes_nothing() {
    let made = |preset: &str, changes: &[(&str, &str)]| {
        let mut params = Params::preset(preset).unwrap();
        params.apply(changes).unwrap();
        params
    };
    let preset = |name: &str| Params::preset(name).unwrap();
    assert_eq!(made("fast", &[("search.filter.kernel", "gaussian"), ("search.filter.feature", "hog")]), preset("fast"));
    assert_eq!(made("paper", &[("search.filter.feature", "gray")]), preset("paper-gray"));
    assert_eq!(made("paper-gray", &[("search.filter.feature", "hog")]), preset("paper"));
    assert_eq!(made("paper", &[("search.filter.kernel", "linear")]), preset("paper-dcf"));
    assert_eq!(made("paper", &[("search.filter.kernel", "polynomial")]), preset("paper-polynomial"));
    let both = [("search.filter.kernel", "linear"), ("search.filter.feature", "gray")];
    assert_eq!(made("paper", &both), preset("paper-gray-linear"));
    for &kind in MachineKind::ALL {
        assert_eq!(made("fast", &[("search", kind.name())]), WindowParams::of(kind).into());
        let again = [("search", "krr"), ("search.windows.machine", kind.name())];
        assert_eq!(made("paper", &again), WindowParams::of(kind).into());
    }
    for (name, _) in Params::PRESETS {
        for (other, _) in Params::PRESETS {
            let changes = preset(other).changes_from(&preset(name));
            assert_eq!(made(name, &changes.iter().map(|(p, t)| (*p, t.as_str())).collect::<Vec<_>>()), preset(other));
            assert_eq!(changes.is_empty(), name == other);
        }
    }
}

#[test]
fn thresholds_of_a_belief_stand_in_their_order() {
    for (preset, at) in [("robust", "search.background.belief"), ("fast", "search.filter.states.belief")] {
        let said = |from: &str, until: &str, lost: &str| {
            let mut params = Params::preset(preset).unwrap();
            for (name, text) in [("tracking-from", from), ("tracking-until", until), ("lost-below", lost)] {
                params.set(&format!("{at}.{name}"), text).unwrap();
            }
            params.check().map_err(|error| error.to_string())
        };
        assert_eq!(
            said("0.3", "0.9", "0.2"),
            Err(format!("{at}.tracking-until 0.9: must not lie above {at}.tracking-from 0.3"))
        );
        assert_eq!(
            said("0.8", "0.5", "0.9"),
            Err(format!("{at}.lost-below 0.9: must not lie above {at}.tracking-until 0.5"))
        );
        for (from, until, lost) in [("0.8", "0.5", "0.2"), ("0.5", "0.5", "0.5"), ("1", "1", "0"), ("0", "0", "0")] {
            said(from, until, lost).unwrap();
        }
    }
}

/// The samples of a tracker's bank weigh the same in both classes.
#[test]
fn the_balance_of_classes_is_no_setting_of_a_tracker() {
    for (at, make) in [
        ("search", (|machine| WindowParams { machine, ..WindowParams::of(machine.kind()) }.into()) as fn(_) -> Params),
        ("guard", |machine| {
            let guard = GuardParams::of(machine.kind());
            Params::paper().guarded(GuardParams { windows: WindowParams { machine, ..guard.windows }, ..guard })
        }),
    ] {
        let klda = crate::machines::klda::Params { balance: false, ..Default::default() };
        let svm = crate::machines::svm::Params { balance: false, ..Default::default() };
        for machine in [MachineParams::Klda(klda), MachineParams::Svm(svm)] {
            let path = format!("{at}.windows.machine.{}.balance", machine.kind());
            let said = make(machine).check().unwrap_err().to_string();
            assert!(said.starts_with(&format!("{path} false: must be true")), "{said}");
            assert!(find(&path).is_err(), "{path}");
            make(machine.kind().params()).check().unwrap();
        }
    }
}

#[test]
fn what_would_have_no_effect_is_refused_with_what_it_needs() {
    let said = |changes: &[(&str, &str)]| Params::paper().apply(changes).unwrap_err().to_string();
    for (changes, expected) in [
        (&[("search.filter.kernel.polynomial.b", "3")][..], "needs search.filter.kernel = polynomial"),
        (&[("search", "svm"), ("search.filter.lambda", "5")], "needs search = kcf"),
        (&[("search.windows.prior", "0.5")], "needs search = svm, or another machine"),
        (&[("guard.doubt", "0.1")], "needs guard = svm, or another machine"),
        (&[("search", "krr"), ("search.windows.machine.svm.c", "3")], "needs search.windows.machine = svm"),
        (&[("search.filter.area.bounded.max-cells", "500")], "needs search.filter.area = bounded"),
        (&[("search.background.temporal", "3")], "needs search = background-aware"),
        (&[("search", "background-aware"), ("search.background.aspect.filter.pull", "0")], "aspect = filter"),
        (
            &[("search", "background-aware"), ("search.background.color-weighting.separation.to", "1")],
            "needs search.background.color-weighting = separation",
        ),
        (&[("search.filter.feature", "gray"), ("search.filter.feature.hog.cell-size", "4")], "feature = hog"),
        (&[("search.filter.padding", "21")], "search.filter.padding 21: must be a number from 0 to 20"),
        (&[("search.filter.paddin", "2")], "search.filter.padding may be meant"),
        (&[("search.filter.loss", "huber")], "must be one of ridge, hinge, fisher"),
    ] {
        let text = said(changes);
        assert!(text.contains(expected), "{text}");
    }
}
