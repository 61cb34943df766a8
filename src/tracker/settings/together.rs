//! What is asked of several settings together.

use super::find;
use crate::error::{Error, Result};
use crate::machines::{MachineKind, MachineParams};
use crate::tracker::calibration::Calibration;
use crate::tracker::params::{BeliefParams, ColorWeighting, Params, SeparationSettings, StateParams};

/// # Errors
/// [`Error::Parameter`] with the path of the setting that does not go with another one.
pub(super) fn check(params: &Params) -> Result<()> {
    let wrong = |name, value: String, expected| Err(Error::Parameter { name, value, expected });
    if let Some(filter) = params.search.filter() {
        match filter.states {
            StateParams::Psr { uncertain, lost } if uncertain < lost => {
                let expected = format!("must not lie below search.filter.states.psr.lost {lost}");
                return wrong("search.filter.states.psr.uncertain", uncertain.to_string(), expected);
            }
            StateParams::Belief(_) if Calibration::of_filter(filter).is_none() => {
                let expected = "needs search.filter.feature = hog, search.filter.kernel = gaussian and \
                                search.filter.loss = ridge, as no confidence was fitted to others, or \
                                search.filter.states = psr";
                return wrong("search.filter.states", "belief".into(), expected.into());
            }
            _ => {}
        }
    }
    if let Some(belief) = params.search.belief() {
        check_order(&belief, params.search.filter().is_some())?;
    }
    if let Some(ColorWeighting::Separation(SeparationSettings { from, to, .. })) =
        params.search.background().map(|background| background.color_weighting)
        && to < from
    {
        let expected = format!("must not lie below search.background.color-weighting.separation.from {from}");
        return wrong("search.background.color-weighting.separation.to", to.to_string(), expected);
    }
    let guards = params.guard.as_ref().map(|guard| ("guard", &guard.windows));
    for (at, windows) in params.search.windows().map(|windows| ("search", windows)).into_iter().chain(guards) {
        windows.machine.build().map_err(|error| match error {
            Error::Parameter { name, value, expected } => {
                let path = format!("{at}.windows.machine.{name}");
                let name = find(&path).map_or(name, |setting| setting.path);
                Error::Parameter { name, value, expected }
            }
            other => other,
        })?;
        let unbalanced = match &windows.machine {
            MachineParams::Svm(svm) if !svm.balance => {
                Some(["guard.windows.machine.svm.balance", "search.windows.machine.svm.balance"])
            }
            MachineParams::Klda(klda) if !klda.balance => {
                Some(["guard.windows.machine.klda.balance", "search.windows.machine.klda.balance"])
            }
            _ => None,
        };
        if let Some([of_guard, of_search]) = unbalanced {
            let name = if at == "guard" { of_guard } else { of_search };
            let expected = "must be true: the samples of a tracker weigh the same in both classes already";
            return wrong(name, "false".into(), expected.into());
        }
    }
    let Some(guard) = &params.guard else { return Ok(()) };
    let kind = guard.windows.machine.kind();
    if !kind.guards() {
        let names = MachineKind::all_guards().map(MachineKind::name).collect::<Vec<_>>().join(", ");
        return wrong("guard", kind.to_string(), format!("must be one of {names}"));
    }
    Ok(())
}

/// Whether the thresholds of a confidence stand in their order: a state that ends before it begins would be left in
/// every other frame.
fn check_order(belief: &BeliefParams, of_filter: bool) -> Result<()> {
    let [from, until, lost] = match of_filter {
        true => [
            "search.filter.states.belief.tracking-from",
            "search.filter.states.belief.tracking-until",
            "search.filter.states.belief.lost-below",
        ],
        false => [
            "search.background.belief.tracking-from",
            "search.background.belief.tracking-until",
            "search.background.belief.lost-below",
        ],
    };
    let thresholds = [(from, belief.tracking_from), (until, belief.tracking_until), (lost, belief.lost_below)];
    for pair in thresholds.windows(2) {
        let [(above, most), (name, value)] = *pair else { continue };
        if value > most {
            let expected = format!("must not lie above {above} {most}");
            return Err(Error::Parameter { name, value: value.to_string(), expected });
        }
    }
    Ok(())
}
