#!/usr/bin/env bash
# Build the library for C and C++ and install it: shared, static, header, pkg-config and CMake files.
#
#     scripts/c_library.sh PREFIX
#
# PROFILE=dev builds faster. TARGET=aarch64-unknown-linux-gnu builds for another machine, by cargo-zigbuild.
set -euo pipefail
case "${1:--h}" in
-*) echo "usage: scripts/c_library.sh PREFIX" >&2 && exit 2 ;;
esac
prefix="$(realpath -m "$1")"
mkdir -p "$prefix"
cd "$(dirname "$0")/.."
profile="${PROFILE:-release}"
target="${TARGET:-}"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
# A change of 0.x may change the interface, so it is part of the name.
soname="libkcf_track.so.${version%.*}"

build=(rustc)
[ -z "$target" ] || build=(zigbuild)
folder="${CARGO_TARGET_DIR:-target}/${target:+$target/}${profile/dev/debug}"
options=(--locked --lib --profile "$profile" --no-default-features --features capi ${target:+--target "$target"})
if [ -z "$target" ]; then
    cargo rustc "${options[@]}" --crate-type cdylib,staticlib -- -C "link-arg=-Wl,-soname,$soname"
else
    RUSTFLAGS="-C link-arg=-Wl,-soname,$soname" cargo-zigbuild rustc "${options[@]}" --crate-type cdylib,staticlib
fi

mkdir -p "$prefix"/{include,lib/pkgconfig,lib/cmake/kcf_track}
install -m 644 src/capi/kcf_track.h "$prefix/include/"
install -m 644 "$folder/libkcf_track.a" "$prefix/lib/"
install -m 755 "$folder/libkcf_track.so" "$prefix/lib/libkcf_track.so.$version"
ln -sf "libkcf_track.so.$version" "$prefix/lib/$soname"
ln -sf "$soname" "$prefix/lib/libkcf_track.so"
cat > "$prefix/lib/pkgconfig/kcf_track.pc" <<END
prefix=\${pcfiledir}/../..

Name: kcf_track
Description: Follows any object through the frames of a video
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lkcf_track
Libs.private: -lpthread -lm -ldl
END
cat > "$prefix/lib/cmake/kcf_track/kcf_track-config.cmake" <<'END'
# kcf_track::kcf_track is the shared library, kcf_track::static the static one.
get_filename_component(_kcf_track "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET kcf_track::kcf_track)
  add_library(kcf_track::kcf_track SHARED IMPORTED)
  set_target_properties(kcf_track::kcf_track PROPERTIES
    IMPORTED_LOCATION "${_kcf_track}/lib/libkcf_track.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_kcf_track}/include")
  add_library(kcf_track::static STATIC IMPORTED)
  set_target_properties(kcf_track::static PROPERTIES
    IMPORTED_LOCATION "${_kcf_track}/lib/libkcf_track.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_kcf_track}/include"
    INTERFACE_LINK_LIBRARIES "pthread;m;dl")
endif()
END
cat > "$prefix/lib/cmake/kcf_track/kcf_track-config-version.cmake" <<END
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
END
