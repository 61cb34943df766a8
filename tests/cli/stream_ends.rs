//! Streams that break off, and files that a shell opened.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::helper::{place, spawnable};
use crate::stream::{INIT, ffmpeg};

/// The address of an HTTP server that promises these bytes and breaks off behind `sent` of them.
fn breaking(bytes: Vec<u8>, sent: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/clip.mp4", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for peer in listener.incoming() {
            let mut peer = peer.unwrap();
            let asked = BufReader::new(peer.try_clone().unwrap()).lines();
            asked.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let _ = write!(peer, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
            let _ = peer.write_all(&bytes[..sent]);
        }
    });
    address
}

#[test]
fn a_stream_that_breaks_off_is_warned_about() {
    let place = place(1);
    let clip = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=2 -c:v mpeg4 -g 5 -movflags faststart clip.mp4";
    if !ffmpeg(&place.path(""), clip) {
        return;
    }
    let clip = fs::read(place.path("clip.mp4")).unwrap();
    let ended = |address: &str, quiet: &str| {
        let mut command = spawnable();
        command.args([address, "--init", INIT, "-p", "paper", quiet, "--csv", "-"]).env_remove("http_proxy");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{:?} {said}", output.status);
        (String::from_utf8_lossy(&output.stdout).lines().count() - 1, said)
    };
    let (whole, broken) = (breaking(clip.clone(), clip.len()), breaking(clip.clone(), clip.len() / 2));
    assert_eq!(ended(&whole, "-q"), (50, String::new()));
    let (frames, said) = ended(&broken, "-q");
    assert!((10..40).contains(&frames), "{frames}");
    assert!(said.contains(&format!("warning: {broken}: it ended after {frames} frames of about 50")), "{said}");
    assert!(said.contains("Stream ends prematurely"), "{said}");
    assert_eq!(ended(&broken, "-qq"), (frames, String::new()));
}

#[test]
#[cfg(target_os = "linux")]
fn one_that_is_killed_leaves_no_ffmpeg_behind() {
    use std::os::unix::fs::PermissionsExt;

    // A process that nobody has waited for has ended, too.
    let runs = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    let place = place(1);
    let (probe, known) = (place.path("ffprobe"), place.path("pid"));
    fs::write(&probe, format!("#!/bin/sh\necho $$ > {0}.new\nmv {0}.new {0}\nexec sleep 60\n", known.display()))
        .unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place.path("clip.mp4"), "a clip").unwrap();
    let path = format!("{}:{}", place.path("").display(), std::env::var("PATH").unwrap());
    let mut command = spawnable();
    command.arg(place.path("clip.mp4")).args(["--init", INIT]).env("PATH", path);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    let wait = |holds: &dyn Fn() -> bool, what: &str| {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait(&|| known.exists(), "it was not started");
    let pid = fs::read_to_string(&known).unwrap().trim().to_owned();
    assert!(runs(&pid));
    child.kill().unwrap();
    child.wait().unwrap();
    wait(&|| !runs(&pid), "it goes on");
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_a_shell_opened_is_read_by_its_name() {
    let place = place(1);
    if !ffmpeg(&place.path(""), "-f lavfi -i testsrc2=size=160x120:rate=25:duration=0.4 -c:v mpeg4 clip.mp4") {
        return;
    }
    let clip = place.path("clip.mp4");
    for name in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let mut command = spawnable();
        command.args([name, "--init", INIT, "-p", "paper", "-q", "--otb", "-"]);
        let output = command.stdin(fs::File::open(&clip).unwrap()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 10, "{name}");
    }
    // One that has no name any more cannot be handed on.
    let opened = fs::File::open(&clip).unwrap();
    fs::remove_file(&clip).unwrap();
    let output = spawnable().args(["/dev/stdin", "--init", INIT]).stdin(opened).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("has no name by which ffmpeg could open it"), "{said}");
}

#[test]
fn an_end_that_no_frame_reaches_hides_no_damage_before_it() {
    let place = place(1);
    let noise = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=2 -c:v mjpeg";
    for name in ["clip.mkv", "clip.gif", "clip.avi"] {
        let form = if name == "clip.gif" { noise.replace("mjpeg", "gif") } else { noise.into() };
        if !ffmpeg(&place.path(""), &format!("{form} {name}")) {
            return;
        }
        let clip = place.path(name);
        let whole = fs::read(&clip).unwrap();
        let ended = |end: &str| {
            let mut command = spawnable();
            command.arg(&clip).args(["--init", INIT, "-p", "paper", "-q", "--csv", "-", "--end", end]);
            let output = command.stdin(Stdio::null()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), String::from_utf8_lossy(&output.stdout).lines().count() - 1, said)
        };
        assert_eq!(ended("0:09"), (Some(0), 50, String::new()), "{name}");
        fs::write(&clip, &whole[..whole.len() / 2]).unwrap();
        let (code, frames, said) = ended("0:09");
        assert!(code == Some(1) && (10..40).contains(&frames) && said.contains("error: "), "{name}: {frames} {said}");
        let (code, frames, said) = ended("0.2s");
        assert!(code == Some(0) && (5..=6).contains(&frames) && said.is_empty(), "{name}: {frames} {said}");
    }
}
