//! A pipe of Y4M. The first byte says what is wanted of its frames, the rest is what comes through it.

use std::io::Cursor;

use kcf_track::Channels;
use kcf_track::cancel::CancelToken;
use kcf_track::media::{Demand, Source, Y4m};

/// A pipe that goes on is read as far as this.
const FRAMES: usize = 64;

fn main() {
    afl::fuzz!(|data: &[u8]| {
        let Some((first, bytes)) = data.split_first() else { return };
        let channels = if first % 2 == 0 { Channels::Luma } else { Channels::Color };
        let demand = Demand { color: first & 2 != 0, ..channels.into() };
        let Ok(pipe) = Y4m::open("-", Cursor::new(bytes.to_vec())) else { return };
        let size = pipe.info().size.expect("a header says it");
        let span = pipe.info().span(None, None).expect("all of it");
        for item in pipe.stream(span, demand, &CancelToken::default()).expect("the first reading").take(FRAMES) {
            for frame in item.frame.iter().chain(&item.color) {
                let frame = frame.as_frame();
                assert_eq!((frame.width(), frame.height()), size);
            }
        }
    });
}
