use super::super::fixtures::{item_of, numbered_item, record_at};
use super::*;
use crate::error::Error;

fn bbox(x: f64) -> BBox {
    BBox::new(x, 0.0, 2.0, 1.0)
}

#[test]
fn a_page_is_told_what_it_does_not_know() {
    let shared = SharedState::default();
    shared.change(|state| state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0)))));
    for position in 2..=3 {
        assert!(shared.change(|state| state.found(1, record_at(position, bbox(position as f64)))));
    }
    assert!(!shared.change(|state| state.found(1, record_at(3, bbox(9.0)))));
    assert!(!shared.change(|state| state.found(2, record_at(3, bbox(9.0)))));
    let all = shared.news(&Wants::default(), Duration::ZERO).text;
    assert_eq!(all["changes"].as_array().unwrap().len(), 3);
    assert_eq!(all["changes"][2], serde_json::json!([1, 3, [3.0, 0.0, 2.0, 1.0], "missing", null, null]));
    let wants = Wants { after: all["serial"].as_u64().unwrap(), changes: 3, ..Wants::default() };
    shared.change(|state| state.give(1, bbox(2.5), record_at(2, bbox(2.5))));
    let news = shared.news(&wants, Duration::ZERO).text;
    assert_eq!(news["changes"][0], serde_json::json!([1, 2, null]));
    assert_eq!(news["changes"][1][2], serde_json::json!([2.5, 0.0, 2.0, 1.0]));
    assert_eq!(news["targets"][0]["marks"], serde_json::json!([[1, true], [2, true]]));
    // One that missed all of it is told the last word of each.
    let all = shared.news(&Wants::default(), Duration::ZERO).text;
    assert_eq!(all["changes"].as_array().unwrap().len(), 4);
    assert!(shared.change(|state| state.remove(1)));
    let all = shared.news(&Wants::default(), Duration::ZERO).text;
    assert_eq!((all["targets"].as_array().unwrap().len(), all["changes"].as_array().unwrap().len()), (0, 2));
    // A page of another run.
    let lost = Wants { changes: 1000, ..Wants::default() };
    assert_eq!(shared.news(&lost, Duration::ZERO).text["changes_until"], 6);
}

#[test]
fn a_page_forgets_what_it_knows_of_a_target_whose_number_another_one_has() {
    let shared = SharedState::default();
    shared.change(|state| state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0)))));
    assert!(shared.change(|state| state.found(1, record_at(2, bbox(2.0)))));
    let wants = Wants { changes: 2, ..Wants::default() };
    // Both between two messages of a page.
    assert!(shared.change(|state| state.remove(1)) && !shared.change(|state| state.remove(1)));
    shared.change(|state| state.add(1, Track::new(bbox(7.0), record_at(9, bbox(7.0)))));
    let changes = shared.news(&wants, Duration::ZERO).text["changes"].clone();
    assert_eq!(changes.as_array().unwrap().len(), 2);
    assert_eq!((&changes[0], &changes[1][1]), (&serde_json::json!([1, 0, null]), &serde_json::json!(9)));
}

#[test]
fn a_response_of_what_is_no_longer_true_is_not_shown() {
    let (size, origin, step, range) = ((1, 1), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0));
    let map = |level| Some(Map { size, origin, step, angle: 0.0, range, levels: vec![level] });
    let shared = SharedState::default();
    shared.change(|state| {
        state.status.position = 2;
        state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0))));
        assert!(state.found(1, record_at(2, bbox(2.0))));
        state.put_map(2, 1, map(7));
    });
    let wants = Wants { map: Some(1), ..Wants::default() };
    let levels = || shared.news(&wants, Duration::ZERO).levels;
    assert_eq!(levels(), [7]);
    // Nothing is known of the frame after a correction of the one before, until it is followed anew.
    shared.change(|state| state.give(1, bbox(1.5), record_at(1, bbox(1.5))));
    assert!(levels().is_empty());
    // Followed anew it has no response, as a frame that cannot be read.
    shared.change(|state| {
        assert!(state.found(1, record_at(2, bbox(2.5))));
        state.put_map(2, 1, None);
    });
    assert!(levels().is_empty());
}

#[test]
fn a_frame_that_cannot_be_read_leaves_the_size_as_it_was() {
    let picture = |id, item| Arc::new(Picture::new(id, Arc::new(item)));
    let shared = SharedState::default();
    shared.change(|state| state.show(picture(1, numbered_item(1))));
    let broken = item_of(2, Err(Error::NotInitialized));
    shared.change(|state| state.show(picture(2, broken)));
    let news = shared.news(&Wants::default(), Duration::ZERO);
    assert_eq!((&news.text["size"], news.text["picture"].as_u64()), (&serde_json::json!([64, 48]), Some(2)));
    assert_eq!(shared.look(|state| state.size), Some((64, 48)));
}

#[test]
fn a_long_run_is_told_in_several_messages() {
    let shared = SharedState::default();
    shared.change(|state| state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0)))));
    shared.change(|state| (2..=9000).for_each(|position| assert!(state.found(1, record_at(position, bbox(1.0))))));
    let (mut wants, mut told, mut messages) = (Wants::default(), 0, 0);
    loop {
        let text = shared.news(&wants, Duration::ZERO).text;
        told += text["changes"].as_array().unwrap().len();
        wants.changes = text["changes_until"].as_u64().unwrap() as usize;
        messages += 1;
        if text["more"] == false {
            break;
        }
    }
    assert_eq!((told, messages), (9000, 3));
}

#[test]
fn news_are_waited_for() {
    let shared = Arc::new(SharedState::default());
    let wants = Wants::default();
    let begun = Instant::now();
    assert_eq!(shared.news(&wants, Duration::from_millis(30)).text["serial"], 0);
    assert!(begun.elapsed() >= Duration::from_millis(30));
    let writer = Arc::clone(&shared);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        // One message a frame: what was tracked comes with the frame.
        writer.prepare(|state| state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0)))));
        std::thread::sleep(Duration::from_millis(20));
        writer.change(|state| state.say("here"));
    });
    let news = shared.news(&wants, Duration::from_secs(20)).text;
    assert_eq!((&news["serial"], &news["status"]["said"]), (&1.into(), &serde_json::json!([1, "here"])));
    assert_eq!(news["changes"].as_array().unwrap().len(), 1);
    thread.join().unwrap();
}
