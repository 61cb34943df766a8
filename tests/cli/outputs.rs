//! Outputs: rows, numbers, geometry, and what they never overwrite.

use std::fs;
use std::path::Path;

use kcf_track::media::annotation::{Annotations, Base};
use ndarray::Array2;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::npy::read_npy;
use crate::schema::check;

use crate::helper::{Place, bbox, place, run};
use crate::pictures;

const ALL: &str = "--preset paper --json @run.json --jsonl @run.jsonl --otb @run.txt --csv @run.csv --response @maps \
                   --overlay @boxes";

fn check_all(place: &Place, start: usize, end: usize) {
    let document = place.json("run.json");
    check(&document);

    let frames = document["frames"].as_array().unwrap();
    let count = end + 1 - start;
    assert_eq!((frames.len(), document["summary"]["frames"].as_u64()), (count, Some(count as u64)));
    assert_eq!(
        (document["source"]["start"].as_u64(), document["source"]["end"].as_u64()),
        (Some(start as u64), Some(end as u64))
    );
    assert_eq!((&document["summary"]["completed"], &document["summary"]["error"]), (&Value::Bool(true), &Value::Null));
    assert_eq!(frames[0]["state"], "initial");
    for (frame, position) in frames.iter().zip(start..) {
        assert_eq!(frame["index"].as_u64(), Some(position as u64));
        assert_eq!(frame["file"], format!("{position:04}.png"));
    }

    let lines: Vec<Value> = place.read("run.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(&lines, frames);

    // OTB counts pixels from 1, JSON and CSV from 0.
    let otb = Annotations::read(place.path("run.txt"), Base::One).unwrap();
    let boxes: Vec<[f64; 4]> = otb.boxes().into_iter().map(|b| b.unwrap().into()).collect();
    let expected: Vec<_> = frames.iter().map(bbox).collect();
    // Both have at most four decimals.
    for text in [place.read("run.txt"), place.read("run.csv")] {
        let numbers = text.split([',', '\n']).filter(|word| word.parse::<f64>().is_ok());
        let longest = numbers.filter_map(|word| Some(word.split_once('.')?.1.len())).max();
        assert!(longest <= Some(4), "{text}");
    }
    for (a, b) in boxes.iter().flatten().zip(expected.iter().flatten()) {
        assert!((a - b).abs() < 1e-9);
    }
    assert_eq!(boxes.len(), count);
    let first_of = |text: &str| text.split(',').next().unwrap().parse::<f64>().unwrap();
    assert!((first_of(&place.read("run.txt")) - expected[0][0] - 1.0).abs() < 1e-9);

    let text = place.read("run.csv");
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<_> = table.headers().unwrap().iter().map(String::from).collect();
    let fields =
        "index,file,x,y,w,h,peak,psr,apce,decision,refit_kept,state,confidence,long_term,decode_ms,track_ms,time";
    assert_eq!(header, fields.split(',').collect::<Vec<_>>());
    let rows: Vec<_> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), count);
    for (row, frame) in rows.iter().zip(frames) {
        let corner: Vec<f64> = (2..6).map(|column| row[column].parse().unwrap()).collect();
        assert_eq!(corner, bbox(frame));
        assert_eq!(&row[9], "", "a filter has no decision");
        assert_eq!((&row[10], &frame["decision"]), ("false", &Value::Null));
        assert_eq!(&row[11], frame["state"].as_str().unwrap());
    }

    check_maps(place, frames);
    assert_eq!(place.visible("boxes").len(), count);
    for position in start..=end {
        let name = format!("{position:04}.png");
        let drawn = pictures::open(&place.path("boxes").join(&name)).into_rgb8();
        let frame = pictures::open(&place.frame(position)).into_rgb8();
        assert_eq!(drawn.dimensions(), frame.dimensions());
        assert!(drawn != frame, "{name}: nothing is drawn");
    }
}

