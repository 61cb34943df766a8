//! Y4M streams, whole and broken.

use std::io::Read;
use std::time::Duration;

use kcf_track::Channels;
use kcf_track::cancel::CancelToken;
use kcf_track::media::{Demand, Item, Prefetch, Source, Span, Wait, Y4m};

/// A stream of `frames` frames of 3x2 gray pixels, each of its own level.
fn stream(frames: u8) -> Vec<u8> {
    let mut bytes = b"YUV4MPEG2 W3 H2 F30000:1001 Cmono\n".to_vec();
    for frame in 0..frames {
        bytes.extend_from_slice(if frame == 1 { b"FRAME Ip\n" } else { b"FRAME\n" });
        bytes.extend([frame; 6]);
    }
    bytes
}

fn open(bytes: Vec<u8>) -> kcf_track::Result<Y4m> {
    Y4m::open("pipe", std::io::Cursor::new(bytes))
}

fn items(source: &Y4m, span: Span, demand: impl Into<Demand>) -> impl Iterator<Item = Item> {
    source.stream(span, demand.into(), &CancelToken::default()).unwrap()
}

/// The position and level of each frame, or its error.
fn read(bytes: Vec<u8>, start: usize, end: Option<usize>) -> Vec<Result<(usize, u8), String>> {
    let source = open(bytes).unwrap();
    let items = items(&source, Span { first: start, last: end }, Channels::Luma);
    items.map(|item| Ok((item.position, item.frame.map_err(|error| error.to_string())?.as_frame().row(1)[2]))).collect()
}

#[test]
fn reads_frames_in_order_with_their_times() {
    let source = open(stream(4)).unwrap();
    assert_eq!((source.info().size, source.info().length), (Some((3, 2)), None));
    let times: Vec<_> = items(&source, Span::default(), Channels::Color).map(|item| item.timestamp).collect();
    assert_eq!(times.len(), 4);
    assert!((times[3].unwrap() - 3.0 * 1001.0 / 30_000.0).abs() < 1e-9);
    assert_eq!(read(stream(5), 2, Some(3)), [Ok((2, 1)), Ok((3, 2))]);
    assert_eq!(read(stream(3), 9, None), []);
    // A pipe cannot be read again, a file can.
    let error = source.stream(Span::default(), Channels::Luma.into(), &CancelToken::default()).err().unwrap();
    assert!(error.to_string().contains("only once"), "{error}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), stream(4)).unwrap();
    let source = Y4m::open_file(file.path()).unwrap();
    assert!(!source.info().live && source.info().expected_length >= Some(4));
    for _ in 0..2 {
        assert_eq!(items(&source, Span::default(), Channels::Luma).count(), 4);
    }
}

#[test]
fn names_the_frame_where_a_stream_breaks() {
    let whole = stream(3);
    for (cut, frames, words) in [
        (whole.len() - 1, 2, "within frame 3: 5 of its 6 bytes"),
        (whole.len() - 8, 2, "frame 3: a header is cut off"),
        (whole.len() - 12, 2, ""),
    ] {
        let read = read(whole[..cut].to_vec(), 1, None);
        let broken = read.last().unwrap().as_ref().err().map_or("", |said| said);
        assert!(broken.contains(words) && broken.is_empty() == words.is_empty(), "{cut}: {read:?}");
        assert_eq!(read.iter().filter(|item| item.is_ok()).count(), frames, "{cut}");
    }
    let mut garbled = stream(3);
    let place = garbled.len() - 12;
    garbled[place] = b'G';
    let read = read(garbled, 1, None);
    assert!(
        read.len() == 3 && read[2].as_ref().unwrap_err().contains("does not begin with the word FRAME"),
        "{read:?}"
    );
}

#[test]
fn a_header_alone_reserves_no_memory() {
    // The header is fine, the bytes never come.
    let source = open(b"YUV4MPEG2 W16000 H8000 C444\nFRAME\nabc".to_vec()).unwrap();
    let mut items = items(&source, Span::default(), Channels::Color);
    let item = items.next().unwrap();
    assert!(item.frame.unwrap_err().to_string().contains("3 of its 384000000 bytes"));
    assert!(items.next().is_none());
    for (bytes, words) in [
        (&b"YUV4MPEG2 W60000 H60000 C444\nFRAME\n"[..], "60000x60000"),
        (b"", "it is empty"),
        (b"YUV4MPEG2 W4 H4", "a header is cut off"),
        (b"\x89PNG\r\n\x1a\n", "not Y4M"),
        (&[b'x'; 5000], "not Y4M"),
    ] {
        let error = open(bytes.to_vec()).err().unwrap().to_string();
        assert!(error.contains(words) && error.starts_with("pipe: "), "{error}");
    }
}

#[test]
fn colours_do_not_change_luma() {
    let picture: Vec<u8> = (0..6 + 4).map(|i| 20 * i).collect();
    let bytes = [b"YUV4MPEG2 W3 H2 C420\nFRAME\n", &picture[..]].concat();
    let read = |channels: Channels, color| {
        let source = open(bytes.clone()).unwrap();
        let demand = Demand { color, ..channels.into() };
        items(&source, Span::default(), demand).next().unwrap()
    };
    let (alone, shown) = (read(Channels::Luma, false), read(Channels::Luma, true));
    let row = |frame: &kcf_track::FrameBuf| frame.as_frame().row(0).to_vec();
    assert_eq!(row(&alone.frame.unwrap()), row(&shown.frame.unwrap()));
    let color = shown.color.unwrap();
    assert_eq!(row(&color), row(&read(Channels::Color, false).frame.unwrap()));
    assert_eq!(row(&color).len(), 9);
}

/// A pipe without data.
struct Silent;

impl Read for Silent {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        std::thread::sleep(Duration::from_secs(60));
        Ok(0)
    }
}

#[test]
fn a_silent_pipe_does_not_block_its_reader() {
    let begun = std::time::Instant::now();
    let source = Y4m::open("pipe", std::io::Cursor::new(stream(1)).chain(Silent)).unwrap();
    let cancel = CancelToken::default();
    let mut frames = Prefetch::open(&source, Span::default(), Channels::Luma, &cancel).unwrap();
    assert!(matches!(frames.next_within(Duration::from_secs(20)), Wait::Item(_)));
    assert!(matches!(frames.next_within(Duration::from_millis(10)), Wait::NotYet));
    cancel.cancel();
    assert!(frames.next().is_none());
    drop(frames);
    assert!(begun.elapsed() < Duration::from_secs(20));
}
