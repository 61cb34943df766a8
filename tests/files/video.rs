//! Videos through ffmpeg. Without ffmpeg these tests say that they are skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use image::{GrayImage, Luma};
use kcf_track::media::{Channels, Demand, Item, OpenOptions, Source, Span, VideoOptions, open};
use kcf_track::{Error, FrameBuf};

use crate::pictures;

/// Whether there is an ffmpeg; says so where there is none.
pub fn ffmpeg() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    });
    if !*FOUND {
        eprintln!("SKIPPED: there is no ffmpeg");
    }
    *FOUND
}

/// Runs ffmpeg in a folder.
pub fn make(folder: &Path, arguments: &str) {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-v", "error", "-y"]).args(arguments.split_whitespace());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Twelve gray PNG images of 48x32 pixels with all levels, in a folder `png`.
pub fn images() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("png")).unwrap();
    for number in 0..12 {
        let level = |x: u32, y: u32| Luma([(x * 5 + y * 3 + number * 7) as u8]);
        let picture = GrayImage::from_fn(48, 32, level);
        pictures::save(picture, &folder.path().join(format!("png/{number:04}.png")));
    }
    folder
}

pub fn source(path: impl AsRef<Path>) -> Box<dyn Source> {
    open(path.as_ref(), &OpenOptions::default()).unwrap()
}

pub fn items(source: &dyn Source, demand: impl Into<Demand>) -> Vec<Item> {
    source.stream(source.span(None, None).unwrap(), demand.into()).unwrap().collect()
}

/// The pixels of a frame, row by row.
pub fn bytes(frame: &FrameBuf) -> Vec<u8> {
    let frame = frame.as_frame();
    (0..frame.height()).flat_map(|y| frame.row(y).to_vec()).collect()
}

pub fn pixels(path: impl AsRef<Path>, demand: impl Into<Demand>) -> Vec<Vec<u8>> {
    items(source(path).as_ref(), demand).iter().map(|item| bytes(item.frame.as_ref().unwrap())).collect()
}

pub fn pixels_of(item: &Item) -> Vec<u8> {
    bytes(item.frame.as_ref().unwrap())
}

/// The frames from `first` on, in colour.
fn pixels_from(source: &dyn Source, first: usize) -> Vec<Vec<u8>> {
    let stream = source.stream(Span { first, last: None }, Channels::Color.into()).unwrap();
    stream.map(|item| pixels_of(&item)).collect()
}

#[test]
fn images_a_lossless_video_and_a_pipe_are_the_same_frames() {
    if !ffmpeg() {
        return;
    }
    let folder = images();
    let at = |name: &str| folder.path().join(name);
    make(folder.path(), "-r 25 -i png/%04d.png -c:v ffv1 gray.mkv");
    make(folder.path(), "-r 25 -i png/%04d.png -strict -1 -f yuv4mpegpipe gray.y4m");
    make(folder.path(), "-r 25 -i png/%04d.png -f apng -pix_fmt gray moving.png");
    for channels in [Channels::Luma, Channels::Color] {
        let expected = pixels(at("png"), channels);
        assert_eq!(expected.len(), 12);
        for name in ["gray.mkv", "gray.y4m", "moving.png"] {
            assert_eq!(pixels(at(name), channels), expected, "{name}, {channels:?}");
        }
    }
}

#[test]
fn luma_is_the_same_from_ffmpeg_from_planes_and_beside_colours() {
    if !ffmpeg() {
        return;
    }
    let folder = images();
    let at = |name: &str| folder.path().join(name);
    for form in ["yuv420p", "yuvj420p", "yuv422p", "yuv444p", "yuv420p10le", "nv12"] {
        make(folder.path(), &format!("-r 25 -i png/%04d.png -vf hue=s=1,format={form} -c:v rawvideo clip.nut"));
        let luma = pixels(at("clip.nut"), Channels::Luma);
        let shown = Demand { channels: Channels::Luma, color: true };
        let beside = items(source(at("clip.nut")).as_ref(), shown);
        let besides: Vec<_> = beside.iter().map(|item| bytes(item.frame.as_ref().unwrap())).collect();
        assert!(luma == besides, "{form}: what is shown changes what is tracked");
        assert!(beside.iter().all(|item| bytes(item.color.as_ref().unwrap()).len() == 3 * 48 * 32), "{form}");
        if form.ends_with('p') {
            make(folder.path(), "-i clip.nut -pix_fmt gray -f yuv4mpegpipe gray.y4m");
            assert!(luma == pixels(at("gray.y4m"), Channels::Luma), "{form}: ffmpeg's own gray is another one");
            make(folder.path(), "-i clip.nut -f yuv4mpegpipe clip.y4m");
            assert!(luma == pixels(at("clip.y4m"), Channels::Luma), "{form}: a pipe gives another luma");
        }
    }
}

