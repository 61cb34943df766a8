//! Annotation files beside the frames: their formats, and scores against them.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::helper::{Place, bbox, place};

/// The 1-based rows of the truth.
fn rows(place: &Place) -> Vec<String> {
    place.read("seq/groundtruth_rect.txt").lines().map(String::from).collect()
}

fn write(place: &Place, rows: &[String]) {
    fs::write(place.seq().join("groundtruth_rect.txt"), rows.join("\n")).unwrap();
}

fn summary(place: &Place) -> Value {
    place.json("a.json")["summary"]["truth"].clone()
}

#[test]
fn target_selects_one_of_several_truths() {
    let place = place(5);
    let boxes = rows(&place);
    fs::remove_file(place.seq().join("groundtruth_rect.txt")).unwrap();
    // MOT: img1/, and all targets in gt/gt.txt.
    fs::rename(place.seq().join("img"), place.seq().join("img1")).unwrap();
    fs::create_dir(place.seq().join("gt")).unwrap();
    let lines = (1..).zip(&boxes).map(|(n, bbox)| format!("{n},7,{bbox},1,1,1\n{n},2,5,6,20,20,0,8,0.5\n"));
    fs::write(place.seq().join("gt/gt.txt"), lines.collect::<String>()).unwrap();
    place.run("--json @a.json").assert().success().stderr(contains("warning").and(contains("2 targets (2, 7)")));
    let numbers: Vec<f64> = boxes[0].split(',').map(|word| word.parse().unwrap()).collect();
    let first = bbox(&place.json("a.json")["frames"][0]);
    assert!((first[0] - (numbers[0] - 1.0)).abs() < 1e-3 && (first[3] - numbers[3]).abs() < 1e-3, "{first:?}");
    assert!(summary(&place)["mean_overlap"].as_f64().unwrap() > 0.7);
    place.run("--json @a.json --target 2 -q").assert().success().stderr("");
    assert_eq!(bbox(&place.json("a.json")["frames"][0]), [4.0, 5.0, 20.0, 20.0]);
    place.run("--target 3").assert().failure().stderr(contains("2, 7"));
    place.run("--target 7 --truth @seq/gt/gt.txt").assert().success().stdout(contains("truth of 5 of them"));
    // OTB: a file per target.
    fs::remove_dir_all(place.seq().join("gt")).unwrap();
    fs::write(place.seq().join("groundtruth_rect.1.txt"), boxes.join("\n")).unwrap();
    fs::write(place.seq().join("groundtruth_rect.2.txt"), "5,5,20,20\n".repeat(5)).unwrap();
    place.run("").assert().success().stderr(contains("2 targets (1, 2)"));
    place.run("-q --target 2").assert().success().stderr("");
}

#[test]
fn a_broken_truth_is_an_error_unless_the_box_is_given() {
    let place = place(3);
    for broken in ["1,2,3,4\nx,y,z,w", "1,2,3,4\n2,1,9,9,20,20"] {
        fs::write(place.seq().join("groundtruth_rect.txt"), broken).unwrap();
        let named = || contains("groundtruth_rect.txt, line ");
        let done = place.run("--init 40,30,24,32").assert().success().stderr(contains("warning").and(named()));
        done.stdout(contains("precision").not());
        place.run("").assert().code(1).stdout("").stderr(named());
        place.run("--init 40,30,24,32 --truth @seq/groundtruth_rect.txt").assert().code(1).stderr(named());
    }
}

#[test]
fn a_truth_of_the_start_alone_is_not_scored() {
    let place = place(4);
    write(&place, &rows(&place)[..1]);
    let said = contains("no truth beyond the start").and(contains("labels are 1-based"));
    let said = said.and(contains("precision").not());
    place.run("--json @a.json").assert().success().stdout(said);
    assert_eq!(summary(&place), Value::Null);
    // The name of the file implies its base.
    fs::rename(place.path("seq/groundtruth_rect.txt"), place.path("seq/groundtruth.txt")).unwrap();
    place.run("").assert().success().stdout(contains("labels are 0-based"));
}

#[test]
fn only_labelled_frames_are_scored() {
    let place = place(8);
    place.run("--json @a.json").assert().success();
    let all = summary(&place);
    assert!(all["frames"] == 8 && all["precision_20"] == 1.0 && all["auc"].as_f64().unwrap() > 0.6, "{all}");
    // A frame without a label does not count, whether its row is empty or missing.
    let mut boxes = rows(&place);
    for (place, row) in [(3, "NaN,NaN,NaN,NaN"), (4, "0,0,0,0"), (5, "")] {
        boxes[place] = row.into();
    }
    write(&place, &boxes[..7]);
    place.run("--json @a.json").assert().success().stdout(contains("truth of 4 of them"));
    let some = summary(&place);
    assert!(some["frames"] == 4 && some["precision_20"] == 1.0, "{some}");
    // A box in the corner farthest from the target does not hit.
    let (x, y) = place.scene.truth(0).bbox.center();
    let corner = |at: f64, size: f64| if at < size / 2.0 { size - 16.0 } else { 0.0 };
    let far = format!("--json @a.json --init {},{},16,16", corner(x, 160.0), corner(y, 120.0));
    place.run(&far).assert().success();
    assert_eq!(summary(&place)["precision_20"], 0.0);
}

#[test]
fn a_box_for_a_later_first_frame_is_a_warning() {
    let place = place(5);
    let mut boxes = rows(&place);
    boxes[0] = "nan,nan,nan,nan".into();
    boxes[1] = "nan,nan,nan,nan".into();
    write(&place, &boxes);
    let said = contains("the box is of frame 3, the first with truth");
    place.run("--init 20,20,24,32 -q").assert().success().stderr(said);
    place.run("--init 20,20,24,32 --start 1 -q").assert().success().stderr("");
    place.run("--init 4:20,20,24,32 -q").assert().success().stderr("");
    place.run("-q").assert().success().stderr("");
}