/// The demo has JPEG files, whose luma plane differs from the luma of their colours.
#[test]
fn an_overlay_changes_no_box() {
    let place = place(1);
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    for (file, overlay) in [("plain.csv", None), ("shown.csv", Some(place.path("shown")))] {
        let mut command = run([&demo]);
        command.args(["--end", "30", "--quiet", "--csv"]).arg(place.path(file));
        if let Some(folder) = overlay {
            command.arg("--overlay").arg(folder);
        }
        command.assert().success();
    }
    // Without the columns of times.
    let rows = |file: &str| -> Vec<String> {
        let text = place.read(file);
        text.lines().map(|line| line.rsplitn(4, ',').last().unwrap().to_string()).collect()
    };
    assert_eq!(rows("plain.csv").len(), 31);
    assert_eq!(rows("plain.csv"), rows("shown.csv"));
    assert_eq!(place.visible("shown").len(), 30);
}

/// The peak of each map is the centre of the box.
fn check_maps(place: &Place, frames: &[Value]) {
    let text = place.read("maps/geometry.csv");
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<_> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), frames.len());
    for (row, frame) in rows.iter().zip(frames) {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        let map: Array2<f32> = read_npy(place.path("maps").join(&row[2]));
        assert_eq!(map.dim(), (number(3) as usize, number(4) as usize));
        assert!(map.iter().all(|v| v.is_finite()));
        let (peak_row, peak_column) = (number(9), number(10));
        let highest = map.iter().copied().fold(f32::MIN, f32::max);
        assert_eq!(map[[peak_row as usize, peak_column as usize]], highest);
        assert!((f64::from(highest) - frame["peak"].as_f64().unwrap()).abs() < 1e-4);
        let [x, y, w, h] = bbox(frame);
        let center = (number(5) + peak_column * number(7), number(6) + peak_row * number(8));
        // Even boxes: the published code moves an odd box by half a pixel once.
        assert!((center.0 - x - w / 2.0).abs() < 2e-4 && (center.1 - y - h / 2.0).abs() < 2e-4, "{row:?} {frame}");
        let heat = place.path("maps").join(&row[2]).with_extension("png");
        assert!(pictures::open(&heat).width() > 0);
    }
}

#[test]
fn all_outputs_at_once_agree() {
    let place = place(6);
    place.run(ALL).args(["--init", "40,30,24,32"]).assert().success();
    check_all(&place, 1, 6);
    assert_eq!(bbox(&place.json("run.json")["frames"][0]), [40.0, 30.0, 24.0, 32.0]);
}

#[test]
fn start_and_end_select_frames_and_init_is_the_box_of_the_start() {
    let place = place(8);
    place.run(ALL).args(["--start", "3", "--end", "6"]).assert().success();
    check_all(&place, 3, 6);
    // The truth of the start frame is the default box.
    let (first, truth) = (bbox(&place.json("run.json")["frames"][0]), place.scene.truth(2).bbox);
    for (a, b) in first.into_iter().zip(<[f64; 4]>::from(truth)) {
        assert!((a - b).abs() < 1e-3, "{first:?} {truth}");
    }
    // Old results are replaced. A box has fractions and reaches over the border.
    place.run(ALL).args(["--start", "5", "--init", "-10.5,100.25,24,32", "--force"]).assert().success();
    let document = place.json("run.json");
    assert_eq!(document["frames"].as_array().unwrap().len(), 4);
    assert_eq!(bbox(&document["frames"][0]), [-10.5, 100.25, 24.0, 32.0]);
    // A single frame.
    place
        .run("--start 8 --end 8 --csv -")
        .assert()
        .success()
        .stdout(predicates::function::function(|text: &str| text.lines().count() == 2));
}

