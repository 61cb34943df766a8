//! Labels in a file: lists, MOT, CVAT, COCO, Label Studio and our own. The first byte says what is known of the source.

use std::path::PathBuf;

use kcf_track::media::Info;
use kcf_track::{Document, LabelOptions};

const FRAMES: usize = 20;

fn main() {
    let path = std::env::temp_dir().join(format!("kcf-track-labels-{}", std::process::id()));
    let images = (1..=FRAMES).map(|number| PathBuf::from(format!("clip/{number:04}.png"))).collect();
    let video = Info {
        name: "clip".into(),
        length: Some(FRAMES),
        rate: Some(25.0),
        size: Some((160, 120)),
        ..Info::default()
    };
    let folder = Info { images, rate: None, ..video.clone() };
    afl::fuzz!(|data: &[u8]| {
        let Some((first, text)) = data.split_first() else { return };
        std::fs::write(&path, text).expect("a temporary file");
        let info = [Some(&video), Some(&folder), None][usize::from(first % 3)];
        let options = LabelOptions { base: [None, Some(0), Some(1)][usize::from(first / 3 % 3)], ..LabelOptions::default() };
        let Ok((document, _)) = Document::open(&path, info, Some((160, 120)), &options) else { return };
        let again = Document::from_json(&document.to_json().expect("what was read"));
        assert!(again.is_ok(), "{again:?}");
    });
}
