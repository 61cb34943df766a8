//! Videos of uncommon forms: turned by metadata.

use kcf_track::source::{Channels, Demand};

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