/// The car of the demo turns a little; the box is the upright one around its ellipse.
#[test]
fn a_turned_target_has_a_polygon_in_json() {
    let place = place(1);
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    let tracked = |rotation: &str| -> Vec<Value> {
        let mut command = run([&demo]);
        command.args(["--set", &format!("search.background.rotation={rotation}"), "--end", "60", "-q", "--json"]);
        command.arg(place.path("a.json")).assert().success();
        let document = place.json("a.json");
        check(&document);
        document["frames"].as_array().unwrap().clone()
    };
    assert!(tracked("none").iter().all(|frame| frame.get("polygon").is_none()));
    let frames = tracked("filter");
    let turned: Vec<_> = frames.iter().filter(|frame| frame.get("polygon").is_some()).collect();
    assert!(turned.len() > 5, "{}", turned.len());
    for frame in turned {
        let corners: [f64; 8] = serde_json::from_value(frame["polygon"].clone()).unwrap();
        let [x, y, w, h] = bbox(frame);
        let middle = |first: usize| corners.iter().skip(first).step_by(2).sum::<f64>() / 4.0;
        assert!((middle(0) - x - w / 2.0).abs() < 1e-3 && (middle(1) - y - h / 2.0).abs() < 1e-3, "{frame}");
        // The polygon contains the ellipse.
        let reach = |first: usize| corners.iter().skip(first).step_by(2).fold(f64::MIN, |most, &v| most.max(v));
        assert!(reach(0) >= x + w - 1e-3 && reach(1) >= y + h - 1e-3, "{frame}");
    }
}

#[test]
fn every_output_works_alone_and_on_the_standard_output() {
    let place = place(3);
    for (flag, lines) in [("--json", 8), ("--jsonl", 3), ("--otb", 3), ("--csv", 4), ("--mot", 3)] {
        let file = place.path(flag);
        place.run("-q").arg(flag).arg(&file).assert().success().stdout("").stderr("");
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), lines, "{flag}");
        // The summary goes to the standard error then.
        let done = place.run("").args([flag, "-"]).assert().success().stderr(contains("precision at 20 px"));
        let text = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
        assert!(text.lines().count() == lines && !text.contains("precision at"), "{flag}: {text}");
    }
    for (line, file) in [
        ("--coco @a.json", "a.json"),
        ("--cvat @a.xml", "a.xml"),
        ("--label-studio @ls.json", "ls.json"),
        ("--response @maps", "maps/0003.npy"),
        ("--overlay @boxes", "boxes/0003.png"),
        ("-o @o.json", "o.json"),
        ("-o @o.csv", "o.csv"),
        ("-o @drawn", "drawn/0003.png"),
    ] {
        place.run(line).arg("-q").assert().success().stdout("").stderr("");
        assert!(place.path(file).is_file(), "{file}");
    }
    place.run("").assert().success().stdout(contains("precision at 20 px"));
    for line in ["--overlay -", "--response -", "-o -", "-o @a.doc", "--json - --csv -"] {
        place.run(line).assert().failure().stdout("").stderr(contains("error: "));
    }
}

/// A shell opens /dev/stdout for appending: nothing is replaced.
#[test]
#[cfg(target_os = "linux")]
fn a_device_is_appended_to() {
    let place = place(3);
    fs::write(place.path("log"), "kept\n").unwrap();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "\"$0\" seq -q --jsonl /dev/stdout >> log", env!("CARGO_BIN_EXE_kcf-track")]);
    assert!(command.current_dir(place.path("")).status().unwrap().success());
    let log = place.read("log");
    assert!(log.starts_with("kept\n{") && log.lines().count() == 4, "{log}");
}

#[test]
fn no_input_is_overwritten() {
    let place = place(4);
    fs::write(place.path("targets.csv"), "1,1,40,30,24,32\n").unwrap();
    fs::write(place.path("my.toml"), "preset = \"fast\"\n").unwrap();
    fs::write(place.path("clip.y4m"), crate::stream::stream(&place, 1)).unwrap();
    for (line, input) in [
        ("@seq --otb", "seq/groundtruth_rect.txt"),
        ("@seq --csv", "seq/img/0002.png"),
        ("@seq --overlay", "seq/img"),
        ("@seq --init-file @targets.csv --csv", "targets.csv"),
        ("@seq --config @my.toml --json", "my.toml"),
        ("@seq --commands @targets.csv --json", "targets.csv"),
        ("@clip.y4m --init 40,30,24,32 --csv", "clip.y4m"),
    ] {
        let file = place.path(input);
        let before = fs::read(&file).ok();
        let done = run(place.words(line)).arg(&file).assert().code(2).stdout("");
        let name = input.rsplit('/').next().unwrap();
        done.stderr(contains(name).and(contains(": this ").or(contains("reads this file"))));
        assert_eq!(fs::read(&file).ok(), before, "{line}");
    }
    // An image beside the frames becomes a frame of the next run; a table does not.
    let frames = place.seq().join("img");
    place.run("--overlay").arg(frames.join("seen.webp")).assert().code(2).stderr(contains("next run"));
    place.run("--csv").arg(frames.join("boxes.csv")).assert().success();
}

