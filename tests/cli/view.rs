//! The live view as a browser meets it.

mod session;

use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::time::{Duration, Instant};

use kcf_track::Channels;
use kcf_track::media::decode_bytes;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::helper::{interruptible, place, run};
use crate::served::{answer, fed, parts, serve, serve_frames, serve_pipe, started};
use crate::stream::{frames, stream};

#[test]
fn boxes_equal_the_command_lines_and_an_interrupt_keeps_them() {
    let place = place(12);
    place.run("-q --preset paper --init 40,30,24,32 --json @plain.json --otb @plain.txt").assert().success();
    let served = serve(&place, "--session @view.json");
    let page = served.get("/");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("Content-Security-Policy: default-src 'none'"), "{}", page.head);
    for path in ["/view.css", "/view.js", "/icon.svg"] {
        assert_eq!(served.get(path).status, 200);
    }
    served.stands_at(1);
    served.order(json!({ "do": "add", "position": 1, "bbox": [40, 30, 24, 32] }));
    let news = served.play_to(12);
    let plain = place.json("plain.json");
    let frames = plain["frames"].as_array().unwrap();
    let changes = news["changes"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[0]), (13, &json!([1, 1, null])));
    for (change, frame) in changes[1..].iter().zip(frames) {
        assert_eq!((&change[1], &change[2], &change[3]), (&frame["index"], &frame["bbox"], &frame["state"]));
    }
    let document = served.get("/export?form=json").json();
    assert_eq!(boxes(&document), boxes(&plain));
    assert_eq!(String::from_utf8(served.get("/export?form=otb&target=1").body).unwrap(), place.read("plain.txt"));
    assert_eq!(served.get("/export?form=otb&target=9").status, 409);
    assert_eq!(served.get("/export?form=otb").status, 400);
    let (code, said) = served.interrupt();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("interrupted") && !said.contains("error:"), "{said}");
    assert_eq!(boxes(&place.json("view.json")), boxes(&plain));
}

/// A document's frames without what was measured.
pub fn frames_of(mut document: Value) -> Value {
    for frame in document["frames"].as_array_mut().unwrap() {
        let fields = frame.as_object_mut().unwrap();
        fields.retain(|name, _| !name.ends_with("_ms") && name != "captured");
    }
    document["frames"].take()
}

#[test]
fn several_targets_are_written_as_the_command_line_writes_them() {
    let place = place(8);
    let both = "--init 40,30,24,32 --init 3:90,50,20,24";
    place.run(&format!("-q --preset paper {both} --json @plain.json --mot @plain.txt")).assert().success();
    let served = serve(&place, both);
    assert_eq!(
        served.stands_at(1)["targets"],
        json!([
            { "id": 1, "given": [{ "frame": 1, "bbox": [40.0, 30.0, 24.0, 32.0] }] },
            { "id": 2, "given": [{ "frame": 3, "bbox": [90.0, 50.0, 20.0, 24.0] }] },
        ])
    );
    served.step(7, 8);
    let (plain, document) = (place.json("plain.json"), served.get("/export?form=json").json());
    for part in ["schema", "source", "parameters", "targets"] {
        assert_eq!(document[part], plain[part], "{part}");
    }
    for part in ["frames", "states", "mean_confidence", "truth", "completed", "error"] {
        assert_eq!(document["summary"][part], plain["summary"][part], "{part}");
    }
    assert_eq!(document["summary"]["targets"], plain["summary"]["targets"]);
    assert_eq!(frames_of(document), frames_of(plain));
    assert_eq!(String::from_utf8(served.get("/export?form=mot").body).unwrap(), place.read("plain.txt"));
    // The second one's text begins in its own first frame.
    assert_eq!(String::from_utf8(served.get("/export?form=otb&target=2").body).unwrap().lines().count(), 6);
}

