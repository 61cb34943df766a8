//! Detections from files and by commands, and the answers to commands.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use kcf_track::BBox;
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
    fs::write(place.path("det.txt"), "3,-1,20,20,24,32,0.5\n4,-1,nan,20,24,32,1\n").unwrap();
    let bad = place.run("--detections @det.txt --mot @c.txt").assert().success();
    bad.stderr(contains("frame 4: detection 1"));
    place.run("--detections @nowhere").assert().code(2).stderr(contains("nowhere"));
    fs::write(place.path("det.txt"), "1,2,3\n").unwrap();
    place.run("--detections @det.txt").assert().code(2).stderr(contains("line 1"));
    place.run("--detections @found.jsonl --set detections.confirm=0").assert().code(2).stderr(contains("1 to 100"));
}

/// Files of a detector, which has found the target of the place in every frame, and often another box.
struct Files {
    place: Place,
    wrong: Vec<String>,
}

const FRAMES: usize = 12;
const OTHER: [f64; 4] = [100.0, 10.0, 30.0, 30.0];

impl Files {
    /// Writes a file, and tracks it; `refused` is what an error says, if it is one.
    fn check(&mut self, what: &str, text: impl std::fmt::Display, refused: Option<&str>) {
        fs::write(self.place.path("found"), text.to_string()).unwrap();
        self.run(what, "@found", refused);
    }

    fn run(&mut self, what: &str, flags: &str, refused: Option<&str>) {
        let set = "--set detections.confirm=1 -p fast --json @a.json --force -q";
        let output = self.place.run(&format!("{set} --detections {flags}")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let right = |row: &Value| {
            let bbox: BBox = serde_json::from_value(row["bbox"].clone()).unwrap();
            row["id"] == 1 && bbox.overlap(&truth(&self.place, row["index"].as_u64().unwrap() as usize)) > 0.8
        };
        let is_right = || {
            let document = self.place.json("a.json");
            let rows = document["frames"].as_array().unwrap();
            rows.len() == FRAMES && rows.iter().all(right)
        };
        let is_as_it_should = match refused {
            Some(text) => output.status.code() == Some(2) && said.lines().count() == 1 && said.contains(text),
            None => output.status.success() && is_right(),
        };
        if !is_as_it_should {
            self.wrong.push(format!("{what}, {:?}: {said}", output.status.code()));
        }
    }

    fn bbox(&self, frame: usize) -> [f64; 4] {
        truth(&self.place, frame).into()
    }

    /// COCO with images, and the box in each by its frame.
    fn coco(&self, images: impl Iterator<Item = (Value, Option<usize>)>) -> Value {
        let (mut all, mut boxes) = (Vec::new(), Vec::new());
        for ((mut image, frame), id) in images.zip(50..) {
            image["id"] = id.into();
            let bbox = frame.map_or(OTHER, |frame| self.bbox(frame));
            boxes.push(json!({ "id": id, "image_id": id, "category_id": 1, "bbox": bbox }));
            all.push(image);
        }
        let videos = json!([{ "id": 1, "name": "a" }, { "id": 2, "name": "b" }]);
        json!({ "images": all, "annotations": boxes, "videos": videos })
    }

    /// Lines of MOT, whose frames count from `first`.
    fn lines(&self, first: usize, form: impl Fn(usize, String) -> String) -> String {
        let line = |frame: usize| {
            let [x, y, w, h] = self.bbox(frame);
            form(frame + first - 1, format!("{},{},{w},{h}", x + 1.0, y + 1.0)) + "\n"
        };
        (1..=FRAMES).map(line).collect()
    }
}

#[test]
fn clip_base_size_and_frames_are_those_of_labels_or_refused() {
    let mut files = Files { place: place(FRAMES), wrong: Vec::new() };
    let of = |name: &'static str, is_own: bool| {
        (1..=FRAMES).map(move |at| (json!({ "file_name": format!("{name}/{at:04}.png") }), is_own.then_some(at)))
    };
    files.check("two folders", files.coco(of("a", true).chain(of("b", false))), Some("--labels-clip"));
    files.run("two folders, said", "@found --labels-clip a", None);
    files.check("the source's folder", files.coco(of("img", true).chain(of("b", false))), None);
    let video = |id: usize, first: usize, count: usize| {
        (1..=count).map(move |at| (json!({ "video_id": id, "frame_id": at + first - 1 }), (id == 1).then_some(at)))
    };
    files.check("two videos", files.coco(video(1, 0, FRAMES).chain(video(2, 0, FRAMES))), Some("labels of a, b"));
    files.run("two videos, said", "@found --labels-clip a", None);
    let mut one = files.coco(video(1, 1, FRAMES));
    one["videos"] = json!([]);
    files.check("from 1", &one, None);
    one["images"].as_array_mut().unwrap().pop();
    one["annotations"].as_array_mut().unwrap().pop();
    files.check("from 0 or 1", &one, Some("--labels-base"));
    let large =
        of("", true).map(|(image, at)| (json!({ "width": 640, "height": 480, "file_name": image["file_name"] }), at));
    files.check("another size", files.coco(large), Some("640x480"));
    let results = |first: usize, files: &Files| -> Value {
        let result = |at: usize| json!({ "image_id": at + first - 1, "category_id": 3, "bbox": files.bbox(at) });
        (1..=FRAMES).map(result).collect()
    };
    files.check("results", results(1, &files), None);
    files.check("results from 0", results(0, &files), None);
    files.check("results of some frames", json!(results(1, &files).as_array().unwrap()[..9]), Some("--labels-base"));
    files.check(
        "a score of another name",
        json!([{ "image_id": 1, "bbox": OTHER, "confidence": 0.1 }]),
        Some("`score`"),
    );
    files.check("a score in quotes", json!([{ "image_id": 1, "bbox": OTHER, "score": "0.1" }]), Some("is no number"));
    let percent = files.lines(1, |at, bbox| format!("{at},-1,{bbox},90,-1,-1,-1"));
    files.check("scores in percent", percent, Some("a score of frame 1 is 90"));
    let empty = files.lines(1, |at, bbox| format!("{at},,{bbox},0.9"));
    files.check("empty cells", empty, Some("cell 2 is empty"));

