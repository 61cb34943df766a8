//! `kcf-track synth`: arguments, files, errors.

use std::path::Path;

use assert_cmd::Command;
use kcf_track::synth::{Scene, SceneFile};
use predicates::str::contains;

use crate::pictures;

fn synth(out: &Path) -> Command {
    let mut command = Command::cargo_bin("kcf-track").unwrap();
    command.arg("synth").arg("--out").arg(out);
    command
}

#[test]
fn arguments_reach_the_scene() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("seq");
    let arguments = "--preset hard --frames 3 --size 80x60 --target 12x14 --seed 9 --set scale=0.2 --set rotation=15 \
                     --set out-of-view=false --set noise=2.5 --format png";
    synth(&out).args(arguments.split_whitespace()).assert().success().stdout(contains("3 frames of 80x60 pixels"));
    let file: SceneFile = serde_json::from_slice(&std::fs::read(out.join("scene.json")).unwrap()).unwrap();
    let p = &file.params;
    assert_eq!((p.frames, p.width, p.height, p.target_width, p.target_height, p.seed), (3, 80, 60, 12, 14, 9));
    assert_eq!((p.scale, p.rotation, p.out_of_view, p.noise, p.clutter), (0.2, 15.0, false, 2.5, 5));
    assert!(file.command.unwrap().ends_with("--set noise=2.5 --format png"));
    let picture = pictures::open(&out.join("img/0002.png")).into_rgb8();
    assert!(picture == Scene::new(file.params).unwrap().render(1).0);
    synth(&out).args(["--frames", "1"]).assert().failure().stderr(contains("not empty"));
}

#[test]
fn a_bad_value_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("seq");
    for (flag, value, expected) in [
        ("--frames", "0", "frames"),
        ("--frames", "-3", "frames"),
        ("--size", "0x0", "width"),
        ("--size", "wide", "--size"),
        ("--target", "400x400", "target"),
        ("--set", "motion=NaN", "motion"),
        ("--set", "rotation=1000", "rotation"),
        ("--set", "shutter=1", "shutter"),
        ("--set", "noise", "NAME=VALUE"),
        ("--format", "gif", "--format"),
        ("--preset", "impossible", "--preset"),
    ] {
        synth(&out).args([flag, value]).assert().failure().stderr(contains(expected));
        assert!(!out.exists(), "{flag} {value}");
    }
}
