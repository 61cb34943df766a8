//! `kcf-track completions` and `kcf-track man`: scripts that complete the command line in a shell, and pages of the
//! manual.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use super::params::SWITCH;
use super::{Cli, Failure};

/// Print a completion script for a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print a page of the manual.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The subcommand that the page is of [default: the program]
    command: Option<String>,
}

pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program(), "kcf-track", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let script = match args.shell {
        Shell::Bash => bash(&script),
        Shell::Zsh => zsh(&script),
        Shell::Fish => fish(&script),
        _ => script,
    };
    std::io::stdout().write_all(script.as_bytes())?;
    Ok(())
}

pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut program = Cli::command();
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => name.split('-').try_fold(program, |above, part| {
            let known: Vec<_> = above.get_subcommands().map(|command| command.get_name().to_owned()).collect();
            let unknown = || Failure::usage(format!("man {name}: there are pages of {}", known.join(", ")));
            above.find_subcommand(part).cloned().ok_or_else(unknown)
        })?,
    };
    // The page leaves out the help of what `-h` does not show.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let mut page = Vec::new();
    Man::new(command).source(concat!("kcf-track ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(())
}

/// The program, whose manual says which pages it has, and whose switches say which values.
fn program() -> Command {
    let pages = PossibleValuesParser::new(pages(&Cli::command()));
    let valued = |command: Command| {
        command.mut_args(|arg| match arg.get_value_names() {
            Some([name]) if name == SWITCH => arg.value_parser(["true", "false"]),
            _ => arg,
        })
    };
    valued(Cli::command()).mut_subcommands(|command| match command.get_name() {
        "man" => command.mut_arg("command", |page| page.value_parser(pages.clone())),
        _ => valued(command),
    })
}

/// The pages of the manual, as they are called: `eval-merge` is one of `eval merge`.
fn pages(program: &Command) -> Vec<String> {
    let page = |command: &Command| {
        let name = command.get_name();
        let below = pages(command).into_iter().map(move |below| format!("{name}-{below}"));
        std::iter::once(name.to_owned()).chain(below).collect::<Vec<_>>()
    };
    program.get_subcommands().flat_map(page).collect()
}

/// A program's name with a hyphen gets two spellings in the script, and nothing of a subcommand is completed
/// (clap issue 6421). Of `--option=value` the shell makes three words.
fn bash(script: &str) -> String {
    let split = "    prev=\"$3\"\n";
    let joined = "    if [[ \"$cur\" == \"=\" ]]; then\n        cur=\"\"\n        \
                  prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n    elif \
                  [[ \"$prev\" == \"=\" && COMP_CWORD -ge 2 ]]; then\n        \
                  prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n    fi\n";
    script.replace("kcf__subcmd__track", "kcf__track").replacen(split, &format!("{split}{joined}"), 1)
}

/// A folder or a file may stand in the place of a subcommand: the script takes that for a word before it, and behind
/// any word knows options of subcommands alone. Before a subcommand it takes its options for the program's.
fn zsh(script: &str) -> String {
    let arguments = "_arguments \"${_arguments_options[@]}\" : \\\n";
    let close = "        esac\n    ;;\nesac\n}\n";
    let Some((before, rest)) = script.split_once(arguments) else { return script.into() };
    let Some((options, rest)) = rest.split_once("\":: :_kcf-track_commands\" \\\n") else { return script.into() };
    let Some((chosen, end)) = rest.split_once(close) else { return script.into() };
    let options: String = options.split_inclusive('\n').filter(|line| !line.starts_with("'::source -- ")).collect();
    let strict = arguments.replace(" : ", " -A \"-*\" : ");
    let either = "\":: :{_kcf-track_commands; _files}\" \\\n";
    let plain = format!("(*)\n{arguments}{options}'*:source:_files' \\\n&& ret=0\n;;\n");
    let chosen = chosen.replace("$line[2]", "$line[1]");
    format!("{before}{strict}{options}{either}{chosen}{plain}{close}{end}")
}

/// The script finds no subcommand, and with that no option, where the word before the cursor is an option that waits
/// for its value, takes any word for a subcommand, be it a folder, has no values of words that are no options, and
/// takes `help` for the subcommand that help is asked of.
fn fish(script: &str) -> String {
    let program = Cli::command();
    let names: Vec<_> = program.get_subcommands().map(Command::get_name).collect();
    let parse = "argparse -s (__fish_kcf_track_global_optspecs) -- $cmd 2>/dev/null";
    let strict = format!("    {parse}\n    or return\n");
    let lenient = format!("    if not {parse}\n        set -e cmd[-1]\n        {parse}\n        or return\n    end\n");
    let command = format!("if contains -- \"$argv[1]\" {} help", names.join(" "));
    let asked = format!("subcommand help; and not __fish_seen_subcommand_from {}", names.join(" "));
    let script = script.replacen(&strict, &lenient, 1).replacen("if set -q argv[1]", &command, 1);
    let script = script.replace(&format!("{asked} help"), &asked);
    // Words that are no options have no values in it.
    let shells: Vec<_> = Shell::value_variants().iter().map(Shell::to_string).collect();
    let words = |command: &str, words: &[String]| {
        let at = format!("__fish_kcf_track_using_subcommand {command}");
        format!("complete -c kcf-track -n \"{at}\" -f -a \"{}\"\n", words.join(" "))
    };
    script + &words("completions", &shells) + &words("man", &pages(&program))
}
