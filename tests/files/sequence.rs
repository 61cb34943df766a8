//! Folders of images with truth beside them, as people have them.

use std::path::{Path, PathBuf};

use kcf_track::Channels;
use kcf_track::cancel::CancelToken;
use kcf_track::media::{OpenOptions, Prefetch, Sequence, Source, Truth};
use kcf_track::{BBox, Error};

/// A folder of small images under `at`, one gray pixel each, whose level is the place in `names`.
pub fn images(at: &Path, names: impl IntoIterator<Item = String>) {
    std::fs::create_dir_all(at).unwrap();
    for (place, name) in names.into_iter().enumerate() {
        std::fs::write(at.join(name), [b"P5 1 1 255\n", &[place as u8][..]].concat()).unwrap();
    }
}

pub fn numbered(from: usize, to: usize) -> impl Iterator<Item = String> {
    (from..=to).map(|number| format!("{number:04}.jpg"))
}

/// Rows `x = 1, 2, 3, …` in the file's numbers.
fn rows(count: usize) -> String {
    (1..=count).map(|x| format!("{x},1,5,6\n")).collect()
}

pub fn open(path: impl AsRef<Path>) -> Sequence {
    Sequence::open(path, &OpenOptions::default()).unwrap()
}

fn reason(path: &Path, options: &OpenOptions) -> String {
    match Sequence::open(path, options) {
        Err(error @ Error::Sequence { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn bbox(x: f64) -> Option<BBox> {
    Some(BBox::new(x, 0.0, 5.0, 6.0))
}

#[test]
fn opens_the_layouts_of_otb_vot_and_plain_folders() {
    let root = tempfile::tempdir().unwrap();
    for (folder, inner, truth, base) in [
        ("otb", "img", "groundtruth_rect.txt", 1.0),
        ("vot", "color", "groundtruth.txt", 0.0),
        ("plain", "", "groundtruth.txt", 0.0),
    ] {
        let folder = root.path().join(folder);
        images(&folder.join(inner), ["10.jpg", "9.JPG", "8.jpg"].map(String::from));
        std::fs::write(folder.join(truth), rows(3)).unwrap();
        // The folder of the sequence, or that of its images: the same sequence.
        for given in [folder.clone(), folder.join(inner)] {
            let sequence = open(&given);
            assert_eq!(sequence.info().name, folder.file_name().unwrap().to_str().unwrap());
            let names: Vec<_> = sequence.info().images.iter().map(|p| p.file_name().unwrap().to_owned()).collect();
            assert_eq!(names, ["8.jpg", "9.JPG", "10.jpg"]);
            let wanted = [1.0, 2.0, 3.0].map(|x| Some(BBox::new(x - base, 1.0 - base, 5.0, 6.0)));
            assert_eq!(sequence.info().truth, wanted, "{given:?}");
            assert_eq!(sequence.info().span(None, None).unwrap(), (1..=3).into());
            assert!(sequence.info().warnings.is_empty() && sequence.otb().is_none());
        }
    }
}

#[test]
fn an_animation_is_no_frame() {
    use image::ImageEncoder;
    let root = tempfile::tempdir().unwrap();
    let said = |name: &str, bytes: &[u8]| {
        let folder = root.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), bytes).unwrap();
        open(&folder).info().warnings.join("\n")
    };
    let several = |name: &str, bytes: &[u8]| {
        assert_eq!(said(name, bytes), "");
        let file = root.path().join(name).join(name);
        let error = kcf_track::media::decode(&file, Channels::Color).unwrap_err().to_string();
        assert!(error.contains("holds several pictures"), "{error}");
    };
    let mut png = Vec::new();
    image::codecs::png::PngEncoder::new(&mut png).write_image(&[9; 4], 2, 2, image::ExtendedColorType::L8).unwrap();
    assert_eq!(said("still.png", &png), "");
    // An animation says how many pictures it has before the first of them.
    let control = [&8u32.to_be_bytes()[..], b"acTL", &2u32.to_be_bytes(), &0u32.to_be_bytes()].concat();
    let sum = crc32fast::hash(&control[4..]).to_be_bytes();
    let animated = [&png[..33], &control, &sum, &png[33..]].concat();
    several("moving.png", &animated);
    let mut webp = Vec::new();
    image::codecs::webp::WebPEncoder::new_lossless(&mut webp)
        .write_image(&[9; 12], 2, 2, image::ExtendedColorType::Rgb8)
        .unwrap();
    assert_eq!(said("still.webp", &webp), "");
    // VP8X says that there is an animation, ANIM its colour and loops, ANMF a picture of it.
    let chunk = |name: &[u8], data: &[u8]| [name, &(data.len() as u32).to_le_bytes(), data].concat();
    let frame = [&[0; 6][..], &[1, 0, 0, 1, 0, 0], &[100, 0, 0, 2], &webp[12..]].concat();
    let chunks =
        [chunk(b"VP8X", &[2, 0, 0, 0, 1, 0, 0, 1, 0, 0]), chunk(b"ANIM", &[0; 6]), chunk(b"ANMF", &frame)].concat();
    let animated = [b"RIFF", &(chunks.len() as u32 + 4).to_le_bytes()[..], b"WEBP", &chunks].concat();
    several("moving.webp", &animated);
}

#[test]
fn truth_of_another_length_is_a_warning() {
    let root = tempfile::tempdir().unwrap();
    images(root.path(), numbered(1, 5));
    let truth = root.path().join("groundtruth.txt");
    // Two rows may be those of every second or third image.
    for (count, covered) in [(2, 0), (3, 3), (9, 5), (0, 0)] {
        std::fs::write(&truth, rows(count)).unwrap();
        let sequence = open(root.path());
        assert_eq!(sequence.info().truth.len(), 5);
        assert_eq!(sequence.rows().iter().flatten().count(), covered);
        let warnings = sequence.info().warnings.join("\n");
        assert!(warnings.contains(&format!("{count} rows for 5 images")), "{warnings}");
        assert_eq!(sequence.info().span(None, None).unwrap(), (1..=5).into());
    }
    std::fs::write(&truth, format!("\n{}", rows(5))).unwrap();
    let info = open(root.path()).info().clone();
    assert!(info.truth.iter().all(Option::is_none) && info.unused_truth.unwrap().contains("empty lines"));
    std::fs::write(&truth, rows(5)).unwrap();
    assert!(open(root.path()).info().warnings.is_empty());
}

#[test]
fn frames_of_mot_that_may_be_numbers_in_names_are_not_used() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("gt")).unwrap();
    for (first, frames, place) in [(0, 2..=4, None), (0, 2..=10, Some(1)), (1, 2..=4, Some(1)), (4, 6..=7, None)] {
        let folder = root.path().join("img1");
        let _ = std::fs::remove_dir_all(&folder);
        images(&folder, numbered(first, first + 9));
        let rows: String = frames.map(|at| format!("{at},1,3,3,5,5,1,1,1\n")).collect();
        std::fs::write(root.path().join("gt/gt.txt"), rows).unwrap();
        let info = open(root.path()).info().clone();
        assert_eq!(info.truth.iter().position(Option::is_some), place, "{first}");
        assert_eq!(info.warnings.iter().any(|warning| warning.contains("may be the numbers")), place.is_none());
    }
}

