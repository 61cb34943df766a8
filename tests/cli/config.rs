//! Settings by files: what is printed is read back, and what is wrong in a file is said with its line.

use kcf_track::Params;
use kcf_track::machines::MachineKind;
use kcf_track::tracker::{WindowParams, settings};
use predicates::prelude::*;
use predicates::str::contains;

use crate::helper::{place, run};

fn printed(line: &str) -> String {
    let output = run(line.split_whitespace().chain(["--print-config"])).assert().success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn what_is_printed_is_read_back_for_every_preset_and_detector() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let presets = Params::PRESETS.map(|(name, _)| format!("--preset {name}")).to_vec();
    let others = [
        "--detector svm --machine c=3 --window-kernel linear",
        "--preset fast --guard krr --padding 2 --max-cells inf --half-size-from inf",
        "--preset paper --feature gray --kernel polynomial --kernel-b 3 --loss hinge",
    ];
    for line in presets.iter().map(String::as_str).chain(others) {
        let text = printed(line);
        std::fs::write(&file, &text).unwrap();
        // Whatever stood there before: the file says all of it.
        for before in ["", "--preset paper", "--preset paper-gray-linear"] {
            let again = printed(&format!("{before} --config {}", file.display()));
            let rest =
                |text: &str| text.lines().filter(|line| !line.starts_with("preset")).collect::<Vec<_>>().join("\n");
            assert_eq!(rest(&again), rest(&text), "{line}, {before}");
        }
        assert_eq!(printed(&format!("--config {}", file.display())), text, "{line}");
        let eval = run(["eval", "--print-config", "--config", file.to_str().unwrap()]).assert().success();
        assert_eq!(String::from_utf8(eval.get_output().stdout.clone()).unwrap(), text, "{line}");
    }
}

