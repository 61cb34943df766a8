//! Frames by number: a stream that starts at a frame has the picture that a whole pass has there, in every container.

use std::path::Path;

use kcf_track::Channels;
use kcf_track::cancel::CancelToken;
use kcf_track::media::{Demand, Item, Source, Span};

use crate::video::{folder, items, make, source};

/// Frames of a file.
const FRAMES: usize = 320;

/// Files that ffmpeg makes of the pictures in `bits.y4m`, and whether all frames are in them. `%` is the file.
const FILES: [(&str, &str, bool); 31] = [
    ("h264.mp4", "-c:v libx264 -g 40 -bf 3 %", true),
    ("h264_open.mp4", "-c:v libx264 -x264opts open-gop=1:keyint=40:min-keyint=40:bframes=3:scenecut=0 %", true),
    ("h264_open.ts", "-c:v libx264 -x264opts open-gop=1:keyint=40:min-keyint=40:bframes=3:scenecut=0 %", true),
    ("h264.mkv", "-c:v libx264 -g 40 -bf 3 %", true),
    ("h264.ts", "-c:v libx264 -g 40 -bf 3 %", true),
    ("h264.m2ts", "-c:v libx264 -g 40 -bf 3 -mpegts_m2ts_mode 1 -f mpegts %", true),
    ("h264.flv", "-c:v libx264 -g 40 -bf 2 %", true),
    ("h264.avi", "-c:v libx264 -g 40 -bf 2 %", true),
    ("h264_refresh.mp4", "-c:v libx264 -g 40 -x264-params intra-refresh=1 %", true),
    ("h264_fields.ts", "-c:v libx264 -g 40 -flags +ildct+ilme -x264opts tff=1 %", true),
    ("raw.h264", "-c:v libx264 -g 40 -bf 3 %", true),
    ("hevc.mp4", "-c:v libx265 -x265-params log-level=none:keyint=40:bframes=3 %", true),
    ("hevc_open.mkv", "-c:v libx265 -x265-params log-level=none:keyint=40:min-keyint=40:open-gop=1:bframes=4 %", true),
    ("hevc.ts", "-c:v libx265 -x265-params log-level=none:keyint=40:open-gop=0:bframes=3 %", true),
    ("hevc_open.ts", "-c:v libx265 -x265-params log-level=none:keyint=40:open-gop=1:bframes=4 %", true),
    ("raw.hevc", "-c:v libx265 -x265-params log-level=none:keyint=40:bframes=3 %", true),
    (
        "hevc_open.mp4",
        "-c:v libx265 -x265-params log-level=none:keyint=40:min-keyint=40:open-gop=1:bframes=4:hash=1 %",
        true,
    ),
    ("mpeg2.ts", "-c:v mpeg2video -q:v 3 -g 20 -bf 2 -output_ts_offset 7 %", true),
    ("mpeg2.mpg", "-c:v mpeg2video -q:v 3 -g 20 -bf 2 -f vob %", true),
    (
        "mpeg2_closed.m2ts",
        "-c:v mpeg2video -q:v 3 -g 20 -bf 2 -flags +cgop -sc_threshold 1000000000 -mpegts_m2ts_mode 1 -f mpegts %",
        true,
    ),
    ("mpeg2.mxf", "-c:v mpeg2video -q:v 3 -g 12 -bf 2 %", true),
    ("mpeg4.ts", "-c:v mpeg4 -q:v 3 -g 40 -bf 2 %", true),
    ("mpeg4.mp4", "-c:v mpeg4 -q:v 3 -g 40 -bf 2 %", true),
    ("mpeg4.avi", "-c:v mpeg4 -q:v 3 -g 40 -bf 2 %", true),
    ("vp8.webm", "-c:v libvpx -g 40 -deadline realtime -cpu-used 8 %", true),
    ("vp9.webm", "-c:v libvpx-vp9 -g 40 -deadline realtime -cpu-used 8 %", true),
    ("wmv.wmv", "-c:v wmv2 -q:v 3 -g 40 %", true),
    ("mjpeg.avi", "-c:v mjpeg -q:v 3 %", true),
    ("ffv1.mkv", "-c:v ffv1 -level 3 -g 30 %", true),
    ("variable.mkv", "-vf select='not(eq(mod(n,7),3))' -fps_mode vfr -c:v libx264 -g 40 %", false),
    ("theora.ogv", "-c:v libtheora -q:v 7 -g 40 %", true),
];

