#!/bin/sh
# How long a newcomer waits, by stage, each from an empty target folder: the release build and the demo, and
# `cargo test`. Packages are downloaded before any clock starts. Run it on an idle machine.
#     scripts/build_times.sh
set -eu
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export CARGO_TARGET_DIR="$place"
cargo fetch --locked

stage() {
    name=$1
    shift
    begun=$(date +%s)
    "$@" >"$place.log" 2>&1 || { cat "$place.log"; exit 1; }
    printf '%4d s  %s\n' "$(($(date +%s) - begun))" "$name"
}

crates() {
    cargo tree --locked --prefix none --edges "$@" | sed 's/ (\*)$//' | sort -u | wc -l
}

echo "crates: $(crates normal,build --no-default-features) core, $(crates normal,build) program," \
    "$(crates normal,build,dev) with tests"
stage "release build" cargo build --release --locked
stage "demo" cargo run --release --locked -- --seq assets/demo
rm -rf "$place"
mkdir "$place"
stage "tests: compile" cargo test --locked --no-run
stage "tests: run" cargo test --locked --lib --bins --tests --examples
stage "tests: documentation" cargo test --locked --doc
