//! Pipes and videos.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::ffmpeg::ffmpeg;
use crate::helper::{Place, ended, interruptible, place, run, signal, spawnable};
use crate::pictures;

pub const INIT: &str = "40,30,24,32";
const LIMIT: Duration = Duration::from_secs(60);

/// The Y4M header and the gray frames of a place.
pub fn frames(place: &Place, count: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let frame = |position| {
        let picture = pictures::open(&place.frame(position)).into_luma8();
        [b"FRAME\n", &picture.into_raw()[..]].concat()
    };
    (b"YUV4MPEG2 W160 H120 F25:1 Cmono\n".to_vec(), (1..=count).map(frame).collect())
}

/// The same as one stream.
pub fn stream(place: &Place, count: usize) -> Vec<u8> {
    let (header, frames) = frames(place, count);
    [header, frames.concat()].concat()
}

/// A folder with shell scripts named ffmpeg and ffprobe.
fn programs(place: &Place, ffmpeg: &str, ffprobe: &str) -> PathBuf {
    let folder = place.path("bin");
    fs::create_dir_all(&folder).unwrap();
    for (name, script) in [("ffmpeg", ffmpeg), ("ffprobe", ffprobe)] {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

const PROBE: &str = r#"echo '{"streams":[{"width":160,"height":120,"pix_fmt":"gray","avg_frame_rate":"25/1"}]}'"#;

/// The program on a video that these scripts decode.
fn video(place: &Place, ffmpeg: &str, ffprobe: &str) -> Command {
    let bin = programs(place, ffmpeg, ffprobe);
    fs::write(place.path("clip.mp4"), "a clip").unwrap();
    let mut command = interruptible();
    command.arg(place.path("clip.mp4")).args(["--init", INIT, "-q"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

/// A script that writes frames as ffmpeg does, and then runs `then`.
fn after_frames(place: &Place, count: usize, then: &str) -> String {
    let pictures = (1..=count).flat_map(|position| {
        let picture = pictures::open(&place.frame(position)).into_luma8();
        [b"P5\n160 120\n255\n", &picture.into_raw()[..]].concat()
    });
    fs::write(place.path("frames.pnm"), pictures.collect::<Vec<u8>>()).unwrap();
    let line = "'[Parsed_showinfo_0 @ 0x1] [info] n: 0 pts: 0 pts_time:0 fmt:gray s:160x120' ";
    format!("printf '%s\\n' {} >&2; cat {}; {then}", line.repeat(count), place.path("frames.pnm").display())
}

/// Whether a `sleep` of this many seconds runs.
fn sleeps(seconds: &str) -> bool {
    let processes = Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
    String::from_utf8_lossy(&processes).lines().any(|line| line == format!("sleep {seconds}"))
}

pub fn wait_until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_pipe_is_answered_frame_by_frame() {
    let place = place(6);
    let (header, frames) = frames(&place, 6);
    let mut command = spawnable();
    command.args(["-", "--init", INIT, "--jsonl", "-", "-q"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    input.write_all(&header).unwrap();
    for (position, frame) in (1..).zip(&frames) {
        input.write_all(frame).unwrap();
        input.flush().unwrap();
        // Blocks forever if the answer needs the next frame.
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let record: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(record["index"], position);
        assert_eq!(record["time"], (position - 1) as f64 / 25.0);
    }
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(rest.is_empty() && child.wait().unwrap().success());
}

#[test]
fn smooth_boxes_of_a_pipe_come_two_frames_late() {
    let place = place(12);
    let (header, frames) = frames(&place, 12);
    let mut boxes = Vec::new();
    for smooth in [&["--smooth"][..], &["--smooth", "--latest"], &[]] {
        let mut command = spawnable();
        command.args(["-", "--init", INIT, "--jsonl", "-", "-q", "-p", "fast"]).args(smooth);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let late = if smooth.len() == 1 { 2 } else { 0 };
        let (mut pipe, mut lines) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        pipe.write_all(&header).unwrap();
        let mut rows = Vec::new();
        for (position, frame) in (1..).zip(&frames) {
            pipe.write_all(frame).unwrap();
            pipe.flush().unwrap();
            // Blocks forever if the row of this frame waits for more of them.
            rows.extend((position > late).then(|| lines.next().unwrap().unwrap()));
        }
        drop(pipe);
        rows.extend(lines.map(Result::unwrap));
        assert!(child.wait().unwrap().success());
        let records: Vec<Value> = rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
        assert!(records.iter().map(|record| record["index"].as_u64().unwrap()).eq(1..=12), "{smooth:?}");
        boxes.push(records.into_iter().map(|record| record["bbox"].clone()).collect::<Vec<_>>());
    }
    assert!(boxes[0] != boxes[2] && boxes[1] != boxes[2] && boxes[0] != boxes[1]);
}

#[test]
fn a_truncated_pipe_keeps_the_frames_before() {
    let place = place(4);
    let mut bytes = stream(&place, 4);
    bytes.truncate(bytes.len() - 100);
    let otb = place.path("o.txt");
    let mut command = run(["-", "--init", INIT, "-q", "--otb"]);
    command.arg(&otb).write_stdin(bytes).assert().code(1).stderr(contains("frame 4: "));
    assert_eq!(fs::read_to_string(otb).unwrap().lines().count(), 3);
}

#[test]
fn a_missing_ffmpeg_is_named_before_tracking() {
    let place = place(1);
    fs::write(place.path("clip.mp4"), "a clip").unwrap();
    let mut command = run([&place.path("clip.mp4")]);
    command.args(["--init", INIT]).env("PATH", place.path("")).assert().code(1).stderr(contains("install ffmpeg"));
    let mut command = place.run("--overlay @o.mp4");
    command.env("PATH", place.path("")).assert().code(1).stdout("").stderr(contains("ffmpeg"));
    assert!(!place.path("o.mp4").exists());
}

#[test]
fn a_failing_encoder_is_an_error_and_keeps_the_old_video() {
    let place = place(30);
    let script = "case $* in *-version*) exit 0 ;; esac; head -c 200000 > /dev/null; \
                  echo 'av_interleaved_write_frame(): No space left on device' >&2; exit 1";
    let path = format!("{}:/usr/bin:/bin", programs(&place, script, PROBE).display());
    fs::write(place.path("seen.mp4"), "old").unwrap();
    let mut command = place.run("--overlay @seen.mp4 --csv @a.csv --force");
    command.env("PATH", path).assert().code(1).stderr(contains("seen.mp4"));
    assert_eq!(place.read("seen.mp4"), "old");
    assert!(place.path("a.csv").exists());
}

#[test]
fn a_decoder_that_hangs_or_is_killed_is_an_error() {
    for (then, timeout, message) in [("exec sleep 98.71", "1", "frame 4: "), ("kill -9 $$", "30", "frame 4: ")] {
        let place = place(3);
        let mut command = video(&place, &after_frames(&place, 3, then), PROBE);
        command.args(["--timeout", timeout, "--otb"]).arg(place.path("o.txt"));
        let (code, said) = ended(command.spawn().unwrap(), LIMIT);
        assert!(code == Some(1) && said.contains(message), "{then}: {code:?} {said}");
        assert!(!sleeps("98.71"));
        assert_eq!(place.read("o.txt").lines().count(), 3);
    }
}

#[test]
fn an_interrupt_ends_a_run_that_waits_for_frames_and_its_ffmpeg() {
    // The decoder waits, the probe waits.
    for (decoder, probe, seconds) in [("exec sleep 97.31", PROBE, "97.31"), ("exit 1", "exec sleep 97.33", "97.33")] {
        let place = place(2);
        let mut command = video(&place, &after_frames(&place, 2, decoder), probe);
        let mut child = command.args(["--jsonl", "-", "--otb"]).arg(place.path("o.txt")).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let tracked = if probe == PROBE { 2 } else { 0 };
        let mut lines = lines.map(Result::unwrap);
        assert_eq!(lines.by_ref().take(tracked).count(), tracked);
        wait_until(|| sleeps(seconds));
        signal(&child, "INT");
        let (code, said) = ended(child, LIMIT);
        assert!(code == Some(130) && !sleeps(seconds), "{code:?} {said}");
        assert_eq!(fs::read_to_string(place.path("o.txt")).map_or(0, |text| text.lines().count()), tracked);
    }
}

#[test]
fn an_interrupt_ends_the_wait_for_a_pipe() {
    let mut child = interruptible();
    child.args(["-", "--init", INIT]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let _open = child.stdin.take();
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "INT");
    assert_eq!(ended(child, LIMIT).0, Some(130));
}

#[test]
fn a_folder_a_video_and_a_pipe_give_the_same_boxes() {
    let place = place(10);
    let folder = place.path("");
    if !ffmpeg(&folder, "-r 25 -i seq/img/%04d.png -c:v ffv1 color.mkv") {
        return;
    }
    ffmpeg(&folder, "-i color.mkv -pix_fmt gray -c:v ffv1 gray.mkv");
    ffmpeg(&folder, "-i gray.mkv -strict -1 -f yuv4mpegpipe gray.y4m");
    fs::create_dir(place.path("gray")).unwrap();
    ffmpeg(&folder, "-i gray.mkv gray/%04d.png");
    let boxes = |source: &str, arguments: &[&str]| {
        let mut command = run([if source == "-" { "-".into() } else { place.path(source) }]);
        command.args(["--init", INIT, "-q", "--otb", "-"]).args(arguments);
        if source == "-" {
            command.write_stdin(fs::read(place.path("gray.y4m")).unwrap());
        }
        let done = command.assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    for preset in ["robust", "fast", "paper"] {
        let arguments = ["--preset", preset];
        assert_eq!(boxes("seq", &arguments), boxes("color.mkv", &arguments), "{preset}");
        let expected = boxes("gray", &arguments);
        assert_eq!(expected.lines().count(), 10);
        for source in ["gray.mkv", "gray.y4m", "-"] {
            assert_eq!(boxes(source, &arguments), expected, "{preset} {source}");
        }
    }
    // At 25 frames a second, 0.12 s is the fourth frame and 0.2 s the sixth.
    for source in ["color.mkv", "gray.y4m"] {
        let part = boxes(source, &["--start", "0.12s", "--end", "00:00:00.2"]);
        assert_eq!(part, boxes(source, &["--start", "4", "--end", "6"]), "{source}");
        assert_eq!(part.lines().count(), 3);
        // Between two frames the later one is the first, and the earlier one the last.
        assert_eq!(boxes(source, &["--start", "0.11s", "--end", "0.21s"]), part, "{source}");
    }
}

#[test]
fn an_overlay_video_replaces_the_old_one_and_never_its_source() {
    let place = place(7);
    if !ffmpeg(&place.path(""), "-version") {
        return;
    }
    fs::write(place.path("drawn.mp4"), "old").unwrap();
    for name in ["drawn.mp4", "drawn.gif", "drawn.webm"] {
        if name == "drawn.mp4" {
            place.run(&format!("--overlay @{name} -q")).assert().code(1).stderr(contains("--force"));
        }
        place.run(&format!("--overlay @{name} --inset -q --force")).assert().success();
        // A video says what it is from, a GIF does not.
        let again = place.run(&format!("--overlay @{name} -q")).assert();
        again.code(if name == "drawn.gif" { 1 } else { 0 });
        run([place.path(name)]).args(["--init", INIT]).assert().success().stdout(contains("7 frames"));
    }
    let clip = place.path("drawn.mp4");
    let done = run([&clip]).args(["--init", INIT, "--overlay"]).arg(&clip).assert();
    done.code(2).stderr(contains("this is an input"));
}

#[test]
fn a_range_beyond_the_end_is_named() {
    let place = place(7);
    for source in ["seq", "clip.mkv"] {
        if source == "clip.mkv" && !ffmpeg(&place.path(""), "-r 25 -i seq/img/%04d.png -c:v ffv1 clip.mkv") {
            return;
        }
        let track = |range: &[&str]| run([place.path(source)]).args(["--preset", "paper"]).args(range).assert();
        track(&["--init", INIT, "--start", "100"]).code(2).stderr(contains("100"));
        track(&["--init", "100:10,10,20,20"]).code(2).stderr(contains("the first box is of frame 100"));
        track(&["--init", INIT, "--end", "7"]).success().stderr(contains("warning").not());
    }
    let late = run([place.path("clip.mkv")]).args(["--init", INIT, "--end", "500"]).assert();
    late.success().stderr(contains("warning: the frames end with 7, before --end 500"));
    // A copy that broke off.
    ffmpeg(
        &place.path(""),
        "-f lavfi -i testsrc2=size=160x120:rate=25:d=8 -g 25 -c:v libx264 -movflags +faststart cut.mp4",
    );
    let whole = fs::read(place.path("cut.mp4")).unwrap();
    fs::write(place.path("cut.mp4"), &whole[..whole.len() / 2]).unwrap();
    let cut = run([place.path("cut.mp4")]).args(["--init", INIT, "-p", "fast", "--skip-bad-frames"]).assert();
    cut.success().stderr(contains("of about 200"));
}

#[test]
fn frames_of_another_size_are_skipped_one_by_one() {
    let place = place(2);
    let of = |size: &str, d: f64, name: &str| {
        let picture = format!("-f lavfi -i testsrc2=size={size}:rate=25:d={d} -c:v mjpeg -q:v 2 -f mjpeg {name}");
        ffmpeg(&place.path(""), &picture)
    };
    if !(of("160x120", 0.4, "a") && of("80x60", 0.08, "b") && of("160x120", 0.4, "c")) {
        return;
    }
    let all = ["a", "b", "c"].map(|name| fs::read(place.path(name)).unwrap()).concat();
    fs::write(place.path("sizes.mjpeg"), all).unwrap();
    let track = || {
        let mut command = run([place.path("sizes.mjpeg")]);
        command.args(["--init", INIT, "-p", "fast", "--json"]).arg(place.path("a.json"));
        command
    };
    track().assert().code(1).stderr(contains("frame 11").and(contains("80x60")));
    track().arg("--skip-bad-frames").assert().success().stderr(contains("frame 12"));
    let document = place.json("a.json");
    let summary = &document["summary"];
    assert_eq!((&summary["frames"], &summary["states"]["missing"]), (&22.into(), &2.into()), "{summary}");
    // A run that begins behind them counts them.
    track().args(["--skip-bad-frames", "--start", "14"]).assert().success();
    assert_eq!(place.json("a.json")["summary"]["frames"], 9);
}

#[test]
#[cfg(target_os = "linux")]
fn the_newest_frames_do_not_wait_for_a_slow_reader() {
    let place = place(6);
    let mut command = interruptible();
    command.args(["-", "--latest", "--jsonl", "-", "-p", "fast", "--init", INIT]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (header, pictures) = frames(&place, 6);
    let mut input = child.stdin.take().unwrap();
    input.write_all(&header).unwrap();
    for position in 0..300 {
        input.write_all(&pictures[position % 6]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    drop(input);
    let rows = BufReader::new(child.stdout.take().unwrap()).lines().count();
    assert!((2..40).contains(&rows), "{rows} rows");
    assert!(child.wait().unwrap().success());
}

#[test]
fn commands_add_give_and_drop_targets_between_the_frames_of_a_pipe() {
    let place = place(6);
    let (pipe, commands) = (place.path("frames.y4m"), place.path("commands"));
    assert!(Command::new("mkfifo").args([&pipe, &commands]).status().unwrap().success());
    let mut command = interruptible();
    command.arg(&pipe).args(["--latest", "--jsonl", "-", "-p", "fast", "--init", INIT, "--commands"]).arg(&commands);
    command.arg("--json").arg(place.path("run.json")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (header, pictures) = frames(&place, 6);
    // A program may open the pipe for its commands before it sends a frame.
    drop(fs::File::create(&commands).unwrap());
    let mut frames = fs::File::create(&pipe).unwrap();
    frames.write_all(&header).unwrap();
    // Each time by another writer, as a shell would.
    let say = |text: &str| {
        fs::write(&commands, text).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(500));
    };
    let mut send = |position: usize| frames.write_all(&pictures[position - 1]).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let parse = |line: String| serde_json::from_str::<serde_json::Value>(&line).unwrap();
    // Of targets alone.
    let mut line = || lines.by_ref().map(|line| parse(line.unwrap())).find(|row| row.get("bbox").is_some()).unwrap();
    let what = |line: &serde_json::Value| (line["index"].clone(), line["id"].clone(), line["state"].clone());

    send(1);
    let first = line();
    assert_eq!(what(&first), (1.into(), 1.into(), "initial".into()));
    assert!(first["captured"].as_f64() > Some(1.7e9), "{first}");
    say("nonsense\n{\"do\":\"add\",\"bbox\":[90,60,30,24]}\n");
    send(2);
    assert_eq!((line()["id"].clone(), what(&line())), (1.into(), (2.into(), 2.into(), "initial".into())));
    say("{\"target\":9,\"box\":[4,3,24,32]}\n{\"target\":1,\"box\":[900,3,24,32]}\n");
    send(3);
    assert_eq!((line()["id"].clone(), line()["id"].clone()), (1.into(), 2.into()));
    say("{\"target\":1,\"box\":[44,30,24,32]}\n");
    send(4);
    let given = line();
    assert_eq!((what(&given).2, &given["bbox"][0], &line()["id"]), ("initial".into(), &44.0.into(), &2.into()));
    let drops = "{\"do\":\"drop\",\"target\":1}\n{\"do\":\"end\",\"target\":2}\n";
    say(&("{\"do\":\"add\",\"id\":5,\"box\":[90,60,30,24],\"class\":\"person\"}\n".to_owned() + drops));
    send(5);
    assert_eq!(what(&line()), (5.into(), 5.into(), "initial".into()));
    say("{\"do\":\"quit\"}\n");
    let (code, said) = ended(child, LIMIT);
    assert_eq!(code, Some(0), "{said}");
    for refusal in ["command 1: this is not a command", "there is no target 9", "command 4"] {
        assert!(said.contains(refusal), "{refusal}: {said}");
    }
    let document = place.json("run.json");
    let given = document["targets"].as_array().unwrap().iter().map(|target| target["given"].as_array().unwrap());
    let given: Vec<Vec<_>> =
        given.map(|all| all.iter().map(|given| given["frame"].as_u64().unwrap()).collect()).collect();
    assert_eq!(
        (given, &document["targets"][0]["given"][2]["bbox"]),
        (vec![vec![1, 4, 5], vec![2, 5], vec![5]], &serde_json::Value::Null)
    );
    assert_eq!((&document["targets"][2]["class"], document["targets"][1].get("class")), (&"person".into(), None));
    place.run("--init-file @run.json -q").assert().success();
    let ids: Vec<_> = document["summary"]["targets"].as_array().unwrap().iter().map(|target| &target["id"]).collect();
    assert_eq!((ids, &document["summary"]["dropped"]), (vec![&1.into(), &2.into(), &5.into()], &0.into()));

    let wrong = |words: &[&str]| run([place.seq()]).args(words).assert().code(2);
    wrong(&["--latest"]).stderr(contains("cameras"));
    wrong(&["--commands", "/nowhere"]).stderr(contains("/nowhere"));
    fs::remove_file(place.seq().join("groundtruth_rect.txt")).unwrap();
    let idle = run([place.seq()]).args(["--commands", "-", "--jsonl", "-", "-q"]).assert().success();
    idle.stderr(contains("no target was given"));
}
