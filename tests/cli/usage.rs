//! Wrong usage is told from failure, and named.

use std::process::{Command, Stdio};

use predicates::prelude::*;
use predicates::str::contains;

use crate::helper::{place, run, spawnable};

#[test]
fn a_bad_value_of_any_flag_is_named() {
    let place = place(2);
    for (flag, values) in [
        ("--init", &["1,2,3", "1,2,3,0", "1,2,-3,4", "NaN,1,2,3", "1,2,inf,4", "1e300,1,2,3", "200,10,5,5", "a"][..]),
        ("--start", &["0", "3", "-1", "x", "1.5"]),
        ("--end", &["0", "3", "-1", "x", "99999999999999999999999"]),
        ("--preset", &["papyrus", ""]),
        ("--feature", &["colour"]),
        ("--kernel", &["rbf"]),
        ("--kernel-sigma", &["0", "-1", "NaN", "inf", "x"]),
        ("--padding", &["-1", "NaN", "1e9", "x"]),
        ("--lambda", &["0", "-1", "NaN", "inf", "x"]),
        ("--output-sigma", &["0", "-1", "NaN", "inf"]),
        ("--learning-rate", &["-0.1", "1.1", "NaN"]),
        ("--cell-size", &["0", "65", "-1", "1.5", "x"]),
        ("--half-size-from", &["-1", "NaN", "x"]),
        ("--uncertain-psr", &["-1", "NaN", "4.9"]),
        ("--lost-psr", &["-1", "NaN", "inf"]),
        ("--detector", &["rbf", ""]),
        ("--target", &["x", "-1"]),
    ] {
        for value in values {
            place
                .run("--csv @a.csv")
                .arg(format!("{flag}={value}"))
                .assert()
                .code(2)
                .stdout("")
                .stderr(contains(flag).and(contains("error:")));
            assert!(!place.path("a.csv").exists(), "{flag} {value}");
        }
    }
    for (value, flags) in
        [("-1", "--kernel-a"), ("NaN", "--kernel-a"), ("0", "--kernel-b"), ("33", "--kernel-b"), ("2.5", "--kernel-b")]
    {
        place
            .run("--preset paper --kernel polynomial")
            .arg(format!("{flags}={value}"))
            .assert()
            .code(2)
            .stderr(contains(flags));
    }
    place.run("--nonsense").assert().code(2).stderr(contains("--nonsense"));
    place.run("--start 2 --end 1").assert().code(2).stderr(contains("--end 1: it lies before start 2"));
}

#[test]
fn a_flag_of_another_kernel_is_a_mistake() {
    let place = place(2);
    for (line, flag, kernel) in [
        ("--preset paper --kernel-b 3", "--kernel-b", "polynomial"),
        ("--preset paper --kernel-a 3", "--kernel-a", "polynomial"),
        ("--preset paper-dcf --kernel-sigma 1", "--kernel-sigma", "gaussian"),
        ("--preset paper --kernel polynomial --kernel-sigma 1", "--kernel-sigma", "gaussian"),
    ] {
        place.run(line).assert().code(2).stderr(contains(flag).and(contains(format!("--kernel {kernel}"))));
    }
    for (line, said) in [
        ("--preset paper --feature gray --cell-size 4", "--cell-size needs --feature hog"),
        ("--preset fast --half-size-from 50", "--half-size-from needs --max-cells inf"),
        ("--preset paper --max-cells 500 --half-size-from 50", "--half-size-from needs --max-cells inf"),
        ("--preset paper --padding 2 --set search.filter.padding=3", "contradict each other"),
        ("--set search.filter.padding", "PATH=VALUE, such as search.background.padding=2"),
        ("--set search.filter.paddin=2", "search.filter.padding may be meant"),
        ("--set search.background.paddin=2", "search.background.padding may be meant"),
        ("--set paddin=2", "search.background.padding may be meant"),
        ("--set search.windows.prior=0.2", "needs --detector svm (or another machine)"),
        (
            "--preset paper --set search.filter.padding=-1",
            "--set search.filter.padding=-1: must be a number from 0 to 20",
        ),
    ] {
        place.run(line).assert().code(2).stdout("").stderr(contains(said));
    }
    place.run("--preset fast --max-cells inf --half-size-from 50").assert().success();
    // What messages name as an example works with the default preset.
    place.run("--set search.background.padding=2").assert().success();
}

#[test]
fn two_outputs_to_one_place_are_refused() {
    let place = place(2);
    for line in ["--json - --jsonl -", "--csv @a --otb @a", "--response @a --overlay @a", "--json @a/ --overlay @a"] {
        place.run(line).assert().code(2).stdout("").stderr(contains("name another place"));
        assert!(!place.path("a").exists());
    }
    #[cfg(target_os = "linux")]
    place.run("--json /dev/null --csv /dev/null").assert().success();
}

