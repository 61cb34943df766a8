use std::fs;

use super::*;
use crate::export::CropShape;
use crate::export::tests::run;
use crate::frame::Channels;
use crate::media::decode;

fn opened(path: &Path) -> RgbImage {
    let picture = decode(path, Channels::Color).unwrap();
    let (width, height) = (picture.as_frame().width(), picture.as_frame().height());
    let rows = (0..height).flat_map(|y| picture.as_frame().row(y).to_vec()).collect();
    RgbImage::from_raw(width as u32, height as u32, rows).unwrap()
}

fn record(bbox: BBox) -> FrameRecord {
    FrameRecord { file: "0002.png".into(), bbox, ..run().1[1].clone() }
}

fn run_of(width: usize, height: usize) -> Run {
    let mut run = run().0;
    (run.source.width, run.source.height) = (width, height);
    run
}

/// Writes one frame into a folder.
fn overlay(folder: &Path, frame: &FrameResult<'_>) -> Result<()> {
    let mut overlays = Box::new(Overlays::create(&folder.into(), OverlayOptions::default())?);
    overlays.write(frame)?;
    overlays.finish(frame.run, &Summary::default())
}

#[test]
fn boxes_have_the_colours_of_their_states() {
    let folder = tempfile::tempdir().unwrap();
    let (pixels, run) = (vec![40; 160 * 120 * 3], run_of(160, 120));
    let pixels = Some(Frame::rgb(&pixels, 160, 120).unwrap());
    let truth = Some(BBox::new(60.0, 60.0, 30.0, 20.0));
    let records = [record(BBox::new(50.0, 50.0, 30.0, 20.0))];
    overlay(folder.path(), &FrameResult { pixels, truth, ..FrameResult::new(&run, &records) }).unwrap();
    let picture = opened(&folder.path().join("0002.png"));
    assert_eq!(picture.dimensions(), (160, 120));
    assert_eq!(*picture.get_pixel(49, 55), ink(State::Tracking));
    assert_eq!(*picture.get_pixel(50, 55), Rgb([40; 3]));
    assert_eq!(*picture.get_pixel(60, 75), TRUTH);
    assert_eq!(*picture.get_pixel(120, 100), Rgb([40; 3]));
    assert!(picture.enumerate_pixels().any(|(_, y, pixel)| y < 20 && pixel[0] > 200), "no caption");

    let two = [(20.0, State::Tracking), (100.0, State::Lost)].map(|(x, state)| FrameRecord {
        id: Some(x as u32),
        state,
        ..record(BBox::new(x, 60.0, 30.0, 20.0))
    });
    overlay(folder.path(), &FrameResult { pixels, ..FrameResult::new(&run, &two) }).unwrap();
    let picture = opened(&folder.path().join("0002.png"));
    let [first, second] = two.each_ref().map(color_of);
    assert_ne!(first, second, "colours tell targets apart");
    assert_eq!((*picture.get_pixel(19, 61), *picture.get_pixel(99, 61)), (first, second));
    assert!((60..80).any(|y| *picture.get_pixel(99, y) == BLACK), "a lost target is dashed");
    assert!((60..80).all(|y| *picture.get_pixel(19, y) == first));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "a picture and the index");

    // A square that stands on a corner.
    let polygon = Some([60.0, 40.0, 80.0, 60.0, 60.0, 80.0, 40.0, 60.0]);
    let turned = [FrameRecord { polygon, ..record(BBox::new(46.0, 46.0, 28.0, 28.0)) }];
    overlay(folder.path(), &FrameResult { pixels, ..FrameResult::new(&run, &turned) }).unwrap();
    let picture = opened(&folder.path().join("0002.png"));
    assert_eq!((*picture.get_pixel(50, 50), *picture.get_pixel(60, 80)), (ink(State::Tracking), ink(State::Tracking)));
    assert_eq!(*picture.get_pixel(73, 46), Rgb([40; 3]), "no upright box");
}

#[test]
fn no_box_and_no_size_panics() {
    let letters = font();
    let far = [-1e300, -1e6, -5.0, 0.0, 0.4, 7.0, 1e6, 1e300, f64::NAN, f64::INFINITY];
    for (width, height) in [(1, 1), (1, 40), (40, 1), (90, 40)] {
        for (x, w) in far.iter().flat_map(|x| far.map(|w| (*x, w))) {
            let bbox = BBox::new(x, x, w, w);
            let drawn =
                || Drawn { record: record(bbox), who: "1".into(), trail: vec![(x as f32, x as f32), (w as f32, 3.0)] };
            for targets in [vec![drawn()], vec![drawn(), drawn()]] {
                let picture = RgbImage::new(width, height);
                let inset = Some(ndarray::array![[x as f32, w as f32]]);
                let truth = Some(bbox).filter(BBox::is_valid);
                Painting { picture, targets, truth, inset, ..Painting::default() }.paint(&letters);
            }
        }
    }
}

