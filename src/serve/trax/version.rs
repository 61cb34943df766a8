//! Versions of the protocol, and in what they differ.

use crate::error::{Error, Result};

/// A version of the protocol. The server names it in its `hello`, and the client follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u8);

impl Version {
    /// The latest one.
    pub const LATEST: Self = Self(4);

    /// Version `number`, from 1 to that of [`Version::LATEST`].
    ///
    /// # Errors
    /// [`Error::Parameter`] for any other number.
    pub fn new(number: u8) -> Result<Self> {
        match number {
            1..=4 => Ok(Self(number)),
            _ => Err(Error::Parameter {
                name: "protocol",
                value: number.to_string(),
                expected: "versions 1 to 4 of TraX are known".into(),
            }),
        }
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Whether the server says which channels an image has.
    pub(super) fn names_channels(self) -> bool {
        self.0 >= 2
    }

    /// Whether a region may be a mask.
    pub(super) fn has_masks(self) -> bool {
        self.0 >= 3
    }

    /// Whether `initialize` gives the region of one of several objects, and the image comes with the `frame` after it.
    pub(super) fn has_many_objects(self) -> bool {
        self.0 >= 4
    }
}

impl Default for Version {
    fn default() -> Self {
        Self::LATEST
    }
}
