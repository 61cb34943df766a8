//! Videos that are longer than memory, or whose packets are no frames. Without ffmpeg these tests say that they are
//! skipped.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use kcf_track::source::{Channels, Span};

use crate::video::{ffmpeg, images, make, source};

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
        OpenOptions::new().write(true).open(&clip).unwrap().set_len(bytes).unwrap();
        let mut opened = None;
        let memory = allocation_counter::measure(|| opened = Some(source(&clip)));
        assert!(memory.bytes_max < 1 << 22, "{memory:?}");
        let opened = opened.unwrap();
        let frames = opened.stream(opened.span(None, None).unwrap(), Channels::Luma.into()).unwrap();
        assert_eq!(frames.filter(|item| item.frame.is_ok()).count(), 12);
    }
}
