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
fn a_network_stream_that_breaks_off_is_an_error() {
    let place = place(1);
    let clip = "-f lavfi -i testsrc2=size=160x120:rate=25:duration=2 -c:v mpeg4 -g 5 -movflags faststart clip.mp4";
    if !ffmpeg(&place.path(""), clip) {
        return;
    }
    let clip = fs::read(place.path("clip.mp4")).unwrap();
    for (sent, code, words) in
        [(clip.len(), 0, ""), (clip.len() / 2, 1, "the stream broke off; about 50 frames were expected")]
    {
        let mut command = spawnable();
        command.args([&breaking(clip.clone(), sent), "--init", INIT, "-p", "paper", "-q", "--csv", "-"]);
        let output = command.env_remove("http_proxy").stdin(Stdio::null()).output().unwrap();
        let (stderr, rows) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(words) && rows.lines().count() > 10, "{stderr}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_run_leaves_no_ffmpeg_behind() {
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
fn reads_a_redirected_file_by_its_name() {
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
}
