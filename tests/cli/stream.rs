//! Pipes and videos on the command line.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

use crate::helper::{Place, interruptible, place, run, spawnable};
use crate::pictures;

/// A header and the gray frames of a place, as Y4M.
pub fn frames(place: &Place, count: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let frame = |position| {
        let picture = pictures::open(&place.frame(position)).into_luma8();
        [b"FRAME\n", &picture.into_raw()[..]].concat()
    };
    (b"YUV4MPEG2 W160 H120 F25:1 Cmono\n".to_vec(), (1..=count).map(frame).collect())
}

pub const INIT: &str = "40,30,24,32";

#[test]
fn answers_a_pipe_line_by_line() {
    let place = place(6);
    let (header, frames) = frames(&place, 6);
    let mut child = spawnable()
        .args(["-", "--init", INIT, "--jsonl", "-", "-q"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    input.write_all(&header).unwrap();
    for (position, frame) in (1..).zip(&frames) {
        input.write_all(frame).unwrap();
        input.flush().unwrap();
        // Would wait for ever if the answer needed the next frame.
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
fn a_cut_pipe_keeps_the_results_so_far() {
    let place = place(4);
    let (header, frames) = frames(&place, 4);
    let mut bytes = [header, frames.concat()].concat();
    bytes.truncate(bytes.len() - 100);
    let otb = place.path("o.txt");
    let mut command = run(["-", "--init", INIT, "-q", "--otb"]);
    let words = contains("frame 4: standard input: it ends within frame 4: 19100 of its 19200 bytes");
    command.arg(&otb).write_stdin(bytes).assert().code(1).stderr(words);
    assert_eq!(fs::read_to_string(otb).unwrap().lines().count(), 3);
}

#[test]
fn refuses_input_that_is_not_y4m() {
    for (bytes, words) in [
        (&b""[..], "it is empty"),
        (b"YUV4MPEG2 W60000 H60000\nFRAME\n", "60000x60000 pixels"),
        (b"YUV4MPEG2 W160 H120 C420p10\nFRAME\n", "-pix_fmt yuv420p"),
        (b"GIF89a", "not Y4M"),
        (b"YUV4MPEG2 W160 H120\nFROME\n", "does not begin with the word FRAME"),
        (b"YUV4MPEG2 W160 H120\n", "it ends after its header, before the first frame"),
    ] {
        run(["-", "--init", INIT]).write_stdin(bytes).assert().code(1).stderr(contains(words));
    }
    // A pipe has no truth.
    run(["-"]).write_stdin(&b"YUV4MPEG2 W160 H120\n"[..]).assert().code(2).stderr(contains("--init x,y,w,h"));
}

/// A folder with programs called ffmpeg and ffprobe that are shell scripts.
fn programs(place: &Place, ffmpeg: &str) -> PathBuf {
    let folder = place.path("bin");
    fs::create_dir_all(&folder).unwrap();
    let probe = r#"echo '{"streams":[{"width":160,"height":120,"pix_fmt":"gray","avg_frame_rate":"25/1"}]}'"#;
    for (name, script) in [("ffmpeg", ffmpeg), ("ffprobe", probe)] {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// The place with a file that is called a video, and the program that reads it by those scripts.
fn video(place: &Place, ffmpeg: &str, arguments: &[&str]) -> Command {
    let bin = programs(place, ffmpeg);
    fs::write(place.path("clip.mp4"), "a clip").unwrap();
    let mut command = interruptible();
    command.arg(place.path("clip.mp4")).args(["--init", INIT, "-q"]).args(arguments);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

/// The process of a script's `sleep` of this many seconds.
fn sleeps(seconds: &str) -> bool {
    let processes = Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
    String::from_utf8_lossy(&processes).lines().any(|line| line == format!("sleep {seconds}"))
}

/// Whether a process has the thread that opens its source; where nobody can tell, that is not known before long.
fn waits_aside(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok()).any(|name| name.trim() == "aside")
}

/// A script that writes the frames of a place and then does something else.
fn after_frames(place: &Place, count: usize, then: &str) -> String {
    let pictures = (1..=count).flat_map(|position| {
        let picture = pictures::open(&place.frame(position)).into_luma8();
        [b"P5\n160 120\n255\n", &picture.into_raw()[..]].concat()
    });
    fs::write(place.path("frames.pnm"), pictures.collect::<Vec<u8>>()).unwrap();
    let said = "[Parsed_showinfo_0 @ 0x1] [info] n: 0 pts: 0 pts_time:0 fmt:gray s:160x120";
    let said = vec![format!("'{said}'"); count].join(" ");
    format!("printf '%s\\n' {said} >&2; cat {}; {then}", place.path("frames.pnm").display())
}

#[test]
fn a_missing_ffmpeg_names_how_to_install_it() {
    let place = place(1);
    fs::write(place.path("clip.mp4"), "a clip").unwrap();
    let mut command = run([&place.path("clip.mp4")]);
    let words = contains("ffprobe is needed for it: install ffmpeg (`apt install ffmpeg`");
    command.args(["--init", INIT]).env("PATH", place.path("")).assert().code(1).stderr(words);
    // Before anything is tracked, also for a video that is to be written.
    let overlay = place.path("o.mp4");
    let mut command = run([Path::new("--overlay"), &overlay, Path::new("--seq"), &place.seq()]);
    command.env("PATH", place.path("")).assert().code(1).stderr(contains("ffmpeg is needed for it"));
    assert!(!overlay.exists());
}

#[test]
fn an_overlay_video_that_fails_keeps_the_other_results() {
    let place = place(30);
    let script = "case $* in *-version*) exit 0 ;; esac; head -c 200000 > /dev/null; \
                  echo 'av_interleaved_write_frame(): No space left on device' >&2; exit 1";
    let bin = programs(&place, script);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let said = contains("seen.mp4: cannot write there");
    place.run("--overlay @seen.mp4 --csv @a.csv").env("PATH", path).assert().code(1).stderr(said);
    assert!(!place.path("seen.mp4").exists() && place.path("a.csv").exists());
}

#[test]
fn cvat_ends_with_the_last_frame() {
    let place = place(3);
    let to = place.path("boxes.xml");
    let script = after_frames(&place, 3, "exit 0");
    let mut command = video(&place, &script, &["--cvat", to.to_str().unwrap()]);
    // More frames than there are, as a container has it whose video was cut.
    let probe = place.path("bin/ffprobe");
    let answer = fs::read_to_string(&probe).unwrap();
    let guess = answer.replace(r#""width""#, r#""nb_frames":"9","width""#);
    fs::write(&probe, &guess).unwrap();
    assert!(command.output().unwrap().status.success());
    let text = fs::read_to_string(&to).unwrap();
    assert!(text.contains("<size>3</size>") && text.contains(r#"<box frame="2""#), "{text}");
    assert!(!text.contains(r#"<box frame="3""#), "{text}");
    // The last frame by its number: one behind it is looked for, not guessed.
    let mut whole = video(&place, &script, &["--cvat", to.to_str().unwrap(), "--end", "3"]);
    fs::write(&probe, &guess).unwrap();
    assert!(whole.output().unwrap().status.success());
    let text = fs::read_to_string(&to).unwrap();
    assert!(text.contains("<size>3</size>") && !text.contains(r#"<box frame="3""#), "{text}");
    // Where the run ends before the video does, the target is outside from there on.
    assert!(command.args(["--end", "2"]).output().unwrap().status.success());
    let text = fs::read_to_string(&to).unwrap();
    assert!(text.contains("<size>9</size>") && text.contains(r#"<box frame="2" outside="1""#), "{text}");
}

#[test]
fn a_stalled_ffmpeg_is_killed_after_the_timeout() {
    let place = place(3);
    let script = after_frames(&place, 3, "exec sleep 98.71");
    let otb = place.path("o.txt");
    let arguments = ["--timeout", "1", "--otb", otb.to_str().unwrap()];
    let begun = Instant::now();
    let output = video(&place, &script, &arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("frame 4: ") && said.contains("ffmpeg gave no output within 1 s (after 3 frames)"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(60) && !sleeps("98.71"));
    assert_eq!(fs::read_to_string(otb).unwrap().lines().count(), 3);
}

#[test]
fn a_killed_ffmpeg_is_an_error() {
    let place = place(2);
    let output = video(&place, &after_frames(&place, 2, "kill -9 $$"), &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("frame 3: ") && said.contains("SIGKILL) (after 2 frames)"), "{said}");
}

#[test]
fn ctrl_c_ends_a_waiting_run_and_its_ffmpeg() {
    for (signal, code, seconds) in [("-INT", 130, "97.31"), ("-TERM", 143, "97.32")] {
        let place = place(2);
        let script = after_frames(&place, 2, &format!("exec sleep {seconds}"));
        let otb = place.path("o.txt");
        let mut child = video(&place, &script, &["--otb", otb.to_str().unwrap()]).spawn().unwrap();
        let begun = Instant::now();
        // Until both frames are tracked and the next is waited for.
        while fs::read_to_string(&otb).unwrap_or_default().lines().count() < 2 {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(sleeps(seconds));
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(begun.elapsed() < Duration::from_secs(60) && !sleeps(seconds));
        assert_eq!(fs::read_to_string(&otb).unwrap().lines().count(), 2);
    }
}

#[test]
fn ctrl_c_ends_a_run_that_waits_for_ffprobe() {
    // The answer comes late, or the question for the times of all frames has none.
    for (script, arguments, seconds) in
        [("exec sleep 97.33", [].as_slice(), "97.33"), ("exec sleep 97.34", &["--start", "2s"], "97.34")]
    {
        let place = place(1);
        let mut command = video(&place, "exit 1", arguments);
        let answers = place.path("bin/answers");
        fs::rename(place.path("bin/ffprobe"), &answers).unwrap();
        let first =
            if arguments.is_empty() { "" } else { "case $* in *packet*) ;; *) exec $(dirname $0)/answers ;; esac" };
        fs::write(place.path("bin/ffprobe"), format!("#!/bin/sh\n{first}\n{script}\n")).unwrap();
        fs::set_permissions(place.path("bin/ffprobe"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !sleeps(seconds) {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(20));
        }
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let ended = Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
        assert!(ended.elapsed() < Duration::from_secs(20) && !sleeps(seconds), "{arguments:?}");
    }
    // A pipe to which nobody writes cannot be told: it is left alone.
    let mut child = interruptible().args(["-", "--init", INIT]).stdin(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !waits_aside(child.id()) && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (ended, _open) = (Instant::now(), child.stdin.take());
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    while child.try_wait().unwrap().is_none() {
        assert!(ended.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Runs ffmpeg in a folder. Whether there is one; says so where there is none.
pub fn ffmpeg(folder: &Path, arguments: &str) -> bool {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-v", "error", "-y"]).args(arguments.split_whitespace());
    let ran = command.stdin(Stdio::null()).status();
    match &ran {
        Ok(status) => assert!(status.success(), "{arguments}"),
        Err(_) => eprintln!("SKIPPED: there is no ffmpeg"),
    }
    ran.is_ok()
}

#[test]
fn folder_video_and_pipe_give_the_same_boxes() {
    let place = place(10);
    if !ffmpeg(&place.path(""), "-r 25 -i seq/img/%04d.png -c:v ffv1 color.mkv") {
        return;
    }
    ffmpeg(&place.path(""), "-i color.mkv -pix_fmt gray -c:v ffv1 gray.mkv");
    ffmpeg(&place.path(""), "-i gray.mkv -strict -1 -f yuv4mpegpipe gray.y4m");
    fs::create_dir(place.path("gray")).unwrap();
    ffmpeg(&place.path(""), "-i gray.mkv gray/%04d.png");
    let boxes = |source: &str, arguments: &[&str]| {
        let mut command = run([place.path(source)]);
        let output = command.args(["--init", INIT, "-q", "--otb", "-"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for preset in ["robust", "fast", "paper"] {
        let arguments = ["--preset", preset];
        assert_eq!(boxes("seq", &arguments), boxes("color.mkv", &arguments), "{preset}");
        let expected = boxes("gray", &arguments);
        assert_eq!(expected.lines().count(), 10);
        assert_eq!(boxes("gray.mkv", &arguments), expected, "{preset}");
        assert_eq!(boxes("gray.y4m", &arguments), expected, "{preset}");
        let mut piped = run(["-"]);
        piped.args(["--init", INIT, "-q", "--otb", "-"]).args(arguments);
        let piped = piped.write_stdin(fs::read(place.path("gray.y4m")).unwrap()).output().unwrap();
        assert_eq!(String::from_utf8(piped.stdout).unwrap(), expected, "{preset}");
    }
    // 25 frames a second: .12 s is the fourth frame, .2 s the sixth.
    let part = boxes("color.mkv", &["--start", "0.12s", "--end", "00:00:00.2"]);
    assert_eq!(part, boxes("color.mkv", &["--start", "4", "--end", "6"]));
    assert_eq!(part.lines().count(), 3);
}

#[test]
fn an_overlay_can_be_a_video() {
    let place = place(7);
    if !ffmpeg(&place.path(""), "-version") {
        return;
    }
    // One that is there already is replaced when the new one is whole.
    fs::write(place.path("drawn.mp4"), "old").unwrap();
    for name in ["drawn.mp4", "drawn.gif", "drawn.webm"] {
        place.run(&format!("--overlay @{name} --inset -q")).assert().success();
        let mut run = run([place.path(name)]);
        let output = run.args(["--init", INIT, "-q", "--otb", "-"]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 7, "{name}");
    }
    let others: Vec<_> = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!others.iter().any(|name| name.to_string_lossy().starts_with(".kcf-")), "{others:?}");
    // What is read is not written over.
    let clip = place.path("drawn.mp4");
    let mut over = run([&clip]);
    let assert = over.args(["--init", INIT, "--overlay"]).arg(&clip).assert();
    assert.code(2).stderr(contains("is the video that is read"));
}

#[test]
fn a_range_outside_a_video_names_its_flags() {
    let place = place(7);
    if !ffmpeg(&place.path(""), "-r 25 -i seq/img/%04d.png -c:v ffv1 clip.mkv") {
        return;
    }
    let clip = place.path("clip.mkv");
    let track = |range: &[&str]| {
        let mut run = run([&clip]);
        run.args(["--init", INIT, "-p", "fast"]).args(range);
        run.assert()
    };
    track(&["--start", "100"]).code(2).stderr(contains("--start is frame 100, and there are fewer (about 7)"));
    track(&["--end", "500"]).success().stderr(contains("warning: the frames end with 7, before --end 500"));
    track(&["--end", "7"]).success().stderr(contains("warning").not());
    run([&clip]).assert().code(2).stderr(contains("give the box by --init"));
}

#[test]
fn a_box_after_the_end_is_wrong_usage_and_no_frame_is_a_failure() {
    let place = place(7);
    let behind = |from: &str| {
        let mut run = run([&place.path(from)]);
        run.args(["--init", "100:10,10,20,20", "-p", "fast"]).assert().code(2)
    };
    behind("seq")
        .stderr(contains("the first box is of frame 100, and there are 7 frames").and(contains("--start").not()));
    if !ffmpeg(&place.path(""), "-r 25 -i seq/img/%04d.png -c:v ffv1 clip.mkv") {
        return;
    }
    let said = contains("the first box is of frame 100, and there are fewer (about 7)");
    behind("clip.mkv").stderr(said.and(contains("--start").not()));
    let empty = place.path("empty.gif");
    std::fs::write(&empty, b"GIF89a\x40\x00\x30\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x3b").unwrap();
    run([&empty]).args(["--init", INIT]).assert().code(1).stderr(contains("empty: it has no frame"));
}

/// A file of Y4M in the place.
fn y4m(place: &Place) -> PathBuf {
    let (header, frames) = frames(place, 3);
    let path = place.path("clip.y4m");
    fs::write(&path, [header, frames.concat()].concat()).unwrap();
    path
}

#[test]
fn refuses_to_overwrite_the_y4m_file_it_reads() {
    let place = place(3);
    let clip = y4m(&place);
    let bytes = fs::read(&clip).unwrap();
    let flags = ["-q", "--preset", "paper", "--init", "40,30,24,32", "--csv"];
    let words = contains("clip.y4m: this is the video that is read");
    run([&clip]).args(flags).arg(&clip).assert().code(2).stderr(words);
    assert!(fs::read(&clip).unwrap() == bytes, "the video was written over");
    // Any other place is one.
    run([&clip]).args(flags).arg(place.path("run.csv")).assert().success();
}
