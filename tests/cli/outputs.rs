//! Every output, alone and with the others: rows, numbers, geometry.

use std::fs;
use std::path::Path;

use kcf_track::media::annotation::{Annotations, Base};
use ndarray::Array2;
use predicates::str::contains;
use serde_json::Value;

use crate::npy::read_npy;
use crate::schema::errors;

use crate::helper::{Place, bbox, place, run};
use crate::pictures;

const ALL: &str = "--preset paper --json @run.json --jsonl @run.jsonl --otb @run.txt --csv @run.csv --response @maps \
                   --overlay @boxes";

fn check_all(place: &Place, start: usize, end: usize) {
    let document = place.json("run.json");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/result.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    assert_eq!(errors(&schema, &document), [""; 0]);

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
    // What is written to four decimals reads as that, in both.
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
        assert_eq!(&row[9], "", "a filter decides nothing");
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

/// The demo is of JPEG files, whose luma plane is not the luma of their colours.
#[test]
fn an_overlay_changes_no_box() {
    let place = place(1);
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    for (file, overlay) in [("plain.csv", None), ("shown.csv", Some(place.path("shown")))] {
        let mut command = run([Path::new("--seq"), &demo]);
        command.args(["--end", "30", "--quiet", "--csv"]).arg(place.path(file));
        if let Some(folder) = overlay {
            command.arg("--overlay").arg(folder);
        }
        command.assert().success();
    }
    // All but the milliseconds, which stand before the frame's time, which an image has none of.
    let rows = |file: &str| -> Vec<String> {
        let text = place.read(file);
        text.lines().map(|line| line.rsplitn(4, ',').last().unwrap().to_string()).collect()
    };
    assert_eq!(rows("plain.csv").len(), 31);
    assert_eq!(rows("plain.csv"), rows("shown.csv"));
    assert_eq!(place.visible("shown").len(), 30);
}

/// Each map's peak lies where the box went.
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
        // The tracker moves an odd box by half a pixel once, as the published code does; these are even.
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
fn start_and_end_choose_the_frames_and_init_belongs_to_the_start() {
    let place = place(8);
    place.run(ALL).args(["--start", "3", "--end", "6"]).assert().success();
    check_all(&place, 3, 6);
    // Without a box it is the start frame's truth.
    let (first, truth) = (bbox(&place.json("run.json")["frames"][0]), place.scene.truth(2).bbox);
    for (a, b) in first.into_iter().zip(<[f64; 4]>::from(truth)) {
        assert!((a - b).abs() < 1e-3, "{first:?} {truth}");
    }
    // The old results are replaced. A box may be of fractions and reach over the border.
    place.run(ALL).args(["--start", "5", "--init", "-10.5,100.25,24,32"]).assert().success();
    let document = place.json("run.json");
    assert_eq!(document["frames"].as_array().unwrap().len(), 4);
    assert_eq!(bbox(&document["frames"][0]), [-10.5, 100.25, 24.0, 32.0]);
    // One frame alone.
    place
        .run("--start 8 --end 8 --csv -")
        .assert()
        .success()
        .stdout(predicates::function::function(|text: &str| text.lines().count() == 2));
}

#[test]
fn every_output_works_alone() {
    let place = place(3);
    for (line, file) in [
        ("--json @a.json", "a.json"),
        ("--jsonl @a.jsonl", "a.jsonl"),
        ("--otb @a.txt", "a.txt"),
        ("--csv @a.csv", "a.csv"),
        ("--response @maps", "maps/0003.npy"),
        ("--overlay @boxes", "boxes/0003.png"),
    ] {
        place.run(line).arg("-q").assert().success().stdout("").stderr("");
        assert!(place.path(file).is_file(), "{file}");
    }
    // None at all: a look at the summary.
    place.run("").assert().success().stdout(predicates::str::contains("precision at 20 px"));
}

#[test]
fn a_dash_is_the_standard_output_and_nothing_else_is_there() {
    let place = place(4);
    for (flag, lines) in [("--json", 13), ("--jsonl", 4), ("--otb", 4), ("--csv", 5)] {
        let done = place.run("").args([flag, "-"]).assert().success();
        let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
        let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert_eq!(text.lines().count(), lines, "{flag}: {text}");
        assert!(!text.contains("precision at") && said.contains("precision at 20 px"), "{flag}: {said}");
        place.run("--quiet").args([flag, "-"]).assert().success().stderr("");
    }
}

#[test]
fn pictures_are_refused_at_the_standard_output_and_no_folder_is_called_a_dash() {
    let place = place(3);
    for (flags, said) in [
        (
            "--response @maps --overlay -",
            "--overlay -: pictures do not go to the standard output: name a folder or a video",
        ),
        ("--response -", "--response -: pictures do not go to the standard output: name a folder (./-"),
    ] {
        let mut run = place.run(flags);
        run.current_dir(place.path("")).args(["--json", "-"]);
        run.assert().code(2).stdout("").stderr(contains(said));
        assert!(!place.path("-").exists() && !place.path("maps").exists());
    }
}

#[test]
fn presets_and_features_and_kernels_combine() {
    let place = place(4);
    for preset in ["paper", "paper-dcf", "paper-gray", "paper-gray-linear", "paper-polynomial"] {
        place.run("--json @a.json").args(["--preset", preset]).assert().success();
        let document = place.json("a.json");
        assert_eq!(document["parameters"]["preset"], preset);
        assert!(document["summary"]["truth"]["mean_overlap"].as_f64().unwrap() > 0.6, "{preset}");
    }
    for feature in ["hog", "gray"] {
        for kernel in ["gaussian", "polynomial", "linear"] {
            place
                .run("--json @a.json")
                .args(["--preset", "paper", "--feature", feature, "--kernel", kernel])
                .assert()
                .success();
            let document = place.json("a.json");
            let filter = &document["parameters"]["search"]["filter"];
            assert!(filter["feature"].to_string().contains(feature), "{filter}");
            assert!(filter["kernel"].to_string().contains(kernel), "{filter}");
            assert!(document["summary"]["truth"]["mean_overlap"].as_f64().unwrap() > 0.5, "{feature} {kernel}");
        }
    }
    let flags = "--preset paper --kernel polynomial --kernel-a 0.5 --kernel-b 3 --padding 2 --lambda 0.01 \
                 --output-sigma 0.2 --learning-rate 0.5 --cell-size 2 --half-size-from inf --uncertain-psr 6 \
                 --lost-psr 2 --json @a.json";
    place.run(flags).assert().success();
    let set = &place.json("a.json")["parameters"]["search"]["filter"];
    assert_eq!(set["kernel"]["polynomial"], serde_json::json!({ "a": 0.5, "b": 3 }));
    let numbers = ["padding", "lambda", "output-sigma", "learning-rate"];
    assert_eq!(numbers.map(|name| set[name].as_f64().unwrap()), [2.0, 0.01, 0.2, 0.5]);
    assert_eq!(set["states"]["psr"], serde_json::json!({ "uncertain": 6.0, "lost": 2.0 }));
    assert_eq!(set["feature"]["hog"]["cell-size"], 2);
    assert_eq!(set["area"]["published"]["half-size-from"], Value::Null);
}

#[test]
fn a_folder_of_plain_images_without_truth_needs_a_box() {
    let place = place(3);
    fs::remove_file(place.seq().join("groundtruth_rect.txt")).unwrap();
    place.run("").assert().code(2).stderr(predicates::str::contains("--init x,y,w,h"));
    let text = run(["--seq"]).arg(place.seq().join("img")).args(["--init", "40,30,24,32"]).assert().success();
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    assert!(text.contains("3 frames") && !text.contains("precision"), "{text}");
}

#[test]
fn a_profile_says_where_the_time_went_and_changes_no_box() {
    let place = place(5);
    place.run("--otb @plain.txt").assert().success();
    for (flags, stages) in [
        ("", ["cell histograms", "forward FFT", "peak"]),
        ("--guard krr", ["cell histograms", "machine: all windows", "machine: refit"]),
    ] {
        let said = place.run(&format!("--profile --otb @profiled.txt {flags}")).assert().success();
        let said = String::from_utf8(said.get_output().stderr.clone()).unwrap();
        for stage in stages {
            let line = said.lines().find(|line| line.contains(stage)).unwrap_or_else(|| panic!("{stage} in {said}"));
            let count: u64 =
                line.trim().strip_prefix(stage).unwrap().split_whitespace().next().unwrap().parse().unwrap();
            assert!(count >= 4, "{line}");
        }
        if flags.is_empty() {
            assert_eq!(place.read("profiled.txt"), place.read("plain.txt"));
        }
    }
}

/// The demo's car turns a little: its corners stand in JSON, and the box is the upright one around its ellipse.
#[test]
fn a_target_that_has_turned_has_corners_in_json() {
    let place = place(1);
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    let tracked = |rotation: &str| -> Vec<Value> {
        let mut command = run([Path::new("--seq"), &demo]);
        command.args(["--preset", "robust", "--rotation", rotation, "--end", "60", "-q", "--json"]);
        command.arg(place.path("a.json")).assert().success();
        let document = place.json("a.json");
        let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/result.schema.json");
        let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
        assert_eq!(errors(&schema, &document), [""; 0]);
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
        // The ellipse lies within the corners.
        let reach = |first: usize| corners.iter().skip(first).step_by(2).fold(f64::MIN, |most, &v| most.max(v));
        assert!(reach(0) >= x + w - 1e-3 && reach(1) >= y + h - 1e-3, "{frame}");
    }
}

/// What a shell has opened is written on: nothing of it is replaced, and a person's summary is not mixed with it.
#[test]
#[cfg(target_os = "linux")]
fn other_names_of_the_standard_output_are_the_same() {
    let place = place(3);
    let shell = |what: &str| {
        let code = format!("\"$0\" \"$1\" --init 40,30,24,32 {what}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &code, env!("CARGO_BIN_EXE_kcf-track")]).arg(place.seq()).current_dir(place.path(""));
        command.output().unwrap()
    };
    std::fs::write(place.path("log"), "precious\n").unwrap();
    assert!(shell("-q --jsonl /dev/stdout >> log").status.success());
    assert!(shell("-q --jsonl /dev/stderr 2>> log").status.success());
    let log = place.read("log");
    assert!(log.starts_with("precious\n{") && log.lines().count() == 7, "{log}");
    let piped = shell("--json /dev/stdout");
    assert!(serde_json::from_slice::<serde_json::Value>(&piped.stdout).is_ok());
    assert_eq!(shell("-q --jsonl - --csv /dev/fd/1").status.code(), Some(2));
}

#[test]
fn no_output_takes_the_place_of_a_truth_or_of_a_frame() {
    let place = place(4);
    // The truth of another target, and one that is broken and therefore left out.
    for (name, text) in [("groundtruth_rect.2.txt", "1,2,30,40\n"), ("groundtruth_rect.txt", "1,2,x,40\n")] {
        let truth = place.seq().join(name);
        fs::write(&truth, text).unwrap();
        let mut command = place.run("--init 20,20,24,32 --otb");
        command.arg(&truth).assert().code(2).stderr(contains("this is the ground truth of this sequence"));
        assert_eq!(fs::read_to_string(truth).unwrap(), text);
    }
    // What would be a frame of the next run.
    for (flag, name) in [("--csv", "0009.png"), ("--overlay", "seen.webp")] {
        let path = place.seq().join("img").join(name);
        let mut command = place.run(&format!("--init 20,20,24,32 {flag}"));
        command.arg(&path).assert().code(2).stderr(contains("would be taken for a frame by the next run"));
        assert!(!path.exists());
    }
    place.run("--init 20,20,24,32 --csv").arg(place.seq().join("img/boxes.csv")).assert().success();
    // Above the sequence no truth is looked for: what a run wrote there is replaced by the next one.
    for _ in 0..2 {
        place.run("--init 20,20,24,32 --otb @groundtruth.txt").assert().success();
    }
}

#[cfg(unix)]
#[test]
fn an_overlay_does_not_remove_frames_that_are_read_by_links() {
    let place = place(4);
    place.run("--overlay @seen").assert().success();
    fs::create_dir(place.path("links")).unwrap();
    // The first frame lies elsewhere: that none is here has to be asked of each.
    std::os::unix::fs::symlink(place.frame(1), place.path("links/1.png")).unwrap();
    for i in 2..=4 {
        std::os::unix::fs::symlink(place.path(&format!("seen/{i:04}.png")), place.path(&format!("links/{i}.png")))
            .unwrap();
    }
    let mut command = run([place.path("links")]);
    command.args(["--init", "20,20,24,32", "--overlay"]).arg(place.path("seen"));
    command.assert().code(2).stderr(contains("one of them could be replaced"));
    assert!(place.path("seen/0002.png").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_file_sizes_is_as_a_full_disk() {
    let place = place(30);
    let program = env!("CARGO_BIN_EXE_kcf-track");
    let script = format!("ulimit -f 1; exec '{program}' '{}' --csv u.csv --json u.json -q", place.seq().display());
    let output = std::process::Command::new("bash").args(["-c", &script]).current_dir(place.path("")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("File too large"), "{:?}: {said}", output.status);
}

#[cfg(target_os = "linux")]
#[test]
fn outputs_may_have_names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let place = place(2);
    let name = place.path("").join(std::ffi::OsStr::from_bytes(b"n\xff.csv"));
    place.run("--csv").arg(&name).assert().success();
    assert_eq!(fs::read_to_string(name).unwrap().lines().count(), 3);
}
