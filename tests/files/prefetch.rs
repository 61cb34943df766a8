//! Frames that are read ahead on another thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kcf_track::Channels;
use kcf_track::media::{Images, Item, Prefetch, Wait};
use kcf_track::{Error, FrameBuf, PixelFormat};

use crate::sequence::{images, numbered, open};

/// So many images in a folder, with their positions.
fn listed(folder: &Path, count: usize) -> Vec<(usize, PathBuf)> {
    images(folder, numbered(1, count));
    (1..).zip(open(folder).images().to_vec()).collect()
}

#[test]
fn frames_come_in_order_and_one_bad_image_does_not_stop_them() {
    let root = tempfile::tempdir().unwrap();
    images(root.path(), (1..=20).map(|number| format!("{number}.png")));
    std::fs::write(root.path().join("7.png"), b"P5 1 1 255\n").unwrap();
    std::fs::write(root.path().join("8.png"), b"no picture").unwrap();
    let sequence = open(root.path());
    let prefetch = Prefetch::open(&sequence, 3..=18, Channels::Luma).unwrap();
    assert_eq!(prefetch.size_hint(), (16, Some(16)));
    let decoded: Vec<_> = prefetch.collect();
    assert_eq!(decoded.iter().map(|d| d.position).collect::<Vec<_>>(), (3..=18).collect::<Vec<_>>());
    for item in decoded {
        assert_eq!(item.path.as_ref(), sequence.images().get(item.position - 1));
        assert_eq!(item.name, format!("{}.png", item.position));
        assert!(item.decode_ms >= 0.0);
        match (item.position, &item.frame) {
            (7 | 8, Err(error @ Error::Decode { .. })) => {
                assert!(error.to_string().contains(&format!("{}.png", item.position)));
            }
            (position, Ok(frame)) => assert_eq!(frame.as_frame().row(0), [position as u8 - 1]),
            (position, frame) => panic!("{position}: {frame:?}"),
        }
    }
    assert_eq!(Prefetch::open(&sequence, 50..=60, Channels::Luma).unwrap().count(), 0);
}

#[test]
fn no_more_frames_wait_than_the_depth() {
    let root = tempfile::tempdir().unwrap();
    let list = listed(root.path(), 12);
    let prefetch = Prefetch::new(Images::new(list.clone(), Channels::Luma), 3).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    // Three wait and one is on its way into the queue: what is deleted now cannot have been read.
    for (_, path) in &list[4..] {
        std::fs::remove_file(path).unwrap();
    }
    let read: Vec<_> = prefetch.map(|item| item.frame.is_ok()).collect();
    assert_eq!(read, [[true; 4].as_slice(), &[false; 8]].concat());
}

#[test]
fn dropping_ends_the_thread_at_once() {
    let root = tempfile::tempdir().unwrap();
    images(root.path(), numbered(1, 2));
    let path = open(root.path()).images()[0].clone();
    for taken in [0, 1, 5] {
        // Decoding all of them would take many seconds.
        let many = (1..=500_000).map(|position| (position, path.clone())).collect();
        let mut prefetch = Prefetch::new(Images::new(many, Channels::Luma), 4).unwrap();
        assert_eq!(prefetch.by_ref().take(taken).count(), taken);
        let begin = Instant::now();
        drop(prefetch);
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    }
}

#[test]
fn images_come_in_order_from_any_thread() {
    let root = tempfile::tempdir().unwrap();
    let list = listed(root.path(), 40);
    for (threads, depth) in [(1, 1), (1, 4), (2, 1), (3, 4)] {
        let start = || Prefetch::of_images(Images::new(list.clone(), Channels::Luma), depth, threads).unwrap();
        let positions: Vec<_> = start().map(|item| item.position).collect();
        assert_eq!(positions, (1..=40).collect::<Vec<_>>(), "{threads} threads, {depth} deep");
        // Who does not wait gets the same frames.
        let (mut prefetch, mut positions) = (start(), Vec::new());
        loop {
            match prefetch.next_within(Duration::ZERO) {
                Wait::Item(item) => positions.push(item.position),
                Wait::NotYet => {}
                Wait::End => break,
            }
        }
        assert_eq!(positions, (1..=40).collect::<Vec<_>>(), "{threads} threads, {depth} deep, in no time");
        assert!(matches!(prefetch.next_within(Duration::ZERO), Wait::End) && prefetch.next().is_none());
    }
}

