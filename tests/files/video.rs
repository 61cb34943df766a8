//! Videos through ffmpeg. Without ffmpeg these tests are skipped.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use image::{GrayImage, Luma};
use kcf_track::Channels;
use kcf_track::cancel::CancelToken;
use kcf_track::media::{Demand, Item, OpenOptions, Prefetch, Source, Span, open};
use kcf_track::{Error, FrameBuf};
use tempfile::TempDir;

use crate::ffmpeg::ffmpeg;
use crate::pictures;

/// A temporary folder, or none where there is no ffmpeg.
pub fn folder() -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    ffmpeg(folder.path(), "-version").then_some(folder)
}

/// Runs ffmpeg in a folder.
pub fn make(folder: &Path, arguments: &str) {
    assert!(ffmpeg(folder, arguments));
}

/// Twelve gray PNG images of 48x32 pixels with all levels, in a folder `png`.
fn images() -> Option<TempDir> {
    let folder = folder()?;
    std::fs::create_dir(folder.path().join("png")).unwrap();
    for number in 0..12 {
        let level = |x: u32, y: u32| Luma([(x * 5 + y * 3 + number * 7) as u8]);
        let picture = GrayImage::from_fn(48, 32, level);
        pictures::save(picture, &folder.path().join(format!("png/{number:04}.png")));
    }
    Some(folder)
}

fn opened(path: impl AsRef<Path>, lenient: bool) -> kcf_track::Result<Box<dyn Source>> {
    let options = OpenOptions { lenient, ..OpenOptions::default() };
    open(path.as_ref(), &options, &CancelToken::default())
}

pub fn source(path: impl AsRef<Path>) -> Box<dyn Source> {
    opened(path, false).unwrap()
}

