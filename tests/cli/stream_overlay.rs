//! Overlay videos: colours, frame times, pixel shape, and failures of ffmpeg.

use std::process::Command;

use predicates::str::contains;

use crate::ffmpeg::ffmpeg;
use crate::helper::{Place, place, run};
use crate::stream::INIT;

/// ffprobe's values of the first video of a file, one per line.
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

/// A pixel of the first frame, away from the box and the caption, as ffmpeg decodes it.
fn pixel(place: &Place, name: &str) -> Vec<u8> {
    let mut decode = Command::new("ffmpeg");
    decode.args(["-v", "error", "-i"]).arg(place.path(name));
    let output = decode.args(["-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]).output().unwrap();
    output.stdout[3 * (60 * 160 + 150)..][..3].to_vec()
}

#[test]
fn colours_are_bt709_and_tagged() {
    let place = place(1);
    // One colour whose BT.601 and BT.709 forms differ by far more than the tolerance.
    let clip = "-f lavfi -i color=c=0x20C040:size=160x120:rate=25:duration=0.2 \
                -vf format=rgb24,drawbox=x=45:y=35:w=10:h=12:color=white:t=fill,format=rgb24,scale=out_color_matrix=bt709,format=yuv420p -colorspace bt709 -color_primaries bt709 \
                -color_trc bt709 -c:v libx264 -crf 5 clip.mp4";
    if !ffmpeg(&place.path(""), clip) {
        return;
    }
    draw(&place, "clip.mp4", "drawn");
    for name in ["drawn.mp4", "drawn.mkv", "drawn.webm"] {
        draw(&place, "clip.mp4", name);
        let tags = probed(&place, name, "stream=color_space,color_transfer,color_primaries,color_range");
        assert_eq!(tags, ["tv", "bt709", "bt709", "bt709"], "{name}");
        let (expected, found) = (pixel(&place, "drawn/000001.png"), pixel(&place, name));
        let distance = found.iter().zip(&expected).map(|(&a, &b)| a.abs_diff(b)).max();
        assert!(distance < Some(6), "{name}: {found:?}, not {expected:?}");
    }
}

#[test]
fn pixels_keep_their_shape() {
    let place = place(1);
    let wide = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=0.2 -vf setsar=4/3 -pix_fmt yuv420p";
    if !ffmpeg(&place.path(""), &format!("{wide} -c:v libx264 wide.mp4")) {
        return;
    }
    for name in ["drawn.mp4", "drawn.mkv"] {
        draw(&place, "wide.mp4", name);
        let found = probed(&place, name, "stream=width,height,sample_aspect_ratio");
        assert_eq!(found, ["160", "120", "4:3"], "{name}");
    }
}

#[test]
fn a_video_of_constant_rate_keeps_its_frames_and_a_pause_its_length() {
    let place = place(1);
    let clip = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=0.6";
    if !ffmpeg(&place.path(""), &format!("{clip} -c:v libx264 clip.mp4")) {
        return;
    }
    // Frame 9 comes two seconds late.
    let pause = "-vf settb=1/1000,setpts=N*40+gte(N\\,9)*2000 -fps_mode passthrough -enc_time_base 1:1000 -bf 0";
    ffmpeg(&place.path(""), &format!("{clip} {pause} -c:v libx264 pause.mp4"));
    // The last six frames come four times as fast.
    let burst = pause.replace("N*40+gte(N\\,9)*2000", "if(lt(N\\,9)\\,N*40\\,270+N*10)");
    ffmpeg(&place.path(""), &format!("{clip} {burst} -c:v libx264 burst.mp4"));
    draw(&place, "burst.mp4", "burst.mkv");
    let length: f64 = probed(&place, "burst.mkv", "format=duration")[0].parse().unwrap();
    assert!((0.4..0.53).contains(&length), "the burst lasts {length} s");
    // Frames every half second, and then 25 a second: none is left out.
    let idle = pause.replace("gte(N\\,9)*2000", "min(N\\,5)*460");
    ffmpeg(&place.path(""), &format!("{clip} {idle} -c:v libx264 idle.mp4"));
    draw(&place, "idle.mp4", "idle.mkv");
    let rate = &probed(&place, "idle.mkv", "stream=avg_frame_rate")[0];
    assert!(["25/1", "50/1"].contains(&rate.as_str()), "{rate}");
    // The second frame is early, as those of browsers' recordings can be.
    let early = pause.replace("N*40+gte(N\\,9)*2000", "N*40-eq(N\\,1)*38");
    ffmpeg(&place.path(""), &format!("{clip} {early} -c:v libvpx early.webm"));
    draw(&place, "early.webm", "early.mkv");
    assert_eq!(probed(&place, "early.mkv", "stream=nb_read_frames"), ["15"]);
    // A pause as long as the rest halves the mean rate.
    let half = pause.replace("2000", "600");
    ffmpeg(&place.path(""), &format!("{clip} {half} -c:v libx264 half.mp4"));
    draw(&place, "half.mp4", "half.mkv");
    assert_eq!(probed(&place, "half.mkv", "stream=avg_frame_rate")[0], "25/1");
    for name in ["drawn.mp4", "drawn.webm"] {
        draw(&place, "clip.mp4", name);
        assert_eq!(probed(&place, name, "stream=nb_read_frames"), ["15"], "{name}");
        draw(&place, "pause.mp4", name);
        let length: f64 = probed(&place, name, "format=duration")[0].parse().unwrap();
        assert!((length - 2.6).abs() < 0.1, "{name} lasts {length} s");
    }
}

#[test]
fn an_overlay_keeps_the_sound_and_the_tags_of_hdr() {
    let place = place(1);
    // The first second is silent.
    let clip = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=2 -f lavfi -i sine=frequency=440:duration=2 \
                -af volume=gte(t\\,1):eval=frame \
                -vf format=yuv420p10le -colorspace bt2020nc -color_primaries bt2020 -color_trc smpte2084 \
                -c:v libx264 -c:a aac clip.mp4";
    if !ffmpeg(&place.path(""), clip) {
        return;
    }
    let sound = |name: &str| {
        let mut command = Command::new("ffprobe");
        command.args(["-v", "error", "-select_streams", "a", "-of", "default=nk=1:nw=1"]);
        let output =
            command.args(["-show_entries", "stream=codec_name,duration"]).arg(place.path(name)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (codec, duration) = text.trim().split_once('\n').unwrap_or_else(|| panic!("{name} has no sound: {text}"));
        (codec.to_owned(), duration.parse().unwrap_or(f64::NAN))
    };
    let drawn = |name: &str, more: &[&str]| {
        let mut run = run([place.path("clip.mp4")]);
        run.args(["--init", INIT, "-p", "paper", "-q", "--overlay"]).arg(place.path(name)).args(more);
        run.assert().success();
    };
    drawn("all.mp4", &["--crop", "64x48", "--blur"]);
    assert_eq!(probed(&place, "all.mp4", "stream=width,height,nb_read_frames"), ["64", "48", "50"]);
    let tags = probed(&place, "all.mp4", "stream=color_space,color_transfer,color_primaries");
    assert_eq!(tags, ["bt2020nc", "smpte2084", "bt2020"]);
    drawn("part.mp4", &["--start", "26", "--end", "45", "--style", "box"]);
    drawn("other.mkv", &["--style", "none", "--pixelate=rest"]);
    let (all, part) = (sound("all.mp4"), sound("part.mp4"));
    assert!(all.0 == "aac" && (all.1 - 2.0).abs() < 0.1, "{all:?}");
    assert!((part.1 - 0.8).abs() < 0.15, "a part of the frames has its part of the sound: {part:?}");
    for (name, is_silent) in [("all.mp4", true), ("part.mp4", false)] {
        let mut decode = Command::new("ffmpeg");
        decode.args(["-v", "error", "-i"]).arg(place.path(name)).args(["-t", "0.5", "-f", "s16le", "-"]);
        let samples = decode.output().unwrap().stdout;
        let loudest =
            samples.chunks_exact(2).map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]]).unsigned_abs()).max();
        assert!(loudest.is_some_and(|loudest| (loudest < 500) == is_silent), "{name}: {loudest:?}");
    }
    assert!(!probed(&place, "other.mkv", "stream=codec_name").is_empty() && !sound("other.mkv").0.is_empty());
    // The colours pass through the decoder and the encoder unchanged.
    drawn("none.mp4", &["--style", "none"]);
    let distance = pixel(&place, "none.mp4").iter().zip(pixel(&place, "clip.mp4")).map(|(&a, b)| a.abs_diff(b)).max();
    assert!(distance < Some(12), "{distance:?}");

    // Sound that ends before the pictures, and sound that begins before them.
    for (name, cut) in [
        ("short.mp4", "-i clip.mp4 -af atrim=end=1 -c:v copy"),
        ("late.mkv", "-itsoffset 0.5 -i clip.mp4 -i clip.mp4 -map 0:v -map 1:a -c copy"),
    ] {
        assert!(ffmpeg(&place.path(""), &format!("{cut} {name}")));
        run([place.path(name)])
            .args(["--init", INIT, "-p", "paper", "-q", "--overlay"])
            .arg(place.path("drawn.mp4"))
            .assert()
            .success();
        assert_eq!(probed(&place, "drawn.mp4", "stream=nb_read_frames"), ["50"], "{name}");
        let drawn = sound("drawn.mp4");
        assert!((drawn.1 - 2.0).abs() < 0.1, "{name}: {drawn:?}");
    }

    // Two tracks, of which only the first can be decoded; then none can.
    assert!(ffmpeg(&place.path(""), "-i clip.mp4 -map 0:v -map 0:a -map 0:a -c copy two.mp4"));
    let mut bytes = std::fs::read(place.path("two.mp4")).unwrap();
    for (name, is_drawn) in [("one.mp4", true), ("none.mp4", false)] {
        for known in [b"mp4a", b"esds"] {
            let at = bytes.windows(4).rposition(|code| code == known).unwrap();
            bytes[at..at + 4].copy_from_slice(b"xxxx");
        }
        std::fs::write(place.path(name), &bytes).unwrap();
        let mut run = run([place.path(name)]);
        let ended = run.args(["--init", INIT, "-p", "paper", "-q", "--out"]).arg(place.path("drawn.mkv")).assert();
        match is_drawn {
            true => assert!(ended.success().get_output().stderr.is_empty() && !sound("drawn.mkv").0.is_empty()),
            false => _ = ended.code(1).stderr(contains("none.mp4: ffmpeg cannot convert its sound")),
        }
    }

    let wrong = run([place.path("clip.mp4")]).args(["--init", INIT, "--blur", "--json", "-"]).assert().code(2);
    wrong.stderr(contains("need --overlay"));
    run([place.path("clip.mp4")]).args(["--init", INIT, "--crop", "12"]).assert().code(2).stderr(contains("640x360"));
}

