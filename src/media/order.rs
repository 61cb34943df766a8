//! The order of image files by their names: natural (1, 2, 10), without regard to case, and with decimal fractions where a
//! folder's names have them (`1700000000.9` before `1700000000.933333`).

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Digits after a point that no counter of frames has.
const LONG_FRACTION: usize = 6;

/// Relative difference of equal steps between fractions.
const EQUAL_STEPS: f64 = 0.01;

/// Words before the number of a part, which follows the part before.
const PARTS: [&str; 4] = ["part", "scene", "shot", "take"];

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
    let is_point = |place: Option<usize>| place.and_then(|place| runs.get(place)).is_some_and(|run| is_point(run));
    is_digits(runs[at])
        && is_point(Some(at + 1))
        && runs.get(at + 2).is_some()
        && !is_point(Some(at + 3))
        && !(is_point(at.checked_sub(1)) && at > 1)
}

fn is_digits(run: &str) -> bool {
    run.starts_with(|c: char| c.is_ascii_digit())
}

fn is_point(run: &str) -> bool {
    matches!(run, "." | ",")
}

/// The parts of a name, each with the run that it begins with. Blanks before digits fill their place.
fn parts(stem: &str, with_fractions: bool) -> Vec<(Part, &str)> {
    let (runs, mut parts, mut at) = (runs(stem), Vec::new(), 0);
    while let Some(&run) = runs.get(at) {
        at += 1;
        let text = run.trim();
        if is_digits(run) {
            let digits = run.trim_start_matches('0');
            let fraction = if with_fractions && has_fraction(&runs, at - 1) { runs[at + 1] } else { "" };
            at += if fraction.is_empty() { 0 } else { 2 };
            parts.push((Part::Number(digits.len(), digits.into(), fraction.trim_end_matches('0').into()), run));
        } else if !text.is_empty() {
            parts.push((Part::Text(text.into()), run));
        }
    }
    parts
}

/// The name in lower case without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// How many of these digits are a date, a clock with separators, or a date and time without: 0, 1 or 3.
fn fields_of_time(digits: &[&str]) -> usize {
    let is_within = |digits: &str, low: u32, high: u32| {
        digits.len() <= 2 && digits.parse().is_ok_and(|number| (low..=high).contains(&number))
    };
    let is_date = |year: &str, month: &str, day: &str| {
        year.len() == 4
            && (year.starts_with("19") || year.starts_with("20"))
            && is_within(month, 1, 12)
            && is_within(day, 1, 31)
    };
    match *digits {
        [year, month, day, ..] if is_date(year, month, day) => 3,
        [hour, minute, second, ..]
            if [hour, minute, second].iter().all(|field| field.len() == 2)
                && is_within(hour, 0, 23)
                && is_within(minute, 0, 59)
                && is_within(second, 0, 59) =>
        {
            3
        }
        [date, ..] if date.len() == 8 && is_date(&date[..4], &date[4..6], &date[6..]) => 1,
        [seconds, ..] if seconds.len() > 8 && !seconds.starts_with('0') => 1,
        _ => 0,
    }
}

/// One or several numbers that count together, and the digits of the first.
type Counter = (Vec<Part>, usize);

