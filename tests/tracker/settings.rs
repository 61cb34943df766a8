//! No setting is there for show: each one, changed, changes what the tracker says of some small sequence.

use std::collections::HashMap;

use kcf_track::machines::MachineKind;
use kcf_track::setting::Kind;
use kcf_track::tracker::settings::{self, Setting};
use kcf_track::{BBox, Estimate, Frame, Params, Tracker};

const WIDTH: usize = 150;
const HEIGHT: usize = 110;
const FRAMES: usize = 14;
const SIZE: (f64, f64) = (26.0, 21.0);

/// Smooth noise without a period.
fn texture(x: f64, y: f64, phase: f64) -> f64 {
    let wave = |fx: f64, fy: f64, p: f64| (fx * x + fy * y + p + phase).sin();
    128.0 + 40.0 * wave(0.31, 0.17, 0.0) + 30.0 * wave(-0.11, 0.43, 1.7) + 25.0 * wave(0.73, -0.59, 0.4)
}

/// The target's corner: it moves, jumps away, and is gone for a frame.
fn corner(t: usize) -> (f64, f64) {
    let near = (30.0 + 1.7 * t as f64, 40.0 + 0.9 * t as f64);
    match t {
        7..=10 => (near.0 + 60.0, near.1 - 15.0),
        11 => (-100.0, -100.0),
        _ => near,
    }
}

fn pictures() -> Vec<Vec<u8>> {
    let picture = |t: usize| {
        let (left, top) = corner(t);
        let value = |x: f64, y: f64| {
            let inside = (left..left + SIZE.0).contains(&x) && (top..top + SIZE.1).contains(&y);
            let looks = 9.0 + 0.08 * t as f64;
            let v =
                if inside { texture(1.7 * (x - left), 1.7 * (y - top), looks) } else { texture(x / 2.0, y / 2.0, 3.0) };
            v.clamp(0.0, 255.0) as u8
        };
        (0..WIDTH * HEIGHT).map(|i| value((i % WIDTH) as f64, (i / WIDTH) as f64)).collect()
    };
    (0..FRAMES).map(picture).collect()
}

/// The pictures in colours: warm where they are bright.
fn colored(picture: &[u8]) -> Vec<u8> {
    picture.iter().flat_map(|&v| [v, (u16::from(v) / 2 + 50) as u8, 190 - v / 2]).collect()
}

/// What is said of each frame, a line each: its box to a hundredth of a pixel and its state; an error is the last line.
/// `None` for settings that are refused. Another order of rounding is no effect.
fn lines<'a>(params: &'a Params, pictures: &'a [Vec<u8>]) -> Option<impl Iterator<Item = String> + 'a> {
    let mut tracker = Tracker::new(params.clone()).ok()?;
    let (x, y) = corner(0);
    let mut failed = false;
    Some(pictures.iter().enumerate().map_while(move |(t, picture)| {
        if failed {
            return None;
        }
        let in_colors = if params.search.background().is_some() { colored(picture) } else { Vec::new() };
        let frame = match params.search.background() {
            Some(_) => Frame::rgb(&in_colors, WIDTH, HEIGHT).unwrap(),
            None => Frame::gray(picture, WIDTH, HEIGHT).unwrap(),
        };
        let estimate =
            if t == 0 { tracker.init(frame, BBox::new(x, y, SIZE.0, SIZE.1)) } else { tracker.update(frame) };
        failed = estimate.is_err();
        Some(match estimate {
            Ok(Estimate { bbox: BBox { x, y, w, h }, state, .. }) => format!("{x:.2} {y:.2} {w:.2} {h:.2} {state}"),
            Err(error) => error.to_string(),
        })
    }))
}

fn tree(preset: &str, changes: &[(&str, &str)]) -> Params {
    let mut params = Params::preset(preset).unwrap();
    params.apply(changes).unwrap_or_else(|error| panic!("{error}"));
    params
}