#[test]
fn a_jpeg_stays_a_jpeg_and_no_other_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (source, out) = (folder.path().join("0001.JPG"), folder.path().join("out"));
    fs::write(&source, "the frame").unwrap();
    let pixels: Vec<u8> = (0..64 * 48).flat_map(|i| [(i % 64) as u8 * 3, (i / 64) as u8 * 4, 90]).collect();
    let run = run_of(64, 48);
    let records = [FrameRecord { file: "0001.JPG".into(), ..record(BBox::new(30.0, 20.0, 10.0, 10.0)) }];
    let pixels = Some(Frame::rgb(&pixels, 64, 48).unwrap());
    let frame = FrameResult { pixels, ..FrameResult::new(&run, &records) };
    overlay(&out, &frame).unwrap();
    let drawn = opened(&out.join("0001.JPG"));
    let distance = drawn.get_pixel(60, 40).0.iter().zip([180, 160, 90]).map(|(a, b): (_, u8)| a.abs_diff(b));
    assert!(distance.max() < Some(16));
    assert!(matches!(overlay(folder.path(), &frame), Err(Error::Output { .. })));
    assert_eq!(fs::read_to_string(&source).unwrap(), "the frame");
}

#[test]
fn an_unreadable_frame_is_an_empty_picture_with_the_last_box() {
    let (out, run) = (tempfile::tempdir().unwrap(), run().0);
    let mut overlays = Box::new(Overlays::create(&out.path().into(), OverlayOptions::default()).unwrap());
    let other = vec![90; 65 * 48];
    for (number, pixels) in [(2, None), (3, Frame::gray(&other, 65, 48).ok())] {
        let bbox = BBox::new(20.0, 30.0, 16.0, 12.0);
        let records = [FrameRecord { file: format!("{number}.png"), state: State::Missing, ..record(bbox) }];
        overlays.write(&FrameResult { pixels, ..FrameResult::new(&run, &records) }).unwrap();
    }
    overlays.finish(&run, &Summary::default()).unwrap();
    for number in [2, 3] {
        let picture = opened(&out.path().join(format!("{number}.png")));
        assert_eq!(picture.dimensions(), (64, 48));
        assert_eq!((*picture.get_pixel(19, 35), *picture.get_pixel(24, 33)), (ink(State::Missing), NO_PICTURE));
    }
}

#[test]
fn a_picture_that_cannot_be_written_is_an_error_of_the_run() {
    let out = tempfile::tempdir().unwrap();
    // A folder in the place of the file.
    fs::create_dir(out.path().join("0003.png")).unwrap();
    let mut painters = Painters::start(vec![None]).unwrap();
    let painting = Painting { picture: RgbImage::new(8, 8), ..Painting::default() };
    painters
        .paint(Job { painting, file: Some(AtomicFile::create(&out.path().join("0003.png")).unwrap()), time: None })
        .unwrap();
    let error = painters.join().unwrap_err();
    assert!(error.to_string().contains("0003.png"), "{error}");
}

#[test]
fn a_caption_drops_psr_and_peak_first() {
    let mut record = run().1[1].clone();
    let parts = ["#2", "tracking", "confidence 0.75", "decision 0.25", "peak 0.50", "PSR 9.1"];
    assert_eq!(parts_of_one(&record, None, (64, 48)), parts);
    record.state = State::Initial;
    assert_eq!(parts_of_one(&record, None, (64, 48)), ["#2", "initial", "decision 0.25"]);

    // A portrait picture has no space for the whole line: it shows the first parts alone.
    let drawn = |parts: &[&str]| {
        let mut picture = RgbImage::from_pixel(360, 640, Rgb([200; 3]));
        let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
        caption(&mut picture, &parts, Some(TRUTH), &[], None, &font());
        picture
    };
    assert!(drawn(&parts) == drawn(&parts[..3]) && drawn(&parts) != drawn(&parts[..2]));
}

