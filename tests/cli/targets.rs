//! Several targets in one run.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

use crate::helper::{bbox, place, store_flat};
use crate::schema;

/// Boxes on the rendered scene: the target's own, and two pieces of ground.
const BOXES: [&str; 3] = ["40,30,24,32", "100,60,30,24", "20,80,28,28"];

/// The boxes of a target in a document of several.
fn of_target(document: &Value, id: u64) -> Vec<(u64, [f64; 4])> {
    let frames = document["frames"].as_array().unwrap().iter().filter(|frame| frame["id"] == id);
    frames.map(|frame| (frame["index"].as_u64().unwrap(), bbox(frame))).collect()
}

#[test]
fn each_target_is_followed_as_if_it_were_alone() {
    let place = place(8);
    let [a, b, c] = BOXES;
    for jobs in [1, 2] {
        let line = format!("--init {a} --init 3:{b} -i 5:{c} --jobs {jobs} --json @many.json --mot @many.txt -q");
        place.run(&line).assert().success();
        let document = place.json("many.json");
        assert_eq!(document["schema"], "kcf-track/2");
        let rules: Value = serde_json::from_str(include_str!("../../assets/results.schema.json")).unwrap();
        assert_eq!(schema::errors(&rules, &document), [""; 0]);
        assert_eq!(document["targets"][1], serde_json::json!({"id": 2, "start": 3, "bbox": [100.0, 60.0, 30.0, 24.0]}));
        for (id, (start, given)) in [(1, a), (3, b), (5, c)].iter().enumerate() {
            place.run(&format!("--init {given} --start {start} --json @one.json -q")).assert().success();
            let alone = place.json("one.json");
            assert_eq!(alone["schema"], "kcf-track/1");
            let alone = alone["frames"].as_array().unwrap().iter();
            let alone: Vec<_> = alone.map(|frame| (frame["index"].as_u64().unwrap(), bbox(frame))).collect();
            assert_eq!(of_target(&document, id as u64 + 1), alone);
        }
        let summary = &document["summary"];
        assert_eq!((&summary["frames"], summary["targets"].as_array().unwrap().len()), (&8.into(), 3));
        assert_eq!(summary["targets"][2]["frames"], 4);
        let rows = place.read("many.txt");
        assert!(rows.starts_with("1,1,41,31,24,32,1,-1,-1,-1\n") && rows.contains("\n3,2,101,61,30,24,1,-1,-1,-1\n"));
    }
}

/// Two do as ever; of three and more, what each does depends on how many they are, and on nothing else.
#[test]
fn targets_are_staggered_when_they_shall_be() {
    let place = place(12);
    let run = |line: &str| {
        place.run(&format!("{line} --preset fast --json @o.json -q")).assert().success();
        let document = place.json("o.json");
        let frames = document["frames"].as_array().unwrap().iter().map(bbox).collect::<Vec<_>>();
        (frames, document["parameters"].get("stagger").cloned())
    };
    let [a, b, c] = BOXES;
    let (two, three) = (format!("--init {a} --init {b}"), format!("--init {a} --init {b} --init {c}"));
    assert_eq!(run(&two).1, None);
    assert_eq!(run(&format!("{two} --stagger")), (run(&two).0, Some(true.into())));
    let (staggered, said) = run(&format!("{three} --stagger --jobs 1"));
    assert_eq!(said, Some(true.into()));
    assert_eq!(run(&format!("{three} --stagger --jobs 2")).0, staggered);
    assert_ne!(run(&three).0, staggered);
}

