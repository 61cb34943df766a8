#!/usr/bin/env bash
# Build all that a release has, run each piece on the demo, and print a table: file, bytes, SHA-256, how it was tried.
#
#     scripts/release.sh [PART...]
#
# Parts: checks, linux-x86_64, linux-aarch64, windows, c, wheels-x86_64, wheels-aarch64, tests-aarch64; the default is all
# of them. A repeated run builds what has changed. Needs Rust by rustup and Python; as root on Debian it installs what
# else is missing. Nothing is published. Files go to target/release-files. KCF_TRACK_SOURCES is the address of the sources
# that wheels link to.
set -euo pipefail
# A step that fails inside of $(…) ends the script too.
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
root="$PWD"
export CARGO_INCREMENTAL=0 WINEDEBUG=-all
built="${CARGO_TARGET_DIR:-$root/target}"
tools="$built/release-tools"
files="$built/release-files"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
KCF_TRACK_COMMIT="${KCF_TRACK_COMMIT:-$(git describe --always --dirty --abbrev=12)}"
export KCF_TRACK_COMMIT
all=(checks linux-x86_64 linux-aarch64 windows c wheels-x86_64 wheels-aarch64 tests-aarch64)
parts=("${@:-${all[@]}}")
for part in "${parts[@]}"; do
    [[ " ${all[*]} " == *" $part "* ]] || { echo "usage: scripts/release.sh [PART...], of ${all[*]}" >&2; exit 2; }
done
host="$(uname -m)"
mkdir -p "$files"

wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }
say() { echo "== $* ($((SECONDS / 60)) min $((SECONDS % 60)) s)" >&2; }

# need COMMAND PACKAGE: installs Debian's package of a command that is missing.
need() {
    command -v "$1" >/dev/null && return
    [ "$(id -u)" != 0 ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2" >/dev/null; } || true
    command -v "$1" >/dev/null || { echo "$1 is needed: install $2" >&2; exit 1; }
}

# record FILE HOW: a line of the table.
record() {
    [ -s "$1" ]
    row "$(basename "$1")" "$(stat -c %s "$1")" "$(sha256sum "$1" | cut -c1-64)" "$2"
}

# row NAME BYTES SHA HOW
row() {
    printf '| %s | %s | %s | %s |\n' "$@" > "$files/.$1.row"
    say "$1: $4"
}

# demo HOW COMMAND...: runs the demo and prints how, with the precision that must be 1.
demo() {
    local how="$1" report
    report="$("${@:2}" "$root/assets/demo" 2>&1)" || { echo "$report" >&2; exit 1; }
    [[ "$report" == *"precision at 20 px 1.000"* ]] || { echo "$how: $report" >&2; exit 1; }
    echo "demo $how: precision 1.000"
}

runner_of() {
    case "$1" in
        "$host"-unknown-*) ;;
        aarch64-*) need qemu-aarch64-static qemu-user-static; echo qemu-aarch64-static ;;
        *windows*) need wine wine; echo wine ;;
        *) echo "no way to run $1 here" >&2; exit 1 ;;
    esac
}

