#!/usr/bin/env bash
# Measure the tables of docs/results.md and the README, and write them:
#
#     scripts/results.sh --data DIR [--data DIR ...] [--model DIR] [--part accuracy ...] [--limit N] [--dry]
#
# Builds the program (PROGRAM names another one) and makes an environment of Python with OpenCV, ONNX Runtime and
# scikit-learn in target/results. With the part `machines` it also installs the Python package there. All parts take
# about 20 minutes on two cores. scripts/results.py says what a DIR is.
set -euo pipefail
cd "$(dirname "$0")/.."
place="${RESULTS_VENV:-$PWD/target/results/venv}"
[ -x "$place/bin/python" ] || python3 -m venv "$place"
"$place/bin/pip" install -q opencv-contrib-python-headless onnxruntime matplotlib scikit-learn threadpoolctl
program="${PROGRAM:-}"
if [ -z "$program" ]; then
    cargo build --locked --release --bins --features neural
    program="$(cargo metadata --format-version=1 --no-deps | "$place/bin/python" -c \
        'import json, sys; print(json.load(sys.stdin)["target_directory"])')/release/kcf-track"
fi
case " $* " in *" --part machines "*) machines=1 ;; *" --part "*) machines=0 ;; *) machines=1 ;; esac
if [ "$machines" = 1 ] && [ -z "${SKIP_PACKAGE:-}" ]; then
    "$place/bin/pip" install -q .
fi
exec "$place/bin/python" scripts/results.py --program "$program" "$@"
