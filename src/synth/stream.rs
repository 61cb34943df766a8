//! A scene as a source of frames.

use std::time::Instant;

use super::Scene;
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::{Channels, FrameBuf, PixelFormat};
use crate::media::{Demand, Item, Source, Span, Stream};

impl Source for Scene {
    fn name(&self) -> &str {
        "scene"
    }

    fn length(&self) -> Option<usize> {
        Some(self.frames())
    }

    fn size(&self) -> Option<(usize, usize)> {
        Some((self.params.width as usize, self.params.height as usize))
    }

    fn true_box(&self, position: usize) -> Option<BBox> {
        let index = position.checked_sub(1).filter(|&index| index < self.frames())?;
        Some(self.truth(index)).filter(|truth| truth.in_view).map(|truth| truth.bbox)
    }

    fn stream(&self, span: Span, demand: Demand) -> Result<Stream> {
        let scene = self.clone();
        let last = span.last.map_or(self.frames(), |last| last.min(self.frames()));
        Ok(Box::new((span.first.max(1)..=last).map(move |position| scene.item(position, demand))))
    }
}

impl Scene {
    fn item(&self, position: usize, demand: Demand) -> Item {
        let begun = Instant::now();
        let (picture, _) = self.render(position - 1);
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        let rgb = FrameBuf::new(picture.into_raw(), width, height, PixelFormat::Rgb8);
        let (frame, color) = match (rgb, demand.channels) {
            (Ok(rgb), Channels::Luma) => (Ok(rgb.to_luma()), demand.color.then_some(rgb)),
            (rgb, _) => (rgb, None),
        };
        let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
        Item { position, name: format!("{position:04}"), path: None, timestamp: None, frame, color, decode_ms }
    }
}
