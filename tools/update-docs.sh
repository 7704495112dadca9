#!/usr/bin/env bash
# Rewrites every program output that the documents show, by running the commands again, and the
# pages, tables and pictures that are made by programs. Build the preset release first.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/build/release/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# replace FILE MARK TEXT: puts TEXT between the lines <!-- MARK: ... and <!-- end --> of FILE.
replace() {
  awk -v mark="<!-- $2:" -v text="$3" '
    index($0, mark) == 1 { print; print text; inside = 1 }
    /^<!-- end -->/ { inside = 0 }
    !inside { print }' "$1" > "$work/page"
  cat "$work/page" > "$1"
}
replace_output() { # the same as a block of text
  replace "$1" "$2" $'```text\n'"$3"$'\n```'
}

cleave plan compact --fleet examples/fleets/scattered.json --svg docs/pictures/compaction.svg > /dev/null
cleave reproduce optimal-placement --write docs/reproduction > /dev/null
cleave reproduce dyna-p --write docs/reproduction > /dev/null
cleave reproduce taming --write docs/reproduction > /dev/null
cleave reproduce migm --write docs/reproduction > /dev/null
build/release/bin/cleave-describe-api docs  # schemas and fields of the API
CLEAVE_WRITE_DOCS=1 build/release/bin/daemon_test --gtest_filter='MetricTable.*' > /dev/null
CLEAVE_WRITE_DOCS=1 build/release/bin/nvmlsim_test --gtest_filter='Exports.AreListedInTheDocs' > /dev/null
find docs -name '*.md' -print0 | xargs -0 cleave-examples --update README.md

# The picture of the README: the same jobs on whole GPUs and on instances.
cleave workload generate lab-day --seed 1 | sed -n 1,48p > "$work/jobs.jsonl"
for scheduler in full-gpu online:migration=off; do
  cleave simulate --fleet 2xA100-40GB --workload "$work/jobs.jsonl" --scheduler "$scheduler" \
    --trace-events "$work/${scheduler%%:*}.json" > /dev/null
done
tools/draw-report.sh docs/pictures/report.png
tools/draw-timeline.py docs/pictures/two-gpus.svg \
  "One job at a time on each whole GPU=$work/full-gpu.json" "An instance for each job=$work/online.json"

# Schedulers over 21 seeds, on two fleets.
schedulers=full-gpu,static:layout=best,scheme-a,scheme-b,online,online:migration=off,dyna-p,miso,adaptive
for gpus in 4 3; do
  cleave compare --fleet "${gpus}xA100-40GB" --generate lab-day --seeds 21 --schedulers "$schedulers" \
    --json > "$work/$gpus.json"
  cleave compare --fleet "${gpus}xA100-40GB" --generate lab-day --seeds 21 --schedulers "$schedulers" \
    > "$work/$gpus.txt"
done
cat "$work/4.txt" <(echo) "$work/3.txt" > docs/reproduction/lab-day-21.txt
columns=("4 GPUs=$work/4.json" "3 GPUs=$work/3.json")
replace README.md seeds "$(tools/seed-table.py turnaround_mean_s "${columns[@]}")"
replace docs/comparing.md seeds-turnaround "$(tools/seed-table.py turnaround_mean_s "${columns[@]}")"
replace docs/comparing.md seeds-wait "$(tools/seed-table.py wait_mean_s "${columns[@]}")"

# What the documents show of a daemon has times of day and process numbers in it, so that it is not
# compared in tests.
replace_output docs/daemon.md researcher \
  "$(examples/researcher.sh | sed "s|$PWD|/home/ada/cleave|; s|^user  .*|user         ada|")"
replace_output docs/daemon.md bench-daemon "$(cleave bench daemon 2> /dev/null)"

# The rest needs data that are not ours to bundle.
data=../shared/data
if [ -e ../shared/arena/cells.jsonl ]; then
  cleave arena ../shared/arena/cells.jsonl --page docs/arena.md
else
  echo "update-docs: no cells; docs/arena.md stays as it is" >&2
fi
if [ -e "$data/burstgpt" ]; then
  cleave reproduce online --data "$data" --write docs/reproduction > /dev/null
else
  echo "update-docs: no traces of queries; docs/reproduction/online.md stays as it is" >&2
fi
if [ -e "$data/mig-miso-a100-40gb/jobs_100.csv" ]; then
  page=docs/reproduction/miso-100.txt
  cleave compare --fleet 8xA100-40GB --profiles plain --seeds 21 \
    --trace "miso:$data/mig-miso-a100-40gb/jobs_100.csv" \
    --schedulers full-gpu,static,static:layout=best,scheme-a,scheme-b,online,miso,dyna-p,oracle > "$page"
  replace_output docs/comparing.md miso-100 "$(sed -n '/^scheduler/,/^$/p' "$page" | sed '/^$/,$d')"
else
  echo "update-docs: no jobs of MISO; that comparison stays as it is" >&2
fi
overview() { sed -n '/^scheduler/,/^$/p' | sed '/^$/d'; }
if [ -e "$data/philly/philly.csv.gz" ]; then
  replace_output docs/comparing.md philly "$(cleave compare --fleet 75x8xA100-40GB \
    --trace "philly:$data/philly/philly.csv.gz" \
    --schedulers full-gpu,full-gpu:backfill=easy,online,online:backfill=easy | overview)"
else
  echo "update-docs: no jobs of Philly; that comparison stays as it is" >&2
fi
pods=$data/alibaba-gpu-v2023/openb_pod_list_default.csv.gz
if [ -e "$pods" ]; then
  replace_output docs/comparing.md alibaba-several "$(cleave compare --fleet 20x8xA100-40GB \
    --trace "alibaba2023:$pods" --compress 20 --several instances \
    --schedulers full-gpu:backfill=easy,static:layout=best,scheme-b:backfill=easy,online:backfill=easy | overview)"
else
  echo "update-docs: no pods of Alibaba; that comparison stays as it is" >&2
fi
if [ -e "$data/mig-parvagpu-a100-80gb/inference_profiles.csv" ]; then
  replace_output docs/forecast-time.md completion-time \
    "$(cleave reproduce completion-time --data "$data/mig-parvagpu-a100-80gb/inference_profiles.csv")"
else
  echo "update-docs: no measurements of ParvaGPU; the table of completion times stays as it is" >&2
fi
if [ -e "$data/mig-miso-a100-40gb/training_batch_time.csv" ]; then
  replace_output docs/physics.md physics "$(cleave reproduce physics --data "$data")"
  replace_output docs/physics.md co-runs "$(cleave reproduce co-runs --data "$data")"
else
  echo "update-docs: no measurements of MISO; the tables of the physics stay as they are" >&2
fi
if [ -e "$data/carma-dl-tasks/training_tasks.csv" ]; then
  replace_output docs/forecast-model.md carma \
    "$(cleave reproduce carma --tasks "$data/carma-dl-tasks/training_tasks.csv")"
else
  echo "update-docs: no tasks of CARMA; the table of forecasts stays as it is" >&2
fi
if [ -d "$data/models" ]; then
  replace_output docs/forecast-memory.md memory-alarms \
    "$(cleave reproduce memory-alarms --data "$data" --seeds 4)"
else
  echo "update-docs: no shapes of models; the table of alarms stays as it is" >&2
fi
