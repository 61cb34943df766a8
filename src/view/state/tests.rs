//! Messages to pages, tracks, maps and pictures.

use ndarray::array;

use std::time::Instant;

use super::*;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::export::Given;
use crate::frame::{Channels, FrameBuf, PixelFormat};
use crate::media::decode_bytes;
use crate::run::Outcome;
use crate::tracker::ResponseLayout;

/// A frame of a source.
pub(in crate::view) fn item_of(position: usize, frame: Result<FrameBuf>) -> Item {
    let decoded = frame.map(|frame| (frame, None));
    Item { name: format!("{position:04}"), ..Item::numbered(position, None, decoded, 0.0) }
}

/// A frame that shows its position as its gray level.
pub(in crate::view) fn numbered_item(position: usize) -> Item {
    item_of(position, FrameBuf::new(vec![position as u8; 64 * 48], 64, 48, PixelFormat::Gray8))
}

/// The record of a target in a frame that could not be read: its box and no evidence.
pub(in crate::view) fn record_at(position: usize, bbox: BBox) -> FrameRecord {
    let outcome = Outcome { target: 0, bbox, estimate: None, took: Duration::ZERO };
    FrameRecord::new(&numbered_item(position), &outcome, None)
}

fn give(state: &mut ViewState, target: u32, bbox: BBox, record: FrameRecord) {
    let given = Given::new(record.index, Some(bbox));
    state.change(target, |track| Some(track.give(given, record)));
}

fn bbox(x: f64) -> BBox {
    BBox::new(x, 0.0, 2.0, 1.0)
}

#[test]
fn a_page_gets_the_changes_that_it_lacks() {
    let shared = SharedState::default();
    shared.change(|state| give(state, 1, bbox(1.0), record_at(1, bbox(1.0))));
    for position in 2..=3 {
        assert!(shared.change(|state| state.found(1, record_at(position, bbox(position as f64)))));
    }
    assert!(!shared.change(|state| state.found(1, record_at(3, bbox(9.0)))));
    assert!(!shared.change(|state| state.found(2, record_at(3, bbox(9.0)))));
    let all = shared.news(&Wants::default(), Duration::ZERO).text;
    assert_eq!((all["changes"].as_array().unwrap().len(), &all["changes"][0]), (4, &serde_json::json!([1, 1, null])));
    assert_eq!(all["changes"][3], serde_json::json!([1, 3, [3.0, 0.0, 2.0, 1.0], "missing", null, null]));
    let wants = Wants { after: all["serial"].as_u64().unwrap(), changes: 4, ..Wants::default() };
    shared.change(|state| give(state, 1, bbox(2.5), record_at(2, bbox(2.5))));
    let news = shared.news(&wants, Duration::ZERO).text;
    assert_eq!(news["changes"][0], serde_json::json!([1, 2, null]));
    assert_eq!(news["changes"][1][2], serde_json::json!([2.5, 0.0, 2.0, 1.0]));
    assert_eq!(
        news["targets"][0]["given"],
        serde_json::json!([{ "frame": 1, "bbox": [1.0, 0.0, 2.0, 1.0] }, { "frame": 2, "bbox": [2.5, 0.0, 2.0, 1.0], "until": 2 }])
    );
    // A new page gets the final record of each position.
    let all = shared.news(&Wants::default(), Duration::ZERO).text;
    assert_eq!(all["changes"].as_array().unwrap().len(), 7);
    shared.change(|state| state.remove(1));
    let all = shared.news(&Wants::default(), Duration::ZERO).text;
    assert_eq!((all["targets"].as_array().unwrap().len(), all["changes"].as_array().unwrap().len()), (0, 3));
    // A page of another run.
    let lost = Wants { changes: 1000, ..Wants::default() };
    assert_eq!(shared.news(&lost, Duration::ZERO).text["changes_until"], 8);
}

#[test]
fn a_page_drops_the_records_of_a_removed_target_before_its_id_is_reused() {
    let shared = SharedState::default();
    shared.change(|state| give(state, 1, bbox(1.0), record_at(1, bbox(1.0))));
    assert!(shared.change(|state| state.found(1, record_at(2, bbox(2.0)))));
    let wants = Wants { changes: 3, ..Wants::default() };
    // Both between two messages of a page.
    shared.change(|state| state.remove(1));
    shared.change(|state| give(state, 1, bbox(7.0), record_at(9, bbox(7.0))));
    let changes = shared.news(&wants, Duration::ZERO).text["changes"].clone();
    assert_eq!(changes.as_array().unwrap().len(), 3);
    assert_eq!((&changes[0], &changes[2][1]), (&serde_json::json!([1, 0, null]), &serde_json::json!(9)));
}

