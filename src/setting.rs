//! One setting: what it is called, which values it takes, what it means.
//!
//! Whoever has settings lists them as rows; checks, the command line, its help, configuration files and documentation
//! read the rows.

use serde_json::Value;

use crate::error::{Error, Result};

/// The values that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number of a range, both ends included.
    Number(f64, f64),
    /// A number of a range, the lower end excluded.
    Above(f64, f64),
    /// A number from here on; infinite for no limit, which is `inf` in text and null in JSON.
    Limit(f64),
    /// A whole number of a range, both ends included.
    Whole(u64, u64),
    /// An odd number of a range, both ends included.
    Odd(u64, u64),
    /// A whole number of a range, or this other one.
    WholeOr(u64, u64, u64),
    /// True or false.
    Switch,
    /// One of these names, each with what it means.
    Choice(&'static [(&'static str, &'static str)]),
}

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The path to it from the settings that list it, its parts separated by dots.
    pub path: &'static str,
    /// The values that it takes.
    pub kind: Kind,
    /// What it means, in a line.
    pub help: &'static str,
}

impl Row {
    /// A row.
    pub const fn new(path: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { path, kind, help }
    }
}

impl Kind {
    /// The value that `text` stands for; `None` when it is none of these.
    pub fn parse(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        let value = match self {
            Self::Number(..) | Self::Above(..) | Self::Limit(_) => match text.parse::<f64>().ok()? {
                f64::INFINITY if matches!(self, Self::Limit(_)) => Value::Null,
                number if number.is_finite() => number.into(),
                _ => return None,
            },
            Self::Whole(..) | Self::Odd(..) | Self::WholeOr(..) => text.parse::<u64>().ok()?.into(),
            Self::Switch => text.parse::<bool>().ok()?.into(),
            Self::Choice(_) => text.into(),
        };
        self.takes(&value).then_some(value)
    }

    /// Whether the value is one of these.
    pub fn takes(&self, value: &Value) -> bool {
        match *self {
            Self::Number(from, to) => value.as_f64().is_some_and(|v| (from..=to).contains(&v)),
            Self::Above(above, to) => value.as_f64().is_some_and(|v| v > above && v <= to),
            Self::Limit(from) => value.is_null() || value.as_f64().is_some_and(|v| v >= from),
            Self::Whole(from, to) => value.as_u64().is_some_and(|v| (from..=to).contains(&v)),
            Self::Odd(from, to) => value.as_u64().is_some_and(|v| v % 2 == 1 && (from..=to).contains(&v)),
            Self::WholeOr(from, to, or) => value.as_u64().is_some_and(|v| (from..=to).contains(&v) || v == or),
            Self::Switch => value.is_boolean(),
            Self::Choice(names) => value.as_str().is_some_and(|v| names.iter().any(|(name, _)| *name == v)),
        }
    }

    /// The text of a value; what [`Kind::parse`] reads.
    pub fn text(&self, value: &Value) -> String {
        match value {
            Value::Null if matches!(self, Self::Limit(_)) => "inf".into(),
            Value::Null => "not a finite number".into(),
            Value::String(name) => name.clone(),
            Value::Number(number) => number.as_f64().filter(|_| number.is_f64()).map_or(number.to_string(), plain),
            other => other.to_string(),
        }
    }

    /// The range in a few words.
    pub fn range(&self) -> String {
        match *self {
            Self::Number(from, to) => format!("{} to {}", plain(from), plain(to)),
            Self::Above(above, to) => format!("above {}, up to {}", plain(above), plain(to)),
            Self::Limit(from) => format!("from {} on, or inf", plain(from)),
            Self::Whole(from, to) => format!("{from} to {to}"),
            Self::Odd(from, to) => format!("odd, {from} to {to}"),
            Self::WholeOr(from, to, or) => format!("{from} to {to}, or {or}"),
            Self::Switch => "true or false".into(),
            Self::Choice(names) => names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        }
    }

    /// What is asked of a value, as the end of a message.
    pub fn expected(&self) -> String {
        match self {
            Self::Number(..) | Self::Above(..) | Self::Limit(_) => format!("must be a number {}", {
                let range = self.range();
                if matches!(self, Self::Number(..)) { format!("from {range}") } else { range }
            }),
            Self::Whole(..) => format!("must be a whole number from {}", self.range()),
            Self::Odd(from, to) => format!("must be an odd number from {from} to {to}"),
            Self::WholeOr(..) => format!("must be {}", self.range()),
            Self::Switch => "must be true or false".into(),
            Self::Choice(_) => format!("must be one of {}", self.range()),
        }
    }
}

/// A number without needless digits.
fn plain(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-5..1e7).contains(&size) { format!("{number:e}") } else { number.to_string() }
}

/// The value at a path whose parts are separated by dots; `None` where there is none.
pub fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, part| value.get(part))
}

/// Whether those of the values that there are lie in their ranges.
///
/// # Errors
/// [`Error::Parameter`] with the path of the first that does not.
pub fn check(settings: &impl serde::Serialize, rows: &[Row]) -> Result<()> {
    let tree = serde_json::to_value(settings).unwrap_or_default();
    for row in rows {
        if let Some(value) = at(&tree, row.path).filter(|value| !row.kind.takes(value)) {
            return Err(refused(row.path, row.kind.text(value), &row.kind));
        }
    }
    Ok(())
}

/// The error for a value that is out of its range.
pub fn refused(path: &'static str, value: String, kind: &Kind) -> Error {
    Error::Parameter { name: path, value, expected: kind.expected() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 8] = [
        Kind::Number(0.0, 20.0),
        Kind::Above(0.0, 1e6),
        Kind::Limit(16.0),
        Kind::Whole(1, 64),
        Kind::Odd(3, 23),
        Kind::WholeOr(1, 15, 31),
        Kind::Switch,
        Kind::Choice(&[("a", ""), ("b", "")]),
    ];

    #[test]
    fn text_is_read_and_written() {
        for (kind, texts) in KINDS.iter().zip([
            &["0", "1.5", "20"][..],
            &["1e-300", "0.0001", "1000000"],
            &["16", "20.5", "inf"],
            &["1", "64"],
            &["3", "23"],
            &["15", "31"],
            &["true", "false"],
            &["a", "b"],
        ]) {
            for text in texts {
                let value = kind.parse(text).unwrap_or_else(|| panic!("{kind:?} {text}"));
                assert_eq!(kind.text(&value), *text, "{kind:?}");
            }
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        for (kind, texts) in KINDS.iter().zip([
            &["-0.1", "20.1", "NaN", "inf", "x", ""][..],
            &["0", "-1", "inf", "NaN"],
            &["15.9", "-inf", "NaN"],
            &["0", "65", "1.5", "-1", "99999999999999999999999"],
            &["1", "4", "22", "25"],
            &["0", "16", "30", "32"],
            &["yes", "1"],
            &["c", ""],
        ]) {
            for text in texts {
                assert_eq!(kind.parse(text), None, "{kind:?} {text}");
            }
        }
    }
}