#[test]
fn every_frame_has_its_time_and_none_is_left_out() {
    if !ffmpeg() {
        return;
    }
    let folder = images();
    // Frame n is shown at n^2 / 50 seconds.
    make(
        folder.path(),
        "-r 25 -i png/%04d.png -vf settb=1/1000,setpts=N*N/50/TB -fps_mode passthrough -enc_time_base 1/1000 \
         -c:v ffv1 vfr.mkv",
    );
    let video = source(folder.path().join("vfr.mkv"));
    let times: Vec<f64> = items(video.as_ref(), Channels::Luma).iter().map(|item| item.timestamp.unwrap()).collect();
    let expected: Vec<f64> = (0..12).map(|n| f64::from(n * n) / 50.0).collect();
    assert_eq!(times.len(), 12);
    assert!(times.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 2e-3), "{times:?}");
    // 16/50 s is the fifth frame's time.
    assert_eq!(video.frames_before(0.319).unwrap(), 4);
    assert_eq!(video.frames_before(0.322).unwrap(), 5);
    assert_eq!((video.frames_before(0.0).unwrap(), video.frames_before(1e9).unwrap()), (0, 12));
    let part = video.stream(video.span(Some(5), Some(7)).unwrap(), Channels::Luma.into()).unwrap();
    let part: Vec<_> = part.map(|item| (item.position, bytes(&item.frame.unwrap()))).collect();
    let all = pixels(folder.path().join("vfr.mkv"), Channels::Luma);
    assert_eq!(part, (5..=7).map(|position| (position, all[position - 1].clone())).collect::<Vec<_>>());
}

/// A video that is read more than once.
fn revisited(path: impl AsRef<Path>) -> Box<dyn Source> {
    let video = VideoOptions { revisited: true, ..VideoOptions::default() };
    open(path.as_ref(), &OpenOptions { video, ..OpenOptions::default() }).unwrap()
}

/// All frames of a file from `first` on: position, time and pixels.
fn seen(source: &dyn Source, first: usize) -> Vec<(usize, Option<f64>, Vec<u8>)> {
    let span = Span { first, last: None };
    let stream = source.stream(span, Channels::Luma.into()).unwrap();
    stream.map(|item| (item.position, item.timestamp, bytes(item.frame.as_ref().unwrap()))).collect()
}

#[test]
fn a_video_is_read_again_from_its_middle_with_the_same_frames_and_times() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let moving = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=5 -pix_fmt yuv420p";
    // Times that vary, and begin late; groups of pictures that lean on others; no key frames but the first; no index;
    // one tick a frame.
    let late = "setpts=(N+N*N/200+70)/25/TB -fps_mode passthrough";
    let open = "open_gop=1:bframes=5:b-pyramid=normal:keyint=20";
    for (form, name) in [
        (format!("-vf {late} -c:v libx264").as_str(), "vary.mkv"),
        ("-c:v libx264 -bf 3 -g 12", "plain.mp4"),
        (&format!("-c:v libx264 -x264opts {open}"), "open.mp4"),
        ("-c:v libx264 -x264opts intra-refresh=1:keyint=30", "refreshed.mp4"),
        ("-c:v mpeg2video -bf 2 -g 15", "stream.ts"),
        ("-c:v libx264 -g 25", "raw.h264"),
        ("-c:v mjpeg", "pictures.avi"),
    ] {
        make(folder.path(), &format!("{moving} {form} {name}"));
        let source = revisited(at(name));
        assert!(!source.begins_at(100), "{name}: nothing is known of it yet");
        let all = seen(source.as_ref(), 1);
        assert_eq!(all.len(), 125, "{name}");
        assert!(source.begins_at(100), "{name}");
        // One that lies within the first group, key frames and their neighbours, the last but one and the last.
        for first in [2, 61, 62, 124, 125] {
            assert!(seen(source.as_ref(), first) == all[first - 1..], "{name} from {first}");
        }
        assert_eq!(seen(source.as_ref(), 126), [], "{name}");
        let part = source.stream(Span { first: 100, last: Some(110) }, Channels::Luma.into()).unwrap();
        assert_eq!(part.map(|item| item.position).collect::<Vec<_>>(), (100..=110).collect::<Vec<_>>(), "{name}");
        let colors = pixels_from(source.as_ref(), 100);
        let whole: Vec<_> = items(source.as_ref(), Channels::Color).iter().skip(99).map(pixels_of).collect();
        assert!(colors == whole, "{name} in colour");
        assert!(pixels_from(source.as_ref(), 100) == whole, "{name} in colour, again");
    }
}

