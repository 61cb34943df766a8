//! The controller through its commands: after any correction, its boxes equal those of plain sessions.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::state::{Status, Wants};
use super::*;
use crate::export::{Form, FrameRecord, Layout, SourceRecord, TargetRecord};
use crate::frame::Channels;
use crate::media::{Demand, Info, Item, Prefetch, Source, Span, Stream};
use crate::run::{Reach, Session, Step};
use crate::synth::{Scene, SceneParams};
use crate::tracker::Tracker;

const FRAMES: usize = 30;

/// One scene as a folder, as a camera, or as a video of unknown length.
struct Scenery {
    scene: Scene,
    info: Info,
    /// How long each frame takes, by the position where its stream begins.
    lasts: fn(usize) -> Duration,
    /// The position of a frame that cannot be read, with which each stream ends.
    broken: usize,
}

impl Scenery {
    fn folder() -> Self {
        let info = Info { name: "scenery".into(), length: Some(FRAMES), ..Info::default() };
        Self { scene: scene(), info, lasts: |_| Duration::ZERO, broken: usize::MAX }
    }

    fn camera() -> Self {
        let mut source = Self::video();
        source.info.live = true;
        source
    }

    fn video() -> Self {
        let mut source = Self::folder();
        source.info.length = None;
        source
    }
}

impl Source for Scenery {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, span: Span, demand: Demand, cancel: &CancelToken) -> Result<Stream> {
        let frames = self.scene.stream(Span { last: span.last.or(Some(FRAMES)), ..span }, demand, cancel)?;
        let (lasts, broken) = ((self.lasts)(span.first), self.broken);
        let frames = frames.inspect(move |_| std::thread::sleep(lasts)).take_while(move |item| item.position <= broken);
        Ok(Box::new(frames.map(move |item| match item.position == broken {
            true => Item::numbered(broken, None, Err(Error::io("scenery", std::io::ErrorKind::Other.into())), 0.0),
            false => item,
        })))
    }
}

fn scene() -> Scene {
    let params = SceneParams {
        frames: FRAMES,
        width: 96,
        height: 72,
        target_width: 20,
        target_height: 24,
        ..SceneParams::default()
    };
    Scene::new(params).unwrap()
}

fn params() -> Params {
    Params::preset("paper").unwrap()
}

struct Seat {
    view: View,
    scene: Scene,
}

fn add(id: Option<u32>, position: Option<usize>, bbox: BBox) -> Command {
    Command::Add { id, position, bbox, name: None, class: None }
}

fn give(target: u32, position: Option<usize>, bbox: BBox) -> Command {
    reaching(target, position, bbox, Reach::FromHere)
}

fn reaching(target: u32, position: Option<usize>, bbox: BBox, reach: Reach) -> Command {
    Command::Give { target, position, bbox, polygon: None, reach }
}

fn seek_to(position: usize) -> Command {
    Command::Seek { position, track: false }
}

fn seat(live: bool, kept: usize) -> Seat {
    seat_of(if live { Scenery::camera() } else { Scenery::folder() }, kept)
}

fn seat_of(source: Scenery, kept: usize) -> Seat {
    seat_with(CancelToken::default(), source, kept, &[])
}

/// A view that begins with targets of these ids, frames and boxes.
fn seat_with(stop: CancelToken, source: Scenery, kept: usize, given: &[(u32, usize, BBox)]) -> Seat {
    let source = Arc::new(source);
    let span = source.info().span(None, None).unwrap();
    let info = source.info().clone();
    let targets = given.iter().map(|&(id, frame, bbox)| TargetRecord::new(id, frame, bbox)).collect();
    let cache = FrameCache::new(source, span, params().channels().into(), kept);
    let document = Document { targets, ..blank(&info, span) };
    let mut setup = Setup::new(cache, document, params(), &stop);
    setup.status.preset = "paper".into();
    let address = Address { host: "127.0.0.1".into(), port: 0, token: None };
    let seat = Seat { view: View::open(setup, &address).unwrap(), scene: scene() };
    seat.command(Command::Speed { times: None });
    seat
}

