//! Several targets in one run.

use std::fs;

use kcf_track::BBox;
use predicates::str::contains;
use serde_json::Value;

use crate::helper::{bbox, place, run, store_flat};
use crate::schema;

/// Boxes on the rendered scene: the target, and two pieces of ground.
const BOXES: [&str; 3] = ["40,30,24,32", "100,60,30,24", "20,80,28,28"];

#[test]
fn each_target_is_tracked_as_if_it_were_alone() {
    let place = place(8);
    let boxes = |document: &Value, id: Option<u64>| -> Vec<(u64, [f64; 4])> {
        let frames = document["frames"].as_array().unwrap().iter();
        let frames = frames.filter(|frame| id.is_none_or(|id| frame["id"] == id));
        frames.map(|frame| (frame["index"].as_u64().unwrap(), bbox(frame))).collect()
    };
    let [a, b, c] = BOXES;
    for jobs in [1, 2] {
        let line =
            format!("--init {a} --init 3:{b} -i 5:{c} --jobs {jobs} --json @many.json --mot @many.txt --force -q");
        place.run(&line).assert().success();
        let document = place.json("many.json");
        assert_eq!(document["schema"], "kcf-track/3");
        schema::check(&document);
        let given = serde_json::json!([{"frame": 3, "bbox": [100.0, 60.0, 30.0, 24.0]}]);
        assert_eq!(document["targets"][1], serde_json::json!({"id": 2, "given": given}));
        for (id, (start, given)) in (1..).zip([(1, a), (3, b), (5, c)]) {
            place.run(&format!("--init {given} --start {start} --json @one.json -q")).assert().success();
            let alone = place.json("one.json");
            assert_eq!(boxes(&document, Some(id)), boxes(&alone, None), "target {id}");
        }
        let summary = &document["summary"];
        assert_eq!((&summary["frames"], &summary["targets"][2]["frames"]), (&8.into(), &4.into()));
        let rows = place.read("many.txt");
        assert!(rows.starts_with("1,1,41,31,24,32,1,-1,-1,-1\n") && rows.contains("\n3,2,101,61,30,24,1,-1,-1,-1\n"));
    }
}

#[test]
fn later_boxes_of_a_target_correct_it() {
    let place = place(8);
    let [a, b, _] = BOXES;
    std::fs::write(place.path("given.csv"), format!("4,5,{b}\n4,1,{a},\"car\",\n4,9,{a}\n")).unwrap();
    let done = place.run("--init-file @given.csv --json @corrected.json -q").assert().success();
    done.stderr(contains("the frames end with 8, before the box of frame 9"));
    let corrected = place.json("corrected.json");
    assert_eq!(corrected["targets"][0]["class"], "car");
    assert_eq!(corrected["summary"]["states"]["initial"], 2);
    // Each piece is as if it were tracked alone.
    place.run(&format!("--init {a} --end 4 --json @first.json -q")).assert().success();
    place.run(&format!("--init {b} --start 5 --json @second.json -q")).assert().success();
    // Of a part of the frames, what is given in it.
    let part = format!("4,1,{a}\n4,5,{b}\n7,7,{a}\n");
    std::fs::write(place.path("part.csv"), part).unwrap();
    let run = place.run("--init-file @part.csv --start 3 --end 6 --json @part.json -q").assert().success();
    run.stderr(contains("no box is given in these frames to target 7, which is left out"));
    let given = serde_json::json!([{"id": 4, "given": [{"frame": 5, "bbox": [100.0, 60.0, 30.0, 24.0]}]}]);
    assert_eq!(place.json("part.json")["targets"], given);
    let boxes = |document: &Value| document["frames"].as_array().unwrap().iter().map(bbox).collect::<Vec<_>>();
    let pieces = ["first.json", "second.json"].map(|name| boxes(&place.json(name))).concat();
    assert_eq!(boxes(&corrected), pieces);
}