# program TARGET: builds the program for it and prints where it is.
program() {
    local target="$1" folder suffix=
    rustup target add "$target" >/dev/null 2>&1
    # Of the sizes at which LLVM still inlines a function, 100 costs less than 1 % of the speed and saves a tenth of the
    # bytes; at 30 the trackers take 3 to 6 % more instructions. Loops of unknown length are not unrolled: the hot ones
    # have fixed lengths.
    local flags="-C llvm-args=-inline-threshold=100 -C llvm-args=-unroll-runtime=0 -C llvm-args=-unroll-allow-partial=0"
    local link=()
    # rust-lld links static programs without a compiler for the machine, and keeps one copy of equal functions. A panic
    # ends the program (Cargo.toml), so the tables for unwinding, of which the standard library has its own, are left out.
    if [[ "$target" == *-musl ]]; then
        export "CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<< "$target")_LINKER=rust-lld"
        flags+=" -C link-arg=--icf=all -C link-arg=-zpack-relative-relocs -C force-unwind-tables=no"
        echo 'SECTIONS { /DISCARD/ : { *(.eh_frame) } } INSERT AFTER .text;' > "$built/no-unwinding.ld"
        link=(-- -C "link-arg=-T$built/no-unwinding.ld" -C link-arg=--no-eh-frame-hdr)
    fi
    [[ "$target" != *windows* ]] || { suffix=.exe; need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64; }
    RUSTFLAGS="$flags" cargo rustc --locked --profile dist --features neural --target "$target" --bin kcf-track \
        "${link[@]}" >&2
    # Cargo strips by the same tool, and says nothing where that does not find its library.
    LD_LIBRARY_PATH="$(rustc --print sysroot)/lib" "$(rustc --print target-libdir)/../bin/rust-objcopy" --strip-all \
        "$built/$target/dist/kcf-track$suffix" "$built/$target/kcf-track$suffix"
    echo "$built/$target/kcf-track$suffix"
}

# wine_stub FOLDER: the system library for random numbers, which Windows has and Wine lacks before version 9.
wine_stub() {
    cat > "$built/prng.c" <<'END'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return SystemFunction036(bytes, count); }
END
    x86_64-w64-mingw32-gcc -shared -o "$1/bcryptprimitives.dll" "$built/prng.c" -ladvapi32
}

licences() {
    [ -s "$files/LICENSES.md" ] && return
    command -v cargo-about >/dev/null || cargo install --quiet --locked --features cli cargo-about
    cargo about generate --offline --fail -c scripts/release/about.toml --all-features scripts/release/about.hbs \
        -o "$files/LICENSES.md" 2>/dev/null
}

# archive TARGET: the program with its documents, as an archive that is unpacked again and run.
archive() {
    local target="$1" name="kcf-track-$version-$1" binary run how
    binary="$(program "$target")"
    run=$(runner_of "$target")
    licences
    local place="$built/release-archive/$name"
    rm -rf "$built/release-archive" && mkdir -p "$place/completions"
    cp "$binary" README.md LICENSE CHANGELOG.md "$files/LICENSES.md" docs/install.md "$place/"
    [ "$run" != wine ] || wine_stub "$(dirname "$binary")"
    for shell in bash zsh fish powershell; do
        # shellcheck disable=SC2086
        $run "$binary" completions "$shell" > "$place/completions/kcf-track.$shell"
    done
    # shellcheck disable=SC2086
    $run "$binary" man > "$place/kcf-track.1"
    if [[ "$target" == *windows* ]]; then
        file="$files/$name.zip"
        rm -f "$file"
        (cd "$built/release-archive" && python3 -m zipfile -c "$file" "$name")
        rm -rf "$place" && python3 -m zipfile -e "$file" "$built/release-archive"
    else
        file="$files/$name.tar.gz"
        tar -C "$built/release-archive" --owner=0 --group=0 --sort=name -czf "$file" "$name"
        rm -rf "$place" && tar -C "$built/release-archive" -xzf "$file"
    fi
    [ "$run" != wine ] || wine_stub "$place"
    # shellcheck disable=SC2086
    how="$(demo "${run:-on this machine}" $run "$place/$(basename "$binary")")"
    # shellcheck disable=SC2086
    $run "$place/$(basename "$binary")" --version --long >&2
    record "$file" "$how; the program has $(stat -c %s "$binary") bytes"
}

