//! Frames as they come, until somebody wants the run to end.

use std::time::Duration;

use crate::media::{Item, Prefetch, Source, Wait};

/// How often it is asked, while no frame comes, whether the run shall end.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// The frames of a source, read ahead. They end when there are no more, or, while one is waited for, when `asked` says
/// so: whatever reads the source is then ended too.
#[derive(Debug)]
pub struct Frames<'a, A> {
    /// One that was taken before, to be the first.
    pub first: Option<Item>,
    /// Those that follow.
    pub frames: Prefetch,
    /// Where they come from.
    pub source: &'a dyn Source,
    /// Whether the run shall end.
    pub asked: A,
}

impl<A: FnMut() -> bool> Iterator for Frames<'_, A> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            match self.frames.next_within(ASK_EVERY) {
                Wait::Item(item) => return Some(item),
                Wait::End => return None,
                Wait::NotYet if (self.asked)() => {
                    self.source.cancel();
                    return None;
                }
                Wait::NotYet => {}
            }
        }
    }
}