#[test]
fn a_text_of_rows_ends_before_a_frame_that_is_still_to_be_followed() {
    let place = place(12);
    let served = serve(&place, "--init 40,30,24,32");
    served.step(11, 12);
    let rows = || String::from_utf8(served.get("/export?form=otb&target=1").body).unwrap();
    let before = rows();
    assert_eq!(before.lines().count(), 12);
    served.order(json!({ "do": "give", "target": 1, "position": 9, "bbox": [41, 31, 24, 32] }));
    served.order(json!({ "do": "give", "target": 1, "position": 5, "bbox": [41, 31, 24, 32] }));
    // Frames 6 to 8 are not followed anew yet, which is not the same as gone; what names its frames has all the others.
    let text = rows();
    assert_eq!(text.lines().count(), 5, "{text}");
    assert_eq!(text.lines().take(4).collect::<Vec<_>>(), before.lines().take(4).collect::<Vec<_>>());
    // The former boxes are in it until then.
    let document = served.get("/export?form=json").json();
    assert_eq!((document["frames"].as_array().unwrap().len(), &document["summary"]["completed"]), (12, &json!(false)));
    assert_eq!(document["targets"][0]["given"][1]["until"], 5);
    // Gone has rows without numbers.
    served.order(json!({ "do": "end", "target": 1, "position": 6 }));
    let text = rows();
    assert_eq!(text.lines().count(), 9, "{text}");
    assert!(text.lines().nth(6).unwrap().to_lowercase().contains("nan"), "{text}");
}

#[test]
fn a_first_box_is_picked_on_the_page() {
    let place = place(5);
    place.run("-q --preset paper --init 40,30,24,32 --json @plain.json").assert().success();
    let bytes = stream(&place, 5);
    let mut piped = run(["-"]);
    let flags = "-q --preset paper --init 40,30,24,32 --json @piped.json";
    piped.args(place.words(flags)).write_stdin(bytes.clone()).assert().success();
    for (source, plain) in [("seq", "plain.json"), ("-", "piped.json")] {
        let mut command = interruptible();
        command.args(place.words("--pick -q --preset paper --json @picked.json"));
        let mut served = if source == "-" {
            let bytes = bytes.clone();
            let pipe = fed(move |mut writer| writer.write_all(&bytes).unwrap());
            started(command.arg("-").stdin(pipe), "pick: ")
        } else {
            started(command.arg(place.seq()), "pick: ")
        };
        drop(command);
        assert_eq!(served.stands_at(1)["status"]["pick"], true);
        assert_eq!(served.post(&json!({ "do": "play" })).status, 409);
        assert_eq!(served.post(&json!({ "do": "add", "bbox": [900, 30, 24, 32] })).status, 409);
        served.order(json!({ "do": "add", "bbox": [40, 30, 24, 32] }));
        assert!(served.child.wait().unwrap().success());
        assert_eq!(frames_of(place.json("picked.json")), frames_of(place.json(plain)));
    }
    // Nobody draws one.
    let mut command = interruptible();
    let served = started(command.args(["--pick", "--preset", "paper"]).arg(place.seq()), "pick: ");
    assert_eq!(served.interrupt().0, Some(130));
}

fn boxes(document: &Value) -> Vec<&Value> {
    document["frames"].as_array().unwrap().iter().map(|frame| &frame["bbox"]).collect()
}

#[test]
fn a_message_has_the_frame_and_the_response() {
    let place = place(3);
    let served = serve(&place, "--init 40,30,24,32");
    served.step(1, 2);
    let answer = served.get("/news?map=1");
    let (told, jpeg, levels) = parts(&answer);
    let picture = decode_bytes(jpeg, "sent", Channels::Color).unwrap();
    assert_eq!((picture.as_frame().width(), picture.as_frame().height()), (160, 120));
    assert_eq!(told["size"], json!([160, 120]));
    let size: Vec<usize> = serde_json::from_value(told["map"]["size"].clone()).unwrap();
    assert_eq!(levels.len(), size[0] * size[1]);
    assert!(levels.contains(&255) && levels.contains(&0));
    // A page that has the picture is not sent it again.
    let answer = served.get(&format!("/news?picture={}", told["picture"]));
    let (told, jpeg, _) = parts(&answer);
    assert!(told["jpeg"].is_null() && jpeg.is_empty());
}

#[test]
fn a_box_that_is_too_small_is_taken_with_a_warning() {
    let place = place(3);
    let served = serve(&place, "");
    let add = |bbox: Value| served.post(&json!({ "do": "add", "position": 1, "bbox": bbox })).json();
    assert_eq!(add(json!([40, 30, 6, 32])), json!({}));
    let said = add(json!([40, 30, 24, 5]))["said"].as_str().unwrap().to_owned();
    assert!(said.contains("24x5 pixels: below about 6"), "{said}");
    let give = json!({ "do": "give", "target": 1, "position": 1, "bbox": [40, 30, 5, 5] });
    assert!(served.post(&give).json()["said"].as_str().unwrap().contains("5x5 pixels"));
    assert_eq!(served.news()["targets"].as_array().unwrap().len(), 2);
}

