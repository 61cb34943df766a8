use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::export::{Form, Layout, Run, Summary, tests::run, write_all};

#[test]
fn ids_that_are_not_distinct_are_none() {
    assert_eq!(ids(&[Some(3), None, Some(1)]), [3, 2, 1]);
    assert_eq!(ids(&[Some(3), None, Some(3)]), [1, 2, 3]);
}

#[test]
fn targets_count_while_they_are_there() {
    let target = |id: u32, given: &[(usize, bool)]| {
        let given =
            given.iter().map(|&(frame, there)| Given::new(frame, there.then_some(BBox::new(1.0, 1.0, 9.0, 9.0))));
        TargetRecord { id, given: given.collect(), ..TargetRecord::default() }
    };
    let most = MAX_TARGETS as u32;
    let mut targets: Vec<_> = (0..most).map(|id| target(id, &[(1, true), (5, true), (9, false)])).collect();
    targets.extend((most..2 * most).map(|id| target(id, &[(9, true)])));
    assert_eq!(check_count(&targets), Ok(()));
    targets.push(target(2 * most, &[(8, true)]));
    assert!(check_count(&targets).is_err());
}

#[test]
fn many_targets_are_refused_before_they_are_made() {
    let label = |id, w| Label { id, frame: 1, bbox: Some(BBox::new(1.0, 1.0, w, 9.0)), ..Label::default() };
    let most = MAX_TARGETS as u32;
    assert_eq!(gather((0..most).map(|id| label(id, 9.0)).collect()).unwrap().len(), MAX_TARGETS);
    // The boxes, which are wrong, are not read before.
    assert!(gather((0..2 * most).map(|id| label(id, -9.0)).collect()).unwrap_err().contains("200 targets at a time"));
}

const FORMS: [(Form, &str); 6] = [
    (Form::Json, "o.json"),
    (Form::Mot, "o.txt"),
    (Form::Coco, "coco.json"),
    (Form::Cvat, "o.xml"),
    (Form::LabelStudio, "ls.json"),
    (Form::Yolo, "yolo"),
];

/// Frames of 64x48 pixels, named as those of the records.
fn info(frames: usize) -> Info {
    let images = (1..=frames).map(|number| PathBuf::from(format!("car/{number:04}.jpg"))).collect();
    Info { name: "car".into(), length: Some(frames), size: Some((64, 48)), images, ..Info::default() }
}

/// Writes a run in which each box is given.
fn write(folder: &Path, targets: &[TargetRecord], frames: usize) {
    let (mut run, records) = run();
    run.source.frames = Some(frames);
    run.source.end = None;
    let run = Run::new(run.source, run.parameters, targets.to_vec(), true);
    let mut all = Vec::new();
    for frame in 1..=frames {
        for target in targets {
            let Some((_, bbox)) = target.boxes().find(|(at, _)| *at == frame) else { continue };
            let file = format!("{frame:04}.jpg");
            all.push(FrameRecord { index: frame, file, id: Some(target.id), bbox, ..records[0].clone() });
        }
    }
    for (form, name) in FORMS {
        let exporter = form.boxes(&folder.join(name).as_path().into(), &Layout::default()).unwrap().unwrap();
        write_all(exporter, &run, &all, &Summary { completed: true, ..Summary::default() }).unwrap();
    }
}

/// The targets of a text for 20 frames of the folder or video `car`.
fn read(text: &str, is_video: bool, options: &LabelOptions) -> Wrong<Labels> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels");
    std::fs::write(&path, text).unwrap();
    let whole = info(20);
    let images = if is_video { Vec::new() } else { whole.images };
    Labels::read(&path, Some(&Info { images, ..whole }), None, options)
}

/// The first box of the first target, with its frame.
fn first(labels: Wrong<Labels>) -> Option<(usize, BBox)> {
    labels.ok()?.targets[0].boxes().next()
}