#[test]
fn no_more_images_are_decoded_than_the_depth() {
    let root = tempfile::tempdir().unwrap();
    let list = listed(root.path(), 12);
    let prefetch = Prefetch::of_images(Images::new(list.clone(), Channels::Luma), 3, 2).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    for (_, path) in &list[3..] {
        std::fs::remove_file(path).unwrap();
    }
    let read: Vec<_> = prefetch.map(|item| item.frame.is_ok()).collect();
    assert_eq!(read, [[true; 3].as_slice(), &[false; 9]].concat());
}

#[test]
fn who_waits_for_an_image_decodes_the_next_one() {
    let root = tempfile::tempdir().unwrap();
    let list = listed(root.path(), 3);
    let pipe = list[0].1.clone();
    std::fs::remove_file(&pipe).unwrap();
    // Opening a pipe that nobody writes to takes for ever: the thread blocks until a writer opens it.
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: there is no mkfifo");
        return;
    }
    let mut prefetch = Prefetch::of_images(Images::new(list.clone(), Channels::Luma), 4, 1).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert!(matches!(prefetch.next_within(Duration::from_millis(50)), Wait::NotYet));
    list[1..].iter().for_each(|(_, path)| std::fs::remove_file(path).unwrap());
    std::fs::write(&pipe, b"no picture").unwrap();
    let read: Vec<_> = prefetch.map(|item| item.frame.is_ok()).collect();
    assert_eq!(read, [false, true, true]);
}

#[test]
fn dropping_ends_the_decoding_of_images_at_once() {
    let root = tempfile::tempdir().unwrap();
    images(root.path(), numbered(1, 2));
    let path = open(root.path()).images()[0].clone();
    for taken in [0, 1, 5] {
        let many = (1..=500_000).map(|position| (position, path.clone())).collect();
        let mut prefetch = Prefetch::of_images(Images::new(many, Channels::Luma), 4, 2).unwrap();
        assert_eq!(prefetch.by_ref().take(taken).count(), taken);
        let begin = Instant::now();
        drop(prefetch);
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    }
}

/// A frame of one black pixel.
fn black(position: usize) -> Item {
    let frame = FrameBuf::new(vec![0], 1, 1, PixelFormat::Gray8);
    Item { position, name: String::new(), path: None, timestamp: None, frame, color: None, decode_ms: 0.0 }
}

#[test]
fn a_panic_of_a_source_is_not_the_end_of_its_frames() {
    let frames = (1..=5).map(|position| {
        assert!(position < 4, "the camera's driver");
        black(position)
    });
    let mut prefetch = Prefetch::new(frames, 2).unwrap();
    for position in 1..4 {
        assert_eq!(prefetch.next().unwrap().position, position);
    }
    let panic = catch_unwind(AssertUnwindSafe(|| prefetch.next())).unwrap_err();
    assert_eq!(*panic.downcast_ref::<&str>().unwrap(), "the camera's driver");
    assert!(prefetch.next().is_none());
}

/// What a source does last is not done either.
#[test]
fn a_source_that_panics_as_it_is_closed_has_not_ended() {
    struct Closing(usize);
    impl Iterator for Closing {
        type Item = Item;

        fn next(&mut self) -> Option<Item> {
            self.0 += 1;
            (self.0 < 3).then(|| black(self.0))
        }
    }
    impl Drop for Closing {
        fn drop(&mut self) {
            panic!("the stream was cut off");
        }
    }
    let mut prefetch = Prefetch::new(Closing(0), 2).unwrap();
    assert_eq!(prefetch.by_ref().take(2).count(), 2);
    assert!(catch_unwind(AssertUnwindSafe(|| prefetch.next())).is_err());
}
