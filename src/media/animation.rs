//! An animated WebP, which ffmpeg does not read.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use image::codecs::webp::WebPDecoder;
use image::{AnimationDecoder, DynamicImage, ImageDecoder};

use super::images::{Encoded, check_size, demanded, encoded, file_name, frame_of, guarded};
use super::{Demand, Info, Item, Source, Span, Stream};
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result};

/// The pictures of an animation, whole and without transparency.
#[derive(Debug)]
pub(super) struct WebP {
    info: Info,
    bytes: Arc<[u8]>,
}

impl WebP {
    pub fn open(path: &Path) -> Result<Self> {
        let bytes: Arc<[u8]> = encoded(path)?.into();
        let size = guarded(|| {
            let (width, height) =
                WebPDecoder::new(Encoded::new(&bytes)).map_err(|error| error.to_string())?.dimensions();
            check_size(width as usize, height as usize).map(|()| (width as usize, height as usize))
        });
        let size = size.map_err(|reason| Error::Sequence { path: path.into(), reason })?;
        let inputs = vec![path.to_path_buf()];
        let name = path.file_stem().map_or_else(|| file_name(path), |stem| stem.to_string_lossy().into_owned());
        Ok(Self { info: Info { name, size: Some(size), inputs, ..Info::default() }, bytes })
    }
}

impl Source for WebP {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, span: Span, demand: Demand, _: &CancelToken) -> Result<Stream> {
        let bytes = Arc::clone(&self.bytes);
        let path = self.info.inputs.first().cloned().unwrap_or_default();
        let (sender, pictures) = sync_channel(1);
        // The decoder cannot be sent to another thread.
        spawn("webp", move || {
            let mut next = 1;
            let sent = guarded(|| {
                let decoder = WebPDecoder::new(Encoded::new(&bytes)).map_err(|error| error.to_string())?;
                let (mut time, mut begun) = (0.0, Instant::now());
                for (position, picture) in (1..).zip(decoder.into_frames()) {
                    next = position;
                    if span.last.is_some_and(|last| position > last) {
                        break;
                    }
                    let picture = picture.map_err(|error| error.to_string())?;
                    let (above, below) = picture.delay().numer_denom_ms();
                    if span.contains(position) {
                        let frame = frame_of(DynamicImage::from(picture.into_buffer()), None);
                        let decoded = frame.map(|frame| demanded(frame, demand));
                        let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
                        if sender
                            .send(Item::numbered(
                                position,
                                Some(time).filter(|time| position == 1 || *time > 0.0),
                                decoded,
                                decode_ms,
                            ))
                            .is_err()
                        {
                            break;
                        }
                    }
                    time += f64::from(above) / f64::from(below.max(1)) / 1e3;
                    begun = Instant::now();
                }
                Ok(())
            });
            if let Err(reason) = sent {
                let _ = sender.send(Item::numbered(next, None, Err(Error::Ended { path, reason }), 0.0));
            }
        })?;
        Ok(Box::new(pictures.into_iter()))
    }
}
