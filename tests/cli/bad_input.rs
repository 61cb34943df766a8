//! Frames and truths as they should not be.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;

use crate::helper::{bbox, place, run, states, store_flat};
use crate::pictures;

#[test]
fn a_folder_that_is_none_or_has_no_images() {
    let place = place(2);
    run(["--seq", "no/such/folder"])
        .assert()
        .code(2)
        .stderr(contains("no/such/folder").and(contains("no such folder")));
    run(["--seq"]).arg(place.frame(1)).assert().code(1).stderr(contains("this is one picture: give the folder"));
    fs::create_dir(place.path("empty")).unwrap();
    run(["--seq"]).arg(place.path("empty")).assert().code(1).stderr(contains("no images").and(contains("empty")));
    fs::write(place.path("empty/notes.txt"), "").unwrap();
    run(["--seq"])
        .arg(place.path("empty"))
        .assert()
        .code(1)
        .stderr(contains("no images").and(contains("1 other file")));
}

#[test]
fn a_bad_frame_is_named_and_can_be_skipped() {
    let place = place(6);
    let whole = fs::read(place.frame(4)).unwrap();
    let cases: [(&str, Vec<u8>); 4] = [
        ("truncated", whole[..whole.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("text", b"this is no picture".to_vec()),
        ("a header that lies", [b"P6 60000 60000 255\n".as_slice(), &whole].concat()),
    ];
    for (what, bytes) in cases {
        fs::write(place.frame(4), bytes).unwrap();
        let named = || contains("frame 4").and(contains("0004.png"));
        place.run("--json @a.json --csv @a.csv").assert().code(1).stderr(named().and(contains("--skip-bad-frames")));
        let document = place.json("a.json");
        assert_eq!(document["frames"].as_array().unwrap().len(), 3, "{what}");
        assert_eq!(document["summary"]["completed"], false);
        assert!(document["summary"]["error"].as_str().unwrap().contains("0004.png"));
        assert_eq!(place.read("a.csv").lines().count(), 4);

        let line = "--skip-bad-frames --json @a.json --csv @a.csv --otb @a.txt --response @maps --overlay @boxes";
        place.run(line).assert().success().stderr(named().and(contains("skipped"))).stdout(contains("1 missing"));
        let document = place.json("a.json");
        let seen = states(&document);
        assert_eq!((seen.len(), seen[3]), (6, "missing"));
        assert!(seen.iter().filter(|&&state| state == "tracking").count() >= 4, "{seen:?}");
        let frames = document["frames"].as_array().unwrap();
        assert_eq!(bbox(&frames[3]), bbox(&frames[2]));
        assert!(frames[3]["psr"].is_null());
        assert_eq!(place.read("a.csv").lines().count(), 7);
        assert_eq!(place.read("a.txt").lines().count(), 6);
        assert_eq!(place.read("maps/geometry.csv").lines().count(), 7);
        assert!(place.visible("boxes").len() == 6);
        // A warning that changes what results mean stays when one asks for quiet once.
        place.run("--skip-bad-frames -q").assert().success().stdout("").stderr(named().and(contains("skipped")));
        place.run("--skip-bad-frames -qq").assert().success().stderr("").stdout("");
    }
    // Nothing can be followed from a first frame that is none, and old results stay.
    fs::write(place.path("old.json"), "old").unwrap();
    place.run("--start 4 --skip-bad-frames --json @old.json").assert().code(1).stderr(contains("frame 4"));
    assert_eq!(place.read("old.json"), "old");
}

#[test]
fn another_size_is_an_error_and_another_colour_is_not() {
    let place = place(6);
    let frame = |position| pictures::open(&place.frame(position));
    pictures::save(frame(2).to_luma8(), &place.frame(2));
    pictures::save(frame(3).to_rgba8(), &place.frame(3));
    pictures::save(frame(4).to_rgb16(), &place.frame(4));
    pictures::save(frame(5).to_luma16(), &place.frame(5));
    place.run("--json @a.json --overlay @boxes").assert().success();
    assert_eq!(states(&place.json("a.json"))[1..], ["tracking"; 5]);

    store_flat(&place.frame(3), 161, 120, 9);
    let named = contains("frame 3").and(contains("0003.png")).and(contains("161x120")).and(contains("160x120"));
    place.run("").assert().code(1).stderr(named);
    place.run("--json @a.json --skip-bad-frames --overlay @boxes2").assert().success();
    assert_eq!(states(&place.json("a.json"))[2], "missing");
}

#[test]
fn black_frames_are_lost_and_the_target_is_found_again() {
    let place = place(8);
    for position in [4, 5] {
        store_flat(&place.frame(position), 160, 120, 0);
    }
    place.run("--json @a.json --response @maps").assert().success();
    let document = place.json("a.json");
    assert_eq!(
        states(&document),
        ["initial", "tracking", "tracking", "lost", "lost", "recovered", "tracking", "tracking"]
    );
    let frames = document["frames"].as_array().unwrap();
    assert_eq!(bbox(&frames[4]), bbox(&frames[2]));
    // Black from the start: there is nothing to learn.
    place.run("--start 4 --csv @a.csv").assert().code(1).stderr(contains("frame 4").and(contains("uniform")));
    place
        .run("--start 4 --init 5,5,20,20 --csv @a.csv")
        .assert()
        .code(2)
        .stderr(contains("--init").and(contains("uniform")));
    assert!(!place.path("a.csv").exists());
}

#[test]
fn a_truth_of_another_length_is_a_warning() {
    let place = place(5);
    let file = place.seq().join("groundtruth_rect.txt");
    let text = fs::read_to_string(&file).unwrap();
    let short: String = text.lines().take(3).map(|line| format!("{line}\n")).collect();
    for (text, rows) in [(short, 3), (text.repeat(2), 10)] {
        fs::write(&file, text).unwrap();
        place
            .run("--json @a.json")
            .assert()
            .success()
            .stderr(contains("warning").and(contains(format!("{rows} rows for 5 images"))));
        let document = place.json("a.json");
        assert_eq!(states(&document).len(), 5);
        assert_eq!(document["summary"]["truth"]["frames"], rows.min(5));
        place.run("--quiet").assert().success().stdout("").stderr(contains("rows for 5 images"));
        place.run("-qq").assert().success().stderr("").stdout("");
    }
    fs::write(&file, "1,2,3,4\nx,y,z,w\n").unwrap();
    place.run("").assert().code(1).stderr(contains("groundtruth_rect.txt, line 2"));
    place
        .run("--truth")
        .arg(place.path("none.txt"))
        .assert()
        .code(2)
        .stderr(contains("--truth").and(contains("none.txt")));
}

#[test]
fn boxes_at_the_edge_of_sense_are_followed_or_refused() {
    let place = place(3);
    for accepted in [
        "150,110,40,40",
        "-20,-20,30,30",
        "0,0,160,120",
        "-50,-50,300,300",
        "80,60,1,1",
        "80,60,2,2",
        "0,50,500,10",
        "50,0,10,500",
    ] {
        place.run("--json @a.json --csv @a.csv").args(["--init", accepted]).assert().success();
        let text = place.read("a.csv");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{accepted}: {text}");
        assert_eq!(place.json("a.json")["frames"].as_array().unwrap().len(), 3);
    }
    for refused in ["160,0,10,10", "0,-10,10,10", "-10,0,10,10", "10,10,0.1,0.1", "0,0,1e8,1e8"] {
        place.run("").args(["--init", refused]).assert().code(2).stderr(contains("--init: box"));
    }
}

#[test]
fn a_target_too_small_to_be_seen_is_warned_about_at_the_start() {
    let place = place(3);
    place
        .run("--init 80,60,5,24")
        .assert()
        .success()
        .stderr(contains("the box is 5x24 pixels").and(contains("below about 6")));
    place.run("--init 80,60,24,5.5 -q").assert().success().stderr(contains("the box is 24x5.5 pixels"));
    let two = "--init 20,20,24,24 --init 80,60,24,5.5 -q --mot @a.txt";
    place.run(two).assert().success().stderr(contains("the box of target 2 is 24x5.5 pixels"));
    place.run("--init 80,60,6,24").assert().success().stderr(contains("pixels").not());
}
