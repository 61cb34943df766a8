#!/usr/bin/env bash
# Test the Python package as users get it: a wheel from the source distribution in a new environment, its size, tests,
# documents, and types by mypy, stubtest and pyright.
#
#     scripts/python_tests.sh [--prepare] [ARGUMENTS OF PYTEST]
#
# PROFILE=dev builds faster; FEATURES=neural builds with networks; --prepare only makes the environments.
# KCF_TRACK_PYTHON names another interpreter; a free-threaded one (python3.14t) gets its own wheel and no type checks:
#
#     KCF_TRACK_PYTHON=python3.14t scripts/python_tests.sh
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD"
python="${KCF_TRACK_PYTHON:-python3}"
python="$(command -v "$python")" || { echo "skipped: ${KCF_TRACK_PYTHON:-python3} not found"; exit 0; }
free="$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)')"
[ "$free" = 1 ] && kind=-free || kind=
place="${KCF_TRACK_PYTHON_TESTS:-$root/target/python$kind}"
profile="${PROFILE:-release}"
# Many interpreters start: bytecode of NumPy saves time.
unset PYTHONDONTWRITEBYTECODE
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$place/build}"
# The whole program, with fonts and exports.
max_size=$((12 * 1024 * 1024))

mkdir -p "$place"
[ -x "$place/tools/bin/maturin" ] || {
    python3 -m venv "$place/tools"
    "$place/tools/bin/pip" install -q --no-compile "maturin>=1.9,<2"
}
# The test dependencies, a list on one line of pyproject.toml; a free-threaded interpreter checks no types.
required="$(sed -n 's/^test = //p' pyproject.toml)"
[ "$free" = 1 ] && required='["pytest", "scikit-learn>=1.6"]'
required="$(python3 -c 'import json, sys; print("numpy", *json.loads(sys.argv[1]), sep="\n")' "$required")"
[ "$required" = "$(cat "$place/requirements.txt" 2>/dev/null)" ] || {
    rm -rf "$place/venv"
    "$python" -m venv --without-pip "$place/venv"
    "$place/tools/bin/pip" --python "$place/venv" install -q --no-compile $required
    echo "$required" > "$place/requirements.txt"
}
if [ "${1:-}" = --prepare ]; then
    exit
fi
rm -rf "$place/dist"
log="$("$place/tools/bin/maturin" sdist --out "$place/dist" 2>&1)" || { echo "$log" >&2; exit 1; }
# Unpacks over the last one without touching equal files, so that only changes are compiled.
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
(cd "$place/source" && "$place/tools/bin/maturin" build --quiet --profile "$profile" ${FEATURES:+--features "$FEATURES"} -i "$python" --out "$place/dist")
wheel=("$place"/dist/*.whl)
size=$(stat -c %s "${wheel[0]}")
echo "$(basename "${wheel[0]}"): $size bytes"
[ "$size" -lt "$max_size" ] || { echo "the wheel is larger than $max_size bytes" >&2; exit 1; }

"$place/tools/bin/pip" --python "$place/venv" install -q --no-deps --force-reinstall "${wheel[0]}"
# Type checks run beside the tests, which use one core.
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
# In a folder without the sources, to test the installed package.
tested=0
(cd "$place" && "$place/venv/bin/python" -m pytest -q -p no:cacheprovider -c "$root/pyproject.toml" \
    --rootdir "$root" "$root/python/tests" "$@") || tested=$?
typed=0
[ -z "$typing" ] || { wait "$typing" || typed=$?; cat "$place/types.log"; }
[ "$tested" = 0 ] || exit "$tested"
exit "$typed"
