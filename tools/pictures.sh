#!/usr/bin/env bash
# Makes the pictures of terminals in docs/pictures again, from what the programs print. The times in
# that of `cleave top` are of the moment. Build the preset release first.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/build/release/bin:$PATH"
work=$(mktemp -d)
export CLEAVE_SOCKET="$work/socket"
cleaved --simulate 4xA100-40GB --state "$work/state" --socket "$CLEAVE_SOCKET" \
  --config /dev/null 2> "$work/log" &
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do [ -S "$CLEAVE_SOCKET" ] && break; sleep 0.1; done

submit() { # NAME ASKED HELD
  cleave submit --name "$1" --memory "$2" -- cleave-job --memory "$3" --seconds 60 > /dev/null
}
for n in 1 2 3; do submit "llama-finetune-$n" 18GiB 12GiB; done
for n in 1 2 3 4; do submit "resnet-$n" 9GiB 6GiB; done
for n in 1 2 3 4 5 6; do submit "eval-$n" 4GiB 2GiB; done
for n in 1 2 3 4 5 6 7 8; do submit "sweep-lr-$n" 18GiB 9GiB; done
tools/draw-terminal.py docs/pictures/top.svg 96x40 --for 12 -- cleave top

tools/draw-terminal.py docs/pictures/sweep.svg 100x60 -- cleave compare --fleet 4xA100-40GB \
  --generate lab-day --seeds 21 --schedulers full-gpu,miso,adaptive --sweep gpus=2,3,4,6
