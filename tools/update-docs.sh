#!/usr/bin/env bash
# Rewrites every program output that the documents show, by running the commands again, and the pages that the
# program writes.
set -euo pipefail
cd "$(dirname "$0")/.."
build/release/bin/cleave plan compact --fleet examples/fleets/scattered.json --svg docs/pictures/compaction.svg > /dev/null
build/release/bin/cleave reproduce optimal-placement --write docs/reproduction > /dev/null
find docs -name '*.md' -print0 | xargs -0 build/release/bin/cleave-examples --update README.md

# What the documents show of a daemon has times of day and process numbers in it, so that it is not compared in tests.
put_text() { # FILE MARK TEXT: in the place of the text between <!-- MARK: and <!-- end -->
  awk -v mark="<!-- $2:" -v text="$3" '
    index($0, mark) == 1 { print; print "```text"; print text; print "```"; inside = 1 }
    /^<!-- end -->/ { inside = 0 }
    !inside { print }' "$1" > "$1.new"
  mv "$1.new" "$1"
}
put_text docs/daemon.md researcher "$(examples/researcher.sh)"
put_text docs/daemon.md bench-daemon "$(build/release/bin/cleave bench daemon 2> /dev/null)"

# Needs the jobs of MISO, which are not ours to bundle.
miso=../shared/data/mig-miso-a100-40gb/jobs_100.csv
if [ -e "$miso" ]; then
  page=docs/reproduction/miso-100.txt
  build/release/bin/cleave compare --fleet 8xA100-40GB --profiles plain --trace "miso:$miso" --seeds 8 \
    --schedulers full-gpu,static,static:layout=best,scheme-a,scheme-b,online,miso,dyna-p,oracle > "$page"
  # The table at its beginning stands in the README too.
  table=$(sed -n '/^scheduler/,/^$/p' "$page" | sed '/^$/,$d')
  awk -v table="$table" '
    /^<!-- miso-100:/ { print; print "```text"; print table; print "```"; inside = 1 }
    /^<!-- end -->/ { inside = 0 }
    !inside { print }' README.md > README.md.new
  mv README.md.new README.md
else
  echo "update-docs: no $miso; the MISO comparison stays as it is" >&2
fi

# Needs ParvaGPU's measurements, which are not ours to bundle either.
parva=../shared/data/mig-parvagpu-a100-80gb/inference_profiles.csv
if [ -e "$parva" ]; then
  page=docs/forecast-time.md
  table=$(build/release/bin/cleave reproduce completion-time --data "$parva")
  awk -v table="$table" '
    /^<!-- completion-time:/ { print; print "```text"; print table; print "```"; inside = 1 }
    /^<!-- end -->/ { inside = 0 }
    !inside { print }' "$page" > "$page.new"
  mv "$page.new" "$page"
else
  echo "update-docs: no $parva; the table of completion times stays as it is" >&2
fi

# Needs CARMA's measured tasks.
tasks=../shared/data/carma-dl-tasks/training_tasks.csv
if [ -e "$tasks" ]; then
  table=$(build/release/bin/cleave reproduce carma --tasks "$tasks")
  awk -v table="$table" '
    /^<!-- carma:/ { print; print "```text"; print table; print "```"; inside = 1 }
    /^<!-- end -->/ { inside = 0 }
    !inside { print }' docs/forecast-model.md > docs/forecast-model.md.new
  mv docs/forecast-model.md.new docs/forecast-model.md
else
  echo "update-docs: no $tasks; the table of forecasts stays as it is" >&2
fi

# Needs shapes of models and lengths of requests.
if [ -d ../shared/data/models ]; then
  page=docs/forecast-memory.md
  table=$(build/release/bin/cleave reproduce memory-alarms --data ../shared/data --seeds 4)
  awk -v table="$table" '
    /^<!-- memory-alarms:/ { print; print "```text"; print table; print "```"; inside = 1 }
    /^<!-- end -->/ { inside = 0 }
    !inside { print }' "$page" > "$page.new"
  mv "$page.new" "$page"
else
  echo "update-docs: no ../shared/data/models; the table of alarms stays as it is" >&2
fi
