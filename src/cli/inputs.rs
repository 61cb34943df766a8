//! Outputs must not replace what is read: a frame, or the truth that took somebody days to draw.

use kcf_track::export::Destination;
use kcf_track::source::Source;

use super::Failure;

/// Refuses an output, given with its flag without the dashes, that is a part of `source`.
pub fn refuse<'a>(
    source: &dyn Source,
    outputs: impl IntoIterator<Item = &'a (&'static str, &'a Destination)>,
) -> Result<(), Failure> {
    for (flag, destination) in outputs {
        let Destination::File(path) = destination else { continue };
        if let Some(what) = source.occupies(path) {
            return Err(Failure::usage(format!("--{flag} {}: this {what}; name another place", path.display())));
        }
    }
    Ok(())
}
