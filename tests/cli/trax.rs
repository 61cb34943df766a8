//! `kcf-track trax` as a client of the protocol meets it: a process with two pipes, or a socket.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use kcf_track::Params;
use kcf_track::machine::MachineKind;
use predicates::str::contains;
use serde_json::Value;

use crate::helper::{Place, bbox, place, run, spawnable};

/// The server and both ends of it.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Server {
    fn start(line: &str) -> Self {
        let mut command = spawnable();
        command.arg("trax").args(line.split_whitespace()).env_remove("TRAX_SOCKET");
        // Relative paths would not be found: clients start it where they like.
        command.current_dir(std::env::temp_dir());
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let input = child.stdin.take();
        let output = child.stdout.take().map(BufReader::new);
        let mut server = Self { child, input, output };
        assert!(server.hear().starts_with("hello "));
        server
    }

    fn say(&mut self, message: &str) {
        self.input.as_mut().unwrap().write_all(format!("@@TRAX:{message}\n").as_bytes()).unwrap();
    }

    /// The next line, which must be a message.
    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        line.strip_prefix("@@TRAX:").unwrap_or_else(|| panic!("`{line}`")).trim_end().to_owned()
    }

    /// The region, the confidence and the state that are said next.
    fn state(&mut self) -> (Vec<f64>, f64, String) {
        let line = self.hear();
        let mut words = line.strip_prefix("state ").unwrap_or_else(|| panic!("{line}")).split(' ');
        let mut word = || words.next().unwrap().trim_matches('"').to_owned();
        let region = word().split(',').map(|number| number.parse().unwrap()).collect();
        let confidence = word().strip_prefix("confidence=").unwrap().parse().unwrap();
        (region, confidence, word().strip_prefix("state=").unwrap().to_owned())
    }

    /// Closes the input: the rest of the output, that nothing else was said, and how it ended.
    fn end(mut self) -> (String, ExitStatus) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.take().unwrap().read_to_string(&mut rest).unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "");
        (rest, self.child.wait().unwrap())
    }
}

fn frame(place: &Place, position: usize) -> String {
    format!("\"file://{}\"", place.frame(position).display())
}

