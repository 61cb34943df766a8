#!/usr/bin/env bash
# The Python package as its users get it: a wheel made of the source distribution in an environment of its own, its
# size, its tests, the examples in its documents, and its types by mypy, stubtest and pyright.
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD"
place="${KCF_TRACK_PYTHON_TESTS:-$root/target/python}"
export CARGO_TARGET_DIR="$place/build"
most=$((5 * 1024 * 1024))

mkdir -p "$place"
[ -x "$place/tools/bin/maturin" ] || {
    python3 -m venv "$place/tools"
    "$place/tools/bin/pip" install -q "maturin>=1.9,<2"
}
rm -rf "$place/dist"
said="$("$place/tools/bin/maturin" sdist --out "$place/dist" 2>&1)" || { echo "$said" >&2; exit 1; }
# Unpacked over the last one, files that are the same left alone: what did not change is not compiled again.
"$place/tools/bin/python" - "$place" <<'PYTHON'
import pathlib, shutil, sys, tarfile, tempfile

place = pathlib.Path(sys.argv[1])
(archive,) = (place / "dist").glob("*.tar.gz")
with tempfile.TemporaryDirectory(dir=place) as fresh, tarfile.open(archive) as opened:
    opened.extractall(fresh)
    (new,) = pathlib.Path(fresh).iterdir()
    old = place / "source"
    wanted = {path.relative_to(new) for path in new.rglob("*") if path.is_file()}
    for path in [path for path in old.rglob("*") if path.is_file()]:
        if path.relative_to(old) not in wanted:
            path.unlink()
    for path in wanted:
        if not (old / path).exists() or (old / path).read_bytes() != (new / path).read_bytes():
            (old / path).parent.mkdir(parents=True, exist_ok=True)
            (old / path).write_bytes((new / path).read_bytes())
PYTHON
(cd "$place/source" && "$place/tools/bin/maturin" build --quiet --release --out "$place/dist")
wheel=("$place"/dist/*.whl)
size=$(stat -c %s "${wheel[0]}")
echo "$(basename "${wheel[0]}"): $size bytes"
[ "$size" -lt "$most" ] || { echo "the wheel is larger than $most bytes" >&2; exit 1; }

[ -x "$place/venv/bin/pyright" ] || {
    python3 -m venv "$place/venv"
    "$place/venv/bin/pip" install -q "${wheel[0]}[test]"
}
"$place/venv/bin/pip" install -q --no-deps --force-reinstall "${wheel[0]}"
# From a folder without the sources: what is tested is what was installed.
cd "$place"
"$place/venv/bin/python" -m pytest -q -p no:cacheprovider -c "$root/pyproject.toml" --rootdir "$root" \
    "$root/python/tests" "$@"
cd "$root"
"$place/venv/bin/mypy"
"$place/venv/bin/python" -m mypy.stubtest kcf_track._native kcf_track.machines --ignore-unused-allowlist \
    --allowlist python/tests/stub_exceptions.txt --mypy-config-file pyproject.toml
"$place/venv/bin/pyright" --pythonpath "$place/venv/bin/python"