#[test]
fn a_header_says_the_columns_or_is_refused() {
    let size = LabelOptions::default();
    let corners = LabelOptions { corners: true, ..LabelOptions::default() };
    let own = (1, BBox::new(12.0, 14.0, 28.0, 20.0));
    let mot = (1, BBox::new(11.0, 13.0, 28.0, 20.0));
    for (header, numbers, options, expected) in [
        ("id,frame,x,y,w,h", "12,14,28,20", &size, Some(own)),
        ("# id, frame, left, top, width, height", "12,14,28,20", &size, Some(own)),
        ("id,frame,x1,y1,x2,y2", "12,14,40,34", &size, Some(own)),
        ("id,frame,xmin,ymin,xmax,ymax", "12,14,40,34", &corners, Some(own)),
        ("frame;id;bb_left;bb_top;bb_width;bb_height;conf", "12;14;28;20;0.5", &size, Some(mot)),
        ("# numbers by hand\n\"id\",\"frame\",\"x\",\"y\",\"w\",\"h\"", "12,14,28,20", &size, Some(own)),
        ("id,frame,x,y,w,h", "12,14,40,34", &corners, None),
        ("id,frame,cx,cy,w,h", "26,24,28,20", &size, None),
        ("id,frame,x,y,h,w", "12,14,20,28", &size, None),
        ("id,frame,x,y,x2,y2", "12,14,40,34", &size, None),
        ("frame,id,class,x,y,w,h", "0,12,14,28,20", &size, None),
        ("frame,id,x,y,w,h,class", "12,14,28,20,1", &size, None),
        ("frame,id,x1,y1,x2,y2", "12,14,40,34", &corners, None),
        ("# frame,id,x1,y1,x2,y2", "12,14,40,34", &size, None),
    ] {
        let row = if header.contains(';') { "1;1;" } else { "1,1," };
        let first = first(read(&format!("{header}\n{row}{numbers}\n"), false, options));
        assert_eq!(first, expected, "{header}");
    }
    assert_eq!(first(read("1,1,12,14,40,34,-1,-1,-1,-1\n", false, &corners)), None, "corners are none of MOT");
    assert_eq!(first(read("1,1,2,12,14,28,20\n2,1,2,12,14,28,20\n3,1,2,12,14,28,20\n", false, &size)), None);
}

#[test]
fn columns_that_may_be_others_are_refused() {
    for text in [
        // An index before the frame.
        "0,1,1,20,30,24,20\n1,2,1,22,30,24,20",
        "0,1,1,20,30,24,20\n1,11,1,22,30,24,20\n2,19,1,24,30,24,20",
        "0,1,20,30,24,20\n1,2,22,30,24,20",
        // Two targets in two frames, by both orders.
        "1,1,10,30,24,20\n1,2,20,30,24,20\n6,1,20,30,24,20\n6,2,30,30,24,20",
        // frame,x,y,w,h,id
        "7,12,30,24,20,1\n8,14,30,24,20,1",
        // id,x1,y1,x2,y2,frame
        "1,8,20,30,28,7\n1,10,20,30,28,8\n1,12,20,30,28,9",
        "1,1,12,14,28,20,3",
    ] {
        let error = read(text, true, &LabelOptions::default()).expect_err(text);
        assert!(error.contains("write the right one"), "{text}: {error}");
    }
    let later = read("1,1,2,2,9,9\n2,5,30,30,9,9\n1,9,3,2,9,9", true, &LabelOptions::default()).unwrap();
    assert_eq!(later.targets.iter().map(|target| target.given.len()).collect::<Vec<_>>(), [2, 1]);
    let cells = format!("1,1,12,14,28,20{}", ",".repeat(1000));
    assert!(read(&cells, true, &LabelOptions::default()).unwrap_err().contains("more than 100 cells"));
}

