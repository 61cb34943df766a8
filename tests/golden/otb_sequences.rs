//! The published sequences themselves.

use kcf_track::Channels;
use kcf_track::media::{OpenOptions, Sequence, Source, decode, otb};

#[test]
#[ignore = "needs the published sequences: KCF_TRACK_OTB=DIR cargo test --test golden -- --ignored"]
fn every_sequence_opens_at_the_benchmarks_first_box() {
    let root = crate::otb::root();
    let mut seen = 0;
    for facts in otb::all() {
        let folder = root.join(&facts.name);
        if !folder.is_dir() {
            continue;
        }
        seen += 1;
        let name = facts.result_name();
        let options = OpenOptions { target: facts.target, ..Default::default() };
        let sequence = Sequence::open(&folder, &options).unwrap();
        let info = sequence.info();
        assert!(info.warnings.is_empty(), "{name}: {:?}", info.warnings);
        assert_eq!(sequence.otb().map(|found| found.result_name()), Some(name.clone()));
        let span = info.span(None, None).unwrap();
        assert_eq!(span.count(), Some(facts.frames), "{name}");
        let (first, last) = (span.first, span.last.unwrap());
        let number = |position: usize| info.images[position - 1].file_stem().unwrap().to_str().unwrap().parse();
        assert_eq!((number(first), number(last)), (Ok(facts.first), Ok(facts.last)), "{name}");
        assert_eq!(info.initial_box(first).unwrap(), facts.init(), "{name}");
        let rows = &sequence.rows()[first - 1..last];
        assert!(rows.iter().all(Option::is_some), "{name}");

        let gray = decode(&info.images[first - 1], Channels::Luma).unwrap();
        let color = decode(&info.images[first - 1], Channels::Color).unwrap();
        let (gray, color) = (gray.as_frame(), color.as_frame());
        let differences: u64 = (0..gray.height())
            .flat_map(|y| (0..gray.width()).map(move |x| (x, y)))
            .map(|(x, y)| u64::from(gray.gray_at(x, y).abs_diff(color.gray_at(x, y))))
            .sum();
        // The two ways to gray differ where the RGB picture had to be clipped to 0 to 255.
        let mean = differences as f64 / (gray.width() * gray.height()) as f64;
        assert!(mean < 0.5, "{name}: {mean}");
        if facts.name == "David" {
            assert_eq!((span, info.images.len()), ((300..=770).into(), 770));
        }
    }
    println!("{seen} sequences");
    assert!(seen > 0, "{} holds no sequence of OTB", root.display());
}
