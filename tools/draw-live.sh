#!/usr/bin/env bash
# Draws the daemon's page as a browser shows it: the pictures in docs/page-view.md. Needs Node, Chromium and a release
# build.
#
#   tools/draw-live.sh [FOLDER [node|fleet|plan]...]      FOLDER: docs/pictures unless given
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(realpath -m "${1:-docs/pictures}")
shift || true
# As root another user draws, who may not write everywhere.
drawn=$(mktemp -d)
trap 'rm -r "$drawn"' EXIT
chmod 777 "$drawn"
tools/page.sh --run draw.mjs "$drawn" "$@"
mkdir -p "$folder"
cp "$drawn"/*.png "$folder"
