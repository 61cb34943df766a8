//! The header of the C interface. `KCF_TRACK_BLESS=1` writes it anew.

use std::{fs, path::Path};

#[test]
fn the_header_is_what_cbindgen_makes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/capi");
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    let source = folder.join("mod.rs");
    cbindgen::Builder::new().with_config(config).with_src(source).generate().unwrap().write(&mut made);
    let header = folder.join("kcf_track.h");
    if std::env::var_os("KCF_TRACK_BLESS").is_some() {
        fs::write(&header, &made).unwrap();
    }
    let checked_in = fs::read(&header).unwrap_or_default();
    assert!(checked_in == made, "{} is out of date: run this test with KCF_TRACK_BLESS=1", header.display());
}
