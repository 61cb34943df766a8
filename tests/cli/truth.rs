//! Truth files in the dialects of benchmarks, broken ones, and what a run is compared with.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::helper::{Place, bbox, place, run};

/// The rows of the sequence's truth file, 1-based.
fn rows(place: &Place) -> Vec<String> {
    place.read("seq/groundtruth_rect.txt").lines().map(String::from).collect()
}

/// A box that has nothing of the target, in the corner that lies farthest from it.
fn far(place: &Place) -> String {
    let truth = place.scene.truth(0).bbox;
    let (x, y) = truth.center();
    let corner = |at: f64, size: f64| if at < size / 2.0 { size - 16.0 } else { 0.0 };
    format!("--json @a.json --init {},{},16,16", corner(x, 160.0), corner(y, 120.0))
}

/// Replaces the truth by these rows.
fn write(place: &Place, rows: &[String]) {
    fs::write(place.seq().join("groundtruth_rect.txt"), rows.join("\n")).unwrap();
}

fn summary(place: &Place) -> Value {
    place.json("a.json")["summary"]["truth"].clone()
}

#[test]
fn reads_one_target_of_a_mot_truth() {
    let place = place(5);
    let boxes = rows(&place);
    fs::remove_file(place.seq().join("groundtruth_rect.txt")).unwrap();
    // As MOT lays sequences out: img1/, and gt/gt.txt with all targets.
    fs::rename(place.seq().join("img"), place.seq().join("img1")).unwrap();
    fs::create_dir(place.seq().join("gt")).unwrap();
    let mut lines = String::new();
    for (frame, bbox) in (1..).zip(&boxes) {
        lines += &format!("{frame},7,{bbox},1,1,1\n{frame},2,5,6,20,20,0,8,0.5\n");
    }
    fs::write(place.seq().join("gt/gt.txt"), &lines).unwrap();
    let said = contains("2 targets (2, 7): that of 7 is read").and(contains("--target N"));
    place.run("--json @a.json").assert().success().stderr(said);
    let numbers: Vec<f64> = boxes[0].split(',').map(|word| word.parse().unwrap()).collect();
    let first = bbox(&place.json("a.json")["frames"][0]);
    assert!((first[0] - (numbers[0] - 1.0)).abs() < 1e-3 && (first[3] - numbers[3]).abs() < 1e-3, "{first:?}");
    assert!(summary(&place)["mean_overlap"].as_f64().unwrap() > 0.7);
    place.run("--json @a.json --target 2").assert().success().stderr(contains("targets").not());
    assert_eq!(bbox(&place.json("a.json")["frames"][0]), [4.0, 5.0, 20.0, 20.0]);
    place
        .run("--target 3")
        .assert()
        .code(2)
        .stderr(contains("--target 3: ").and(contains("truth of the targets 2, 7")));
    // The same file, named.
    place.run("--target 7 --truth @seq/gt/gt.txt").assert().success().stdout(contains("truth of 5 of them"));
}

#[test]
fn warns_of_several_targets_in_the_truth() {
    let place = place(3);
    let boxes = rows(&place);
    fs::rename(place.seq().join("groundtruth_rect.txt"), place.seq().join("groundtruth_rect.1.txt")).unwrap();
    fs::write(place.seq().join("groundtruth_rect.2.txt"), "5,5,20,20\n".repeat(3)).unwrap();
    place.run("").assert().success().stderr(contains("2 targets (1, 2): that of 1 is read"));
    place.run("-q --target 2").assert().success().stderr("");
    // One that holds no box is none to choose.
    fs::write(place.seq().join("groundtruth_rect.2.txt"), "").unwrap();
    place.run("-q").assert().success().stderr("");
    assert_eq!(boxes.len(), 3);
}

#[test]
fn refuses_unknown_columns() {
    let place = place(3);
    write(&place, &["1,1,9,9,20,20".into(), "2,1,9,9,20,20".into(), "3,1,9,9,20,20".into()]);
    let said = contains("line 1: 6 numbers").and(contains("frame,id,x,y,w,h,conf,class,visibility"));
    place.run("--json @a.json").assert().code(1).stdout("").stderr(said);
    assert!(!place.path("a.json").exists());
}

