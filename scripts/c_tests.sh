#!/usr/bin/env bash
# Test the C interface: its rules, and the example's boxes against the program's; the C++ example where there is OpenCV.
#
#     scripts/c_tests.sh [--full]
#
# --full adds valgrind, the sanitizers of addresses and threads (nightly Rust with rust-src), and 200,000 updates.
# PROFILE=dev builds faster. Skipped where there is no C compiler; all but the checks also where there is no ffmpeg.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in "${CC:-cc}" pkg-config; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool not found"; exit 0; }
done
profile="${PROFILE:-release}"
built="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
place="$built/c"
export PKG_CONFIG_PATH="$place/lib/pkgconfig"
# What is freed counts as free at once: the updates must not grow by a byte.
export GLIBC_TUNABLES=glibc.malloc.tcache_count=0

PROFILE="$profile" scripts/c_library.sh "$place"
program="$built/${profile/dev/debug}/kcf-track"
[ -x "$program" ] || cargo build --locked --profile "$profile"

# compile COMPILER SOURCE [PACKAGE...]: against the shared library, warnings are errors.
compile() {
    local out
    out="$place/$(basename "${2%.*}")"
    # shellcheck disable=SC2046
    "$1" -Wall -Wextra -Werror -O1 -g "$2" -o "$out" $(pkg-config --cflags --libs kcf_track "${@:3}") -lm -lpthread \
        -Wl,-rpath,"$place/lib"
}

compile "${CC:-cc}" tests/c/check.c
"$place/check" rules
"$place/check" updates 1000 paper
"$place/check" threads 50 fast

command -v ffmpeg >/dev/null || { echo "skipped: the examples, ffmpeg not found"; exit 0; }
frames="$place/frames"
rm -rf "$frames" && mkdir -p "$frames"
ffmpeg -v error -i assets/demo/img/%04d.jpg -frames:v 40 "$frames/%04d.ppm"
compile "${CC:-cc}" examples/c/track.c
boxes=(13,44,38,60 150,100,40,40)
for preset in fast robust paper; do
    for box in "${boxes[@]}"; do
        "$program" "$frames" -q --init "$box" --preset "$preset" --csv - |
            awk -F, 'NR > 2 { printf "%d %.4f,%.4f,%.4f,%.4f\n", $1, $3, $4, $5, $6 }' > "$place/program.txt"
        # The box as the second of two targets.
        cat "$frames"/*.ppm | "$place/track" "$preset" "${boxes[0]}" "$box" |
            awk '$2 == 1 { print $1, $3 }' > "$place/c.txt"
        cmp "$place/program.txt" "$place/c.txt"
    done
done
echo "C: the boxes of 6 runs are the program's"

if command -v cmake >/dev/null; then
    cat > "$place/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(track C)
find_package(kcf_track 0.1 REQUIRED)
add_executable(track_static $PWD/examples/c/track.c)
target_link_libraries(track_static kcf_track::static)
END
    cmake -S "$place" -B "$place/cmake" -DCMAKE_PREFIX_PATH="$place" >/dev/null
    cmake --build "$place/cmake" >/dev/null
    cat "$frames"/*.ppm | "$place/cmake/track_static" "$preset" "$box" | awk '{ print $1, $3 }' | cmp - "$place/c.txt"
    echo "CMake: the boxes of the static library are the same"
else
    echo "skipped: cmake not found"
fi

if command -v c++ >/dev/null && pkg-config --exists opencv4; then
    compile c++ examples/c/track_opencv.cpp opencv4
    "$program" "$frames" -q --init "$box" --csv - |
        awk -F, 'NR > 1 { printf "%d %.4f,%.4f,%.4f,%.4f\n", $1, $3, $4, $5, $6 }' > "$place/program.txt"
    "$place/track_opencv" "$frames/%04d.ppm" "$box" "$place/overlay.mp4" | cut -d' ' -f1,2 | cmp - "$place/program.txt"
    echo "C++: the boxes beside OpenCV $(pkg-config --modversion opencv4) are the program's"
else
    echo "skipped: the C++ example, without the headers of OpenCV"
fi
[ "${1:-}" = --full ] || exit 0

valgrind -q --error-exitcode=1 --leak-check=full --show-leak-kinds=definite,indirect,possible \
    --errors-for-leak-kinds=definite,indirect,possible "$place/check" rules
for preset in paper fast robust; do
    valgrind -q --error-exitcode=1 --leak-check=full "$place/check" updates 20 "$preset"
done
echo "valgrind: no errors, no leaks"
for sanitizer in address thread; do
    host="$(rustc -vV | sed -n 's/^host: //p')"
    RUSTFLAGS="-Zsanitizer=$sanitizer" cargo +nightly rustc --locked --lib --release --no-default-features \
        --features capi --crate-type staticlib -Zbuild-std --target "$host" --target-dir "$built/$sanitizer"
    # Both languages use Rust's runtime of the sanitizer: a C compiler's may be older and lack functions.
    runtime="$(rustc +nightly --print target-libdir)/librustc-nightly_rt.${sanitizer:0:1}san.a"
    "${CC:-cc}" -fsanitize="$sanitizer" -g -O1 -Isrc/capi -c tests/c/check.c -o "$place/check-$sanitizer.o"
    "${CC:-cc}" "$place/check-$sanitizer.o" "$built/$sanitizer/$host/release/libkcf_track.a" -Wl,--whole-archive "$runtime" \
        -Wl,--no-whole-archive,--export-dynamic -lm -lpthread -ldl -lrt -o "$place/check-$sanitizer"
    "$place/check-$sanitizer" rules
    "$place/check-$sanitizer" threads 200 robust
    "$place/check-$sanitizer" threads 500 paper
    echo "sanitizer ($sanitizer): rules, and eight threads"
done
"$place/check" updates 200000 paper
"$place/check" updates 200000 robust
