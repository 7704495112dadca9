#!/usr/bin/env bash
# Cleave before a GPU is touched: a day of jobs on four simulated GPUs under the schedulers of five papers, and
# the best layout of a fleet with the moves that lead there.
#
#   examples/planning.sh    or ./demo.sh --planning, which builds first
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cleave=build/release/bin/cleave
run=(compare --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl
  --schedulers full-gpu,static:layout=best,scheme-a,scheme-b,online,online:migration=off,dyna-p,miso)

cat <<TEXT

A laboratory's day of 200 jobs runs on four simulated A100 under the schedulers of five papers: one job on
each whole GPU, the best layout that never changes, jobs by size and in order, instances made as jobs
arrive, batches of best throughput, and the partition of best total speed. This is one day; add
--generate lab-day --seeds 21 in place of --workload for medians over 21 (docs/comparing.md).

\$ $cleave ${run[*]}
TEXT
"$cleave" "${run[@]}"

plan=(plan compact --fleet examples/fleets/scattered.json --explain)
cat <<TEXT

Seven workloads are scattered over three GPUs of a node. The fewest GPUs that hold them, the moves that lead
there, and the proof that nothing is better:

\$ $cleave ${plan[*]}
TEXT
"$cleave" "${plan[@]}"

cat <<TEXT

Try next:
  $cleave gpu A100-40GB
      the profiles of a GPU, where each may start, and how many layouts that makes
  $cleave place --fleet 4xA100-40GB --profile 2g.10gb
      where one more instance would go
  $cleave layout A100-40GB 4g.20gb@0,2g.10gb@4
      whether a layout is legal, and what still fits beside it
  $cleave compare --fleet 100xA100-40GB --trace alibaba2023:FILE --compress 50 --schedulers full-gpu,online
      the same on a public trace, 50 times as busy: FILE is openb_pod_list_default.csv of Alibaba's
      cluster-trace-gpu-v2023, which github.com/alibaba/clusterdata has
  ./test.sh
      every test
TEXT
