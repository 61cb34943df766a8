//! Detections from files and by commands, and the answers to commands.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use kcf_track::BBox;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::helper::{Place, ended, interruptible, place};
use crate::stream::frames;

/// The true box of a frame.
fn truth(place: &Place, position: usize) -> BBox {
    place.scene.truth(position - 1).bbox
}

#[test]
fn a_file_of_detections_begins_targets_that_are_followed_between_them() {
    let place = place(30);
    let line = |position: usize| {
        let BBox { x, y, w, h } = truth(&place, position);
        json!({"frame": position, "boxes": [{"bbox": [x, y, w, h], "score": 0.9, "class": "car"}]}).to_string()
    };
    let lines: Vec<_> = (1..=30).step_by(6).map(line).collect();
    fs::write(place.path("found.jsonl"), lines.join("\n")).unwrap();
    place.run("--detections @found.jsonl -p fast --json @a.json --csv @a.csv --mot @a.txt -q").assert().success();
    let document = place.json("a.json");
    let records = document["frames"].as_array().unwrap();
    assert_eq!(
        records.iter().map(|row| row["index"].as_u64().unwrap()).collect::<Vec<_>>(),
        (1..=30).collect::<Vec<_>>()
    );
    for row in records {
        assert_eq!((&row["id"], &row["class"]), (&1.into(), &"car".into()), "{row}");
        let bbox: BBox = serde_json::from_value(row["bbox"].clone()).unwrap();
        let overlap = bbox.overlap(&truth(&place, row["index"].as_u64().unwrap() as usize));
        assert!(overlap > 0.6, "{row}: {overlap}");
    }
    assert_eq!(document["targets"][0]["class"], "car");
    assert!(place.read("a.csv").lines().next().unwrap().ends_with(",id,class,name"));
    assert_eq!(place.read("a.txt").lines().count(), 30);
    // They give the same when they come late, but later.
    let late = lines.iter().map(|line| line.replacen('{', &format!("{{\"comes\":{},", number(line) + 4), 1));
    fs::write(place.path("late.jsonl"), late.collect::<Vec<_>>().join("\n")).unwrap();
    place.run("--detections @late.jsonl -p fast --json @b.json -q").assert().success();
    let last = |name: &str| {
        serde_json::from_value::<BBox>(place.json(name)["frames"].as_array().unwrap().last().unwrap()["bbox"].clone())
    };
    assert_eq!(place.json("b.json")["frames"][0]["index"], 5);
    assert!(last("a.json").unwrap().overlap(&last("b.json").unwrap()) > 0.8);
    // Rows that wait have the boxes of the frames before a detection came, too.
    place.run("--detections @late.jsonl -p fast --json @d.json --set detections.delay=4 -q").assert().success();
    let document = place.json("d.json");
    let records = document["frames"].as_array().unwrap();
    assert_eq!((records.len(), &document["targets"][0]["given"][0]["frame"]), (30, &1.into()));
    for (position, row) in (1..).zip(records) {
        let bbox: BBox = serde_json::from_value(row["bbox"].clone()).unwrap();
        assert!(row["index"] == position && bbox.overlap(&truth(&place, position)) > 0.6, "{position}: {row}");
    }
    let response = "--detections @late.jsonl -p fast --set detections.delay=4 --response @maps";
    place.run(response).assert().code(2).stderr(contains("detections.delay"));
    // What is no detection is left out, and what is no file is an error.
    fs::write(place.path("det.txt"), "3,-1,20,20,24,32,7.5\n4,-1,nan,20,24,32,1\n99999,-1,1,1,9,9,1\n").unwrap();
    let bad = place.run("--detections @det.txt --mot @c.txt").assert().success();
    bad.stderr(contains("the score 7.5 must be 0 to 1").and(contains("frame 4: detection 1")));
    place.run("--detections @nowhere").assert().code(2).stderr(contains("nowhere"));
    fs::write(place.path("det.txt"), "1,2,3\n").unwrap();
    place.run("--detections @det.txt").assert().code(2).stderr(contains("line 1"));
    place.run("--detections @found.jsonl --set detections.confirm=0").assert().code(2).stderr(contains("1 to 100"));
}

fn number(line: &str) -> u64 {
    serde_json::from_str::<Value>(line).unwrap()["frame"].as_u64().unwrap()
}

#[test]
fn each_command_is_answered_in_the_stream_of_rows() {
    let place = place(6);
    let (pipe, commands) = (place.path("frames.y4m"), place.path("commands"));
    assert!(Command::new("mkfifo").args([&pipe, &commands]).status().unwrap().success());
    let mut command = interruptible();
    command.arg(&pipe).args(["--jsonl", "-", "-p", "fast", "-q", "--set", "detections.confirm=1", "--commands"]);
    command.arg(&commands).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (header, pictures) = frames(&place, 6);
    drop(fs::File::create(&commands).unwrap());
    let mut frames = fs::File::create(&pipe).unwrap();
    frames.write_all(&header).unwrap();
    let say = |lines: &[Value]| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&commands, text).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    };
    let mut send = |position: usize| frames.write_all(&pictures[position - 1]).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut row = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let found = |position: usize, score: f64| {
        let BBox { x, y, w, h } = truth(&place, position);
        json!({"bbox": [x, y, w, h], "score": score, "class": "car"})
    };

    send(1);
    let head = row();
    assert_eq!((&head["source"]["width"], &head["source"]["rate"]), (&160.into(), &25.0.into()), "{head}");
    assert!(head["version"].is_string());
    let empty = row();
    assert!(empty["index"] == 1 && empty.get("bbox").is_none(), "a frame without a target: {empty}");
    // Of the frame before, with a box that is none.
    say(&[
        json!({"do": "detect", "frame": 1, "boxes": [found(1, 0.9), found(1, 1.5)], "tag": {"n": 7}}),
        json!({"do": "detect", "frame": 9, "boxes": [], "tag": "later"}),
        json!({"do": "dance", "tag": 3}),
    ]);
    send(2);
    let wrong = row();
    assert_eq!((&wrong["tag"], &wrong["accepted"]), (&3.into(), &false.into()), "{wrong}");
    let begun = row();
    assert_eq!(
        (&begun["answer"], &begun["tag"], &begun["ids"]),
        (&"detect".into(), &json!({"n": 7}), &json!([1, null]))
    );
    assert_eq!((&begun["accepted"], &begun["index"], &begun["refused"][0][0]), (&true.into(), &2.into(), &1.into()));
    let future = row();
    assert!(
        future["accepted"] == false && future["reason"].as_str().unwrap().contains("newest frame is 2"),
        "{future}"
    );
    let target = row();
    assert_eq!((&target["id"], &target["class"], &target["index"]), (&1.into(), &"car".into(), &2.into()), "{target}");
    let BBox { x, y, w, h } = truth(&place, 2);
    let shifted = json!([x + 4.0, y, w, h]);
    say(&[
        json!({"do": "adjust", "target": 1, "frame": 2, "bbox": shifted, "noise": 0}),
        json!({"do": "adjust", "target": 9, "bbox": shifted}),
    ]);
    send(3);
    assert_eq!((row()["ids"].clone(), row()["accepted"].clone()), (json!([1]), false.into()));
    let adjusted: BBox = serde_json::from_value(row()["bbox"].clone()).unwrap();
    let shift = adjusted.center().0 - truth(&place, 3).center().0;
    assert!((shift - 4.0).abs() < 2.0, "{shift}");
    say(&[json!({"do": "quit"})]);
    let (code, said) = ended(child, Duration::from_secs(60));
    assert_eq!(code, Some(0), "{said}");
}
