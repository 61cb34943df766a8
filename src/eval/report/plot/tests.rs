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

#[test]
fn a_line_round_the_spokes_is_broken_where_there_is_no_value() {
    let spokes = |values: &[f64]| -> Vec<Vec<usize>> {
        pieces(values, values.len()).iter().map(|piece| piece.iter().map(|&(i, _)| i).collect()).collect()
    };
    let (v, none) = (0.5, f64::NAN);
    assert_eq!(spokes(&[v, v, v]), [[0, 1, 2, 0]]);
    assert_eq!(spokes(&[v, v, none, v]), [[3, 0, 1]]);
    assert_eq!(spokes(&[none, v, none, v, v]), [vec![1], vec![3, 4]]);
    assert!(spokes(&[none; 3]).is_empty());
}

#[test]
fn a_radar_of_any_number_of_spokes_is_drawn() {
    for n in [0, 1, 2, 11] {
        let labels: Vec<String> = (0..n).map(|i| format!("A{i} (3)")).collect();
        let plot = radar("AUC by attribute".into(), labels, 0.8, &series()).unwrap();
        assert_eq!(plot.svg.matches("(3)").count(), n);
    }
}
