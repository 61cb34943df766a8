//! Reads and decodes the frames of a folder and does nothing with them: what tracking a folder is compared with.
//!
//!     cargo run --release --example decode -- DIR [--threads]
//!
//! Frames are decoded as the command line does, to gray, one after the other in this thread; with `--threads`, ahead on another
//! one. Prints the number of frames and of pixels. `scripts/end_to_end.py` takes turns between this program and `kcf-track`.

use kcf_track::source::{Channels, Sequence, SequenceOptions, decode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("the folder of a sequence is needed")?;
    let ahead = std::env::args().nth(2).is_some_and(|argument| argument == "--threads");
    let sequence = Sequence::open(folder, &SequenceOptions::default())?;
    let range = sequence.range(None, None)?;
    let (mut frames, mut pixels) = (0, 0);
    let mut count = |frame: kcf_track::FrameBuf| {
        frames += 1;
        pixels += frame.as_frame().width() * frame.as_frame().height();
    };
    if ahead {
        for decoded in sequence.prefetch(range, Channels::Luma)? {
            count(decoded.frame?);
        }
    } else {
        for path in &sequence.images()[range.start() - 1..*range.end()] {
            count(decode(path, Channels::Luma)?);
        }
    }
    println!("{frames} frames, {pixels} pixels");
    Ok(())
}
