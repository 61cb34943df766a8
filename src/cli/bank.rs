//! The settings of a kernel machine over real windows, as detector or as guard, on the command line.

use clap::Args;
use kcf_track::Params;
use kcf_track::kernel::Kernel;
use kcf_track::tracker::SearchParams;
use serde_json::{Map, Value};

use super::Failure;

/// How a machine over real windows looks and learns.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Kernel machines over real windows (--detector other than kcf, --guard)")]
pub struct BankArgs {
    /// Setting of the machine, as often as needed: `--machine c=10` [default: the machine's]
    #[arg(long = "machine", value_name = "KEY=VALUE", value_parser = setting)]
    machine: Vec<(String, Value)>,
    /// Bandwidth of the Gaussian kernel between windows, of the machine's own [default: 0.25]
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    window_sigma: Option<f64>,
    /// Target size from which on the picture is looked at more coarsely, root of width times height in pixels [default: 32]
    #[arg(long, value_name = "PIXELS", allow_negative_numbers = true)]
    template_size: Option<f64>,
    /// Area around the target in a template, as a multiple of its size [default: 0.5]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    context: Option<f64>,
    /// Reach of the search: the target may move by half of this, times its size, a frame [default: 2.5]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    reach: Option<f64>,
    /// How much nearness to the last place counts, 0 to 1 [default: 0.5]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    prior: Option<f64>,
    /// Share of the newest sample of the target among all its samples [default: 0.05]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    sample_share: Option<f64>,
    /// Score above which a frame is learned from [default: 0 for krr, 0.2 for the others]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    gate: Option<f64>,
    /// Learn from one of so many frames [default: 2 for kpca and kdspe, 1 for the others]
    #[arg(long, value_name = "N")]
    learn_every: Option<usize>,
    /// Samples of the target that are remembered [default: 12]
    #[arg(long, value_name = "N")]
    positives: Option<usize>,
    /// Samples of the background that are remembered [default: 40]
    #[arg(long, value_name = "N")]
    negatives: Option<usize>,
    /// Samples of the background that a frame adds [default: 3]
    #[arg(long, value_name = "N")]
    hard_negatives: Option<usize>,
    /// Principal components that the 31 channels of HOG are projected onto, 1 to 15; 31 for none [default: 8]
    #[arg(long, value_name = "N")]
    channels: Option<usize>,
    /// Score below which a frame's state is `lost`, or --gate where that is lower [default: -0.3]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    lost_score: Option<f64>,
    #[command(flatten)]
    guarding: GuardingArgs,
}

/// When a guard doubts the filter, and when it believes a window elsewhere.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Guard (--guard)")]
struct GuardingArgs {
    /// Score at the filter's place below which the guard doubts it [default: 0]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, hide_short_help = true)]
    guard_doubt: Option<f64>,
    /// Score above which a doubtful guard believes a window elsewhere [default: 0.3 for krr, 0.5 for the others]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, hide_short_help = true)]
    guard_belief: Option<f64>,
    /// By how much that score must exceed the one at the filter's place [default: 0.3]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, hide_short_help = true)]
    guard_margin: Option<f64>,
    /// How much more is asked of a window anywhere in the frame [default: 0.1]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, hide_short_help = true)]
    guard_far: Option<f64>,
    /// Doubtful frames in a row after which the target is lost and the whole frame is searched [default: 3]
    #[arg(long, value_name = "N", hide_short_help = true)]
    guard_patience: Option<usize>,
    /// Search areas a frame of that search; 0 for no such search [default: 2]
    #[arg(long, value_name = "N", hide_short_help = true)]
    guard_tiles: Option<usize>,
    /// Weight of the new sample when the filter is put to another place: 1 forgets what it knew, 0 keeps it [default: 0.2]
    #[arg(long, value_name = "X", allow_negative_numbers = true, hide_short_help = true)]
    guard_relearn: Option<f64>,
}