/// Files that ffmpeg makes of the first ones without encoding.
const COPIES: [(&str, &str); 6] = [
    // A list of edits that begins between two keyframes, and times in the order of decoding.
    ("edited.mp4", "-ss 2.2 -i h264.mp4 -c copy %"),
    ("edited_open.mov", "-ss 3.1 -i h264_open.mp4 -c copy %"),
    ("joined.ts", "-i concat:hevc.ts|hevc.ts -c copy %"),
    ("from_middle.ts", "-ss 2.3 -i hevc_open.ts -c copy %"),
    ("decoding_order.mkv", "-i h264.mp4 -c copy -bsf:v setts=pts=DTS %"),
    // The decoder leaves out the pictures that refer to those before the end of a sequence.
    ("ends.mkv", "-i ends.mp4 -c copy %"),
];

/// Writes `ends.mp4`: `hevc_open.mp4` with an end of a sequence before its fourth keyframe, in the place of a checksum.
fn write_ends(folder: &Path) {
    let mut file = std::fs::read(folder.join("hevc_open.mp4")).unwrap();
    // A unit has its length before it, and its type in its first byte: checksums, and keyframes of open groups.
    let is_last = |&at: &usize| {
        let end = at + usize::from(file[at - 1]);
        file[at..].starts_with(&[0x50, 1, 132, 49]) && file[end + 4..].starts_with(&[21 << 1, 1])
    };
    let at = (1..file.len() - 400).filter(is_last).nth(2).expect("open groups");
    file[at] = 36 << 1;
    std::fs::write(folder.join("ends.mp4"), file).unwrap();
}

/// Writes pictures that have their number in bars at the top, over a pattern that moves.
fn write_pictures(path: &Path) {
    let (width, height) = (176, 96);
    let mut y4m = format!("YUV4MPEG2 W{width} H{height} F25:1 C420jpeg\n").into_bytes();
    for number in 0..FRAMES {
        y4m.extend(b"FRAME\n");
        y4m.extend((0..width * height).map(|at| {
            let (x, y) = (at % width, at / width);
            match y {
                ..32 => {
                    if number >> (x / 16) & 1 == 1 {
                        235
                    } else {
                        16
                    }
                }
                _ => (64 + (3 * x + 7 * number) % 90 + (5 * y + 2 * number) % 60) as u8,
            }
        }));
        y4m.resize(y4m.len() + width * height / 2, 128);
    }
    std::fs::write(path, y4m).unwrap();
}

/// The number in a picture, from 0.
fn number(item: &Item) -> usize {
    let frame = item.frame.as_ref().unwrap().as_frame();
    (0..11).map(|bit| usize::from(frame.gray_at(16 * bit + 8, 16) > 127) << bit).sum()
}

/// Checks that streams of `source` that start at `starts` have the numbers of a whole pass.
fn check(name: &str, source: &dyn Source, numbers: &[usize], first: usize, demand: Demand) {
    let span = Span { first, last: Some(first + 3) };
    let items: Vec<_> = source.stream(span, demand, &CancelToken::default()).unwrap().collect();
    let expected: Vec<_> = (first..=numbers.len().min(first + 3)).map(|at| (at, numbers[at - 1])).collect();
    let got: Vec<_> = items.iter().map(|item| (item.position, number(item))).collect();
    assert_eq!(got, expected, "{name} from {first}");
}

fn check_all(starts: usize) {
    let Some(folder) = folder() else { return };
    write_pictures(&folder.path().join("bits.y4m"));
    let whole = FILES.map(|(name, form, complete)| (name, format!("-i bits.y4m -pix_fmt yuv420p {form}"), complete));
    let copied = COPIES.map(|(name, form)| (name, form.to_owned(), false));
    let mut right = 0;
    for (name, form, complete) in whole.into_iter().chain(copied) {
        if name == "ends.mkv" {
            write_ends(folder.path());
        }
        make(folder.path(), &form.replace('%', name));
        let path = folder.path().join(name);
        let read = source(&path);
        let all = items(read.as_ref(), Channels::Luma);
        let numbers: Vec<_> = all.iter().map(number).collect();
        assert!(!complete || numbers.iter().copied().eq(0..FRAMES), "{name}: {numbers:?}");
        assert!(numbers.len() > 100, "{name}: {numbers:?}");
        let mut seed = 7;
        for start in 0..starts {
            seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648_usize;
            let first = [numbers.len() - 2, 105 + (seed >> 8) % (numbers.len() - 105)][usize::from(start > 0)];
            // Of a file that was not read before the packets tell where the frame lies.
            check(name, source(&path).as_ref(), &numbers, first, Channels::Luma.into());
            check(name, read.as_ref(), &numbers, first, Demand { side: Some(88 * 2), ..Channels::Color.into() });
            right += 2;
        }
    }
    eprintln!("{right} starts are right");
}

#[test]
fn a_start_shows_the_frame_of_a_whole_pass() {
    check_all(1);
}

#[test]
#[ignore = "takes minutes: run by hand after a change of seeks"]
fn many_starts_show_the_frame_of_a_whole_pass() {
    check_all(20);
}