#[test]
fn a_file_names_targets_and_all_outputs_tell_them_apart() {
    let place = place(6);
    let [a, b, _] = BOXES;
    std::fs::write(place.path("targets.csv"), format!("id,frame,x,y,w,h\n7,2,{a}\n4,3,{b}\n")).unwrap();
    let outputs = "--jsonl @o.jsonl --csv @o.csv --coco @coco.json --cvat @cvat.xml --label-studio @ls.json \
                   --overlay @drawn --response @maps";
    place.run(&format!("--init-file @targets.csv {outputs}")).assert().success().stdout(contains("target 7: 5 frames"));
    // The run starts with the first target.
    let first: Value = serde_json::from_str(place.read("o.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!((&first["index"], &first["id"], &first["state"]), (&2.into(), &7.into(), &"initial".into()));
    assert_eq!(place.read("o.jsonl").lines().count(), 5 + 4);
    let table = place.read("o.csv");
    assert!(table.lines().next().unwrap().ends_with(",id,class,name"));
    assert!(table.lines().nth(1).unwrap().ends_with(",7,target,"));
    let coco = place.json("coco.json");
    assert_eq!((coco["images"].as_array().unwrap().len(), coco["annotations"].as_array().unwrap().len()), (5, 9));
    assert_eq!(place.read("cvat.xml").matches("<track ").count(), 2);
    assert_eq!(place.json("ls.json")[0]["predictions"][0]["result"].as_array().unwrap().len(), 2);
    assert_eq!(place.visible("drawn").len(), 5);
    let maps = place.visible("maps");
    assert!(maps.contains(&"0002.7.npy".into()) && maps.contains(&"0003.4.png".into()), "{maps:?}");
    // A name with a character that XML does not have, and a file that can be read once.
    let odd = format!("1,1,{a},car,\"A\u{1}n, B\"\n");
    place.run("--init-file /dev/stdin --cvat @odd.xml -q").write_stdin(odd).assert().success();
    place.run("--init-file @odd.xml -q").assert().success();
    // MOT and CVAT take 0 for no target.
    std::fs::write(place.path("zero.csv"), format!("0,1,{a}\n")).unwrap();
    place.run("--init-file @zero.csv --mot @o.txt").assert().success().stderr(contains("warning: MOT and CVAT"));
    place.run("--init-file @zero.csv --csv @o.csv -q").assert().success().stderr("");
}

#[test]
fn errors_of_targets_name_the_target() {
    let place = place(6);
    let [a, b, _] = BOXES;
    for (name, text) in [
        ("twice.csv", format!("3,1,{a}\n3,1,{b}\n")),
        ("far.csv", "9,1,-500,97,25,101\n".into()),
        ("text.csv", "1,1,a,b,c,d\n".into()),
        ("none.csv", "id,frame,x,y,w,h\n".into()),
        ("swapped.csv", format!("id,frame,x,y,w,h,name,class\n1,1,{a},Ada,person\n")),
        ("short.csv", format!("id\n1,1,{a}\n")),
        ("names.csv", format!("1,1,{a},person,Ada\n1,5,{b},,Bob\n")),
        ("o.csv", "old".into()),
    ] {
        std::fs::write(place.path(name), text).unwrap();
    }
    for (line, message) in [
        ("--init-file @twice.csv", "line 2: `3,1,100,60,30,24`: two boxes of target 3 in frame 1"),
        ("--init-file @far.csv", "target 9"),
        ("--init-file @swapped.csv", "id,frame,x,y,w,h,class,name"),
        ("--init-file @short.csv", "id,frame,x,y,w,h,class,name"),
        ("--init-file @names.csv", "target 1 was Ada before and is Bob here"),
        ("--init-file @text.csv", "text.csv, line 1"),
        ("--init-file @none.csv", "none.csv"),
        ("--init-file @nothing.csv", "nothing.csv"),
        (&format!("--init {a} --init 99:{b}"), "target 2 begins in frame 99"),
        (&format!("--init {a} --init 2:{b} --start 4"), "target 2 begins in frame 2"),
        (&format!("--init {a} --init 5:400,10,30,30"), "target 2 of frame 5"),
        (&format!("--init 0:{a}"), "the frame `0`"),
        (&format!("--init {a} --init {b} --otb @o.txt"), "use --mot"),
    ] {
        place.run(&format!("{line} --csv @o.csv --force")).assert().code(2).stdout("").stderr(contains(message));
        assert_eq!(place.read("o.csv"), "old", "{line}");
    }
    // During a run, the frames before the error are kept.
    store_flat(&place.frame(4), 160, 120, 90);
    let line = format!("--init {a} --init 4:{b} --mot @o.txt --json @o.json --force -q");
    place.run(&line).assert().code(1).stderr(contains("frame 4: target 2: box"));
    assert_eq!(place.read("o.txt").lines().count(), 3);
    assert_eq!(place.json("o.json")["summary"]["completed"], false);
    // A target cannot begin in a frame that cannot be read.
    std::fs::write(place.frame(3), "").unwrap();
    let bad = format!("--init {a} --init 3:{a} --skip-bad-frames");
    place.run(&bad).assert().code(1).stderr(contains("a box is given in this frame"));
}

#[test]
fn both_sides_and_smooth_keep_given_boxes_and_every_frame() {
    let place = place(30);
    let truth = place.read("seq/groundtruth_rect.txt");
    let row = |frame: usize| {
        let numbers = truth.lines().nth(frame - 1).unwrap().split([',', '\t']).map(|n| n.parse::<f64>().unwrap());
        let numbers: Vec<f64> = numbers.collect();
        [numbers[0] - 1.0, numbers[1] - 1.0, numbers[2], numbers[3]]
    };
    let line = |frame| format!("1,{frame},{}\n", row(frame).map(|number| number.to_string()).join(","));
    fs::write(place.path("given.csv"), [1, 15, 30].map(line).concat()).unwrap();
    place.run("--init-file @given.csv -p fast --json @plain.json -q").assert().success();
    place.run("--init-file @given.csv -p fast --both-sides --smooth --json @both.json -q").assert().success();
    let [plain, both] = ["plain.json", "both.json"].map(|name| place.json(name));
    assert!(both["summary"]["fps"].is_null() && both["summary"]["completed"] == true, "{}", both["summary"]);
    let frames = both["frames"].as_array().unwrap();
    assert_eq!(frames.len(), plain["frames"].as_array().unwrap().len());
    for (frame, number) in frames.iter().zip(1..) {
        let overlap = BBox::from(bbox(frame)).overlap(&BBox::from(row(number)));
        assert!(overlap > 0.6, "frame {number}: {overlap}");
        let is_given = [1, 15, 30].contains(&number);
        assert_eq!(frame["state"] == "initial", is_given, "frame {number}");
        let kept = bbox(frame).iter().zip(row(number)).all(|(a, b)| (a - b).abs() < 1e-3);
        assert!(!is_given || kept, "frame {number}: {:?}", bbox(frame));
    }
    assert_ne!(frames, plain["frames"].as_array().unwrap());
    // Each of the two by itself; the mean second difference of a whole path.
    place.run("--init-file @given.csv -p fast --both-sides --json @sides.json -q").assert().success();
    place.run("--init-file @given.csv -p fast --smooth --json @smooth.json -q").assert().success();
    let [plain, sides, smooth, both] = ["plain.json", "sides.json", "smooth.json", "both.json"].map(|name| {
        let boxes: Vec<_> = place.json(name)["frames"].as_array().unwrap().iter().map(bbox).collect();
        boxes.windows(3).map(|b| (b[0][0] - 2.0 * b[1][0] + b[2][0]).abs()).sum::<f64>()
    });
    assert!(smooth < 0.8 * plain && both < 0.8 * sides, "{plain} {smooth}, {sides} {both}");
    run(["-"])
        .args(["--init", "1,2,30,40", "--both-sides"])
        .write_stdin("YUV4MPEG2 W160 H120 F25:1 Cmono\n")
        .assert()
        .code(2);
}

#[test]
fn frames_without_a_target_are_pictures_too() {
    let place = place(8);
    let [a, b, _] = BOXES;
    place.run(&format!("--init 3:{a} --json @work.json -q")).assert().success();
    let mut work = place.json("work.json");
    work["targets"][0]["given"].as_array_mut().unwrap().push(serde_json::json!({"frame": 5, "bbox": null}));
    fs::write(place.path("work.json"), work.to_string()).unwrap();
    let outputs = "--overlay @drawn --style none --frames @frames --coco @boxes.json --yolo @yolo";
    place.run(&format!("--init-file @work.json --start 1 {outputs} -q")).assert().success();
    assert_eq!((place.visible("drawn").len(), place.visible("frames").len()), (8, 8));
    assert_eq!(place.json("boxes.json")["images"].as_array().unwrap().len(), 8);
    assert_eq!(place.visible("yolo/labels").len(), 2);
    let picture = |path| image::open(path).unwrap().to_rgb8();
    for (position, name) in (1..).zip(place.visible("drawn")) {
        assert!(picture(place.path("drawn").join(name)) == picture(place.frame(position)), "{position}");
    }
    // The window waits for the first target.
    place
        .run(&format!("--init 4:{a} --init {b} --start 1 --overlay @cut --style none --crop 24x32 -q"))
        .assert()
        .success();
    let first = place.path("cut").join(&place.visible("cut")[0]);
    let expected = image::imageops::crop_imm(&picture(place.frame(1)), 40, 30, 24, 32).to_image();
    assert!(picture(first) == expected);
}