/// The counters in a name: its numbers, of which those of one time, and that of a part and the next, are one. Without
/// `join` each number is one.
fn counters(parts: &[(Part, &str)], join: bool) -> Vec<Counter> {
    let (mut fields, mut before) = (Vec::new(), "");
    for (part, run) in parts {
        match part {
            Part::Number(..) => fields.push((std::mem::take(&mut before), *run, part)),
            Part::Text(_) => before = run,
        }
    }
    let (mut counters, mut rest): (Vec<Counter>, _) = (Vec::new(), &fields[..]);
    let is_near =
        |before: &str| matches!(before.trim_matches(|c: char| !c.is_alphanumeric()), "" | "t" | "at" | "h" | "m" | "s");
    // The fewest digits by which a number belongs to the one before.
    let mut least = None;
    while let Some((before, run, _)) = rest.first() {
        let near = rest[1..].iter().take_while(|(before, ..)| is_near(before)).take(2).map(|(_, run, _)| *run);
        let of_time = if join { fields_of_time(&[*run].into_iter().chain(near).collect::<Vec<_>>()) } else { 0 };
        let (own, others) = rest.split_at(of_time.max(1));
        let own = own.iter().map(|(.., part)| (*part).clone());
        let joins =
            join && least.is_some_and(|least| least == 0 || is_near(before) && (of_time > 0 || run.len() >= least));
        match counters.last_mut().filter(|_| joins) {
            Some((counter, _)) => counter.extend(own),
            None => counters.push((own.collect(), run.len())),
        }
        let word = before.trim_end_matches(|c: char| !c.is_alphabetic());
        least = match of_time {
            _ if PARTS.iter().any(|part| word.ends_with(part)) => Some(0),
            0 if joins && run.len() == 2 => least,
            0 => None,
            1 => Some(3),
            _ => Some(2),
        };
        rest = others;
    }
    counters
}

/// Whether two numbers side by side, which alone differ, count on as seconds and their fractions do: with long fractions or
/// in even steps.
fn is_even(names: &[Vec<(Part, &str)>]) -> bool {
    let is_number = |at: &usize| matches!(names[0][*at].0, Part::Number(..));
    let differ = |at: &usize| names.iter().any(|name| name.get(*at).map(|of| &of.0) != Some(&names[0][*at].0));
    let differing: Vec<usize> = (0..names[0].len()).filter(differ).collect();
    let [high, low] = differing[..] else { return false };
    let is_alike = names.iter().all(|name| name.len() == names[0].len());
    if !is_alike || low != high + 2 || !is_number(&high) || !is_number(&low) {
        return false;
    }
    let (between, width) = (names[0][high + 1].1, names[0][low].1.len());
    let is_fixed = (width > 1 || is_point(between)) && names.iter().all(|name| name[low].1.len() == width);
    if !is_fixed || between.contains(char::is_alphanumeric) {
        return false;
    }
    if is_point(between) && width >= LONG_FRACTION {
        return true;
    }
    let number = |at: usize| names.iter().map(move |name| name[at].1.parse::<f64>().unwrap_or(f64::NAN));
    let is_timed =
        is_point(between) && high.checked_sub(1).is_none_or(|at| !names[0][at].1.ends_with(char::is_alphabetic));
    let most = if is_timed { 10.0 } else { 2.0 };
    let minute = if width == 2 { Some(60.0) } else { None };
    minute.iter().chain(&[10_f64.powi(width as i32)]).any(|radix| {
        let values: Vec<f64> = number(high).zip(number(low)).map(|(high, low)| high * radix + low).collect();
        let (least, longest) = steps(&values);
        number(low).all(|low| low < *radix) && least > 0.0 && longest < most * least
    })
}

/// Whether the digits after a point are a fraction, 1.10 before 1.9, and do not count on; `None` if that is unclear.
fn has_fractions(images: &[PathBuf]) -> Option<bool> {
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
        return Some(false);
    }
    // A fraction is printed without zeros at its end, a counter without zeros before it.
    let counts = fractions.iter().any(|digits| digits.len() > 1 && digits.ends_with('0'));
    let divides = longer().any(|digits| digits.starts_with('0') || digits.len() >= LONG_FRACTION);
    values.sort_by(f64::total_cmp);
    let (least, most) = steps(&values);
    let divides = divides || !counts && most - least < EQUAL_STEPS * most;
    (counts != divides).then_some(divides)
}

/// The least and the longest step between values.
fn steps(values: &[f64]) -> (f64, f64) {
    let steps = values.windows(2).map(|pair| pair[1] - pair[0]);
    steps.fold((f64::INFINITY, 0.0_f64), |(low, high), step| (low.min(step), high.max(step)))
}

/// Names of months.
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Least digits of a number that counts frames, and the least names for one with fewer.
const COUNTER: (usize, usize) = (3, 6);

/// Whether a name is a number with a minus or an exponent.
fn is_signed(stem: &str) -> bool {
    let number = stem.replace(',', ".");
    let digits = number.trim_start_matches('-');
    let is_padded = digits.starts_with('0') && !digits.contains('.');
    number.parse::<f64>().is_ok() && (number.contains('e') || digits.len() < number.len() && !is_padded)
}

