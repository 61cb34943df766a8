//! `kcf-track model`, and `--preset expert` without a folder of networks.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use tempfile::TempDir;

use crate::helper::{place, run};

/// The program with the folder `models` of `place` for its networks.
fn model(place: &TempDir, line: &str) -> Command {
    let mut command = run(line.split_whitespace());
    command.env("KCF_TRACK_MODELS", place.path().join("models"));
    command
}

#[test]
fn a_failure_is_one_line_and_installs_nothing() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("downloads");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("nanotrack_backbone.onnx"), vec![0; 1000]).unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let install = |from: &str| model(&place, &format!("model install nanotrack-v3 --from {from}"));
    let by_hand = "copy nanotrack_backbone.onnx and nanotrack_head.onnx from https://github.com/";
    let mut without_curl = install("http://localhost");
    without_curl.env("PATH", place.path());
    for (mut command, reason) in [
        (install(folder.to_str().unwrap()), contains("it has 1000 bytes, not 1431635").boxed()),
        (install("no/such/folder"), contains("no/such/folder/nanotrack_backbone.onnx: No such file").boxed()),
        (install(&format!("http://{closed}/x")), contains("curl: (7)").and(contains(by_hand)).boxed()),
        (without_curl, contains("curl is needed").and(contains(by_hand)).boxed()),
    ] {
        let ran = command.env_remove("http_proxy").assert().code(1).stderr(reason);
        ran.stderr(starts_with("error: ").and(contains("\n").count(1))).stdout(contains("Apache-2.0"));
        assert!(!place.path().join("models").exists());
    }
    model(&place, "model path nanotrack-v3").assert().code(1).stderr(contains("kcf-track model install nanotrack-v3"));
    model(&place, "model remove nanotrack-v2").assert().code(1).stderr(contains("is not installed"));
    model(&place, "model list").assert().success().stdout(contains("not installed\n").count(3));
}

#[test]
fn a_proxy_of_the_environment_is_asked() {
    let place = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let first = lines.next().unwrap();
        assert!(lines.any(|line| line.is_empty()));
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        first
    });
    let mut command = model(&place, "model install nanotrack-v2 --from http://mirror.invalid/a");
    command.env("http_proxy", &proxy).env_remove("no_proxy").env_remove("NO_PROXY");
    command.assert().code(1).stderr(contains("403"));
    assert!(asked.join().unwrap().starts_with("GET http://mirror.invalid/a/nanotrack_backbone_sim.onnx "));
}

#[cfg(feature = "neural")]
#[test]
fn the_newest_installed_model_is_used() {
    let (folder, place) = (tempfile::tempdir().unwrap(), place(3));
    let seq = place.seq();
    let track = |more: &str| model(&folder, &format!("--seq {} --preset expert -q {more}", seq.display()));
    track("").assert().code(2).stderr(contains("kcf-track model install nanotrack-v3"));
    track("--model nanotrack-v2").assert().code(2).stderr(contains("kcf-track model install nanotrack-v2"));
    for name in ["nanotrack-v1", "nanotrack-v2"] {
        let installed = folder.path().join("models").join(name);
        fs::create_dir_all(&installed).unwrap();
        for file in ["backbone.onnx", "head.onnx"] {
            fs::copy(std::path::Path::new("tests/fixtures/networks").join(file), installed.join(file)).unwrap();
        }
        track("").assert().success();
        track("--print-config").assert().success().stdout(contains(format!("models/{name}\"")));
    }
    track("--model nanotrack-v1 --print-config").assert().success().stdout(contains("models/nanotrack-v1\""));
    model(&folder, "model list").assert().success().stdout(contains("nanotrack-v2 (damaged"));
}

/// The repository's folder NanoTrack/models.
fn published() -> PathBuf {
    std::env::var_os("KCF_TRACK_NANOTRACK").expect("set KCF_TRACK_NANOTRACK to the published networks' folder").into()
}

#[test]
#[ignore = "needs the published networks: KCF_TRACK_NANOTRACK"]
fn published_networks_are_installed_and_used() {
    let (folder, place) = (tempfile::tempdir().unwrap(), place(3));
    for version in ["v1", "v2", "v3"] {
        let from = published().join(format!("nanotrack{version}"));
        let install = || model(&folder, &format!("model install nanotrack-{version} --from {}", from.display()));
        // Half of a file fits.
        let words = ["-c", "trap '' XFSZ; ulimit -f 500; exec \"$@\"", "sh"].map(std::ffi::OsStr::new);
        let command = install();
        let words = words.into_iter().chain([command.get_program()]).chain(command.get_args());
        let mut limited = Command::new("sh");
        limited.args(words).env("KCF_TRACK_MODELS", folder.path().join("models"));
        limited
            .assert()
            .code(1)
            .stderr(contains("File too large").and(starts_with("error: ").and(contains("\n").count(1))));
        assert_eq!(fs::read_dir(folder.path().join("models")).unwrap().count(), 0);
        install().assert().success();
        // Nothing is fetched again.
        model(&folder, &format!("model install nanotrack-{version} --from no/such/folder")).assert().success();
        if cfg!(feature = "neural") {
            let seq = place.seq();
            for flags in ["--preset expert", "--detector siamese"] {
                model(&folder, &format!("--seq {} -q {flags}", seq.display())).assert().success();
            }
        }
        model(&folder, &format!("model remove nanotrack-{version}")).assert().success();
        assert_eq!(fs::read_dir(folder.path().join("models")).unwrap().count(), 0);
    }
}
