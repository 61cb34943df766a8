//! A document that grows frame by frame and appears whole.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use super::destination::{Destination, Target};
use super::patient::{Heed, Patient};
use super::rounded_json;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::replace::{parent, replace};

/// Text that is collected in a nameless temporary file, so that its memory is flat and nothing of it remains after a
/// kill, and put in its place at the end.
#[derive(Debug)]
pub(super) struct Document {
    name: PathBuf,
    target: Target,
    text: BufWriter<File>,
    heed: Heed,
}

impl Document {
    /// Checks that `destination` can be written to.
    pub(super) fn create(destination: &Destination) -> Result<Self> {
        let target = destination.probe()?;
        let folder = match &target {
            Target::File(path) => parent(path).to_path_buf(),
            Target::Stdout | Target::Special(_) => std::env::temp_dir(),
        };
        let text = tempfile::tempfile_in(&folder).map_err(|source| Error::io(folder, source))?;
        Ok(Self { name: destination.path().to_path_buf(), target, text: BufWriter::new(text), heed: Heed::default() })
    }

    /// As [`Export::heed`](super::Export::heed).
    pub(super) fn heed(&mut self, stop: &CancelToken) {
        self.heed.told_by(stop);
    }

    /// Adds text to the end.
    pub(super) fn write(&mut self, text: &[u8]) -> Result<()> {
        self.text.write_all(text).map_err(|source| Error::io(&self.name, source))
    }

    /// Puts the document in its place.
    pub(super) fn commit(self) -> Result<()> {
        let Self { name, target, text, heed } = self;
        commit(target, text, &heed).map_err(|source| Error::io(name, source))
    }

    /// Makes one value all of the document, and puts that in its place.
    pub(super) fn commit_json(mut self, value: &impl serde::Serialize) -> Result<()> {
        let text = rounded_json::compact(value).map_err(|error| Error::io(&self.name, error.into()))?;
        self.write(&text)?;
        self.commit()
    }

    /// Where it goes, for messages.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }
}

fn commit(target: Target, text: BufWriter<File>, heed: &Heed) -> io::Result<()> {
    let mut text = text.into_inner().map_err(io::IntoInnerError::into_error)?;
    text.rewind()?;
    match target {
        Target::Stdout => hand_over(&mut text, Patient::stdout(heed)?),
        Target::Special(file) => hand_over(&mut text, Patient::of(file, heed)),
        // Synced before the rename, or a power cut could leave an empty file under the new name.
        Target::File(path) => replace(&path, |file| {
            io::copy(&mut text, file)?;
            file.flush()?;
            file.get_ref().sync_all()
        })
        .map(drop),
    }
}

fn hand_over(text: &mut File, mut to: Patient) -> io::Result<()> {
    io::copy(text, &mut to)?;
    to.flush()
}
