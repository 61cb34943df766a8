#!/usr/bin/env bash
# Make a site with search of docs/ in target/book. Needs mdbook: cargo install mdbook
#
# Links to files outside of docs/ lead to KCF_TRACK_SOURCES, the address of the sources [default: docs.rs].
set -euo pipefail
cd "$(dirname "$0")/.."
command -v mdbook >/dev/null || { echo "mdbook is needed: cargo install mdbook" >&2; exit 1; }
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
sources="${KCF_TRACK_SOURCES:-https://docs.rs/crate/kcf-track/$version/source}"
rm -rf target/book-pages target/book
mkdir -p target
cp -r docs target/book-pages
sed -i -E "s#\]\(\.\./#](${sources%/}/#g" target/book-pages/*.md
# The pages are in the side bar.
sed -i '/(SUMMARY.md)/d' target/book-pages/README.md
mdbook build target/book-pages --dest-dir "$PWD/target/book"
echo target/book/index.html
