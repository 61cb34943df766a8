//! Opens whatever a person names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use image::ImageFormat;
use image_webp::WebPDecoder;

use super::decode::{Encoded, check_size, demanded, encoded, guarded, holds_several};
use super::folder::{file_name, is_image};
use super::video::{Video, VideoOptions, local};
use super::{Demand, Item, Sequence, SequenceOptions, Source, Span, Stream, Y4m, is_same_file};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::frame::{FrameBuf, PixelFormat};

/// Bytes that tell the format of a file.
const FIRST_BYTES: u64 = 64;

/// How often a wait checks for cancellation.
const POLL: Duration = Duration::from_millis(50);

/// How anything is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// For a folder of images.
    pub sequence: SequenceOptions,
    /// For a video, a camera or an address.
    pub video: VideoOptions,
}

/// Opens a folder of images, a video, an animated picture, a camera (`/dev/video0`), an address (`rtsp://…`), a named
/// pipe of Y4M, or `-`, the standard input as Y4M.
///
/// # Errors
/// As [`Sequence::open`], [`Video::open`] and [`Y4m::open`]; [`Error::Sequence`] for a single picture.
pub fn open(given: &Path, options: &OpenOptions) -> Result<Box<dyn Source>> {
    if given == Path::new("-") {
        return cancellable(&options.video.cancel, || Y4m::open("standard input", std::io::stdin()));
    }
    let given = local(given);
    if given.is_dir() {
        return Ok(Box::new(Sequence::open(given, &options.sequence)?));
    }
    if given.is_file() {
        let mut first = Vec::new();
        let read = File::open(given).and_then(|file| file.take(FIRST_BYTES).read_to_end(&mut first));
        read.map_err(|source| Error::io(given, source))?;
        // ffmpeg reads the forms of Y4M that are not read here.
        if first.starts_with(b"YUV4MPEG2 ")
            && let Ok(frames) = Y4m::open_file(given)
        {
            return Ok(Box::new(frames));
        }
        let format = image::guess_format(&first).ok();
        let several = match format {
            Some(format @ (ImageFormat::WebP | ImageFormat::Png)) => holds_several(encoded(given)?, format),
            format => format == Some(ImageFormat::Gif),
        };
        if several && format == Some(ImageFormat::WebP) {
            return Ok(Box::new(Animation::open(given)?));
        }
        if is_image(given) && !several {
            let reason = "this is one picture: give the folder that holds the images".into();
            return Err(Error::Sequence { path: given.into(), reason });
        }
    }
    #[cfg(unix)]
    if std::fs::metadata(given).is_ok_and(|file| std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type())) {
        let pipe = given.to_path_buf();
        return cancellable(&options.video.cancel, move || Y4m::open_file(&pipe));
    }
    Ok(Box::new(Video::open(given, options.video.clone())?))
}

/// Waits for the header of a pipe, whose writer may never write it.
fn cancellable(cancel: &CancelToken, open: impl FnOnce() -> Result<Y4m> + Send + 'static) -> Result<Box<dyn Source>> {
    let (sender, opened) = channel();
    let thread = std::thread::Builder::new().name("open".into()).spawn(move || drop(sender.send(open())));
    thread.map_err(|source| Error::io("a thread to open a pipe", source))?;
    loop {
        match opened.recv_timeout(POLL) {
            Ok(opened) => return Ok(Box::new(opened?)),
            Err(error) if error == RecvTimeoutError::Disconnected || cancel.is_cancelled() => {
                return Err(Error::Sequence { path: "the pipe".into(), reason: "interrupted".into() });
            }
            Err(_) => {}
        }
    }
}

/// An animated WebP picture, which ffmpeg does not read.
#[derive(Debug)]
struct Animation {
    name: String,
    path: PathBuf,
    size: (usize, usize),
    count: usize,
}

impl Animation {
    fn open(path: &Path) -> Result<Self> {
        let decoder = Self::decoder(path)?;
        let (width, height) = decoder.dimensions();
        let size = (width as usize, height as usize);
        check_size(size.0, size.1).map_err(|reason| Error::Decode { path: path.into(), reason })?;
        Ok(Self { name: file_name(path), path: path.into(), size, count: decoder.num_frames() as usize })
    }

    fn decoder(path: &Path) -> Result<WebPDecoder<Encoded>> {
        let file = encoded(path)?;
        guarded(|| WebPDecoder::new(file).map_err(|error| error.to_string()))
            .map_err(|reason| Error::Decode { path: path.into(), reason })
    }
}

impl Source for Animation {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> Option<usize> {
        Some(self.count)
    }

    fn size(&self) -> Option<(usize, usize)> {
        Some(self.size)
    }

    fn frames_before(&self, seconds: f64) -> Result<usize> {
        let frames = self.stream(Span { first: 1, last: None }, crate::frame::Channels::Color.into())?;
        Ok(frames.take_while(|item| item.timestamp.is_some_and(|time| time < seconds)).count())
    }

    fn occupies(&self, path: &Path) -> Option<&'static str> {
        is_same_file(path, &self.path).then_some("is the animation that is read")
    }

    fn stream(&self, span: Span, demand: Demand) -> Result<Stream> {
        let mut decoder = Some(Self::decoder(&self.path)?);
        let (path, (width, height), count) = (self.path.clone(), self.size, self.count);
        let (mut position, mut milliseconds) = (0, 0_u64);
        let next = move || {
            let begun = Instant::now();
            if position >= span.last.unwrap_or(count).min(count) {
                return None;
            }
            let reader = decoder.as_mut()?;
            let time = milliseconds as f64 / 1e3;
            position += 1;
            let frame = guarded(|| {
                let bytes = if reader.has_alpha() { 4 } else { 3 };
                let mut pixels = vec![0; bytes * width * height];
                milliseconds += u64::from(reader.read_frame(&mut pixels).map_err(|error| error.to_string())?);
                let rgb = if bytes == 3 {
                    pixels
                } else {
                    pixels.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect()
                };
                FrameBuf::new(rgb, width, height, PixelFormat::Rgb8).map_err(|error| error.to_string())
            });
            if frame.is_err() {
                decoder = None;
            }
            let decoded = frame
                .map(|picture| demanded(picture, demand))
                .map_err(|reason| Error::Decode { path: path.clone(), reason });
            Some(Item::numbered(position, Some(time), decoded, begun.elapsed().as_secs_f64() * 1e3))
        };
        Ok(Box::new(std::iter::from_fn(next).filter(move |item| item.position >= span.first || item.frame.is_err())))
    }
}