/// Trees that have every setting among them. What is believed comes early: its settings have no effect in most others.
fn trees() -> Vec<Params> {
    let mut all = vec![
        tree("fast", &[]),
        // Ratios below 60 are the rule.
        tree("paper", &[("search.filter.states.psr.uncertain", "60")]),
        tree("fast", &[("search.filter.reuse-shift", "0"), ("search.filter.area.bounded.max-cells", "120")]),
        tree("paper", &[("search.filter.area.published.half-size-from", "10")]),
        tree("paper-gray", &[]),
        tree("paper-polynomial", &[("search.filter.sub-cell", "true")]),
    ];
    // A search area that is seen more coarsely.
    all.push(tree("robust", &[("search.background.settle", "3"), ("search.background.padding", "9")]));
    // It is lost easily, and believes what it finds elsewhere.
    let easily = [("lost-below", "0.9"), ("lost-after", "2"), ("tracking-from", "0.9"), ("tracking-until", "0.9")];
    let faint = [("faint-below", "0.97"), ("lost-below", "0"), ("tracking-until", "0"), ("tracking-from", "0")];
    let below = |at: &str| easily.map(|(name, text)| (format!("{at}.{name}"), text)).to_vec();
    for (preset, at) in [("robust", "search.background.belief"), ("fast", "search.filter.states.belief")] {
        let faint = faint.map(|(name, text)| (format!("{at}.{name}"), text));
        all.push(tree(preset, &faint.each_ref().map(|(path, text)| (path.as_str(), *text))));
    }
    let robust = below("search.background.belief");
    all.push(tree("robust", &robust.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>()));
    // It is doubted easily, with room for the threshold on both sides.
    let doubted = [("search.background.belief.tracking-from", "1"), ("search.background.belief.tracking-until", "0.9")];
    all.push(tree("robust", &doubted));
    let mut filter = below("search.filter.states.belief");
    filter.push(("search.filter.states".into(), "belief"));
    all.push(tree("paper", &filter.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>()));
    // What it finds again must be known, more or less well.
    let verified = [("decision", ["-0.5", "0.2", "0.5", "0.8"]), ("matching", ["0.1", "0.3", "0.5", "0.8"])];
    for (preset, at) in [("robust", "search.background.belief"), ("fast", "search.filter.states.belief")] {
        for (verify, least) in verified.into_iter().flat_map(|(verify, all)| all.map(|least| (verify, least))) {
            let mut settings = below(at);
            settings.push((format!("{at}.verify"), verify));
            settings.push((format!("{at}.verify.{verify}.least"), least));
            settings.push((format!("{at}.verify.{verify}.every"), "1"));
            all.push(tree(preset, &settings.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>()));
        }
    }
    // Colour is all there is, and what it is worth changes with the separation.
    all.push(tree(
        "robust",
        &[
            ("search.background.color", "0.9"),
            ("search.background.color-weighting", "separation"),
            ("search.background.color-weighting.separation.from", "0"),
            ("search.background.color-weighting.separation.to", "1"),
        ],
    ));
    all.push(tree("robust", &[("search.background.aspect", "filter")]));
    for preset in ["robust", "fast"] {
        let below = if preset == "robust" { "search.background" } else { "search.filter" };
        for scale in ["filter", "pyramid"] {
            all.push(tree(preset, &[(&format!("{below}.scale"), scale)]));
        }
    }
    for scale in ["filter", "pyramid"] {
        all.push(tree("paper", &[("search", "klda"), ("search.windows.scale", scale)]));
    }
    for kind in MachineKind::ALL {
        all.push(tree("paper", &[("search", kind.name())]));
    }
    all.push(tree("paper", &[("search", "kdspe"), ("search.windows.machine.kdspe.tau", "0.005")]));
    all.push(tree("paper", &[("search", "klda"), ("search.windows.kernel", "polynomial")]));
    for kind in MachineKind::all_guards() {
        all.push(tree("fast", &[("guard", kind.name())]));
        // It doubts and believes so easily that boxes follow the guard.
        let eager = [("guard", kind.name()), ("guard.doubt", "5"), ("guard.belief", "-5"), ("guard.margin", "0")];
        all.push(tree("fast", &eager));
    }
    all.push(tree("fast", &[("guard", "klda"), ("guard.windows.kernel", "polynomial"), ("guard.doubt", "5")]));
    // A search that does not move by whole pixels shows all that the guard sees.
    for kind in MachineKind::all_guards() {
        let eager = [("guard.doubt", "5"), ("guard.belief", "-5"), ("guard.margin", "0")];
        all.push(tree("paper", &[&[("search", "krr"), ("guard", kind.name())], &eager[..]].concat()));
    }
    all
}

/// Other values than `now`, those first that are farthest off.
fn others(setting: &Setting, now: &str) -> Vec<String> {
    let number = now.parse::<f64>().unwrap_or(0.0);
    let texts: Vec<String> = match setting.kind {
        Kind::Choice(names) => names.iter().map(|(name, _)| (*name).to_owned()).collect(),
        Kind::Switch => vec!["true".into(), "false".into()],
        Kind::Number(from, to) | Kind::Above(from, to) => {
            let numbers = [8.0 * number + 1.0, number / 8.0, from, number + 0.3, 1.5 * number, 0.5 * (from + to), to];
            numbers.map(|v| v.to_string()).to_vec()
        }
        Kind::Limit(from) => [number / 8.0, from, 2.0 * number].map(|v| v.to_string()).to_vec(),
        Kind::Odd(from, to) => [to as f64, from as f64, number + 2.0, number - 2.0].map(|v| v.to_string()).to_vec(),
        Kind::Whole(from, to) | Kind::WholeOr(from, to, _) => {
            [2.0 * number + 1.0, (number / 4.0).floor(), from as f64, number + 1.0, number - 1.0, to.min(100) as f64]
                .map(|v| v.to_string())
                .to_vec()
        }
    };
    texts.into_iter().filter(|text| text != now && setting.kind.parse(text).is_some()).collect()
}

#[test]
fn every_setting_has_an_effect_or_is_refused() {
    let pictures = pictures();
    let trees = trees();
    let mut known: HashMap<usize, Vec<String>> = HashMap::new();
    let mut idle = Vec::new();
    for setting in settings::table() {
        let mut places = 0;
        let mut changes = |(index, params): (usize, &Params)| {
            let Ok(now) = params.get(setting.path) else {
                // Where it would have no effect, it is refused, and what it needs is said.
                let other = others(setting, "").into_iter().next().expect("there are values");
                let said = params.clone().set(setting.path, &other).expect_err(setting.path).to_string();
                assert!(said.contains("needs "), "{said}");
                return false;
            };
            places += 1;
            let said = || lines(params, &pictures).into_iter().flatten().collect();
            let before = known.entry(index).or_insert_with(said);
            assert_eq!(before.len(), FRAMES, "tree {index}: {before:?}");
            others(setting, &now).iter().any(|other| {
                let mut changed = params.clone();
                changed.set(setting.path, other).unwrap_or_else(|error| panic!("{error}"));
                // As far as the first line that is another one.
                lines(&changed, &pictures).is_some_and(|after| after.ne(before.iter().cloned()))
            })
        };
        if !trees.iter().enumerate().any(&mut changes) {
            idle.push((setting.path, places));
        }
    }
    assert!(idle.is_empty(), "without an effect (in so many trees): {idle:#?}");
}
