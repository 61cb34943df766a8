//! The first box of a tracking run, drawn on a page in the browser.

use std::io::Write;

use crate::BBox;
use crate::job::{self, Frames};
use crate::media::{Demand, Item, Prefetch, Source, Span};
use crate::view;

use super::Failure;
use super::interrupt::Interrupt;
use super::settings::Resolved;

/// A box that was drawn.
pub struct Picked {
    /// The box.
    pub bbox: BBox,
    /// The frame that it is of and those after it, of a source that hands out each frame once.
    pub begun: Option<(Item, Prefetch)>,
}

/// Shows the first frame of `span` until somebody has drawn a box on it.
pub fn pick(source: &dyn Source, span: Span, resolved: &Resolved, interrupt: &Interrupt) -> Result<Picked, Failure> {
    let interrupted = || Failure::Interrupted { code: interrupt.code(), kept: false };
    let demand = Demand { channels: resolved.params.channels(), color: true };
    let frames = Prefetch::open(source, span, demand)?;
    let mut frames = Frames { first: None, frames, source, asked: || interrupt.asked() };
    let first = match frames.next() {
        Some(item) => item,
        None if interrupt.asked() => return Err(interrupted()),
        None => return Err(job::no_frame(source, span, true).into()),
    };
    let told = |url: &str| {
        let _ = writeln!(std::io::stderr(), "pick: {url}");
    };
    let picked = view::pick(&first, source.name(), resolved.params.clone(), told, || interrupt.asked())?;
    let bbox = picked.ok_or_else(interrupted)?;
    Ok(Picked { bbox, begun: source.is_live().then_some((first, frames.frames)) })
}
