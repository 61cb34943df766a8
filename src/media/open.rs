//! One way to open whatever a person names.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::animation::Animation;
use super::video::{Video, VideoOptions, local};
use super::{Sequence, SequenceOptions, Source, Y4m, folder, header};
use crate::error::{Error, Result};

/// How anything is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Of a folder of images.
    pub sequence: SequenceOptions,
    /// Of a video, a camera or an address.
    pub video: VideoOptions,
}

/// Opens a folder of images, a video, an animated picture, a camera (`/dev/video0`), an address (`rtsp://…`; `file:` is
/// the file), or `-`, the standard input, which must be Y4M as what comes through a named pipe.
///
/// # Errors
/// As [`Sequence::open`], [`Video::open`] and [`Y4m::open`]; [`Error::Sequence`] for a single picture.
pub fn open(given: &Path, options: &OpenOptions) -> Result<Box<dyn Source>> {
    if given == Path::new("-") {
        return Ok(Box::new(Y4m::open_standard_input()?));
    }
    let given = local(given);
    if given.is_dir() {
        return Ok(Box::new(Sequence::open(given, &options.sequence)?));
    }
    if given.is_file() {
        let picture = |reason: &str| Error::Sequence { path: given.into(), reason: reason.into() };
        if begins_as_y4m(given) {
            // Forms that pipes cannot have are ffmpeg's.
            return match Y4m::open_file(given) {
                Ok(frames) => Ok(Box::new(frames)),
                Err(error) => {
                    Video::open(given, options.video.clone()).map(|video| Box::new(video) as _).map_err(|_| error)
                }
            };
        }
        if let Some(animation) = Animation::open(given)? {
            return Ok(Box::new(animation));
        }
        if folder::is_image(given) && !header::is_animation(given) {
            return Err(match header::has_pages(given) {
                true => picture(
                    "it holds several pages, which are read only one by one: make images of them, by `mkdir frames && \
                     magick FILE frames/%06d.png` or `tiffsplit FILE frames/`, and give that folder",
                ),
                false => picture("this is one picture: give the folder that holds the images"),
            });
        }
    }
    #[cfg(unix)]
    if std::fs::metadata(given).is_ok_and(|file| std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type())) {
        return Ok(Box::new(Y4m::open_file(given)?));
    }
    Ok(Box::new(Video::open(given, options.video.clone())?))
}

fn begins_as_y4m(path: &Path) -> bool {
    let mut magic = [0; 10];
    let read = File::open(path).map(BufReader::new).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"YUV4MPEG2 "
}