#[test]
fn what_comes_before_the_middle_of_a_video_is_not_read_again() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    make(folder.path(), "-f lavfi -i testsrc2=size=64x48:rate=25:duration=8 -c:v mjpeg clip.avi");
    let source = revisited(&path);
    let all = seen(source.as_ref(), 1);
    assert!(source.begins_at(150) && !source.begins_at(20) && !source.begins_at(300));
    // The first pictures are no pictures any more: who would decode them would fail.
    let mut file = std::fs::read(&path).unwrap();
    let data = file.windows(4).position(|word| word == b"movi").unwrap() + 4;
    let quarter = data + (file.len() - data) / 4;
    let whole = file.clone();
    file[data + 8..quarter].fill(0);
    std::fs::write(&path, &file).unwrap();
    assert!(seen(source.as_ref(), 150) == all[149..]);
    let failed = items(source.as_ref(), Channels::Luma).iter().any(|item| item.frame.is_err());
    assert!(failed, "the first pictures can still be read");
    // Where another video has taken its place, that is what is read, from its beginning.
    std::fs::write(&path, &whole).unwrap();
    make(folder.path(), "-f lavfi -i testsrc=size=64x48:rate=25:duration=8 -c:v mjpeg other.avi");
    std::fs::rename(folder.path().join("other.avi"), &path).unwrap();
    let other = seen(open(&path, &OpenOptions::default()).unwrap().as_ref(), 150);
    assert!(other != all[149..]);
    assert!(seen(source.as_ref(), 150) == other);
}

#[test]
fn frames_that_come_closer_than_the_rate_are_read() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // A frame in fifty comes right after the one before: the rate is guessed as 30 all the same.
    let jitter = "settb=1/1000,setpts=floor((N-if(eq(mod(N\\,50)\\,40)\\,0.9\\,0))*1000/30)";
    make(
        folder.path(),
        &format!(
            "-f lavfi -i testsrc=size=64x48:rate=30:duration=10 -vf {jitter} -fps_mode passthrough \
             -enc_time_base 1:1000 -c:v libx264 -bf 0 jitter.mkv"
        ),
    );
    let source = source(folder.path().join("jitter.mkv"));
    for channels in [Channels::Luma, Channels::Color] {
        let items = items(source.as_ref(), channels);
        assert!(items.len() == 300 && items.iter().all(|item| item.frame.is_ok()), "{channels:?}: {:?}", items.last());
        let times: Vec<f64> = items[38..42].iter().map(|item| item.timestamp.unwrap()).collect();
        assert_eq!(times, [1.266, 1.3, 1.303, 1.366], "{channels:?}");
    }
}

#[test]
fn times_of_a_long_video_are_not_rounded() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // After two frames, three hours and twenty minutes without one.
    let late = "settb=1/25,setpts=if(lt(N\\,2)\\,N\\,N+300000)";
    make(
        folder.path(),
        &format!(
            "-f lavfi -i testsrc=size=64x48:rate=25:duration=1 -vf {late} -fps_mode passthrough \
             -c:v mjpeg long.mov"
        ),
    );
    let source = source(folder.path().join("long.mov"));
    let times: Vec<f64> = seen(source.as_ref(), 1).iter().map(|(_, time, _)| time.unwrap()).collect();
    let expected: Vec<f64> = (0..25).map(|n| f64::from(if n < 2 { n } else { n + 300_000 }) / 25.0).collect();
    assert!(times.iter().zip(&expected).all(|(time, expected)| (time - expected).abs() < 1e-6), "{times:?}");
}

