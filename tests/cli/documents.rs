//! The documents: their commands run, their links lead somewhere, and completion knows every flag.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ffmpeg::ffmpeg;
use crate::helper::{Place, place, run};

/// What a block of commands that the tests do not run says after `sh`.
const MARKS: [&str; 5] = ["browser", "camera", "data", "install", "network"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Markdown files that a user or a contributor reads.
fn documents() -> Vec<PathBuf> {
    let folders = ["", "docs", ".github", "examples/c", "fuzz", "assets/demo", "tests/fixtures", "tests/data/kernels"];
    let files = folders.iter().flat_map(|folder| fs::read_dir(root().join(folder)).into_iter().flatten());
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    files.sort();
    assert!(files.len() > 15, "{files:?}");
    files
}

/// What `view clip.mp4 --session work.json` keeps: a target that was corrected in frame 4.
const SESSION: &str = r#"{"schema":"kcf-track/3","version":"0.1.0","source":{"path":"clip.mp4","start":1,"end":5,
"frames":5,"rate":25.0,"width":320,"height":240},"parameters":{},"targets":[{"id":1,"name":"Anna","class":"person",
"given":[{"frame":1,"bbox":[97,113,34,81]},{"frame":4,"bbox":[99,114,34,80]}]}],"frames":[],"summary":{}}"#;

/// The files that the commands of the documents name; false without ffmpeg.
fn prepare(place: &Place, folder: &Path) -> bool {
    if !ffmpeg(folder, "-f lavfi -i testsrc2=size=320x240:rate=25:duration=0.2 clip.mp4") {
        return false;
    }
    let sequence = |name: &str, frames: usize, truths: &[&str]| {
        let images = folder.join(name).join("img");
        fs::create_dir_all(&images).unwrap();
        for n in 1..=frames {
            std::os::unix::fs::symlink(place.frame(1 + (n - 1) % 6), images.join(format!("{n:04}.png"))).unwrap();
        }
        for truth in truths {
            fs::copy(place.seq().join("groundtruth_rect.txt"), folder.join(name).join(truth)).unwrap();
        }
    };
    sequence("DIR", 6, &["groundtruth_rect.txt"]);
    sequence("LONG", 91, &["groundtruth_rect.txt"]);
    sequence("SRC", 121, &["groundtruth_rect.txt"]);
    sequence("Jogging", 6, &["groundtruth_rect.1.txt", "groundtruth_rect.2.txt"]);
    sequence("OTB/Car", 6, &["groundtruth_rect.txt"]);
    fs::create_dir(folder.join("clips")).unwrap();
    fs::copy(folder.join("clip.mp4"), folder.join("clips/one.mp4")).unwrap();
    fs::create_dir(folder.join("published")).unwrap();
    fs::copy(place.seq().join("groundtruth_rect.txt"), folder.join("published/Car.txt")).unwrap();
    fs::write(folder.join("targets.csv"), "id,frame,x,y,w,h\n1,1,40,30,24,32\n2,3,100,60,30,24\n").unwrap();
    fs::write(folder.join("work.json"), SESSION).unwrap();
    fs::write(folder.join("det.txt"), "1,-1,98,114,34,81,0.9\n4,-1,98,114,34,81,0.9\n").unwrap();
    true
}

/// A command of the documents for the small files of the test.
fn fitted(line: &str) -> String {
    let line = match line.contains("--init 90:") {
        true => line.replace("DIR --init 197,213,34,81", "LONG --init 40,30,24,32"),
        false => line.replace("DIR --init 197,213,34,81", "DIR --init 40,30,24,32"),
    };
    let line = line.replace("197,213,34,81", "97,113,34,81");
    let line = line.replace("SRDCF=DIR", "SRDCF=published").replace("synth --out", "synth --frames 2 --out");
    // A view serves until it is interrupted; `timeout` then says 124.
    match line.strip_prefix("kcf-track view") {
        Some(rest) => format!("timeout -s INT 2 kcf-track view --port 0 {rest}\n[ $? = 124 ]"),
        None => line,
    }
}

/// Runs every `sh` block of the documents that has no mark, a line at a time, each document in a folder of its own.
#[test]
fn commands_run() {
    let mut count = 0;
    let program = Path::new(env!("CARGO_BIN_EXE_kcf-track"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let mut blocks = Vec::new();
        for block in text.split("\n```sh").skip(1) {
            let (mark, rest) = block.split_once('\n').unwrap();
            let known = mark.is_empty() || MARKS.contains(&mark.trim());
            assert!(known, "{}: sh{mark} is not one of {MARKS:?}", document.display());
            blocks.extend(mark.is_empty().then(|| rest.split("\n```").next().unwrap()));
        }
        let place = place(6);
        let folder = place.path("");
        if blocks.is_empty() {
            continue;
        }
        if !prepare(&place, &folder) {
            return;
        }
        for line in blocks.into_iter().flat_map(str::lines) {
            let line = fitted(line);
            let done = Command::new("sh").args(["-c", &line]).current_dir(&folder).env("PATH", &path).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success() && !said.contains("error"), "{}: {line}: {said}", document.display());
            count += 1;
        }
        if document.ends_with("docs/use.md") {
            let outputs = "boxes.json boxes.csv report/report.html hard/scene.json dataset/data.yaml \
                           dataset/images/000005.jpg pictures/000001.jpg step.html safe.mp4 near.mp4";
            for output in outputs.split_whitespace() {
                assert!(folder.join(output).is_file(), "{output}");
            }
        }
    }
    assert!(count >= 30, "{count} commands");
}

/// The anchors of a document, as GitHub and mdBook make them of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        // Not what stands in a block of code.
        let prose: String = text.split("```").step_by(2).collect();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let link: String = link.split_whitespace().collect();
            if link.starts_with("http") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link}: no such file", document.display());
            if !anchor.is_empty() {
                let found = anchors(&fs::read_to_string(&target).unwrap()).contains(anchor);
                assert!(found, "{}: {link}: no such heading", document.display());
            }
            count += 1;
        }
    }
    assert!(count > 60, "{count} links");
}

#[test]
fn the_site_has_every_document() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for document in documents().iter().filter(|path| path.starts_with(root().join("docs"))) {
        let name = document.file_name().unwrap().to_str().unwrap();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name}");
    }
}

/// The words that bash completes after `line`, by the script of the program.
fn completed(folder: &Path, line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let script = format!(
        "source script.bash; COMP_WORDS=({}); COMP_CWORD={}; \
         $(complete -p kcf-track | sed 's/.*-F \\([^ ]*\\).*/\\1/') kcf-track '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let done = Command::new("bash").args(["--norc", "-c", &script]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{line}: {said}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn bash_completes_a_flag_of_each_subcommand() {
    let folder = tempfile::tempdir().unwrap();
    let script = run(["completions", "bash"]).assert().success();
    fs::write(folder.path().join("script.bash"), &script.get_output().stdout).unwrap();
    for (line, word) in [
        ("kcf-track --over", "--overlay"),
        ("kcf-track ev", "eval"),
        ("kcf-track eval --basel", "--baseline"),
        ("kcf-track explain --comp", "--compare"),
        ("kcf-track model ins", "install"),
        ("kcf-track model install --fr", "--from"),
        ("kcf-track synth --see", "--seed"),
        ("kcf-track view --sess", "--session"),
        ("kcf-track completions fi", "fish"),
        ("kcf-track man --he", "--help"),
    ] {
        let words = completed(folder.path(), line);
        assert!(words.lines().any(|found| found == word), "{line}: {words}");
    }
}