/// The hour and the half of the day in a clock of 12 hours. Every second run has digits.
fn half_day(runs: &[&str]) -> Option<(String, String)> {
    let is_between = |at: usize| matches!(runs[at], "." | ":" | "-" | "_");
    let word = |run: &str| run.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let at = (3..runs.len()).find(|&at| matches!(&*word(runs[at]), "am" | "pm"))?;
    let hour = runs[if at > 4 && is_between(at - 4) { at - 5 } else { at - 3 }];
    (is_between(at - 2) && hour.len() < 3).then(|| (hour.to_owned(), word(runs[at])))
}

/// Day and month of a date whose year follows, as 31-12-2023 or 31122023.
fn day_and_month(runs: &[&str]) -> Option<[String; 2]> {
    let is_small = |run: &str| run.len() < 3 && run.parse().is_ok_and(|number: u32| (1..32).contains(&number));
    let is_year = |run: &str| run.len() == 4 && (run.starts_with("19") || run.starts_with("20"));
    let apart = runs.windows(5).find(|part| {
        let are_between = [part[1], part[3]].iter().all(|text| matches!(*text, "-" | "." | "_"));
        is_small(part[0]) && is_small(part[2]) && are_between && is_year(part[4])
    });
    let whole = || {
        let date = runs.iter().find(|run| run.len() == 8 && is_digits(run))?;
        let is_date = is_small(&date[..2]) && is_small(&date[2..4]) && is_year(&date[4..]);
        (is_date && !is_year(&date[..4])).then(|| [&date[..2], &date[2..4]])
    };
    apart.map(|part| [part[0], part[2]]).or_else(whole).map(|parts| parts.map(str::to_owned))
}

/// Why the order of sorted names may not be that of time, and the places of two.
fn other_order(stems: &[String]) -> Option<([usize; 2], &'static str)> {
    if let Some(at) = stems.iter().position(|stem| is_signed(stem)).filter(|_| stems.len() > 1) {
        let two = [at, if at == 0 { 1 } else { 0 }];
        return Some((two, "by value or by digits: write numbers without minus and exponent"));
    }
    let runs: Vec<Vec<&str>> = stems.iter().map(|stem| runs(stem)).collect();
    let halves: Vec<_> = runs.iter().map(|runs| half_day(runs)).collect();
    if let Some(at) = halves.windows(2).position(|pair| pair[0] != pair[1]) {
        return Some(([at, at + 1], "as their clock has 12 hours: rename them by one of 24"));
    }
    if let Some(dates) = runs.iter().map(|runs| day_and_month(runs)).collect::<Option<Vec<_>>>()
        && let Some(at) = dates.windows(2).position(|pair| pair[0] != pair[1])
    {
        return Some(([at, at + 1], "as the year of their dates is last: rename them with the year first"));
    }
    let month = |runs: &Vec<&str>| {
        let word = |run: &&str| run.trim_matches(|c: char| !c.is_alphabetic()).to_owned();
        let of_date = runs.windows(3).filter(|part| is_digits(part[0]) && is_digits(part[2]));
        of_date.map(|part| word(&part[1])).find(|word| MONTHS.iter().any(|month| word.starts_with(month)))
    };
    let months: Vec<_> = runs.iter().map(month).collect();
    if let Some(at) = months.windows(2).position(|pair| pair[0] != pair[1]) {
        return Some(([at, at + 1], "as their months are words: rename them by numbers"));
    }
    other_count(&runs)
}

