//! An image file, decoded for its luma and for its colours.

use kcf_track::Channels;
use kcf_track::media::decode_bytes;

fn main() {
    // A decoder that panics is caught by the program, and so it is here.
    afl::fuzz_nohook!(|data: &[u8]| {
        for channels in [Channels::Luma, Channels::Color] {
            let Ok(frame) = decode_bytes(data, "image", channels) else { continue };
            let frame = frame.as_frame();
            assert_eq!(frame.row(frame.height() - 1).len(), frame.width() * frame.format().bytes());
            assert!(channels == Channels::Color || frame.format().bytes() == 1);
        }
    });
}