#[test]
fn a_recording_that_begins_between_keyframes_keeps_its_sound_in_time() {
    let place = place(1);
    // It can be shown from 1.0 s on; the sound begins at 1.5 s.
    let clip = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=2.4 -f lavfi -i sine=frequency=440:duration=2.4 \
                -af volume=gte(t\\,1.5):eval=frame -c:v libx264 -g 25 -sc_threshold 0 -bf 0 -c:a mp2 all.ts";
    if !ffmpeg(&place.path(""), clip) {
        return;
    }
    let bytes = std::fs::read(place.path("all.ts")).unwrap();
    std::fs::write(place.path("cut.ts"), &bytes[bytes.len() / 188 / 5 * 188..]).unwrap();
    draw(&place, "cut.ts", "cut.mp4");
    let mut decode = Command::new("ffmpeg");
    decode.args(["-v", "error", "-i"]).arg(place.path("cut.mp4"));
    let samples = decode.args(["-ac", "1", "-ar", "8000", "-f", "s16le", "-"]).output().unwrap().stdout;
    let mut levels = samples.chunks_exact(2).map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]]).unsigned_abs());
    let begin = levels.position(|level| level > 1000).unwrap() as f64 / 8000.0;
    assert!((begin - 0.5).abs() < 0.07, "{begin}");
}