#[test]
fn frames_of_mot_that_may_be_numbers_in_names_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels");
    let images = (0..20).map(|number| PathBuf::from(format!("car/{number:04}.jpg"))).collect();
    let info = Info { images, ..info(20) };
    for (frames, confidence, base, first) in [
        (2..=5, "1", None, None),
        (2..=5, "0.5", None, None),
        (2..=5, "1", Some(0), Some(3)),
        (2..=5, "1", Some(1), Some(2)),
        (2..=20, "1", None, Some(2)),
    ] {
        let rows = frames.map(|at| format!("{at},1,12,14,28,20,{confidence},-1,-1,-1\n"));
        std::fs::write(&path, rows.collect::<String>()).unwrap();
        let options = LabelOptions { base, ..LabelOptions::default() };
        let frame = self::first(Labels::read(&path, Some(&info), None, &options)).map(|(frame, _)| frame);
        assert_eq!(frame, first, "{confidence} {base:?}");
    }
}

#[test]
fn pixels_of_mot_count_from_0_beside_the_labels_of_cvat() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gt.txt");
    std::fs::write(&path, "1,1,12,14,28,20,1,1,1.0\n").unwrap();
    for (x, names) in [(11.0, "classes.txt"), (12.0, "labels.txt")] {
        std::fs::write(folder.path().join(names), "car\n").unwrap();
        let read = self::first(Labels::read(&path, Some(&info(20)), None, &LabelOptions::default()));
        let truth = crate::media::annotation::Annotations::read(&path, Base::One).unwrap().boxes()[0];
        assert_eq!((read.unwrap().1.x, truth.unwrap().x), (x, x), "{names}");
    }
}

#[test]
fn what_is_decided_without_ids_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let line = |class, x| format!("{class} {x} 0.5 0.1 0.1\n");
    for (second, third, notes) in [(0.31, 0.32, 0), (0.31, 0.6, 1)] {
        for (frame, x) in [(1, 0.3), (2, second), (9, third)] {
            std::fs::write(folder.path().join(format!("{frame:04}.txt")), line(0, x)).unwrap();
        }
        let labels = Labels::read(folder.path(), Some(&info(20)), None, &LabelOptions::default()).unwrap();
        assert_eq!((labels.targets.len(), labels.notes.len()), (1, notes), "{:?}", labels.notes);
    }
    for (class, notes) in [(0, 0), (1, 1)] {
        std::fs::write(folder.path().join("0001.txt"), line(0, 0.3).replace('\n', " 3\n")).unwrap();
        std::fs::write(folder.path().join("0002.txt"), line(class, 0.3).replace('\n', " 3\n")).unwrap();
        std::fs::write(folder.path().join("0009.txt"), "").unwrap();
        std::fs::write(folder.path().join("classes.txt"), "car\nbus\n").unwrap();
        let labels = Labels::read(folder.path(), Some(&info(20)), None, &LabelOptions::default()).unwrap();
        assert_eq!((labels.targets.len(), labels.notes.len()), (1, notes), "{:?}", labels.notes);
    }
}

#[test]
fn sizes_that_seem_to_be_corners_are_refused_without_a_header() {
    let corners = LabelOptions { corners: true, ..LabelOptions::default() };
    for (text, is_read) in [
        ("1,1,40,10,52,30\n1,5,3,10,16,30", false),
        ("1,1,5,30,16,40\n1,5,3,10,16,30", false),
        ("1,1,5,30,16,40,car\n", false),
        ("1,1,40,10,52,30,0.5,-1,-1,-1\n", false),
        ("id,frame,x,y,w,h\n1,1,40,10,52,30", true),
        // One box that is none as corners; targets at the border.
        ("1,1,40,10,52,30\n1,5,20,10,16,30", true),
        ("1,1,6,3,20,20\n1,5,3,10,16,30", true),
        ("1,1,33,3,34,20\n", true),
        ("1,1,40,10,52,30,1,-1,-1,-1\n", true),
    ] {
        assert_eq!(read(text, true, &LabelOptions::default()).is_ok(), is_read, "{text}");
    }
    assert!(read("1,1,40,10,52,30\n1,5,3,10,16,30", true, &corners).is_ok());
}

