#!/usr/bin/env bash
# Rewrites every program output that the documents show, by running the commands again.
set -euo pipefail
cd "$(dirname "$0")/.."
find docs -name '*.md' -print0 | xargs -0 build/release/bin/cleave-examples --update README.md