#[test]
fn a_video_that_was_held_upright_is_turned() {
    if !ffmpeg() {
        return;
    }
    let folder = images();
    make(folder.path(), "-r 25 -i png/%04d.png -c:v mpeg4 -q:v 2 flat.mp4");
    make(folder.path(), "-i flat.mp4 -c copy -metadata:s:v rotate=90 turned.mp4");
    let video = source(folder.path().join("turned.mp4"));
    let first = &items(video.as_ref(), Channels::Luma)[0];
    let frame = first.frame.as_ref().unwrap().as_frame();
    if video.size() == Some((48, 32)) {
        eprintln!("SKIPPED: this ffmpeg writes no rotation");
        return;
    }
    assert_eq!((video.size(), (frame.width(), frame.height())), (Some((32, 48)), (32, 48)));
    assert_eq!(video.expected_length(), Some(12));
}

#[test]
fn damage_ends_a_video_or_is_passed_over() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "-f lavfi -i testsrc2=size=160x120:rate=25:duration=4 -c:v mpeg4 -g 5 whole.ts");
    let mut clip = std::fs::read(folder.path().join("whole.ts")).unwrap();
    let middle = clip.len() / 2;
    for (place, byte) in clip[middle..middle + 3000].iter_mut().enumerate() {
        // Packets keep their first byte, or they are passed over unseen.
        if (middle + place) % 188 > 3 {
            *byte = (place * 7919 % 251) as u8;
        }
    }
    let path = folder.path().join("damaged.ts");
    std::fs::write(&path, clip).unwrap();
    let read = |lenient| {
        let video = VideoOptions { lenient, ..VideoOptions::default() };
        let video = open(&path, &OpenOptions { video, ..OpenOptions::default() }).unwrap();
        items(video.as_ref(), Channels::Luma)
    };
    let (strict, lenient) = (read(false), read(true));
    let last = strict.last().unwrap().frame.as_ref().unwrap_err().to_string();
    assert!(last.contains("damaged.ts: ffmpeg stopped after"), "{last}");
    assert!(strict.len() > 20 && strict[..strict.len() - 1].iter().all(|item| item.frame.is_ok()));
    assert!(lenient.len() > strict.len() && lenient.iter().all(|item| item.frame.is_ok()));
}

#[test]
fn what_is_no_video_is_said() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "-f lavfi -i sine=d=0.2 sound.wav");
    std::fs::write(folder.path().join("empty.mp4"), b"").unwrap();
    std::fs::write(folder.path().join("words.mp4"), b"these are words").unwrap();
    std::fs::write(folder.path().join("groundtruth.txt"), "13,45,38,60\n".repeat(200)).unwrap();
    images_of_pages(&folder.path().join("pages.tif"));
    pictures::save(GrayImage::new(4, 4), &folder.path().join("one.png"));
    for (name, words) in [
        ("sound.wav", "there is no video in it"),
        ("empty.mp4", "the file is empty"),
        ("words.mp4", "ffmpeg cannot read it: "),
        ("groundtruth.txt", "this is text, and no video"),
        ("pages.tif", "holds several pages"),
        ("one.png", "this is one picture"),
    ] {
        let error = open(&folder.path().join(name), &OpenOptions::default()).err().unwrap().to_string();
        assert!(error.contains(words) && error.contains(name), "{error}");
    }
    let missing = open(&folder.path().join("none.mp4"), &OpenOptions::default()).err().unwrap();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
}

/// A TIFF of two pages.
fn images_of_pages(path: &PathBuf) {
    let mut file = tiff::encoder::TiffEncoder::new(std::fs::File::create(path).unwrap()).unwrap();
    for level in [10, 20] {
        file.write_image::<tiff::encoder::colortype::Gray8>(2, 2, &[level; 4]).unwrap();
    }
}