#[test]
fn a_file_tracks_as_its_flags_do() {
    let place = place(6);
    let same = |flags: &str, text: &str| {
        std::fs::write(place.path("c.toml"), text).unwrap();
        place.run(&format!("--json @a.json {flags}")).assert().success();
        place.run("--json @b.json --config @c.toml").assert().success();
        let (a, b) = (place.json("a.json"), place.json("b.json"));
        assert_eq!(a["parameters"], b["parameters"], "{flags}");
        let boxes = |document: &serde_json::Value| {
            let frames = document["frames"].as_array().unwrap();
            frames.iter().map(|frame| (frame["bbox"].clone(), frame["state"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(boxes(&a), boxes(&b), "{flags}");
        a["parameters"].clone()
    };
    let plain = same("--preset fast", "preset = \"fast\"");
    assert_eq!((&plain["preset"], &plain["changed"]), (&"fast".into(), &serde_json::json!([])));
    let text = "preset = \"fast\"\n[search.filter]\npadding = 3\n[guard.windows.machine.krr]\nlambda = 0.5\n";
    let changed = same("--preset fast --padding 3 --guard krr --machine lambda=0.5", text);
    let paths = serde_json::json!(["guard", "search.filter.padding", "guard.windows.machine.krr.lambda"]);
    assert_eq!(changed["changed"], paths);
    // Flags come last, and the file's branch of the tree is the one that they find.
    std::fs::write(place.path("c.toml"), "search = \"svm\"\nsearch_ = 1").unwrap();
    place.run("--config @c.toml").assert().code(2).stderr(contains("line 2").and(contains("search_")));
    std::fs::write(place.path("c.toml"), "search = \"svm\"").unwrap();
    place.run("--config @c.toml --prior 0.25 --json @a.json").assert().success();
    assert_eq!(place.json("a.json")["parameters"]["search"]["windows"]["prior"], 0.25);
    place.run("--config @c.toml --lambda 1").assert().code(2).stderr(contains("--lambda needs --detector kcf"));
}

/// What another feature or kernel brings is what was published for it; the one that is there changes nothing.
#[test]
fn presets_stay_what_they_are_called() {
    let tree = |line: &str| {
        let text = printed(line);
        text.lines().filter(|line| !line.starts_with("preset")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(tree("--preset fast --kernel gaussian --feature hog"), tree("--preset fast"));
    assert_eq!(tree("--preset paper --feature gray"), tree("--preset paper-gray"));
    assert_eq!(tree("--preset paper --kernel linear --feature gray"), tree("--preset paper-gray-linear"));
    assert_ne!(tree("--preset fast"), tree("--preset paper"));
}

#[test]
fn a_mistake_in_a_file_is_named_with_its_line() {
    let place = place(2);
    for (text, said) in [
        ("preset = \"papre\"", "line 1: preset papre: must be one of robust, paper, fast"),
        (
            "\npreset = \"paper\"\n[search.filter]\npaddin = 2",
            "line 4: setting search.filter.paddin: there is no such setting",
        ),
        (
            "preset = \"paper\"\n[search.filter]\npadding = -1",
            "line 3: search.filter.padding -1: must be a number from 0 to 20",
        ),
        ("preset = \"paper\"\n[search.filter]\npadding = true", "line 3: search.filter.padding true: must be a number"),
        ("preset = \"paper\"\n[search.filter]\npadding = [1]", "line 3: search.filter.padding: must be a number"),
        ("[search.windows]\nprior = 0.2", "line 2: search.windows.prior 0.2: needs search = svm"),
        (
            "preset = \"paper\"\n[search.filter.kernel.gaussian]\nsigma = 1\n[search.filter.kernel.polynomial]\nb = 2",
            "line 4: search.filter.kernel",
        ),
        ("search = \"svm\"\nprior = 1 2", "line 2"),
        ("[search.filter]\npadding = 1\npadding = 2", "line 3"),
        (
            "preset = \"paper\"\n[search.filter.states.psr]\nuncertain = 1",
            "--uncertain-psr 1: must not lie below --lost-psr 5",
        ),
        ("search = \"rbf\"", "line 1: search rbf: must be one of kcf, background-aware, krr"),
    ] {
        std::fs::write(place.path("c.toml"), text).unwrap();
        place.run("--config @c.toml").assert().code(2).stdout("").stderr(contains(said));
    }
    place.run("--config @none.toml").assert().code(2).stderr(contains("none.toml"));
}

/// A flag is meant to do something; a file says all that there is.
#[test]
fn what_has_no_effect_is_refused_as_a_flag_and_taken_from_a_file() {
    let place = place(2);
    for (line, said) in [
        ("--preset fast --faint-after 3", "--faint-after needs --faint-below above 0"),
        ("--mask=false --penalty 2", "--penalty needs --mask true or --weight-growth above 0"),
        ("--color-weight 0 --set search.background.color-rate=0.1", "color-rate needs --color-weight above 0"),
        ("--preset paper --guard krr --guard-tiles 0 --guard-far 1", "--guard-far needs --guard-tiles above 0"),
        ("--max-cells inf", "--max-cells inf: must be a number from 1296 to 6400"),
        ("--preset fast --kernel linear", "--states belief: needs --feature hog, --kernel gaussian and"),
        ("--tracking-until 0.9", "--tracking-until 0.9: must not lie above --tracking-from 0.8"),
        ("--preset paper --detector klda --machine balance=false", "klda has no balance, but eps, ridge"),
    ] {
        place.run(line).assert().code(2).stdout("").stderr(contains(said));
    }
    for line in ["--preset fast", "--mask=false", "--color-weight 0", "--solver-steps 1", "--guard krr --guard-tiles 0"]
    {
        std::fs::write(place.path("c.toml"), printed(line)).unwrap();
        place.run("--config @c.toml --json @a.json").assert().success();
    }
}

/// Each flag of the table is one of the program, in both of its ways to track, and its help says its range.
#[test]
fn help_knows_every_flag_of_the_table() {
    let help = |line: &[&str]| String::from_utf8(run(line).assert().success().get_output().stdout.clone()).unwrap();
    for text in [help(&["--help"]), help(&["eval", "--help"])] {
        for setting in settings::table() {
            for flag in &setting.flags {
                assert!(text.contains(&format!("--{flag} <")) || text.contains(&format!("--{flag} [<")), "--{flag}");
            }
        }
        assert!(text.contains("max-steps: Steps after which it is given up (1 to 1000000000000) [default: 100000]"));
        assert!(!text.contains("[]"));
        // The help is broken into lines.
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "Filters (--detector kcf and background-aware): --max-cells",
            "States and recovery: --states",
            "(-100 to 100; matching: -1 to 1) [default: -0.5; matching: 0.05]",
            "(odd, 3 to 23) [default: 17]",
        ] {
            assert!(words.contains(part), "{part}");
        }
        let cells = format!(
            "({}; background-aware: 1296 to 6400)",
            settings::find("search.filter.area.bounded.max-cells").unwrap().kind.range()
        );
        assert!(words.contains(&cells), "{cells}");
    }
}

/// What a key of `--machine` is, takes and defaults to stands in the documents as it does in the help.
#[test]
fn the_documents_know_every_setting_of_the_machines() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/detectors.md");
    let text = std::fs::read_to_string(path).unwrap();
    for kind in MachineKind::ALL {
        let params = Params::from(WindowParams::of(*kind));
        for row in kind.settings() {
            let key = row.path.split('.').nth(1).unwrap();
            let default = params.get(&format!("search.windows.machine.{}", row.path)).unwrap();
            let line = format!("| `{kind}` | `{key}` | {} | {} | {default} |\n", row.help, row.kind.range());
            assert!(text.contains(&line), "{line}");
        }
    }
}
