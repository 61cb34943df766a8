//! Labels that are written, and taken up again.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::helper::{Place, bbox, place};

const OUTPUTS: &str = "--json @o.json --jsonl @o.jsonl --mot @o.txt --coco @coco.json --cvat @o.xml \
                       --label-studio @ls.json --yolo @yolo --frames @yolo/images";

/// Two targets, the first of which is corrected.
fn labelled(frames: usize) -> Place {
    let place = place(frames);
    let rows = "id,frame,x,y,w,h,class,name\n3,1,40,30,24,32,car,\"Anna \"\"A\"\", & co\"\n3,7,44,33,24,32\n5,2,100,60,30,24,dog\n";
    std::fs::write(place.path("given.csv"), rows).unwrap();
    let line = format!("--init-file @given.csv {OUTPUTS} --preset paper -q");
    place.run(&line).assert().success();
    place
}

/// The boxes of all frames by target and frame.
fn boxes(document: &Value) -> Vec<(u64, u64, [f64; 4])> {
    let frames = document["frames"].as_array().unwrap().iter();
    let mut all: Vec<_> = frames.map(|frame| (frame["index"].as_u64().unwrap(), frame)).collect();
    all.sort_by_key(|(index, frame)| (*index, frame["id"].as_u64()));
    all.into_iter().map(|(index, frame)| (frame["id"].as_u64().unwrap(), index, bbox(frame))).collect()
}

#[test]
fn a_dataset_from_elsewhere_is_left_as_it_is() {
    let place = place(4);
    std::fs::create_dir(place.path("yolo")).unwrap();
    std::fs::write(place.path("yolo/classes.txt"), "cat\n").unwrap();
    let failed = place.run("--init 40,30,24,32 --preset paper --yolo @yolo").assert().code(1);
    failed.stderr(contains("classes.txt").and(contains("--force")));
    assert_eq!((place.visible("yolo"), place.read("yolo/classes.txt")), (vec!["classes.txt".into()], "cat\n".into()));
}

#[test]
fn every_format_takes_the_given_boxes_up_again() {
    let place = labelled(12);
    let first = place.json("o.json");
    assert_eq!(first["targets"][0]["given"].as_array().unwrap().len(), 2);
    // A row that does not count.
    std::fs::write(place.path("o.txt"), place.read("o.txt") + "4,9,30,30,20,20,0,-1,-1,-1\n").unwrap();
    for file in ["o.json", "o.jsonl", "o.txt", "coco.json", "o.xml", "ls.json", "yolo"] {
        place.run(&format!("--init-file @{file} --preset paper --json @again.json -q")).assert().success();
        let again = place.json("again.json");
        assert_eq!(again["summary"]["states"]["initial"], 3, "{file}");
        for (a, b) in boxes(&again).iter().zip(boxes(&first)) {
            assert_eq!(*a, b, "{file}");
        }
        assert_eq!(boxes(&again).len(), 12 + 11, "{file}");
        let words = |name: &str| -> Vec<_> {
            again["targets"].as_array().unwrap().iter().map(|target| target[name].clone()).collect()
        };
        if !["o.jsonl", "o.txt"].contains(&file) {
            assert_eq!(words("class"), ["car", "dog"], "{file}");
        }
        if ["o.json", "coco.json", "o.xml", "ls.json"].contains(&file) {
            assert_eq!(words("name"), [json!("Anna \"A\", & co"), Value::Null], "{file}");
        }
    }
    // Labels of frames of another size, as of a smaller copy.
    for (file, own, other) in
        [("coco.json", "\"width\":160", "\"width\":320"), ("o.xml", "<width>160</width>", "<width>320</width>")]
    {
        let changed = place.read(file).replace(own, other);
        std::fs::write(place.path(file), changed).unwrap();
        let run = place.run(&format!("--init-file @{file} --preset paper --end 2")).assert().code(2);
        run.stderr(contains("its frames are 320x120 pixels, and those of the source 160x120"));
    }
    // Frames that COCO and YOLO name.
    assert_eq!(place.visible("yolo/images").len(), 12);
    assert_eq!(place.visible("yolo/labels").len(), 12);
    assert_eq!(place.read("yolo/data.yaml").lines().skip(1).collect::<Vec<_>>()[3..], ["  0: \"car\"", "  1: \"dog\""]);
    assert_eq!(place.json("coco.json")["images"][0]["file_name"], "0001.png");
}