#[test]
fn strangers_and_nonsense_are_refused_in_a_sentence() {
    let place = place(3);
    let served = serve(&place, "");
    let (host, cookie) = (&served.host, &served.cookie);
    let port = host.split(':').nth(1).unwrap();
    let get =
        |head: &str| served.send(format!("GET / HTTP/1.1\r\n{head}{cookie}\r\nConnection: close\r\n\r\n").as_bytes());
    for (head, status, said) in [
        (String::new(), 400, "one Host"),
        ("Host: evil.example\r\n".into(), 421, "not the host"),
        (format!("Host: evil.example:{port}\r\n"), 421, "not the host"),
        (format!("Host: {host}.evil.example\r\n"), 421, "not the host"),
        (format!("Host: 127.0.0.1:{}\r\n", port.parse::<u32>().unwrap() + 1), 421, "not the host"),
        (format!("Host: {host}\r\nHost: {host}\r\n"), 400, "one Host"),
        (format!("Host: {host}\r\nOrigin: http://evil.example\r\n"), 403, "another site"),
        (format!("Host: {host}\r\nOrigin: null\r\n"), 403, "another site"),
    ] {
        let answer = get(&head);
        assert_eq!(answer.status, status, "{head}");
        assert!(answer.said().contains(said), "{head}: {}", answer.said());
    }
    assert_eq!(get(&format!("Host: localhost:{port}\r\n")).status, 200);
    let post = |head: &str, body: &str| {
        let length = body.len();
        let text = format!(
            "POST /command HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n{head}Content-Length: {length}\r\n\r\n{body}"
        );
        served.send(text.as_bytes())
    };
    let json = "Content-Type: application/json\r\n";
    let evil = format!("{json}Origin: https://{host}\r\n");
    for (head, body, status, said) in [
        ("Content-Type: text/plain\r\n", r#"{"do":"play"}"#, 400, "application/json"),
        ("", r#"{"do":"play"}"#, 400, "application/json"),
        (&evil, r#"{"do":"play"}"#, 403, "another site"),
        (json, "", 400, "not a command"),
        (json, r#"{"do":"fly"}"#, 400, "not a command"),
        (json, r#"{"do":"seek","position":99}"#, 409, "no frame 99"),
        (json, r#"{"do":"add","position":1,"bbox":[1e300,0,1,1]}"#, 409, "box"),
    ] {
        let answer = post(head, body);
        assert_eq!(answer.status, status, "{head} {body}");
        assert!(answer.said().contains(said), "{body}: {}", answer.said());
    }
    for path in ["/../Cargo.toml", "/groundtruth_rect.txt"] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
    assert_eq!(served.get("/news?after=x").status, 400);
    // All of that has changed nothing.
    assert_eq!(served.news()["status"]["position"], 1);
}

#[test]
fn a_token_is_demanded_everywhere() {
    let place = place(2);
    let mut served = serve(&place, "--host 0.0.0.0");
    let token = served.url.split("?token=").nth(1).expect("a token was made").to_owned();
    assert!(token.len() == 32 && served.url.starts_with("http://HOST:"), "{}", served.url);
    let port = served.host.split(':').nth(1).unwrap().to_owned();
    let host = format!("127.0.0.1:{port}");
    served.host.clone_from(&host);
    assert!(served.get_as_stranger("/").said().contains("token"));
    assert_eq!(served.get_as_stranger("/news").status, 403);
    let cookie = std::mem::replace(&mut served.cookie, "Cookie: a=b".into());
    assert_eq!(served.post(&json!({ "do": "play" })).status, 403);
    served.cookie = cookie;
    assert_eq!(served.get_as_stranger(&format!("/?token={}", &token[..31])).status, 403);
    let page = served.get_as_stranger(&format!("/?token={token}"));
    assert_eq!(page.status, 200);
    let cookie = page.head.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let with = |cookie: &str| format!("GET /news HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
    assert_eq!(served.send(with(pair).as_bytes()).status, 200);
    assert_eq!(served.send(with(&pair.replace(&token, "wrong")).as_bytes()).status, 403);
    // On the loopback too, where other users of the machine come.
    let local = serve(&place, "");
    for path in ["/", "/view.js", "/news", "/result.json"] {
        assert_eq!(local.get_as_stranger(path).status, 403, "{path}");
    }
    assert_ne!(local.cookie, serve(&place, "").cookie);
    // A token of one's own.
    let served = serve(&place, "--token my-own-token");
    assert!(served.url.ends_with("/?token=my-own-token"));
    assert_eq!(served.get_as_stranger("/").status, 403);
    assert_eq!(served.get_as_stranger("/?token=my-own-token").status, 200);
    // What HOST is stands below the address.
    let (_, said) = serve(&place, "--host 0.0.0.0").interrupt();
    assert!(said.starts_with("HOST stands for"), "{said}");
    let (_, said) = serve(&place, "").interrupt();
    assert!(!said.contains("HOST"), "{said}");
}

#[test]
fn clients_that_do_not_read_or_go_away_harm_nobody() {
    let place = place(2);
    let frames = place.still(400);
    let served = serve_frames(&place, &frames, "--init 40,30,24,32");
    // Ask for a lot and read nothing; begin a request and stop; say nothing.
    let request = format!("GET /news HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", served.host, served.cookie);
    let mut quiet = Vec::new();
    for kind in 0..9 {
        let mut stream = served.connect();
        match kind % 3 {
            0 => stream.write_all(request.repeat(200).as_bytes()).unwrap(),
            1 => stream.write_all(&request.as_bytes()[..20]).unwrap(),
            _ => {}
        }
        quiet.push(stream);
    }
    served.order(json!({ "do": "speed", "times": null }));
    served.order(json!({ "do": "play" }));
    // Two pages at once, each over one connection, see newer and newer frames until the last.
    let watch = || {
        let mut stream = BufReader::new(served.connect());
        let (mut after, mut position) = (0, 0);
        while position < 400 {
            let head = format!("HTTP/1.1\r\nHost: {}\r\n{}", served.host, served.cookie);
            let text = format!("GET /news?after={after} {head}\r\n\r\n");
            stream.get_mut().write_all(text.as_bytes()).unwrap();
            let told = parts(&answer(&mut stream)).0;
            after = told["serial"].as_u64().unwrap();
            let now = told["status"]["position"].as_u64().unwrap();
            assert!(now >= position);
            position = now;
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(watch);
        watch();
        other.join().unwrap();
    });
    drop(quiet);
    assert_eq!(served.news()["changes"].as_array().unwrap().len(), 401);
    assert_eq!(served.interrupt().0, Some(130));
}

#[test]
fn a_page_that_waits_for_news_is_answered_in_the_end() {
    let place = place(2);
    let served = serve(&place, "");
    let (begun, mut serial) = (Instant::now(), served.stands_at(1)["serial"].clone());
    // Without news that takes as long as a request may take to come.
    while begun.elapsed() < Duration::from_secs(9) {
        let answer = served.get(&format!("/news?after={serial}"));
        assert_eq!(answer.status, 200);
        serial = parts(&answer).0["serial"].clone();
    }
}

#[test]
fn silent_strangers_lock_nobody_out() {
    let place = place(2);
    let served = serve(&place, "");
    let mut silent: Vec<_> = (0..200).map(|_| served.connect()).collect();
    // One byte each now and then.
    silent.iter_mut().for_each(|stream| drop(stream.write_all(b"G")));
    let begun = Instant::now();
    assert_eq!(served.get("/news").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    // A head that goes on byte by byte has an end.
    let mut slow = served.connect();
    let begun = Instant::now();
    while slow.write_all(b"A").is_ok() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn heads_and_whole_addresses_are_answered_by_the_book() {
    let place = place(2);
    let served = serve(&place, "");
    let (host, cookie) = (&served.host, &served.cookie);
    let mut stream = served.connect();
    let head = format!("Host: {host}\r\n{cookie}\r\n");
    write!(stream, "HEAD /icon.svg HTTP/1.1\r\n{head}\r\nGET http://{host}/icon.svg HTTP/1.1\r\n{head}\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    while !first.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut first).unwrap() > 0);
    }
    let second = answer(&mut reader);
    assert!(first.starts_with("HTTP/1.1 200") && second.status == 200);
    assert!(first.contains(&format!("Content-Length: {}\r\n", second.body.len())), "{first}");
    for text in [
        format!("GET / HTTP/1.1\nHost: {host}\n\nGET / HTTP/1.1\r\n{head}\r\n"),
        format!(
            "POST /command HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: +13\r\n\r\n{{\"do\":\"play\"}}"
        ),
    ] {
        assert_eq!(served.send(text.as_bytes()).status, 400, "{text}");
    }
    assert_eq!(served.news()["status"]["playing"], false);
}

#[test]
fn wrong_usage_is_told() {
    let place = place(2);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let told = |line: &str| run(["view"]).arg(place.seq()).args(line.split_whitespace()).assert();
    told(&format!("--port {port}")).code(1).stderr(contains(format!("127.0.0.1:{port}: another program listens")));
    told("--host 203.0.113.7").code(1).stderr(contains("203.0.113.7:8787: "));
    told("--port 0 --token short").code(2).stderr(contains("--token"));
    told("--port 70000").code(2).stderr(contains("--port"));
    told("--port 0 --init 900,900,10,10").code(2).stderr(contains("target 1: box 900,900,10,10"));
    told("--port 0 --init 3:10,10,10,10").code(2).stderr(contains("target 1 begins in frame 3"));
    told("--port 0 --session /proc/kcf").code(1).stderr(contains("/proc/kcf"));
    told("--port 0 --jsonl run.jsonl").code(2).stderr(contains("--jsonl"));
    told("--port 0 --start 99").code(2).stderr(contains("--start 99"));
    run(["view", "no-such-folder"]).assert().code(2).stderr(contains("no such folder or file"));
    let both = ["--pick", "--init", "1,2,3,4"];
    run(both).arg(place.seq()).assert().code(2).stderr(contains("--pick"));
}

#[test]
fn a_broken_truth_does_not_block_the_view() {
    let place = place(2);
    std::fs::write(place.seq().join("groundtruth_rect.txt"), "13,45\n").unwrap();
    let served = serve(&place, "-q");
    drop(served);
}

#[test]
fn a_first_frame_that_is_late_is_waited_for() {
    let place = place(6);
    let (header, frames) = frames(&place, 6);
    let late = move |mut writer: PipeWriter| {
        writer.write_all(&header).unwrap();
        std::thread::sleep(Duration::from_millis(2600));
        writer.write_all(&frames.concat()).unwrap();
    };
    let served = serve_pipe(late, "--init 40,30,24,32");
    let news = served.stands_at(1);
    assert_eq!(news["targets"], json!([{ "id": 1, "given": [{ "frame": 1, "bbox": [40.0, 30.0, 24.0, 32.0] }] }]));
    let (code, said) = served.interrupt();
    assert_eq!(code, Some(130), "{said}");
}

#[test]
fn a_box_of_a_frame_of_a_pipe_that_is_to_come_is_taken() {
    let place = place(12);
    let bytes = stream(&place, 12);
    let both = "--init 40,30,24,32 --init 5:90,50,20,24";
    let mut plain = run(["-"]);
    plain.args(place.words(&format!("{both} -q --preset paper --mot @plain.txt"))).write_stdin(bytes.clone());
    plain.assert().success();
    let served = serve_pipe(move |mut writer| writer.write_all(&bytes).unwrap(), both);
    let news = served.stands_at(1);
    assert_eq!(
        news["targets"],
        json!([
            { "id": 1, "given": [{ "frame": 1, "bbox": [40.0, 30.0, 24.0, 32.0] }] },
            { "id": 2, "given": [{ "frame": 5, "bbox": [90.0, 50.0, 20.0, 24.0] }] },
        ])
    );
    // Nothing is to be saved of the second one alone yet; the document of both has what there is.
    let nothing = served.get("/export?form=otb&target=2");
    assert!(nothing.said().contains("has not come yet: play up to it"), "{}", nothing.said());
    let document = served.get("/export?form=json").json();
    assert_eq!((document["frames"].as_array().unwrap().len(), &document["summary"]["completed"]), (1, &json!(false)));
    let status = served.play_to(12)["status"].clone();
    assert_eq!((&status["live"], &status["said"][1]), (&json!(true), &json!("frame 12 is the last one")));
    assert_eq!(String::from_utf8(served.get("/export?form=mot").body).unwrap(), place.read("plain.txt"));
    assert_eq!(served.get("/export?form=json").json()["summary"]["completed"], true);
    served.order(json!({ "do": "seek", "position": 5 }));
    served.stands_at(5);
}

#[test]
fn a_lone_target_keeps_its_number_in_every_file() {
    let place = place(4);
    std::fs::write(place.path("seven.csv"), "7,2,40,30,24,32\n").unwrap();
    place.run("-q --preset paper --init-file @seven.csv --json @plain.json --mot @plain.txt").assert().success();
    let served = serve(&place, "--init-file @seven.csv");
    served.step(3, 4);
    let (plain, document) = (place.json("plain.json"), served.get("/export?form=json").json());
    for part in ["schema", "targets"] {
        assert_eq!(document[part], plain[part], "{part}");
    }
    assert_eq!((&document["schema"], &document["frames"][0]["id"]), (&json!("kcf-track/3"), &json!(7)));
    assert_eq!(frames_of(document), frames_of(plain));
    let rows = || String::from_utf8(served.get("/export?form=mot").body).unwrap();
    assert_eq!(rows(), place.read("plain.txt"));
    // One that is left of several is still the second one.
    served.order(json!({ "do": "add", "position": 4, "bbox": [90, 50, 20, 24] }));
    served.order(json!({ "do": "remove", "target": 7 }));
    let document = served.get("/export?form=json").json();
    assert_eq!((&document["schema"], &document["frames"][0]["id"]), (&json!("kcf-track/3"), &json!(8)));
    assert!(rows().starts_with("4,8,91,51,20,24,1,"), "{}", rows());
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_a_box_is_asked_for() {
    let place = place(2);
    for (path, code) in [("no/run.csv", 1), ("seq/img/0001.png", 2)] {
        let mut command = run(["--pick", "--csv"]);
        command.arg(place.path(path)).arg(place.seq()).timeout(Duration::from_secs(10));
        let said = command.assert().code(code);
        assert!(!String::from_utf8_lossy(&said.get_output().stderr).contains("pick: "));
    }
}

#[test]
fn at_all_addresses_a_client_with_the_token_may_use_any_name() {
    let place = place(2);
    let mut served = serve(&place, "--host 0.0.0.0 --token my-own-token");
    let port = served.host.split(':').nth(1).unwrap().to_owned();
    served.host = format!("127.0.0.1:{port}");
    let name = format!("the-machine.lan:{port}");
    let cookie = format!("Cookie: kcf-track-{port}=my-own-token\r\n");
    let ask = |method: &str, path: &str, head: &str| {
        let ask = format!("{method} {path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n");
        served.send(ask.as_bytes()).status
    };
    let get = |path: &str, head: &str| ask("GET", path, head);
    let host = format!("Host: {name}\r\n");
    assert_eq!(get("/?token=my-own-token", &host), 200);
    assert_eq!(get("/news", &format!("{host}{cookie}")), 200);
    assert_eq!(get("/news", &format!("{host}{cookie}Origin: http://{name}\r\n")), 200);
    // A page of another site whose name was made to stand for this machine.
    assert_eq!(get("/", &host), 403);
    assert_eq!(get("/?token=my-own-tokem", &host), 403);
    assert_eq!(get("/news", &format!("{host}Cookie: kcf-track-{port}=another-token\r\n")), 403);
    assert_eq!(get("/news", &format!("{host}{cookie}Origin: http://evil.example\r\n")), 403);
    assert_eq!(get("/news", &format!("{host}{cookie}Origin: http://the-machine.lan:1\r\n")), 403);
    let json = "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"do\":\"play\"}";
    assert_eq!(ask("POST", "/command", &format!("{host}{json}")), 403);
    // No name at all, or two.
    assert_eq!(get("/news", &cookie), 400);
    assert_eq!(get("/news", &format!("{host}{host}{cookie}")), 400);
    // At one address its own name is demanded of those, too, who know the token.
    let served = serve(&place, "--token my-own-token");
    let ask = "GET /?token=my-own-token HTTP/1.1\r\nHost: the-machine.lan\r\nConnection: close\r\n\r\n";
    assert_eq!(served.send(ask.as_bytes()).status, 421);
}

#[test]
fn a_host_may_have_the_brackets_of_an_address() {
    let place = place(1);
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let served = serve(&place, "--host [::1]");
        let ask = format!("GET / HTTP/1.1\r\nHost: {}\r\n{}\r\nConnection: close\r\n\r\n", served.host, served.cookie);
        assert!(served.host.starts_with("[::1]:"), "{}", served.host);
        assert_eq!(served.send(ask.as_bytes()).status, 200);
    }
    // A port has a flag of its own.
    let refused = run(["view", "--host", "127.0.0.1:9000"]).arg(place.seq()).assert();
    refused.code(1).stderr(contains("127.0.0.1:9000:8787: "));
}
