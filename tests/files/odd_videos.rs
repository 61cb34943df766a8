//! Videos that are longer than memory, or whose packets are no frames. Without ffmpeg these tests say that they are
//! skipped.

use std::fs::File;
use std::process::{Command, Stdio};

use kcf_track::media::{Channels, OpenOptions, Span, VideoOptions, open};

use crate::video::{ffmpeg, images, items, make, source};

#[test]
fn a_video_of_any_length_is_opened_without_being_read_whole() {
    if !ffmpeg() {
        return;
    }
    let folder = images();
    make(folder.path(), "-r 25 -i png/%04d.png -c:v mpeg4 -movflags faststart clip.mp4");
    let clip = folder.path().join("clip.mp4");
    // The second one is longer than any image may be. What is behind the video is a hole, and takes no room.
    for bytes in [1 << 28, 1 << 31] {
        File::options().write(true).open(&clip).unwrap().set_len(bytes).unwrap();
        let mut opened = None;
        let memory = allocation_counter::measure(|| opened = Some(source(&clip)));
        assert!(memory.bytes_max < 1 << 22, "{memory:?}");
        let opened = opened.unwrap();
        let frames = opened.stream(opened.span(None, None).unwrap(), Channels::Luma.into()).unwrap();
        assert_eq!(frames.filter(|item| item.frame.is_ok()).count(), 12);
    }
}

#[test]
fn frames_that_are_never_shown_do_not_shift_times() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Only an encoder that knows what is to come makes frames that others lean on and that nobody sees.
    for (pass, to) in [("1", "-f null -"), ("2", "clip.webm")] {
        let moving = "-v error -y -f lavfi -i testsrc2=size=160x120:rate=25:duration=4 -c:v libvpx -b:v 200k";
        let hidden = "-auto-alt-ref 1 -lag-in-frames 16 -pass";
        let mut command = Command::new("ffmpeg");
        command.args(format!("{moving} {hidden} {pass} {to}").split(' ')).current_dir(folder.path());
        if !command.stdin(Stdio::null()).status().unwrap().success() {
            eprintln!("SKIPPED: this ffmpeg makes no VP8");
            return;
        }
    }
    let clip = source(folder.path().join("clip.webm"));
    let shown: Vec<f64> = clip
        .stream(clip.span(None, None).unwrap(), Channels::Luma.into())
        .unwrap()
        .map(|item| item.timestamp.unwrap())
        .collect();
    assert_eq!(shown.len(), 100);
    for seconds in [0.0, 0.5, 2.0, 3.2] {
        let expected = shown.iter().filter(|&&time| time < seconds).count();
        assert_eq!(clip.frames_before(seconds).unwrap(), expected, "{seconds} s");
    }
}

#[test]
fn an_end_that_no_count_reaches_is_the_end_of_the_video() {
    if !ffmpeg() {
        return;
    }
    let folder = images();
    make(folder.path(), "-r 25 -i png/%04d.png -c:v ffv1 clip.mkv");
    let clip = source(folder.path().join("clip.mkv"));
    for last in [i64::MAX as usize, i64::MAX as usize + 1, usize::MAX] {
        let frames = clip.stream(Span { first: 1, last: Some(last) }, Channels::Luma.into()).unwrap();
        assert_eq!(frames.filter(|item| item.frame.is_ok()).count(), 12, "{last}");
    }
}

#[test]
fn a_file_that_ends_within_a_picture_is_damaged_where_ffmpeg_does_not_say_so_either() {
    if !ffmpeg() {
        return;
    }
    let folder = images();
    make(folder.path(), "-r 25 -i png/%04d.png clip.gif");
    make(folder.path(), "-r 25 -i png/%04d.png -pix_fmt yuv420p10le -strict -1 clip.y4m");
    let lenient = VideoOptions { lenient: true, ..VideoOptions::default() };
    let lenient = OpenOptions { video: lenient, ..OpenOptions::default() };
    for name in ["clip.gif", "clip.y4m"] {
        let clip = folder.path().join(name);
        assert!(items(source(&clip).as_ref(), Channels::Luma).iter().all(|item| item.frame.is_ok()), "{name}");
        let whole = std::fs::read(&clip).unwrap();
        std::fs::write(&clip, &whole[..whole.len() / 2]).unwrap();
        let read = items(source(&clip).as_ref(), Channels::Luma);
        let (last, before) = read.split_last().unwrap();
        assert!(before.iter().all(|item| item.frame.is_ok()) && before.len() >= 3, "{name}: {read:?}");
        let said = last.frame.as_ref().unwrap_err().to_string();
        assert!(said.contains(&format!("cut off within a picture; all {} frames", before.len())), "{name}: {said}");
        let suffered = items(open(&clip, &lenient).unwrap().as_ref(), Channels::Luma);
        assert!(suffered.iter().all(|item| item.frame.is_ok()) && suffered.len() == before.len(), "{name}");
    }
}
