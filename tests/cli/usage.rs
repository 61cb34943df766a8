//! Help, usage errors, settings, and the recipes of docs/use.md.

use std::fs;
use std::process::Command;

use predicates::prelude::*;
use predicates::str::contains;

use crate::ffmpeg::ffmpeg;
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
        ("--config @syntax.toml", "syntax.toml"),
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

/// What `view clip.mp4 --session work.json` keeps: a target that was corrected in frame 4.
const SESSION: &str = r#"{"schema":"kcf-track/3","version":"0.1.0","source":{"path":"clip.mp4","start":1,"end":5,
"frames":5,"rate":25.0,"width":320,"height":240},"parameters":{},"targets":[{"id":1,"name":"Anna","class":"person",
"given":[{"frame":1,"bbox":[97,113,34,81]},{"frame":4,"bbox":[99,114,34,80]}]}],"frames":[],"summary":{}}"#;

/// Runs each shell line of docs/use.md that needs no camera, no network and no browser.
#[test]
fn recipes_run() {
    let place = place(6);
    let folder = place.path("");
    if !ffmpeg(&folder, "-f lavfi -i testsrc2=size=320x240:rate=25:duration=0.2 clip.mp4") {
        return;
    }
    let sequence = |name: &str, frames: usize, truths: &[&str]| {
        let images = folder.join(name).join("img");
        fs::create_dir_all(&images).unwrap();
        for n in 1..=frames {
            std::os::unix::fs::symlink(place.frame(1 + (n - 1) % 6), images.join(format!("{n:04}.png"))).unwrap();
        }
        for truth in truths {
            fs::copy(place.seq().join("groundtruth_rect.txt"), folder.join(name).join(truth)).unwrap();
        }
    };
    sequence("DIR", 6, &["groundtruth_rect.txt"]);
    sequence("SRC", 121, &["groundtruth_rect.txt"]);
    sequence("Jogging", 6, &["groundtruth_rect.1.txt", "groundtruth_rect.2.txt"]);
    sequence("OTB/Car", 6, &["groundtruth_rect.txt"]);
    fs::create_dir(folder.join("published")).unwrap();
    fs::copy(place.seq().join("groundtruth_rect.txt"), folder.join("published/Car.txt")).unwrap();
    fs::write(folder.join("targets.csv"), "id,frame,x,y,w,h\n1,1,40,30,24,32\n2,3,100,60,30,24\n").unwrap();
    fs::write(folder.join("work.json"), SESSION).unwrap();
    fs::write(folder.join("det.txt"), "1,-1,98,114,34,81,0.9\n4,-1,98,114,34,81,0.9\n").unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_kcf-track"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());

    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/use.md")).unwrap();
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut count = 0;
    for line in blocks.flat_map(str::lines) {
        if ["/dev/video", "rtsp:", "--pick", " view "].iter().any(|word| line.contains(word)) {
            continue;
        }
        // The frames here are smaller than those of the recipes.
        let line = line.replace("DIR --init 197,213,34,81", "DIR --init 40,30,24,32");
        let line = line.replace("197,213,34,81", "97,113,34,81").replace("URL", "clip.mp4");
        let line = line.replace("SRDCF=DIR", "SRDCF=published").replace("synth ", "synth --frames 2 ");
        let done = Command::new("sh").args(["-c", &line]).current_dir(&folder).env("PATH", &path).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && !said.contains("error"), "{line}: {said}");
        count += 1;
    }
    assert!(count >= 10, "{count} recipes");
    let outputs = "boxes.json boxes.csv boxes.txt my.toml report/report.html hard/scene.json dataset/data.yaml \
                   dataset/images/000005.jpg pictures/000001.jpg step.html safe.mp4 near.mp4";
    for output in outputs.split_whitespace() {
        assert!(folder.join(output).is_file(), "{output}");
    }
}
