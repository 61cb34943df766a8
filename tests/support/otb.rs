//! The published sequences of OTB, and the tracker run on them as the command line runs it.
//!
//! They do not belong to this project: tests that need them are ignored unless they are asked for, and then fail without
//! them. `KCF_TRACK_OTB` names their folder, `KCF_TRACK_OTB_RESULTS` that of the boxes that others published for them,
//! by default `otb_results` beside it.

use std::path::PathBuf;

use kcf_track::cancel::CancelToken;
use kcf_track::media::{OpenOptions, Prefetch, Sequence, Source, otb};
use kcf_track::run::{Session, Step};
use kcf_track::{BBox, Params, Tracker};
use rayon::prelude::*;

/// The folder of the sequences.
pub fn root() -> PathBuf {
    folder("KCF_TRACK_OTB", None)
}

/// The folder of published boxes, one folder a tracker in it.
pub fn results() -> PathBuf {
    folder("KCF_TRACK_OTB_RESULTS", Some(root().join("../otb_results")))
}

#[track_caller]
fn folder(variable: &str, default: Option<PathBuf>) -> PathBuf {
    let folder = std::env::var_os(variable).map(PathBuf::from).or(default);
    let folder = folder.unwrap_or_else(|| panic!("this test needs the published sequences: set {variable}"));
    assert!(folder.is_dir(), "there is no folder {} (set {variable})", folder.display());
    folder
}

/// Whether the long runs are asked for, by `KCF_TRACK_FULL=1`.
pub fn full() -> bool {
    std::env::var_os("KCF_TRACK_FULL").is_some_and(|value| value != "0" && !value.is_empty())
}

/// One evaluated sequence and what the tracker made of it.
pub struct Run {
    /// As result files are called: `Deer`, `Jogging-2`.
    pub name: String,
    /// Of the evaluated frames.
    pub truth: Vec<Option<BBox>>,
    pub boxes: Vec<BBox>,
}

/// As [`track_all_with`], with the settings of a preset.
pub fn track_all(root: &std::path::Path, preset: &str, wanted: &[&str]) -> Vec<Run> {
    track_all_with(root, &Params::preset(preset).unwrap(), wanted)
}

/// Tracks every sequence that is there and that `wanted` names (all of them when it is empty), in alphabetical order.
pub fn track_all_with(root: &std::path::Path, params: &Params, wanted: &[&str]) -> Vec<Run> {
    let there: Vec<_> = otb::all()
        .iter()
        .filter(|facts| root.join(&facts.name).is_dir())
        .filter(|facts| wanted.is_empty() || wanted.contains(&facts.result_name().as_str()))
        .collect();
    assert!(!there.is_empty(), "{} holds none of the sequences", root.display());
    let mut runs: Vec<Run> = there
        .into_par_iter()
        .with_max_len(1)
        .map(|facts| {
            let options = OpenOptions { target: facts.target, ..Default::default() };
            let sequence = Sequence::open(root.join(&facts.name), &options).unwrap();
            let span = sequence.info().span(None, None).unwrap();
            let truth = sequence.info().truth[span.first - 1..span.last.unwrap()].to_vec();
            Run { name: facts.result_name(), truth, boxes: track(&sequence, params) }
        })
        .collect();
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    runs
}

/// The boxes of a source's own span, the first being the true one; frames are decoded ahead.
pub fn track(source: &dyn Source, params: &Params) -> Vec<BBox> {
    let span = source.info().span(None, None).unwrap();
    let tracker = Tracker::new(params.clone()).unwrap();
    let mut session = Session::of(tracker, span.first, source.info().initial_box(span.first).unwrap());
    let mut boxes = Vec::new();
    let frames = Prefetch::open(source, span, params.channels(), &CancelToken::default()).unwrap();
    let ended = session.run(frames, &mut |step: &Step<'_, Tracker>| {
        boxes.push(step.outcomes[0].bbox);
        Ok(())
    });
    ended.unwrap();
    boxes
}
