//! The part of the page about the sequences that a tracker failed on.

use super::filmstrip::{Picture, Strip};
use super::html::escape;
use crate::bbox::BBox;
use crate::eval::Protocol;

/// What became of the tracker `focus` on its worst sequences.
pub(super) fn failures(protocol: Protocol, focus: &str, strips: &[Strip]) -> String {
    if strips.is_empty() {
        return format!(
            "<p>{} covers the target at least half of the time in every sequence that it was scored on.</p>\n",
            escape(focus)
        );
    }
    let mut text = format!(
        "<p>The sequences on which <b>{}</b> does worst.<span class=\"key t\"></span>label<span class=\"key \
         p\"></span>{0}</p>\n",
        escape(focus)
    );
    for strip in strips {
        let lost = strip
            .lost_at
            .map_or("never without any overlap".into(), |at| format!("target lost at frame {at} of {}", strip.frames));
        // Pictures and loss are of one run.
        let auc = match protocol {
            Protocol::Ope => format!("AUC {:.3}, ", strip.auc),
            Protocol::Tre | Protocol::Sre => format!("AUC of all runs {:.3}; first run: ", strip.auc),
        };
        text += &format!(
            "<div class=\"strip\"><h3>{} <span class=\"soft\">{auc}{lost}</span></h3>\n<div class=\"frames\">\n",
            escape(&strip.sequence)
        );
        for picture in &strip.pictures {
            text += &framed(picture);
        }
        text += "</div></div>\n";
    }
    text
}

fn framed(picture: &Picture) -> String {
    let (width, height) = picture.size;
    let rect = |class: &str, b: &BBox| {
        format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            b.x,
            b.y,
            b.w.max(0.0),
            b.h.max(0.0)
        )
    };
    let image = picture.jpeg.as_ref().map_or(String::new(), |data| {
        format!(
            "<image href=\"data:image/jpeg;base64,{data}\" width=\"{width}\" height=\"{height}\" \
            preserveAspectRatio=\"none\"/>"
        )
    });
    let truth = picture.truth.as_ref().map_or(String::new(), |b| rect("truth", b));
    let predicted = if picture.predicted.is_valid() { rect("predicted", &picture.predicted) } else { String::new() };
    let (w, h) = (width as f64, height as f64);
    let outside = picture.predicted.intersection(&BBox::new(0.0, 0.0, w, h)) <= 0.0;
    let outside = if outside { ", box outside the frame" } else { "" };
    let overlap = picture.overlap.map_or("no label".into(), |o| format!("overlap {o:.2}"));
    format!(
        "<figure><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"frame \
         {0}\">{image}{truth}{predicted}</svg>\
         <figcaption>#{0} {1}, {overlap}{outside}</figcaption></figure>\n",
        picture.number, picture.caption
    )
}
