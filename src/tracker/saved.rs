//! Trackers as bytes.
//!
//! What a part is made of (plans, windows, labels, memory) follows from the settings, the first box and the size of the
//! frames. A tracker is therefore read by learning a box of that size in a frame of noise, and then each part takes its
//! numbers from the bytes.

use super::engine::{Beginning, Engine, Tracker};
use super::{Correction, Params};
use crate::archive::{Archive, opened, refused, sealed};
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::{FrameBuf, PixelFormat};

/// Most pixels of a frame of a saved tracker.
const MAX_PIXELS: usize = 1 << 26;

/// The parts from which a saved tracker is built before it takes its numbers.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Blueprint {
    /// The settings, as JSON.
    params: String,
    turn: usize,
    correction: Correction,
    /// The target, if the tracker has one.
    target: Option<Beginning>,
}

impl Tracker {
    /// The tracker with all that it has learned, as bytes for [`Tracker::from_bytes`].
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) for searches by a machine over windows or a network, and for a tracker with
    /// a guard.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let params = serde_json::to_string(&self.params).map_err(|error| refused("tracker", &error.to_string()))?;
        let mut copy = self.clone();
        let mut archive = Archive::writer();
        let target = copy.target.as_ref().map(|engine| engine.first);
        archive.value(&mut Blueprint { params, turn: self.turn, correction: self.correction, target });
        if let Some(engine) = &mut copy.target {
            if engine.first.frame_size.0.saturating_mul(engine.first.frame_size.1) > MAX_PIXELS {
                archive.refuse("its frames have more than 67 million pixels");
            }
            engine.transfer(&mut archive);
        }
        archive.finish().map(|bytes| sealed("tracker", &bytes)).map_err(|why| refused("tracker", why))
    }

    /// The tracker of [`Tracker::to_bytes`], which continues with equal results.
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) for bytes of something else, of another version, or that were cut or changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |why: &str| refused("tracker", why);
        let mut archive = Archive::reader(opened("tracker", bytes)?);
        let mut plan = Blueprint::default();
        archive.value(&mut plan);
        let params: Params = serde_json::from_str(&plan.params).map_err(|error| wrong(&error.to_string()))?;
        let mut tracker = Self::new(params)?;
        (tracker.turn, tracker.correction) = (plan.turn, plan.correction);
        if let Some(target) = plan.target {
            let (width, height) = target.frame_size;
            if width.saturating_mul(height) > MAX_PIXELS {
                return Err(wrong("its frames have more than 67 million pixels"));
            }
            let format = if target.in_color { PixelFormat::Rgb8 } else { PixelFormat::Gray8 };
            let noise = |at: usize| (at as u32).wrapping_mul(2_654_435_761).rotate_right(13) as u8;
            let pixels = (0..width * height * format.bytes()).map(noise).collect();
            let frame = FrameBuf::new(pixels, width, height, format)?;
            let ((x, y), (w, h)) = (target.center, target.size);
            let bbox = BBox::new(x - w / 2.0, y - h / 2.0, w, h);
            let (mut engine, _) = Engine::new(&tracker.params, &frame.as_frame(), bbox, target.turn)?;
            engine.first = target;
            engine.transfer(&mut archive);
            tracker.target = Some(engine);
        }
        archive.finish().map_err(wrong)?;
        Ok(tracker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::Estimate;
    use crate::tracker::scenes::{Picture, target_at};

    const SIZE: (usize, usize) = (180, 150);

    /// A target that moves, is covered and comes back elsewhere, with a tint in colour.
    fn frame(at: usize, in_color: bool) -> FrameBuf {
        let corner = if at < 60 { (40.0 + at as f64, 60.0 + 3.0 * (at as f64 / 5.0).sin()) } else { (30.0, 90.0) };
        let ground = Picture::ground(SIZE.0, SIZE.1);
        let picture = if (40..60).contains(&at) { ground } else { ground.with_target(corner) };
        let gray = picture.frame();
        let pixels = (0..SIZE.1).flat_map(|y| gray.row(y)).copied();
        let (pixels, format) = match in_color {
            true => (pixels.flat_map(|v| [v, 255 - v, v / 2]).collect(), PixelFormat::Rgb8),
            false => (pixels.collect(), PixelFormat::Gray8),
        };
        FrameBuf::new(pixels, SIZE.0, SIZE.1, format).unwrap()
    }

    fn follow(tracker: &mut Tracker, frames: std::ops::Range<usize>, in_color: bool) -> Vec<Estimate> {
        frames.map(|at| tracker.update(&frame(at, in_color)).unwrap()).collect()
    }

    fn begun(params: Params, frames: usize, in_color: bool) -> Tracker {
        let mut tracker = Tracker::new(params).unwrap();
        tracker.take_turn(3);
        tracker.init(&frame(0, in_color), target_at((40.0, 60.0))).unwrap();
        follow(&mut tracker, 1..frames, in_color);
        tracker
    }

    fn all() -> impl Iterator<Item = Params> {
        let presets = Params::PRESETS.map(|(name, _)| Params::preset(name).unwrap());
        let mut scaled = Params::paper();
        scaled.set("search.filter.scale", "filter").unwrap();
        presets.into_iter().chain([scaled])
    }

    #[test]
    fn a_tracker_that_was_saved_continues_with_the_same_bits() {
        for params in all() {
            for (saved_at, in_color) in [(37, false), (52, true)] {
                let mut tracker = begun(params.clone(), saved_at, in_color);
                tracker.adjust(target_at((saved_at as f64 + 40.0, 61.0)), 2.0).unwrap();
                let bytes = tracker.to_bytes().unwrap();
                let mut again = Tracker::from_bytes(&bytes).unwrap();
                assert_eq!(again.to_bytes().unwrap(), bytes);
                assert_eq!((again.bbox(), again.params()), (tracker.bbox(), tracker.params()));
                let map = |tracker: &Tracker| tracker.response().unwrap().values.to_owned();
                assert_eq!(map(&again), map(&tracker));
                let frames = saved_at..saved_at + 20;
                let (ours, theirs) =
                    (follow(&mut again, frames.clone(), in_color), follow(&mut tracker, frames, in_color));
                assert_eq!(ours, theirs, "{params:?}");
            }
        }
        let fresh = Tracker::from_bytes(&Tracker::new(Params::default()).unwrap().to_bytes().unwrap()).unwrap();
        assert!(fresh.bbox().is_none());
    }

    #[test]
    fn bytes_that_were_cut_or_changed_or_are_others_are_refused() {
        let bytes = begun(Params::preset("crowd").unwrap(), 8, true).to_bytes().unwrap();
        let refused = |bytes: &[u8]| Tracker::from_bytes(bytes).unwrap_err().to_string();
        for length in (0..bytes.len()).step_by(9973).chain([16, 17, 22, 24, bytes.len() - 1]) {
            assert!(refused(&bytes[..length]).starts_with("saved tracker: "), "{length}");
        }
        for at in (0..bytes.len()).step_by(7919).chain([3, 17, 20, 30]) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            refused(&changed);
        }
        let mut version = bytes.clone();
        version["kcf-track tracker\n".len()] = 200;
        assert!(refused(&version).contains("version 200, this program reads 2"), "{}", refused(&version));
        assert!(refused(&[bytes.as_slice(), &[0]].concat()).contains("changed"));
        assert!(refused(&sealed("session", b"")).contains("something else"));
        // Right checksums of wrong content.
        let content = opened("tracker", &bytes).unwrap();
        for length in (0..content.len()).step_by(20_011).chain([1, 5, 100]) {
            refused(&sealed("tracker", &content[..length]));
        }
        assert!(refused(&sealed("tracker", &[content, &[0]].concat())).contains("after its end"));
    }

    #[test]
    fn searches_that_cannot_be_saved_say_so() {
        let mut machine = Params::paper();
        machine.set("detector", "krr").unwrap();
        let mut guarded = Params::paper();
        guarded.set("guard", "krr").unwrap();
        for (params, why) in [(machine, "machine over windows"), (guarded, "guard")] {
            let said = begun(params, 2, false).to_bytes().unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
