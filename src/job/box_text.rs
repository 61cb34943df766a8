//! A box as text: four numbers, what they are, and the frame that they are of.

use std::ffi::{OsStr, OsString};
use std::str::FromStr;

use crate::bbox::BBox;

/// No image has as many pixels in a row.
const MOST: f64 = 1e9;

/// What four numbers say of a box. All are 0-based pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoxFormat {
    /// Left, top, width, height.
    #[default]
    Xywh,
    /// Left, top, right, bottom.
    Xyxy,
}

impl BoxFormat {
    /// Their names, and what each is.
    pub const NAMES: [(&str, &str); 2] = [("xywh", "Left, top, width, height"), ("xyxy", "Left, top, right, bottom")];

    /// What others call them, in the same order.
    pub const OTHER_NAMES: [&str; 2] = ["ltwh", "ltrb"];

    /// The box that the numbers are.
    ///
    /// # Errors
    /// Of no size.
    pub fn to_bbox(self, [x, y, a, b]: [f64; 4]) -> Result<BBox, String> {
        let (w, h) = match self {
            Self::Xywh => (a, b),
            Self::Xyxy => (a - x, b - y),
        };
        if w > 0.0 && h > 0.0 {
            return Ok(BBox::new(x, y, w, h));
        }
        Err(match self {
            Self::Xywh => format!("width and height must be above zero, not {w} and {h}"),
            Self::Xyxy => format!("right and bottom must lie behind left and top: {a},{b} do not lie behind {x},{y}"),
        })
    }
}

/// A box and the frame that it is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given {
    /// From 1; none for the first frame of the run.
    pub frame: Option<usize>,
    /// As they were given.
    pub numbers: [f64; 4],
}

impl FromStr for BoxFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "xywh" | "ltwh" => Ok(Self::Xywh),
            "xyxy" | "ltrb" => Ok(Self::Xyxy),
            _ => Err(format!("--init-format {name}: must be xywh or xyxy")),
        }
    }
}

impl FromStr for Given {
    type Err = String;

    /// Reads four numbers, and before them a frame and a colon where there is one.
    fn from_str(text: &str) -> Result<Self, String> {
        let (frame, numbers) = match text.split_once(':') {
            Some((frame, numbers)) => (Some(self::frame(frame)?), numbers),
            None => (None, text),
        };
        Ok(Self { frame, numbers: self::numbers(numbers)? })
    }
}

/// Reads the number of a frame.
pub(super) fn frame(text: &str) -> Result<usize, String> {
    let frame = text.trim().parse::<usize>().ok().filter(|&frame| frame > 0);
    frame.ok_or_else(|| format!("the frame `{text}` is no whole number from 1"))
}

/// Reads four numbers separated by commas or blanks.
pub(super) fn numbers(text: &str) -> Result<[f64; 4], String> {
    if text.contains(',') && text.split(',').any(|cell| cell.trim().is_empty()) {
        return Err(format!("`{}` has nothing between two commas, or beside one", text.trim()));
    }
    let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
    let numbers = parts
        .map(|part| part.parse::<f64>().map_err(|_| format!("`{part}` is no number")))
        .collect::<Result<Vec<_>, _>>()?;
    let numbers: [f64; 4] = numbers.try_into().map_err(|numbers: Vec<f64>| {
        format!("four numbers are needed, as in 10,20,30,40; there are {}", numbers.len())
    })?;
    if numbers.iter().any(|v| !v.is_finite()) {
        return Err("all four numbers must be finite".into());
    }
    if numbers.iter().any(|v| v.abs() > MOST) {
        return Err("the numbers are pixels: at most 1e9".into());
    }
    Ok(numbers)
}

/// The arguments of the program, where numbers that follow an `--init` or `-i` each on its own, the first one behind a
/// frame and a colon perhaps, become one word. Fewer than four do so too: what is wrong with them is then said of the
/// box.
pub fn joined(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.into_iter().collect::<Vec<_>>();
    let is_number = |(place, word): &(usize, &OsString)| {
        let number = |text: &str| text.parse::<f64>().is_ok();
        let framed =
            |text: &str| text.split_once(':').is_some_and(|(start, text)| frame(start).is_ok() && number(text));
        word.to_str().is_some_and(|word| number(word) || *place == 0 && framed(word))
    };
    let mut from = 0;
    while let Some(flag) =
        arguments.iter().skip(from).position(|word| word == OsStr::new("--init") || word == OsStr::new("-i"))
    {
        let first = from + flag + 1;
        let words = arguments.iter().skip(first).take(4).enumerate().take_while(is_number).count();
        let one = arguments[first..first + words].join(OsStr::new(","));
        if words > 1 {
            arguments.splice(first..first + words, [one]);
        }
        from = first;
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: BoxFormat) -> Result<BBox, String> {
        text.parse::<Given>().and_then(|given| format.to_bbox(given.numbers))
    }

    #[test]
    fn boxes_are_four_numbers_of_positive_size() {
        for format in [BoxFormat::Xywh, BoxFormat::Xyxy] {
            for wrong in [
                "",
                "1",
                "1,2,3",
                "1,2,3,4,5",
                "1,,2,3,4",
                ",1,2,3,4",
                "1,2,3,4,",
                "a,b,c,d",
                "1,2,3,NaN",
                "1,2,inf,4",
                "1,2,0,4",
                "1,2,3,-4",
                "1e300,1,2,3",
            ] {
                assert!(read(wrong, format).is_err(), "{wrong}");
            }
        }
        assert_eq!(read("1,2.5,3,4", BoxFormat::Xywh), Ok(BBox::new(1.0, 2.5, 3.0, 4.0)));
        assert_eq!(read(" -1 2\t3, 4 ", BoxFormat::Xywh), Ok(BBox::new(-1.0, 2.0, 3.0, 4.0)));
        assert_eq!(read("10,20,40,60", BoxFormat::Xyxy), Ok(BBox::new(10.0, 20.0, 30.0, 40.0)));
        assert_eq!(" 7 : 1, 2 ,3,4".parse(), Ok(Given { frame: Some(7), numbers: [1.0, 2.0, 3.0, 4.0] }));
        assert!(read("10,20,10,60", BoxFormat::Xyxy).unwrap_err().contains("right and bottom"));
    }

    #[test]
    fn four_words_become_one() {
        let joined = |line: &str| {
            let words = joined(line.split(' ').map(OsString::from));
            words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(joined("kcf-track --init 1 -2 3.5 4 frames"), "kcf-track --init 1,-2,3.5,4 frames");
        assert_eq!(joined("kcf-track frames -i 1 2 3 4"), "kcf-track frames -i 1,2,3,4");
        assert_eq!(joined("kcf-track -i 1 2 3 frames"), "kcf-track -i 1,2,3 frames");
        assert_eq!(joined("kcf-track -i 1 2 3 4 5"), "kcf-track -i 1,2,3,4 5");
        assert_eq!(joined("kcf-track -i 20:1 2 3 4 frames"), "kcf-track -i 20:1,2,3,4 frames");
        for same in ["kcf-track --init 1,2,3,4 5 6 7 8", "kcf-track --init", "kcf-track -i 1 x", "kcf-track -i 1 x:3"] {
            assert_eq!(joined(same), same);
        }
    }
}
