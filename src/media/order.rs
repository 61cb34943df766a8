//! The order of image files by their names: natural (1, 2, 10), without regard to case, and with decimal fractions where a
//! folder's names have them (`1700000000.9` before `1700000000.933333`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Digits after a point that no counter of frames has.
const LONG_FRACTION: usize = 6;

/// Relative difference of equal steps between fractions.
const EQUAL_STEPS: f64 = 0.01;

/// A number or the text between two, in the order of a name. A name comes before those that it begins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    /// Digits without leading zeros, the shorter the smaller, and the digits of a fraction.
    Number(usize, String, String),
    Text(String),
}

/// Runs of digits and of other characters by turns.
fn runs(stem: &str) -> Vec<&str> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut runs = Vec::new();
    let mut rest = stem;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_digit(c) != is_digit(first)).unwrap_or(rest.len());
        runs.push(&rest[..end]);
        rest = &rest[end..];
    }
    runs
}

/// True if the run at `at` is followed by a point and digits; two points, as in a date, are no fraction.
fn has_fraction(runs: &[&str], at: usize) -> bool {
    let is_point = |place: Option<usize>| place.and_then(|place| runs.get(place)) == Some(&".");
    runs[at].starts_with(|c: char| c.is_ascii_digit())
        && is_point(Some(at + 1))
        && runs.get(at + 2).is_some()
        && !is_point(Some(at + 3))
        && !(is_point(at.checked_sub(1)) && at > 1)
}

/// The parts of a name in lower case without its extension.
fn parts(path: &Path, with_fractions: bool) -> Vec<Part> {
    let stem = stem(path);
    let (runs, mut parts, mut at) = (runs(&stem), Vec::new(), 0);
    while let Some(run) = runs.get(at) {
        at += 1;
        parts.push(if run.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = run.trim_start_matches('0');
            let fraction = if with_fractions && has_fraction(&runs, at - 1) { runs[at + 1] } else { "" };
            at += if fraction.is_empty() { 0 } else { 2 };
            Part::Number(digits.len(), digits.into(), fraction.trim_end_matches('0').into())
        } else {
            Part::Text((*run).into())
        });
    }
    parts
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// How the digits after a point are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    /// The digits count: 1.9 before 1.10.
    Count,
    /// The digits are a fraction: 1.10 before 1.9.
    Fraction,
    Unclear,
}

impl Points {
    fn of(images: &[PathBuf]) -> Self {
        let stems: Vec<_> = images.iter().map(|path| stem(path)).collect();
        let (mut fractions, mut values) = (Vec::new(), Vec::new());
        for runs in stems.iter().map(|stem| runs(stem)) {
            for at in (0..runs.len()).filter(|&at| has_fraction(&runs, at)) {
                fractions.push(runs[at + 2]);
                values.extend(format!("{}.{}", runs[at], runs[at + 2]).parse::<f64>());
            }
        }
        let shortest = fractions.iter().map(|digits| digits.len()).min().unwrap_or(0);
        let longer = || fractions.iter().filter(|digits| digits.len() > shortest);
        // Both readings give the same order for digits of one length.
        if longer().next().is_none() {
            return Self::Count;
        }
        // A fraction is printed without zeros at its end, a counter without zeros before it.
        let counts = fractions.iter().any(|digits| digits.len() > 1 && digits.ends_with('0'));
        let divides = longer().any(|digits| digits.starts_with('0') || digits.len() >= LONG_FRACTION);
        values.sort_by(f64::total_cmp);
        let steps = values.windows(2).map(|pair| pair[1] - pair[0]);
        let (least, most) = steps.fold((f64::INFINITY, 0.0_f64), |(low, high), step| (low.min(step), high.max(step)));
        match (counts, divides || !counts && most - least < EQUAL_STEPS * most) {
            (true, false) => Self::Count,
            (false, true) => Self::Fraction,
            _ => Self::Unclear,
        }
    }
}

/// Sorts image files of one folder.
pub(super) fn sort(images: &mut [PathBuf]) {
    let with_fractions = Points::of(images) == Points::Fraction;
    images.sort_by_cached_key(|path| (parts(path, with_fractions), path.clone()));
}

