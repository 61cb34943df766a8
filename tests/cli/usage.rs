//! Help, usage errors and settings.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;

use crate::helper::{place, run};

#[test]
fn help_is_short() {
    run([""; 0]).assert().success().stdout(contains("Usage:"));
    for command in [None, Some("view"), Some("eval")] {
        for (flag, most) in [("-h", 60), ("--help", 220)] {
            let help = run(command.into_iter().chain([flag])).assert().success();
            let lines = String::from_utf8_lossy(&help.get_output().stdout).lines().count();
            assert!(lines > 10 && lines <= most, "{command:?} {flag}: {lines} lines");
        }
    }
}

#[test]
fn the_long_version_says_what_a_report_needs() {
    run(["--version"]).assert().success().stdout(contains("commit").not());
    let all = ["commit: ", "features: cli", "vector instructions: ", "ffmpeg: "];
    for order in [["--version", "--long"], ["--long", "-V"]] {
        let report = run(order).assert().success();
        let report = String::from_utf8_lossy(&report.get_output().stdout).into_owned();
        assert!(all.iter().all(|part| report.contains(part)), "{report}");
    }
    run(["--long"]).assert().code(2).stderr(contains("--version"));
}

#[test]
fn a_missing_box_is_an_error_that_names_the_remedies() {
    let place = place(2);
    fs::remove_file(place.seq().join("groundtruth_rect.txt")).unwrap();
    let remedies = contains("--init").and(contains("--pick")).and(contains("view"));
    place.run("").assert().code(2).stdout("").stderr(remedies);
    let explained = run(["explain", "--frame", "2"]).arg(place.seq()).assert().code(2);
    explained.stderr(contains("--init x,y,w,h or --init-file").and(contains("--pick").not()));
    let done = run([place.seq().join("img")]).args(["--init", "40,30,24,32"]).assert().success();
    done.stdout(contains("2 frames").and(contains("precision").not()));
}

#[test]
fn errors_of_settings_name_the_setting_and_write_nothing() {
    let place = place(2);
    fs::write(place.path("range.toml"), "[search.background]\npadding = -1\n").unwrap();
    fs::write(place.path("unknown.toml"), "[search.background]\npaddding = 1\n").unwrap();
    fs::write(place.path("syntax.toml"), "preset = \n").unwrap();
    for (line, message) in [
        ("--set search.background.padding=-1", "search.background.padding"),
        ("--set search.background.padding=x", "search.background.padding"),
        ("--set search.background.paddding=1", "search.background.paddding"),
        ("--set search.filter.padding=1", "search.filter.padding"),
        ("--set color=1", "color"),
        ("--set padding", "PATH=VALUE"),
        ("--config @range.toml", "search.background.padding"),
        ("--config @unknown.toml", "search.background.paddding"),
        ("--config @syntax.toml", "syntax.toml: TOML: line 1: "),
        ("--config @none.toml", "none.toml"),
        ("--preset none", "--preset"),
        ("--detector none", "--detector"),
        ("--guard kpca", "guard"),
        ("--detector svm --set search.filter.feature=gray", "search.filter.feature"),
        ("--preset paper --set search.filter.kernel=cubic", "search.filter.kernel"),
        (
            "--set search.background.scale=none --set search.background.scale.filter.step=1",
            "search.background.scale.filter.step",
        ),
        ("--detector svm --set search.machine.windows.channels=20", "search.machine.windows.channels"),
        ("--timeout 0", "--timeout"),
        ("--jobs 0", "--jobs"),
        ("--start x", "--start"),
        ("--init 1,2,3", "--init"),
        ("--init 1,2,-3,4", "--init"),
        ("--inset --init 40,30,24,32", "--overlay"),
        ("--overlay @seen.mpg --init 40,30,24,32", "as .mp4"),
    ] {
        let done = place.run(&format!("--csv @a.csv {line}")).assert().code(2).stdout("");
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(said.starts_with("error: ") && said.contains(message), "{line}: {said}");
        assert!(!place.path("a.csv").exists(), "{line}");
    }
}

#[test]
fn words_of_the_paper_are_answered_with_their_paths() {
    for (line, path) in [
        ("x --lambda 1", "with --preset paper --set search.filter.lambda=VALUE"),
        ("x --padding 2", "--set search.background.padding=VALUE"),
        ("x --sigma 1", "--set search.filter.kernel.gaussian.sigma=VALUE, with --preset paper"),
        ("x --kernel linear", "--set search.filter.kernel=VALUE, with --preset paper"),
        ("x -p paper --lambda 1", "tip: a setting is given by its path: --set search.filter.lambda=VALUE\n"),
        ("x --set output-sigma=1", "did you mean search.background.output-sigma; with --preset paper"),
        ("x --set sigma=1", "did you mean search.filter.kernel.gaussian.sigma, with --preset paper?"),
        ("x -p paper --set sigma=1", "did you mean search.filter.kernel.gaussian.sigma?"),
        ("explain x --frame 2 --eta 1", "unexpected argument"),
    ] {
        run(line.split(' ')).assert().code(2).stderr(contains(path));
    }
}

#[test]
fn settings_reach_the_tracker() {
    let place = place(3);
    for (line, values) in [
        (
            "--detector svm --set search.machine.windows.kernel=polynomial --set search.machine.windows.machine.svm.c=3 \
             --set search.machine.windows.template-size=24",
            &[
                ("/search/machine/windows/machine/svm/c", "3.0"),
                ("/search/machine/windows/template-size", "24.0"),
                ("/search/machine/windows/kernel/polynomial/b", "9"),
            ][..],
        ),
        (
            "--guard krr --set guard.windows.machine.krr.lambda=0.1 --set guard.tiles=6",
            &[("/guard/windows/machine/krr/lambda", "0.1"), ("/guard/tiles", "6")],
        ),
        (
            "--preset paper --set search.filter.feature=gray --set search.filter.kernel=linear --set search.filter.padding=2",
            &[("/preset", "\"paper\""), ("/search/filter/padding", "2.0"), ("/search/filter/kernel", "\"linear\"")],
        ),
    ] {
        place.run(&format!("{line} --json @a.json")).assert().success();
        let document = place.json("a.json");
        for (path, value) in values {
            let found = document["parameters"].pointer(path).map(ToString::to_string);
            assert_eq!(found.as_deref(), Some(*value), "{line}: {path} in {}", document["parameters"]);
        }
        // The printed configuration gives the same settings.
        let printed = run(["--print-config"]).args(line.split_whitespace()).assert().success();
        fs::write(place.path("my.toml"), &printed.get_output().stdout).unwrap();
        place.run("--config @my.toml --json @b.json").assert().success();
        assert_eq!(place.json("b.json")["parameters"], document["parameters"], "{line}");
    }
}

#[test]
fn a_configuration_may_come_through_a_pipe() {
    let printed = run("--print-config --set detections.birth=0.9".split(' ')).assert().success();
    let printed = printed.get_output().stdout.clone();
    run(["--print-config", "--config", "/dev/stdin"]).write_stdin(printed.clone()).assert().success().stdout(printed);
}
