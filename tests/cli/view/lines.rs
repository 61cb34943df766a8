//! A view whose lines cannot be written, or would be written over what is read.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use predicates::str::contains;
use serde_json::json;

use crate::helper::{ended as ended_within, interruptible, place, run};
use crate::served::{serve, started};

/// How a command that ends by itself ended: its exit code, and what it said.
fn ended(command: &mut Command) -> (Option<i32>, String) {
    ended_within(command.stderr(Stdio::piped()).spawn().unwrap(), Duration::from_secs(20))
}

#[test]
#[cfg(target_os = "linux")]
fn lines_that_cannot_be_written_are_a_failure_and_no_refused_order() {
    let place = place(3);
    let view = |flags: &[&str]| {
        let mut command = interruptible();
        command.args(["view", "--port", "0", "--preset", "paper"]).args(flags).arg(place.seq());
        command
    };
    let (code, said) = ended(&mut view(&["--init", "40,30,24,32", "--jsonl", "/dev/full"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: /dev/full: ") && said.contains("space"), "{said}");
    assert!(!said.contains("target 1") && !said.contains("complete"), "{said}");
    // The reader of the lines has gone: no failure, as in tracking.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (code, said) = ended(view(&["--init", "40,30,24,32", "--jsonl", "-"]).stdout(writer));
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("error"), "{said}");
    // A page's own order.
    let mut served = started(&mut view(&["--jsonl", "/dev/full"]), "view: ");
    served.stands_at(1);
    let answer = served.post(&json!({ "do": "add", "position": 1, "bbox": [40, 30, 24, 32] }));
    assert_ne!(answer.status, 200);
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
}

#[test]
fn what_a_view_reads_is_never_written_over() {
    let place = place(2);
    let targets = "id,frame,x,y,w,h\n1,1,40,30,24,32\n";
    fs::write(place.path("targets.csv"), targets).unwrap();
    fs::write(place.path("own.toml"), "preset = \"paper\"\n").unwrap();
    for (flag, file) in [("--init-file", "targets.csv"), ("--config", "own.toml")] {
        let (before, path) = (place.read(file), place.path(file));
        let mut command = run(["view", "--port", "0"]);
        command.arg(place.seq()).arg(flag).arg(&path).arg("--jsonl").arg(&path);
        let said = format!("{file}: {flag} reads this file");
        command.timeout(Duration::from_secs(10)).assert().code(2).stderr(contains(said));
        assert_eq!(place.read(file), before);
    }
    let served = serve(&place, "--init-file @targets.csv --jsonl @run.jsonl");
    assert_eq!(served.interrupt().0, Some(130));
    assert_eq!((place.read("targets.csv"), place.read("run.jsonl").lines().count()), (targets.into(), 1));
}