/// Some images were removed from the folder, and the truth still has rows for all.
#[test]
fn missing_images_do_not_shift_rows() {
    let root = tempfile::tempdir().unwrap();
    let mot = |frames: std::ops::RangeInclusive<usize>| -> String {
        frames.map(|frame| format!("{frame},1,{frame},1,5,6,1,1,1\n")).collect()
    };
    let (all, later) = (numbered(1, 9).collect::<Vec<_>>(), numbered(6, 9).collect::<Vec<_>>());
    let gap: Vec<_> = numbered(1, 2).chain(numbered(4, 9)).collect();
    let tenth: Vec<_> = [1, 11, 21].map(|number| format!("{number:04}.jpg")).into();
    let from_zero: Vec<_> = numbered(0, 2).chain(numbered(5, 8)).collect();
    let times: Vec<_> = numbered(1405, 1408).collect();
    for (name, images_of, truth, wanted) in [
        ("later", &later, rows(9), &[6, 7, 8, 9][..]),
        ("gap", &gap, rows(9), &[1, 2, 4, 5, 6, 7, 8, 9]),
        ("tenth", &tenth, rows(21), &[1, 11, 21]),
        ("from-zero", &from_zero, rows(9), &[1, 2, 3, 6, 7, 8, 9]),
        ("later-mot", &later, mot(1..=9), &[6, 7, 8, 9]),
        ("middle-mot", &later, mot(4..=30), &[6, 7, 8, 9]),
        ("gap-mot", &gap, mot(1..=9), &[1, 2, 4, 5, 6, 7, 8, 9]),
        // Rows of the images that there are, whatever numbers these have.
        ("whole-mot", &all, mot(1..=9), &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("counted", &later, rows(4), &[1, 2, 3, 4]),
        ("counted-mot", &later, mot(1..=4), &[1, 2, 3, 4]),
        ("times", &times, rows(9), &[1, 2, 3, 4]),
        ("times-mot", &times, mot(1..=9), &[1, 2, 3, 4]),
    ] {
        let folder = root.path().join(name);
        images(&folder.join("img"), images_of.iter().cloned());
        std::fs::write(folder.join("groundtruth.txt"), &truth).unwrap();
        let sequence = open(&folder);
        let left: Vec<_> = sequence.info().truth.iter().map(|row| row.map_or(f64::NAN, |row| row.x)).collect();
        let base = if name.ends_with("mot") { 1.0 } else { 0.0 };
        assert_eq!(left, wanted.iter().map(|&x| f64::from(x) - base).collect::<Vec<_>>(), "{name}");
        let said = sequence.info().warnings.join("\n");
        let by_number = !["whole", "counted", "times"].iter().any(|known| name.starts_with(known));
        assert_eq!(said.contains("each image has the row of its number"), by_number, "{name}: {said}");
    }
}

#[test]
fn tracking_starts_at_the_first_box() {
    let root = tempfile::tempdir().unwrap();
    images(root.path(), numbered(1, 4));
    std::fs::write(root.path().join("groundtruth.txt"), "NaN,NaN,NaN,NaN\n\n3,4,5,6\n0,0,0,0\n").unwrap();
    let sequence = open(root.path());
    assert_eq!(sequence.info().span(None, None).unwrap(), (3..=4).into());
    assert_eq!(sequence.info().initial_box(3).unwrap(), BBox::new(3.0, 4.0, 5.0, 6.0));
    let error = sequence.info().initial_box(4).unwrap_err().to_string();
    assert!(error.contains("frame 4"), "{error}");
    assert!(sequence.info().initial_box(0).is_err() && sequence.info().initial_box(99).is_err());
    assert!(sequence.rows()[3].is_some() && sequence.info().truth[3].is_none());

    let ignored = OpenOptions { truth: Truth::Ignore, ..Default::default() };
    let sequence = Sequence::open(root.path(), &ignored).unwrap();
    assert_eq!(sequence.info().span(None, None).unwrap(), (1..=4).into());
    assert!(sequence.info().initial_box(1).unwrap_err().to_string().contains("no true box"));
}

#[test]
fn ranges_are_checked() {
    let root = tempfile::tempdir().unwrap();
    images(root.path(), numbered(1, 5));
    std::fs::write(root.path().join("groundtruth.txt"), "\n\n1,2,3,4").unwrap();
    let sequence = open(root.path());
    assert_eq!(sequence.info().span(Some(2), Some(4)).unwrap(), (2..=4).into());
    assert_eq!(sequence.info().span(Some(5), None).unwrap(), (5..=5).into());
    let error = |start, end| sequence.info().span(start, end).unwrap_err().to_string();
    assert_eq!(error(Some(4), Some(3)), "end 3: it lies before start 4");
    assert_eq!(error(Some(0), None), "start 0: there are 5 frames, counted from 1");
    assert_eq!(error(None, Some(6)), "end 6: there are 5 frames, counted from 1");
    assert_eq!(error(Some(usize::MAX), None), format!("start {}: there are 5 frames, counted from 1", usize::MAX));
    // The truth gives the start.
    assert!(error(None, Some(2)).contains("start 3, the first frame with a true box"));
}

#[test]
fn pictures_that_are_to_be_shown_turned_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let jpeg = std::fs::read("tests/fixtures/420.jpg").unwrap();
    for (orientation, count) in [(1, 0), (3, 1), (6, 1)] {
        // A segment of EXIF data with one field, the orientation.
        let exif =
            [b"\xff\xe1\x00\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", &[orientation, 0, 0, 0][..]];
        let exif = [&exif.concat()[..], &[0; 4]].concat();
        std::fs::write(folder.path().join("1.jpg"), [&jpeg[..2], &exif, &jpeg[2..]].concat()).unwrap();
        let warnings = open(folder.path()).info().warnings.clone();
        assert_eq!(warnings.iter().filter(|warning| warning.contains("1.jpg is to be shown turned")).count(), count);
    }
}

