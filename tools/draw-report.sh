#!/usr/bin/env bash
# Draws a report as a browser shows it: the picture in docs/report.md. Needs Chromium.
#
#   tools/draw-report.sh FILE.png
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# = 1 ] || {
  sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cp data/workloads/lab-day.jsonl "$folder"
(
  PATH="$PWD/build/release/bin:$PATH"
  cd "$folder"
  cleave simulate --fleet 4xA100-40GB --workload lab-day.jsonl --report report.html >/dev/null
)
HOME=$folder chromium --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --hide-scrollbars \
  --window-size=1160,1560 --virtual-time-budget=4000 --screenshot="$folder/report.png" \
  "file://$folder/report.html" >/dev/null 2>&1
mv "$folder/report.png" "$1"
