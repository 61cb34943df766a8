//! Completion scripts in the shells that they are for, and pages of the manual as `man` shows them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use predicates::str::contains;

use crate::helper::run;

/// The program's completion script, in a folder of its own.
fn script(shell: &str, name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = run(["completions", shell]).assert().success().get_output().stdout.clone();
    std::fs::write(folder.path().join(name), script).unwrap();
    folder
}

/// What a shell prints that runs `code` in `folder`; `None`, and a word about it, where there is no such shell.
fn shell(command: &[&str], folder: &Path, code: &str) -> Option<String> {
    let started = Command::new(command[0])
        .args(&command[1..])
        .arg(code)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(child) = started else {
        eprintln!("skipped: there is no {}", command[0]);
        return None;
    };
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A command line up to the cursor, and what must be offered for its last word.
const CASES: [(&str, &[&str]); 11] = [
    ("kcf-track --over", &["--overlay"]),
    ("kcf-track --preset paper-g", &["paper-gray", "paper-gray-linear"]),
    ("kcf-track --init-format ", &["xywh", "xyxy"]),
    ("kcf-track ev", &["eval"]),
    ("kcf-track eval --protocol ", &["ope", "sre", "tre"]),
    ("kcf-track eval --save-res", &["--save-results"]),
    ("kcf-track eval --sub-cell ", &["false", "true"]),
    ("kcf-track synth --format ", &["jpg", "png"]),
    ("kcf-track completions f", &["fish"]),
    ("kcf-track man eval", &["eval", "eval-merge"]),
    ("kcf-track help e", &["eval"]),
];

#[test]
fn bash_completes_options_values_and_subcommands() {
    let folder = script("bash", "kcf-track.bash");
    // The shell takes `--option=value` for three words.
    let joined: [(&str, &[&str]); 4] = [
        ("kcf-track --preset = paper-g", &["paper-gray", "paper-gray-linear"]),
        ("kcf-track frames --init-format =", &["xywh", "xyxy"]),
        ("kcf-track eval --protocol = s", &["sre"]),
        ("kcf-track frames --mask = f", &["false"]),
    ];
    for (line, offered) in CASES.into_iter().chain(joined) {
        let words: Vec<&str> = line.split(' ').collect();
        let [.., previous, current] = words[..] else { panic!("{line}") };
        let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        let code = format!(
            "source ./kcf-track.bash; COMP_WORDS=({}); COMP_CWORD={}; _kcf__track kcf-track '{current}' '{previous}'; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            quoted.join(" "),
            words.len() - 1
        );
        let Some(text) = shell(&["bash", "--norc", "-c"], folder.path(), &code) else { return };
        let mut found: Vec<_> = text.lines().map(str::trim).collect();
        found.sort_unstable();
        assert_eq!(found, offered, "{line}");
    }
}

#[test]
fn fish_completes_options_values_and_subcommands() {
    let folder = script("fish", "kcf-track.fish");
    // A folder that was given is no subcommand.
    let more: [(&str, &[&str]); 2] =
        [("kcf-track frames --over", &["--overlay"]), ("kcf-track frames --mask=", &["--mask=false", "--mask=true"])];
    for (line, offered) in CASES.into_iter().chain(more) {
        let code = format!("source ./kcf-track.fish; complete -C '{line}'");
        let Some(text) = shell(&["fish", "--no-config", "-c"], folder.path(), &code) else { return };
        let mut found: Vec<_> = text.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
        found.sort_unstable();
        assert_eq!(found, offered, "{line}");
    }
}

/// zsh completes in its editor alone: one is run on a terminal of its own, and its screen is read.
#[test]
fn zsh_completes_options_values_and_subcommands() {
    let folder = script("zsh", "_kcf-track");
    std::fs::create_dir(folder.path().join("frames")).unwrap();
    let behind_words: [(&str, &[&str]); 8] = [
        ("kcf-track frames --over", &["--overlay"]),
        ("kcf-track frames --preset paper-g", &["paper-gray", "paper-gray-linear"]),
        ("kcf-track -i 10 20 30 40 --over", &["--overlay"]),
        ("kcf-track fra", &["mes"]),
        ("kcf-track view fra", &["mes"]),
        ("kcf-track view frames --gua", &["--guard", "--guard-patience"]),
        ("kcf-track synth --preset ", &["demo", "easy", "hard", "medium"]),
        ("kcf-track frames --mask=", &["true", "false"]),
    ];
    // Most of the time is spent on waiting for the screen.
    let cases: Vec<_> = CASES.into_iter().chain(behind_words).collect();
    std::thread::scope(|scope| {
        for some in cases.chunks(4) {
            scope.spawn(|| some.iter().for_each(|(line, offered)| zsh_completes(folder.path(), line, offered)));
        }
    });
}

fn zsh_completes(folder: &Path, line: &str, offered: &[&str]) {
    let code = format!(
        r#"zmodload zsh/zpty || exit 0
zpty z zsh -f -i
setup="PROMPT='> '; fpath=($PWD \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=10000"
zpty -w z "$setup; bindkey '^T' list-choices; print RE''ADY"
zpty -r -m z out "*READY*"
zpty -w -n z '{line}'$'\t'
zpty -w -n z $'\x14'
sleep 0.6
zpty -w -n z $'\x15'"print EN''D"$'\n'
zpty -r -m z out "*END*"
print -r -- "$out"
zpty -d z"#
    );
    let Some(text) = shell(&["zsh", "-f", "-c"], folder, &code) else { return };
    for word in offered {
        assert!(text.contains(word), "{line}: {word} in {text:?}");
    }
}

#[test]
fn every_page_of_the_manual_is_one() {
    let program: &[&str] =
        &["kcf-track(1)", "NAME", "--overlay", "--guard", "kcf-track-eval(1)", "Weight of the colour histograms"];
    for (words, parts) in [
        (&["man"][..], program),
        (
            &["man", "eval"],
            &["kcf-track-eval(1)", "--protocol", "--resume", "Search areas a frame of that search; 0 for no such"],
        ),
        (&["man", "synth"], &["kcf-track-synth(1)", "--occlusion"]),
        (&["man", "eval-merge"], &["kcf-track-eval-merge(1)", "Put the shards"]),
    ] {
        let page = run(words).assert().success().get_output().stdout.clone();
        assert!(page.starts_with(b".ie \\n(.g") || page.starts_with(b".TH"), "{words:?}");
        let Ok(mut man) = Command::new("man")
            .args(["--warnings", "-l", "-"])
            .env("MANWIDTH", "100")
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        else {
            eprintln!("skipped: there is no man");
            return;
        };
        man.stdin.take().unwrap().write_all(&page).unwrap();
        let shown = man.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&shown.stdout).replace('\u{8}', "");
        assert!(shown.status.success() && shown.stderr.is_empty(), "{}", String::from_utf8_lossy(&shown.stderr));
        for part in parts {
            assert!(text.contains(part), "{words:?}: {part} in {text}");
        }
    }
    run(["man", "evil"]).assert().code(2).stderr(contains("there are pages of synth, completions, man, eval"));
}
