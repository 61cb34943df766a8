//! Image files, folders of them, and the sequence that is part of the repository.

mod decode;
mod demo;
mod prefetch;
mod sequence;