#[test]
fn a_file_names_targets_and_all_outputs_tell_them_apart() {
    let place = place(6);
    let [a, b, _] = BOXES;
    std::fs::write(place.path("targets.csv"), format!("id,frame,x,y,w,h\n7,2,{a}\n4,3,{b}\n")).unwrap();
    let outputs = "--jsonl @o.jsonl --csv @o.csv --coco @coco.json --cvat @cvat.json --label-studio @ls.json \
                   --overlay @drawn --response @maps";
    place.run(&format!("--init-file @targets.csv {outputs}")).assert().success().stdout(contains("target 7: 5 frames"));
    // The run begins with the first target.
    let first: Value = serde_json::from_str(place.read("o.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!((&first["index"], &first["id"], &first["state"]), (&2.into(), &7.into(), &"initial".into()));
    assert_eq!(place.read("o.jsonl").lines().count(), 5 + 4);
    let table = place.read("o.csv");
    assert!(table.lines().next().unwrap().ends_with(",time,id") && table.lines().nth(1).unwrap().ends_with(",,7"));
    let coco = place.json("coco.json");
    assert_eq!((coco["images"].as_array().unwrap().len(), coco["annotations"].as_array().unwrap().len()), (5, 9));
    assert_eq!(place.json("cvat.json")[0]["tracks"].as_array().unwrap().len(), 2);
    assert_eq!(place.json("ls.json")[0]["predictions"][0]["result"].as_array().unwrap().len(), 2);
    assert_eq!(place.visible("drawn").len(), 5);
    let maps = place.visible("maps");
    assert!(maps.contains(&"0002.7.npy".into()) && maps.contains(&"0003.4.png".into()), "{maps:?}");
}

#[test]
fn ids_that_readers_of_a_file_have_no_place_for_are_warned_about() {
    let place = place(3);
    let [a, b, c] = BOXES;
    std::fs::write(place.path("odd.csv"), format!("0,1,{a}\n4294967295,1,{b}\n7,1,{c}\n")).unwrap();
    std::fs::write(place.path("even.csv"), format!("1,1,{a}\n7,1,{b}\n")).unwrap();
    let said = |line: &str| {
        let output = place.run(line).assert().success().get_output().stderr.clone();
        let text = String::from_utf8(output).unwrap();
        text.lines().filter(|line| line.starts_with("warning: --")).map(String::from).collect::<Vec<_>>()
    };
    let mot = said("--init-file @odd.csv --mot @o.txt");
    assert_eq!(mot.len(), 2, "{mot:?}");
    assert!(mot[0].starts_with("warning: --mot: a target has the id 0"), "{mot:?}");
    assert!(mot[1].starts_with("warning: --mot: the id 4294967295 is so large"), "{mot:?}");
    let both = said("--init-file @odd.csv --cvat @o.xml --out @o.txt");
    assert!(both[0].starts_with("warning: --cvat and --out: a target has the id 0"), "{both:?}");
    assert!(both[2].starts_with("warning: --cvat: CVAT has no group for the id 4294967295"), "{both:?}");
    assert!(said("--init-file @odd.csv --json @o.json").is_empty());
    assert!(said("--init-file @even.csv --mot @o.txt --cvat @o.xml").is_empty());
}

#[test]
fn a_lost_target_costs_the_others_nothing() {
    let place = place(8);
    // The second stands on the border with little texture in it; whatever becomes of it, the first goes on as alone.
    place.run("--init 40,30,24,32 --init 150,100,40,40 --json @many.json -q").assert().success();
    place.run("--init 40,30,24,32 --json @one.json -q").assert().success();
    let alone = place.json("one.json");
    let alone: Vec<_> = alone["frames"].as_array().unwrap().iter().map(bbox).collect();
    let beside: Vec<_> = of_target(&place.json("many.json"), 1).into_iter().map(|(_, bbox)| bbox).collect();
    assert_eq!(alone, beside);
}

#[test]
fn a_hundred_targets_are_followed() {
    let place = place(3);
    let boxes: Vec<String> =
        (0..100).map(|n| format!("--init {},{},16,12", 8 + n % 10 * 13, 4 + n / 10 * 10)).collect();
    place.run(&format!("{} --preset paper --mot @many.txt -q", boxes.join(" "))).assert().success();
    let rows = place.read("many.txt");
    let of = |frame: &str| rows.lines().filter(|row| row.starts_with(&format!("{frame},"))).count();
    assert_eq!(of("1"), 100);
    assert!(of("3") > 50);
}

#[test]
fn what_is_wrong_with_targets_ends_the_run_with_a_reason() {
    let place = place(6);
    let [a, b, _] = BOXES;
    std::fs::write(place.path("twice.csv"), format!("3,1,{a}\n3,2,{b}\n")).unwrap();
    let usage = |line: &str, words: &str| {
        place.run(line).assert().code(2).stderr(contains(words.to_owned()).and(contains("panic").not()));
    };
    usage("--init-file @twice.csv", "two targets have the id 3");
    usage("--init-file @nothing.csv", "nothing.csv");
    usage(&format!("--init {a} --init 99:{b}"), "target 2 begins in frame 99, and the run goes from frame 1 to 6");
    usage(&format!("--init {a} --init 2:{b} --start 4"), "target 2 begins in frame 2");
    usage(&format!("--init {a} --init 500,500,20,20"), "target 2: box");
    usage(&format!("--init 0:{a}"), "the frame `0`");
    usage(&format!("--init {a} --init {b} --otb @o.txt"), "use --mot");
    usage(&format!("--init {a} --inset"), "add --overlay");
    assert!(!place.path("o.txt").exists());
    // In the middle of a run: what was tracked until then is kept.
    store_flat(&place.frame(4), 160, 120, 90);
    let line = format!("--init {a} --init 4:{b} --mot @o.txt --json @o.json -q");
    place.run(&line).assert().code(1).stderr(contains("frame 4: target 2: box"));
    assert_eq!(place.read("o.txt").lines().count(), 3);
    assert_eq!(place.json("o.json")["summary"]["completed"], false);
}

#[test]
fn a_box_that_no_later_frame_can_hold_is_told_at_the_first() {
    let place = place(6);
    let [a, ..] = BOXES;
    std::fs::write(place.path("o.csv"), "old").unwrap();
    let late = contains("target 2, which begins in frame 5").and(contains("lies outside the frame of 160x120"));
    place.run(&format!("--init {a} --init 5:400,10,30,30 --csv @o.csv")).assert().code(2).stderr(late);
    assert_eq!(place.read("o.csv"), "old");
    // A file of one target is named as one of many is.
    std::fs::write(place.path("one.csv"), "9,1,-500,97,25,101\n").unwrap();
    place.run("--init-file @one.csv").assert().code(2).stderr(contains("target 9: box"));
    // A target cannot begin in a frame that cannot be read, skipped or not.
    std::fs::write(place.frame(3), "").unwrap();
    let bad = format!("--init {a} --init 3:{a} --skip-bad-frames");
    place.run(&bad).assert().code(1).stderr(contains("a target begins in it").and(contains("goes on without").not()));
}

#[test]
fn what_is_read_is_not_written_over() {
    let place = place(3);
    let text = format!("1,1,{}\n", BOXES[0]);
    std::fs::write(place.path("ini.csv"), &text).unwrap();
    place
        .run("--init-file @ini.csv --csv @./ini.csv")
        .assert()
        .code(2)
        .stderr(contains("this is what --init-file reads"));
    assert_eq!(place.read("ini.csv"), text);
    std::fs::write(place.path("cfg.toml"), "preset = \"fast\"\n").unwrap();
    let over = format!("--init {} --config @cfg.toml --json @cfg.toml", BOXES[0]);
    place.run(&over).assert().code(2).stderr(contains("this is what --config reads"));
    assert_eq!(place.read("cfg.toml"), "preset = \"fast\"\n");
}
