//! `kcf-track synth`: flags, files, errors.

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
fn flags_reach_the_scene() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("seq");
    let flags = "--preset hard --frames 3 --size 80x60 --target 12x14 --seed 9 --motion 1.5 --jump 2 --camera 0.5 \
        --scale 0.2 \
                 --rotation 15 --occlusion 0.4 --illumination 0.3 --blur 0.7 --shutter 0.2 --clutter 1 \
                 --out-of-view=false \
                 --noise 2.5 --format png";
    synth(&out).args(flags.split_whitespace()).assert().success().stdout(contains("3 frames of 80x60 pixels"));
    let file: SceneFile = serde_json::from_slice(&std::fs::read(out.join("scene.json")).unwrap()).unwrap();
    let p = &file.params;
    assert_eq!((p.frames, p.width, p.height, p.target_width, p.target_height, p.seed), (3, 80, 60, 12, 14, 9));
    assert_eq!([p.motion, p.jump, p.camera, p.scale, p.rotation], [1.5, 2.0, 0.5, 0.2, 15.0]);
    assert_eq!([p.occlusion, p.illumination, p.blur, p.shutter, p.noise], [0.4, 0.3, 0.7, 0.2, 2.5]);
    assert_eq!((p.clutter, p.out_of_view), (1, false));
    assert!(file.command.unwrap().ends_with("--noise 2.5 --format png"));
    let picture = pictures::open(&out.join("img/0002.png")).into_rgb8();
    assert!(picture == Scene::new(file.params).unwrap().render(1).0);

    // A folder with content needs --force.
    synth(&out).args(["--frames", "1"]).assert().failure().stderr(contains("not empty"));
    synth(&out).args(["--frames", "1", "--size", "64x64", "--target", "9x9", "--force"]).assert().success();
    assert_eq!(std::fs::read_dir(out.join("img")).unwrap().count(), 1);
}

#[test]
fn bad_values_name_their_flag_and_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("seq");
    for (flag, value) in [
        ("--frames", "0"),
        ("--frames", "-3"),
        ("--size", "0x0"),
        ("--size", "99999x10"),
        ("--size", "wide"),
        ("--target", "400x400"),
        ("--target", "1x50"),
        ("--motion", "NaN"),
        ("--motion", "-1"),
        ("--jump", "inf"),
        ("--camera", "1e9"),
        ("--scale", "-0.1"),
        ("--rotation", "1000"),
        ("--occlusion", "2"),
        ("--illumination", "x"),
        ("--blur", "nan"),
        ("--shutter", "1.01"),
        ("--clutter", "1000"),
        ("--noise", "-5"),
        ("--quality", "0"),
        ("--quality", "101"),
        ("--format", "gif"),
        ("--preset", "impossible"),
    ] {
        synth(&out).args([flag, value]).assert().failure().stderr(contains(flag));
        assert!(!out.exists(), "{flag} {value}");
    }
}
