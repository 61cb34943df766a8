//! Where videos come from: files by any of their names, and addresses.

use std::io::Write;
use std::net::TcpListener;

use kcf_track::Error;
use kcf_track::media::{Channels, Item, OpenOptions, open};

use crate::video::{ffmpeg, items, make, pixels, pixels_of, source};

/// The address of a server that gives these bytes to whoever connects, so many times where that is said.
fn served(bytes: Vec<u8>, times: Option<usize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for peer in listener.incoming().take(times.unwrap_or(usize::MAX)) {
            // Who has read enough goes before the end.
            let _ = peer.unwrap().write_all(&bytes);
        }
    });
    address
}

/// Frames that lean on later ones, one key frame in all, and what begins late.
#[test]
fn an_address_gives_all_frames_in_their_order() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let moving = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=3 -pix_fmt yuv420p";
    for (form, name) in [
        ("-c:v libx264 -bf 3 -g 999 -movflags faststart", "plain.mp4"),
        ("-c:v mpeg2video -bf 2", "stream.ts"),
        ("-c:v libx264 -g 12 -output_ts_offset 10", "late.mkv"),
    ] {
        make(folder.path(), &format!("{moving} {form} {name}"));
        let path = folder.path().join(name);
        let times = |items: &[Item]| items.iter().map(|item| item.timestamp).collect::<Vec<_>>();
        let wanted = items(source(&path).as_ref(), Channels::Color);
        let there = items(source(served(std::fs::read(&path).unwrap(), None)).as_ref(), Channels::Color);
        assert_eq!((there.len(), wanted.len()), (75, 75), "{name}");
        assert_eq!(times(&there), times(&wanted), "{name}");
        let same = there.iter().zip(&wanted).all(|(there, wanted)| pixels_of(there) == pixels_of(wanted));
        assert!(same, "{name}");
    }
}

#[test]
fn a_server_that_takes_one_connection_is_said_to_and_how_to_read_it() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "-f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -c:v mpeg2video clip.ts");
    let address = served(std::fs::read(folder.path().join("clip.ts")).unwrap(), Some(1));
    let items = items(source(&address).as_ref(), Channels::Luma);
    let said = items[0].frame.as_ref().unwrap_err().to_string();
    let way = format!("ffmpeg -i '{address}' -f yuv4mpegpipe - | kcf-track - ");
    assert!(items.len() == 1 && said.contains("Connection refused") && said.contains(&way), "{said}");
}

#[test]
fn a_file_that_is_named_as_an_address_is_the_file() {
    if !ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // As ffmpeg has it, no letter of an address stands for another one.
    let path = folder.path().join("a%20b.mkv");
    make(folder.path(), "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.4 -c:v ffv1 clip.mkv");
    std::fs::rename(folder.path().join("clip.mkv"), &path).unwrap();
    let expected = pixels(&path, Channels::Luma);
    for given in [format!("file://{}", path.display()), format!("file:{}", path.display())] {
        let video = source(&given);
        assert!(!video.is_live() && video.name() == "a%20b" && video.expected_length() == Some(10), "{given}");
        assert!(video.occupies(&path).is_some(), "{given}: it could be written over");
        assert!(pixels(&given, Channels::Luma) == expected, "{given}");
    }
    std::fs::create_dir(folder.path().join("png")).unwrap();
    make(folder.path(), "-i a%20b.mkv png/%04d.png");
    assert_eq!(source(format!("file://{}/png", folder.path().display())).length(), Some(10));
    let missing = open(format!("file://{}/none.mp4", folder.path().display()).as_ref(), &OpenOptions::default());
    assert!(matches!(missing.err().unwrap(), Error::Io { .. }));
}
