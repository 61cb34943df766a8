//! A file of boxes. The first byte is the base, the rest is the file.

use kcf_track::BBox;
use kcf_track::media::annotation::{Annotations, Base};

/// Maximum rows to write back: one line of MOT can make a million.
const ROWS: usize = 4096;

fn main() {
    afl::fuzz!(|data: &[u8]| {
        let Some((first, text)) = data.split_first() else { return };
        let base = if first % 2 == 0 { Base::Zero } else { Base::One };
        let Ok(read) = Annotations::parse(text, "truth.txt", base) else { return };
        let boxes = read.boxes();
        assert!(boxes.iter().flatten().all(|bbox| bbox.is_valid()));
        if boxes.len() > ROWS {
            return;
        }
        if let Some(target) = read.targets().last() {
            assert!(read.of_target(*target).is_some());
        }
        let row = |bbox: Option<BBox>| bbox.map_or([f64::NAN; 4], |bbox| base.to_numbers(&bbox));
        let written: String = boxes.iter().map(|bbox| row(*bbox).map(|v| v.to_string()).join(",") + "\n").collect();
        let again = Annotations::parse(written.as_bytes(), "truth.txt", base).expect("what was written");
        assert_eq!(again.boxes().len(), boxes.len());
    });
}