pub fn items(source: &dyn Source, demand: impl Into<Demand>) -> Vec<Item> {
    source.stream(Span::default(), demand.into(), &CancelToken::default()).unwrap().collect()
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

#[test]
fn images_video_and_pipe_give_the_same_frames() {
    let Some(folder) = images() else { return };
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
fn luma_does_not_depend_on_the_reader_or_on_colours() {
    let Some(folder) = images() else { return };
    let at = |name: &str| folder.path().join(name);
    for form in ["yuv420p", "yuvj420p", "yuv422p", "yuv444p", "yuv420p10le", "nv12"] {
        make(folder.path(), &format!("-r 25 -i png/%04d.png -vf hue=s=1,format={form} -c:v rawvideo clip.nut"));
        let luma = pixels(at("clip.nut"), Channels::Luma);
        let shown = Demand { color: true, ..Channels::Luma.into() };
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
fn luma_that_is_tagged_as_full_is_not_stretched() {
    let Some(folder) = images() else { return };
    let expected = pixels(folder.path().join("png"), Channels::Luma);
    for form in ["yuv420p", "yuv444p"] {
        let full =
            format!("-r 25 -i png/%04d.png -vf scale=out_range=pc,format={form} -color_range pc -c:v ffv1 full.mkv");
        make(folder.path(), &full);
        assert!(pixels(folder.path().join("full.mkv"), Channels::Luma) == expected, "{form}");
    }
}

#[test]
fn every_frame_has_its_time() {
    let Some(folder) = images() else { return };
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
    let part = video.stream((5..=7).into(), Channels::Luma.into(), &CancelToken::default()).unwrap();
    let part: Vec<_> = part.map(|item| (item.position, bytes(&item.frame.unwrap()))).collect();
    let all = pixels(folder.path().join("vfr.mkv"), Channels::Luma);
    assert_eq!(part, (5..=7).map(|position| (position, all[position - 1].clone())).collect::<Vec<_>>());
}

#[test]
fn frames_after_a_seek_are_those_of_a_whole_pass() {
    let Some(folder) = folder() else { return };
    let picture = "-f lavfi -i testsrc2=s=96x64:r=25:d=6";
    for (name, codec) in [
        ("b.mp4", "-c:v libx264 -g 30 -bf 3"),
        ("refresh.mp4", "-c:v libx264 -g 30 -x264-params intra-refresh=1"),
        ("old.avi", "-c:v mpeg4 -g 40 -bf 2"),
        ("late.ts", "-c:v mpeg2video -g 20 -bf 2 -output_ts_offset 7"),
        ("variable.mkv", "-vf select='not(eq(mod(n,5),3))' -fps_mode vfr -c:v libx264 -g 30"),
        ("keyless.mkv", "-c:v libx264 -g 1000"),
    ] {
        make(folder.path(), &format!("{picture} {codec} {name}"));
        let source = source(folder.path().join(name));
        let all = items(source.as_ref(), Channels::Luma);
        let facts = |item: &Item| (item.position, item.timestamp, pixels_of(item));
        for first in [70, 31] {
            let span = Span { first, last: Some(first + 5) };
            let some = source.stream(span, Channels::Luma.into(), &CancelToken::default()).unwrap();
            let some: Vec<_> = some.collect();
            assert_eq!(some.len(), 6, "{name} from {first}");
            assert!(some.iter().map(facts).eq(all[first - 1..][..6].iter().map(facts)), "{name} from {first}");
            let smaller = Demand { side: Some(48), ..Channels::Color.into() };
            let small = source.stream(span, smaller, &CancelToken::default()).unwrap();
            let small = small.map(|item| (item.position, item.frame.unwrap().into_bytes().len()));
            assert!(small.eq((first..first + 6).map(|position| (position, 48 * 32 * 3))), "{name} from {first}");
        }
        // Of a file that was not read before, the packets tell where the frame lies.
        let again = self::source(folder.path().join(name));
        let first = all.len() - 3;
        let some = again.stream((first..=all.len()).into(), Channels::Luma.into(), &CancelToken::default()).unwrap();
        assert!(some.map(|item| facts(&item)).eq(all[first - 1..].iter().map(facts)), "{name}, not read before");
    }
}

#[test]
fn reads_frames_closer_than_the_nominal_rate() {
    let Some(folder) = folder() else { return };
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
fn damage_ends_a_video_unless_lenient() {
    let Some(folder) = folder() else { return };
    // The damage is further away than ffmpeg can be ahead.
    make(folder.path(), "-f lavfi -i testsrc2=size=160x120:rate=25:duration=8 -c:v mpeg4 -g 5 whole.ts");
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
        let video = opened(&path, lenient).unwrap();
        items(video.as_ref(), Channels::Luma)
    };
    let (strict, lenient) = (read(false), read(true));
    let last = strict.last().unwrap().frame.as_ref().unwrap_err().to_string();
    assert!(last.contains("damaged.ts: ffmpeg: ") && last.contains("(after "), "{last}");
    assert!(strict.len() > 20 && strict[..strict.len() - 1].iter().all(|item| item.frame.is_ok()));
    assert!(lenient.len() > strict.len() && lenient.iter().all(|item| item.frame.is_ok()));
}

#[test]
fn frames_of_another_size_do_not_shift_those_after_them() {
    let Some(folder) = folder() else { return };
    let sizes = ["160x120", "80x60", "160x120"];
    let all = sizes.iter().flat_map(|size| {
        make(folder.path(), &format!("-f lavfi -i testsrc2=size={size}:rate=25:d=0.2 -c:v mjpeg -f mjpeg part"));
        std::fs::read(folder.path().join("part")).unwrap()
    });
    let path = folder.path().join("sizes.mjpeg");
    std::fs::write(&path, all.collect::<Vec<_>>()).unwrap();
    let video = opened(&path, true).unwrap();
    for side in [None, Some(1920)] {
        let items = items(video.as_ref(), Demand { side, ..Channels::Luma.into() });
        let read: Vec<_> = items.iter().filter(|item| item.frame.is_ok()).map(pixels_of).collect();
        assert_eq!((items.len(), &read[..5]), (15, &read[5..]), "{side:?}");
    }
}

#[test]
fn ffmpeg_ends_with_its_stream() {
    let Some(folder) = folder() else { return };
    make(folder.path(), "-f lavfi -i testsrc2=size=320x240:rate=25:duration=20 -c:v mpeg4 long.mp4");
    let video = source(folder.path().join("long.mp4"));
    let cancel = CancelToken::default();
    let start = || Prefetch::open(video.as_ref(), Span::default(), Channels::Luma, &cancel).unwrap();
    let mut frames = start();
    assert!(frames.next().unwrap().frame.is_ok());
    let running = || {
        let processes = Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
        String::from_utf8_lossy(&processes).lines().any(|line| line.contains(&*folder.path().to_string_lossy()))
    };
    assert!(running());
    drop(frames);
    assert!(!running());
    let mut frames = start();
    cancel.cancel();
    assert!(frames.next().is_none());
    drop(frames);
    assert!(!running());
}

#[test]
#[cfg(target_os = "linux")]
fn reads_names_that_are_not_utf8() {
    let Some(folder) = folder() else { return };
    make(folder.path(), "-f lavfi -i testsrc=size=64x48:rate=25:duration=0.2 -c:v ffv1 clip.mkv");
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff.mkv");
    std::fs::rename(folder.path().join("clip.mkv"), folder.path().join(odd)).unwrap();
    assert_eq!(pixels(folder.path().join(odd), Channels::Luma).len(), 5);
}

/// A picture of 64x48 bytes, turned by a quarter.
fn rotated(flat: &[u8], clockwise: bool) -> Vec<u8> {
    let at = |x: usize, y: usize| if clockwise { flat[(47 - x) * 64 + y] } else { flat[x * 64 + 63 - y] };
    (0..64).flat_map(|y| (0..48).map(move |x| at(x, y))).collect()
}

#[test]
fn rotated_luma_has_the_bytes_of_the_flat_picture() {
    let Some(folder) = folder() else { return };
    let at = |name: &str| folder.path().join(name);
    let moving = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.2";
    for form in ["-pix_fmt yuv422p -c:v libx264", "-pix_fmt yuvj422p -c:v mjpeg", "-pix_fmt yuv444p -c:v libx264"] {
        make(folder.path(), &format!("{moving} {form} flat.mov"));
        let flat = pixels(at("flat.mov"), Channels::Luma);
        let mut sides = Vec::new();
        for degrees in [90, 270] {
            make(folder.path(), &format!("-i flat.mov -c copy -metadata:s:v rotate={degrees} turned.mov"));
            let video = source(at("turned.mov"));
            if video.info().size == Some((64, 48)) {
                eprintln!("SKIPPED: this ffmpeg writes no rotation");
                return;
            }
            let luma = pixels(at("turned.mov"), Channels::Luma);
            let side = [true, false].map(|clockwise| {
                let expected: Vec<_> = flat.iter().map(|picture| rotated(picture, clockwise)).collect();
                luma == expected
            });
            assert!(side[0] != side[1], "{form}, {degrees}: other bytes than the flat picture");
            sides.push(side[0]);
            let beside = items(video.as_ref(), Demand { color: true, ..Channels::Luma.into() });
            assert!(beside.iter().map(pixels_of).eq(luma), "{form}, {degrees}: what is shown changes what is tracked");
        }
        assert!(sides[0] != sides[1], "{form}: both ways are one");
    }
}

#[test]
fn leading_pictures_without_reference_are_not_damage() {
    let Some(folder) = folder() else { return };
    // The rest of a stream with open groups of pictures, from a key frame on.
    make(
        folder.path(),
        "-f lavfi -i testsrc2=size=160x120:rate=25:duration=4 -pix_fmt yuv420p -c:v libx264 -x264opts \
         open-gop=1:keyint=20:min-keyint=20:bframes=3:scenecut=0:b-adapt=0 whole.ts",
    );
    make(folder.path(), "-i whole.ts -c copy -f segment -segment_times 1 part%d.ts");
    let items = items(source(folder.path().join("part1.ts")).as_ref(), Channels::Luma);
    let read = items.iter().filter(|item| item.frame.is_ok()).count();
    assert_eq!((read, items.len()), (60, 60));
}

#[test]
fn an_address_gives_the_frames_of_the_file() {
    let Some(folder) = folder() else { return };
    let path = folder.path().join("late.mkv");
    make(
        folder.path(),
        "-f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -pix_fmt yuv420p -c:v libx264 -bf 3 -output_ts_offset 10 late.mkv",
    );
    let bytes = std::fs::read(&path).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    // ffprobe may close the connection before the end.
    std::thread::spawn(move || listener.incoming().for_each(|peer| _ = peer.unwrap().write_all(&bytes)));
    let read = |source: Box<dyn Source>| -> Vec<_> {
        items(source.as_ref(), Channels::Color).iter().map(|item| (item.timestamp, pixels_of(item))).collect()
    };
    let there = read(source(&address));
    assert!(there.len() == 25 && there == read(source(&path)));
}

#[test]
fn a_file_url_is_the_file() {
    let Some(folder) = folder() else { return };
    // Percent signs are part of the name, as for ffmpeg.
    let path = folder.path().join("a%20b.mkv");
    make(folder.path(), "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.4 -c:v ffv1 clip.mkv");
    std::fs::rename(folder.path().join("clip.mkv"), &path).unwrap();
    let expected = pixels(&path, Channels::Luma);
    for given in [format!("file://{}", path.display()), format!("file:{}", path.display())] {
        let video = source(&given);
        let info = video.info();
        assert!(!info.live && info.name == "a%20b" && info.expected_length == Some(10), "{given}");
        assert_eq!(info.inputs, std::slice::from_ref(&path), "{given}: it could be written over");
        assert!(pixels(&given, Channels::Luma) == expected, "{given}");
    }
    std::fs::create_dir(folder.path().join("png")).unwrap();
    make(folder.path(), "-i a%20b.mkv png/%04d.png");
    assert_eq!(source(format!("file://{}/png", folder.path().display())).info().length, Some(10));
    let missing = opened(format!("file://{}/none.mp4", folder.path().display()), false);
    assert!(matches!(missing.err().unwrap(), Error::Io { .. }));
}

#[test]
fn refuses_what_is_not_a_video() {
    let Some(folder) = folder() else { return };
    make(folder.path(), "-f lavfi -i sine=d=0.2 sound.wav");
    std::fs::write(folder.path().join("empty.mp4"), b"").unwrap();
    std::fs::write(folder.path().join("words.mp4"), b"these are words").unwrap();
    std::fs::write(folder.path().join("groundtruth.txt"), "13,45,38,60\n".repeat(200)).unwrap();
    pictures::save(GrayImage::new(4, 4), &folder.path().join("one.png"));
    for (name, words) in [
        ("sound.wav", "there is no video in it"),
        ("empty.mp4", "ffprobe: "),
        ("words.mp4", "ffprobe: "),
        ("groundtruth.txt", "there is no video in it"),
        ("one.png", "this is one picture"),
    ] {
        let error = opened(folder.path().join(name), false).err().unwrap().to_string();
        assert!(error.contains(words) && error.contains(name), "{error}");
    }
    let missing = opened(folder.path().join("none.mp4"), false).err().unwrap();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
}

#[test]
fn a_change_of_size_ends_the_video() {
    let Some(folder) = folder() else { return };
    for (name, size) in [("a", "64x48"), ("b", "48x64")] {
        make(folder.path(), &format!("-f lavfi -i testsrc2=size={size}:rate=25:duration=0.4 -c:v mjpeg {name}.mjpeg"));
    }
    let joined = ["a.mjpeg", "b.mjpeg"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    std::fs::write(folder.path().join("both.mjpeg"), joined.concat()).unwrap();
    for (channels, color) in [(Channels::Luma, false), (Channels::Luma, true), (Channels::Color, false)] {
        let items = items(source(folder.path().join("both.mjpeg")).as_ref(), Demand { color, ..channels.into() });
        let (last, before) = items.split_last().unwrap();
        assert!(before.len() == 10 && before.iter().all(|item| item.frame.is_ok()), "{items:?}");
        assert!(matches!(last.frame, Err(Error::FrameSize { .. })), "{:?}", last.frame);
    }
    // Other pixels of the same size are read from the first frame on, or from one that is sought.
    let other = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=1.2 -pix_fmt yuvj422p -c:v mjpeg";
    make(folder.path(), &format!("{other} b.mjpeg -y -pix_fmt yuvj420p -c:v mjpeg a.mjpeg"));
    let joined = ["a.mjpeg", "b.mjpeg"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    std::fs::write(folder.path().join("both.mjpeg"), joined.concat()).unwrap();
    let both = source(folder.path().join("both.mjpeg"));
    for (first, count, fails) in [(5, 27, true), (35, 1, true), (1, 60, false), (40, 21, false), (5, 27, true)] {
        let span = Span { first, last: None };
        let items: Vec<_> = both.stream(span, Channels::Luma.into(), &CancelToken::default()).unwrap().collect();
        let last = items.last().unwrap();
        assert_eq!((items.len(), last.frame.is_err()), (count, fails), "{:?}", last.frame);
    }
}

#[test]
fn a_file_that_names_other_files_is_refused() {
    let Some(folder) = folder() else { return };
    make(folder.path(), "-f lavfi -i testsrc2=size=64x48:rate=25:d=0.4 -c:v mpeg4 clip.ts");
    make(folder.path(), "-f lavfi -i testsrc2=size=64x48:rate=25:d=0.4 x%03d.tga");
    let at = |name: &str| folder.path().join(name);
    let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.4,\nclip.ts\n#EXT-X-ENDLIST\n";
    for name in ["list.m3u8", "list.mp4"] {
        std::fs::write(at(name), playlist).unwrap();
    }
    std::fs::write(at("list.mkv"), "ffconcat version 1.0\nfile clip.ts\n").unwrap();
    std::fs::copy(at("x001.tga"), at("x%03d.tga")).unwrap();
    for name in ["list.m3u8", "list.mp4", "list.mkv", "x%03d.tga"] {
        let error = opened(at(name), false).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("playlist"), "{error}");
    }
    // An address may be a playlist, but not one of files of this machine.
    let secret =
        format!("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.4,\nfile://{}\n#EXT-X-ENDLIST\n", at("clip.ts").display());
    let clip = std::fs::read(at("clip.ts")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            let mut head = [0; 2048];
            let read = std::io::Read::read(&mut peer, &mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let body = match head.split(' ').nth(1) {
                Some("/clip.ts") => &clip[..],
                Some("/secret.m3u8") => secret.as_bytes(),
                _ => playlist.as_bytes(),
            };
            let _ = write!(peer, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = peer.write_all(body);
        }
    });
    assert_eq!(pixels(format!("{address}/list.m3u8"), Channels::Luma).len(), 10);
    assert!(opened(format!("{address}/secret.m3u8"), false).is_err());
}

#[test]
fn the_default_video_of_a_file_is_read_or_the_chosen_one() {
    let Some(folder) = folder() else { return };
    for (name, size) in [("a", "64x48"), ("b", "96x64")] {
        make(folder.path(), &format!("-f lavfi -i testsrc2=size={size}:rate=25:d=0.4 -c:v mpeg4 {name}.mkv"));
    }
    let both = "-i a.mkv -i b.mkv -map 0 -map 1 -c copy -disposition:v:0 0 -disposition:v:1 default both.mkv";
    make(folder.path(), both);
    let size = |stream| {
        let options = OpenOptions { stream, ..OpenOptions::default() };
        let video = open(&folder.path().join("both.mkv"), &options, &CancelToken::default())?;
        let frame = items(video.as_ref(), Channels::Luma).remove(0).frame?;
        Ok::<_, Error>((frame.as_frame().width(), video.info().warnings.len()))
    };
    assert_eq!([None, Some(1), Some(2)].map(|stream| size(stream).unwrap()), [(96, 1), (64, 0), (96, 0)]);
    assert!([0, 3].iter().all(|stream| size(Some(*stream)).unwrap_err().to_string().contains("2 videos")));
}

#[test]
fn gray_of_16_bits_is_stretched_over_its_first_frame() {
    let Some(folder) = folder() else { return };
    let narrow = "format=gray16le,geq=lum='29500+200*X/W'";
    make(folder.path(), &format!("-f lavfi -i color=s=64x48:r=25:d=0.4 -vf {narrow} -c:v ffv1 thermal.mkv"));
    let video = source(folder.path().join("thermal.mkv"));
    let frame = items(video.as_ref(), Channels::Luma).remove(0).frame.unwrap();
    let row = frame.as_frame().row(0).to_vec();
    assert_eq!((row[0], row[63], video.info().levels.map(|levels| levels.0)), (0, 255, Some(29_500)));
    assert!(row.is_sorted() && row.iter().collect::<std::collections::BTreeSet<_>>().len() == 64, "{row:?}");
}
