#!/usr/bin/env bash
# The Python package as its users get it: a wheel made of the source distribution in an environment of its own, its
# size, its tests, the examples in its documents, and its types by mypy, stubtest and pyright.
#
#     scripts/python_tests.sh [--prepare] [ARGUMENTS OF PYTEST]
#
# PROFILE=dev builds it as the library's own tests are built, in less time; --prepare only makes the environments.
# KCF_TRACK_PYTHON names another interpreter. One without a lock (python3.14t) gets a wheel of its own, in a place of its
# own, and all but the types, which are the same:
#
#     KCF_TRACK_PYTHON=python3.14t scripts/python_tests.sh
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD"
python="${KCF_TRACK_PYTHON:-python3}"
python="$(command -v "$python")" || { echo "skipped: there is no ${KCF_TRACK_PYTHON:-python3}"; exit 0; }
free="$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)')"
[ "$free" = 1 ] && kind=-free || kind=
place="${KCF_TRACK_PYTHON_TESTS:-$root/target/python$kind}"
profile="${PROFILE:-release}"
# Hundreds of interpreters are started: each would read the sources of NumPy again.
unset PYTHONDONTWRITEBYTECODE
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$place/build}"
most=$((5 * 1024 * 1024))

mkdir -p "$place"
[ -x "$place/tools/bin/maturin" ] || {
    python3 -m venv "$place/tools"
    "$place/tools/bin/pip" install -q --no-compile "maturin>=1.9,<2"
}
[ -x "$place/venv/bin/pytest" ] || {
    "$python" -m venv --without-pip "$place/venv"
    # What the package's tests ask for, in pyproject.toml a list in one line; an interpreter without a lock has no types.
    wanted="$(sed -n 's/^test = //p' pyproject.toml)"
    [ "$free" = 1 ] && wanted='["pytest", "scikit-learn>=1.6"]'
    python3 -c 'import json, sys; print("numpy", *json.loads(sys.argv[1]), sep="\n")' "$wanted" > "$place/wanted.txt"
    "$place/tools/bin/pip" --python "$place/venv" install -q --no-compile -r "$place/wanted.txt"
}
if [ "${1:-}" = --prepare ]; then
    exit
fi
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
(cd "$place/source" && "$place/tools/bin/maturin" build --quiet --profile "$profile" -i "$python" --out "$place/dist")
wheel=("$place"/dist/*.whl)
size=$(stat -c %s "${wheel[0]}")
echo "$(basename "${wheel[0]}"): $size bytes"
[ "$size" -lt "$most" ] || { echo "the wheel is larger than $most bytes" >&2; exit 1; }

"$place/tools/bin/pip" --python "$place/venv" install -q --no-deps --force-reinstall "${wheel[0]}"
# The types beside the tests, which use one core.
types() {
    cd "$root"
    "$place/venv/bin/mypy"
    "$place/venv/bin/python" -m mypy.stubtest kcf_track._native kcf_track.machines --ignore-unused-allowlist \
        --allowlist python/tests/stub_exceptions.txt --mypy-config-file pyproject.toml
    "$place/venv/bin/pyright" --pythonpath "$place/venv/bin/python"
}
typing=
if [ "$free" = 0 ]; then
    (set -e; types) > "$place/types.log" 2>&1 &
    typing=$!
fi
# From a folder without the sources: what is tested is what was installed.
tested=0
(cd "$place" && "$place/venv/bin/python" -m pytest -q -p no:cacheprovider -c "$root/pyproject.toml" \
    --rootdir "$root" "$root/python/tests" "$@") || tested=$?
typed=0
[ -z "$typing" ] || { wait "$typing" || typed=$?; cat "$place/types.log"; }
[ "$tested" = 0 ] || exit "$tested"
exit "$typed"
