//! A first box, asked for on the page.

use std::time::Duration;

use super::{Address, KEPT_BYTES, Reel, Setup, View};
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::frame::FrameBuf;
use crate::media::{Demand, Item, Source, Span, Stream};
use crate::tracker::Params;

/// The port where none is asked for.
pub const PORT: u16 = 8787;

/// How often it is asked whether to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// One frame, read already.
struct Still {
    name: String,
    position: usize,
    file: String,
    frame: FrameBuf,
    color: Option<FrameBuf>,
}

impl Source for Still {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> Option<usize> {
        Some(self.position)
    }

    fn stream(&self, span: Span, _: Demand) -> Result<Stream> {
        let item = Item {
            position: self.position,
            name: self.file.clone(),
            path: None,
            timestamp: None,
            frame: Ok(self.frame.clone()),
            color: self.color.clone(),
            decode_ms: 0.0,
        };
        Ok(Box::new(std::iter::once(item).filter(move |item| span.contains(item.position))))
    }
}

/// Serves a page with the frame `item` of `source` on this machine, at [`PORT`] or another one, until somebody has
/// drawn a box that can be tracked with `params`; `None` when `stop` says so before. `told` hears the page's address.
///
/// # Errors
/// When the frame could not be read, or no port can be listened on.
pub fn pick(
    item: &Item,
    source: &str,
    params: Params,
    told: impl FnOnce(&str),
    stop: impl Fn() -> bool,
) -> Result<Option<BBox>> {
    let frame = item.frame.as_ref().map_err(|error| {
        let reason = format!("frame {} could not be read: {error}", item.position);
        Error::Sequence { path: source.into(), reason }
    })?;
    let setup = || {
        let still = Still {
            name: source.to_owned(),
            position: item.position,
            file: item.name.clone(),
            frame: frame.clone(),
            color: item.color.clone(),
        };
        let span = Span { first: item.position, last: Some(item.position) };
        let demand = Demand { channels: params.channels(), color: true };
        let reel = Reel::new(std::sync::Arc::new(still), span, demand, KEPT_BYTES);
        let (path, preset) = (source.to_owned(), String::new());
        Setup {
            reel,
            path,
            preset,
            params: params.clone(),
            lines: None,
            named: false,
            pick: true,
            stop: CancelToken::default(),
        }
    };
    let address = |port| Address { host: "127.0.0.1".into(), port, token: None };
    let view = match View::open(setup(), &address(PORT)) {
        Err(Error::Listen { .. }) => View::open(setup(), &address(0))?,
        opened => opened?,
    };
    told(&view.url());
    while view.picked().is_none() && !stop() {
        std::thread::sleep(LOOK_EVERY);
    }
    let picked = view.picked();
    view.close()?;
    Ok(picked)
}
