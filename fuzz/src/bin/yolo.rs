//! The folder of a YOLO dataset. A NUL byte ends each of its files, which begin with their names in a line.

use kcf_track::media::Info;
use kcf_track::{Document, LabelOptions};

fn main() {
    let folder = std::env::temp_dir().join(format!("kcf-track-yolo-{}", std::process::id()));
    let info = Info { name: "clip".into(), length: Some(20), size: Some((160, 120)), ..Info::default() };
    afl::fuzz!(|data: &[u8]| {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("labels")).expect("a temporary folder");
        for file in data.split(|byte| *byte == 0) {
            let mut parts = file.splitn(2, |byte| *byte == b'\n');
            let name: String = String::from_utf8_lossy(parts.next().unwrap_or_default())
                .chars()
                .filter(|letter| letter.is_ascii_alphanumeric() || "._".contains(*letter))
                .take(40)
                .collect();
            let place = if name.ends_with(".txt") { folder.join("labels") } else { folder.clone() };
            let _ = std::fs::write(place.join(name), parts.next().unwrap_or_default());
        }
        let _ = Document::open(&folder, Some(&info), None, &LabelOptions::default());
    });
}