/// The same by the numbers in names: one counts on in another order, or cameras began anew after the highest.
fn other_count(runs: &[Vec<&str>]) -> Option<([usize; 2], &'static str)> {
    let numbers = |runs: &Vec<&str>| {
        let digits = runs.iter().filter(|run| is_digits(run));
        digits.map(|run| Some((run.len(), run.parse::<usize>().ok()?))).collect::<Vec<_>>()
    };
    let numbers: Vec<_> = runs.iter().map(numbers).collect();
    let columns = numbers.first().map_or(0, Vec::len);
    for at in (0..columns).filter(|_| numbers.iter().all(|own| own.len() == columns)) {
        let column = numbers.iter().map(|own| own[at]).collect::<Option<Vec<_>>>();
        let Some(column) = column.filter(|column| column.len() > 2) else { continue };
        let (low, high) = column.iter().fold((usize::MAX, 0), |(low, high), of| (low.min(of.1), high.max(of.1)));
        let distinct = column.iter().map(|of| of.1).collect::<BTreeSet<_>>().len() == column.len();
        let falls = column.windows(2).position(|pair| pair[1].1 < pair[0].1);
        let is_long = column.iter().all(|of| of.0 >= COUNTER.0) || column.len() >= COUNTER.1;
        match falls {
            Some(at) if distinct && is_long && high - low == column.len() - 1 => {
                return Some(([at, at + 1], "as a number in them counts on in another order: rename them"));
            }
            // As the numbers of cameras.
            None if at + 1 == columns && distinct && low < 2 && column[0].0 > 3 => {
                let begins_anew = (3..9).any(|width| high == 10_usize.pow(width) - 1);
                let gap = column.windows(2).position(|pair| pair[1].1 > pair[0].1 + 1);
                if let Some(at) = gap.filter(|_| begins_anew) {
                    return Some(([at, at + 1], "as cameras begin anew after the highest number: rename them"));
                }
            }
            _ => {}
        }
    }
    None
}

/// Sorts image files of one folder.
pub(super) fn sort(images: &mut [PathBuf]) {
    let with_fractions = has_fractions(images) == Some(true);
    images.sort_by_cached_key(|path| {
        let parts: Vec<Part> = parts(&stem(path), with_fractions).into_iter().map(|(part, _)| part).collect();
        (parts, path.clone())
    });
}

