//! Overlay videos: the times of their frames, and the shape of their pixels.

use std::process::Command;

use serde_json::Value;

use crate::helper::{Place, place, run};
use crate::stream::{INIT, ffmpeg};

/// What ffprobe says of the first video of a file: one value a line.
fn probed(place: &Place, name: &str, entries: &str) -> Vec<String> {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-select_streams", "V:0", "-count_frames", "-of", "default=nk=1:nw=1"]);
    let output = command.args(["-show_entries", entries]).arg(place.path(name)).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect()
}

/// Draws the boxes on the frames of a clip.
fn draw(place: &Place, clip: &str, name: &str) {
    let mut run = run([place.path(clip)]);
    run.args(["--init", INIT, "-p", "paper", "-q", "--overlay"]).arg(place.path(name)).assert().success();
}

/// The times of the frames of a video.
fn times(place: &Place, name: &str) -> Vec<f64> {
    let mut run = run([place.path(name)]);
    let lines = run.args(["--init", INIT, "-p", "paper", "-q", "--jsonl", "-"]).output().unwrap().stdout;
    let time = |line: &str| serde_json::from_str::<Value>(line).unwrap()["time"].as_f64().unwrap();
    String::from_utf8(lines).unwrap().lines().map(time).collect()
}

#[test]
fn an_overlay_video_has_the_shape_of_the_pixels() {
    let place = place(1);
    let wide = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=0.2 -vf setsar=4/3 -pix_fmt yuv420p";
    if !ffmpeg(&place.path(""), &format!("{wide} -c:v libx264 wide.mp4")) {
        return;
    }
    ffmpeg(&place.path(""), &format!("{wide} -c:v ffv1 wide.mkv"));
    ffmpeg(&place.path(""), "-i wide.mp4 -c copy -metadata:s:v rotate=90 turned.mp4");
    let shape = |name: &str| {
        let said = probed(&place, name, "stream=width,height,sample_aspect_ratio");
        let (wide, high) = said[2].split_once(':').unwrap();
        let aspect = wide.parse::<f64>().unwrap() / high.parse::<f64>().unwrap();
        // In thirds or quarters: WebM has the size of what is shown in whole pixels.
        let told = [(4.0 / 3.0, "4:3"), (0.75, "3:4")].into_iter().find(|(known, _)| (aspect - known).abs() < 0.01);
        format!("{} {} {}", said[0], said[1], told.map_or(said[2].as_str(), |(_, told)| told))
    };
    for name in ["drawn.mp4", "drawn.mov", "drawn.mkv", "drawn.webm"] {
        for clip in ["wide.mp4", "wide.mkv"] {
            draw(&place, clip, name);
            assert_eq!(shape(name), "160 120 4:3", "{clip} to {name}");
        }
        draw(&place, "turned.mp4", name);
        let drawn = shape(name);
        if drawn == "160 120 4:3" {
            eprintln!("SKIPPED: this ffmpeg writes no rotation");
            continue;
        }
        assert_eq!(drawn, "120 160 3:4", "turned, to {name}");
    }
}

#[test]
fn the_last_picture_of_an_overlay_video_is_shown_no_longer_than_others() {
    let place = place(1);
    // A pause of a quarter of an hour.
    let pause = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=0.6 -vf settb=1/1000,setpts=N*40+gte(N\\,9)*900000 \
                 -fps_mode passthrough -enc_time_base 1:1000 -c:v libx264 -bf 0 pause.mp4";
    if !ffmpeg(&place.path(""), pause) {
        return;
    }
    for name in ["drawn.mp4", "drawn.mkv", "drawn.webm"] {
        draw(&place, "pause.mp4", name);
        let length: f64 = probed(&place, name, "format=duration")[0].parse().unwrap();
        assert!((length - 900.6).abs() < 0.05, "{name} lasts {length} s");
    }
}

#[test]
fn an_overlay_of_thousands_of_frames_a_second_has_their_times() {
    let place = place(1);
    let fast = "-f lavfi -i testsrc2=size=160x120:rate=4000:duration=0.01 -c:v mjpeg -q:v 3";
    if !ffmpeg(&place.path(""), &format!("{fast} fast.mp4")) {
        return;
    }
    for name in ["drawn.mp4", "drawn.mov", "drawn.m4v"] {
        draw(&place, "fast.mp4", name);
        let times = times(&place, name);
        assert_eq!(times.len(), 40, "{name}");
        let off = (0..).zip(&times).map(|(n, time)| (time - f64::from(n) / 4000.0).abs()).fold(0.0, f64::max);
        assert!(off < 5e-5, "{name}: {times:?}");
    }
    // These count thousandths of a second: slower, but whole.
    for name in ["drawn.mkv", "drawn.webm"] {
        draw(&place, "fast.mp4", name);
        assert_eq!(times(&place, name).len(), 40, "{name}");
    }
}
