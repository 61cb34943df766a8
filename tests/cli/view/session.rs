//! A session that is saved, opened again, and continued by the command line.

use std::fs;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::{Value, json};

use super::frames_of;
use crate::helper::{Place, place, run};
use crate::schema::check;
use crate::served::{Served, serve, serve_frames};
use crate::stream::wait_until;

const DOWNLOADS: [(&str, &str); 5] = [
    ("/export?form=json", "--json"),
    ("/export?form=mot", "--mot"),
    ("/export?form=coco", "--coco"),
    ("/export?form=cvat", "--cvat"),
    ("/export?form=label-studio", "--label-studio"),
];

/// A view with a target that is followed, corrected, followed on and ended.
fn worked_on(place: &Place) -> Served {
    let served = serve(place, "--session @work.json");
    served.stands_at(1);
    served.order(json!({ "do": "add", "position": 1, "bbox": [40, 30, 24, 32] }));
    served.step(11, 12);
    served.order(json!({ "do": "give", "target": 1, "position": 6, "bbox": [43, 32, 24, 32] }));
    served.order(json!({ "do": "name", "target": 1, "name": " Anna & co ", "class": "car" }));
    served.step(6, 12);
    served.order(json!({ "do": "end", "target": 1, "position": 11 }));
    served
}

fn given() -> Value {
    json!([
        { "frame": 1, "bbox": [40.0, 30.0, 24.0, 32.0] },
        { "frame": 6, "bbox": [43.0, 32.0, 24.0, 32.0] },
        { "frame": 11, "bbox": null },
    ])
}

#[test]
fn a_video_that_was_followed_to_its_end_is_complete_when_it_is_opened_again() {
    let place = place(1);
    if !crate::ffmpeg::ffmpeg(&place.path(""), "-f lavfi -i testsrc2=size=160x120:rate=25:d=0.4 -c:v libx264 a.mp4") {
        return;
    }
    let clip = place.path("a.mp4");
    run([clip.clone()]).args(["--init", "40,30,24,32", "-q", "--json"]).arg(place.path("work.json")).assert().success();
    let mut command = crate::helper::interruptible();
    command.args(["view", "--port", "0", "--session"]).arg(place.path("work.json")).arg(clip);
    let served = crate::served::started(&mut command, "view: ");
    served.stands_at(1);
    let found: Value = serde_json::from_slice(&served.get("/export?form=json").body).unwrap();
    assert_eq!(found["summary"]["completed"], true);
}

#[test]
fn a_session_is_saved_opened_again_and_continued_by_the_command_line() {
    let place = place(12);
    let served = worked_on(&place);
    // A crash loses two seconds of work.
    wait_until(|| place.path("work.json").exists());
    served.order(json!({ "do": "name", "target": 1, "name": "Bob", "class": "car" }));
    wait_until(|| place.json("work.json")["targets"][0]["name"] == "Bob");
    served.order(json!({ "do": "undo" }));
    served.interrupt();
    let saved = place.json("work.json");
    check(&saved);
    let target = json!({ "id": 1, "name": "Anna & co", "class": "car", "given": given() });
    assert_eq!((&saved["targets"], saved["frames"].as_array().unwrap().len()), (&json!([target]), 10));
    assert_eq!((&saved["source"]["frames"], &saved["summary"]["completed"]), (&json!(12), &json!(true)));

    // The command line gives the same boxes from the session, by its settings.
    place.run("--init-file @work.json --json @plain.json -q").assert().success();
    let named = |mut document: Value| {
        document["frames"].as_array_mut().unwrap().iter_mut().for_each(|frame| frame["id"] = 1.into());
        frames_of(document)
    };
    let plain = place.json("plain.json");
    assert_eq!((&plain["targets"], named(plain.clone())), (&saved["targets"], named(saved.clone())));

    // The next start has all of it; its settings are those of the session.
    let mut command = crate::helper::interruptible();
    command.args(["view", "--port", "0", "--session"]).arg(place.path("work.json")).arg(place.seq());
    let served = crate::served::started(&mut command, "view: ");
    // It opens where it was left.
    let news = served.stands_at(12);
    assert_eq!((&news["status"]["preset"], &news["status"]["undo"]), (&json!("paper"), &json!(0)));
    assert_eq!((saved["position"].clone(), news["changes"].as_array().unwrap().len()), (12.into(), 11));
    assert_eq!(news["targets"][0]["name"], "Anna & co");
    for (path, flag) in DOWNLOADS {
        let file = place.path(&format!("o{flag}.{}", if flag == "--cvat" { "xml" } else { "json" }));
        place.run("--init-file @work.json --preset paper -q").arg(flag).arg(&file).assert().success();
        let (page, plain) = (served.get(path), fs::read_to_string(&file).unwrap());
        let page = String::from_utf8(page.body).unwrap();
        match flag {
            "--json" => {
                assert_eq!(named(serde_json::from_str(&page).unwrap()), named(serde_json::from_str(&plain).unwrap()))
            }
            _ => assert_eq!(page, plain, "{path}"),
        }
    }
    assert!(served.get("/export?form=json").json()["position"].is_null(), "only a session says where it was left");
    let zip = served.get("/export?form=yolo");
    assert!(zip.status == 200 && zip.body.starts_with(b"PK\x03\x04"));
    // What is taken back is followed again, and saved.
    served.order(json!({ "do": "take-back", "target": 1, "position": 11 }));
    served.order(json!({ "do": "seek", "position": 1 }));
    served.stands_at(1);
    served.step(11, 12);
    served.interrupt();
    assert_eq!(place.json("work.json")["frames"].as_array().unwrap().len(), 12);
    // Other settings track anew, and the boxes of the former ones are kept.
    let news = serve(&place, "--session @work.json --set search.filter.padding=2").stands_at(1);
    assert_eq!((&news["targets"][0]["name"], news["changes"].as_array().unwrap().len()), (&json!("Anna & co"), 2));
    assert_eq!(place.json("work.json.former-1")["frames"].as_array().unwrap().len(), 12);
}