/// Checks that sorted names have one order and one picture a frame.
///
/// # Errors
/// A reason that names two files.
pub(super) fn check(images: &[PathBuf]) -> Result<(), String> {
    let several = |[first, second]: [&Path; 2]| {
        let [first, second] = [first, second].map(super::file_name);
        let hint = "give a folder that holds one picture a frame, or rename them";
        Err(format!("it holds several pictures of one number, such as {first} and {second}: {hint}"))
    };
    let unclear = |[first, second]: [&Path; 2], why: &str| {
        let [first, second] = [first, second].map(super::file_name);
        Err(format!("the order of {first} and {second} is unclear, {why}"))
    };
    let stems: Vec<String> = images.iter().map(|path| stem(path)).collect();
    let mut known = HashMap::new();
    for (stem, path) in stems.iter().zip(images) {
        if let Some(other) = known.insert(stem, path) {
            return several([other, path]);
        }
    }
    let with_fractions = has_fractions(images);
    if with_fractions.is_none() {
        let is_dotted = |runs: &[&str]| (0..runs.len()).any(|at| has_fraction(runs, at));
        let mut dotted = images.iter().zip(&stems).filter(|(_, stem)| is_dotted(&runs(stem))).map(|(path, _)| path);
        if let (Some(first), Some(second)) = (dotted.next(), dotted.next_back()) {
            return unclear([first, second], "by fractions or by counting: write as many digits after each point");
        }
    }
    if let Some((two, why)) = other_order(&stems) {
        return unclear(two.map(|at| &*images[at]), why);
    }
    let names: Vec<_> = stems.iter().map(|stem| parts(stem, with_fractions == Some(true))).collect();
    let mut all: Vec<_> = names.iter().map(|parts| counters(parts, true)).collect();
    // A number that has one digit in some names, as 2024-01-31_9 and 2024-01-31_10, is no hour.
    if names.iter().all(|name| name.len() == names[0].len()) && all.iter().any(|own| own.len() != all[0].len()) {
        all = names.iter().map(|parts| counters(parts, false)).collect();
    }
    let column = |place: usize| all.iter().map(move |counters| counters.get(place));
    let most = all.iter().map(Vec::len).max().unwrap_or(0);
    // The first of a sequence may have no number, if the others begin with its name.
    let is_begun = |place: usize| {
        let rest = || stems.get(1)?.strip_prefix(&*stems[0]);
        all[0].len() > place || rest().is_some_and(|rest| !rest.contains(char::is_alphabetic))
    };
    let rises = |place: usize| column(place).is_sorted_by(|a, b| a.map(|a| &a.0) < b.map(|b| &b.0)) && is_begun(place);
    if most == 0 || (0..most).any(rises) || is_even(&names) {
        return Ok(());
    }
    // The counter of frames is the column with most numbers, else with most digits.
    let counter = (0..most).max_by_key(|&place| {
        let distinct: BTreeSet<_> = column(place).flatten().map(|(number, _)| number).collect();
        (distinct.len(), column(place).flatten().map(|(_, digits)| *digits).max())
    });
    let numbers: Vec<_> = column(counter.unwrap_or(0)).map(|counter| counter.map(|(number, _)| number)).collect();
    let mut seen = HashMap::new();
    for (number, path) in numbers.iter().zip(images).filter(|(number, _)| number.is_some()) {
        if let Some(other) = seen.insert(number, path) {
            return several([other, path]);
        }
    }
    let at = numbers.windows(2).position(|pair| pair[0] >= pair[1]).unwrap_or(0);
    unclear([&*images[at], &*images[at + 1]], "as their names and their numbers differ: rename them")
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
            &["0001.png", "0001 (1).png"],
            &["0001.png", "0001 (1).png", "0001 (2).png"],
            &["frame   8.png", "frame  10.png", "frame 100.png"],
            &["  8.png", " 10.png", "100.png"],
            &["0,0.png", "0,04.png", "0,08.png", "0,12.png", "0,2.png"],
            &["-0001.png", "-0002.png"],
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
            (&["cam0_1.png", "cam0_2.png", "cam0_3.png", "cam1_1.png", "cam1_2.png"], ["cam0_1.png", "cam1_1.png"]),
            (&["0_0001.png", "0_0002.png", "0_0003.png", "1_0001.png", "1_0002.png"], ["0_0001.png", "1_0001.png"]),
            (&["0.01.png", "0.02.png", "0.03.png", "1.01.png", "1.02.png"], ["0.01.png", "1.01.png"]),
            (&["a0.1.png", "a0.2.png", "a0.3.png", "a1.1.png", "a1.2.png"], ["a0.1.png", "a1.1.png"]),
            (&["0001_cam0.png", "0001_cam1.png", "0002_cam0.png"], ["0001_cam0.png", "0001_cam1.png"]),
            (&["000000_10.png", "000000_11.png", "000001_10.png", "000001_11.png"], ["000000_10.png", "000000_11.png"]),
            (&["0001.png", "0001_mask1.png", "0002.png", "0002_mask1.png"], ["0001.png", "0001_mask1.png"]),
            (&["0001.png", "0001_mask1.png"], ["0001.png", "0001_mask1.png"]),
            (&["0001_1.png", "0001.png", "0002.png", "0002_1.png"], ["0001.png", "0001_1.png"]),
            (&["0001.png", "0001 (1).png", "0002.png"], ["0001.png", "0001 (1).png"]),
            (
                &["0001_depth16.png", "0001_rgb8.png", "0002_depth16.png", "0002_rgb8.png"],
                ["0001_depth16.png", "0001_rgb8.png"],
            ),
            (&["1_320x240.png", "1.png", "2_320x240.png", "2.png"], ["1.png", "1_320x240.png"]),
            (&["f_1.rf.9a2.png", "f_1.rf.0b3.png", "f_2.rf.3c4.png"], ["f_1.rf.9a2.png", "f_1.rf.0b3.png"]),
            (&["scene1_1.png", "scene1_1_mask1.png", "scene1_2.png"], ["scene1_1.png", "scene1_1_mask1.png"]),
            (&["20240101_120000_0.png", "20240101_120000_1.png", "20240101_120001_0.png"], ["120000_0", "120000_1"]),
            (&["s01_c01_05.png", "s01_c01_06.png", "s01_c02_05.png"], ["s01_c01_05.png", "s01_c02_05.png"]),
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
            &["img_2_0001.jpg", "img_2_0002.jpg"],
            &["scene1_take1_0001.png", "scene1_take2_0001.png", "scene1_take2_0002.png", "scene2_take1_0001.png"],
            &["20240101_120000_000.png", "20240101_120000_500.png", "20240101_120001_000.png"],
            &["2024-01-01T12-00-00.000.png", "2024-01-01T12-00-00.500.png", "2024-01-01T12-00-01.000.png"],
            &["1700000000_000000000.png", "1700000000_500000000.png", "1700000001_000000000.png"],
            &["t12_00.png", "t12_25.png", "t12_50.png", "t12_75.png", "t13_00.png", "t13_25.png"],
            &["0.033.png", "0.067.png", "0.133.png", "1.033.png", "1.067.png"][..3],
            &["12h30m58s.png", "12h30m59s.png", "12h31m58s.png"],
            &["12.100000.png", "12.100001.png", "13.500000.png"],
            &["30-58.png", "30-59.png", "31-00.png"],
            &["3f2504e0-4f89-11d3_0001.png", "3f2504e0-4f89-11d3_0002.png"],
            &["IMG_E1234.JPG", "IMG_E1235.JPG"],
            &["f_1_png.rf.9a2.png", "f_2_png.rf.0b3.png", "f_3_png.rf.3c4.png"],
            &["frame_1_0.87.png", "frame_2_0.85.png", "frame_3_0.87.png"],
            &["cam_01_12_1999.png", "cam_01_12_2000.png", "cam_01_12_2001.png"],
            &["31-12-2023_0001.png", "31-12-2023_0002.png"],
            &["f_9998.png", "f_9999.png"],
            &["Shot at 11.58.00\u{202f}PM.png", "Shot at 11.59.00\u{202f}PM.png"],
            &["frame_001_am.png", "frame_002_am.png"],
            &["2024-01-31_1.png", "2024-01-31_2.png", "2024-01-31_9.png", "2024-01-31_10.png", "2024-01-31_11.png"],
            &["10-10-8.png", "10-10-9.png", "10-10-10.png", "10-10-11.png"],
            &["2024-01-02.png", "2024-02-01.png", "2024-03-03.png"],
            &["a_0000000000.png", "a_0000000001.png", "a_18446744073709551615.png"],
            &["1_18446744073709551615.png", "2_00000000000000000000.png", "3_00000000000000000001.png"],
        ] {
            assert_eq!(checked(names), Ok(()), "{names:?}");
        }
    }

    #[test]
    fn an_unclear_order_is_refused() {
        for names in [
            &["1.7.png", "1.9.png", "1.12.png", "1.13.png"][..],
            &["1,7.png", "1,9.png", "1,12.png", "1,13.png"],
            &["-3.png", "-2.png", "-1.png"],
            &["0.0001.png", "1e-05.png"],
            &["a4_0001.png", "b2_0003.png", "c7_0002.png"],
            &["cam0_1.png", "cam0_3.png", "cam1_2.png", "cam1_4.png"],
            &["1.png", "2.png", "mask.png"],
            &["cover.png", "frame1.png", "frame2.png"],
            &["Shot at 1.00.00\u{202f}PM.png", "Shot at 9.00.00\u{202f}AM.png"],
            &["31-12-2023_1.png", "01-01-2024_1.png"],
            &["12.5.2023.png", "1.6.2023.png"],
            &["DSC_9998.png", "DSC_9999.png", "DSC_0001.png"],
            &["DJI_0998.png", "DJI_0999.png", "DJI_0001.png"],
            &["17012024_2359.png", "01022024_0000.png"],
            &["235958_0001.png", "235959_0002.png", "000000_0003.png"],
            &["2024-Jan-31.png", "2024-Feb-01.png"],
            &["1_006.png", "2_005.png", "3_004.png"],
        ] {
            let reason = checked(names).unwrap_err();
            let named = names.iter().filter(|name| reason.contains(*name)).count();
            assert!(named == 2 && reason.contains("unclear"), "{names:?}: {reason}");
        }
    }
}
