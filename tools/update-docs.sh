#!/usr/bin/env bash
# Rewrites every program output that the documents show, by running the commands again, and the pages that the
# program writes.
set -euo pipefail
cd "$(dirname "$0")/.."
build/release/bin/cleave plan compact --fleet examples/fleets/scattered.json --svg docs/pictures/compaction.svg > /dev/null
build/release/bin/cleave reproduce optimal-placement --write docs/reproduction > /dev/null
find docs -name '*.md' -print0 | xargs -0 build/release/bin/cleave-examples --update README.md
