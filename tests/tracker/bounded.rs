//! Search areas of bounded size and sub-cell peaks, the parts of `fast`.

use kcf_track::synth::{Preset, SceneParams};
use kcf_track::tracker::{AreaParams, BoundedArea};
use kcf_track::{BBox, Params, Tracker};

use crate::scene::{self, Clip, half_from, with_filter};

fn bounded(params: &Params, max_cells: f64) -> Params {
    with_filter(params, |filter| filter.area = AreaParams::Bounded(BoundedArea { max_cells }))
}

fn sub_cell(params: &Params) -> Params {
    with_filter(params, |filter| filter.sub_cell = true)
}

fn cells(params: &Params, clip: &Clip, bbox: BBox) -> usize {
    let mut tracker = Tracker::new(params.clone()).unwrap();
    tracker.init(clip.gray(0), bbox).unwrap();
    tracker.response().unwrap().values.len()
}

fn clip(size: (u32, u32), frames: usize) -> Clip {
    Clip::render(SceneParams { frames, target_width: size.0, target_height: size.1, ..Preset::Easy.params() })
}

#[test]
fn a_search_area_has_at_most_max_cells() {
    let clip = clip((60, 50), 1);
    for max_cells in [100.0, 400.0, 1000.0] {
        for (w, h) in [(60.0, 50.0), (120.0, 90.0), (200.0, 40.0), (31.0, 130.0), (400.0, 300.0)] {
            let params = bounded(&Params::paper(), max_cells);
            let bounded = cells(&params, &clip, BBox::new(40.0, 30.0, w, h));
            let free = cells(&half_from(&Params::paper(), f64::INFINITY), &clip, BBox::new(40.0, 30.0, w, h));
            let expected = max_cells.min(free as f64);
            // The area has whole rows and columns of cells.
            assert!(
                bounded as f64 <= expected && bounded as f64 >= 0.75 * expected,
                "{w}x{h}: {bounded} of {max_cells}"
            );
            let smooth =
                cells(&with_filter(&params, |filter| filter.smooth_area = true), &clip, BBox::new(40.0, 30.0, w, h));
            assert!(smooth >= bounded && smooth as f64 <= 1.5 * max_cells, "{w}x{h}: {smooth}, {bounded}");
        }
    }
}

/// Mean centre error in pixels.
fn error(params: &Params, clip: &Clip) -> f64 {
    let boxes = scene::track(params, (0..clip.gray.len()).map(|i| clip.gray(i)), clip.initial());
    let errors = boxes.iter().zip(&clip.truth).map(|(found, truth)| found.center_error(truth));
    errors.sum::<f64>() / boxes.len() as f64
}

/// At a coarse scale a cell is many pixels wide.
#[test]
fn sub_cell_peaks_are_more_accurate() {
    let clip = clip((120, 100), 40);
    let coarse = bounded(&Params::paper(), 200.0);
    let (whole, between) = (error(&coarse, &clip), error(&sub_cell(&coarse), &clip));
    assert!(between < 0.8 * whole, "{between} px, with whole cells {whole}");
}
