//! From the bytes of a file to rows.

use super::mot::{self, Entry};
use super::{Base, Row};
use crate::bbox::BBox;

/// The 1-based line and what is wrong with it.
type Wrong = (usize, String);

/// Longest piece of a bad line that an error repeats, in characters.
const SHOWN: usize = 40;

/// Most numbers of a line of any dialect.
const MOST: usize = 10;

/// What the lines of a file are.
#[derive(Debug)]
pub(super) enum Content {
    /// A row a frame.
    Rows(Vec<Row>),
    /// A line a frame and target.
    Mot(Vec<Entry>),
}

/// What one line is.
enum Line {
    Box([f64; 4]),
    Mot(Entry),
}

pub(super) fn content(bytes: &[u8], base: Base) -> Result<Content, Wrong> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let readable = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        (lines(readable).count().max(1), "this is no text in UTF-8".to_string())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let of_mot = without_visibility(text);
    let (mut rows, mut entries) = (Vec::new(), Vec::new());
    // Rows of blank lines are held back until a line with content shows that they stand in the middle.
    let mut blank = 0;
    for (index, line) in lines(text).enumerate() {
        if line.trim().is_empty() {
            blank += 1;
            continue;
        }
        let wrong = |reason: String| (index + 1, reason);
        match read(line, of_mot).map_err(wrong)? {
            Line::Box(numbers) => {
                rows.resize(rows.len() + blank, Row::new([f64::NAN; 4], base));
                rows.push(Row::new(numbers, base));
            }
            Line::Mot(entry) => entries.push(entry),
        }
        if !rows.is_empty() && !entries.is_empty() {
            return Err(wrong(format!("`{}` is of another form than the lines before it", shortened(line))));
        }
        blank = 0;
    }
    Ok(if entries.is_empty() { Content::Rows(rows) } else { Content::Mot(entries) })
}

/// The lines of a text, ended by LF, CR or CR LF. Several CR before an LF are one end: text that was converted twice.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    // Ends of lines that follow each other, and have been passed over.
    let mut empty = 0;
    std::iter::from_fn(move || {
        if empty > 0 {
            empty -= 1;
            return Some("");
        }
        let here = rest?;
        let Some(end) = here.find(['\r', '\n']) else {
            rest = None;
            return Some(here);
        };
        let after = here[end..].trim_start_matches('\r');
        rest = Some(after.strip_prefix('\n').unwrap_or_else(|| {
            // The whole run at once: looked through anew for each of its ends, a long one would take for ever.
            empty = here.len() - end - after.len() - 1;
            after
        }));
        Some(&here[..end])
    })
}

/// Whether all lines have the eight numbers of MOT without a visibility, a target's frames in order.
fn without_visibility(text: &str) -> bool {
    let mut last = (0, 0);
    lines(text).filter(|line| !line.trim().is_empty()).all(|line| {
        let eight = numbers(line).ok().filter(|(_, count, _)| *count == 8);
        eight.and_then(|(numbers, ..)| Entry::read(&numbers[..8]).ok().flatten()).is_some_and(|entry| {
            let (frame, target) = std::mem::replace(&mut last, (entry.frame, entry.target));
            entry.frame >= frame || entry.target != target
        })
    })
}

/// The first numbers of a line, how many it has, and whether they are all NaN.
fn numbers(line: &str) -> Result<([f64; MOST], usize, bool), String> {
    let words = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|word| !word.is_empty());
    // The longest known line has ten numbers; of a longer one only the count is of interest.
    let mut numbers = [f64::NAN; MOST];
    let mut count = 0;
    let mut nan_only = true;
    for word in words {
        let value: f64 = word.parse().map_err(|_| format!("`{}` is not a number", shortened(word)))?;
        nan_only &= value.is_nan();
        if let Some(place) = numbers.get_mut(count) {
            *place = value;
        }
        count += 1;
    }
    Ok((numbers, count, nan_only))
}

