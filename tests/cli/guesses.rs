//! What people write first, and what they are told when it is not quite right.

use predicates::prelude::*;
use predicates::str::contains;

use crate::helper::{bbox, place, run};

#[test]
fn a_folder_needs_no_flag_and_common_flags_are_short() {
    let place = place(3);
    run(["-i", "40,30,24,32", "-p", "fast", "-q", "-o"])
        .arg(place.path("a.json"))
        .arg(place.seq())
        .assert()
        .success()
        .stdout("")
        .stderr("");
    let document = place.json("a.json");
    assert_eq!(document["parameters"]["preset"], "fast");
    assert_eq!(bbox(&document["frames"][0]), [40.0, 30.0, 24.0, 32.0]);
    run(["--seq", "a", "b"]).assert().code(2).stderr(contains("cannot be used with"));
}

#[test]
fn flags_of_other_programs_are_told_what_they_are_called_here() {
    let place = place(2);
    for (line, tip) in [
        ("--bbox 1,2,3,4", "--init X,Y,W,H"),
        ("--input a.mp4", "SRC"),
        ("--tracker csrt", "--preset"),
        ("--threads 4", "--jobs N"),
        ("-ss 80.5", "--start 80.5"),
        ("--ss 80.5", "--start 80.5"),
        ("--show", "kcf-track view SRC"),
        ("--fps 30", "no flag is needed"),
        ("-y", "no flag is needed"),
    ] {
        let flag = line.split(' ').next().unwrap();
        place.run(line).assert().code(2).stderr(contains(format!("'{flag}'")).and(contains(tip)));
    }
    place.run("--nonsense").assert().code(2).stderr(contains("'--nonsense'").and(contains("as a value").not()));
    place.run("--preset KCF").assert().code(2).stderr(contains("tip: KCF is --preset paper\n"));
    place.run("-p dcf").assert().code(2).stderr(contains("tip: DCF is --preset paper-dcf\n"));
    place.run("-p kfc").assert().code(2).stderr(contains("[possible values: robust").and(contains("tip").not()));
    place.run("--output @a.csv").assert().success();
    assert_eq!(place.read("a.csv").lines().count(), 3);
    // Where no other program has it, similar letters are the better guess.
    place.run("--jsonn @a").assert().code(2).stderr(contains("'--json'"));
}

/// `--csv`, for one, is nothing that `eval` knows: no tip leads there from `eval`.
#[test]
fn a_tip_leads_to_what_the_given_command_has_and_never_to_that_command() {
    for (line, tip) in [
        ("eval --dat x", "'--data'"),
        ("eval -y", "--resume"),
        ("eval --input x", "--data DIR"),
        ("eval --threads 4", "--jobs N"),
        ("eval merge --dat x", "'--data'"),
        ("synth --frame 3", "'--frames'"),
        ("synth --overwrite", "--force"),
        ("view --tracker csrt", "--preset"),
        ("view --camera 0", "kcf-track SRC"),
    ] {
        run(line.split(' ')).assert().code(2).stderr(contains("tip: ").and(contains(tip)).and(contains("meant").not()));
    }
    for line in [
        "eval --bbox 1,2,3,4",
        "eval --format csv",
        "eval merge --fps 3",
        "synth --threads 2",
        "view --show",
        "trax -y",
    ] {
        run(line.split(' ')).assert().code(2).stderr(contains("unexpected argument").and(contains("tip: ").not()));
    }
    // Short flags that two commands have in common are short in both.
    run(["eval", "-j", "0"]).assert().code(2).stderr(contains("0 is not in 1..=1024"));
}

#[test]
fn the_ending_of_an_output_says_its_form() {
    let place = place(3);
    place.run("-o @a.json -o @a.jsonl -o @a.csv -o @a.txt --out @boxes").assert().success();
    assert_eq!(place.json("a.json")["frames"].as_array().unwrap().len(), 3);
    assert_eq!([place.read("a.jsonl").lines().count(), place.read("a.csv").lines().count()], [3, 4]);
    assert_eq!(place.read("a.txt").lines().count(), 3);
    assert!(place.path("boxes/0003.png").exists());
    place
        .run("-o @a.xml")
        .assert()
        .code(2)
        .stderr(contains("its ending must be .json, .jsonl, .csv, .txt or that of a video"));
    place.run("-o -").assert().code(2).stderr(contains("--jsonl -"));
    place.run("-o @b.csv --csv @b.csv").assert().code(2).stderr(contains("name another place"));
}

