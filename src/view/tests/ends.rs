//! The last frame: reaching it, seeking beyond it, and what follows.

use super::state::Status;
use super::*;

fn status(seat: &Seat) -> Status {
    seat.view.shared.look(|state| state.status.clone())
}

/// The JSON document of all records so far.
fn document(seat: &Seat) -> serde_json::Value {
    let span = Span { first: 1, last: None };
    let source = SourceRecord::new("scenery".into(), &Info::default(), span);
    let results = Results { source, parameters: serde_json::Value::Null, named: false };
    serde_json::from_slice(&results.all(&seat.view.shared, crate::export::Form::Json).unwrap()).unwrap()
}

#[test]
fn a_seek_beyond_an_unknown_end_shows_the_last_frame() {
    for beyond in [Command::Seek { position: 99 }, Command::Seek { position: FRAMES + 1 }, Command::Step { by: 200 }] {
        let seat = seat_of(Scenery::video(), 0);
        seat.command(Command::Add { id: None, position: Some(1), bbox: seat.truth(1) });
        seat.command(beyond.clone());
        seat.stands_at(FRAMES);
        let Status { newest, last, oldest, going_to, said, .. } = status(&seat);
        assert_eq!((oldest, newest, last, going_to), (1, FRAMES, Some(FRAMES), None), "{beyond:?}");
        assert_eq!(said.1, "frame 30 is the last one");
        let followed = if matches!(beyond, Command::Step { .. }) { FRAMES } else { 1 };
        assert_eq!(seat.found(1).len(), followed);
        seat.view.close().unwrap();
    }
    let frame = 96 * 72 + size_of::<crate::media::Item>();
    let seat = seat(true, 6 * frame);
    seat.step(200, FRAMES);
    let Status { newest, oldest, .. } = status(&seat);
    assert_eq!((oldest, newest), (FRAMES - 5, FRAMES));
    seat.view.close().unwrap();
}

#[test]
fn playing_at_the_last_frame_tracks_what_a_correction_left_open() {
    let seat = seat(false, MAX_CACHE_BYTES);
    seat.command(Command::Add { id: None, position: Some(1), bbox: seat.truth(1) });
    seat.play_to_the_end();
    let moved = seat.truth(20).translated(2.0, 1.0);
    seat.command(Command::Give { target: 1, position: Some(20), bbox: moved });
    seat.seek(FRAMES);
    assert_eq!(seat.found(1).len(), 20);
    seat.play_to_the_end();
    assert_eq!(seat.found(1), [plain(1, seat.truth(1), 19), plain(20, moved, FRAMES)].concat());
    assert!(seat.refused(Command::Play).contains("this is the last frame"));
    seat.view.close().unwrap();
}

#[test]
fn a_document_is_complete_once_the_last_frame_is_tracked() {
    let seat = seat_of(Scenery::video(), MAX_CACHE_BYTES);
    let completed = || document(&seat)["summary"]["completed"] == true;
    seat.command(Command::Add { id: None, position: Some(1), bbox: seat.truth(1) });
    seat.step(9, 10);
    assert!(!completed());
    seat.play_to_the_end();
    assert!(completed());
    seat.command(Command::Give { target: 1, position: Some(20), bbox: seat.truth(20) });
    assert!(!completed());
    seat.command(Command::End { target: 1, position: Some(25) });
    seat.play_to_the_end();
    assert!(completed());
    seat.view.close().unwrap();
    // A target whose first frame never came.
    let given = [(1, 1, truth(&scene(), 1)), (2, FRAMES + 9, truth(&scene(), 1))];
    let seat = seat_with(CancelToken::default(), Scenery::camera(), MAX_CACHE_BYTES, &given);
    seat.play_to_the_end();
    assert_eq!(document(&seat)["summary"]["completed"], false);
    seat.view.close().unwrap();
}

#[test]
fn the_status_names_the_goal_until_it_is_shown() {
    let slow = |_| Duration::from_millis(40);
    let seat = seat_of(Scenery { lasts: slow, ..Scenery::video() }, MAX_CACHE_BYTES);
    seat.stands_at(1);
    seat.command(Command::Seek { position: 28 });
    assert_eq!((status(&seat).position, status(&seat).going_to), (1, Some(28)));
    seat.command(Command::Pause);
    assert_eq!(status(&seat).going_to, None);
    seat.seek(28);
    assert_eq!(status(&seat).going_to, None);
    seat.view.close().unwrap();
}

#[test]
fn a_cancelled_view_waits_for_no_frame() {
    let stop = CancelToken::default();
    let source = Scenery { lasts: |_| Duration::from_millis(700), ..Scenery::folder() };
    let seat = seat_with(stop.clone(), source, 0, &[]);
    stop.cancel();
    let begun = Instant::now();
    let refused = seat.view.command(Command::Add { id: None, position: Some(20), bbox: seat.truth(20) }).unwrap_err();
    assert!(begun.elapsed() < Duration::from_millis(1500), "{refused}");
    seat.view.close().unwrap();
}
