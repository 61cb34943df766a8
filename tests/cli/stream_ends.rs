//! Files that a shell opened.

use std::fs;

use crate::helper::{place, spawnable};
use crate::stream::{INIT, ffmpeg};

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
