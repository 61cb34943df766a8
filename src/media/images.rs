//! Image files, decoded one after the other.

use std::path::PathBuf;
use std::time::Instant;

use super::decode::decode_with;
use super::folder::file_name;
use super::item::{Demand, Item};

/// Files with their positions.
pub(super) type Files = std::vec::IntoIter<(usize, PathBuf)>;

/// Decodes image files in order; one that cannot be decoded is an item with an error, and those after it follow.
#[derive(Debug)]
pub struct Images {
    files: Files,
    demand: Demand,
    bytes: Vec<u8>,
}

impl Images {
    /// Of these `files`, pairs of position and path.
    pub fn new(files: Vec<(usize, PathBuf)>, demand: impl Into<Demand>) -> Self {
        Self { files: files.into_iter(), demand: demand.into(), bytes: Vec::new() }
    }

    pub(super) fn demand(&self) -> Demand {
        self.demand
    }

    pub(super) fn into_files(self) -> Files {
        self.files
    }

    /// Decodes one of them, with a buffer for the file's bytes that is used again.
    pub(super) fn decode((position, path): (usize, PathBuf), demand: Demand, bytes: &mut Vec<u8>) -> Item {
        let begun = Instant::now();
        let (frame, color) = match decode_with(&path, demand, bytes) {
            Ok((frame, color)) => (Ok(frame), color),
            Err(error) => (Err(error), None),
        };
        let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
        Item { position, name: file_name(&path), path: Some(path), timestamp: None, frame, color, decode_ms }
    }
}

impl Iterator for Images {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        Some(Self::decode(self.files.next()?, self.demand, &mut self.bytes))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.files.size_hint()
    }
}

impl ExactSizeIterator for Images {}
