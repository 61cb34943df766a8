//! The box on the command line, `x,y,w,h`.

use kcf_track::BBox;

/// Reads `x,y,w,h`: four numbers separated by commas or blanks, 0-based pixels, of positive size.
pub fn parse(text: &str) -> Result<BBox, String> {
    let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
    let numbers = parts
        .map(|part| part.parse::<f64>().map_err(|_| format!("`{part}` is no number")))
        .collect::<Result<Vec<_>, _>>()?;
    let [x, y, w, h] = numbers[..] else {
        return Err(format!("four numbers x,y,w,h are needed, {} were given", numbers.len()));
    };
    if numbers.iter().any(|v| !v.is_finite()) {
        return Err("all four numbers must be finite".into());
    }
    if w <= 0.0 || h <= 0.0 {
        return Err(format!("width and height must be above zero, not {w} and {h}"));
    }
    Ok(BBox::new(x, y, w, h))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_four_numbers_of_positive_size() {
        assert_eq!(parse("1,2.5,3,4"), Ok(BBox::new(1.0, 2.5, 3.0, 4.0)));
        assert_eq!(parse(" -1, 2 3,4 "), Ok(BBox::new(-1.0, 2.0, 3.0, 4.0)));
        for wrong in ["", "1,2,3", "1,2,3,4,5", "1,2,x,4", "1,2,NaN,4", "1,2,inf,4", "1,2,0,4", "1,2,3,-4"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
