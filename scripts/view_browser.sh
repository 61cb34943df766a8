#!/usr/bin/env bash
# The live view in a real browser: scripts/view_browser.sh [PROGRAM] [PICTURES]
#
# Drags by mouse and touch, plays, corrects, removes, downloads; holds the boxes against the command line's, measures
# the time between two frames on the page, and looks for accessibility violations (axe); reads the report of an
# evaluation. PROGRAM is the kcf-track program, a release build for numbers that mean something; PICTURES a folder for
# screenshots, of which those in docs/ are made (ffmpeg -i view-dark.png -quality 82 view-dark.webp). Needs node, npm,
# ffmpeg and Chromium (CHROMIUM names it).
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
program="$(realpath "${1:-$here/../target/release/kcf-track}")"
tools="${VIEW_BROWSER_TOOLS:-${TMPDIR:-/tmp}/kcf-track-view-browser}"
mkdir -p "$tools"
if [ ! -d "$tools/node_modules/axe-core" ]; then
    (cd "$tools" && npm install --silent --no-save --prefix "$tools" playwright-core@1 axe-core@4)
fi
NODE_PATH="$tools/node_modules" exec node "$here/view_browser/main.cjs" "$program" "${2:-}"
