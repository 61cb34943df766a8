//! Plots: what is in them.

use super::super::series::COLORS;
use super::*;

fn series() -> Vec<Series> {
    (0..12)
        .map(|i| Series {
            name: format!("tracker <{i}> & co"),
            score: 0.5 - i as f64 / 100.0,
            style: i,
            emphasis: i == 3,
            values: (0..21).map(|t| (1.0 - t as f64 / 20.0).powf(1.0 + i as f64 / 4.0)).collect(),
        })
        .collect()
}

fn axes() -> Axes {
    Axes { title: "Success".into(), x_label: "Overlap threshold", y_label: "Success rate", x_max: 1.0, x_decimals: 1 }
}

#[test]
fn legends_are_sorted_and_escaped() {
    let mut unsorted = series();
    unsorted.reverse();
    let plot = curves(axes(), &unsorted).unwrap();
    let places: Vec<usize> =
        (0..12).map(|i| plot.svg.find(&format!("tracker &lt;{i}&gt; &amp; co [0.")).unwrap()).collect();
    assert!(places.is_sorted());
    assert!(plot.svg.contains("[0.500]") && plot.svg.contains("Overlap threshold"));
    assert!(plot.svg.contains(r#"font-size="15.3""#) && !plot.svg.contains(r#"font-size="15.32"#), "{}", plot.svg);
}

#[test]
fn both_forms_hold_the_curves() {
    let plot = curves(axes(), &series()).unwrap();
    for color in &COLORS[..12] {
        let RGBColor(r, g, b) = *color;
        assert!(plot.svg.contains(&format!("#{r:02X}{g:02X}{b:02X}")), "{color:?} is missing");
    }
    let picture = image::load_from_memory(&plot.png().unwrap()).unwrap().into_rgb8();
    assert_eq!(picture.height(), HEIGHT * PNG_SCALE);
    let RGBColor(r, g, b) = COLORS[0];
    assert!(picture.pixels().filter(|p| p.0 == [r, g, b]).count() > 500);
}

#[test]
fn the_same_series_give_the_same_bytes() {
    let (a, b) = (curves(axes(), &series()).unwrap(), curves(axes(), &series()).unwrap());
    assert_eq!((&a.svg, a.png().unwrap()), (&b.svg, b.png().unwrap()));
}