impl GuardingArgs {
    fn apply(&self, params: &mut Params) -> Result<(), Failure> {
        let Some(guard) = &mut params.guard else {
            return self.given().map_or(Ok(()), |flag| Err(Failure::usage(format!("{flag} needs --guard"))));
        };
        let set = |field: &mut f64, given: Option<f64>| *field = given.unwrap_or(*field);
        set(&mut guard.doubt, self.guard_doubt);
        set(&mut guard.belief, self.guard_belief);
        set(&mut guard.margin, self.guard_margin);
        set(&mut guard.far, self.guard_far);
        set(&mut guard.relearn, self.guard_relearn);
        guard.patience = self.guard_patience.unwrap_or(guard.patience);
        guard.tiles = self.guard_tiles.unwrap_or(guard.tiles);
        Ok(())
    }

    /// The first of these flags that was given.
    fn given(&self) -> Option<&'static str> {
        first([
            ("--guard-doubt", self.guard_doubt.is_some()),
            ("--guard-belief", self.guard_belief.is_some()),
            ("--guard-margin", self.guard_margin.is_some()),
            ("--guard-far", self.guard_far.is_some()),
            ("--guard-patience", self.guard_patience.is_some()),
            ("--guard-tiles", self.guard_tiles.is_some()),
            ("--guard-relearn", self.guard_relearn.is_some()),
        ])
    }
}

fn first<const N: usize>(flags: [(&'static str, bool); N]) -> Option<&'static str> {
    flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}

impl BankArgs {
    /// Makes the changes.
    pub fn apply(&self, params: &mut Params) -> Result<(), Failure> {
        let bank = match (&mut params.search, &mut params.guard) {
            (SearchParams::Windows(windows), _) => windows,
            (_, Some(guard)) => &mut guard.windows,
            _ => {
                return match self.given() {
                    Some(flag) => Err(Failure::usage(format!("{flag} needs --guard, or a --detector other than kcf"))),
                    None => self.guarding.apply(params),
                };
            }
        };
        if !self.machine.is_empty() {
            let name = bank.machine.kind().name();
            let given = Value::Object(self.machine.iter().cloned().collect::<Map<_, _>>());
            bank.machine = serde_json::from_value(serde_json::json!({ name: given }))
                .map_err(|error| Failure::usage(format!("--machine {given}: {error}")))?;
        }
        if let Some(sigma) = self.window_sigma {
            bank.kernel = Kernel::Gaussian { sigma };
        }
        let set = |field: &mut f64, given: Option<f64>| *field = given.unwrap_or(*field);
        set(&mut bank.template_size, self.template_size);
        set(&mut bank.context, self.context);
        set(&mut bank.reach, self.reach);
        set(&mut bank.prior, self.prior);
        set(&mut bank.sample_share, self.sample_share);
        set(&mut bank.gate, self.gate);
        set(&mut bank.lost, self.lost_score);
        let set = |field: &mut usize, given: Option<usize>| *field = given.unwrap_or(*field);
        set(&mut bank.every, self.learn_every);
        set(&mut bank.positives, self.positives);
        set(&mut bank.negatives, self.negatives);
        set(&mut bank.hard_negatives, self.hard_negatives);
        set(&mut bank.channels, self.channels);
        self.guarding.apply(params)
    }

    /// The first of these flags that was given.
    fn given(&self) -> Option<&'static str> {
        first([
            ("--machine", !self.machine.is_empty()),
            ("--window-sigma", self.window_sigma.is_some()),
            ("--template-size", self.template_size.is_some()),
            ("--context", self.context.is_some()),
            ("--reach", self.reach.is_some()),
            ("--prior", self.prior.is_some()),
            ("--sample-share", self.sample_share.is_some()),
            ("--gate", self.gate.is_some()),
            ("--learn-every", self.learn_every.is_some()),
            ("--positives", self.positives.is_some()),
            ("--negatives", self.negatives.is_some()),
            ("--hard-negatives", self.hard_negatives.is_some()),
            ("--channels", self.channels.is_some()),
            ("--lost-score", self.lost_score.is_some()),
        ])
    }
}

/// `key=value`, the value a JSON number, `true`, `false`, or else a word.
fn setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("a setting is KEY=VALUE, such as c=10")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.trim().replace('_', "-"), value))
}