/// Writes frames of noise with a target at these places, and returns the pictures.
fn pictures_of(options: OverlayOptions, boxes: &[BBox]) -> Vec<RgbImage> {
    let (folder, run) = (tempfile::tempdir().unwrap(), run_of(160, 120));
    let noise: Vec<u8> = (0..160 * 120 * 3_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut overlays = Box::new(Overlays::create(&folder.path().into(), options).unwrap());
    for (index, bbox) in (1..).zip(boxes) {
        let records = [FrameRecord { index, file: format!("{index}.png"), ..record(*bbox) }];
        let pixels = Some(Frame::rgb(&noise, 160, 120).unwrap());
        overlays.write(&FrameResult { pixels, ..FrameResult::new(&run, &records) }).unwrap();
    }
    overlays.finish(&run, &Summary::default()).unwrap();
    (1..=boxes.len()).map(|index| opened(&folder.path().join(format!("{index}.png")))).collect()
}

/// The largest difference of neighbours in a row, from `x` on: noise has a large one, what is hidden a small one or none.
fn contrast(picture: &RgbImage, y: u32, x: std::ops::Range<u32>) -> u8 {
    let differences = x.map(|x| picture.get_pixel(x, y)[0].abs_diff(picture.get_pixel(x + 1, y)[0]));
    differences.max().unwrap_or(0)
}

#[test]
fn the_target_or_the_rest_is_hidden() {
    let within = BBox::new(60.0, 40.0, 40.0, 40.0);
    for (veil, most) in [(Veil::Blur, 40), (Veil::Pixelate, 120)] {
        for (hidden, inside_is_hidden) in [(Hidden::Target, true), (Hidden::Rest, false)] {
            let options =
                OverlayOptions { style: Style::None, hidden: Some((veil, hidden)), ..OverlayOptions::default() };
            // Boxes across the border, outside, and without finite numbers are defined, too.
            let odd = [
                BBox::new(-20.0, -20.0, 50.0, 50.0),
                BBox::new(500.0, 0.0, 9.0, 9.0),
                BBox::new(f64::NAN, 0.0, 1.0, 1.0),
            ];
            let pictures = pictures_of(options, &[&[within][..], &odd].concat());
            let (inside, outside) = (contrast(&pictures[0], 60, 61..99), contrast(&pictures[0], 10, 5..150));
            let (veiled, clear) = if inside_is_hidden { (inside, outside) } else { (outside, inside) };
            assert!(veiled < most && clear > 200, "{veil:?} {hidden:?}: {veiled} {clear}");
            assert_eq!(contrast(&pictures[1], 10, 1..20) < most, inside_is_hidden, "at the border");
            assert_eq!(contrast(&pictures[2], 60, 5..150) > 200, inside_is_hidden, "off the picture");
            assert_eq!(contrast(&pictures[3], 60, 5..150) > 200, inside_is_hidden, "without a box");
        }
    }
    // Stripes of a tenth of the box are gone, at its rim and in the corners of a turned target too.
    let stripes = RgbImage::from_fn(160, 120, |x, _| Rgb([if x % 8 < 4 { 0 } else { 255 }; 3]));
    let upright = record(within);
    let turned = FrameRecord { polygon: Some([80.0, 20.0, 120.0, 60.0, 80.0, 100.0, 40.0, 60.0]), ..upright.clone() };
    for (veil, limit) in [(Veil::Blur, 25), (Veil::Pixelate, 70)] {
        for (hidden, target, mut gone, mut clear) in [
            (Hidden::Target, Some(&upright), 59..101, 0..50),
            (Hidden::Target, Some(&turned), 39..121, 0..30),
            (Hidden::Rest, Some(&upright), 0..50, 59..101),
            (Hidden::Rest, None, 0..160, 0..0),
        ] {
            let mut picture = stripes.clone();
            hide(&mut picture, (veil, hidden), target.into_iter());
            let what = format!("{veil:?} {hidden:?} {gone:?}");
            gone.end -= 4;
            let most = gone.map(|x| picture.get_pixel(x, 60)[0].abs_diff(picture.get_pixel(x + 4, 60)[0])).max();
            assert!(most < Some(limit), "{what}: {most:?}");
            assert!(clear.all(|x| picture.get_pixel(x, 60) == stripes.get_pixel(x, 60)), "{what}");
        }
    }
}

fn crop_of(shape: CropShape, zoom: bool) -> OverlayOptions {
    OverlayOptions { style: Style::Box, crop: Some(CropOptions { shape, zoom }), ..OverlayOptions::default() }
}

/// Left, top, right and bottom of the pixels in the colour of a tracked box.
fn drawn_box(picture: &RgbImage) -> Option<[u32; 4]> {
    let drawn = picture.enumerate_pixels().filter(|(.., pixel)| **pixel == ink(State::Tracking));
    drawn.map(|(x, y, _)| [x, y, x, y]).reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])
}

