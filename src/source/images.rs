//! Image files, decoded one after the other.

use std::path::PathBuf;
use std::time::Instant;

use super::decode::decode_with;
use super::folder::file_name;
use super::item::{Demand, Item};

/// Decodes image files in order; one that cannot be decoded is an item with an error, and those after it follow.
#[derive(Debug)]
pub struct Images {
    files: std::vec::IntoIter<(usize, PathBuf)>,
    demand: Demand,
    bytes: Vec<u8>,
}

impl Images {
    /// Of these `files`, pairs of position and path.
    pub fn new(files: Vec<(usize, PathBuf)>, demand: impl Into<Demand>) -> Self {
        Self { files: files.into_iter(), demand: demand.into(), bytes: Vec::new() }
    }
}

impl Iterator for Images {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let (position, path) = self.files.next()?;
        let begun = Instant::now();
        let (frame, color) = match decode_with(&path, self.demand, &mut self.bytes) {
            Ok((frame, color)) => (Ok(frame), color),
            Err(error) => (Err(error), None),
        };
        let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
        Some(Item { position, name: file_name(&path), path: Some(path), timestamp: None, frame, color, decode_ms })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.files.size_hint()
    }
}

impl ExactSizeIterator for Images {}
