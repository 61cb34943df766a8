//! Videos of uncommon forms: turned, cut between pictures that lean on each other.

use kcf_track::media::{Channels, Demand, VideoOptions};
use kcf_track::media::{OpenOptions, open};

use crate::video::{ffmpeg, items, make, pixels, pixels_of, source};

/// A picture of 64x48 bytes, turned by a quarter.
fn turned(flat: &[u8], clockwise: bool) -> Vec<u8> {
    let at = |x: usize, y: usize| if clockwise { flat[(47 - x) * 64 + y] } else { flat[x * 64 + 63 - y] };
    (0..64).flat_map(|y| (0..48).map(move |x| at(x, y))).collect()
}

#[test]
fn luma_of_4_2_2_that_is_turned_is_that_of_the_flat_picture() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let moving = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.2";
    for form in ["-pix_fmt yuv422p -c:v libx264", "-pix_fmt yuvj422p -c:v mjpeg", "-pix_fmt yuv444p -c:v libx264"] {
        make(folder.path(), &format!("{moving} {form} flat.mov"));
        let flat = pixels(at("flat.mov"), Channels::Luma);
        let mut sides = Vec::new();
        for degrees in [90, 270] {
            make(folder.path(), &format!("-i flat.mov -c copy -metadata:s:v rotate={degrees} turned.mov"));
            let video = source(at("turned.mov"));
            if video.size() == Some((64, 48)) {
                eprintln!("SKIPPED: this ffmpeg writes no rotation");
                return;
            }
            let luma = pixels(at("turned.mov"), Channels::Luma);
            let side = [true, false].map(|clockwise| {
                let expected: Vec<_> = flat.iter().map(|picture| turned(picture, clockwise)).collect();
                luma == expected
            });
            assert!(side[0] != side[1], "{form}, {degrees}: other bytes than the flat picture");
            sides.push(side[0]);
            let beside = items(video.as_ref(), Demand { channels: Channels::Luma, color: true });
            assert!(beside.iter().map(pixels_of).eq(luma), "{form}, {degrees}: what is shown changes what is tracked");
        }
        assert!(sides[0] != sides[1], "{form}: both ways are one");
    }
}

/// What is left of an H.264 stream with open groups of pictures behind a cut at a key frame: `rest.ts` and `rest.mkv`,
/// and a copy that begins at 0. The times of the frames vary.
fn open_cut(folder: &std::path::Path) {
    let vary = "settb=1/90000,setpts=(N+N*N/100)*3600";
    make(
        folder,
        &format!(
            "-f lavfi -i testsrc2=size=160x120:rate=25:duration=4 -vf {vary} -fps_mode passthrough -pix_fmt yuv420p \
             -c:v libx264 -x264opts open-gop=1:keyint=20:min-keyint=20:bframes=3:scenecut=0:b-adapt=0 whole.ts"
        ),
    );
    for name in ["ts", "mkv"] {
        make(folder, &format!("-i whole.ts -c copy -f segment -segment_times 1 part%d.{name}"));
        std::fs::rename(folder.join(format!("part1.{name}")), folder.join(format!("rest.{name}"))).unwrap();
    }
    make(folder, "-i rest.ts -c copy copy.mkv");
}

#[test]
fn pictures_that_lean_on_what_was_cut_off_are_no_damage() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rest.ts");
    open_cut(folder.path());
    for name in ["rest.ts", "rest.mkv", "copy.mkv"] {
        let items = items(source(folder.path().join(name)).as_ref(), Channels::Luma);
        assert!(items.len() == 80 && items.iter().all(|item| item.frame.is_ok()), "{name}: {:?}", items.last());
    }
    // What is damaged behind them is.
    let mut clip = std::fs::read(&path).unwrap();
    let middle = clip.len() / 2;
    for (place, byte) in clip[middle..middle + 2000].iter_mut().enumerate() {
        // Packets keep their first byte, or they are passed over unseen.
        if (middle + place) % 188 > 3 {
            *byte = (place * 7919 % 251) as u8;
        }
    }
    std::fs::write(&path, clip).unwrap();
    assert!(items(source(&path).as_ref(), Channels::Luma).iter().any(|item| item.frame.is_err()));
    let options =
        OpenOptions { video: VideoOptions { lenient: true, ..VideoOptions::default() }, ..Default::default() };
    let lenient = open(&path, &options).unwrap();
    assert!(items(lenient.as_ref(), Channels::Luma).iter().all(|item| item.frame.is_ok()));
}

#[test]
fn a_time_counts_no_picture_that_leans_on_what_was_cut_off() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    open_cut(folder.path());
    let source = source(folder.path().join("rest.mkv"));
    let times: Vec<f64> = items(source.as_ref(), Channels::Luma).iter().map(|item| item.timestamp.unwrap()).collect();
    for seconds in [0.1, 0.5, 1.0, 1.5, 2.0] {
        let expected = times.iter().take_while(|&&time| time < seconds).count();
        assert_eq!(source.frames_before(seconds).unwrap(), expected, "at {seconds} s");
    }
}

#[test]
fn a_video_that_is_turned_by_no_quarter_has_its_times() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.mp4");
    make(folder.path(), "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.4 -c:v mpeg4 clip.mp4");
    // The matrix of the track's header (ISO 14496-12, 8.3.2) becomes one of thirty degrees.
    let mut file = std::fs::read(&path).unwrap();
    let matrix = file.windows(4).position(|word| word == b"tkhd").unwrap() + 44;
    let unit: [i32; 9] = [65_536, 0, 0, 0, 65_536, 0, 0, 0, 1 << 30];
    let bytes = |numbers: [i32; 9]| numbers.map(i32::to_be_bytes).concat();
    assert_eq!(file[matrix..matrix + 36], bytes(unit));
    let (cos, sin) = (56_756, 32_768);
    file[matrix..matrix + 36].copy_from_slice(&bytes([cos, sin, 0, -sin, cos, 0, 0, 0, 1 << 30]));
    std::fs::write(&path, file).unwrap();
    let items = items(source(&path).as_ref(), Channels::Luma);
    let times: Vec<_> = items.iter().map(|item| item.timestamp.map(|time| (time * 25.0).round())).collect();
    assert_eq!(times, (0..10).map(|count| Some(f64::from(count))).collect::<Vec<_>>());
}