/// Checks that sorted names have one order and one picture a frame.
///
/// # Errors
/// A reason that names two files.
pub(super) fn check(images: &[PathBuf]) -> Result<(), String> {
    let points = Points::of(images);
    let several = |first: &Path, second: &Path| {
        let [first, second] = [first, second].map(super::file_name);
        let hint = "give a folder that holds one picture a frame";
        Err(format!("it holds several pictures of one number, such as {first} and {second}: {hint}"))
    };
    let (mut stems, mut numbered) = (HashMap::new(), HashMap::new());
    // The last numbers of names that are equal but for one number right after a letter, by that number.
    let mut views = BTreeMap::<_, BTreeMap<Part, BTreeMap<Part, &Path>>>::new();
    for path in images {
        if let Some(other) = stems.insert(stem(path), path) {
            return several(other, path);
        }
        let mut parts = parts(path, points == Points::Fraction);
        let numbers: Vec<_> = parts.iter().filter(|part| matches!(part, Part::Number(..))).cloned().collect();
        if numbers.is_empty() {
            continue;
        }
        if let Some(other) = numbered.insert(numbers, path) {
            return several(other, path);
        }
        let is_number = |part: &Part| matches!(part, Part::Number(..));
        let last = parts.iter().rposition(is_number).map(|at| parts.remove(at));
        let after_letter =
            |pair: &[Part]| matches!(pair, [Part::Text(text), Part::Number(..)] if text.ends_with(char::is_alphabetic));
        if let (Some(last), Some(at)) = (last, parts.windows(2).position(after_letter)) {
            let view = parts.remove(at + 1);
            views.entry(parts).or_default().entry(view).or_default().insert(last, path.as_path());
        }
    }
    // Cameras side by side have the same numbers; parts of one recording that follow each other have others.
    for sides in views.values() {
        let mut all = sides.values();
        let Some(first) = all.next() else { continue };
        let frames: BTreeSet<_> = first.keys().collect();
        let mut others = all.filter(|side| frames.len() > 1 && side.keys().collect::<BTreeSet<_>>() == frames);
        if let (Some(first), Some(second)) =
            (first.values().next(), others.next().and_then(|side| side.values().next()))
        {
            return several(first, second);
        }
    }
    if points == Points::Unclear {
        let mut dotted = images.iter().filter(|path| {
            let stem = stem(path);
            let runs = runs(&stem);
            (0..runs.len()).any(|at| has_fraction(&runs, at))
        });
        let [first, second] =
            [dotted.next(), dotted.next_back()].map(|path| path.map_or(String::new(), |path| super::file_name(path)));
        let hint = "write as many digits after each point";
        return Err(format!("the order of {first} and {second} is unclear, by fractions or by counting: {hint}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(names: &[&str]) -> Vec<String> {
        let mut images: Vec<_> = names.iter().map(PathBuf::from).collect();
        sort(&mut images);
        images.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    fn checked(names: &[&str]) -> Result<(), String> {
        check(&sorted(names).iter().map(PathBuf::from).collect::<Vec<_>>())
    }

    #[test]
    fn names_have_a_natural_order() {
        for order in [
            &["1.jpg", "2.jpg", "10.jpg"][..],
            &["img0.png", "img9.png", "img10.png"],
            &["frame (9).png", "frame (10).png"],
            &["IMG_1.png", "img_2.PNG", "Img_3.png"],
            &["frame.png", "frame (1).png", "frame (2).png", "frame (10).png"],
            &["0001.png", "0001(1).png", "0002.png"],
            // Seconds, as a clock prints them, fractions of seconds, counters, dates.
            &["1700000000.9.png", "1700000000.933333.png", "1700000001.0000026.png", "1700000001.03334.png"],
            &["t0.0.png", "t0.04.png", "t0.08.png", "t0.12.png", "t0.2.png", "t1.0.png"],
            &["0.0.png", "0.25.png", "0.5.png", "0.75.png", "1.0.png"],
            &["a1.8.png", "a1.9.png", "a1.10.png", "a1.11.png"],
            &["1.09.png", "1.10.png", "1.99.png", "1.100.png"],
            &["2024.1.9.png", "2024.1.15.png", "2024.2.3.png"],
        ] {
            let shuffled: Vec<_> = order.iter().rev().copied().collect();
            assert_eq!(sorted(&shuffled), order);
            assert_eq!(checked(order), Ok(()), "{order:?}");
        }
    }

    #[test]
    fn several_pictures_of_one_number_are_refused_by_two_names() {
        for (names, two) in [
            (&["0001.jpg", "0001.png", "0002.jpg"][..], ["0001.jpg", "0001.png"]),
            (&["0001.png", "0001_mask.png", "0002.png", "0002_mask.png"], ["0001.png", "0001_mask.png"]),
            (&["left_0001.png", "left_0002.png", "right_0001.png"], ["left_0001.png", "right_0001.png"]),
            (&["cam0_1.png", "cam0_2.png", "cam1_1.png", "cam1_2.png"], ["cam0_1.png", "cam1_1.png"]),
            (&["1.png", "01.png"], ["1.png", "01.png"]),
            (&["a.jpg", "A.png"], ["A.png", "a.jpg"]),
        ] {
            let reason = checked(names).unwrap_err();
            assert!(two.iter().all(|name| reason.contains(name)), "{reason}");
        }
        for names in [
            &["a.png", "b.png", "mask.png"][..],
            &["part1_001.png", "part1_002.png", "part2_003.png"],
            &["12-30-58.png", "12-30-59.png", "12-31-58.png", "12-31-59.png"],
            &["seq1_1.png", "seq1_2.png", "seq1_3.png"],
        ] {
            assert_eq!(checked(names), Ok(()), "{names:?}");
        }
    }

    #[test]
    fn an_unclear_order_is_refused() {
        let reason = checked(&["1.7.png", "1.9.png", "1.12.png", "1.13.png"]).unwrap_err();
        assert!(reason.contains("1.7.png") && reason.contains("1.12.png") || reason.contains("1.13.png"), "{reason}");
    }
}
