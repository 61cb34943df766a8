//! A target that vanishes is lost, and recovered where it comes back.

use kcf_track::synth::{Scene, SceneParams};
use kcf_track::{Frame, Params, State, Tracker};

/// Visible share below which the target is gone, and above which it is there.
const GONE: f64 = 0.05;
const THERE: f64 = 0.9;
/// Frames within which a target that is gone must be lost, and one that is back recovered.
const TO_LOSE: usize = 10;
const TO_FIND: usize = 15;

/// Counts over some scenes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    gone: usize,
    lost: usize,
    back: usize,
    found: usize,
    /// Frames with the box on the visible target, and those of them that are called lost.
    followed: usize,
    falsely: usize,
}

impl Count {
    /// Follows the target of a scene to its end.
    fn add(&mut self, params: SceneParams) {
        let scene = Scene::new(params).unwrap();
        let mut tracker = Tracker::new(Params::preset("robust").unwrap()).unwrap();
        let (first, truth) = scene.render(0);
        tracker.init(Frame::try_from(&first).unwrap(), truth.bbox).unwrap();
        // Visible share, state, whether the box is on the target.
        let frames: Vec<(f64, State, bool)> = (1..scene.frames())
            .map(|index| {
                let (picture, truth) = scene.render(index);
                let estimate = tracker.update(Frame::try_from(&picture).unwrap()).unwrap();
                (truth.visible, estimate.state, estimate.bbox.overlap(&truth.bbox) > 0.5)
            })
            .collect();
        let on_it = |&(_, state, right): &(f64, State, bool)| right && state != State::Lost;
        let mut at = 0;
        while let Some(gone) = (at..frames.len()).find(|&i| frames[i].0 < GONE) {
            let back = (gone..frames.len()).find(|&i| frames[i].0 > THERE).unwrap_or(frames.len());
            // Count targets that were tracked before and are gone for long enough.
            let hidden = (gone..back).filter(|&i| frames[i].0 < GONE).count();
            let before = (at..gone).rev().find(|&i| frames[i].0 > THERE);
            if before.is_some_and(|i| on_it(&frames[i])) && hidden >= TO_LOSE {
                self.gone += 1;
                self.lost += usize::from(frames[gone..(gone + TO_LOSE).min(back)].iter().any(|f| f.1 == State::Lost));
                if back + TO_FIND <= frames.len() {
                    self.back += 1;
                    self.found += usize::from(frames[back..back + TO_FIND].iter().any(on_it));
                }
            }
            at = back;
        }
        let followed = frames.iter().filter(|(seen, _, right)| *seen > THERE && *right);
        self.followed += followed.clone().count();
        self.falsely += followed.filter(|(_, state, _)| *state == State::Lost).count();
    }
}

fn scene(seed: u32, hidden: bool) -> SceneParams {
    let easy = SceneParams { seed, frames: 170, width: 240, height: 180, motion: 2.0, ..SceneParams::default() };
    match hidden {
        true => SceneParams { occlusion: 1.0, hold: 20.0, ..easy },
        false => SceneParams { out_of_view: true, ..easy },
    }
}

#[test]
fn a_target_that_leaves_or_hides_is_lost_and_recovered() {
    for hidden in [false, true] {
        let mut count = Count::default();
        (1..3).for_each(|seed| count.add(scene(seed, hidden)));
        assert!(count.gone >= 2 && count.back >= 2, "{hidden}: {count:?}");
        assert_eq!((count.lost, count.found, count.falsely), (count.gone, count.back, 0), "{hidden}: {count:?}");
    }
}
