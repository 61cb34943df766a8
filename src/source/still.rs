//! One picture, as many times as one likes: the source that shows what a tracker does where nothing happens.

use std::path::PathBuf;

use super::{Demand, Images, Source, Span, Stream};
use crate::error::Result;

/// The image file `path`, `length` times.
#[derive(Clone, Debug)]
pub struct Still {
    /// The image file.
    pub path: PathBuf,
    /// How often it comes.
    pub length: usize,
}

impl Source for Still {
    fn name(&self) -> &str {
        "still"
    }

    fn length(&self) -> Option<usize> {
        Some(self.length)
    }

    fn stream(&self, span: Span, demand: Demand) -> Result<Stream> {
        let last = span.last.unwrap_or(self.length).min(self.length);
        let files = (span.first..=last).map(|position| (position, self.path.clone())).collect();
        Ok(Box::new(Images::new(files, demand)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Channels, Prefetch};

    #[test]
    fn the_picture_comes_again_and_again() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/gray.jpg").into();
        let still = Still { path, length: 5 };
        let stream = Prefetch::open(&still, still.span(Some(2), None).unwrap(), Channels::Luma).unwrap();
        let items: Vec<_> = stream.collect();
        assert_eq!(items.iter().map(|item| item.position).collect::<Vec<_>>(), [2, 3, 4, 5]);
        assert!(items.iter().all(|item| item.frame.is_ok()));
    }
}
