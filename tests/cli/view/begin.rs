//! How a view begins with targets that are given on the command line.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::helper::{interruptible, place};
use crate::served::{serve, started};
use crate::stream::frames;
use crate::view::frames_of;

/// The view of a pipe, with targets.
fn view(flags: &[&str]) -> Command {
    let mut command = interruptible();
    command.args(["view", "-", "--port", "0", "--preset", "paper"]).args(flags);
    command
}

#[test]
fn a_first_frame_that_is_late_is_waited_for() {
    let place = place(6);
    let (header, frames) = frames(&place, 6);
    let (reader, mut writer) = std::io::pipe().unwrap();
    let feeding = std::thread::spawn(move || {
        writer.write_all(&header).unwrap();
        std::thread::sleep(Duration::from_millis(2600));
        writer.write_all(&frames.concat()).unwrap();
    });
    let mut command = view(&["--init", "40,30,24,32"]);
    command.stdin(reader);
    let served = started(&mut command, "view: ");
    drop(command);
    let news = served.stands_at(1);
    assert_eq!(news["targets"], json!([{ "id": 1, "marks": [[1, true]] }]));
    feeding.join().unwrap();
    let (code, said) = served.interrupt();
    assert_eq!(code, Some(130), "{said}");
}

#[test]
fn a_box_of_a_frame_of_a_pipe_that_is_to_come_is_taken() {
    let place = place(12);
    let (header, frames) = frames(&place, 12);
    let bytes = [header, frames.concat()].concat();
    let both = ["--init", "40,30,24,32", "--init", "5:90,50,20,24"];
    let mut plain = crate::helper::run(["-"]);
    let outputs = ["-q", "--preset", "paper", "--mot"];
    plain.args(both).args(outputs).arg(place.path("plain.txt")).write_stdin(bytes.clone()).assert().success();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let feeding = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
    let mut command = view(&both);
    command.stdin(reader);
    let served = started(&mut command, "view: ");
    drop(command);
    let news = served.stands_at(1);
    assert_eq!(news["targets"], json!([{ "id": 1, "marks": [[1, true]] }, { "id": 2, "marks": [[5, true]] }]));
    // Nothing is to be saved of the second one alone yet; the document of both has what there is.
    let nothing = served.get("/result-otb.txt?target=2");
    assert!(nothing.said().contains("has not come yet: play up to it"), "{}", nothing.said());
    let document = served.get("/result.json").json();
    assert_eq!((document["frames"].as_array().unwrap().len(), &document["summary"]["completed"]), (1, &json!(false)));
    served.play_to(12);
    feeding.join().unwrap();
    assert_eq!(String::from_utf8(served.get("/result-mot.txt").body).unwrap(), place.read("plain.txt"));
    assert_eq!(served.get("/result.json").json()["summary"]["completed"], true);
}

#[test]
fn a_lone_target_keeps_its_number_in_every_file() {
    let place = place(4);
    std::fs::write(place.path("seven.csv"), "7,2,40,30,24,32\n").unwrap();
    place.run("-q --preset paper --init-file @seven.csv --json @plain.json --mot @plain.txt").assert().success();
    let served = serve(&place, "--init-file @seven.csv");
    served.step(3, 4);
    let (plain, document) = (place.json("plain.json"), served.get("/result.json").json());
    for part in ["schema", "targets"] {
        assert_eq!(document[part], plain[part], "{part}");
    }
    assert_eq!((&document["schema"], &document["frames"][0]["id"]), (&json!("kcf-track/3"), &json!(7)));
    assert_eq!(frames_of(document), frames_of(plain));
    let rows = || String::from_utf8(served.get("/result-mot.txt").body).unwrap();
    assert_eq!(rows(), place.read("plain.txt"));
    // One that is left of several is still the second one.
    served.order(json!({ "do": "add", "position": 4, "bbox": [90, 50, 20, 24] }));
    served.order(json!({ "do": "remove", "target": 7 }));
    let document = served.get("/result.json").json();
    assert_eq!((&document["schema"], &document["frames"][0]["id"]), (&json!("kcf-track/3"), &json!(8)));
    assert!(rows().starts_with("4,8,91,51,20,24,1,"), "{}", rows());
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_a_box_is_asked_for() {
    let place = place(2);
    for (path, code) in [("no/run.csv", 1), ("seq/img/0001.png", 2)] {
        let mut command = crate::helper::run(["--pick", "--csv"]);
        command.arg(place.path(path)).arg(place.seq()).timeout(Duration::from_secs(10));
        let said = command.assert().code(code);
        assert!(!String::from_utf8_lossy(&said.get_output().stderr).contains("pick: "));
    }
}