#[test]
fn a_target_chooses_its_truth() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("Pair");
    images(&folder.join("img"), numbered(1, 2));
    std::fs::write(folder.join("groundtruth_rect.1.txt"), "").unwrap();
    std::fs::write(folder.join("groundtruth_rect.2.txt"), "3,3,5,5\n4,4,5,5\n").unwrap();
    std::fs::write(folder.join("groundtruth_rect.10.txt"), "9,9,5,5\n9,9,5,5\n").unwrap();
    // The first one is empty, as Human4's.
    let second = Some(BBox::new(2.0, 2.0, 5.0, 5.0));
    assert_eq!((open(&folder).info().truth[0], open(folder.join("img")).info().truth[0]), (second, second));
    let warning = open(&folder).info().warnings[0].clone();
    assert!(warning.contains("2 targets (2, 10): target 2 is read"), "{warning}");
    let target = |target| OpenOptions { target: Some(target), ..Default::default() };
    let tenth = Sequence::open(&folder, &target(10)).unwrap();
    assert_eq!(tenth.info().truth[0].unwrap().x, 8.0);
    let first = Sequence::open(&folder, &target(1)).unwrap();
    assert!(first.info().warnings[0].contains("no row holds a box"), "{:?}", first.info().warnings);
    let none = Sequence::open(&folder, &target(3)).unwrap_err().to_string();
    assert!(none.starts_with("target 3: ") && none.ends_with("its truth has the targets 1, 2, 10"), "{none}");

    std::fs::write(root.path().join("one.txt"), "7,7,5,5\n7,7,5,5\n").unwrap();
    let file = OpenOptions { truth: Truth::File(root.path().join("one.txt")), ..Default::default() };
    assert_eq!(Sequence::open(&folder, &file).unwrap().info().truth[0].unwrap().x, 7.0);
    let none = OpenOptions { truth: Truth::File(root.path().join("none.txt")), ..Default::default() };
    assert!(matches!(Sequence::open(&folder, &none), Err(Error::Io { .. })));

    // A file of one target comes first, unless a target is asked for.
    std::fs::write(folder.join("groundtruth.txt"), "5,5,5,5\n5,5,5,5\n").unwrap();
    assert_eq!(open(&folder).info().truth[0].unwrap().x, 5.0);
    assert_eq!(Sequence::open(&folder, &target(10)).unwrap().info().truth[0].unwrap().x, 8.0);

    let single = root.path().join("single");
    images(&single, numbered(1, 2));
    let wrong = |target: &OpenOptions| Sequence::open(&single, target).unwrap_err().to_string();
    assert!(wrong(&target(2)).contains("there is no groundtruth_rect.2.txt"));
    std::fs::write(single.join("groundtruth.txt"), rows(2)).unwrap();
    assert!(wrong(&target(2)).contains("one target"));
    assert!(Sequence::open(&single, &target(1)).unwrap().info().truth[0].is_some());
}

