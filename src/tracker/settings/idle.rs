//! Settings that other values leave without an effect, though the tree has a place for them.
//!
//! A preset or a file that says all of a tree says such too; who gives one for itself is told what it needs.

use crate::tracker::params::{BackgroundParams, Params};

/// Settings, when nothing depends on them, and the values of others of which one would change that.
struct Rule {
    /// Paths, each of it and of what is below it.
    settings: &'static [&'static str],
    /// Whether they have no effect.
    idle: fn(&Params) -> bool,
    needs: Needs,
}

/// Paths of settings, each with what it must be; one of them is enough.
pub(super) type Needs = &'static [(&'static str, &'static str)];

const RULES: [Rule; 6] = [
    Rule {
        settings: &["search.filter.states.belief.faint-after"],
        idle: never_faint,
        needs: &[("search.filter.states.belief.faint-below", "above 0")],
    },
    Rule {
        settings: &["search.background.belief.faint-after"],
        idle: never_faint,
        needs: &[("search.background.belief.faint-below", "above 0")],
    },
    Rule {
        settings: &["search.background.color-weighting", "search.background.color-rate"],
        idle: |params| background(params, |filter| filter.color == 0.0),
        needs: &[("search.background.color", "above 0")],
    },
    // Where a filter's values weigh the same everywhere, it has a closed form.
    Rule {
        settings: &[
            "search.background.steps",
            "search.background.penalty",
            "search.background.penalty-growth",
            "search.background.penalty-limit",
        ],
        idle: |params| background(params, |filter| !filter.mask && filter.weight_growth == 0.0),
        needs: &[("search.background.mask", "true"), ("search.background.weight-growth", "above 0")],
    },
    Rule {
        settings: &["search.background.penalty-growth", "search.background.penalty-limit"],
        idle: |params| background(params, |filter| filter.steps == 1),
        needs: &[("search.background.steps", "above 1")],
    },
    Rule {
        settings: &["guard.far"],
        idle: |params| params.guard.as_ref().is_some_and(|guard| guard.tiles == 0),
        needs: &[("guard.tiles", "above 0")],
    },
];

fn never_faint(params: &Params) -> bool {
    params.search.belief().is_some_and(|belief| belief.faint_below == 0.0)
}

fn background(params: &Params, idle: fn(&BackgroundParams) -> bool) -> bool {
    params.search.background().is_some_and(idle)
}

/// What the setting at `path` needs to have an effect in this tree; `None` where it has one.
pub(super) fn needs(params: &Params, path: &str) -> Option<Needs> {
    let within =
        |setting: &str| path.strip_prefix(setting).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let of = |rule: &&Rule| rule.settings.iter().any(|setting| within(setting)) && (rule.idle)(params);
    RULES.iter().find(of).map(|rule| rule.needs)
}