/// The boxes of one target by frame, as another program reads them from a format; keyframes are interpolated.
fn read_back(place: &Place, form: &str, frames: usize, (width, height): (f64, f64)) -> Vec<Option<[f64; 4]>> {
    let mut boxes = vec![None; frames];
    let numbers =
        |row: &str| -> Vec<f64> { row.split([',', ' ']).map(|word| word.parse().unwrap_or(f64::NAN)).collect() };
    let number = |value: &Value| value.as_f64().unwrap();
    match form {
        "json" => place.json("o.json")["frames"].as_array().unwrap().iter().zip(&mut boxes).for_each(|(frame, at)| {
            *at = Some(bbox(frame));
        }),
        "csv" => place.read("o.csv").lines().skip(1).zip(&mut boxes).for_each(|(row, at)| {
            *at = numbers(row)[2..6].try_into().ok();
        }),
        "otb" => place.read("otb.txt").lines().zip(&mut boxes).for_each(|(row, at)| {
            *at = <[f64; 4]>::try_from(numbers(row)).ok().map(|[x, y, w, h]| [x - 1.0, y - 1.0, w, h]);
        }),
        "mot" => place.read("mot.txt").lines().map(numbers).for_each(|row| {
            boxes[row[0] as usize - 1] = Some([row[2] - 1.0, row[3] - 1.0, row[4], row[5]]);
        }),
        "coco" => place.json("coco.json")["annotations"].as_array().unwrap().iter().for_each(|annotation| {
            boxes[annotation["image_id"].as_u64().unwrap() as usize - 1] = Some(bbox(annotation));
        }),
        "yolo" => (1..=frames).zip(&mut boxes).for_each(|(position, at)| {
            let text = place.read(&format!("yolo/labels/{position:04}.txt"));
            *at = text.lines().next().map(|row| match numbers(row)[..] {
                [_, x, y, w, h] => [(x - w / 2.0) * width, (y - h / 2.0) * height, w * width, h * height],
                _ => panic!("{row}"),
            });
        }),
        "cvat" => {
            let xml = place.read("o.xml");
            let document = roxmltree::Document::parse(&xml).unwrap();
            let shapes = document.descendants().filter(|node| node.has_tag_name("box"));
            let keys = shapes.map(|shape| {
                let number = |name: &str| shape.attribute(name).map_or(0.0, |text| text.parse::<f64>().unwrap());
                let [l, t, r, b] = ["xtl", "ytl", "xbr", "ybr"].map(number);
                let turn = number("rotation");
                (number("frame") as usize, number("outside") == 0.0, [l, t, r - l, b - t, turn])
            });
            interpolate(&keys.collect::<Vec<_>>(), &mut boxes, |[x, y, w, h, turn]| {
                upright((x + w / 2.0, y + h / 2.0), (w, h), turn)
            });
        }
        _ => {
            let task = place.json("ls.json");
            let sequence = task[0]["predictions"][0]["result"][0]["value"]["sequence"].as_array().unwrap().iter();
            let keys = sequence.flat_map(|key| {
                let share = |name: &str, side: f64| number(&key[name]) * side / 100.0;
                let at = [share("x", width), share("y", height), share("width", width), share("height", height)];
                let index = key["frame"].as_u64().unwrap() as usize - 1;
                let shown = [at[0], at[1], at[2], at[3], number(&key["rotation"])];
                let ends = (key["enabled"] == false).then_some((index + 1, false, shown));
                [Some((index, true, shown)), ends].into_iter().flatten()
            });
            interpolate(&keys.collect::<Vec<_>>(), &mut boxes, |[x, y, w, h, turn]| {
                let (sin, cos) = turn.to_radians().sin_cos();
                upright((x + (cos * w - sin * h) / 2.0, y + (sin * w + cos * h) / 2.0), (w, h), turn)
            });
        }
    }
    boxes
}