#[test]
fn refuses_folders_without_images() {
    let root = tempfile::tempdir().unwrap();
    let options = OpenOptions::default();
    let missing = Sequence::open(root.path().join("missing"), &options).unwrap_err();
    assert!(matches!(&missing, Error::Io { path, .. } if path.ends_with("missing")), "{missing}");
    assert!(reason(root.path(), &options).contains("it is empty"));
    let file = root.path().join("movie.mp4");
    std::fs::write(&file, b"").unwrap();
    assert!(reason(&file, &options).contains("this is a file"));
    assert!(reason(root.path(), &options).contains("no images"));
    let dataset = root.path().join("dataset");
    images(&dataset.join("A"), numbered(1, 1));
    images(&dataset.join("B"), numbered(1, 1));
    assert!(reason(&dataset, &options).contains("2 folders: give the one of a sequence"));
    // An empty `img` beside images does not hide them.
    std::fs::create_dir(dataset.join("A/img")).unwrap();
    assert_eq!(open(dataset.join("A")).info().images.len(), 1);
}

#[cfg(unix)]
#[test]
fn a_link_keeps_its_name_and_a_dangling_one_is_a_frame_that_fails() {
    let root = tempfile::tempdir().unwrap();
    images(&root.path().join("real"), numbered(1, 2));
    std::os::unix::fs::symlink(root.path().join("real"), root.path().join("alias")).unwrap();
    std::os::unix::fs::symlink(root.path().join("nowhere"), root.path().join("real/0003.jpg")).unwrap();
    let sequence = open(root.path().join("alias"));
    assert_eq!((&*sequence.info().name, sequence.info().images.len()), ("alias", 3));
    assert_eq!(open(root.path().join("alias/.")).info().name, "alias");
    let frames: Vec<_> = Prefetch::open(&sequence, 1..=3, Channels::Luma, &CancelToken::default())
        .unwrap()
        .map(|d| d.frame.is_ok())
        .collect();
    assert_eq!(frames, [true, true, false]);
}