#[test]
fn a_broken_truth_does_not_block_a_run_with_a_box() {
    let place = place(3);
    write(&place, &["1,2,3,4".into(), "x,y,z,w".into()]);
    let said = contains("warning").and(contains("groundtruth_rect.txt, line 2")).and(contains("the truth is ignored"));
    place.run("--init 40,30,24,32").assert().success().stderr(said).stdout(contains("precision").not());
    // Without the box, or where that file is asked for, it is needed.
    place.run("").assert().code(1).stderr(contains("line 2"));
    place.run("--init 40,30,24,32 --truth @seq/groundtruth_rect.txt").assert().code(1).stderr(contains("line 2"));
}

#[test]
fn the_initial_box_alone_is_not_scored() {
    let place = place(4);
    let boxes = rows(&place);
    let without = || "0,0,0,0".to_owned();
    for rows in [boxes[..1].to_vec(), vec![boxes[0].clone(), without(), without(), without()]] {
        write(&place, &rows);
        let said = contains("no truth beyond the start").and(contains("precision").not());
        place.run("--json @a.json").assert().success().stdout(said);
        assert_eq!(summary(&place), Value::Null);
    }
    // No truth at all is nothing to talk about.
    fs::remove_file(place.seq().join("groundtruth_rect.txt")).unwrap();
    place.run("--init 40,30,24,32").assert().success().stdout(contains("no truth").not());
}

#[test]
fn only_labelled_frames_are_scored() {
    let place = place(8);
    place.run("--json @a.json").assert().success();
    let all = summary(&place);
    assert_eq!(all["frames"], 8);
    assert!(all["precision_20"] == 1.0 && all["auc"].as_f64().unwrap() > 0.6);
    // A frame without a label is neither a hit nor a miss, whether its row says so or is not there.
    let mut boxes = rows(&place);
    for (place, row) in [(3, "NaN,NaN,NaN,NaN"), (4, "0,0,0,0"), (5, "")] {
        boxes[place] = row.into();
    }
    write(&place, &boxes[..7]);
    place.run("--json @a.json").assert().success().stdout(contains("truth of 4 of them"));
    let some = summary(&place);
    assert_eq!((&some["frames"], &some["precision_20"]), (&4.into(), &1.0.into()));
    assert!((some["auc"].as_f64().unwrap() - all["auc"].as_f64().unwrap()).abs() < 0.15, "{some} {all}");
    // Far from all labels, no frame is a hit.
    place.run(&far(&place)).assert().success();
    assert_eq!(summary(&place)["precision_20"], 0.0);
}

#[test]
fn an_initial_box_far_from_the_truth_is_a_miss() {
    let place = place(3);
    place.run(&far(&place)).assert().success();
    let truth = summary(&place);
    assert_eq!((&truth["frames"], &truth["precision_20"], &truth["auc"]), (&3.into(), &0.0.into(), &0.0.into()));
}

#[test]
fn warns_of_a_box_of_a_later_frame() {
    let place = place(5);
    let mut boxes = rows(&place);
    boxes[0] = "nan,nan,nan,nan".into();
    boxes[1] = "nan,nan,nan,nan".into();
    write(&place, &boxes);
    let said = contains("the box is of frame 3, the first with truth; --start 1 begins with the first");
    place.run("--init 20,20,24,32 --csv @a.csv").assert().success().stderr(said.clone());
    place.run("--init 20,20,24,32 --csv @a.csv --start 1").assert().success().stderr(said.clone().not());
    place.run("--init 4:20,20,24,32 --csv @a.csv").assert().success().stderr(said.clone().not());
    place.run("--csv @a.csv").assert().success().stderr(said.not());
}

#[test]
fn a_truth_needs_a_folder_of_images() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/demo.webp");
    let said = format!("--truth needs a folder of images, not {path}");
    run(["--truth", "groundtruth.txt", path]).assert().code(2).stderr(contains(said));
}