# deb TARGET ARCHITECTURE: Debian's package of the archive's files.
deb() {
    local arch="$2" name="kcf-track-$version-$1" place="$built/release-deb" run how
    local unpacked="$built/release-archive/$name" file="$files/kcf-track_${version}_$arch.deb"
    run=$(runner_of "$1")
    need dpkg-deb dpkg
    rm -rf "$place" && mkdir -p "$place/DEBIAN"
    install -D -m 755 "$unpacked/kcf-track" "$place/usr/bin/kcf-track"
    install -D -m 644 "$unpacked/completions/kcf-track.bash" "$place/usr/share/bash-completion/completions/kcf-track"
    install -D -m 644 "$unpacked/completions/kcf-track.zsh" "$place/usr/share/zsh/vendor-completions/_kcf-track"
    install -D -m 644 "$unpacked/completions/kcf-track.fish" "$place/usr/share/fish/vendor_completions.d/kcf-track.fish"
    mkdir -p "$place/usr/share/man/man1"
    gzip -9nc "$unpacked/kcf-track.1" > "$place/usr/share/man/man1/kcf-track.1.gz"
    install -D -m 644 "$unpacked/LICENSE" "$place/usr/share/doc/kcf-track/copyright"
    install -D -m 644 "$unpacked/LICENSES.md" "$place/usr/share/doc/kcf-track/LICENSES.md"
    cat > "$place/DEBIAN/control" <<END
Package: kcf-track
Version: $version
Architecture: $arch
Maintainer: The kcf-track contributors <kcf-track@localhost>
Recommends: ffmpeg
Section: video
Priority: optional
Description: follows any object through a video, in real time, on one CPU core
 A kernelized correlation filter tracker. Mark an object in the first frame and
 get its box, and how likely it is right, in every later one.
END
    dpkg-deb --root-owner-group --build "$place" "$file" >/dev/null
    rm -rf "$place" && dpkg-deb -x "$file" "$place"
    # shellcheck disable=SC2086
    how="$(demo "${run:-on this machine}" $run "$place/usr/bin/kcf-track")"
    record "$file" "$how, unpacked"
}

# Python's tools in an environment of their own; zig links for glibc 2.17 and musl.
python_tools() {
    [ -x "$tools/bin/maturin" ] || python3 -m venv "$tools"
    "$tools/bin/pip" install -q "maturin>=1.9,<2" ziglang auditwheel twine wheel
    export PATH="$tools/bin:$PATH"
}

# finish_wheel FILE: PyPI shows the README without the files that it links to; the licences of all crates go with them.
finish_wheel() {
    local place info
    licences
    place="$(mktemp -d)"
    wheel unpack -d "$place" "$1" >/dev/null
    sed -i -E "s#\]\((docs|src|assets|examples|\.github)/#](${KCF_TRACK_SOURCES:-https://docs.rs/crate/kcf-track/$version/source}/\1/#g" \
        "$place"/*/*.dist-info/METADATA
    for info in "$place"/*/*.dist-info; do
        mkdir -p "$info/licenses" && cp "$files/LICENSES.md" "$info/licenses/"
    done
    wheel pack -d "$(dirname "$1")" "$place"/* >/dev/null
    rm -rf "$place"
}

# wheel_for TARGET TAG: one wheel for Python 3.9 and newer.
wheel_for() {
    local target="$1" tag="$2" out file how=
    rustup target add "$target" >/dev/null 2>&1
    out="$(mktemp -d)"
    maturin build --quiet --release --features neural --zig --target "$target" --compatibility "${tag%_"${target%%-*}"}" --out "$out" >&2
    finish_wheel "$out"/*.whl
    twine check --strict "$out"/*.whl >&2
    # auditwheel knows musl's library by Alpine's name for it only; maturin has checked the symbols of both.
    [[ "$target" == *-musl ]] || [[ "$(auditwheel show "$out"/*.whl)" == *"$tag"* ]] || { auditwheel show "$out"/*.whl >&2; exit 1; }
    file="$files/$(basename "$out"/*.whl)"
    mv "$out"/*.whl "$file"
    case "$target" in
        "$host"-*-gnu) how="$(try_wheel "$file"); $(try_in_debian "$file" amd64 forky 3.14)" ;;
        aarch64-*-gnu) how="$(try_in_debian "$file" arm64 bookworm 3.11); $(try_in_debian "$file" arm64 forky 3.14)" ;;
        *) how="$(try_musl_wheel "$file" "${target%%-*}")" ;;
    esac
    record "$file" "twine, $([[ "$target" == *-musl ]] && echo maturin || echo auditwheel); $how"
}

# try_wheel FILE: installs it in a new environment of each Python that is here, and runs the demo by both interfaces.
try_wheel() {
    local tried=() python place
    place="$(mktemp -d)"
    for minor in 9 10 11 12 13 14; do
        # Those of pyenv first: its `python3.9` in PATH fails where another version is chosen.
        python="$(ls "$HOME"/.pyenv/versions/3."$minor".*/bin/python 2>/dev/null | head -1 || true)"
        python="${python:-$(command -v "python3.$minor" || true)}"
        [ -n "$python" ] && "$python" -c '' 2>/dev/null || continue
        "$python" -m venv "$place/3.$minor"
        "$place/3.$minor/bin/pip" install -q "$1" >&2
        (cd "$place" && demo "" "$place/3.$minor/bin/kcf-track" >/dev/null)
        (cd "$place" && "$place/3.$minor/bin/python" -c '
import kcf_track, sys
source = kcf_track.Source(sys.argv[1])
tracker = kcf_track.Tracker("fast")
for number, (_, _, frame, *_) in enumerate(source.frames()):
    ok = number == 0 and tracker.init(frame, (13, 44, 38, 60)) is None or tracker.update(frame)[0]
    assert ok, number
' "$root/assets/demo")
        tried+=("3.$minor")
    done
    rm -rf "$place"
    echo "installed from PyPI's NumPy and run on Python ${tried[*]}, demo precision 1.000"
}