/// A folder laid out as the published sequence `name`, with images `from..=to` and `count` rows.
fn otb(name: &str, from: usize, to: usize, count: usize) -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(name);
    images(&folder.join("img"), numbered(from, to));
    std::fs::write(folder.join("groundtruth_rect.txt"), rows(count)).unwrap();
    (root, folder)
}

#[test]
fn sequences_of_otb_start_and_end_where_the_benchmark_says() {
    for (name, images, count, range, first_row_at) in [
        ("David", (1, 770), 471, 300..=770, 300),
        ("david", (1, 770), 471, 300..=770, 300),
        // Only the images that are used: the first is number 300.
        ("David", (300, 770), 471, 1..=471, 1),
        ("Football1", (1, 81), 74, 1..=74, 1),
        ("Diving", (1, 231), 215, 1..=215, 1),
        ("Freeman3", (1, 460), 460, 1..=460, 1),
        ("Freeman4", (1, 297), 283, 1..=283, 1),
        ("BlurCar1", (247, 988), 742, 1..=742, 1),
        ("BlurCar1", (1, 999), 742, 247..=988, 247),
        ("BlurCar3", (3, 359), 357, 1..=357, 1),
        ("BlurCar3", (1, 359), 357, 3..=359, 3),
        ("BlurCar4", (18, 397), 380, 1..=380, 1),
        ("Tiger1", (1, 354), 354, 6..=354, 1),
        ("Tiger1", (1, 354), 349, 6..=354, 6),
    ] {
        let (_root, folder) = otb(name, images.0, images.1, count);
        for given in [folder.clone(), folder.join("img")] {
            let sequence = open(&given);
            assert_eq!(sequence.info().span(None, None).unwrap(), range.clone().into(), "{name} {images:?}");
            assert_eq!(sequence.info().truth[first_row_at - 1], bbox(0.0), "{name} {images:?}");
            assert_eq!(sequence.rows().iter().flatten().count(), count);
            assert!(
                sequence.otb().is_some() && sequence.info().warnings.is_empty(),
                "{name} {:?}",
                sequence.info().warnings
            );
        }
    }
    // Behind the benchmark's end the images are there all the same.
    let (_root, folder) = otb("Diving", 1, 231, 215);
    let sequence = open(&folder);
    assert_eq!(sequence.info().span(Some(220), None).unwrap(), (220..=231).into());
    assert_eq!(sequence.info().span(None, Some(231)).unwrap(), (1..=231).into());
    assert!(sequence.info().initial_box(220).is_err());
}

