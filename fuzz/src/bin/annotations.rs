//! A file of boxes. The first byte says what the first pixel is called, the rest is the file.

use kcf_track::media::annotation::{Annotations, Base, format_row};

/// A longer file, which one line of MOT makes of a frame's number, is not written back: that takes its time.
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
        // What is written is read back as so many rows.
        let written: String = boxes.iter().map(|bbox| format_row(*bbox, base) + "\n").collect();
        let again = Annotations::parse(written.as_bytes(), "truth.txt", base).expect("what was written");
        assert_eq!(again.boxes().len(), boxes.len());
    });
}