#[test]
fn a_file_among_a_frames_results_is_refused() {
    let place = place(2);
    std::fs::create_dir(place.path("maps")).unwrap();
    for (line, flags) in [
        ("--json @maps/0001.npy --response @maps", ["--json", "--response"]),
        ("--csv @maps/boxes.csv --response @maps/", ["--csv", "--response"]),
        ("--otb @new/boxes.txt --overlay @new", ["--otb", "--overlay"]),
    ] {
        let said =
            contains(flags[0]).and(contains(format!("the folder of {}", flags[1]))).and(contains("name another place"));
        place.run(line).assert().code(2).stdout("").stderr(said);
    }
    assert_eq!(std::fs::read_dir(place.path("maps")).unwrap().count(), 0);
    place.run("--json @maps.json --response @maps").assert().success();
}

#[test]
fn frames_and_truth_are_not_written_over() {
    let place = place(2);
    let truth = place.read("seq/groundtruth_rect.txt");
    let frame = std::fs::read(place.frame(2)).unwrap();
    for line in [
        "--otb @seq/groundtruth_rect.txt",
        "--json @seq/img/0002.png",
        "--overlay @seq/img",
        "--response @seq/img",
        "--csv @seq/../seq/groundtruth_rect.txt",
    ] {
        place.run(line).assert().code(2).stderr(contains("name another place"));
    }
    assert_eq!(place.read("seq/groundtruth_rect.txt"), truth);
    assert_eq!(std::fs::read(place.frame(2)).unwrap(), frame);
}

/// Pictures in a folder of such a name would be the frames of the next run.
#[test]
fn an_overlay_does_not_become_the_frames_of_the_next_run() {
    let place = place(2);
    // Frames that lie in the folder of the sequence itself.
    std::fs::rename(place.seq().join("img"), place.path("frames")).unwrap();
    std::fs::copy(place.seq().join("groundtruth_rect.txt"), place.path("frames/groundtruth_rect.txt")).unwrap();
    for (flag, name) in
        [("--overlay", "img"), ("--response", "img"), ("--overlay", "color"), ("-o", "img1"), ("--overlay", "img/")]
    {
        let to = place.path("frames").join(name);
        let said = contains("taken for the folder of the frames by the next run");
        run(["--seq"]).arg(place.path("frames")).arg(flag).arg(&to).assert().code(2).stderr(said);
        assert!(!to.exists());
    }
    run(["--seq"]).arg(place.path("frames")).arg("--overlay").arg(place.path("frames/shown")).assert().success();
    run(["--seq"]).arg(place.path("frames")).arg("--overlay").arg(place.path("img")).assert().success();
    // Frames in `color`, reached by either folder: `img` would come first.
    std::fs::rename(place.path("frames"), place.seq().join("color")).unwrap();
    for given in ["seq", "seq/color"] {
        let to = place.seq().join("img");
        let said = contains("taken for the folder of the frames by the next run");
        run(["--seq"]).arg(place.path(given)).arg("--overlay").arg(to).assert().code(2).stderr(said);
    }
}

#[test]
fn nothing_given_is_wrong_usage_and_help_helps() {
    run([""; 0]).assert().code(2).stderr(contains("<SRC>"));
    run(["--help"]).assert().success().stderr("").stdout(
        contains("Examples:")
            .and(contains("kcf-track OTB/Deer"))
            .and(contains("Exit codes"))
            .and(contains("[paper: 0.0001]"))
            .and(contains("box at 197,213 of 34x81"))
            .and(contains("0.5, is seconds")),
    );
    run(["-h"]).assert().success().stdout(contains("--skip-bad-frames"));
    run(["--version"]).assert().success().stdout(contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn without_a_terminal_progress_is_plain_lines() {
    let place = place(1);
    let frames = place.still(1_000);
    // A reader that waits makes the run long enough for a line: the pipe holds a few hundred rows.
    let mut child = spawnable()
        .args(["--preset", "paper", "--init", "40,30,24,32", "--jsonl", "-", "--seq"])
        .arg(frames)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_300));
    let output = child.stdout.take().map(std::io::read_to_string).unwrap().unwrap();
    let said = child.stderr.take().map(std::io::read_to_string).unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(output.lines().count(), 1_000);
    assert!(said.lines().any(|line| line.contains("/1000 frames, ") && line.contains("s left, confidence ")), "{said}");
    assert!(!said.contains(['\r', '\u{1b}']), "{said:?}");
}

/// Runs a command line on a terminal; what it shows there, or nothing without `script`.
#[cfg(target_os = "linux")]
fn on_terminal(line: &str) -> Option<String> {
    let ran = Command::new("script").args(["-q", "-e", "-c", line, "/dev/null"]).stdin(Stdio::null()).output();
    let Ok(ran) = ran else {
        eprintln!("skipped: there is no `script`");
        return None;
    };
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{text}");
    Some(text)
}