#[test]
fn a_crop_keeps_a_jittering_target_in_the_middle() {
    let at = |index: i32| 30.0 + 2.0 * f64::from(index) + 3.0 * f64::from(index % 2);
    let boxes: Vec<_> = (0..40).map(|index| BBox::new(at(index), 50.0, 20.0, 20.0)).collect();
    let pictures = pictures_of(crop_of(CropShape::Size(64, 48), false), &boxes);
    for picture in &pictures {
        assert_eq!(picture.dimensions(), (64, 48));
        // The line stands outside of the box, which begins at 22; it jitters by three pixels, and the window does not.
        let [left, top, right, bottom] = drawn_box(picture).unwrap();
        assert!(
            left.abs_diff(21) <= 2 && right - left == 21 && (top, bottom) == (13, 34),
            "{left} {top} {right} {bottom}"
        );
    }
    // All that is drawn moves with the picture.
    let record = FrameRecord { polygon: Some([50.0, 40.0, 60.0, 40.0, 60.0, 50.0, 50.0, 50.0]), ..record(boxes[0]) };
    let targets = vec![Drawn { record: record.clone(), who: "1".into(), trail: vec![(50.0, 40.0)] }];
    let mut painting = Painting { targets, truth: Some(boxes[0]), ..Painting::default() };
    painting.picture = RgbImage::new(160, 120);
    let mut crop = Crop::new(CropOptions { shape: CropShape::Size(64, 48), zoom: false });
    crop.add(&FrameResult::new(&run_of(160, 120), &[]));
    painting.crop(&crop, Window { left: 20.0, top: 7.0, scale: 2.0 });
    let Drawn { record: moved, trail, .. } = &painting.targets[0];
    assert_eq!((moved.bbox, painting.truth), (BBox::new(5.0, 21.5, 10.0, 10.0), Some(moved.bbox)));
    assert_eq!(moved.polygon, Some([15.0, 16.5, 20.0, 16.5, 20.0, 21.5, 15.0, 21.5]));
    assert_eq!(trail, &[(15.0, 16.5)]);
    // The window follows the first target that has not ended, and stays while it is lost.
    let mut run = run_of(160, 120);
    run.targets = [1, 2].map(|id| TargetRecord::new(id, 1, boxes[0])).into();
    run.targets[0].end(2);
    let corner = |states: [State; 2]| {
        let mut crop = Crop::new(CropOptions { shape: CropShape::Size(64, 48), zoom: false });
        for (index, (bbox, state)) in (2..).zip([boxes[0], boxes[39]].into_iter().zip(states)) {
            let records = [FrameRecord { index, id: Some(2), bbox, state, polygon: None, ..record.clone() }];
            crop.add(&FrameResult::new(&run, &records));
        }
        let Window { left, top, scale } = crop.window(0);
        (left, top, scale)
    };
    assert_eq!(corner([State::Tracking, State::Lost]), (8.0, 36.0, 1.0));
    assert_eq!(corner([State::Tracking, State::Tracking]), (89.0, 36.0, 1.0));
}

#[test]
fn a_crop_never_loses_the_box_and_shows_no_black_where_the_frame_has_pixels() {
    // Jumps from side to side, along the border, across it, and grows beyond the window.
    let at = |index: u32| match index {
        0..10 => BBox::new(if index.is_multiple_of(2) { 4.0 } else { 126.0 }, 50.0, 30.0, 20.0),
        10..20 => BBox::new(13.0 * f64::from(index - 10), 96.0, 24.0, 24.0),
        20..30 => BBox::new(-12.0, 40.0, 24.0, 24.0),
        _ => BBox::new(20.0, 20.0, 10.0 * f64::from(index - 28), 40.0),
    };
    let boxes: Vec<_> = (0..40).map(at).collect();
    for shape in [CropShape::Ratio(9, 16), CropShape::Ratio(1, 1), CropShape::Size(64, 48)] {
        for zoom in [false, true] {
            for (number, (picture, bbox)) in pictures_of(crop_of(shape, zoom), &boxes).iter().zip(&boxes).enumerate() {
                let (width, height) = picture.dimensions();
                let [left, top, right, bottom] = drawn_box(picture).unwrap();
                let what = format!("{shape:?} {zoom} {number}: {left} {top} {right} {bottom} of {width}x{height}");
                let at_border = [bbox.x < 1.0, bbox.y < 1.0, bbox.x + bbox.w > 159.0, bbox.y + bbox.h > 119.0];
                let is_inside = [left > 0, top > 0, right + 1 < width, bottom + 1 < height];
                assert!(at_border.iter().zip(is_inside).all(|(border, inside)| *border || inside), "{what}");
                // Noise is nowhere black; the box may only be larger than the largest window in the frame.
                let black = (0..height).filter(|&y| (0..width).all(|x| picture.get_pixel(x, y).0 == [0; 3])).count();
                let fits = bbox.w < 0.9 * 120.0 * f64::from(width) / f64::from(height);
                assert!(black == 0 || !fits, "{what}: {black} black rows");
            }
        }
    }
    // With zoom a target that grows keeps its size.
    let grown: Vec<_> =
        (0..60).map(|i| BBox::new(60.0, 50.0, 12.0 + 0.3 * f64::from(i), 12.0 + 0.3 * f64::from(i))).collect();
    let sides = |zoom| -> Vec<u32> {
        let pictures = pictures_of(crop_of(CropShape::Size(64, 48), zoom), &grown);
        pictures.iter().map(|picture| drawn_box(picture).map_or(0, |[left, _, right, _]| right - left)).collect()
    };
    assert!(sides(true).iter().all(|side| side.abs_diff(13) <= 2), "{:?}", sides(true));
    assert!(sides(false)[59] > 25);
}

