use super::*;

/// What `paper` becomes, or what is said.
fn changed(wording: Wording, flags: &[(&str, &str)], machine: &[(&str, &str)]) -> Result<Params, String> {
    let mut changes = Changes::new(wording);
    for (flag, text) in flags {
        assert!(changes.flag(flag, text), "{flag}");
    }
    machine.iter().for_each(|(key, text)| changes.machine(key, text));
    let mut params = Params::preset("paper").unwrap();
    changes.apply(&mut params).map(|()| params)
}

#[test]
fn values_find_the_tree_that_they_are_meant_for() {
    for wording in [Wording::Flags, Wording::Keywords] {
        let flags = [("kernel-sigma", "0.3"), ("detector", "svm"), ("kernel", "gaussian")];
        let params = changed(wording, &flags, &[("c", "3"), ("max_steps", "700")]).unwrap();
        assert_eq!(params.get("search.windows.kernel.gaussian.sigma").unwrap(), "0.3");
        assert_eq!(params.get("search.windows.machine.svm.c").unwrap(), "3");
        assert_eq!(params.get("search.windows.machine.svm.max-steps").unwrap(), "700");
        let params = changed(wording, &[("max-cells", "300")], &[]).unwrap();
        assert_eq!(params.get("search.filter.area.bounded.max-cells").unwrap(), "300");
        let params = changed(wording, &[("max-cells", "inf")], &[]).unwrap();
        assert_eq!(params.get("search.filter.area").unwrap(), "published");
    }
    assert!(!Changes::default().flag("paddin", "2"));
}

#[test]
fn what_is_wrong_is_said_in_the_words_of_who_asks() {
    for (flags, machine, as_flags, as_keywords) in [
        (&[("padding", "99")][..], &[][..], "--padding 99: must be", "padding 99: must be"),
        (&[("kernel-a", "1")], &[], "--kernel-a needs --kernel polynomial", "kernel_a needs kernel=\"polynomial\""),
        (&[("guard-tiles", "3")], &[], "--guard-tiles needs --guard", "guard_tiles needs guard"),
        (&[], &[("c", "1")], "--machine needs --detector svm (or", "machine needs detector=\"svm\" (or"),
        (
            &[("guard", "svm")],
            &[("cc", "1")],
            "--machine cc=1: svm has no cc, but c",
            "machine[\"cc\"] 1: svm has no cc, but c",
        ),
        (&[("guard", "svm")], &[("c", "-1")], "--machine c=-1: must be", "machine[\"c\"] -1: must be"),
        (
            &[("padding", "2"), ("padding", "3")],
            &[],
            "--padding 2 and --padding 3 contradict each other",
            "padding 2 and padding 3 contradict each other",
        ),
        // As they are written, so that they are found again.
        (
            &[("guard", "svm")],
            &[("c", "1"), ("c", "2")],
            "--machine c=1 and --machine c=2 contradict each other",
            "machine[\"c\"] 1 and machine[\"c\"] 2 contradict each other",
        ),
    ] {
        for (wording, words) in [(Wording::Flags, as_flags), (Wording::Keywords, as_keywords)] {
            let said = changed(wording, flags, machine).unwrap_err();
            assert!(said.starts_with(words), "{said}");
        }
    }
    let said = Changes::default().path("search.filter.paddin", "2").unwrap_err();
    assert!(said.starts_with("--set: ") && said.ends_with("search.filter.padding may be meant"), "{said}");
}

/// What is said of flags of `preset`, in the words of both; nothing where they are taken.
fn said_of(preset: &str, flags: &[(&str, &str)]) -> [String; 2] {
    [Wording::Flags, Wording::Keywords].map(|wording| {
        let mut changes = Changes::new(wording);
        flags.iter().for_each(|(flag, text)| assert!(changes.flag(flag, text), "{flag}"));
        changes.apply(&mut Params::preset(preset).unwrap()).err().unwrap_or_default()
    })
}

