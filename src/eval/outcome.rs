//! What the runs and results of an evaluation come to.

use std::collections::BTreeMap;

use super::dataset::LabelledSequence;
use super::evaluation::Evaluation;
use super::results::as_trace;
use super::runner::Trace;
use super::store::{Store, Stored};
use super::summary::{LeftOut, Origin, Report, Scored, SequenceFacts, score_traces, summarize};
use super::timings::{Timings, TrackerTiming, rate};
use crate::bbox::BBox;
use crate::error::{Error, Result};

/// The outcome of an evaluation.
#[derive(Debug)]
pub struct Evaluated {
    /// Everything that is computed from boxes alone.
    pub report: Report,
    /// How fast the trackers were.
    pub timings: Timings,
    /// The boxes of each tracker's first run by sequence, for pictures.
    pub boxes: BTreeMap<String, BTreeMap<String, Vec<BBox>>>,
}

/// Why a sequence without a usable label is none.
const NO_LABEL: &str = "no frame has a label that counts by the rules of this toolkit";

struct Loaded {
    traces: std::result::Result<Vec<Trace>, String>,
    fps: Option<f64>,
}

impl Evaluation {
    /// Sums up what `store` and the result files hold.
    ///
    /// # Errors
    /// As [`Evaluation::check`]; [`Error::Evaluation`] when runs are missing, or when there is nothing to sum up.
    pub fn report(&self, store: &Store) -> Result<Evaluated> {
        self.check()?;
        let mut left_out = self.dataset.left_out.clone();
        let mut warnings = self.dataset.warnings.clone();
        let mut timings = Timings { schema: "kcf-track-timings/1".into(), ..Timings::default() };
        let mut boxes: BTreeMap<String, BTreeMap<String, Vec<BBox>>> = BTreeMap::new();
        let mut starts = BTreeMap::new();
        for sequence in &self.dataset.sequences {
            match self.starts(sequence) {
                Ok(s) => drop(starts.insert(sequence.name.as_str(), s)),
                Err(error) => {
                    let reason = error.to_string();
                    left_out.push(LeftOut { sequence: sequence.name.clone(), tracker: None, reason });
                }
            }
        }
        let usable: Vec<&LabelledSequence> =
            self.dataset.sequences.iter().filter(|s| starts.contains_key(s.name.as_str())).collect();

        let (mut scored, mut sparse) = (Vec::new(), Vec::new());
        let mut add = |name: &str, origin, parameters, loaded: Vec<(&LabelledSequence, Loaded)>| {
            let mut scores = BTreeMap::new();
            let mut fps = BTreeMap::new();
            for (sequence, loaded) in loaded {
                let score = loaded.traces.and_then(|traces| {
                    let score = score_traces(&sequence.truth, &traces, self.toolkit).map_err(|e| e.to_string())?;
                    if score.labelled == 0 {
                        return Err(NO_LABEL.to_owned());
                    }
                    Ok((score, traces))
                });
                match score {
                    Ok((score, traces)) => {
                        if 2 * score.labelled < score.frames {
                            let (labelled, all, name) = (score.labelled, score.frames, &sequence.name);
                            sparse.push(format!(
                                "{name}: {labelled} of {all} frames have a label that counts; by these rules the \
                                 others lower some scores"
                            ));
                        }
                        scores.insert(sequence.name.clone(), score);
                        fps.extend(loaded.fps.or_else(|| rate(&traces)).map(|r| (sequence.name.clone(), r)));
                        if let Some(first) = traces.into_iter().next() {
                            boxes.entry(name.to_owned()).or_default().insert(sequence.name.clone(), first.boxes);
                        }
                    }
                    Err(reason) => left_out.push(LeftOut {
                        sequence: sequence.name.clone(),
                        tracker: Some(name.to_owned()),
                        reason,
                    }),
                }
            }
            if let Some(timing) = TrackerTiming::of(fps, &usable) {
                timings.trackers.insert(name.to_owned(), timing);
            }
            // One that was scored on nothing has no place among the others; what it lacks is left out by name.
            if !scores.is_empty() {
                scored.push(Scored { name: name.to_owned(), origin, parameters, scores });
            }
        };

        for runner in &self.runners {
            let mut loaded = Vec::new();
            for &sequence in &usable {
                let key = self.key(runner.as_ref(), sequence, &starts[sequence.name.as_str()]);
                let traces = match store.load_alike(&key) {
                    Stored::Runs(traces) => Ok(traces),
                    Stored::Failed(reason) => Err(reason),
                    Stored::Absent | Stored::Unusable(_) => {
                        return Err(Error::Evaluation {
                            what: format!("{}, {}", runner.name(), sequence.name),
                            reason: "its runs are missing: the evaluation is not finished".into(),
                        });
                    }
                };
                loaded.push((sequence, Loaded { traces, fps: None }));
            }
            add(runner.name(), Origin::Run, runner.parameters(), loaded);
        }
        for files in &self.results {
            let read = usable.iter().map(|&sequence| {
                let loaded = match files.read(sequence) {
                    Ok(read) => {
                        warnings.extend(read.warning(&files.name, &sequence.name, self.toolkit));
                        Loaded { traces: Ok(vec![as_trace(read.boxes)]), fps: read.fps }
                    }
                    Err(error) => Loaded { traces: Err(error.to_string()), fps: None },
                };
                (sequence, loaded)
            });
            let read = read.collect();
            add(&files.name, Origin::Results, serde_json::Value::Null, read);
        }
        warnings.append(&mut sparse);
        if scored.is_empty() {
            let first = left_out.first().map(|l| format!(" ({}: {})", l.sequence, l.reason)).unwrap_or_default();
            return Err(Error::Evaluation {
                what: "report".into(),
                reason: format!("no sequence could be scored{first}"),
            });
        }
        let facts = usable
            .iter()
            .map(|s| SequenceFacts {
                name: s.name.clone(),
                frames: s.frames.len(),
                base: s.base as u8,
                attributes: s.attributes.clone(),
            })
            .collect();
        let report = summarize(self.protocol, self.toolkit, facts, scored, left_out, warnings);
        Ok(Evaluated { report, timings, boxes })
    }
}