#[test]
fn a_session_that_does_not_fit_is_refused_and_kept() {
    let place = place(12);
    worked_on(&place).interrupt();
    let good = place.json("work.json");
    let other = crate::helper::place(9);
    let text = good.to_string();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        document.to_string()
    };
    for (text, frames, message) in [
        (text[..text.len() / 2].to_owned(), place.seq(), "cut off"),
        (text.clone(), other.seq(), "a session of another video"),
        (changed(&|it| it["source"]["width"] = 640.into()), place.seq(), "640x120"),
        (changed(&|it| it["source"]["path"] = "other.mp4".into()), place.seq(), "other.mp4"),
        (changed(&|it| it["schema"] = "kcf-track/4".into()), place.seq(), "newer version"),
        (changed(&|it| it["frames"][0]["index"] = 2.into()), place.seq(), "has two boxes"),
        (changed(&|it| it["parameters"]["search"]["filter"]["zorgle"] = 2.into()), place.seq(), "zorgle"),
        (changed(&|it| it["parameters"]["search"]["filter"]["padding"] = 999.into()), place.seq(), "padding"),
    ] {
        fs::write(place.path("work.json"), &text).unwrap();
        let mut command = run(["view", "--port", "0", "--session"]);
        command.arg(place.path("work.json")).arg(frames).timeout(std::time::Duration::from_secs(20));
        command.assert().code(2).stderr(contains("--session").and(contains(message)));
        assert_eq!(place.read("work.json"), text);
    }
    // A place that cannot be written to is an error before anybody works.
    run(["view", "--port", "0", "--session", "no/such/work.json"]).arg(place.seq()).assert().code(1);
    // A video beside the images is not the source.
    fs::write(place.seq().join("seen.mp4"), "").unwrap();
    let served = serve_frames(&place, &place.seq(), "--init 40,30,24,32 --session @new.json");
    served.stands_at(1);
    served.interrupt();
    assert_eq!(place.json("new.json")["frames"].as_array().unwrap().len(), 1);
    // What another program has written is kept. A second view in which nothing is done writes nothing.
    let served = serve_frames(&place, &place.seq(), "--session @new.json");
    let second = serve_frames(&place, &place.seq(), "--session @new.json");
    second.stands_at(1);
    second.interrupt();
    served.step(1, 2);
    wait_until(|| place.json("new.json")["frames"].as_array().unwrap().len() == 2);
    fs::write(place.path("new.json"), "other").unwrap();
    served.order(json!({ "do": "end", "target": 1, "position": 2 }));
    let (code, said) = served.interrupt();
    assert!(code == Some(1) && said.contains("another program"), "{said}");
    assert_eq!(place.read("new.json"), "other");
    assert!(said.contains("new.json.unsaved-1"), "{said}");
    assert_eq!(place.json("new.json.unsaved-1")["targets"][0]["given"][1], json!({ "frame": 2, "bbox": null }));
    // A folder that is gone.
    fs::create_dir(place.path("gone")).unwrap();
    let mut command = crate::helper::interruptible();
    command.args(["view", "--port", "0", "--session"]).arg(place.path("gone/work.json")).arg(place.seq());
    let served = crate::served::started(command.env("TMPDIR", place.path("")), "view: ");
    served.stands_at(1);
    fs::remove_dir(place.path("gone")).unwrap();
    served.order(json!({ "do": "add", "bbox": [40, 30, 24, 32] }));
    wait_until(|| !served.news()["status"]["unsaved"].is_null());
    let (code, said) = served.interrupt();
    assert!(code == Some(1) && said.contains("saved as"), "{said}");
    assert_eq!(place.json("work.json.unsaved-1")["targets"][0]["id"], 1);
}

