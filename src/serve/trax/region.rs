//! Where an object is: what a client says, and the answer in the same form.

use crate::export::{BOX_DIGITS, rounded};
use crate::geometry::BBox;

use super::message::shortened;

/// Most corners of a polygon.
pub const MAX_CORNERS: usize = 1 << 14;

/// What a mask's text begins with.
const MASK: &[u8] = b"mask:";

/// How a region is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `left,top,width,height`.
    Rectangle,
    /// `x1,y1,x2,y2,…`, three corners or more.
    Polygon,
    /// `mask:left,top,width,height,` and the lengths of runs of pixels beside the object and on it, in turns, row after
    /// row; what they leave out lies beside it.
    Mask,
}

/// A region by its upright box. That of a mask reaches around all pixels of the object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// How it was written.
    pub form: Form,
    /// The box around it.
    pub bbox: BBox,
}

impl Region {
    /// Reads a region. A mask is never unpacked: whatever size it claims, it takes no memory.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        if let Some(runs) = text.strip_prefix(MASK) {
            return mask(runs)
                .map(|bbox| Self { form: Form::Mask, bbox })
                .map_err(|reason| format!("the mask `{}` {reason}", shortened(text)));
        }
        let wrong = |reason: &str| format!("the region `{}` {reason}", shortened(text));
        let mut numbers = Vec::new();
        for word in text.split(|byte| *byte == b',') {
            if numbers.len() == 2 * MAX_CORNERS {
                return Err(wrong(&format!("has more than {MAX_CORNERS} corners")));
            }
            numbers.push(number(word).ok_or_else(|| wrong("is not made of numbers"))?);
        }
        match numbers[..] {
            [_] => Err(wrong("is a code, and no place of an object")),
            [x, y, w, h] => Ok(Self { form: Form::Rectangle, bbox: BBox::new(x, y, w, h) }),
            _ => match BBox::around_polygon(&numbers) {
                Some(bbox) => Ok(Self { form: Form::Polygon, bbox }),
                None => Err(wrong("is neither left,top,width,height nor x1,y1,x2,y2,… of three corners or more")),
            },
        }
    }
}

impl Form {
    /// The text of a target at `bbox`, or of the corners of one that has turned. A polygon stays one, a rectangle stays
    /// upright; of a target that was given as a mask only the box is known. Numbers have as many decimals as in all
    /// results.
    pub fn write(self, bbox: BBox, corners: Option<[f64; 8]>) -> String {
        let BBox { x, y, w, h } = bbox;
        let number = |number: &f64| rounded(*number, BOX_DIGITS).to_string();
        let text = |numbers: &[f64]| numbers.iter().map(number).collect::<Vec<_>>().join(",");
        match (self, corners) {
            (Self::Rectangle, _) | (Self::Mask, None) => text(&[x, y, w, h]),
            (Self::Polygon | Self::Mask, Some(corners)) => text(&corners),
            (Self::Polygon, None) => text(&[x, y, x + w, y, x + w, y + h, x, y + h]),
        }
    }
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.trim().parse().ok()
}