#[test]
fn only_force_replaces_a_file_that_is_not_ours() {
    let place = place(2);
    let files = ["--json", "--jsonl", "--csv", "--coco", "--cvat", "--label-studio", "--otb", "--mot"];
    let folders = ["--yolo", "--overlay", "--frames", "--response"];
    for flag in files.into_iter().chain(folders) {
        let is_folder = folders.contains(&flag);
        let (path, mine) = match flag {
            "--yolo" => (place.path(flag), "--yolo/classes.txt".to_owned()),
            "--response" => (place.path(flag), "--response/geometry.csv".to_owned()),
            _ if is_folder => (place.path(flag), format!("{flag}/0002.png")),
            _ => (place.path(flag), flag.to_owned()),
        };
        if is_folder {
            fs::create_dir(&path).unwrap();
        }
        fs::write(place.path(&mine), "mine\n").unwrap();
        let track = |more: &str| place.run(&format!("--preset paper -q {more}")).arg(flag).arg(&path).assert();
        let place_of = mine.rsplit('/').next().unwrap().to_owned();
        track("").code(1).stdout("").stderr(contains(place_of).and(contains("--force")));
        assert_eq!(place.read(&mine), "mine\n", "{flag}");
        track("--force").success();
        assert_ne!(fs::read(place.path(&mine)).unwrap(), b"mine\n", "{flag}");
        // What this program has written says so, but for these two.
        track("").code(if ["--otb", "--mot"].contains(&flag) { 1 } else { 0 });
    }
    // An empty file holds nothing that could be lost.
    fs::write(place.path("empty.txt"), "").unwrap();
    place.run("--preset paper -q --otb @empty.txt").assert().success();
    let page = place.path("page.html");
    fs::write(&page, "<!doctype html>mine").unwrap();
    let explain = |more: &[&str]| {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
        run([Path::new("explain"), &demo]).args(["--frame", "3", "--out"]).arg(&page).args(more).assert()
    };
    explain(&[]).code(1).stderr(contains("--force"));
    explain(&["--force"]).success();
    explain(&[]).success();
}

#[test]
fn a_large_gif_is_warned_of() {
    let place = place(1);
    if !crate::ffmpeg::ffmpeg(&place.path(""), "-version") {
        return;
    }
    let still = place.still(201);
    let draw = |end: &str| {
        let mut command = run([&still]);
        command.args(["--init", "40,30,24,32", "-p", "paper", "--style", "none", "--crop", "16x16", "--end", end]);
        command.arg("--overlay").arg(place.path(&format!("{end}.gif"))).assert().success()
    };
    draw("201").stderr(contains("GIF of 201 frames"));
    draw("200").stderr(contains("GIF").not());
}

#[test]
fn a_run_that_fails_completes_its_outputs() {
    let place = place(8);
    fs::write(place.frame(5), "").unwrap();
    let outputs = "--json @o.json --jsonl @o.jsonl --csv @o.csv --mot @o.txt --coco @coco.json --cvat @cvat.xml \
                   --overlay @boxes";
    place.run(&format!("--init 40,30,24,32 {outputs} -q")).assert().code(1).stderr(contains("frame 5"));
    let document = place.json("o.json");
    assert_eq!((document["frames"].as_array().unwrap().len(), &document["summary"]["completed"]), (4, &false.into()));
    let lines = ["o.jsonl", "o.csv", "o.txt"].map(|name| place.read(name).lines().count());
    assert_eq!(lines, [4, 5, 4]);
    assert_eq!(place.json("coco.json")["images"].as_array().unwrap().len(), 4);
    assert!(place.read("cvat.xml").ends_with("</annotations>\n"));
    assert_eq!(place.visible("boxes").len(), 4);
    // A run without frames leaves the old file.
    place.run("--init 500,500,9,9 --csv @o.csv").assert().code(2);
    assert_eq!(place.read("o.csv").lines().count(), 5);
}