#[test]
fn a_session_is_complete_once_the_end_is_known() {
    let place = place(1);
    if !crate::ffmpeg::ffmpeg(&place.path(""), "-f lavfi -i testsrc2=size=160x120:rate=25:d=0.04 one.mkv") {
        return;
    }
    let served = serve_frames(&place, &place.path("one.mkv"), "--session @one.json");
    served.stands_at(1);
    served.order(json!({ "do": "add", "position": 1, "bbox": [40, 30, 24, 32] }));
    wait_until(|| place.path("one.json").exists());
    assert_eq!(place.json("one.json")["summary"]["completed"], false);
    served.order(json!({ "do": "play" }));
    wait_until(|| served.news()["status"]["last"] == 1);
    served.interrupt();
    assert_eq!(place.json("one.json")["summary"]["completed"], true);
}

#[test]
fn clips_of_a_folder_follow_each_other_with_a_session_each() {
    let place = place(6);
    fs::create_dir(place.path("clips")).unwrap();
    for name in ["a.mp4", "b.mp4"] {
        let make = format!("-f lavfi -i testsrc2=size=160x120:rate=10:duration=0.6 clips/{name}");
        if !crate::ffmpeg::ffmpeg(&place.path(""), &make) {
            return;
        }
    }
    for broken in ["0.mp4", "an.mp4"] {
        fs::write(place.path("clips").join(broken), "no video").unwrap();
    }
    let served = serve_frames(&place, &place.path("clips"), "--session @work --play");
    let news = served.stands_at(6);
    assert_eq!((&news["status"]["source"], &news["status"]["clip"]), (&json!("a"), &json!([1, 3])));
    served.order(json!({ "do": "add", "position": 1, "bbox": [40, 30, 24, 32] }));
    let run = news["status"]["run"].clone();
    served.order(json!({ "do": "clip", "by": 1 }));
    // The address answers nobody for a moment.
    let news = loop {
        let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| served.news()));
        match asked.ok().filter(|news| news["status"]["run"] != run && news["status"]["position"] == 6) {
            Some(news) => break news,
            None => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
    };
    assert_eq!((&news["status"]["source"], news["targets"].as_array().unwrap().len()), (&json!("b"), 0));
    let said = news["status"]["said"][1].as_str().unwrap();
    assert!(said.contains("an.mp4 is left out: "), "{said}");
    assert_eq!(served.post(&json!({ "do": "clip", "by": 1 })).status, 409);
    let clips = served.get("/clips").json();
    let done = |name: &str| clips.as_array().unwrap().iter().find(|clip| clip["name"] == name).cloned().unwrap();
    assert_eq!((&done("a.mp4")["targets"], &done("b.mp4")["targets"]), (&json!(1), &json!(0)));
    // Undo goes on after a visit to another clip.
    served.order(json!({ "do": "clip", "by": -1 }));
    let news = loop {
        let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| served.news()));
        match asked.ok().filter(|news| news["status"]["source"] == "a") {
            Some(news) => break news,
            None => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
    };
    assert_eq!((&news["status"]["undo"], news["targets"].as_array().unwrap().len()), (&json!(1), 1));
    for (command, left) in [("undo", 0), ("redo", 1)] {
        served.order(json!({ "do": command }));
        assert_eq!(served.news()["targets"].as_array().unwrap().len(), left);
    }
    served.interrupt();
    assert_eq!(place.json("work/a.mp4.json")["targets"].as_array().unwrap().len(), 1);
    assert!(!place.path("work/b.mp4.json").exists(), "nothing was done there");
}
