use std::io::Read;

use super::*;

#[cfg(unix)]
fn shell(script: &str, patience: Duration) -> (Ffmpeg, BufReader<ChildStdout>) {
    patient(script, Patience { first: patience, next: patience })
}

#[cfg(unix)]
fn patient(script: &str, patience: Patience) -> (Ffmpeg, BufReader<ChildStdout>) {
    let mut command = ffmpeg::command("sh");
    command.args(["-c", script]);
    Ffmpeg::start(command, Path::new("clip"), patience).unwrap()
}

#[cfg(unix)]
fn read_all(ffmpeg: &Ffmpeg, out: &mut BufReader<ChildStdout>) -> Vec<u8> {
    let mut bytes = Vec::new();
    ffmpeg.waiting(|| out.read_to_end(&mut bytes)).unwrap();
    bytes
}

#[test]
fn time_in_which_the_program_was_stopped_is_not_waited() {
    let mut waiting = Waiting::default();
    let looks = [(0, 1), (1, 50), (1, 50), (1, 60_000), (1, 50), (2, 50), (2, 60), (0, 50), (3, 50)];
    let waited = looks.map(|(asked, since)| waiting.look(asked, Duration::from_millis(since)).as_millis());
    assert_eq!(waited, [0, 0, 50, 150, 200, 0, 60, 0, 0]);
}

#[test]
#[cfg(unix)]
fn one_that_hangs_is_ended_and_said_to() {
    let (ffmpeg, mut out) = shell("echo begun; exec sleep 60", Duration::from_millis(200));
    let begun = Instant::now();
    assert_eq!(read_all(&ffmpeg, &mut out), b"begun\n");
    assert!(begun.elapsed() < Duration::from_secs(20));
    let said = ffmpeg.trouble(3, Ending::Strict).unwrap();
    assert!(said.contains("no frame for 0.2 s after 3 frames"), "{said}");
}

#[test]
#[cfg(unix)]
fn the_first_frame_may_take_longer_than_the_next() {
    let patience = Patience { first: Duration::from_secs(30), next: Duration::from_millis(200) };
    let (ffmpeg, mut out) = patient("sleep 0.6; echo begun; exec sleep 60", patience);
    let mut line = String::new();
    ffmpeg.waiting(|| std::io::BufRead::read_line(&mut out, &mut line)).unwrap();
    assert_eq!((line.as_str(), read_all(&ffmpeg, &mut out)), ("begun\n", Vec::new()));
    let said = ffmpeg.trouble(1, Ending::Lenient).unwrap();
    assert!(said.contains("no frame for 0.2 s after 1 frames"), "{said}");
}

#[test]
#[cfg(unix)]
fn a_slow_reader_is_no_hanging_writer() {
    let (ffmpeg, mut out) = shell("echo begun", Duration::from_millis(100));
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(read_all(&ffmpeg, &mut out), b"begun\n");
    assert_eq!(ffmpeg.trouble(1, Ending::Strict), None);
}

#[test]
fn cameras_never_end_and_only_files_are_read_strictly() {
    for (given, lenient, ending) in [
        ("clip.mp4", false, Ending::Strict),
        ("clip.mp4", true, Ending::Lenient),
        ("rtsp://host/clip", false, Ending::Lenient),
        ("/dev/video0", false, Ending::Never),
        ("/dev/video0", true, Ending::Never),
    ] {
        assert_eq!(Ending::of(&Input::new(Path::new(given)), lenient), ending, "{given}");
    }
}

#[test]
#[cfg(unix)]
fn an_end_is_told_from_a_failure() {
    let patience = Duration::from_secs(30);
    for (script, ending, said) in [
        ("exit 0", Ending::Strict, None),
        ("echo '[error] bad slice' >&2; exit 0", Ending::Lenient, None),
        (
            "echo '[error] bad slice' >&2; exit 0",
            Ending::Strict,
            Some("it is damaged; all 7 frames that ffmpeg gives of it were read: bad slice"),
        ),
        ("exit 1", Ending::Lenient, Some("ffmpeg stopped after 7 frames")),
        ("kill -9 $$", Ending::Lenient, Some("ffmpeg was killed after 7 frames")),
    ] {
        let (ffmpeg, mut out) = shell(script, patience);
        read_all(&ffmpeg, &mut out);
        let trouble = ffmpeg.trouble(7, ending);
        assert!(trouble.as_deref().unwrap_or("").starts_with(said.unwrap_or("")), "{script}: {trouble:?}");
        assert_eq!(trouble.is_some(), said.is_some(), "{script}: {trouble:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_camera_that_vanishes_is_no_end() {
    for (script, said) in [
        ("exit 0", "the camera gave no more after 7 frames"),
        ("echo '[error] No such device' >&2", "the camera gave no more after 7 frames: No such device"),
        ("exit 1", "ffmpeg stopped after 7 frames"),
    ] {
        let (ffmpeg, mut out) = shell(script, Duration::from_secs(30));
        read_all(&ffmpeg, &mut out);
        assert_eq!(ffmpeg.trouble(7, Ending::Never).as_deref(), Some(said), "{script}");
    }
}

#[test]
#[cfg(unix)]
fn one_that_says_nothing_of_its_frames_is_waited_for_once() {
    let patience = Duration::from_millis(300);
    let (mut ffmpeg, _out) = shell("exec sleep 60", patience);
    let begun = Instant::now();
    assert_eq!(ffmpeg.shown(), None);
    let waited = begun.elapsed();
    assert!((0..100).all(|_| ffmpeg.shown().is_none()));
    assert!(waited >= patience && begun.elapsed() < 10 * patience);
}

#[test]
#[cfg(unix)]
fn dropping_ends_it() {
    let (ffmpeg, _out) = shell("exec sleep 60", Duration::from_secs(60));
    let process = Arc::clone(&ffmpeg.process);
    drop(ffmpeg);
    assert!(process.child.lock().unwrap().try_wait().unwrap().is_some());
}
