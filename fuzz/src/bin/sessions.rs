//! A session of the view, or the document of a run.

use kcf_track::Document;

fn main() {
    afl::fuzz!(|data: &[u8]| {
        let Ok(text) = std::str::from_utf8(data) else { return };
        let Ok(document) = Document::from_json(text) else { return };
        let written = document.to_json().expect("a document that was read");
        let again = Document::from_json(&written).expect("what was written");
        assert_eq!(again.to_json().expect("again"), written);
    });
}
