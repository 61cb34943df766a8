//! Bad folders, frames, boxes and annotation files.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;

use crate::helper::{bbox, place, run, states, store_flat};
use crate::pictures;

#[test]
fn a_source_without_frames_is_an_error() {
    let place = place(2);
    run(["no/such/folder"]).assert().code(2).stderr(contains("no/such/folder: no such folder or file"));
    run(["img/%04d.jpg"]).assert().code(2).stderr(contains("give the folder"));
    fs::create_dir(place.path("empty")).unwrap();
    fs::write(place.path("empty/notes.txt"), "").unwrap();
    for source in [place.frame(1), place.path("empty")] {
        run([&source]).assert().code(1).stderr(contains(source.to_str().unwrap()));
    }
}

#[test]
fn a_bad_frame_is_named_and_can_be_skipped() {
    let place = place(6);
    let whole = fs::read(place.frame(4)).unwrap();
    let named = || contains("frame 4").and(contains("0004.png"));
    for bytes in [&whole[..whole.len() / 2], b"", b"text", b"P6 60000 60000 255\n"] {
        fs::write(place.frame(4), bytes).unwrap();
        place.run("--json @a.json --csv @a.csv").assert().code(1).stderr(named().and(contains("--skip-bad-frames")));
        let document = place.json("a.json");
        assert_eq!(document["frames"].as_array().unwrap().len(), 3);
        assert_eq!(document["summary"]["completed"], false);
        assert!(document["summary"]["error"].as_str().unwrap().contains("0004.png"));
        assert_eq!(place.read("a.csv").lines().count(), 4);
    }
    let line = "--skip-bad-frames --json @a.json --csv @a.csv --otb @a.txt --response @maps --overlay @boxes";
    place.run(line).assert().success().stderr(named().and(contains("skipped"))).stdout(contains("1 missing"));
    let document = place.json("a.json");
    let frames = document["frames"].as_array().unwrap();
    assert_eq!((frames.len(), states(&document)[3]), (6, "missing"));
    assert_eq!(bbox(&frames[3]), bbox(&frames[2]));
    assert!(frames[3]["psr"].is_null());
    assert_eq!((place.read("a.csv").lines().count(), place.read("a.txt").lines().count()), (7, 6));
    assert_eq!((place.read("maps/geometry.csv").lines().count(), place.visible("boxes").len()), (7, 6));
    // -q keeps warnings, -qq does not.
    place.run("--skip-bad-frames -q").assert().success().stdout("").stderr(named());
    place.run("--skip-bad-frames -qq").assert().success().stdout("").stderr("");
    // A target needs a readable first frame; old results stay.
    fs::write(place.path("old.json"), "old").unwrap();
    place.run("--start 4 --skip-bad-frames --force --json @old.json").assert().code(1).stderr(contains("frame 4"));
    assert_eq!(place.read("old.json"), "old");
}

#[test]
fn frames_may_change_their_colour_type_but_not_their_size() {
    let place = place(6);
    let frame = |position| pictures::open(&place.frame(position));
    pictures::save(frame(2).to_luma8(), &place.frame(2));
    pictures::save(frame(3).to_rgba8(), &place.frame(3));
    pictures::save(frame(4).to_rgb16(), &place.frame(4));
    pictures::save(frame(5).to_luma16(), &place.frame(5));
    place.run("--json @a.json --overlay @boxes").assert().success();
    assert_eq!(states(&place.json("a.json"))[1..], ["tracking"; 5]);

    store_flat(&place.frame(3), 161, 120, 9);
    let named = contains("0003.png").and(contains("161x120")).and(contains("160x120"));
    place.run("").assert().code(1).stderr(named);
    place.run("--json @a.json --skip-bad-frames --overlay @boxes2").assert().success();
    assert_eq!(states(&place.json("a.json"))[2], "missing");
}

#[test]
fn a_target_is_lost_in_black_frames_and_recovered_after_them() {
    let place = place(8);
    for position in [4, 5] {
        store_flat(&place.frame(position), 160, 120, 0);
    }
    place.run("--json @a.json --response @maps").assert().success();
    let document = place.json("a.json");
    let expected = ["initial", "tracking", "tracking", "lost", "lost", "recovered", "tracking", "tracking"];
    assert_eq!(states(&document), expected);
    assert_eq!(bbox(&document["frames"][4]), bbox(&document["frames"][2]));
    // A uniform box cannot be learned.
    place.run("--start 4 --csv @a.csv").assert().code(1).stderr(contains("frame 4").and(contains("uniform")));
    let given = place.run("--start 4 --init 5,5,20,20 --csv @a.csv").assert();
    given.code(2).stderr(contains("--init").and(contains("uniform")));
    assert!(!place.path("a.csv").exists());
}

#[test]
fn extreme_boxes_are_tracked_or_refused() {
    let place = place(3);
    let accepted = "150,110,40,40 -20,-20,30,30 0,0,160,120 -50,-50,300,300 80,60,1,1 0,50,500,10 50,0,10,500";
    for init in accepted.split(' ') {
        place.run("--json @a.json --csv @a.csv").args(["--init", init]).assert().success();
        let text = place.read("a.csv");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{init}: {text}");
        assert_eq!(place.json("a.json")["frames"].as_array().unwrap().len(), 3);
    }
    for init in ["160,0,10,10", "0,-10,10,10", "-10,0,10,10", "10,10,0.1,0.1"] {
        place.run("").args(["--init", init]).assert().code(2).stderr(contains("--init: box"));
    }
    place.run("").args(["--init", "0,0,1e8,1e8"]).assert().code(2).stderr(contains("at most a million"));
}

#[test]
fn corners_in_the_place_of_a_size_are_warned_of() {
    let place = place(2);
    for (line, warned) in [
        ("--init 100,60,150,110", true),
        ("--init 100,60,70,70", false),
        ("--init 100,60,170,110 --init-format xyxy", false),
    ] {
        let done = place.run(&format!("{line} -q")).assert().success();
        assert_eq!(!done.get_output().stderr.is_empty(), warned, "{line}");
    }
    place.run("--init 40 30 24 32").assert().code(2).stderr(contains("--init 10,20,30,40"));
}

#[test]
fn a_very_small_target_is_a_warning() {
    let place = place(3);
    place.run("--init 80,60,5,24 -q").assert().success().stderr(contains("the box is 5x24 pixels"));
    let two = "--init 20,20,24,24 --init 80,60,24,5.5 -q --mot @a.txt";
    place.run(two).assert().success().stderr(contains("the box of target 2 is 24x5.5 pixels"));
    place.run("--init 80,60,6,24 -q").assert().success().stderr("");
}
