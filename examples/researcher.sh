#!/usr/bin/env bash
# What the README promises, from beginning to end, on one simulated A100: a training that does not state its
# size starts on the smallest instance, reports its memory with one line of Python, and is restarted on a larger
# instance before it runs out.
#
#   examples/researcher.sh    needs python3, and the programs of Cleave on the path or in build/release/bin
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v cleaved >/dev/null; then PATH="$PWD/../build/release/bin:$PATH"; fi

work=$(mktemp -d "${TMPDIR:-/tmp}/cleave-researcher.XXXXXX")
export CLEAVE_SOCKET=$work/socket PYTHONPATH=$PWD/../python PYTHONDONTWRITEBYTECODE=1
daemon=''
clean_up() {
  local status=$?
  trap - EXIT
  trap '' INT TERM
  if [ -n "$daemon" ]; then
    for job in $(cleave ps 2>/dev/null | awk 'NR > 1 { print $1 }'); do
      cleave cancel "$job" >/dev/null 2>&1 || true
      timeout 10 cleave wait "$job" >/dev/null 2>&1 || true
    done
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

: >"$work/config.toml"
setsid cleaved --simulate 1xA100-40GB --state "$work/state" --socket "$CLEAVE_SOCKET" --config "$work/config.toml" \
  --log-level error &
daemon=$!
for _ in $(seq 100); do
  [ -S "$CLEAVE_SOCKET" ] && cleave ps >/dev/null 2>&1 && break
  sleep 0.1
done

echo '$ cleave submit --restartable --name train -- python3 train.py'
job=$(cleave submit --restartable --name train -- python3 train.py | awk '{ print $2 }')
echo "job $job"
cleave wait "$job" >/dev/null &
wait "$!"
echo "\$ cleave show $job"
cleave show "$job"
echo "\$ cleave logs $job"
cleave logs "$job"
