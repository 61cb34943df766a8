//! What is odd about a folder of images, for whoever takes every one of them for a frame.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::folder::{Listing, file_name, number};
use super::header::peculiarities;

/// Sentences on the `images` of a sequence. `listing` is of the folder that was given, `beside` the images in it that
/// are not read because `images` lie in a folder of their own.
pub(super) fn oddities(listing: &Listing, images: &[PathBuf], beside: &[PathBuf]) -> Vec<String> {
    let mut said = Vec::new();
    let folder = images.first().and_then(|image| image.parent()).unwrap_or(Path::new("."));
    let here = folder.display();
    if let Some(both) = mixed_extensions(images) {
        said.push(format!("{here}: images of several formats ({both}) are read as one sequence"));
    }
    if let Some(first) = beside.first() {
        let count = beside.len();
        said.push(format!(
            "{here}: the frames are read from here; {count} images beside it, such as {}, are not",
            file_name(first)
        ));
    }
    for name in &listing.folders_like_images {
        said.push(format!("{here}: {name} is a folder, and no frame"));
    }
    if let Some((before, after, gaps)) = gap(images) {
        let more = if gaps > 1 { format!(" and {} more", gaps - 1) } else { String::new() };
        said.push(format!(
            "{here}: the numbers of the images have a gap, from {} to {}{more}: frames are taken one after the other \
             all the same",
            file_name(before),
            file_name(after)
        ));
    }
    said.extend(images.first().into_iter().flat_map(|image| peculiarities(image)));
    said
}

/// The images before and after the first gap in the numbers, and how many gaps there are. Numbers that rise by the same
/// step in at least every other place count frames; others are times, or nothing.
fn gap(images: &[PathBuf]) -> Option<(&Path, &Path, usize)> {
    let numbers: Vec<usize> = images.iter().map(|image| number(image)).collect::<Option<_>>()?;
    let steps: Vec<usize> = numbers.windows(2).map(|pair| pair[1].checked_sub(pair[0])).collect::<Option<_>>()?;
    let mut counts = BTreeMap::new();
    steps.iter().for_each(|step| *counts.entry(*step).or_insert(0usize) += 1);
    // Of steps that are equally common the smallest.
    let (&usual, &count) = counts.iter().min_by_key(|(step, count)| (std::cmp::Reverse(**count), **step))?;
    if usual == 0 || count * 2 < steps.len() {
        return None;
    }
    let gaps = steps.iter().filter(|&&step| step > usual).count();
    let first = steps.iter().position(|&step| step > usual)?;
    Some((&images[first], &images[first + 1], gaps))
}

/// The extensions of the images, when there are several formats.
fn mixed_extensions(images: &[PathBuf]) -> Option<String> {
    let mut extensions: Vec<_> = images
        .iter()
        .map(|image| image.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase())
        .map(|extension| if extension == "jpeg" { "jpg".to_string() } else { extension })
        .collect();
    extensions.sort();
    extensions.dedup();
    (extensions.len() > 1).then(|| extensions.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_step_larger_than_the_usual_one() {
        let of = |numbers: &[usize]| {
            let images: Vec<PathBuf> = numbers.iter().map(|number| format!("a/{number}.png").into()).collect();
            gap(&images).map(|(before, after, gaps)| (number(before).unwrap(), number(after).unwrap(), gaps))
        };
        assert_eq!(of(&[1, 2, 3, 5, 6, 9]), Some((3, 5, 2)));
        assert_eq!(of(&[0, 10, 20, 40]), Some((20, 40, 1)));
        assert_eq!(of(&[1, 2, 10]), Some((2, 10, 1)));
        // Counted without gaps; by times; doubled; nothing to count.
        for fine in [&[1, 2, 3][..], &[0, 10, 20], &[100, 133, 167, 200, 234, 266], &[1, 1, 2, 2], &[7], &[]] {
            assert_eq!(of(fine), None, "{fine:?}");
        }
    }
}
