#!/bin/sh
# All runs on the published sequences: parity with the authors' boxes, and every box as it was (tests/golden).
#     scripts/parity.sh [OTB_FOLDER [RESULTS_FOLDER]]
set -eu
cd "$(dirname "$0")/.."
[ $# -lt 1 ] || export KCF_TRACK_OTB="$1"
[ $# -lt 2 ] || export KCF_TRACK_OTB_RESULTS="$2"
export KCF_TRACK_FULL=1
exec cargo test --test golden -- --ignored otb_parity otb_golden --nocapture --test-threads=1