# try_in_debian FILE ARCHITECTURE SUITE PYTHON: installs it beside a Python of Debian and runs the demo, in an emulator on
# another machine.
try_in_debian() {
    local debian="$tools/$3-$2" python="$4" machine=x86_64 place run
    run=("$debian/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path "$debian/usr/lib/x86_64-linux-gnu")
    [ "$2" != arm64 ] || { machine=aarch64 run=(qemu-aarch64-static -L "$debian"); need qemu-aarch64-static qemu-user-static; }
    need mmdebstrap mmdebstrap
    [ -x "$debian/usr/bin/python$python" ] || {
        rm -rf "$debian"
        # A mirror's list of packages may have expired: it will do to try a wheel.
        mmdebstrap --quiet --variant=extract --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --arch="$2" \
            --aptopt='Acquire::Check-Valid-Until "false"' --include="python$python,libstdc++6,musl" "$3" "$debian" >&2
    }
    place="$(mktemp -d)"
    "$tools/bin/pip" install -q --target "$place" --python-version "$python" --only-binary=:all: \
        --platform "manylinux2014_$machine" --platform "manylinux_2_28_$machine" "$1" >&2
    demo "" env PYTHONHOME="$debian/usr" PYTHONPATH="$place" "${run[@]}" "$debian/usr/bin/python$python" -m kcf_track >/dev/null
    rm -rf "$place"
    echo "run on Python $python of Debian $3 for $machine, demo precision 1.000"
}

# try_musl_wheel FILE MACHINE: musl's loader must find all of the library's symbols but Python's. (No Python for musl is
# here.)
try_musl_wheel() {
    local place said missing loader=(/lib/ld-musl-"$2".so.1)
    if [ "$2" = "$host" ]; then
        need "${loader[0]}" musl
    else
        loader=(qemu-aarch64-static "$tools/bookworm-arm64/usr/lib/$2-linux-musl/libc.so")
    fi
    place="$(mktemp -d)"
    python3 -m zipfile -e "$1" "$place"
    said="$("${loader[@]}" --list "$place"/kcf_track/_native*.so 2>&1 || true)"
    missing="$(grep -E '^Error|cannot load' <<< "$said" | grep -vE ': _?Py[A-Za-z0-9_]+: ' || true)"
    rm -rf "$place"
    [[ -z "$missing" && "$said" == *libc* ]] || { echo "$said" >&2; exit 1; }
    echo "loaded by musl's loader for $2, not run by a Python"
}

if wanted checks; then
    say "checks of the crate"
    cargo publish --dry-run --locked --no-verify --allow-dirty 2>&1 | tail -2 >&2
    command -v cargo-deny >/dev/null || cargo install --quiet --locked cargo-deny
    # Advisories are in a git repository: without the network to it, the rest is still checked.
    for crate in Cargo.toml python/Cargo.toml; do
        deny=(cargo deny --log-level error --manifest-path "$crate" --config scripts/release/deny.toml)
        "${deny[@]}" check bans licenses sources >&2
        if "${deny[@]}" fetch db 2>/dev/null; then
            "${deny[@]}" check advisories >&2
        else
            say "ADVISORIES NOT CHECKED: their database is out of reach"
        fi
    done
    oldest="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
    rustup toolchain install --profile minimal "$oldest" >/dev/null 2>&1
    # Not with networks: the version of Rust that these need is their crate's.
    CARGO_TARGET_DIR="$built/msrv" cargo "+$oldest" check --locked --quiet --features capi
    say "Rust $oldest compiles it"
    # Not the tag of this release itself.
    tag="$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || true)"
    if [ -n "$tag" ]; then
        command -v cargo-semver-checks >/dev/null || cargo install --quiet --locked cargo-semver-checks
        cargo semver-checks --baseline-rev "$tag" >&2
        say "the interface compared with that of $tag"
    else
        say "no earlier tag to compare the interface with"
    fi
fi
if wanted linux-x86_64; then
    archive x86_64-unknown-linux-musl
    deb x86_64-unknown-linux-musl amd64
fi
if wanted linux-aarch64; then
    archive aarch64-unknown-linux-musl
    deb aarch64-unknown-linux-musl arm64
fi
if wanted windows; then
    archive x86_64-pc-windows-gnu
fi
if wanted c; then
    name="kcf-track-c-$version-$host-linux-gnu"
    need cc gcc
    need g++ g++
    need cmake cmake
    need ffmpeg ffmpeg
    need pkg-config pkg-config
    need valgrind valgrind
    pkg-config --exists opencv4 || apt-get install -y -qq --no-install-recommends libopencv-dev >/dev/null
    cargo +nightly --version >/dev/null 2>&1 || rustup toolchain install --profile minimal nightly >/dev/null 2>&1
    rustup component add --toolchain nightly rust-src >/dev/null 2>&1
    how="$(scripts/c_tests.sh --full | tee -a /dev/stderr)"
    [[ "$how" != *skipped* ]] || exit 1
    rm -rf "$built/release-archive" && mkdir -p "$built/release-archive"
    scripts/c_library.sh "$built/release-archive/$name"
    strip --strip-unneeded "$built/release-archive/$name"/lib/*.so.* && strip -g "$built/release-archive/$name"/lib/*.a
    licences
    cp LICENSE "$files/LICENSES.md" examples/c/* "$built/release-archive/$name/"
    tar -C "$built/release-archive" --owner=0 --group=0 --sort=name -czf "$files/$name.tar.gz" "$name"
    record "$files/$name.tar.gz" "$(paste -sd ';' <<< "$how" | sed 's/;/; /g')"
fi
for machine in x86_64 aarch64; do
    wanted "wheels-$machine" || continue
    python_tools
    wheel_for "$machine-unknown-linux-gnu" "manylinux_2_17_$machine"
    wheel_for "$machine-unknown-linux-musl" "musllinux_1_2_$machine"
done
if wanted tests-aarch64; then
    target=aarch64-unknown-linux-musl
    run=$(runner_of "$target")
    rustup target add "$target" >/dev/null 2>&1
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER="$run"
    how="$(cargo test --locked --lib --target "$target" | tee -a /dev/stderr | grep '^test result: ok')"
    row "the library's tests" "" "" "${run:-on this machine}, 64-bit ARM: ${how#test result: ok. }"
fi

(cd "$files" && sha256sum -- *.tar.gz *.zip *.deb *.whl 2>/dev/null > SHA256SUMS || true)
echo
echo "| file | bytes | SHA-256 | tried |"
echo "| --- | --- | --- | --- |"
cat "$files"/.*.row
