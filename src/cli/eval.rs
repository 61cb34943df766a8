//! `kcf-track eval`: trackers and published results over the sequences of a benchmark, and a report.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use serde_json::json;

use super::Failure;
use super::failure::{print_warnings, scoped, watch_signals};
use super::run::Progress;
use super::settings::{self, Resolved, SettingsArgs};
use super::track::MAX_THREADS;
use crate::Error;
use crate::atomic_file;
use crate::eval::{
    About, Dataset, EVALUATION, Evaluated, Evaluation, Event, LeftOut, Preset, Protocol, ResultFiles, Runner, Toolkit,
    repeated, report,
};
use crate::media::annotation::Base;
use crate::pipe;
use crate::settings::read_toml;
use crate::text::shown;

/// Compare trackers on a benchmark's sequences: scores, plots and a report
///
/// Runs presets, reads published results, scores all by the rules of a benchmark, and writes report.html, report.json,
/// scores.csv and plots (SVG).
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct EvalArgs {
    /// Folder of sequences: OTB, VOT, GOT-10k, or any folders with images and a truth file
    #[arg(long, value_name = "DIR", required_unless_present = "print_config")]
    data: Option<PathBuf>,
    /// New folder for the report and the runs
    #[arg(long, short, value_name = "DIR", required_unless_present = "print_config")]
    out: Option<PathBuf>,
    /// Only these sequences, separated by commas
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    sequences: Vec<String>,
    /// Run the tracker with this preset; repeatable [default: robust, unless there are --results]
    #[arg(long = "preset", short, value_name = "NAME", value_parser = settings::preset_names())]
    presets: Vec<String>,
    /// Run the tracker with a preset and changes of it, under a name of its own; repeatable
    ///
    /// As in --tracker wide=fast,search.background.padding=4.
    #[arg(long = "tracker", value_name = "NAME=PRESET,PATH=VALUE,…", value_parser = settings::pair)]
    named: Vec<(String, String)>,
    /// TOML file of such trackers, a line each: wide = "fast,search.background.padding=4"
    #[arg(long, value_name = "FILE")]
    trackers: Option<PathBuf>,
    /// Read the boxes of another tracker, one text file a sequence (OTB, GOT-10k, MOT); repeatable
    #[arg(long, value_name = "NAME=DIR", value_parser = settings::pair)]
    results: Vec<(String, String)>,
    /// Score result files that have fewer rows than their sequence has frames
    #[arg(long)]
    allow_short: bool,
    /// The tracker that all others are compared with [default: the best of those that run]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// One-pass, temporal (20 starts) or spatial (12 shifted first boxes) robustness evaluation
    #[arg(long, default_value = "ope", value_enum)]
    protocol: Protocol,
    /// Scoring rules
    #[arg(long, default_value = "otb", value_enum)]
    toolkit: Toolkit,
    /// Sequences at the same time [default: the number of cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS as i64))]
    jobs: Option<u16>,
    /// Resume the evaluation in --out: finished runs are kept
    #[arg(long)]
    resume: bool,
    /// First pixel of the truth files and results [default: 1 for groundtruth_rect*.txt, else 0]
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..=1))]
    base: Option<u8>,
    /// No progress and no table; given twice, no warnings either
    #[arg(long, short, action = ArgAction::Count)]
    quiet: u8,
    // Last: its help heading covers all that follows.
    #[command(flatten)]
    params: SettingsArgs,
}

const EXAMPLES: &str = "\
Examples:
  The default tracker on all sequences of a folder:
    kcf-track eval --data OTB --out report

  Two presets beside two published trackers:
    kcf-track eval --data OTB --preset paper --preset paper-dcf --results SRDCF=results/SRDCF --out report

  Three settings of one preset in one report:
    kcf-track eval --data OTB --tracker p3=fast --tracker p4=fast,search.background.padding=4 \
        --tracker svm=fast,detector=svm --out report

A sequence or result that cannot be used is left out; the report is still written, and the exit code is 1.";

