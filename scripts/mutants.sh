#!/usr/bin/env bash
# Plants small mistakes in the tracker, the detectors, the machines and the kernels, one at a time, and names those that no fast test sees.
#
#     scripts/mutants.sh                               all of them: some 5,600, days on two cores
#     scripts/mutants.sh -f src/tracker/guard.rs       one file (-f takes globs, and may stand several times)
#     scripts/mutants.sh --shard 2/8                   the third of eight parts
#     scripts/mutants.sh --list                        what there is to plant, planting nothing
#
# Needs cargo-mutants (cargo install cargo-mutants --locked). Which tests it runs stands in .cargo/mutants.toml; whatever else cargo-mutants takes
# may be added. target/mutants.out has caught.txt, missed.txt and the log of each build. Exit code 2: some were missed.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo-mutants >/dev/null || { echo "cargo-mutants is missing: cargo install cargo-mutants --locked" >&2; exit 1; }
mkdir -p target

files=(-f 'src/tracker/**' -f 'src/detector/**' -f 'src/machine/**' -f 'src/kernel/**')
for argument in "$@"; do
    case $argument in -f | -f?* | --file | --file=*) files=() ;; esac
done

# Builds outnumber runs of the tests: this crate is not optimised, its dependencies are, as ever.
export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0
exec cargo mutants --output target --no-shuffle --colors never "${files[@]}" "$@"