/// What one line says; of eight numbers it is told whether they are of MOT.
fn read(line: &str, of_mot: bool) -> Result<Line, String> {
    let (numbers, count, nan_only) = numbers(line)?;
    let known = numbers.get(..count).unwrap_or_default();
    match known {
        &[x, y, w, h] => return Ok(Line::Box([x, y, w, h])),
        _ if nan_only => return Ok(Line::Box([f64::NAN; 4])),
        polygon if count == 8 && !of_mot => {
            return Ok(Line::Box(BBox::around_polygon(polygon).map_or([f64::NAN; 4], Into::into)));
        }
        _ => {}
    }
    if let Some(entry) = Entry::read(known)? {
        return Ok(Line::Mot(entry));
    }
    let numbers = if count == 1 { "one number".to_owned() } else { format!("{count} numbers") };
    let fault = mot::fault(known).map_or_else(String::new, |fault| format!(", which are not MOT's, as {fault}"));
    Err(format!(
        "{numbers} in `{}`{fault}: known are 4 (x,y,w,h), 8 (a polygon x1,y1,…,x4,y4) and the 8 to 10 of MOT, \
         whose frames count from 1 (frame,id,x,y,w,h,conf,class,visibility, where the visibility of -1 to 1 may \
         be missing, or frame,id,x,y,w,h,conf,x,y,z)",
        shortened(line)
    ))
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::media::annotation::{Annotations, format_row};

    fn boxes(text: &str) -> Vec<Option<[f64; 4]>> {
        let read = Annotations::parse(text.as_bytes(), "truth.txt", Base::One).unwrap();
        read.boxes().into_iter().map(|bbox| bbox.map(Into::into)).collect()
    }

    const BOX: Option<[f64; 4]> = Some([197.0, 213.0, 34.0, 81.0]);

    #[test]
    fn every_separator_reads_the_same() {
        for line in [
            "198,214,34,81",
            "198\t214\t34\t81",
            "198 214 34 81",
            "198;214;34;81",
            "198, 214, 34, 81",
            "  198.0 ,\t214 ;34   81,  ",
            "1.98e2,+214.,34.000,81",
        ] {
            assert_eq!(boxes(line), [BOX], "{line}");
        }
    }

    #[test]
    fn eight_numbers_are_a_polygon_or_mot_without_a_visibility() {
        let read = |text: &str| Annotations::parse(text.as_bytes(), "gt.txt", Base::One).unwrap();
        let mot = read("1,7,13,45,38,60,1,1\n2,7,13,44,38,60,1,1\n2,8,1,1,2,2,0,12\n");
        let boxes: Vec<_> = mot.boxes().into_iter().flatten().map(<[f64; 4]>::from).collect();
        assert_eq!(boxes, [[12.0, 44.0, 38.0, 60.0], [12.0, 43.0, 38.0, 60.0]]);
        // Frames that go back, an unknown class, a frame 0, a corner within the picture: corners, all of them.
        for polygon in [
            "2,7,13,45,38,60,1,1\n1,7,13,44,38,60,1,1",
            "1,7,13,45,38,60,1,100",
            "1,7,13,45,38,60,1,1.5",
            "0,7,13,45,38,60,1,1",
            "1,7,13,45,38,60,2,1",
            "1,7,13,45,38,60,1,1\n5.5,7,13,45,38,60,1,1",
        ] {
            let boxes: Vec<_> = read(polygon).boxes().into_iter().flatten().map(<[f64; 4]>::from).collect();
            assert_ne!(boxes[0][3], 60.0, "{polygon}");
        }
    }

    #[test]
    fn separators_and_line_ends_may_change_within_a_file() {
        let text =
            "\u{feff}198,214,34,81\n198\t214\t34\t81\r\n198 214 34 81\r198;214;34;81\r\r\n198,214\t34 81\n\n  \r\n";
        assert_eq!(boxes(text), [BOX; 5]);
    }

    #[test]
    fn a_long_run_of_line_ends_is_read_once() {
        let begun = std::time::Instant::now();
        assert_eq!(boxes(&format!("198,214,34,81{}", "\r".repeat(300_000))), [BOX]);
        assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
    }

    #[test]
    fn rows_without_a_box_keep_their_place() {
        let without = ["", "NaN,NaN,NaN,NaN", "0,0,0,0", "nan", ",,,", "10,10,-3,4", "10,NaN,3,4", "inf,1,2,3"];
        let read = boxes(&format!("198,214,34,81\n{}\n198,214,34,81\n\n\n", without.join("\n")));
        assert_eq!(read.len(), 10);
        assert_eq!((read[0], read[9]), (BOX, BOX));
        assert!(read[1..9].iter().all(Option::is_none), "{read:?}");
        assert_eq!(boxes("\r\r198,214,34,81"), [None, None, BOX]);
        assert_eq!(lines("a\r\r\rb\r\r\nc\n\rd\r").collect::<Vec<_>>(), ["a", "", "", "b", "c", "", "d", ""]);
        assert!(boxes("").is_empty() && boxes("\n\n \n").is_empty() && boxes("\u{feff}").is_empty());
    }

    #[test]
    fn polygons_become_boxes() {
        assert_eq!(boxes("6,2,10,5,7,9,3,6"), [Some([2.0, 1.0, 7.0, 7.0])]);
        assert_eq!(boxes("NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN\n6,2,10,5,7,NaN,3,6\n1,1,5,1,9,1,2,1"), [None, None, None]);
    }

    #[test]
    fn columns_of_no_known_dialect_are_refused_with_those_that_are_known() {
        for (line, count) in [
            ("1,2,3,4,5", "5 numbers"),
            // MOT without its confidence, which could as well be a triangle.
            ("1,1,912,484,97,109", "6 numbers"),
            ("1,1,912,484,97,109,1", "7 numbers"),
            // ALOV's frame and polygon: its second number is no target.
            ("1,10.5,20,30,20,30,40,10,40", "9 numbers"),
            ("1,2,3,4,5,6,7,8,9,10,11,12", "12 numbers"),
        ] {
            let error = Annotations::parse(line.as_bytes(), "truth.txt", Base::One).unwrap_err().to_string();
            assert!(error.contains(count) && error.contains("x,y,w,h"), "{line}: {error}");
            assert!(error.contains("frame,id,x,y,w,h,conf,class,visibility"), "{line}: {error}");
        }
    }

    #[test]
    fn a_line_of_mots_length_that_is_none_of_mot_says_why() {
        for (line, why) in [
            ("0,3,13,45,38,60,1,1,0.9", "its frame is 0"),
            ("1.5,3,13,45,38,60,1,1,0.9", "its frame is 1.5"),
            // Detections, which are of no target.
            ("1,-1,794,247,71,174,4.5,-1,-1,-1", "its target is -1"),
            ("1,3,13,45,38,60,1,1.5,0.9", "its class is 1.5"),
            ("1,3,13,45,38,60,1,1,7", "its visibility is 7"),
        ] {
            let error = Annotations::parse(line.as_bytes(), "gt.txt", Base::One).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
    }

    #[test]
    fn raw_numbers_stay_as_they_are_in_the_file() {
        let read = Annotations::parse(b"0,-10,16.5,26", "truth.txt", Base::One).unwrap();
        assert_eq!(read.rows()[0].numbers(), [0.0, -10.0, 16.5, 26.0]);
        assert_eq!(read.boxes()[0].unwrap(), BBox::new(-1.0, -11.0, 16.5, 26.0));
    }

    #[test]
    fn errors_name_file_line_and_word() {
        let error = |bytes: &[u8]| Annotations::parse(bytes, "a/truth.txt", Base::One).unwrap_err().to_string();
        assert_eq!(error(b"1,2,3,4\r\n\r\n1,2,x3,4"), "a/truth.txt, line 3: `x3` is not a number");
        assert!(error(b"1,2,3,4\n1,2,3").starts_with("a/truth.txt, line 2: 3 numbers in `1,2,3`"));
        assert!(error(b"1,2,3,4,5,6,7").contains("7 numbers"));
        assert!(error(b"1").contains("one number"));
        assert_eq!(error(b"1,2,3,4\r1,2\xff,3,4\n"), "a/truth.txt, line 2: this is no text in UTF-8");
        // UTF-16, as Windows may write it.
        assert!(error(b"\xff\xfe1\x00,\x002\x00").contains("UTF-8"));
        assert!(error("é".repeat(100).as_bytes()).len() < 200);
    }

    #[test]
    fn a_large_file_is_read() {
        let text = "198,214,34,81\r\n".repeat(200_000);
        assert_eq!(boxes(&text).len(), 200_000);
        let line = "1,2,".repeat(100_000);
        let error = Annotations::parse(line.as_bytes(), "truth.txt", Base::One).unwrap_err().to_string();
        assert!(error.contains("200000 numbers") && error.len() < 400, "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Annotations::parse(&bytes, "t", Base::One);
        }

        #[test]
        fn no_almost_sensible_text_panics(text in "[0-9eE+\\-.,;\t nNaAiIfF\r\n\u{feff}é]{0,120}") {
            let _ = Annotations::parse(text.as_bytes(), "t", Base::Zero);
        }

        #[test]
        fn what_is_written_is_read_back(
            quarters in prop::collection::vec(
                (-40_000..40_000i32, -40_000..40_000i32, 1..40_000i32, 1..40_000i32, any::<bool>()), 1..40,
            ),
            one in any::<bool>(),
            end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        ) {
            let base = if one { Base::One } else { Base::Zero };
            let boxes: Vec<_> = quarters.iter().map(|&(x, y, w, h, there)| {
                let quarter = |v: i32| f64::from(v) / 4.0;
                there.then(|| BBox::new(quarter(x), quarter(y), quarter(w), quarter(h)))
            }).collect();
            let text: String = boxes.iter().map(|&bbox| format_row(bbox, base) + end).collect();
            prop_assert_eq!(Annotations::parse(text.as_bytes(), "t", base).unwrap().boxes(), boxes);
        }

        #[test]
        fn any_finite_box_survives_to_the_last_bit_but_one(
            x in -1e6..1e6f64, y in -1e6..1e6f64, w in 1e-3..1e6f64, h in 1e-3..1e6f64,
        ) {
            let bbox = BBox::new(x, y, w, h);
            let row = format_row(Some(bbox), Base::One);
            let read = Annotations::parse(row.as_bytes(), "t", Base::One).unwrap().rows()[0].bbox().unwrap();
            for (read, wanted) in [(read.x, x), (read.y, y)] {
                prop_assert!((read - wanted).abs() <= f64::EPSILON * (wanted.abs() + 1.0));
            }
            prop_assert_eq!((read.w, read.h), (w, h));
        }
    }
}