#[test]
fn a_box_is_four_words_or_one_and_may_be_two_corners() {
    let place = place(2);
    for words in [
        &["--init", "40", "30", "24", "32"][..],
        &["-i", "40 30 24 32"],
        &["--init=40,30,24,32"],
        &["--init", "40", "30", "64", "62", "--init-format", "xyxy"],
        &["-i", "40,30,64,62", "--init-format=xyxy"],
        &["-i", "40,30,64,62", "--init-format=ltrb"],
    ] {
        place.run("--json @a.json").args(words).assert().success();
        assert_eq!(bbox(&place.json("a.json")["frames"][0]), [40.0, 30.0, 24.0, 32.0], "{words:?}");
    }
    place
        .run("--init 40 30 24")
        .assert()
        .code(2)
        .stderr(contains("--init").and(contains("as in 10,20,30,40; there are 3")));
    place.run("--init 40,30,24,32 --init-format xyxy").assert().code(2).stderr(contains("--init: right and bottom"));
    place.run("--init-format xyxy").assert().code(2).stderr(contains("add --init X,Y,W,H"));
}

#[test]
fn a_word_that_is_almost_a_subcommand_is_guessed() {
    run(["evla", "--preset", "paper"]).assert().code(2).stderr(contains("is `kcf-track eval` meant?"));
    run(["completion"]).assert().code(2).stderr(contains("is `kcf-track completions` meant?"));
    // Whatever stands behind it.
    run(["evl", "--data", "x"]).assert().code(2).stderr(contains("is `kcf-track eval` meant?"));
    run(["completion", "zsh"]).assert().code(2).stderr(contains("is `kcf-track completions` meant?"));
    run(["some-frames", "--data"]).assert().code(2).stderr(contains("'--data'").and(contains("meant").not()));
    run(["some-frames"])
        .assert()
        .code(2)
        .stderr(contains("some-frames: there is no such folder").and(contains("meant").not()));
}

#[test]
fn a_source_as_other_programs_write_it_is_told_what_it_is_here() {
    for (word, said) in [
        ("0", "is the camera /dev/video0 meant?"),
        ("img/%04d.jpg", "give the folder img, not a pattern"),
        ("img/*.jpg", "give the folder img, not a pattern"),
        ("*.png", "give the folder, not a pattern"),
    ] {
        for words in [&[word][..], &["--seq", word]] {
            run(words).assert().code(2).stdout("").stderr(contains("there is no such folder").and(contains(said)));
        }
    }
}

/// What is wrong with the command line itself ends in 2, and is named by its flag.
#[test]
fn wrong_usage_is_exit_code_2_everywhere() {
    let place = place(2);
    let out = place.path("out");
    let out = out.to_str().unwrap();
    let seq = place.seq();
    let seq = seq.to_str().unwrap();
    let file = place.seq().join("groundtruth_rect.txt");
    let file = file.to_str().unwrap();
    let below = format!("{file}/below");
    for (words, said) in [
        (&["--seq", "nope"][..], "--seq nope: there is no such folder"),
        (&["nope"], "nope: there is no such folder"),
        (&["--seq", seq, "--truth", "nope.txt"], "--truth nope.txt"),
        (&["--seq", seq, "--config", "nope.toml"], "--config nope.toml"),
        (&["--seq", seq, "--machine", "c=10"], "--machine needs"),
        (&["--seq", seq, "--detector", "svm", "--machine", "c=ten"], "--machine c=ten: must be a number"),
        (&["--seq", seq, "--detector", "svm", "--machine", "d=10"], "--machine d=10: svm has no d, but"),
        (&["eval", "--data", "nope", "--out", out], "--data nope: there is no such folder"),
        (&["eval", "--data", seq, "--out", out, "--results", "X=nope"], "--results X=nope: there is no such folder"),
        (&["eval", "--data", seq, "--out", out, "--shard", "3/2"], "--shard"),
        (&["eval", "--data", seq, "--out", out, "--machine", "c=1"], "--machine needs"),
        // Before anything is evaluated, which takes hours.
        (&["eval", "--data", seq, "--out", out, "--save-results", file], "it is a file: give a folder"),
        (&["eval", "--data", seq, "--out", out, "--save-results", &below], "it is a file: give a folder"),
        (&["eval", "--data", seq, "--out", file], "it is a file: give a folder"),
        (&["eval", "merge", "nope", "--out", out], "nope"),
        (&["eval", "merge", file, "--out", out], "there is no evaluation here"),
        (&["synth", "--out", out, "--quality", "0"], "--quality"),
        (&["synth", "--out", seq], "--force"),
        (&["synth", "--out", file], "it is a file: give a folder"),
        (&["completions", "cmd.exe"], "cmd.exe"),
    ] {
        run(words).assert().code(2).stdout("").stderr(contains("error: ").and(contains(said)));
        assert!(!place.path("out").exists(), "{words:?}");
    }
}