#[test]
fn an_outdated_response_is_not_shown() {
    let (size, origin, step, range) = ((1, 1), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0));
    let map = |level| Some(Map { target: 1, size, origin, step, angle: 0.0, range, levels: vec![level] });
    let shared = SharedState::default();
    shared.change(|state| {
        state.status.position = 2;
        give(state, 1, bbox(1.0), record_at(1, bbox(1.0)));
        assert!(state.found(1, record_at(2, bbox(2.0))));
        state.maps.put(2, 1, map(7));
    });
    let wants = Wants { map: Some(1), ..Wants::default() };
    let levels = || shared.news(&wants, Duration::ZERO).levels;
    assert_eq!(levels(), [7]);
    // A correction removes the records after it, with their maps.
    shared.change(|state| give(state, 1, bbox(1.5), record_at(1, bbox(1.5))));
    assert!(levels().is_empty());
    // Tracked again without a response, as in an unreadable frame.
    shared.change(|state| {
        assert!(state.found(1, record_at(2, bbox(2.5))));
        state.maps.put(2, 1, None);
    });
    assert!(levels().is_empty());
}

#[test]
fn a_frame_that_cannot_be_read_leaves_the_size_as_it_was() {
    let picture = |item| Arc::new(Picture::new(Arc::new(item)));
    let shared = SharedState::default();
    shared.change(|state| state.show(picture(numbered_item(1))));
    let broken = picture(item_of(2, Err(Error::NotInitialized)));
    assert!(broken.jpeg().is_empty());
    shared.change(|state| state.show(broken));
    assert_eq!(shared.news(&Wants::default(), Duration::ZERO).text["size"], serde_json::json!([64, 48]));
    assert_eq!(shared.look(|state| state.size), Some((64, 48)));
}

#[test]
fn a_long_run_takes_several_messages() {
    let shared = SharedState::default();
    shared.change(|state| give(state, 1, bbox(1.0), record_at(1, bbox(1.0))));
    shared.change(|state| (2..=9000).for_each(|position| assert!(state.found(1, record_at(position, bbox(1.0))))));
    let (mut wants, mut sent, mut messages) = (Wants::default(), 0, 0);
    loop {
        let text = shared.news(&wants, Duration::ZERO).text;
        sent += text["changes"].as_array().unwrap().len();
        wants.changes = text["changes_until"].as_u64().unwrap() as usize;
        messages += 1;
        if text["more"] == false {
            break;
        }
    }
    assert_eq!((sent, messages), (9001, 3));
}

#[test]
fn news_waits_for_a_change() {
    let shared = Arc::new(SharedState::default());
    let wants = Wants::default();
    let begun = Instant::now();
    assert_eq!(shared.news(&wants, Duration::from_millis(30)).text["serial"], 0);
    assert!(begun.elapsed() >= Duration::from_millis(30));
    let writer = Arc::clone(&shared);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        // `prepare` wakes nobody; its records come with the next change.
        writer.prepare(|state| give(state, 1, bbox(1.0), record_at(1, bbox(1.0))));
        std::thread::sleep(Duration::from_millis(20));
        writer.change(|state| state.say("here"));
    });
    let news = shared.news(&wants, Duration::from_secs(20)).text;
    assert_eq!((&news["serial"], &news["status"]["said"]), (&1.into(), &serde_json::json!([1, "here"])));
    assert_eq!(news["changes"].as_array().unwrap().len(), 2);
    thread.join().unwrap();
}

fn record(index: usize, x: f64) -> FrameRecord {
    record_at(index, bbox(x))
}

/// A track from 3 to 9, given at 3.
fn track() -> Track {
    let mut track = Track::new(1);
    track.give(Given::new(3, Some(bbox(3.0))), record(3, 3.0));
    (4..10).for_each(|index| _ = track.take(record(index, index as f64)));
    track
}

#[test]
fn a_piece_resumes_behind_its_last_record() {
    let mut track = track();
    track.give(Given::new(7, Some(bbox(7.5))), record(7, 7.5));
    let resumes = |track: &Track, at| track.resumes(at).map(|missing| (missing.at, missing.from.frame));
    assert_eq!(resumes(&track, 7), Some((7, 3)));
    track.end(12);
    assert_eq!(resumes(&track, 12), Some((8, 7)));
    assert_eq!(resumes(&track, 14), None);
    assert_eq!((resumes(&track, 3), resumes(&track, 0)), (None, None));
}

#[test]
fn a_box_before_the_first_one_begins_earlier() {
    let mut track = track();
    assert_eq!(track.give(Given::new(1, Some(bbox(1.0))), record(1, 1.0)), 1..3);
    let missing = |track: &Track| track.missing(100).next().map(|missing| (missing.at, missing.from.frame));
    assert_eq!(missing(&track), Some((2, 1)));
    track.take(record(2, 2.0));
    assert_eq!(missing(&track), Some((10, 3)));
}