/// The trackers of --tracker and --trackers. The other settings hold for them, too, unless they set them themselves.
fn named_trackers(args: &EvalArgs) -> Result<Vec<Preset>, Failure> {
    let mut all = Vec::new();
    if let Some(file) = &args.trackers {
        let wrong = |error: String| Failure::of_file("--trackers", file, error);
        let text = pipe::read_text(file).map_err(|error| wrong(error.to_string()))?;
        let table: toml::Table = read_toml(&text).map_err(wrong)?;
        if table.is_empty() {
            return Err(wrong(
                "there is no tracker in it; a line is wide = \"fast,search.background.padding=4\"".into(),
            ));
        }
        for (name, settings) in table {
            let settings = settings.as_str().ok_or_else(|| wrong(format!("{name} must be \"PRESET,PATH=VALUE,…\"")))?;
            all.push((name, settings.to_owned()));
        }
    }
    all.extend(args.named.iter().cloned());
    let tracker = |(name, settings): (String, String)| {
        let wrong = |reason: &str| Failure::usage(format!("tracker {name}: {reason}"));
        let (preset, changes) = settings.split_once(',').unwrap_or((&settings, ""));
        let changes = changes
            .split_terminator(',')
            .map(|change| settings::pair(change).map_err(|_| wrong(&format!("{change}: must be PATH=VALUE"))));
        let changes = changes.collect::<Result<Vec<_>, _>>()?;
        let resolved = args.params.resolve_with(Some(preset.trim()), &changes);
        let resolved = resolved.map_err(|error| wrong(error.reason()))?;
        Ok(Preset::changed(&resolved.preset, resolved.params)?.renamed(&name))
    };
    all.into_iter().map(tracker).collect()
}

/// The settings of --preset, or those of the default tracker where nothing else is evaluated or they are to be printed.
fn presets(args: &EvalArgs, has_named: bool) -> Result<Vec<Resolved>, Failure> {
    let given = args.presets.iter().map(|preset| args.params.resolve(Some(preset)));
    let given = given.collect::<Result<Vec<_>, _>>()?;
    let is_alone = args.results.is_empty() && !has_named;
    let takes_default = is_alone || args.params.print_config || !has_named && !args.params.is_empty();
    if given.is_empty() && takes_default { Ok(vec![args.params.resolve(None)?]) } else { Ok(given) }
}

pub fn run(args: &EvalArgs) -> Result<(), Failure> {
    let named = named_trackers(args)?;
    let trackers = presets(args, !named.is_empty())?;
    if args.params.print_config {
        let ([resolved], true) = (&trackers[..], named.is_empty()) else {
            return Err(Failure::usage("--print-config shows one --preset with its settings, and no --tracker"));
        };
        return settings::print(resolved, false);
    }
    let (Some(data), Some(out)) = (&args.data, &args.out) else {
        return Err(Failure::usage("--data and --out are needed"));
    };
    let presets = trackers.into_iter().map(|resolved| Preset::changed(&resolved.preset, resolved.params));
    let presets = presets.chain(named.into_iter().map(Ok)).collect::<Result<Vec<_>, _>>()?;
    let cancel = watch_signals();
    // All checks come before anything is written.
    let evaluation = scoped(&cancel, || open(args, data, &presets))?;
    check_folder(out, args.resume)?;
    write_manifest(args, &presets, out)?;
    let jobs = args.jobs.map(usize::from);
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let progress = Progress::new(Some(0), args.quiet == 0, true);
    let evaluated = evaluation.run(out, jobs, &cancel, &|event| show(&progress, args.quiet > 0, event));
    progress.finish();
    let evaluated = evaluated?;
    let command = std::env::args().map(|word| if word.contains(' ') { format!("'{word}'") } else { word });
    let about = About::now(command.collect::<Vec<_>>().join(" "), data);
    report::write(&evaluation, &evaluated, &about, out)?;
    print(&evaluated, out, args.quiet)
}

/// Writes the settings of the evaluation. A report of other settings is removed: if this run is interrupted, its numbers
/// must not stand beside them.
fn write_manifest(args: &EvalArgs, presets: &[Preset], out: &Path) -> Result<(), Failure> {
    let manifest = json!({
        "schema": "kcf-track-evaluation/3",
        "version": env!("CARGO_PKG_VERSION"),
        "data": args.data,
        "sequences": args.sequences,
        "trackers": presets,
        "results": args.results,
        "protocol": args.protocol,
        "toolkit": args.toolkit,
        "base": args.base,
        "allow_short": args.allow_short,
        "baseline": args.baseline,
    });
    let path = out.join(EVALUATION);
    let before = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    if before.is_some_and(|before| before != manifest) {
        for name in report::TABLES.split(' ') {
            let _ = fs::remove_file(out.join(name));
        }
    }
    Ok(atomic_file::write_json(&path, &manifest)?)
}