    files.check("MOT", files.lines(1, |at, bbox| format!("{at},-1,{bbox},0.9")), None);
    files.check("tabs", files.lines(1, |at, bbox| format!("{at},-1,{bbox},0.9").replace(',', "\t")), None);
    files.check("semicolons", files.lines(1, |at, bbox| format!("# a\n{at},-1,{bbox}").replace(',', ";")), None);
    let header = "frame,id,x,y,w,h,score\n";
    files.check("a header", header.to_owned() + &files.lines(1, |at, bbox| format!("{at},7,{bbox},0.9")), None);
    files.check("the id 7", files.lines(1, |at, bbox| format!("{at},7,{bbox},0.9")), None);
    for score in ["", ",0.9"] {
        let own = files.lines(1, |at, bbox| format!("1,{at},{bbox}{score}"));
        files.check("the id first", &own, Some("frame,id,x,y,w,h,score"));
        let reason = if score.is_empty() { "frame,id,x,y,w,h,score" } else { "7 cells, and the header 6" };
        files.check("a header of it", "id,frame,x,y,w,h\n".to_owned() + &own, Some(reason));
    }
    files.check("lines from 0", files.lines(0, |at, bbox| format!("{at},-1,{bbox}")), Some("--labels-base 0"));
    files.run("lines from 0, said", "@found --labels-base 0", None);
    files.check("no such frame", files.lines(2, |at, bbox| format!("{at},-1,{bbox}")), Some("last frame is 12"));
    let json = |first: usize, files: &Files| -> String {
        let line = |at: usize| json!({ "frame": at + first - 1, "bbox": files.bbox(at) }).to_string() + "\n";
        (1..=FRAMES).map(line).collect()
    };
    files.check("no such frame of JSON", json(2, &files), Some("line 12: a box is of frame 13"));
    files.check("JSON from 0", json(0, &files), Some("line 1: a frame is 0; --labels-base 0"));
    files.run("JSON from 0, said", "@found --labels-base 0", None);

    for (folder, bbox, at) in [("a", None, 1..=FRAMES), ("b", Some(OTHER), 1..=FRAMES)] {
        for at in at {
            let [x, y, w, h] = bbox.unwrap_or_else(|| files.bbox(at));
            let line = format!("0 {} {} {} {} 0.9", (x + w / 2.0) / 160.0, (y + h / 2.0) / 120.0, w / 160.0, h / 120.0);
            let path = files.place.path(&format!("yolo/labels/{folder}/{at:04}.txt"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, line).unwrap();
        }
    }
    files.run("two folders of YOLO", "@yolo", Some("--labels-clip"));
    files.run("two folders of YOLO, said", "@yolo --labels-clip a", None);
    fs::write(files.place.path("yolo/labels/a/0001.txt"), "0 0.5 0.5 0.1 0.1 0.9 3").unwrap();
    files.run("ids of YOLO", "@yolo --labels-clip a", Some("ids, not scores"));
    files.place.run("--init 1,1,9,9 --labels-clip a").assert().code(2).stderr(contains("--detections"));
    assert!(files.wrong.is_empty(), "{}", files.wrong.join("\n"));
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