/// The box around the object's pixels in `left,top,width,height,runs…`.
fn mask(text: &[u8]) -> Result<BBox, &'static str> {
    let mut words = text.split(|byte| *byte == b',');
    let mut place = || number::<i32>(words.next()?);
    let (left, top) = place().zip(place()).ok_or("has no corner of whole numbers")?;
    let mut size = || number::<u32>(words.next()?).map(u64::from).filter(|size| *size > 0);
    let (width, height) = size().zip(size()).ok_or("has no size of whole numbers above zero")?;
    // Rows and columns from the first pixel of the object to behind the last one.
    let (mut rows, mut columns) = ((u64::MAX, 0), (u64::MAX, 0));
    let (mut at, mut inside) = (0, false);
    for word in words {
        let run = number::<u32>(word).map(u64::from).ok_or("has a run that is no whole number")?;
        let end = at + run;
        if end > width * height {
            return Err("has runs of more pixels than its size");
        }
        if inside && run > 0 {
            let (first, last) = (at / width, (end - 1) / width);
            rows = (rows.0.min(first), rows.1.max(last + 1));
            // A run that goes over the end of a row touches both sides.
            let across = if first == last { (at % width, (end - 1) % width + 1) } else { (0, width) };
            columns = (columns.0.min(across.0), columns.1.max(across.1));
        }
        (at, inside) = (end, !inside);
    }
    if rows.1 == 0 {
        return Err("has no pixel of an object");
    }
    let span = |(from, to): (u64, u64)| (to - from) as f64;
    let (x, y) = (f64::from(left) + columns.0 as f64, f64::from(top) + rows.0 as f64);
    Ok(BBox::new(x, y, span(columns), span(rows)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (Form, [f64; 4]) {
        let Region { form, bbox } = Region::parse(text.as_bytes()).unwrap();
        (form, bbox.into())
    }

    #[test]
    fn each_form_has_its_box() {
        assert_eq!(
            read("190.0244,85.6347,97.8675,110.5902"),
            (Form::Rectangle, [190.0244, 85.6347, 97.8675, 110.5902])
        );
        assert_eq!(read("-1, 2.5,3e1,4"), (Form::Rectangle, [-1.0, 2.5, 30.0, 4.0]));
        assert_eq!(read("5,1,9,4,6,8,2,5"), (Form::Polygon, [2.0, 1.0, 7.0, 7.0]));
        assert_eq!(read("5,1,9,4,6,8"), (Form::Polygon, [5.0, 1.0, 4.0, 7.0]));
    }

    #[test]
    fn a_mask_has_the_box_of_its_pixels() {
        // Of 4 columns and 3 rows: row 1, columns 1 and 2.
        assert_eq!(read("mask:10,20,4,3,5,2"), (Form::Mask, [11.0, 21.0, 2.0, 1.0]));
        // From the middle of row 0 to the middle of row 1: all columns.
        assert_eq!(read("mask:0,0,4,3,2,4,6"), (Form::Mask, [0.0, 0.0, 4.0, 2.0]));
        assert_eq!(read("mask:-3,0,4,3,0,12"), (Form::Mask, [-3.0, 0.0, 4.0, 3.0]));
        // Two single pixels, and runs of nothing between them.
        assert_eq!(read("mask:0,0,4,3,1,1,0,0,7,1"), (Form::Mask, [1.0, 0.0, 1.0, 3.0]));
        assert_eq!(read("mask:0,0,4,3,0,0,5,2"), (Form::Mask, [1.0, 1.0, 2.0, 1.0]));
        assert_eq!(read("mask:0,0,4,3,1,0,6,1"), (Form::Mask, [3.0, 1.0, 1.0, 1.0]));
        // A whole row exactly does not reach the next one.
        assert_eq!(read("mask:0,0,4,3,4,4,4"), (Form::Mask, [0.0, 1.0, 4.0, 1.0]));
    }

    #[test]
    fn what_is_no_region_is_refused() {
        for (text, said) in [
            ("", "not made of numbers"),
            ("1,2,x,4", "not made of numbers"),
            ("1,2,3,", "not made of numbers"),
            ("7", "is a code"),
            ("1,2,3", "is neither"),
            ("1,2,3,4,5", "is neither"),
            ("1,2,3,4,5,nan", "is neither"),
            ("mask:1,2,3", "no size"),
            ("mask:1,2,3,0,1", "no size"),
            ("mask:1.5,2,3,4,1", "no corner"),
            ("mask:", "no corner"),
            ("mask:0,0,4,3", "no pixel"),
            ("mask:0,0,4,3,12", "no pixel"),
            ("mask:0,0,4,3,1,12", "more pixels"),
            ("mask:0,0,4,3,1,-1", "no whole number"),
            ("mask:0,0,4294967295,4294967295,4294967296,1", "no whole number"),
        ] {
            let reason = Region::parse(text.as_bytes()).unwrap_err();
            assert!(reason.contains(said), "{text}: {reason}");
        }
        let corners = |count: usize| vec!["1,2"; count].join(",");
        assert!(Region::parse(corners(MAX_CORNERS).as_bytes()).is_ok());
        assert!(Region::parse(corners(MAX_CORNERS + 1).as_bytes()).unwrap_err().contains("more than 16384"));
    }

    #[test]
    fn a_mask_of_absurd_size_is_only_counted() {
        let (form, bbox) = read("mask:-2147483648,2147483647,4294967295,4294967295,4294967290,10");
        assert_eq!((form, bbox[2], bbox[3]), (Form::Mask, 4_294_967_295.0, 2.0));
    }

    #[test]
    fn an_answer_has_the_form_of_the_question() {
        let bbox = BBox::new(1.0, 2.25, 10.0, 4.0);
        let corners = [5.0, 1.0, 9.0, 4.0, 6.0, 8.0, 2.0, 5.0];
        assert_eq!(Form::Rectangle.write(bbox, None), "1,2.25,10,4");
        assert_eq!(Form::Rectangle.write(bbox, Some(corners)), "1,2.25,10,4");
        assert_eq!(Form::Polygon.write(bbox, None), "1,2.25,11,2.25,11,6.25,1,6.25");
        assert_eq!(Form::Polygon.write(bbox, Some(corners)), "5,1,9,4,6,8,2,5");
        assert_eq!(Form::Mask.write(bbox, None), "1,2.25,10,4");
        assert_eq!(Form::Mask.write(bbox, Some(corners)), "5,1,9,4,6,8,2,5");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(mask:)?[0-9,.:naief-]{0,40}") {
            let _ = Region::parse(text.as_bytes());
        }

        #[test]
        fn a_mask_is_bounded_as_its_pixels_are(
            width in 1..9usize, bits in prop::collection::vec(any::<bool>(), 1..60),
        ) {
            let height = bits.len().div_ceil(width);
            let mut runs = vec![0];
            let mut value = false;
            for &bit in &bits {
                if bit != value {
                    runs.push(0);
                    value = bit;
                }
                *runs.last_mut().unwrap() += 1;
            }
            let runs: Vec<_> = runs.iter().map(i32::to_string).collect();
            let read = Region::parse(format!("mask:3,5,{width},{height},{}", runs.join(",")).as_bytes());
            let on: Vec<_> = (0..bits.len()).filter(|&at| bits[at]).map(|at| (at % width, at / width)).collect();
            let bounds = |axis: fn(&(usize, usize)) -> usize| on.iter().map(axis).min().zip(on.iter().map(axis).max());
            let expected = bounds(|at| at.0).zip(bounds(|at| at.1)).map(|(x, y)| {
                [3 + x.0, 5 + y.0, x.1 - x.0 + 1, y.1 - y.0 + 1].map(|v| v as f64).into()
            });
            prop_assert_eq!(read.ok().map(|region| region.bbox), expected);
        }
    }
}