#[test]
fn what_other_values_leave_without_effect_is_refused_where_it_is_given() {
    let mask = [("mask", "false")];
    let colors = [("color-weight", "0")];
    for (preset, others, idle, needs) in [
        ("fast", &[][..], "faint-after", "--faint-below above 0"),
        ("robust", &[("faint-below", "0")], "faint-after", "--faint-below above 0"),
        ("robust", &colors, "color-rate", "--color-weight above 0"),
        ("robust", &colors, "color-weighting", "--color-weight above 0"),
        ("robust", &colors, "separation-from", "--color-weight above 0"),
        ("robust", &mask, "solver-steps", "--mask true or --weight-growth above 0"),
        ("robust", &mask, "penalty", "--mask true or --weight-growth above 0"),
        ("robust", &mask, "penalty-growth", "--mask true or --weight-growth above 0"),
        ("robust", &mask, "penalty-limit", "--mask true or --weight-growth above 0"),
        ("robust", &[("solver-steps", "1")], "penalty-growth", "--solver-steps above 1"),
        ("robust", &[("solver-steps", "1")], "penalty-limit", "--solver-steps above 1"),
        ("paper", &[("guard", "krr"), ("guard-tiles", "0")], "guard-far", "--guard-tiles above 0"),
    ] {
        let text = match idle {
            "color-weighting" => "separation",
            "separation-from" => "0.5",
            _ => "3",
        };
        let text = if idle == "color-rate" { "0.1" } else { text };
        let more = if idle == "separation-from" { vec![("color-weighting", "separation")] } else { vec![] };
        let flags = [&[(idle, text)], &more[..], others].concat();
        let [as_flag, as_keyword] = said_of(preset, &flags);
        let first = if idle == "separation-from" { "color-weighting" } else { idle };
        assert_eq!(as_flag, format!("--{first} needs {needs}"));
        assert_eq!(as_keyword, as_flag.replace("--", "").replace('-', "_"));
        // What makes it idle is not refused itself, and what is given by its path is refused as well.
        assert_eq!(said_of(preset, others), [""; 2]);
        let mut changes = Changes::default();
        others.iter().chain(&more).for_each(|(flag, text)| assert!(changes.flag(flag, text)));
        let path = table().iter().filter(|setting| setting.flags.contains(&idle)).map(|setting| setting.path);
        let mut params = Params::preset(preset).unwrap();
        let mut there = params.clone();
        changes.apply(&mut there).ok();
        changes.path(path.into_iter().find(|path| there.unmet(path).is_none()).unwrap(), text).unwrap();
        let said = changes.apply(&mut params).unwrap_err();
        assert!(said.ends_with(&format!(" needs {needs}")), "{said}");
    }
}

#[test]
fn all_settings_of_a_preset_can_be_given_again() {
    for (preset, _) in Params::PRESETS {
        let mut params = Params::preset(preset).unwrap();
        let mut changes = Changes::default();
        params.values().iter().for_each(|(path, value)| changes.path(path, value).unwrap());
        assert_eq!(changes.apply(&mut params), Ok(()), "{preset}");
        assert_eq!(params, Params::preset(preset).unwrap());
    }
}

#[test]
fn what_has_an_effect_in_the_end_is_taken_in_any_order() {
    for (preset, flags) in [
        ("fast", &[("faint-after", "7"), ("faint-below", "0.2")][..]),
        ("robust", &[("solver-steps", "4"), ("mask", "false"), ("weight-growth", "3")]),
        ("robust", &[("penalty", "3"), ("solver-steps", "1")]),
        ("robust", &[("color-rate", "0.1"), ("color-weight", "0.3")]),
        ("paper", &[("guard", "krr"), ("guard-far", "0.1"), ("guard-tiles", "1")]),
    ] {
        assert_eq!(said_of(preset, flags), [""; 2], "{flags:?}");
    }
    // All that a tree says, as a file of settings does, is no gift of a value that has no effect.
    for (name, _) in Params::PRESETS {
        let params = Params::preset(name).unwrap();
        let mut again = params.clone();
        again.apply(&params.values()).unwrap();
        assert_eq!(again, params);
    }
}

#[test]
fn no_bound_of_cells_is_said_to_be_what_each_search_makes_of_it() {
    let said = |preset: &str, text: &str| said_of(preset, &[("max-cells", text)])[0].clone();
    assert_eq!(said("fast", "inf"), "");
    assert_eq!(said("paper", "300"), "");
    assert_eq!(said("robust", "inf"), "--max-cells inf: must be a number from 1296 to 6400");
    assert_eq!(said("robust", "2000"), "");
    let mut svm = Changes::default();
    assert!(svm.flag("detector", "svm") && svm.flag("max-cells", "inf"));
    let said = svm.apply(&mut Params::paper()).unwrap_err();
    assert_eq!(said, "--max-cells needs --detector kcf or --detector background-aware");
}
