//! Outputs must not replace what is read: a frame, or the truth that took somebody days to draw.

use std::fs::canonicalize;
use std::path::Path;

use kcf_track::export::Destination;
use kcf_track::source::Sequence;

use super::Failure;

/// Refuses an output, given with its flag without the dashes, that is one of the files of `sequence`, or a folder of results
/// that is the folder of its frames.
pub fn refuse<'a>(
    sequence: &Sequence,
    outputs: impl IntoIterator<Item = &'a (&'static str, &'a Destination)>,
) -> Result<(), Failure> {
    for (flag, destination) in outputs {
        let Destination::File(path) = destination else { continue };
        // What is not there yet can replace nothing.
        let Ok(real) = canonicalize(path) else { continue };
        let is = |other: &Path| canonicalize(other).is_ok_and(|other| other == real);
        let what = if sequence.truth_path().is_some_and(is) {
            "is the ground truth of this sequence"
        } else if real.is_dir() && sequence.images().iter().any(|image| image.parent().is_some_and(is)) {
            "is the folder of the frames, and one of them could be replaced"
        } else if sequence.images().iter().any(|image| is(image)) {
            "is a frame of this sequence"
        } else {
            continue;
        };
        return Err(Failure::usage(format!("--{flag} {}: this {what}; name another place", path.display())));
    }
    Ok(())
}
