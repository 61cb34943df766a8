//! Kernel machines as detectors and guards.

use kcf_track::machines::MachineKind;
use ndarray::Array2;

use crate::helper::{bbox, place, run, states};
use crate::npy::read_npy;

/// The target of the demo turns and grows: a gate that is too high stops a machine from learning it.
#[test]
fn every_detector_and_guard_follows_the_demo() {
    let (demo, place) = (concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demo"), place(2));
    let detectors = MachineKind::ALL.iter().map(|&kind| ("--detector", "/search/machine/windows/machine", kind));
    let guards = MachineKind::all_guards().map(|kind| ("--guard", "/guard/windows/machine", kind));
    for (flag, field, kind) in detectors.chain(guards) {
        let json = place.path("demo.json");
        run([demo, "--end", "50", "--preset", "paper", flag, kind.name(), "--json", json.to_str().unwrap()])
            .assert()
            .success();
        let document = place.json("demo.json");
        let machine = document["parameters"].pointer(field).unwrap();
        assert!(machine[kind.name()].is_object(), "{machine}");
        assert!(!states(&document).contains(&"lost"), "{flag} {kind}");
        assert!(document["frames"][1]["decision"].is_f64(), "{flag} {kind}");
        assert!(document["summary"]["truth"]["mean_overlap"].as_f64().unwrap() > 0.5, "{flag} {kind}");
    }
}

/// Element (r, c) is the score at the centre `origin + (c, r) * step`; the middle element is the previous box.
#[test]
fn response_maps_of_machines_point_at_the_box() {
    let place = place(5);
    for detector in ["svm", "kpca"] {
        let maps = format!("maps-{detector}");
        place.run(&format!("--detector {detector} --json @a.json --response @{maps}")).assert().success();
        let document = place.json("a.json");
        let centers: Vec<_> = document["frames"].as_array().unwrap().iter().map(bbox).collect();
        let centers: Vec<_> = centers.iter().map(|[x, y, w, h]| (x + w / 2.0, y + h / 2.0)).collect();
        let text = place.read(&format!("{maps}/geometry.csv"));
        let mut table = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<std::collections::HashMap<String, String>> = table.deserialize().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 5);
        for (i, row) in rows.iter().enumerate() {
            let [x0, y0, dx, dy] =
                ["origin_x", "origin_y", "step_x", "step_y"].map(|name| row[name].parse::<f64>().unwrap());
            let map: Array2<f32> = read_npy(place.path(&format!("{maps}/{:04}.npy", i + 1)));
            let distance = |(r, c): (usize, usize), to: (f64, f64)| {
                (x0 + c as f64 * dx - to.0).abs().max((y0 + r as f64 * dy - to.1).abs())
            };
            // Windows lie on whole pixels.
            let (rows, cols) = map.dim();
            assert!(distance((rows / 2, cols / 2), centers[i.saturating_sub(1)]) <= 1.0, "{detector}, frame {i}");
            // Half a cell between two elements, and the shift by the prior.
            let best = map.indexed_iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
            assert!(distance(best, centers[i]) <= 4.5, "{detector}, frame {i}");
        }
    }
}

#[test]
fn a_refit_that_does_not_converge_keeps_the_old_model() {
    let place = place(30);
    place.run("--guard svm --set guard.windows.machine.svm.max-steps=40 --json @a.json").assert().success();
    let document = place.json("a.json");
    let frames = document["frames"].as_array().unwrap();
    assert!(frames.len() == 30 && frames.iter().any(|frame| frame["refit_kept"] == true));
    assert!(document["summary"]["truth"]["mean_overlap"].as_f64().unwrap() > 0.7);
}