#[test]
fn frames_that_change_their_size_are_seen() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, size) in [("a", "64x48"), ("b", "48x64")] {
        make(folder.path(), &format!("-f lavfi -i testsrc2=size={size}:rate=25:duration=0.4 -c:v mjpeg {name}.mjpeg"));
    }
    let joined =
        [std::fs::read(folder.path().join("a.mjpeg")).unwrap(), std::fs::read(folder.path().join("b.mjpeg")).unwrap()];
    std::fs::write(folder.path().join("both.mjpeg"), joined.concat()).unwrap();
    let video = VideoOptions { lenient: true, ..VideoOptions::default() };
    for color in [false, true] {
        let both =
            open(&folder.path().join("both.mjpeg"), &OpenOptions { video: video.clone(), ..OpenOptions::default() })
                .unwrap();
        let items = items(both.as_ref(), Demand { channels: Channels::Luma, color });
        let size = |item: &Item| {
            let frame = item.frame.as_ref().ok()?.as_frame();
            Some((frame.width(), frame.height()))
        };
        assert_eq!(size(&items[0]), Some((64, 48)));
        // Either the new size comes, or that it did: never the new picture in the old size.
        let changed = items.iter().find(|item| size(item) != Some((64, 48))).expect("the change is seen");
        match &changed.frame {
            Ok(frame) => assert_eq!((frame.as_frame().width(), frame.as_frame().height()), (48, 64)),
            Err(Error::FrameSize { .. }) => {}
            Err(error) => assert!(error.to_string().contains("change their size at frame 11"), "{error}"),
        }
        assert_eq!(changed.position, 11);
        // No frame is left out without a word: each of the ten comes, or the last one says why no more do.
        let last = items.last().unwrap();
        let said = last.frame.as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert!(items.len() == 20 || said.contains("change their size at frame 11"), "{} frames, {said}", items.len());
    }
    // What comes before the first frame that is wanted may have any size.
    let both = source(folder.path().join("both.mjpeg"));
    let stream = both.stream(Span { first: 12, last: None }, Channels::Color.into()).unwrap();
    let positions: Vec<_> = stream.map(|item| item.frame.map(|_| item.position).unwrap()).collect();
    assert_eq!(positions, (12..=20).collect::<Vec<_>>());
    // In gray nothing can be read behind a change, wherever the span begins.
    for first in [11, 15] {
        let mut stream = both.stream(Span { first, last: None }, Channels::Luma.into()).unwrap();
        let error = stream.next().unwrap().frame.unwrap_err().to_string();
        assert!(error.contains("change their size at frame 11") && stream.next().is_none(), "{error}");
    }
}

#[test]
fn a_video_that_changes_its_form_is_read_to_its_end() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, form) in [("a.mjpeg", "yuvj422p"), ("b.mjpeg", "yuvj420p")] {
        make(
            folder.path(),
            &format!("-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.4 -pix_fmt {form} -c:v mjpeg {name}"),
        );
    }
    let joined: Vec<u8> =
        ["a.mjpeg", "b.mjpeg", "a.mjpeg"].iter().flat_map(|name| std::fs::read(at(name)).unwrap()).collect();
    std::fs::write(at("all.mjpeg"), joined).unwrap();
    for channels in [Channels::Luma, Channels::Color] {
        let source = source(at("all.mjpeg"));
        let items = items(source.as_ref(), channels);
        assert!(items.len() == 30 && items.iter().all(|item| item.frame.is_ok()), "{channels:?}: {:?}", items.last());
    }
}

#[test]
fn what_reads_a_video_is_ended_with_it() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "-f lavfi -i testsrc2=size=320x240:rate=25:duration=20 -c:v mpeg4 long.mp4");
    let video = source(folder.path().join("long.mp4"));
    let mut frames = video.stream(video.span(None, None).unwrap(), Channels::Luma.into()).unwrap();
    assert!(frames.next().unwrap().frame.is_ok());
    let running = || {
        let processes = Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
        String::from_utf8_lossy(&processes).lines().any(|line| line.contains(&*folder.path().to_string_lossy()))
    };
    assert!(running());
    drop(frames);
    assert!(!running());
    // Ended from aside, the frames end with a reason.
    let frames = video.stream(video.span(None, None).unwrap(), Channels::Luma.into()).unwrap();
    video.cancel();
    let last = frames.last().unwrap();
    assert!(last.frame.unwrap_err().to_string().contains("was killed"));
    std::thread::sleep(Duration::from_millis(10));
    assert!(!running());
}

