//! Memory that is set aside before it is needed.

use std::ops::{Deref, DerefMut};

/// A vector whose clone has the same room to grow. That of a `Vec` has room for its values only, and a clone of a
/// tracker would allocate at the first frame that shows its target larger, or in colour.
#[derive(Debug)]
pub(super) struct Room<T>(Vec<T>);

impl<T> Room<T> {
    /// Makes room for `len` values in all.
    pub fn reserve_in_all(&mut self, len: usize) {
        self.0.reserve(len.saturating_sub(self.0.len()));
    }
}

impl<T> Default for Room<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Clone for Room<T> {
    fn clone(&self) -> Self {
        let mut clone = Vec::with_capacity(self.0.capacity());
        clone.extend_from_slice(&self.0);
        Self(clone)
    }
}

impl<T> Deref for Room<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Room<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}
