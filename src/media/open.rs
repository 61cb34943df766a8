//! Opens whatever a user names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use image::ImageFormat;

use super::images::{WebP, encoded, is_animated, is_image};
use super::video::Video;
use super::{RawFormat, Sequence, Source, Y4m};
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result};

/// Number of bytes that identify the format of a file.
const FIRST_BYTES: u64 = 64;

/// Interval at which a wait checks for cancellation.
const POLL: Duration = Duration::from_millis(50);

/// Source of the truth of a folder of images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Truth {
    /// The file beside the images, if there is one.
    #[default]
    Beside,
    /// This file; its name implies the base ([`Base::of_truth_file`](super::annotation::Base::of_truth_file)).
    File(PathBuf),
    /// No truth, even if a file lies beside the images.
    Ignore,
}

/// Options for opening a source.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Target of the truth: the `N` of `groundtruth_rect.N.txt`, or a target in a MOT file. The default is the first
    /// with a box.
    pub target: Option<u32>,
    /// Source of the truth.
    pub truth: Truth,
    /// Continues over damaged parts of a video with what ffmpeg makes of them; otherwise the first damage is an error.
    pub lenient: bool,
    /// Longest wait for the next frame of a video.
    pub timeout: Duration,
    /// Number of the video in a file that has several, from 1. By default the video that is marked as default, else the
    /// first.
    pub stream: Option<usize>,
    /// Black and white of samples with more than 8 bits. The default is the range of the first frame.
    pub levels: Option<(u16, u16)>,
    /// The format of frames without a header on the standard input or in a named pipe.
    pub raw: Option<RawFormat>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            target: None,
            truth: Truth::Beside,
            lenient: false,
            timeout: Duration::from_secs(30),
            stream: None,
            levels: None,
            raw: None,
        }
    }
}

/// Opens a folder of images, a video, an animated picture, a camera (`/dev/video0`), an address (`rtsp://…`), a named
/// pipe of Y4M, or `-`, the standard input as Y4M.
///
/// # Errors
/// [`Error::Sequence`] for a single picture, for options that do not fit, for a video that ffmpeg cannot read or without
/// ffmpeg; [`Error::Cancelled`]; as [`Sequence::open`] and [`Y4m::open`].
pub fn open(given: &Path, options: &OpenOptions, cancel: &CancelToken) -> Result<Box<dyn Source>> {
    if options.stream.is_some() && (given == Path::new("-") || given.is_dir() || is_pipe(given)) {
        return Err(Error::sequence(given, "--stream is for files with several videos"));
    }
    let source = opened(given, options, cancel)?;
    match options.levels.is_some() && source.info().levels.is_none() {
        true => Err(Error::sequence(given, "--levels is for gray or colour samples of 16 bits, and it has none")),
        false => Ok(source),
    }
}

fn opened(given: &Path, options: &OpenOptions, cancel: &CancelToken) -> Result<Box<dyn Source>> {
    if given == Path::new("-") {
        let (name, input) = ("standard input", std::io::stdin());
        return match options.raw {
            Some(format) => Ok(Box::new(Y4m::raw(name, input, format))),
            None => open_pipe(cancel, move || Y4m::open(name, input)),
        };
    }
    // The number of a camera, as OpenCV counts them.
    let camera = given.to_str().filter(|text| !given.exists() && text.parse::<u16>().is_ok());
    let camera = camera.map(|number| PathBuf::from(format!("/dev/video{number}")));
    let given = camera.as_deref().unwrap_or_else(|| local(given));
    if options.raw.is_some() && !is_pipe(given) {
        return Err(Error::sequence(given, "--raw is for frames on the standard input (-) or in a named pipe"));
    }
    if given.is_dir() {
        return Ok(Box::new(Sequence::open(given, options)?));
    }
    if given.is_file() {
        let mut first = Vec::new();
        let read = File::open(given).and_then(|file| file.take(FIRST_BYTES).read_to_end(&mut first));
        read.map_err(|source| Error::io(given, source))?;
        // ffmpeg reads the variants of Y4M that `Y4m` does not support.
        if first.starts_with(b"YUV4MPEG2 ")
            && let Ok(frames) = Y4m::open_file(given)
        {
            return Ok(Box::new(frames));
        }
        match image::guess_format(&first) {
            // Animations are videos.
            Ok(ImageFormat::Gif) => {}
            Ok(ImageFormat::Png) if is_animated(&encoded(given)?, ImageFormat::Png) => {}
            // ffmpeg does not read animated WebP.
            Ok(ImageFormat::WebP) if is_animated(&encoded(given)?, ImageFormat::WebP) => {
                return Ok(Box::new(WebP::open(given)?));
            }
            _ if is_image(given) => {
                return Err(Error::sequence(given, "this is one picture: give the folder that holds the images"));
            }
            _ => {}
        }
    }
    if is_pipe(given) {
        let (pipe, raw) = (given.to_path_buf(), options.raw);
        return open_pipe(cancel, move || match raw {
            Some(format) => {
                let file = File::open(&pipe).map_err(|source| Error::io(&pipe, source))?;
                Ok(Y4m::raw(pipe.to_string_lossy(), file, format))
            }
            None => Y4m::open_file(&pipe),
        });
    }
    Ok(Box::new(Video::open(given, options, cancel)?))
}

/// The path of a file that is given as `file:NAME` or `file:///PATH`.
pub(crate) fn local(given: &Path) -> &Path {
    let rest = given.to_str().and_then(|text| text.strip_prefix("file:")).filter(|rest| !rest.is_empty());
    match rest {
        Some(rest) if !given.exists() => {
            Path::new(rest.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(rest))
        }
        _ => given,
    }
}

/// True if the path is a named pipe.
#[cfg(unix)]
pub(crate) fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type()))
}

/// Files are no pipes elsewhere.
#[cfg(not(unix))]
pub(crate) fn is_pipe(_: &Path) -> bool {
    false
}

/// Waits for the header of a pipe, which may never come.
fn open_pipe(cancel: &CancelToken, open: impl FnOnce() -> Result<Y4m> + Send + 'static) -> Result<Box<dyn Source>> {
    let (sender, opened) = channel();
    spawn("open", move || drop(sender.send(open())))?;
    loop {
        match opened.recv_timeout(POLL) {
            Ok(opened) => return Ok(Box::new(opened?)),
            Err(error) if error == RecvTimeoutError::Disconnected || cancel.is_cancelled() => {
                return Err(Error::Cancelled);
            }
            Err(_) => {}
        }
    }
}