#[test]
fn a_time_is_that_of_the_frame_also_where_packets_have_none() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let moving = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=2 -pix_fmt yuv420p";
    make(folder.path(), &format!("{moving} -c:v mpeg4 -bf 2 late.avi"));
    make(folder.path(), &format!("{moving} -c:v libx264 plain.mp4"));
    make(folder.path(), "-i plain.mp4 -c copy raw.h264");
    make(folder.path(), "-i plain.mp4 -c copy whole.ts");
    // A recording that begins between two key frames.
    make(folder.path(), &format!("{moving} -c:v libx264 -g 10 -bf 0 -x264opts scenecut=0:repeat-headers=1 many.ts"));
    let many = std::fs::read(at("many.ts")).unwrap();
    std::fs::write(at("within.ts"), &many[many.len() / 4 / 188 * 188..]).unwrap();
    for name in ["late.avi", "plain.mp4", "raw.h264", "whole.ts", "within.ts"] {
        let source = source(at(name));
        let items = items(source.as_ref(), Channels::Luma);
        assert!(items.iter().all(|item| item.frame.is_ok()), "{name}: {:?}", items.last());
        for seconds in [0.0, 0.5, 1.0] {
            let expected = items.iter().take_while(|item| item.timestamp.unwrap() < seconds - 1e-6).count();
            assert_eq!(source.frames_before(seconds - 1e-6).unwrap(), expected, "{name} at {seconds} s");
        }
    }
}

#[test]
fn a_pause_in_a_stream_is_no_mistake() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let rare = "settb=1/1000,setpts=N*15000";
    make(
        folder.path(),
        &format!(
            "-f lavfi -i testsrc=size=64x48:rate=25:duration=0.4 -vf {rare} -fps_mode passthrough \
             -enc_time_base 1:1000 -c:v libx264 -bf 0 rare.ts"
        ),
    );
    let times: Vec<_> =
        seen(source(folder.path().join("rare.ts")).as_ref(), 1).into_iter().map(|(_, time, _)| time).collect();
    assert_eq!(times, (0..10).map(|n| Some(15.0 * f64::from(n))).collect::<Vec<_>>());
}

#[test]
fn complaints_of_any_length_are_no_reason_to_wait() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // What comes before the second key frame cannot be decoded: ffprobe complains of each of the many slices.
    make(
        folder.path(),
        "-f lavfi -i testsrc2=s=320x240:r=50:d=12 -pix_fmt yuv420p -c:v libx264 -preset ultrafast -g 300 \
                         -x264-params slices=4:scenecut=0 -crf 45 all.ts",
    );
    let all = std::fs::read(at("all.ts")).unwrap();
    std::fs::write(at("cut.ts"), &all[188 * 201..]).unwrap();
    let begun = std::time::Instant::now();
    let options = VideoOptions { lenient: true, ..VideoOptions::default() };
    let source = open(&at("cut.ts"), &OpenOptions { video: options, ..OpenOptions::default() }).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert!(items(source.as_ref(), Channels::Luma).len() >= 200);
}

#[test]
fn what_comes_through_a_named_pipe_is_a_stream_of_frames() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("frames.y4m");
    let made = Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: there is no mkfifo");
        return;
    }
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nab")
    });
    let source = source(&pipe);
    assert_eq!(items(source.as_ref(), Channels::Luma).len(), 1);
    writer.join().unwrap().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn names_that_are_no_text_are_read() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "-f lavfi -i testsrc=size=64x48:rate=25:duration=0.2 -c:v ffv1 clip.mkv");
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff.mkv");
    std::fs::rename(folder.path().join("clip.mkv"), folder.path().join(odd)).unwrap();
    assert_eq!(pixels(folder.path().join(odd), Channels::Luma).len(), 5);
}
