//! A target that vanishes is called lost, and is found where it comes back.

use kcf_track::synth::{Scene, SceneParams};
use kcf_track::{Frame, Params, State, Tracker};

/// A target that is seen by less than this has gone, and by more than that it is there.
const GONE: f64 = 0.05;
const THERE: f64 = 0.9;
/// Frames within which a target that has gone must be lost, and one that is back found.
const TO_LOSE: usize = 10;
const TO_FIND: usize = 15;

/// What became of the targets of some scenes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    gone: usize,
    lost: usize,
    back: usize,
    found: usize,
    /// Frames that show the target, its box on it, and those of them that are called lost.
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
        // Of each frame: how much is seen, the state, whether the box is on the target.
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
            // Only a target that was followed can be lost; a glimpse of nothing is not enough to tell.
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

fn scene(seed: u64, hidden: bool) -> SceneParams {
    let easy = SceneParams { seed, frames: 250, width: 320, height: 240, motion: 2.0, ..SceneParams::default() };
    match hidden {
        true => SceneParams { occlusion: 1.0, hold: 20.0, ..easy },
        false => SceneParams { out_of_view: true, ..easy },
    }
}

#[test]
fn a_target_that_leaves_or_hides_is_lost_and_found_when_it_returns() {
    for hidden in [false, true] {
        let mut count = Count::default();
        // Shorter and smaller than those that take minutes.
        let short = |seed| SceneParams { frames: 170, width: 240, height: 180, ..scene(seed, hidden) };
        (1..3).for_each(|seed| count.add(short(seed)));
        assert!(count.gone >= 2 && count.back >= 2, "{hidden}: {count:?}");
        assert_eq!((count.lost, count.found, count.falsely), (count.gone, count.back, 0), "{hidden}: {count:?}");
    }
}

#[test]
#[ignore = "takes minutes: cargo test --release --test tracker recovery -- --ignored --nocapture"]
fn twenty_scenes_of_each_kind() {
    for hidden in [false, true] {
        let mut count = Count::default();
        (0..20).for_each(|seed| count.add(scene(seed, hidden)));
        println!("{}: {count:?}", if hidden { "hidden" } else { "out of view" });
        assert!(count.gone >= 20 && count.back >= 20, "{count:?}");
        // Not all that leave the picture are called lost so soon: 33 of 40; the model learns the border at first.
        let share = if hidden { 95 } else { 75 };
        assert!(100 * count.lost >= share * count.gone && 100 * count.found >= 95 * count.back, "{count:?}");
        assert!(100 * count.falsely < count.followed, "{count:?}");
    }
}
