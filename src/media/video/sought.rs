//! Frames from the middle of a video.

use super::frames::Frames;
use crate::error::Result;
use crate::media::Item;

/// The frames of a video from `next` on, of which ffmpeg was told to begin near it. Where one of them is not the one
/// that was there (of a file without an index, or where a picture needs others before its key frame), the video is
/// decoded from its first frame.
pub(super) struct Sought<F> {
    frames: Frames,
    next: usize,
    /// Decodes from the first frame, to hand out those from a position on.
    whole: Option<F>,
}

impl<F: FnOnce(usize) -> Result<Frames>> Sought<F> {
    pub fn new(frames: Frames, next: usize, whole: F) -> Self {
        Self { frames, next, whole: Some(whole) }
    }
}

impl<F: FnOnce(usize) -> Result<Frames>> Iterator for Sought<F> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let mut item = self.frames.next();
        if self.frames.have_strayed()
            && let Some(whole) = self.whole.take()
        {
            match whole(self.next) {
                Ok(frames) => self.frames = frames,
                Err(error) => return Some(Item::numbered(self.next, None, Err(error), 0.0)),
            }
            item = self.frames.next();
        }
        self.next = item.as_ref().map_or(self.next, |item| item.position + 1);
        item
    }
}