/// CVAT counts the frames of a task on from those of the tasks of its subset before.
#[test]
fn frames_of_a_project_count_from_their_task_on() {
    let first = |subset: &str, frames: &[usize]| {
        let task = |id: usize, name: &str, size: usize, subset: &str| {
            let whole = format!("<size>{size}</size><start_frame>0</start_frame><stop_frame>{}</stop_frame>", size - 1);
            format!("<task><id>{id}</id><name>{name}</name><subset>{subset}</subset>{whole}</task>")
        };
        let box_at = |frame: &usize| {
            format!("<box frame=\"{frame}\" outside=\"0\" keyframe=\"1\" xtl=\"1\" ytl=\"2\" xbr=\"9\" ybr=\"8\"/>")
        };
        let boxes: String = frames.iter().map(box_at).collect();
        let tasks = task(1, "bus", 5, "train") + &task(2, "car", 20, subset);
        let track = format!("<track id=\"0\" label=\"a\" task_id=\"2\">{boxes}</track>");
        let meta = format!("<meta><project><tasks>{tasks}</tasks></project><dumped>now</dumped></meta>");
        let text = format!("<annotations>{meta}{track}</annotations>");
        first(read(&text, true, &LabelOptions::default())).map(|(frame, _)| frame)
    };
    assert_eq!(first("train", &[5, 24]), Some(1), "the last frame shows that they count from the project's first");
    assert_eq!(first("train", &[2, 19]), Some(3), "a frame of another task");
    assert_eq!(first("train", &[6, 9]), None, "both are possible");
    assert_eq!(first("train", &[2, 24]), None, "neither is");
    assert_eq!(first("test", &[6, 9]), Some(7), "the first of its subset");
}

