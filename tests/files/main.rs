//! Image files, folders of them, videos and pipes, and the sequence that is part of the repository.

#[path = "../support/ffmpeg.rs"]
mod ffmpeg;
#[path = "../support/pictures.rs"]
mod pictures;

mod decode;
mod demo;
mod seek;
mod sequence;
mod stream;
mod video;