/// The upright box around the ellipse in a turned one.
fn upright((x, y): (f64, f64), (w, h): (f64, f64), turn: f64) -> [f64; 4] {
    let (sin, cos) = turn.to_radians().sin_cos();
    let (w, h) = ((w * cos).hypot(h * sin), (w * sin).hypot(h * cos));
    [x - w / 2.0, y - h / 2.0, w, h]
}

/// Interpolates keyframes `(index, shown, numbers)` linearly, as annotation tools do.
fn interpolate(keys: &[(usize, bool, [f64; 5])], boxes: &mut [Option<[f64; 4]>], of: impl Fn([f64; 5]) -> [f64; 4]) {
    for (place, (from, shown, a)) in keys.iter().enumerate() {
        let (to, b) = keys.get(place + 1).map_or((boxes.len(), a), |(to, _, b)| (*to, b));
        for at in (*from..to.min(boxes.len())).filter(|_| *shown) {
            let share = (at - from) as f64 / (to - from) as f64;
            boxes[at] = Some(of(std::array::from_fn(|i| a[i] + share * (b[i] - a[i]))));
        }
    }
}

/// The mean overlap that `eval` gives is that of the boxes in every format; the small target of the rendered frames is not
/// interpolated, as a pixel is much of it.
#[test]
fn labels_have_the_boxes_that_are_scored() {
    use kcf_track::BBox;
    use kcf_track::media::annotation::{Annotations, Base};
    use kcf_track::synth::{Format, Scene, SceneParams, write_sequence};
    let forms = ["json", "csv", "otb", "mot", "coco", "yolo", "cvat", "label-studio"];
    let all = "--json @o.json --csv @o.csv --otb @otb.txt --mot @mot.txt --coco @coco.json --cvat @o.xml \
               --label-studio @ls.json --yolo @yolo";
    let place = place(1);
    let demo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    let rendered = place.path("turning");
    let params = SceneParams {
        frames: 60,
        width: 240,
        height: 180,
        target_width: 60,
        target_height: 24,
        rotation: 35.0,
        ..SceneParams::default()
    };
    write_sequence(&Scene::new(params).unwrap(), &rendered, Format::Png, None, || Ok(())).unwrap();
    let mut turns = 0;
    for (source, more) in [
        (&demo, ""),
        (&demo, "--turned --tolerance 0"),
        (&rendered, "--tolerance 0"),
        (&rendered, "--turned --tolerance 0"),
    ] {
        let mut command = crate::helper::run([source]);
        command.args(place.words(&format!("{all} {more} -q --force"))).assert().success();
        let document = place.json("o.json");
        turns += place.read("o.xml").matches("rotation=").count() * usize::from(!more.contains("--turned"));
        let truth = Annotations::read(source.join("groundtruth_rect.txt"), Base::One).unwrap().boxes();
        let size = ["width", "height"].map(|side| document["source"][side].as_f64().unwrap());
        let scored = document["summary"]["truth"]["mean_overlap"].as_f64().unwrap();
        let polygons =
            document["frames"].as_array().unwrap().iter().filter(|frame| frame["polygon"].is_array()).count();
        assert!(polygons > 10, "{source:?}: {polygons} turned boxes");
        for form in forms {
            let boxes = read_back(&place, form, truth.len(), (size[0], size[1]));
            let overlaps = truth.iter().zip(boxes).filter_map(|(truth, found)| {
                let truth = truth.filter(BBox::is_valid)?;
                Some(found.map_or(0.0, |found| truth.overlap(&found.into())))
            });
            let overlaps: Vec<f64> = overlaps.collect();
            let mean = overlaps.iter().sum::<f64>() / overlaps.len() as f64;
            assert!((mean - scored).abs() < 0.001, "{source:?} {more} {form}: {mean}, and {scored} is scored");
        }
    }
    assert_eq!(turns, 0, "upright boxes unless turned ones are asked for");
}

