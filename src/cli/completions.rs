//! `kcf-track completions` and `kcf-track man`: scripts that complete the command line in a shell, and pages of the
//! manual.

use std::io::Write;

use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

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
    clap_complete::generate(args.shell, &mut Cli::command(), "kcf-track", &mut script);
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
        // As pages are called: `eval-merge` is one of `eval merge`.
        Some(name) => name.split('-').try_fold(program, |above, part| {
            let known: Vec<_> = above.get_subcommands().map(|command| command.get_name().to_owned()).collect();
            let unknown = || Failure::usage(format!("man {name}: there are pages of {}", known.join(", ")));
            above.find_subcommand(part).cloned().ok_or_else(unknown)
        })?,
    };
    // The page leaves out the help of what `-h` does not show.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(())
}

/// A program's name with a hyphen gets two spellings in the script, and nothing of a subcommand is completed
/// (clap issue 6421).
fn bash(script: &str) -> String {
    script.replace("kcf__subcmd__track", "kcf__track")
}

fn subcommands() -> Vec<String> {
    Cli::command().get_subcommands().map(Command::get_name).map(String::from).collect()
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
    let pages = format!(":({})'", subcommands().join(" "));
    let page = |line: &str| match line.starts_with("'::command -- ") {
        true => line.replace(":_default'", &pages),
        false => line.into(),
    };
    let chosen: String = chosen.replace("$line[2]", "$line[1]").split_inclusive('\n').map(page).collect();
    format!("{before}{strict}{options}{either}{chosen}{plain}{close}{end}")
}

/// The script finds no subcommand, and with that no option, where the word before the cursor is an option that waits
/// for its value, takes any word for a subcommand, be it a folder, and has no values of words that are no options.
fn fish(script: &str) -> String {
    let names = subcommands();
    let parse = "argparse -s (__fish_kcf_track_global_optspecs) -- $cmd 2>/dev/null";
    let strict = format!("    {parse}\n    or return\n");
    let lenient = format!("    if not {parse}\n        set -e cmd[-1]\n        {parse}\n        or return\n    end\n");
    let command = format!("if contains -- \"$argv[1]\" {} help", names.join(" "));
    let script = script.replacen(&strict, &lenient, 1).replacen("if set -q argv[1]", &command, 1);
    // Words that are no options have no values in it.
    let shells: Vec<_> = Shell::value_variants().iter().map(Shell::to_string).collect();
    let words = |command: &str, words: &[String]| {
        let at = format!("__fish_kcf_track_using_subcommand {command}");
        format!("complete -c kcf-track -n \"{at}\" -f -a \"{}\"\n", words.join(" "))
    };
    script + &words("completions", &shells) + &words("man", &names)
}