#[test]
fn the_lowest_value_is_0_and_the_highest_255() {
    let of = |values: ndarray::Array2<f32>| {
        let (center, step) = ((100.0, 50.0), (4.0, 8.0));
        Map::of(1, &ResponseMap { values: values.view(), layout: ResponseLayout::Centered, center, step, angle: 0.0 })
    };
    let map = of(array![[-1.0, 0.0, 1.0], [f32::NAN, 0.5, 1.0]]);
    assert_eq!((map.size, map.range), ((2, 3), (-1.0, 1.0)));
    assert_eq!(map.levels, [0, 128, 255, 0, 191, 255]);
    assert_eq!(map.origin, (96.0, 42.0));
    assert_eq!(of(array![[2.0, 2.0]]).levels, [0, 0]);
    assert_eq!(of(array![[f32::NAN]]).levels, [0]);
}

#[test]
fn maps_have_a_bound() {
    let (size, origin, step, range) = ((1024, 1024), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0));
    let map = |level| Some(Map { target: 1, size, origin, step, angle: 0.0, range, levels: vec![level; 1 << 20] });
    let mut maps = Maps::default();
    for position in 1..=40 {
        maps.put(position, 1, map(0));
        maps.put(position, 1, map(1));
    }
    assert_eq!(maps.0.len(), 32);
    assert!(maps.get(8, 1).is_none() && maps.get(9, 1).is_some_and(|map| map.levels[0] == 1));
    maps.put(40, 1, None);
    assert!(maps.get(40, 1).is_none() && maps.0.len() == 31);
}

fn decoded(width: usize, height: usize, format: PixelFormat) -> FrameBuf {
    let frame = FrameBuf::new(vec![90; width * height * format.bytes()], width, height, format).unwrap();
    let picture = Picture::new(Arc::new(item_of(1, Ok(frame))));
    assert_eq!(picture.size, Some((width, height)));
    decode_bytes(picture.jpeg(), "sent", Channels::Luma).unwrap()
}

#[test]
fn a_frame_is_sent_at_its_own_size_unless_it_is_large() {
    for format in [PixelFormat::Gray8, PixelFormat::Rgb8] {
        for ((width, height), sent) in [((65, 33), (65, 33)), ((3840, 21), (1920, 10)), ((1, 4000), (1, 1920))] {
            let picture = decoded(width, height, format);
            let frame = picture.as_frame();
            assert_eq!((frame.width(), frame.height()), sent);
            assert!((0..sent.1).all(|y| frame.row(y).iter().all(|level| level.abs_diff(90) < 4)));
        }
    }
}

#[test]
fn every_change_can_be_undone() {
    let mut state = ViewState::default();
    let seen = |state: &ViewState| {
        let tracks = state.tracks.values();
        let mut all: Vec<_> =
            tracks.map(|track| (track.target(), track.records().cloned().collect::<Vec<_>>())).collect();
        all.sort_by_key(|(target, _)| target.id);
        all
    };
    give(&mut state, 1, bbox(1.0), record(1, 1.0));
    (2..10).for_each(|index| assert!(state.found(1, record(index, index as f64))));
    let mut before = vec![seen(&state)];
    let mut step = |state: &mut ViewState, change: &dyn Fn(&mut ViewState)| {
        change(state);
        before.push(seen(state));
    };
    step(&mut state, &|state| {
        give(state, 1, bbox(5.5), record(5, 5.5));
        (6..10).for_each(|index| assert!(state.found(1, record(index, 50.0))));
    });
    step(&mut state, &|state| _ = state.change(1, |track| track.end(8)));
    let name = |state: &mut ViewState, name: &str| {
        state.change(1, |track| {
            track.about.name = Some(name.into());
            Some(0..0)
        });
    };
    step(&mut state, &|state| name(state, "Anna"));
    step(&mut state, &|state| {
        give(state, 2, bbox(3.0), record(3, 3.0));
        state.tracks.get_mut(&2).unwrap().about.name = Some("Bob".into());
    });
    step(&mut state, &|state| state.remove(1));
    // The work goes on in another view of the same clip.
    let work = state.take_work();
    let mut state = ViewState::default();
    state.resume(work);
    let last = before.len() - 1;
    assert_eq!(before[last], seen(&state));
    for earlier in before[..last].iter().rev() {
        assert!(state.undo(false).is_some());
        assert_eq!(*earlier, seen(&state));
    }
    // The first target goes too, and then there is nothing more.
    assert!(state.undo(false).is_some() && state.tracks.is_empty() && state.undo(false).is_none());
    for later in &before {
        assert!(state.undo(true).is_some());
        assert_eq!(*later, seen(&state));
    }
    assert!(state.undo(true).is_none());
    // A new change ends what could be made again.
    assert!(state.undo(false).is_some() && state.undo(false).is_some());
    assert_eq!(state.status.redo, 2);
    name(&mut state, "Bob");
    assert_eq!((state.undo(true), state.status.redo), (None, 0));
}