#[test]
fn labels_know_their_pictures_by_name() {
    let place = place(8);
    for position in 1..=8 {
        let name = place.seq().join("img").join(format!("a,b {:04}.png", 10 * position));
        std::fs::rename(place.frame(position), name).unwrap();
    }
    std::fs::write(place.path("given.csv"), "7,3,40,30,24,32\n").unwrap();
    place.run("--init-file @given.csv --preset paper -q --coco @coco.json --yolo @yolo").assert().success();
    let first = || {
        let again = place.json("again.json");
        (again["targets"][0]["id"].clone(), again["targets"][0]["given"][0]["frame"].clone())
    };
    // Another tool numbers the pictures from 1.
    let mut coco = place.json("coco.json");
    for (list, key) in [("images", "id"), ("annotations", "image_id")] {
        for entry in coco[list].as_array_mut().unwrap() {
            entry[key] = (entry[key].as_u64().unwrap() - 2).into();
            entry["frame_id"] = 0.into();
        }
    }
    std::fs::write(place.path("coco.json"), coco.to_string()).unwrap();
    for file in ["coco.json", "yolo"] {
        place.run(&format!("--init-file @{file} --preset paper --json @again.json -q")).assert().success();
        assert_eq!(first(), (7.into(), 3.into()), "{file}");
    }
    // The pictures of a video have places in it, from 0 on, in place of names.
    for image in coco["images"].as_array_mut().unwrap() {
        image["frame_id"] = (image["id"].as_u64().unwrap() + 1).into();
        image.as_object_mut().unwrap().remove("file_name");
    }
    std::fs::write(place.path("video.json"), coco.to_string()).unwrap();
    place.run("--init-file @video.json --preset paper --json @again.json -q").assert().success();
    assert_eq!(first(), (7.into(), 3.into()));
    std::fs::remove_file(place.path("yolo/tracks.csv")).unwrap();
    place.run("--init-file @yolo --preset paper --json @again.json -q").assert().success();
    assert_eq!(first(), (1.into(), 3.into()));
}

#[test]
fn labels_without_marks_give_every_box() {
    let place = labelled(8);
    let mut coco = place.json("coco.json");
    let annotations = coco["annotations"].as_array_mut().unwrap();
    annotations
        .iter_mut()
        .for_each(|annotation| drop(annotation["attributes"].as_object_mut().unwrap().remove("given")));
    std::fs::write(place.path("plain.json"), coco.to_string()).unwrap();
    std::fs::remove_file(place.path("yolo/tracks.csv")).unwrap();
    for (file, count) in [("plain.json", 15), ("yolo", 15)] {
        place.run(&format!("--init-file @{file} --preset paper --json @again.json -q")).assert().success();
        assert_eq!(place.json("again.json")["summary"]["states"]["initial"], count, "{file}");
    }
    // The names of other tools.
    std::fs::remove_file(place.path("yolo/classes.txt")).unwrap();
    for names in [
        "names: ['car', \"a, dog\"]  # two\n",
        "nc: 2\nnames: [ car,\n  'a, dog'\n]\n",
        "names: {0: car, 1: 'a, dog'}\ntrain: images\n",
        "names:\n- car\n- a, dog # mine\n\ntrain: images\n",
        "names:\n  # no others\n  1: \"a, dog\"\n  0: car\nval: images",
    ] {
        std::fs::write(place.path("yolo/data.yaml"), names).unwrap();
        place.run("--init-file @yolo --preset paper --json @again.json -q").assert().success();
        let targets = &place.json("again.json")["targets"];
        assert_eq!((&targets[0]["class"], &targets[1]["class"]), (&json!("car"), &json!("a, dog")), "{names}");
    }
    // Label Studio turns a box of 16 x 24 pixels about its corner at (64, 24) by a quarter.
    let shape = json!({ "frame": 1, "x": 40, "y": 20, "width": 10, "height": 20, "rotation": 90 });
    let mut task = place.json("ls.json");
    task[0]["predictions"][0]["result"] = json!([{ "type": "videorectangle", "value": { "sequence": [shape] } }]);
    std::fs::write(place.path("turned.json"), task.to_string()).unwrap();
    place.run("--init-file @turned.json --preset paper --json @again.json -q").assert().success();
    assert_eq!(place.json("again.json")["targets"][0]["given"][0]["bbox"], json!([40.0, 24.0, 24.0, 16.0]));
}

