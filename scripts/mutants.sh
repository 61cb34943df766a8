#!/usr/bin/env bash
# Plants small mistakes in the code, one at a time, and names those that the unit tests of the same room do not see.
#
#     scripts/mutants.sh                                        all four rooms: some 5,600, days on two cores
#     scripts/mutants.sh machines                               one room
#     scripts/mutants.sh tracker -f src/tracker/verifier.rs     one file (-f takes globs, and may stand several times)
#     scripts/mutants.sh tracker --shard 2/8                    the third of eight parts
#     scripts/mutants.sh kernels --list                         a list of the mistakes, planting nothing
#
# The rooms are tracker, filters, machines and kernels. Needs cargo-mutants (cargo install cargo-mutants --locked);
# its other arguments may follow the room. target/mutants/ROOM/mutants.out has caught.txt, missed.txt and the log of
# each build. Exit code 2: some were missed.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo-mutants >/dev/null; then
    echo "cargo-mutants is missing: cargo install cargo-mutants --locked" >&2
    exit 1
fi

# Builds outnumber runs of the tests: this crate is not optimised; what it takes from others is.
unoptimised=(--cargo-arg=--config "--cargo-arg=profile.dev.package.kcf-track.opt-level=0")

# The tests of a room; kernels are held by the machines over them as well.
plant() {
    local room=$1 tests=("$1::") files=(-f "src/$1/**")
    shift
    [ "$room" != kernels ] || tests+=(machines::)
    for argument in "$@"; do
        case $argument in -f | -f?* | --file | --file=*) files=() ;; esac
    done
    mkdir -p "target/mutants/$room"
    cargo mutants --output "target/mutants/$room" --no-shuffle --colors never \
        --timeout-multiplier 5 --minimum-test-timeout 60 --cargo-arg=--lib "${unoptimised[@]}" "${files[@]}" \
        -e '**/tests.rs' -e '**/tests/**' -e src/tracker/scenes.rs "$@" -- -- "${tests[@]}"
}

case ${1:-} in
    tracker | filters | machines | kernels) plant "$@" ;;
    *)
        failed=0
        for room in tracker filters machines kernels; do
            plant "$room" "$@" || failed=$?
        done
        exit "$failed"
        ;;
esac