/// A run without targets.
fn blank(info: &Info, span: Span) -> Document {
    Document::blank(SourceRecord::new("scenery".into(), info, span), serde_json::Value::Null)
}

fn truth(scene: &Scene, position: usize) -> BBox {
    <[f64; 4]>::from(scene.info().initial_box(position).unwrap()).map(f64::round).into()
}

impl Seat {
    fn command(&self, command: Command) {
        self.view.command(command.clone()).unwrap_or_else(|said| panic!("{command:?}: {said}"));
    }

    fn refused(&self, command: Command) -> String {
        self.view.command(command).expect_err("it is refused")
    }

    /// The true box, in whole pixels, as a person draws one.
    fn truth(&self, position: usize) -> BBox {
        truth(&self.scene, position)
    }

    /// Waits until a frame is shown and the view is paused.
    fn stands_at(&self, position: usize) {
        let begun = Instant::now();
        while self.view.results.shared.look(|state| (state.status.position, state.status.playing)) != (position, false)
        {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{:?}",
                self.view.results.shared.look(|s| s.status.clone())
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn seek(&self, position: usize) {
        self.command(seek_to(position));
        self.stands_at(position);
    }

    fn step(&self, by: isize, position: usize) {
        self.command(Command::Step { by });
        self.stands_at(position);
    }

    fn play_to_the_end(&self) {
        self.command(Command::Play);
        self.stands_at(FRAMES);
    }

    /// Positions and boxes of a target.
    fn found(&self, target: u32) -> Vec<(usize, BBox)> {
        let found = |track: &track::Track| track.records().map(|record| (record.index, record.bbox)).collect();
        self.view.results.shared.look(|state| state.tracks.get(&target).map(found).unwrap_or_default())
    }
}

/// The positions and boxes of a session that begins with `bbox` at `start` and ends at `end`.
fn plain(start: usize, bbox: BBox, end: usize) -> Vec<(usize, BBox)> {
    let scene = scene();
    let frames = Prefetch::open(&scene, start..=end, Channels::Luma, &CancelToken::default()).unwrap();
    let mut session = Session::of(Tracker::new(params()).unwrap(), start, bbox);
    let mut found = Vec::new();
    session
        .run(frames, &mut |step: &Step<'_, Tracker>| {
            let record = FrameRecord::new(step.item, &step.outcomes[0], None);
            found.push((record.index, record.bbox));
            Ok(())
        })
        .unwrap();
    found
}

#[test]
fn corrections_give_what_plain_sessions_give() {
    let seat = seat(false, MAX_CACHE_BYTES);
    let whole = plain(1, seat.truth(1), FRAMES);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.play_to_the_end();
    assert_eq!(seat.found(1), whole);

    // A correction keeps what was before it, and what was after it until the new path replaces it.
    let moved = seat.truth(15).translated(3.0, -2.0);
    seat.seek(15);
    assert_eq!(seat.found(1), whole);
    seat.command(give(1, Some(15), moved));
    assert_eq!(seat.found(1), [&whole[..14], &[(15, moved)], &whole[15..]].concat());
    // A second target, added on the way, costs the first one nothing.
    seat.command(add(None, Some(10), seat.truth(10)));
    seat.stands_at(10);
    seat.play_to_the_end();
    let corrected = [&whole[..14], &plain(15, moved, FRAMES)].concat();
    assert_eq!(seat.found(1), corrected);
    assert_eq!(seat.found(2), plain(10, seat.truth(10), FRAMES));
    // An earlier correction leaves what was given after it.
    seat.command(give(1, Some(5), moved));
    seat.play_to_the_end();
    assert_eq!(seat.found(1), [&whole[..4], &plain(5, moved, 14), &corrected[14..]].concat());
    // Taking both back restores the original track.
    for position in [5, 15] {
        seat.command(Command::TakeBack { target: 1, position });
    }
    seat.seek(1);
    seat.play_to_the_end();
    assert_eq!(seat.found(1), whole);
    // An end.
    seat.command(Command::End { target: 1, position: Some(20) });
    seat.command(Command::Remove { target: 2 });
    seat.seek(18);
    seat.play_to_the_end();
    assert_eq!(seat.found(1), whole[..19]);
    assert!(seat.found(2).is_empty());
    // A correction that is undone is followed no more, and one that is redone is.
    seat.command(Command::TakeBack { target: 1, position: 20 });
    seat.command(give(1, Some(1), moved));
    seat.stands_at(1);
    seat.step(8, 9);
    for (command, bbox) in [(Command::Undo, seat.truth(1)), (Command::Redo, moved)] {
        seat.command(command);
        seat.play_to_the_end();
        assert_eq!(seat.found(1), plain(1, bbox, FRAMES));
        seat.seek(9);
    }
    // The next id is above all.
    for id in [Some(5), Some(4), None] {
        seat.command(add(id, Some(1), moved));
    }
    assert_eq!([4, 5, 6].map(|id| seat.found(id).len()), [1, 1, 1]);
    seat.view.close().unwrap();
}

#[test]
fn a_box_of_one_frame_changes_no_other() {
    let seat = seat(false, MAX_CACHE_BYTES);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.play_to_the_end();
    let whole = seat.found(1);
    let moved = seat.truth(15).translated(3.0, -2.0);
    seat.command(reaching(1, Some(15), moved, Reach::ThisFrame));
    assert_eq!(seat.found(1), [&whole[..14], &[(15, moved)], &whole[15..]].concat());
    assert_eq!(document(&seat)["summary"]["completed"], true);
    // An earlier correction leads past it.
    seat.command(give(1, Some(10), seat.truth(10)));
    seat.play_to_the_end();
    let mut anew = [&whole[..9], &plain(10, seat.truth(10), FRAMES)].concat();
    anew[14].1 = moved;
    assert_eq!(seat.found(1), anew);
    for _ in 0..2 {
        seat.command(Command::Undo);
    }
    assert_eq!(seat.found(1), whole);
    seat.command(Command::Redo);
    seat.command(Command::TakeBack { target: 1, position: 15 });
    assert_eq!(seat.found(1), whole);
    seat.view.close().unwrap();
}

#[test]
fn a_box_between_two_others_fills_the_frames_to_both() {
    let seat = seat(false, MAX_CACHE_BYTES);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.play_to_the_end();
    seat.command(reaching(1, Some(21), seat.truth(21), Reach::ThisFrame));
    let before = seat.found(1);
    let (a, b) = (BBox::new(4.0, 4.0, 20.0, 24.0), BBox::new(24.0, 14.0, 30.0, 24.0));
    seat.command(reaching(1, Some(1), a, Reach::ThisFrame));
    seat.command(reaching(1, Some(11), b, Reach::Interpolated));
    let found = seat.found(1);
    assert_eq!(found[5].1, BBox::new(14.0, 9.0, 25.0, 24.0));
    let share = |from: f64, to: f64| from + 0.5 * (to - from);
    assert!((found[15].1.x - share(b.x, seat.truth(21).x)).abs() < 1e-3);
    assert_eq!((found.len(), &found[20..]), (before.len(), &before[20..]));
    // The command line tracks the same frames from both sides.
    seat.command(Command::Undo);
    seat.command(Command::Undo);
    assert_eq!(seat.found(1), before);
    seat.command(reaching(1, Some(11), seat.truth(11), Reach::BothSides));
    let begun = Instant::now();
    while status(&seat).filling.is_some() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
    let (found, forward) = (seat.found(1), plain(1, seat.truth(1), 10));
    assert_eq!(document(&seat)["summary"]["completed"], true);
    assert!(found[1] == forward[1] && found[9] != before[9], "the end is that of the way back");
    assert_eq!(found[20..], before[20..]);
    seat.command(Command::Undo);
    assert_eq!(seat.found(1), before);
    seat.view.close().unwrap();
}

#[test]
fn what_is_covered_is_said_up_to_the_next_box() {
    let seat = seat(false, MAX_CACHE_BYTES);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.play_to_the_end();
    seat.command(reaching(1, Some(20), seat.truth(20), Reach::ThisFrame));
    seat.command(Command::Occluded { target: 1, position: 12, on: true });
    let covered = || {
        let is_covered = |record: &&FrameRecord| record.state == crate::tracker::State::Occluded;
        let of = |track: &track::Track| track.records().filter(is_covered).map(|record| record.index).collect();
        seat.view.results.shared.look(|state| -> Vec<usize> { of(&state.tracks[&1]) })
    };
    assert_eq!(covered(), (13..20).collect::<Vec<_>>());
    seat.command(Command::Occluded { target: 1, position: 15, on: false });
    assert_eq!(covered(), [13, 14]);
    for _ in 0..2 {
        seat.command(Command::Undo);
    }
    assert!(covered().is_empty());
    assert!(seat.refused(Command::Occluded { target: 1, position: 99, on: true }).contains("no box"));
    seat.view.close().unwrap();
}

#[test]
fn a_seek_tracks_when_it_is_asked_to() {
    let seat = seat(false, MAX_CACHE_BYTES);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.command(Command::Seek { position: 17, track: true });
    seat.stands_at(17);
    assert_eq!(seat.found(1), plain(1, seat.truth(1), 17));
    seat.view.close().unwrap();
}

#[test]
fn steps_track_and_seeks_do_not() {
    let seat = seat(false, MAX_CACHE_BYTES);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.step(3, 4);
    assert_eq!(seat.found(1), plain(1, seat.truth(1), 4));
    seat.seek(20);
    assert_eq!(seat.found(1).len(), 4);
    // A step from there tracks nothing either. A step from a tracked frame tracks all up to its goal.
    seat.step(1, 21);
    assert_eq!(seat.found(1).len(), 4);
    seat.step(-100, 1);
    seat.step(1000, FRAMES);
    assert_eq!(seat.found(1), plain(1, seat.truth(1), FRAMES));
    seat.command(Command::Pause);
    assert!(seat.refused(Command::Play).contains("last frame"));
    seat.view.close().unwrap();
}

#[test]
fn steps_back_show_pictures_and_boxes_are_drawn_in_frames() {
    let seat = seat_of(Scenery { lasts: |first| Duration::from_millis(first as u64 * 9), ..Scenery::video() }, 0);
    seat.seek(28);
    std::thread::sleep(Duration::from_millis(500));
    // Each frame that is read anew would take a quarter of a second, pictures come from the first frame on.
    let begun = Instant::now();
    (2..28).rev().for_each(|position| seat.step(-1, position));
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(seat.view.results.shared.look(|state| state.picture.as_ref().unwrap().size), Some((96, 72)));
    seat.step(10, 12);
    seat.command(add(None, None, seat.truth(12)));
    seat.play_to_the_end();
    assert_eq!(seat.found(1), plain(12, seat.truth(12), FRAMES));
    seat.view.close().unwrap();
}

#[test]
fn the_last_frames_of_a_camera_can_be_corrected() {
    let frame = 96 * 72 + size_of::<crate::media::Item>();
    let seat = seat(true, 6 * frame);
    assert!(seat.refused(seek_to(9)).contains("has not come yet"));
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.step(20, 20 + 1);
    let oldest = seat.view.results.shared.look(|state| state.status.oldest);
    assert!(oldest > 10 && oldest <= 18, "{oldest}");
    assert!(seat.refused(seek_to(oldest - 1)).contains("is gone"));
    let moved = seat.truth(18).translated(2.0, 2.0);
    assert!(seat.refused(give(1, Some(2), moved)).contains("frame 2 is gone"));
    seat.seek(18);
    seat.command(give(1, Some(18), moved));
    seat.play_to_the_end();
    assert_eq!(seat.found(1), [plain(1, seat.truth(1), 17), plain(18, moved, FRAMES)].concat());
    seat.view.close().unwrap();
}

#[test]
fn a_target_whose_beginning_is_gone_stops_no_other() {
    let frame = 96 * 72 + size_of::<crate::media::Item>();
    let seat = seat(true, 6 * frame);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.step(14, 15);
    // An end and a wrong box. The pieces before them began in a frame that is gone.
    seat.command(Command::End { target: 1, position: Some(15) });
    assert!(seat.refused(Command::End { target: 1, position: Some(18) }).contains("has ended already"));
    let gone = seat.refused(Command::TakeBack { target: 1, position: 15 });
    assert!(gone.contains("its beginning is gone: draw a new box"), "{gone}");
    seat.command(give(2, Some(14), seat.truth(14)));
    let gone = seat.refused(Command::TakeBack { target: 2, position: 14 });
    assert!(gone.contains("its beginning is gone: draw a new box"), "{gone}");
    // The piece before this end began in a frame that is kept.
    seat.command(Command::End { target: 2, position: Some(15) });
    seat.command(Command::TakeBack { target: 2, position: 15 });
    // A new box helps, as the refusal says.
    seat.command(give(1, Some(15), seat.truth(15)));
    seat.step(5, 20);
    assert_eq!(seat.found(1), [plain(1, seat.truth(1), 14), plain(15, seat.truth(15), 20)].concat());
    // A piece that is out of reach does not stop the other targets.
    seat.view.results.shared.change(|state| state.change(1, |track| track.take_back(15)));
    seat.command(seek_to(20));
    seat.play_to_the_end();
    assert_eq!((seat.found(1).len(), document(&seat)["summary"]["completed"].clone()), (20, false.into()));
    assert_eq!(seat.found(2), [plain(1, seat.truth(1), 13), plain(14, seat.truth(14), FRAMES)].concat());
    seat.view.close().unwrap();
}

#[test]
fn a_refused_command_changes_nothing() {
    let seat = seat(false, MAX_CACHE_BYTES);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.step(4, 5);
    let before = seat.found(1);
    let bbox = seat.truth(5);
    let outside = BBox::new(5000.0, 0.0, 10.0, 10.0);
    for (command, said) in [
        (add(None, Some(5), outside), "outside"),
        (add(Some(1), Some(5), bbox), "a target 1 already"),
        (give(1, Some(5), outside), "outside"),
        (give(1, Some(3), BBox::new(1.0, 1.0, -3.0, 4.0)), "box 1,1,-3,4"),
        (give(7, Some(5), bbox), "no target 7"),
        (Command::End { target: 7, position: Some(5) }, "no target 7"),
        (Command::End { target: 1, position: Some(1) }, "remove the target"),
        (Command::TakeBack { target: 1, position: 3 }, "can be taken back"),
        (Command::TakeBack { target: 1, position: 1 }, "can be taken back"),
        (Command::Remove { target: 0 }, "no target 0"),
        (add(None, Some(FRAMES + 1), bbox), "no frame"),
        (add(None, Some(usize::MAX), bbox), "no frame"),
        (add(None, Some(0), bbox), "no frame"),
        (seek_to(0), "no frame 0"),
        (seek_to(FRAMES + 1), "no frame"),
        (Command::Speed { times: Some(f64::NAN) }, "speed"),
        (Command::Speed { times: Some(0.0) }, "speed"),
        (Command::Speed { times: Some(1e-300) }, "speed"),
        (Command::Speed { times: Some(65.0) }, "speed"),
    ] {
        let answer = seat.refused(command.clone());
        assert!(answer.contains(said), "{command:?}: {answer}");
    }
    assert_eq!(seat.found(1), before);
    seat.stands_at(5);
    for _ in 1..100 {
        seat.command(add(None, Some(5), bbox));
    }
    assert!(seat.refused(add(None, Some(5), bbox)).contains("remove one"));
    seat.view.close().unwrap();
}

#[test]
fn a_view_that_ends_ends_its_connections() {
    let Seat { view, .. } = seat(false, 9);
    let run = view.results.shared.look(|state| state.status.run.clone());
    let address = view.server.address;
    let ask = |head: String, body: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        write!(stream, "{head} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n").unwrap();
        write!(stream, "Content-Type: application/json\r\n\r\n{body}").unwrap();
        stream
    };
    let line = |stream: &TcpStream| BufReader::new(stream).lines().next().unwrap().unwrap();
    let pause = r#"{"do":"pause"}"#;
    assert_eq!(
        line(&ask(format!("POST /command?run=1&token={}", view.address.token.as_ref().unwrap()), pause)),
        "HTTP/1.1 409 "
    );
    let idle = ask(format!("POST /command?run={run}&token={}", view.address.token.as_ref().unwrap()), pause);
    assert_eq!(line(&idle), "HTTP/1.1 200 ");
    let wants = Wants { after: u64::MAX, ..Wants::default() };
    let serial = &view.results.shared.news(&wants, Duration::ZERO).text["serial"];
    let waiting = ask(format!("GET /news?after={serial}&token={}", view.address.token.as_ref().unwrap()), "");
    // The page asks before the view ends.
    std::thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    view.close().unwrap();
    for mut stream in [idle, waiting] {
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
}

fn status(seat: &Seat) -> Status {
    seat.view.results.shared.look(|state| state.status.clone())
}

/// The JSON document of all records so far.
fn document(seat: &Seat) -> serde_json::Value {
    let span = Span { first: 1, last: None };
    let (shared, frames) = (Arc::clone(&seat.view.results.shared), Arc::new(Scenery::folder()));
    let results = Results { shared, blank: blank(&Info::default(), span), frames, stop: CancelToken::default() };
    serde_json::from_slice(&results.export(Form::Json, &Layout::default(), false, None).unwrap()).unwrap()
}

#[test]
fn a_seek_beyond_an_unknown_end_shows_the_last_frame() {
    for beyond in [seek_to(99), seek_to(FRAMES + 1), Command::Step { by: 200 }] {
        let seat = seat_of(Scenery::video(), 0);
        seat.command(add(None, Some(1), seat.truth(1)));
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
fn a_video_that_breaks_off_is_not_complete() {
    let frame = 96 * 72 + size_of::<crate::media::Item>();
    let seat = seat_of(Scenery { broken: 12, ..Scenery::video() }, 4 * frame);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.command(Command::Play);
    seat.stands_at(12);
    let Status { last, said, .. } = status(&seat);
    assert!(last == Some(12) && said.1.contains("frame 12 is the last one: it cannot be read"), "{said:?}");
    // At that position the box is that of the frame before.
    let mut expected = plain(1, seat.truth(1), 11);
    expected.push((12, expected[10].1));
    assert_eq!(seat.found(1), expected);
    let summary = document(&seat)["summary"].clone();
    assert!(summary["completed"] == false && summary["error"].as_str().unwrap().contains("scenery"), "{summary}");
    seat.seek(2);
    assert_eq!(document(&seat)["summary"], summary);
    seat.view.close().unwrap();
}

#[test]
fn playing_at_the_last_frame_tracks_what_a_correction_left_open() {
    let seat = seat(false, MAX_CACHE_BYTES);
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.play_to_the_end();
    let moved = seat.truth(20).translated(2.0, 1.0);
    seat.command(give(1, Some(20), moved));
    seat.seek(FRAMES);
    assert_eq!(seat.found(1)[20..], plain(1, seat.truth(1), FRAMES)[20..]);
    assert_eq!(document(&seat)["summary"]["completed"], false);
    seat.play_to_the_end();
    assert_eq!(seat.found(1), [plain(1, seat.truth(1), 19), plain(20, moved, FRAMES)].concat());
    assert!(seat.refused(Command::Play).contains("this is the last frame"));
    seat.view.close().unwrap();
}

#[test]
fn half_the_speed_takes_twice_as_long() {
    let mut source = Scenery::folder();
    source.info.rate = Some(20.0);
    let seat = seat_of(source, MAX_CACHE_BYTES);
    seat.seek(FRAMES - 6);
    seat.command(Command::Speed { times: Some(0.5) });
    let begun = Instant::now();
    seat.play_to_the_end();
    assert!(begun.elapsed() > Duration::from_millis(5 * 100), "{:?}", begun.elapsed());
    seat.view.close().unwrap();
}

#[test]
fn a_document_is_complete_once_the_last_frame_is_tracked() {
    let seat = seat_of(Scenery::video(), MAX_CACHE_BYTES);
    let completed = || document(&seat)["summary"]["completed"] == true;
    seat.command(add(None, Some(1), seat.truth(1)));
    seat.step(9, 10);
    assert!(!completed());
    seat.play_to_the_end();
    assert!(completed());
    seat.command(give(1, Some(20), seat.truth(20)));
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
    seat.command(seek_to(28));
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
    let refused = seat.view.command(add(None, Some(20), seat.truth(20))).unwrap_err();
    assert!(begun.elapsed() < Duration::from_millis(1500), "{refused}");
    seat.view.close().unwrap();
}

#[test]
fn a_box_waits_for_a_frame_far_ahead() {
    let source = Scenery { lasts: |_| Duration::from_millis(100), ..Scenery::video() };
    let seat = seat_of(source, 0);
    seat.command(add(Some(1), Some(28), seat.truth(28)));
    assert_eq!(seat.found(1), [(28, seat.truth(28))]);
    seat.stands_at(28);
    seat.view.close().unwrap();
}

#[test]
fn a_target_of_a_later_frame_begins_when_the_frame_comes() {
    let given = [(7, 12, truth(&scene(), 12)), (3, 1, truth(&scene(), 1))];
    let seat = seat_with(CancelToken::default(), Scenery::camera(), MAX_CACHE_BYTES, &given);
    // The target of frame 12 has no record before.
    seat.step(5, 6);
    assert_eq!((seat.found(3).len(), seat.found(7).len()), (6, 0));
    assert!(seat.refused(Command::End { target: 7, position: Some(6) }).contains("begins in frame 12"));
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
    let said = seat.view.results.shared.look(|state| state.status.said.1.clone());
    assert!(said.contains("target 2, frame 5: box 900,0,10,10") && said.contains("another box here"), "{said}");
    seat.command(give(2, Some(5), seat.truth(5)));
    seat.play_to_the_end();
    assert_eq!(seat.found(1), plain(1, seat.truth(1), FRAMES));
    assert_eq!(seat.found(2), plain(5, seat.truth(5), FRAMES));
    // No frame comes after the end.
    let bbox = seat.truth(1);
    assert!(seat.refused(add(None, Some(FRAMES + 1), bbox)).contains("no frame 31"));
    seat.view.close().unwrap();
}

#[test]
fn the_shown_frame_takes_a_box_without_another_read() {
    let back = |first: usize| Duration::from_millis(if first > 1 { 400 } else { 0 });
    let seat = seat_of(Scenery { lasts: back, ..Scenery::video() }, 0);
    seat.seek(20);
    // The source has moved on; reading frame 20 again would take longer than a command waits.
    let outside = BBox::new(900.0, 0.0, 10.0, 10.0);
    assert!(seat.refused(add(None, Some(28), outside)).contains("outside"));
    seat.command(add(None, Some(20), seat.truth(20)));
    assert_eq!(seat.found(1), [(20, seat.truth(20))]);
    seat.view.close().unwrap();
}

#[test]
fn refuses_a_box_whose_next_frame_is_gone() {
    let frame = 96 * 72 + size_of::<crate::media::Item>();
    let seat = seat(true, 2 * frame);
    seat.step(11, 12);
    assert_eq!(seat.view.results.shared.look(|state| state.status.oldest), 11);
    let gone = seat.refused(add(None, Some(9), seat.truth(9)));
    assert!(gone.contains("frame 9 is gone: give the box in frame 11 or a later one"), "{gone}");
    seat.view.close().unwrap();
}