#[test]
fn labels_stay_inside_and_beside_each_other() {
    for (x, y, expected) in [
        (60.0, 40.0, [60, 25, 110, 37]),
        (0.0, 0.0, [0, 3, 50, 15]),
        (190.0, 50.0, [150, 35, 200, 47]),
        (-1e300, 1e300, [0, 88, 50, 100]),
        (1e300, -1e300, [150, 0, 200, 12]),
    ] {
        assert_eq!(place(&BBox::new(x, y, 10.0, 10.0), [50, 12], (200, 100), 2, &[]), expected, "{x}, {y}");
    }
    let others = [[60, 13, 110, 25], [60, 25, 110, 37], [0, 0, 50, 12]];
    assert_eq!(place(&BBox::new(70.0, 40.0, 10.0, 10.0), [50, 12], (200, 100), 2, &others), [70, 1, 120, 13]);
    assert_eq!(place(&BBox::new(9.0, 16.0, 10.0, 10.0), [50, 12], (200, 100), 2, &others), [9, 1, 59, 13]);
}

#[test]
fn each_target_has_a_short_trail() {
    let mut trails = Trails::default();
    for step in 0..100 {
        for id in [1, 2] {
            let bbox = BBox::new(f64::from(step * id), 0.0, 2.0, 2.0);
            let trail = trails.follow(&FrameRecord { id: Some(id as u32), ..record(bbox) });
            assert_eq!(trail.len(), TRAIL.min(step as usize + 1));
            assert_eq!(trail.last().copied(), Some(((step * id) as f32 + 1.0, 1.0)));
        }
    }
    let mut picture = RgbImage::new(20, 20);
    super::trail(&mut picture, &[(2.0, 5.0), (12.0, 5.0), (1e30, 5.0)], Rgb([9, 9, 9]));
    assert_eq!((picture.get_pixel(7, 5).0, picture.get_pixel(15, 5).0), ([9, 9, 9], [0, 0, 0]));
}

#[test]
fn a_label_begins_with_the_name_else_the_class_else_the_id() {
    let given = BBox::new(0.0, 0.0, 9.0, 9.0);
    let target = |id, name: Option<&str>, class: Option<&str>| TargetRecord {
        name: name.map(Into::into),
        class: class.map(Into::into),
        ..TargetRecord::new(id, 1, given)
    };
    let targets = [target(4, Some("Ada"), Some("person")), target(5, None, Some("dog")), target(6, None, None)];
    for (id, who) in [(4, "Ada"), (5, "dog 5"), (6, "6")] {
        assert_eq!(super::who(&FrameRecord { id: Some(id), ..record(given) }, &targets), who);
    }
}

#[test]
fn boxes_cover_the_inset() {
    let bbox = BBox::new(250.0, 30.0, 30.0, 20.0);
    let painted = |inset: Option<Array2<f32>>, id| {
        let targets = vec![Drawn { record: FrameRecord { id, ..record(bbox) }, who: "1".into(), trail: Vec::new() }];
        let picture = RgbImage::from_pixel(300, 200, Rgb([40; 3]));
        let mut painting = Painting { picture, targets, inset, ..Painting::default() };
        painting.paint(&font());
        painting.picture
    };
    let map = || Some(Array2::zeros((9, 9)));
    for id in [None, Some(7)] {
        let (with, without) = (painted(map(), id), painted(None, id));
        let color = color_of(&FrameRecord { id, ..record(bbox) });
        assert_eq!((with.get_pixel(249, 40), without.get_pixel(249, 40)), (&color, &color));
        assert_ne!(with.get_pixel(265, 40), without.get_pixel(265, 40));
    }
}