#[test]
#[cfg(target_os = "linux")]
fn rows_on_a_terminal_are_not_mixed_with_progress() {
    let place = place(1);
    let frames = place.still(300);
    let line = format!("'{}' '{}' -i 40,30,24,32 --jsonl -", env!("CARGO_BIN_EXE_kcf-track"), frames.display());
    let Some(text) = on_terminal(&line) else { return };
    let rows = text.lines().filter(|line| line.starts_with("{\"index\":") && line.ends_with('}')).count();
    assert_eq!(rows, 300, "{text:?}");
    assert!(!text.contains('█') && !text.contains('\u{1b}'), "{text:?}");
    // Nor where another program prints them there.
    let Some(text) = on_terminal(&format!("{line} | cat")) else { return };
    assert!(!text.contains('█') && !text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_run_that_wrote_nothing_ends_with_its_time_and_a_next_step() {
    let place = place(2);
    let said = contains("2 frames in 0.").and(contains(" s; tracking alone")).and(contains("see it: --overlay DIR"));
    place.run("").assert().success().stdout(said);
    place.run("--csv @a.csv").assert().success().stdout(contains("see it").not());
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_progress_is_a_bar() {
    let place = place(1);
    let frames = place.still(1_500);
    let line =
        format!("'{}' --preset paper --seq '{}' --init 40,30,24,32", env!("CARGO_BIN_EXE_kcf-track"), frames.display());
    let Some(text) = on_terminal(&line) else { return };
    assert!(
        text.contains('█')
            && text.contains("/1500 frames, ")
            && text.contains(" frames/s, ")
            && text.contains(" s left")
            && text.contains('\u{1b}'),
        "{text:?}"
    );
    // Before there is a frame, neither a speed nor an end is known.
    assert!(!text.contains(" 0/1500 frames, "), "{text:?}");
    assert!(text.contains("1500 frames in "), "{text:?}");
}

/// Whoever comes for the paper's tracker learns at once that this is another one, and how to get it.
#[test]
fn the_first_words_name_the_preset_and_the_way_to_the_papers() {
    let place = place(3);
    let said = |line: &str| {
        let done = place.run(line).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let robust = said("--json @a.json");
    assert!(robust.starts_with("preset robust: ") && robust.contains("--preset paper"), "{robust}");
    assert_eq!(place.json("a.json")["parameters"]["preset"], "robust");
    let paper = said("--preset paper");
    assert!(paper.starts_with("preset paper: ") && !paper.contains("--preset"), "{paper}");
    let changed = said("--preset fast --padding 1");
    assert!(changed.starts_with("preset fast: ") && changed.contains("search.filter.padding = 1"), "{changed}");
    assert_eq!(said("-q"), "");
}

/// The filter's area is a choice that the flag makes; the search of `robust` has the number alone.
#[test]
fn the_number_of_cells_is_a_flag_of_every_search_that_has_one() {
    let place = place(2);
    place.run("--max-cells 3000 --json @a.json").assert().success();
    assert_eq!(place.json("a.json")["parameters"]["search"]["background"]["max-cells"], 3000.0);
    place.run("--preset paper --max-cells 500 --json @a.json").assert().success();
    assert_eq!(place.json("a.json")["parameters"]["search"]["filter"]["area"]["bounded"]["max-cells"], 500.0);
    place.run("--max-cells inf").assert().code(2).stdout("").stderr(contains("--max-cells inf: must be a number"));
    for line in ["--detector svm --max-cells inf", "--detector svm --max-cells 500"] {
        place.run(line).assert().code(2).stdout("").stderr(contains("--max-cells needs --detector"));
    }
}

#[test]
fn a_word_too_many_is_not_called_a_subcommand() {
    let place = place(2);
    let seq = place.seq().into_os_string().into_string().unwrap();
    for (words, part) in [
        (&[seq.as_str(), "other"][..], "four numbers"),
        (&[&seq, "-i", "13", "45", "38", "60", "70"], "four numbers"),
        (&["track", &seq], "tracking has no word of its own: kcf-track "),
        (&["eval", "OTB"], "the folder of sequences is given by --data OTB"),
        (&["eval", "merg", "a", "b"], "is `kcf-track eval merge` meant?"),
        (&["help", "nosuch"], "there is help of synth, completions, man, eval, trax, view"),
    ] {
        let said = contains("unexpected word").and(contains(part)).and(contains("subcommand").not());
        run(words).assert().code(2).stdout("").stderr(said);
    }
}

#[test]
fn numbers_are_asked_for_in_plain_words() {
    let place = place(2);
    for (line, words) in [
        ("--jobs 0", "0 is not in 1..=1024"),
        ("--jobs 1025", "1025 is not in 1..=1024"),
        ("--jobs x", "a whole number is needed"),
        ("--timeout x", "a number is needed"),
    ] {
        place.run(line).assert().code(2).stderr(contains(words).and(contains("literal").not()));
    }
}