#[test]
fn a_folder_with_only_the_name_is_plain() {
    // A row for each image.
    for count in [770, 5] {
        let (_root, folder) = otb("David", 1, count, count);
        let sequence = open(&folder);
        assert!(sequence.otb().is_none());
        assert_eq!(sequence.info().span(None, None).unwrap(), (1..=count).into());
        assert!(sequence.info().warnings.is_empty());
    }
    // The benchmark's count of rows, but not its images.
    let (_root, folder) = otb("David", 1, 500, 471);
    let sequence = open(&folder);
    assert!(sequence.otb().is_none());
    assert_eq!(sequence.info().truth[0], bbox(0.0));
    assert_eq!(sequence.info().span(None, None).unwrap(), (1..=500).into());
    assert_eq!(sequence.info().warnings.len(), 1);
    // Its rows and images, but as many of each: row i is image i's.
    let (_root, folder) = otb("David", 1, 471, 471);
    assert_eq!(open(&folder).info().span(None, None).unwrap(), (1..=471).into());
    // Two images of each number.
    let (_root, folder) = otb("David", 1, 770, 471);
    images(&folder.join("img"), numbered(1, 770).map(|name| format!("b{name}")));
    let several = Sequence::open(&folder, &OpenOptions::default()).unwrap_err().to_string();
    assert!(several.contains("0001.jpg and b0001.jpg"), "{several}");
    // No name of the benchmark.
    let (_root, folder) = otb("Davide", 1, 770, 471);
    assert_eq!(open(&folder).info().span(None, None).unwrap(), (1..=770).into());
}

#[test]
fn samples_of_16_bits_are_stretched_over_the_range_of_the_first_frame() {
    let root = tempfile::tempdir().unwrap();
    let levels = |first: u16, last: u16| {
        image::ImageBuffer::from_fn(3, 1, |x, _| image::Luma([[first, 29_600, last][x as usize]]))
    };
    for (name, first, last) in [("1.png", 29_500, 29_700), ("2.png", 29_400, 29_650)] {
        crate::pictures::save(image::DynamicImage::ImageLuma16(levels(first, last)), &root.path().join(name));
    }
    let read = |options: &OpenOptions, first: usize| {
        let sequence = Sequence::open(root.path(), options).unwrap();
        let frames = Prefetch::open(&sequence, first..=2, Channels::Luma, &CancelToken::default()).unwrap();
        (sequence.info().levels, frames.map(|item| item.frame.unwrap().into_bytes()).collect::<Vec<_>>())
    };
    let (known, frames) = read(&OpenOptions::default(), 1);
    assert_eq!((known, &frames), (Some((29_500, 29_700)), &vec![vec![0, 128, 255], vec![0, 128, 191]]));
    // From any frame on, they are those of the first frame.
    assert_eq!(read(&OpenOptions::default(), 2).1, frames[1..]);
    let (known, frames) = read(&OpenOptions { levels: Some((29_400, 29_600)), ..OpenOptions::default() }, 1);
    assert_eq!((known, &frames[1]), (Some((29_400, 29_600)), &vec![0, 255, 255]));
}

#[test]
fn a_pixel_that_takes_the_range_of_all_others_is_a_warning() {
    for (broken, warnings) in [(29_650, 0), (65_535, 1), (0, 1)] {
        let root = tempfile::tempdir().unwrap();
        let picture = image::ImageBuffer::from_fn(20, 20, |x, y| match (x, y) {
            (0, 0) => image::Luma([broken]),
            _ => image::Luma([29_500 + 10 * x as u16]),
        });
        crate::pictures::save(image::DynamicImage::ImageLuma16(picture), &root.path().join("1.png"));
        let sequence = Sequence::open(root.path(), &OpenOptions::default()).unwrap();
        assert_eq!(sequence.info().warnings.len(), warnings, "{broken}: {:?}", sequence.info().warnings);
    }
}