/// The box, the confidence and the state of each frame, as `--json` has them.
fn tracked(place: &Place, flags: &str) -> Vec<(Vec<f64>, Option<f64>, String)> {
    place.run(&format!("--quiet --json @out.json {flags}")).assert().success();
    let row = |frame: &Value| {
        let bbox = frame["bbox"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        (bbox, frame["confidence"].as_f64(), frame["state"].as_str().unwrap().to_owned())
    };
    place.json("out.json")["frames"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn its_boxes_are_those_of_the_command_line() {
    let place = place(8);
    for flags in ["--preset paper", "--preset fast", "--preset robust", "--preset paper --guard krr --padding 2"] {
        let expected = tracked(&place, flags);
        let first: Vec<_> = expected[0].0.iter().map(f64::to_string).collect();
        for version in [1, 4] {
            let mut server = Server::start(&format!("{flags} --protocol {version}"));
            let begin = first.join(",");
            if version == 1 {
                server.say(&format!("initialize {} {begin}", frame(&place, 1)));
            } else {
                server.say(&format!("initialize {begin}"));
                server.say(&format!("frame {}", frame(&place, 1)));
            }
            for (position, (bbox, confidence, state)) in (1..).zip(&expected) {
                if position > 1 {
                    server.say(&format!("frame {}", frame(&place, position)));
                }
                let (region, sure, said) = server.state();
                assert_eq!((&region, &said), (bbox, state), "{flags}: frame {position}");
                if let (Some(confidence), false) = (confidence, position == 1) {
                    assert!((sure - confidence).abs() < 1e-6, "{flags}: {sure} {confidence}");
                }
            }
            server.say("quit");
            let (rest, status) = server.end();
            assert!(rest.is_empty() && status.success(), "{rest} {status}");
        }
    }
}

#[test]
fn objects_are_followed_as_if_each_were_alone() {
    let place = place(5);
    let alone = |init: &str| tracked(&place, &format!("--preset fast --init {init}"));
    let (one, other) = (alone("30,30,24,32"), alone("60,40,20,20"));
    let mut server = Server::start("--preset fast");
    server.say("initialize 30,30,24,32");
    server.say("initialize 60,40,20,20");
    for position in 1..=5 {
        server.say(&format!("frame {}", frame(&place, position)));
        for expected in [&one, &other] {
            assert_eq!(server.state().0, expected[position - 1].0, "frame {position}");
        }
    }
    // The end of its input is the end.
    let (rest, status) = server.end();
    assert!(rest.is_empty() && status.success());
}

/// The demo's car turns a little.
#[test]
fn a_polygon_turns_with_the_target() {
    let place = place(1);
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    let mut command = run([Path::new("--seq"), &demo]);
    command.args(["--rotation", "filter", "--end", "12", "-q", "--json"]).arg(place.path("a.json")).assert().success();
    let document = place.json("a.json");
    let frames = document["frames"].as_array().unwrap();
    let corners = |frame: &Value| {
        let [x, y, w, h] = bbox(frame);
        let upright = vec![x, y, x + w, y, x + w, y + h, x, y + h];
        frame.get("polygon").map_or(upright, |corners| serde_json::from_value(corners.clone()).unwrap())
    };
    let mut server = Server::start("--rotation filter");
    let begin: Vec<_> = corners(&frames[0]).iter().map(f64::to_string).collect();
    server.say(&format!("initialize {}", begin.join(",")));
    for frame in frames {
        server.say(&format!("frame \"{}\"", demo.join("img").join(frame["file"].as_str().unwrap()).display()));
        let (said, expected) = (server.state().0, corners(frame));
        assert!(said.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-3), "{said:?} {expected:?}");
    }
    assert!(frames.iter().any(|frame| frame.get("polygon").is_some()));
}

#[test]
fn an_image_that_vanishes_is_told_to_the_client_and_to_nobody_else() {
    let place = place(3);
    let mut server = Server::start("--preset paper --protocol 3");
    server.say(&format!("initialize {} 60,40,20,20", frame(&place, 1)));
    server.state();
    fs::remove_file(place.frame(2)).unwrap();
    server.say(&format!("frame {}", frame(&place, 2)));
    let quit = server.hear();
    assert!(quit.starts_with("quit \"trax.reason=frame 2: ") && quit.contains("0002.png"), "{quit}");
    let (rest, status) = server.end();
    assert_eq!((rest.as_str(), status.code()), ("", Some(1)));
}

#[test]
fn what_is_cut_garbled_or_absurd_ends_with_a_reason() {
    for (said, reason) in [
        ("@@TRAX:frame nothing\n", "before any object"),
        ("@@TRAX:initialize \"1,2", "in the middle of a message"),
        ("@@TRAX:\u{1}\u{2}\n", "is no message"),
        ("@@TRAX:initialize mask:0,0,4294967295,4294967295,0\n", "no pixel"),
        ("@@TRAX:initialize 1,1,9,9\n@@TRAX:frame image:99999;99999;gray16;AAAA\n", "more than 134217728 pixels"),
        ("@@TRAX:initialize 1,1,9,9\n@@TRAX:frame image:9999;9999;rgb;AAAA\n", "another number of bytes"),
        ("@@TRAX:initialize 1,1,9,9\n@@TRAX:frame file:///dev/zero\n", "this is no file"),
    ] {
        let output = run(["trax"]).env_remove("TRAX_SOCKET").write_stdin(said).assert().code(1).stderr("");
        let output = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        let last = output.lines().last().unwrap();
        assert!(last.starts_with("@@TRAX:quit \"trax.reason=") && last.contains(reason), "{said}: {last}");
    }
    // What is no message at all is somebody's remark.
    run(["trax"]).env_remove("TRAX_SOCKET").write_stdin("\0\u{7f}\nhello\n").assert().success().stderr("");
}

#[test]
fn a_client_that_closes_its_end_is_no_failure() {
    let place = place(2);
    let mut server = Server::start("--preset paper --protocol 1");
    server.output = None;
    server.say(&format!("initialize {} 60,40,20,20", frame(&place, 1)));
    // A process that another test is about to start holds the closed end for a moment, and an answer may then find
    // somebody who could read: so it is asked until it has noticed.
    let status = loop {
        if let Some(status) = server.child.try_wait().unwrap() {
            break status;
        }
        let _ = server.input.as_mut().unwrap().write_all(format!("@@TRAX:frame {}\n", frame(&place, 2)).as_bytes());
        thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success());
}

#[test]
fn a_socket_takes_the_place_of_the_pipes() {
    let place = place(2);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut command = spawnable();
    command.args(["trax", "--preset", "paper", "--protocol", "2"]).env("TRAX_SOCKET", &port);
    let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = pipes.spawn().unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(socket.try_clone().unwrap()).lines();
    let mut hear = || lines.next().unwrap().unwrap();
    assert!(hear().starts_with("@@TRAX:hello "));
    let begin = format!("@@TRAX:initialize {} 60,40,20,20\n", frame(&place, 1));
    socket.write_all(begin.as_bytes()).unwrap();
    assert!(hear().starts_with("@@TRAX:state \"60,40,20,20\""));
    socket.shutdown(std::net::Shutdown::Both).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn wrong_usage_is_said_before_the_first_message() {
    let trax = |line: &str| {
        let mut command = run(["trax"]);
        command.args(line.split_whitespace()).env_remove("TRAX_SOCKET");
        command
    };
    trax("--protocol 5").assert().code(2).stdout("").stderr(contains("1..=4"));
    trax("--preset none").assert().code(2).stdout("").stderr(contains("robust"));
    trax("--padding -1").assert().code(2).stdout("").stderr(contains("--padding"));
    trax("--print-config --preset fast").assert().success().stdout(contains("preset = \"fast\""));
    trax("").env("TRAX_SOCKET", "http").assert().code(2).stdout("").stderr(contains("number of a port"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    trax("").env("TRAX_SOCKET", port.to_string()).assert().code(1).stdout("").stderr(contains("no client answers"));
}

#[test]
fn the_toolkits_list_has_all_presets_detectors_and_guards() {
    let list = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/vot/trackers.ini")).unwrap();
    let commands: Vec<_> = list.lines().filter_map(|line| line.strip_prefix("command = kcf-track trax ")).collect();
    assert_eq!(commands.len(), list.matches("\nprotocol = trax\n").count());
    for command in &commands {
        run(["trax", "--print-config"]).args(command.split(' ')).assert().success();
    }
    let presets = Params::PRESETS.map(|(name, _)| format!("--preset {name}"));
    let detectors = MachineKind::ALL.iter().map(|kind| format!("--detector {kind}"));
    let guards = MachineKind::all_guards().map(|kind| format!("--preset paper --guard {kind}"));
    for known in presets.into_iter().chain(detectors).chain(guards) {
        assert!(commands.contains(&known.as_str()), "{known}");
    }
}
