//! Slow frames, and boxes of frames that have not come yet.

use super::*;

#[test]
fn a_retry_reaches_a_frame_far_ahead() {
    // Frame 28 takes longer than a command waits.
    let source = Scenery { lasts: |_| Duration::from_millis(100), ..Scenery::video() };
    let seat = seat_of(source, 0);
    let command = Command::Add { id: Some(1), position: Some(28), bbox: seat.truth(28) };
    // The first frame is not shown yet, but the controller does not go back to it between the retries.
    assert_eq!(seat.view.command(command.clone()), Err(Refusal::NotYet { position: 28 }));
    let asked = (1..6).find(|_| seat.view.command(command.clone()) != Err(Refusal::NotYet { position: 28 }));
    assert!(asked.is_some(), "it is still on its way");
    assert_eq!(seat.found(1), [(28, seat.truth(28))]);
    seat.stands_at(28);
    seat.view.close().unwrap();
}

#[test]
fn a_target_of_a_later_frame_begins_when_the_frame_comes() {
    let given = [(7, 12, truth(&scene(), 12)), (3, 1, truth(&scene(), 1))];
    let seat = seat_with(CancelToken::default(), Scenery::camera(), MAX_CACHE_BYTES, &given);
    // It has no record before.
    seat.step(5, 6);
    assert_eq!((seat.found(3).len(), seat.found(7).len()), (6, 0));
    assert!(seat.refused(Command::End { target: 7, position: Some(6) }).contains("remove the target"));
    seat.play_to_the_end();
    assert_eq!(seat.found(3), plain(1, seat.truth(1), FRAMES));
    assert_eq!(seat.found(7), plain(12, seat.truth(12), FRAMES));
    seat.view.close().unwrap();
}

#[test]
fn a_wrong_box_of_a_later_frame_pauses_there_and_can_be_replaced() {
    let given = [(1, 1, truth(&scene(), 1)), (2, 5, BBox::new(900.0, 0.0, 10.0, 10.0))];
    let seat = seat_with(CancelToken::default(), Scenery::camera(), MAX_CACHE_BYTES, &given);
    seat.command(Command::Play);
    seat.stands_at(5);
    let said = seat.view.shared.look(|state| state.status.said.1.clone());
    assert!(said.contains("target 2, frame 5: box 900,0,10,10") && said.contains("another box here"), "{said}");
    seat.command(Command::Give { target: 2, position: Some(5), bbox: seat.truth(5) });
    seat.play_to_the_end();
    assert_eq!(seat.found(1), plain(1, seat.truth(1), FRAMES));
    assert_eq!(seat.found(2), plain(5, seat.truth(5), FRAMES));
    // No frame comes after the end.
    let bbox = seat.truth(1);
    assert!(seat.refused(Command::Add { id: None, position: Some(FRAMES + 1), bbox }).contains("no frame 31"));
    seat.view.close().unwrap();
}

#[test]
fn the_shown_frame_takes_a_box_without_another_read() {
    let back = |first: usize| Duration::from_millis(if first > 1 { 400 } else { 0 });
    let seat = seat_of(Scenery { lasts: back, ..Scenery::video() }, 0);
    seat.seek(20);
    // The source has moved on; reading frame 20 again would take longer than a command waits.
    let outside = BBox::new(900.0, 0.0, 10.0, 10.0);
    assert!(seat.refused(Command::Add { id: None, position: Some(28), bbox: outside }).contains("outside"));
    seat.command(Command::Add { id: None, position: Some(20), bbox: seat.truth(20) });
    assert_eq!(seat.found(1), [(20, seat.truth(20))]);
    seat.view.close().unwrap();
}

#[test]
fn refuses_a_box_whose_next_frame_is_gone() {
    let frame = 96 * 72 + size_of::<crate::media::Item>();
    let seat = seat(true, 2 * frame);
    seat.step(11, 12);
    assert_eq!(seat.view.shared.look(|state| state.status.oldest), 11);
    let gone = seat.refused(Command::Add { id: None, position: Some(9), bbox: seat.truth(9) });
    assert!(gone.contains("frame 9 is gone: give the box in frame 11 or a later one"), "{gone}");
    seat.view.close().unwrap();
}
