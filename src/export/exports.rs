//! Several exports of one run.

use super::{Export, FrameRecord, FrameView, Run, Summary};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};

/// The exports of a run, each given every frame.
///
/// One that fails is given up and its error is returned, but only after all others have had the frame: end the run then
/// and `finish` the others, so that nothing that was computed is lost. After a
/// [broken pipe](Error::is_broken_pipe) the run may as well go on while exports remain.
#[derive(Debug, Default)]
pub struct Exports {
    open: Vec<Box<dyn Export>>,
}

impl Exports {
    /// Adds an export.
    pub fn push(&mut self, export: impl Export + 'static) {
        self.add(Box::new(export));
    }

    /// As [`Exports::push`], of one whose kind is not known.
    pub fn add(&mut self, export: Box<dyn Export>) {
        self.open.push(export);
    }

    /// Whether nothing is written any more.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether one of them draws on the frames.
    pub fn draw(&self) -> bool {
        self.open.iter().any(|export| export.draws())
    }

    /// [`Export::heed`] of each.
    pub fn heed(&mut self, stop: &CancelToken) {
        self.open.iter_mut().for_each(|export| export.heed(stop));
    }

    /// [`Export::begin`] of each.
    ///
    /// # Errors
    /// The first failure.
    pub fn begin(&mut self, run: &Run) -> Result<()> {
        self.each(|export| export.begin(run))
    }

    /// [`Export::frame`] of each.
    ///
    /// # Errors
    /// The first failure.
    pub fn frame(&mut self, record: &FrameRecord, view: &FrameView<'_>) -> Result<()> {
        self.each(|export| export.frame(record, view))
    }

    /// [`Export::finish`] of each that is left.
    ///
    /// # Errors
    /// The first failure.
    pub fn finish(self, summary: &Summary) -> Result<()> {
        let mut failure = None;
        for export in self.open {
            note(&mut failure, export.finish(summary));
        }
        failure.map_or(Ok(()), Err)
    }

    fn each(&mut self, mut step: impl FnMut(&mut dyn Export) -> Result<()>) -> Result<()> {
        let mut failure = None;
        self.open.retain_mut(|export| note(&mut failure, step(export.as_mut())));
        failure.map_or(Ok(()), Err)
    }
}

/// Keeps the first failure, or the first worse than a broken pipe; says whether there was none now.
fn note(failure: &mut Option<Error>, result: Result<()>) -> bool {
    let Err(error) = result else { return true };
    if failure.as_ref().is_none_or(|first| first.is_broken_pipe() && !error.is_broken_pipe()) {
        *failure = Some(error);
    }
    false
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::export::Tally;
    use crate::export::record::tests::run;

    type Log = Arc<Mutex<Vec<String>>>;

    struct Probe(&'static str, Log, Option<ErrorKind>);

    impl Export for Probe {
        fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
            self.1.lock().unwrap().push(format!("{} {}", self.0, record.index));
            self.2.map_or(Ok(()), |kind| Err(Error::io(self.0, kind.into())))
        }

        fn finish(self: Box<Self>, _: &Summary) -> Result<()> {
            self.1.lock().unwrap().push(format!("{} end", self.0));
            Ok(())
        }
    }

    #[test]
    fn one_that_fails_takes_no_other_with_it() {
        let (_, records) = run();
        let log = Log::default();
        let mut exports = Exports::default();
        exports.push(Probe("pipe", log.clone(), Some(ErrorKind::BrokenPipe)));
        exports.push(Probe("full", log.clone(), Some(ErrorKind::StorageFull)));
        exports.push(Probe("good", log.clone(), None));
        let error = exports.frame(&records[0], &FrameView::default()).unwrap_err();
        assert!(!error.is_broken_pipe() && error.to_string().starts_with("full"), "{error}");
        exports.frame(&records[1], &FrameView::default()).unwrap();
        exports.finish(&Tally::default().failed(None, error)).unwrap();
        assert_eq!(*log.lock().unwrap(), ["pipe 1", "full 1", "good 1", "good 2", "good end"]);
    }
}