#[test]
fn what_another_tool_changed_is_given() {
    let place = labelled(8);
    let given = |file: &str| -> Vec<(u64, Vec<(u64, bool)>)> {
        place.run(&format!("--init-file @{file} --preset paper --json @again.json -q")).assert().success();
        let targets = place.json("again.json")["targets"].as_array().unwrap().clone();
        let frames = |target: &Value| {
            let given = target["given"].as_array().unwrap().iter();
            given.map(|given| (given["frame"].as_u64().unwrap(), given["bbox"].is_array())).collect()
        };
        targets.iter().map(|target| (target["id"].as_u64().unwrap(), frames(target))).collect()
    };
    // A car is moved, a dog is removed from frame 6 and another one added in frame 8.
    let path = |position: usize| place.path(&format!("yolo/labels/{position:04}.txt"));
    let lines = |position: usize| -> Vec<String> {
        std::fs::read_to_string(path(position)).unwrap().lines().map(String::from).collect()
    };
    let mut car: Vec<f64> = lines(4)[0].split(' ').map(|word| word.parse().unwrap()).collect();
    car[1] += 0.001;
    std::fs::write(path(4), format!("0 {} {} {} {}\n{}\n", car[1], car[2], car[3], car[4], lines(4)[1])).unwrap();
    std::fs::write(path(6), &lines(6)[0]).unwrap();
    std::fs::write(path(8), format!("{}\n{}\n1 0.8 0.8 0.2 0.2\n", lines(8)[1], lines(8)[0])).unwrap();
    let cars = (3, vec![(1, true), (4, true), (7, true)]);
    let dogs = [(5, vec![(2, true), (6, false), (7, true)]), (7, vec![(8, true)])];
    let expected = [vec![cars.clone()], dogs.to_vec()].concat();
    assert_eq!(given("yolo"), expected);
    let folder = place.path("yolo/labels/train");
    std::fs::create_dir(&folder).unwrap();
    (1..=8).for_each(|position| std::fs::rename(path(position), folder.join(format!("{position:04}.txt"))).unwrap());
    assert_eq!(given("yolo"), expected, "in a folder for training");

    let mut coco = place.json("coco.json");
    let annotations = coco["annotations"].as_array_mut().unwrap();
    let moved = annotations.iter_mut().find(|one| one["image_id"] == 4 && one["attributes"]["track_id"] == 3).unwrap();
    moved["bbox"][0] = 41.5.into();
    std::fs::write(place.path("coco.json"), coco.to_string()).unwrap();
    assert_eq!(given("coco.json"), [cars, (5, vec![(2, true)])]);

    // A third track, at the place that is the id of the first.
    let track = "<track id=\"9\" label=\"cat\"><box frame=\"2\" outside=\"0\" keyframe=\"1\" xtl=\"9\" ytl=\"9\" \
                 xbr=\"40\" ybr=\"40\"/></track></annotations>";
    std::fs::write(place.path("new.xml"), place.read("o.xml").replace("</annotations>", track)).unwrap();
    let mut task = place.json("ls.json");
    let shape = json!({ "frame": 3, "x": 40, "y": 20, "width": 10, "height": 20 });
    let regions = task[0]["predictions"][0]["result"].as_array_mut().unwrap();
    regions.push(json!({ "id": "x7", "type": "videorectangle", "value": { "sequence": [shape] } }));
    std::fs::write(place.path("new.json"), task.to_string()).unwrap();
    for file in ["new.xml", "new.json"] {
        assert_eq!(given(file)[1], (4, vec![(3, true)]), "{file}");
        assert_eq!(given(file).len(), 3, "{file}");
    }

    // In a file that CVAT itself has written each keyframe counts, and no box that it has interpolated.
    let shape = |(frame, keyframe, given): (u32, u8, bool)| {
        format!(
            "<box frame='{frame}' outside='0' keyframe='{keyframe}' xtl='40' ytl='30' xbr='64' ybr='62'>\
             <attribute name='given'>{given}</attribute></box>"
        )
    };
    let shapes: String = [(0, 1, true), (1, 0, true), (4, 1, false)].map(shape).concat();
    for (meta, frames) in [("", vec![(1, true)]), ("<dumped>2026</dumped>", vec![(1, true), (5, true)])] {
        let xml = format!("<annotations><meta>{meta}</meta><track label='cat'>{shapes}</track></annotations>");
        std::fs::write(place.path("cvat.xml"), xml).unwrap();
        assert_eq!(given("cvat.xml"), [(1, frames)], "{meta}");
    }
    // Label Studio says of the last frame before an end that it does not go on.
    let mut shape = json!({ "given": true, "x": 25, "y": 25, "width": 15, "height": 25 });
    let shape = |(frame, enabled): (u32, bool)| {
        (shape["frame"], shape["enabled"]) = (frame.into(), enabled.into());
        shape.clone()
    };
    let sequence = [(1, true), (3, false), (6, false), (7, false)].map(shape);
    let value = json!({ "framesCount": 8, "sequence": sequence });
    task[0]["predictions"][0]["result"] = json!([{ "type": "videorectangle", "value": value }]);
    std::fs::write(place.path("ended.json"), task.to_string()).unwrap();
    let frames = [(1, true), (3, true), (4, false), (6, true), (7, true), (8, false)];
    assert_eq!(given("ended.json"), [(1, frames.to_vec())]);
}

