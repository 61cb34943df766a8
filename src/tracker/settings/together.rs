//! What is asked of several settings together.

use super::find;
use crate::error::{Error, Result};
use crate::machine::MachineKind;
use crate::tracker::params::Params;

/// # Errors
/// [`Error::Parameter`] with the path of the setting that does not go with another one.
pub(super) fn check(params: &Params) -> Result<()> {
    let wrong = |name, value: String, expected| Err(Error::Parameter { name, value, expected });
    if let Some(filter) = params.search.filter().filter(|filter| filter.uncertain_psr < filter.lost_psr) {
        let expected = format!("must not lie below search.filter.lost-psr {}", filter.lost_psr);
        return wrong("search.filter.uncertain-psr", filter.uncertain_psr.to_string(), expected);
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
    }
    let Some(guard) = &params.guard else { return Ok(()) };
    let kind = guard.windows.machine.kind();
    if !kind.guards() {
        let names = MachineKind::all_guards().map(MachineKind::name).collect::<Vec<_>>().join(", ");
        return wrong("guard", kind.to_string(), format!("must be one of {names}"));
    }
    Ok(())
}