/// Checks that `folder` is new, empty, or holds an evaluation to `resume`.
fn check_folder(folder: &Path, resume: bool) -> Result<(), Failure> {
    let refused = |expected: &str| Err(Error::parameter("out", folder.display(), expected).into());
    // An evaluation that ended before its first run leaves only its document.
    let is_document = |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == EVALUATION);
    match fs::read_dir(folder).map(|mut entries| entries.all(is_document)) {
        Ok(true) => Ok(()),
        Ok(_) if !folder.join(EVALUATION).is_file() => refused("a new or empty folder; it holds something else"),
        Ok(_) if !resume => refused("a new folder, or --resume to continue the evaluation in it"),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(folder, error).into()),
        _ => Ok(()),
    }
}

fn open(args: &EvalArgs, data: &Path, presets: &[Preset]) -> Result<Evaluation, Failure> {
    let runners: Vec<Box<dyn Runner>> = presets.iter().map(|preset| Box::new(preset.clone()) as _).collect();
    let results = args.results.iter().map(|(name, _)| name.as_str());
    if let Some(name) = repeated(runners.iter().map(|runner| runner.name()).chain(results)) {
        let read = args.results.iter().any(|(read, _)| read == name);
        let advice =
            if read { "give another name by --results NAME=DIR" } else { "give each --preset and each name once" };
        return Err(Failure::usage(format!("two trackers are called {name}: {advice}")));
    }
    let base = args.base.map(|base| if base == 1 { Base::One } else { Base::Zero });
    let evaluation = Evaluation {
        dataset: Dataset::open(data, &args.sequences, base)?,
        runners,
        results: args
            .results
            .iter()
            .map(|(name, at)| {
                let files = ResultFiles::open(name, Path::new(at))?;
                Ok(files.allowing_short(args.allow_short))
            })
            .collect::<Result<_, Error>>()?,
        baseline: args.baseline.clone(),
        protocol: args.protocol,
        toolkit: args.toolkit,
    };
    evaluation.check()?;
    Ok(evaluation)
}

fn print(evaluated: &Evaluated, out: &Path, quiet: u8) -> Result<(), Failure> {
    let report = &evaluated.report;
    print_warnings(report.warnings.iter().filter(|_| quiet < 2));
    for LeftOut { sequence, tracker, reason } in &report.left_out {
        let tracker = tracker.as_ref().map_or(String::new(), |tracker| format!(" ({tracker})"));
        let _ = writeln!(std::io::stderr(), "{}", shown(&format!("left out: {sequence}{tracker}: {reason}")));
    }
    if quiet == 0 {
        let mut stdout = pipe::stdout()?;
        write!(stdout, "{}", report::plain(report, &evaluated.timings))?;
        writeln!(stdout, "{}", out.join("report.html").display())?;
    }
    match report.left_out.len() {
        0 => Ok(()),
        n => Err(Failure::failed(format!("{n} of the sequences or results were left out; the rest is in the report"))),
    }
}

/// Shows an event: a bar over all frames on a terminal, a line per sequence elsewhere.
fn show(progress: &Progress, quiet: bool, event: Event<'_>) {
    let line = |text: &str| {
        if !quiet {
            progress.tell(text);
        }
    };
    match event {
        Event::Planned { frames, done } => {
            progress.bar.set_length(frames);
            // Stored runs must not count for the speed.
            progress.bar.set_position(done);
            progress.bar.reset_eta();
            if done > 0 {
                line(&format!("{done} of {frames} frames were done before"));
            }
        }
        Event::Frame => progress.bar.inc(1),
        Event::Finished { tracker, sequence } if progress.bar.is_hidden() => line(&format!("{tracker}: {sequence}")),
        Event::Finished { tracker, sequence } => progress.bar.set_message(format!(", {tracker}: {sequence}")),
        Event::Note(text) => line(&text),
    }
}