#[test]
fn documents_of_earlier_versions_are_read() {
    let place = place(6);
    place.run("--init 40,30,24,32 --preset paper --json @o.json -q").assert().success();
    let mut old = place.json("o.json");
    let now = boxes_alone(&old);
    (old["schema"], old["targets"]) = ("kcf-track/1".into(), Value::Null);
    old["source"].as_object_mut().unwrap().retain(|name, _| !["frames", "rate"].contains(&name.as_str()));
    old["frames"][1].as_object_mut().unwrap().remove("refit_kept");
    std::fs::write(place.path("old.json"), old.to_string()).unwrap();
    place.run("--init-file @old.json --preset paper --json @again.json -q").assert().success();
    assert_eq!(boxes_alone(&place.json("again.json")), now);
}

fn boxes_alone(document: &Value) -> Vec<[f64; 4]> {
    document["frames"].as_array().unwrap().iter().map(bbox).collect()
}

#[test]
fn damaged_labels_are_refused_with_the_reason() {
    let place = labelled(8);
    let document = place.json("o.json");
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut document = document.clone();
        change(&mut document);
        std::fs::write(place.path(name), document.to_string()).unwrap();
    };
    changed("newer.json", &|document| document["schema"] = "kcf-track/4".into());
    changed("other.json", &|document| document["schema"] = "notes/1".into());
    changed("twice.json", &|document| document["targets"][1]["id"] = 3.into());
    changed("order.json", &|document| document["targets"][0]["given"][1]["frame"] = 1.into());
    changed("box.json", &|document| document["targets"][0]["given"][1]["bbox"] = json!([1, 2, 0, 4]));
    let text = document.to_string();
    std::fs::write(place.path("cut.json"), &text[..text.len() / 2]).unwrap();
    std::fs::write(place.path("cut.xml"), &place.read("o.xml")[..900]).unwrap();
    std::fs::write(place.path("row.txt"), "1,1,2,3,4,5,1,-1,-1,-1\n1,x,2,3,4,5,1,-1,-1,-1\n").unwrap();
    std::fs::create_dir(place.path("empty")).unwrap();
    let image =
        "<annotations><image id='0' name='a'><box label='car' xtl='1' ytl='1' xbr='9' ybr='9'/></image></annotations>";
    std::fs::write(place.path("images.xml"), image).unwrap();
    for (file, message) in [
        ("newer.json", "newer version kcf-track/4"),
        ("other.json", "must be kcf-track/3, not `notes/1`"),
        ("twice.json", "two targets have the id 3"),
        ("order.json", "must ascend"),
        ("box.json", "boxes have a width"),
        ("cut.json", "cut off in line 1"),
        ("cut.xml", "not XML of CVAT"),
        ("images.xml", "export CVAT for video"),
        ("row.txt", "line 2"),
        ("empty", "labels: "),
    ] {
        let line = format!("--init-file @{file} --json @again.json");
        place.run(&line).assert().code(2).stderr(contains(message).and(contains(file)));
    }
    assert!(!place.path("again.json").exists());
}
