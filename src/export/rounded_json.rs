//! JSON whose numbers end where they mean nothing more.

use std::io::{self, Write};

use serde::Serialize;
#[cfg(any(feature = "cli", test))]
use serde_json::ser::PrettyFormatter;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// Digits of a number that are kept: a ten-thousandth of a pixel in a picture of 99,999, and of a score more than
/// sequences can tell. Those behind them are what was rounded on the way (`25.000000000000004`).
const DIGITS: usize = 9;

/// The document in one line.
///
/// # Errors
/// When it cannot be a JSON document.
pub(crate) fn compact(document: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    with(document, CompactFormatter)
}

/// The document in indented lines.
///
/// # Errors
/// When it cannot be a JSON document.
#[cfg(any(feature = "cli", test))]
pub(crate) fn pretty(document: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    with(document, PrettyFormatter::new())
}

fn with(document: &impl Serialize, form: impl Formatter) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    document.serialize(&mut Serializer::with_formatter(&mut text, Rounded(form)))?;
    Ok(text)
}

fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// Any form, with numbers rounded.
struct Rounded<F>(F);

impl<F: Formatter> Formatter for Rounded<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(out, rounded(value))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_end_where_they_mean_nothing_more() {
        let document = json!({ "a": [25.000000000000004, 47.548700000000004, 2117.5890876000003, 1e-7, -0.1, 3] });
        let expected = json!({ "a": [25.0, 47.5487, 2117.58909, 1e-7, -0.1, 3] });
        assert_eq!(compact(&document).unwrap(), serde_json::to_vec(&expected).unwrap());
        assert_eq!(pretty(&document).unwrap(), serde_json::to_vec_pretty(&expected).unwrap());
        assert_eq!((rounded(f64::MAX).is_finite(), rounded(f64::NAN).is_nan()), (true, true));
    }
}
