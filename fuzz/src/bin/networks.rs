//! A network in an ONNX file. The first byte says whether it is the backbone or the head.

use std::fs;
use std::path::Path;

fn main() {
    let good = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/networks");
    let folder = tempfile::tempdir().expect("a folder");
    // The runtime panics at some weights; the program catches that.
    afl::fuzz_nohook!(|data: &[u8]| {
        let Some((first, file)) = data.split_first() else { return };
        let names = ["backbone.onnx", "head.onnx"];
        let (own, other) = if first % 2 == 0 { (names[0], names[1]) } else { (names[1], names[0]) };
        fs::copy(good.join(other), folder.path().join(other)).expect("a good one");
        fs::write(folder.path().join(own), file).expect("a file");
        kcf_track::fuzzed::networks(folder.path());
    });
}