/// Overflow would panic here.
#[test]
fn a_project_of_endless_tasks_is_refused() {
    let most = usize::MAX;
    let task = |id: usize, name: &str| {
        format!("<task><id>{id}</id><name>{name}</name><size>{most}</size><start_frame>{most}</start_frame></task>")
    };
    let boxed = r#"<box frame="6" outside="0" keyframe="1" xtl="1" ytl="2" xbr="9" ybr="8"/>"#;
    let track = format!(r#"<track id="0" label="a" task_id="2">{boxed}</track>"#);
    let tasks = task(1, "bus") + &task(2, "car");
    let text = format!("<annotations><meta>{tasks}<dumped>now</dumped></meta>{track}</annotations>");
    assert_eq!(first(read(&text, true, &LabelOptions::default())), None);
}

#[test]
fn a_part_of_a_longer_video_is_refused() {
    for (tag, start, stop, fits) in
        [("task", 5, 24, false), ("task", 5, 19, true), ("job", 0, 499, false), ("job", 0, 9, true)]
    {
        let part = format!("<size>10</size><start_frame>{start}</start_frame><stop_frame>{stop}</stop_frame>");
        let boxed = r#"<box frame="6" outside="0" keyframe="1" xtl="1" ytl="2" xbr="9" ybr="8"/>"#;
        let track = format!(r#"<track id="0" label="a">{boxed}</track>"#);
        let text = format!("<annotations><meta><{tag}>{part}</{tag}><dumped>now</dumped></meta>{track}</annotations>");
        assert_eq!(first(read(&text, true, &LabelOptions::default())).is_some(), fits, "{tag} {start} {stop}");
    }
}

#[test]
fn images_of_coco_are_frames_of_one_clip() {
    let image = |id: usize, more: &str| format!(r#"{{"id": {id}, "file_name": "{id:04}.jpg"{more}}}"#);
    let boxed = |more: &str| {
        format!(r#"[{{"id": 1, "image_id": 3, "category_id": 1, "track_id": 7, "bbox": [10, 10, 20, 10]{more}}}]"#)
    };
    let document = |info: &str, images: &[String], annotations: &str| {
        let images = images.join(",");
        format!(
            r#"{{"info": {{"description": "{info}"}}, "images": [{images}], "annotations": {annotations}, "categories": []}}"#
        )
    };
    let read = |text: &str, is_video| first(read(text, is_video, &LabelOptions::default()));
    let bbox = BBox::new(10.0, 10.0, 20.0, 10.0);
    let plain = [image(1, ""), image(3, "")];
    assert_eq!(read(&document("", &plain, &boxed("")), false), Some((3, bbox)));
    assert_eq!(
        read(&document("kcf-track 1", &plain, &boxed("")), true),
        Some((3, bbox)),
        "ours, for the frames' video"
    );
    assert_eq!(read(&document("", &plain, &boxed("")), true), None, "the numbers may count from 0");
    assert_eq!(read(&document("", &[image(3, ""), image(3, "")], &boxed("")), false), None, "two images of one id");
    let other = [image(1, ""), image(3, r#", "width": 128, "height": 96"#)];
    assert_eq!(read(&document("", &other, &boxed("")), false), None, "a picture of another size");
    let turned = read(&document("", &plain, &boxed(r#", "attributes": {"rotation": 90.0}"#)), false);
    assert!(turned.unwrap().1.overlap(&BBox::new(15.0, 5.0, 10.0, 20.0)) > 0.999, "turned about its centre");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_written_is_read_back(
        boxes in prop::collection::vec((0..3u32, 1..9usize, 0..40u32, 0..30u32, 4..20u32, 4..16u32), 1..20),
    ) {
        let mut targets: Vec<TargetRecord> = Vec::new();
        for (id, frame, x, y, w, h) in boxes {
            let bbox = BBox::new(f64::from(x) + 0.25, f64::from(y), f64::from(w), f64::from(h) + 0.5);
            match targets.iter_mut().find(|target| target.id == id + 1) {
                Some(target) => target.give(frame, bbox),
                None => targets.push(TargetRecord { class: Some(format!("c{id}")), ..TargetRecord::new(id + 1, frame, bbox) }),
            }
        }
        targets.sort_by_key(|target| target.id);
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &targets, 9);
        for (form, name) in FORMS {
            let read = Labels::read(&folder.path().join(name), Some(&info(9)), None, &LabelOptions::default()).unwrap();
            let given = |targets: &[TargetRecord]| -> Vec<_> {
                targets.iter().map(|target| (target.id, target.boxes().collect::<Vec<_>>())).collect()
            };
            prop_assert_eq!(given(&read.targets), given(&targets), "{:?}", form);
            if form != Form::Mot {
                let classes = |targets: &[TargetRecord]| -> Vec<_> { targets.iter().map(|target| target.class.clone()).collect() };
                prop_assert_eq!(classes(&read.targets), classes(&targets), "{:?}", form);
            }
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4usize), 1..6),
        number in prop::sample::select(vec!["-1", "1e308", "18446744073709551615", "NaN", "0", "4294967296", "null"]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let targets = [3, 5].map(|id| TargetRecord::new(id, 2, BBox::new(4.0, 5.0, 20.0, 10.0)));
        write(folder.path(), &targets, 3);
        let mut files: Vec<PathBuf> = FORMS[..5].iter().map(|(_, name)| folder.path().join(name)).collect();
        files.extend(["labels/0002.txt", "tracks.csv", "data.yaml"].map(|name| folder.path().join("yolo").join(name)));
        for (at, path) in files.into_iter().enumerate() {
            let mut text = std::fs::read(&path).unwrap();
            for (place, byte, kind) in &damage {
                let place = place.index(text.len());
                let digits = text[place..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                match kind {
                    0 => text[place] = *byte,
                    1 => text.insert(place, *byte),
                    2 => _ = text.remove(place),
                    _ => _ = text.splice(place..place + digits, number.bytes()),
                }
            }
            std::fs::write(&path, text).unwrap();
            let path = if at < 5 { path } else { folder.path().join("yolo") };
            for info in [Some(&info(3)), None] {
                let options = LabelOptions { base: [None, Some(0), Some(1)][damage.len() % 3], ..LabelOptions::default() };
                let Ok(read) = Labels::read(&path, info, Some((64, 48)), &options) else { continue };
                for (frame, bbox) in read.targets.iter().flat_map(TargetRecord::boxes) {
                    prop_assert!(frame > 0 && bbox.is_valid() && is_within_reach(&bbox));
                }
            }
        }
    }
}
