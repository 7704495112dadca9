#!/usr/bin/env bash
# The second half of ./demo.sh: a daemon on two simulated A100 runs the batch of batch.txt, and the simulator runs
# the same. At the end is the live page of that daemon, with jobs running; on a terminal it stays until Ctrl-C. Its
# state is in build/demo.* and is removed at the end. The programs are those of build/release/bin, or of the folder
# that CLEAVE_PROGRAMS names.
#
#   run.sh [--no-page]
set -euo pipefail
page=yes
[ "${1:-}" != --no-page ] || page=no
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

gpus=2xA100-40GB
bin=${CLEAVE_PROGRAMS:-$PWD/build/release/bin}
mkdir -p build
work=$(mktemp -d "$PWD/build/demo.XXXXXX")
export PATH="$bin:$PATH"
daemon='' follower='' waiter=''

# The path of a unix socket has at most 107 bytes, which may be too few in a deep folder.
socket_folder=$(mktemp -d "${TMPDIR:-/tmp}/cleave-demo.XXXXXX")
export CLEAVE_SOCKET=$socket_folder/socket

# Jobs outlive their daemon, so they are ended first.
clean_up() {
  local status=$? live child
  trap - EXIT
  trap '' INT TERM
  for child in $follower $waiter; do kill "$child" 2>/dev/null || true; done
  if [ -n "$daemon" ] && kill -0 "$daemon" 2>/dev/null; then
    for _ in $(seq 50); do
      live=$(cleave ps --user all 2>/dev/null | awk 'NR > 1 { print $1 }') || break
      [ -n "$live" ] || break
      # shellcheck disable=SC2086
      cleave cancel $live >/dev/null 2>&1 || true
      sleep 0.1
    done
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  rm -rf "$work" "$socket_folder"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_daemon() {
  local where=()
  [ "$page" = no ] || where=(--page 127.0.0.1:0)
  : >"$work/config.toml"
  # Root's page is for `nobody`, who operates here, so that it shows root's jobs too. Only root reaches the socket.
  [ "$page" = no ] || [ "$(id -u)" != 0 ] || cat >"$work/config.toml" <<'TOML'
operators_group = "nogroup"
allow_unfenced_users = true
TOML
  # In a session of its own, so that Ctrl-C leaves it there until its jobs are ended.
  setsid cleaved --simulate "$gpus" --state "$work/state" --socket "$CLEAVE_SOCKET" --config "$work/config.toml" \
    ${where[@]+"${where[@]}"} --log-level warn 2>"$work/cleaved.log" &
  daemon=$!
  for _ in $(seq 100); do
    if [ -S "$CLEAVE_SOCKET" ] && cleave ps >/dev/null 2>&1; then return; fi
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  echo "demo: the daemon does not answer:" >&2
  cat "$work/cleaved.log" >&2
  exit 1
}

# One line of batch.txt: submitted, and written down for the simulator.
take() { # NAME ASKS SECONDS SPEEDS [BASE PER_ITERATION ITERATIONS]
  local name=$1 asks=$2 seconds=$3 speeds=$4 base=${5:-} step=${6:-} iterations=${7:-10}
  local request=() command=(cleave-job --seconds "$seconds" --iterations "$iterations" --quiet) line memory=''
  case $asks in
    nothing) line='' ;;
    *GiB) request=(--memory "$asks") line="\"memory_mib\":$((${asks%GiB} * 1024))," ;;
    *) request=(--profile "$asks") line="\"profile\":\"$asks\"," ;;
  esac
  if [ -n "$base" ]; then
    command+=(--base "$base" --per-iteration "$step" --dies-as pytorch)
    memory=",\"memory\":{\"base_mib\":$base,\"per_iteration_mib\":$step,\"noise_mib\":0,\"iterations\":$iterations}"
  else
    command+=(--memory 2GiB)
  fi
  speeds=$(speeds_of "$speeds")
  command+=(--speeds "$speeds")
  printf '{"id":"%s","arrival_s":0,%s"duration_s":%s,"speed":{%s},"movable":false,"restartable":true%s}\n' \
    "$name" "$line" "$seconds" "$(speed_table "$speeds")" "$memory" >>"$work/batch.jsonl"
  cleave submit "${request[@]}" --name "$name" --restartable --clean-env -- "${command[@]}" >/dev/null
}

# Measured speeds (MISO, A100 40 GB), as `cleave-job --like` has them. A 1g.10gb has as many processors as a 1g.5gb,
# so its measurements serve for both.
speeds_of() {
  case $1 in
    miso:resnet:64) echo 1g.5gb=0.5787,1g.10gb=0.5787,2g.10gb=0.8927,3g.20gb=1,4g.20gb=1,7g.40gb=1,none=1 ;;
    miso:mobilenet:128) echo 1g.5gb=0.7038,1g.10gb=0.7038,2g.10gb=0.8487,3g.20gb=0.9619,4g.20gb=0.9806,7g.40gb=1,none=1 ;;
    miso:transformer:16) echo 1g.5gb=0.18,1g.10gb=0.18,2g.10gb=0.3421,3g.20gb=0.558,4g.20gb=0.6161,7g.40gb=1,none=1 ;;
    miso:bert:2) echo 2g.10gb=0.3891,3g.20gb=0.6268,4g.20gb=0.688,7g.40gb=1,none=1 ;;
    *) echo "$1" ;;
  esac
}

speed_table() {
  sed 's/\([^=,]*\)=\([^,]*\)/"\1":\2/g' <<<"$1"
}

submit_all() {
  local line
  cleave pause >/dev/null
  while read -r line; do
    # shellcheck disable=SC2086
    case $line in '' | '#'*) ;; *) take $line ;; esac
  done <examples/demo/batch.txt
}

# A calm view on a terminal, the events as lines elsewhere.
show_until_over() {
  if [ ! -t 1 ]; then
    cleave events -f &
    follower=$!
    cleave resume >/dev/null
    # shellcheck disable=SC2046
    cleave wait $(seq "$jobs") >/dev/null 2>&1 &
    waiter=$!
    wait "$waiter" || true
    waiter=''
    sleep 0.2
    kill "$follower" 2>/dev/null || true
    wait "$follower" 2>/dev/null || true
    follower=''
    return
  fi
  cleave resume >/dev/null
  local began=$SECONDS frame rows
  rows=$(tput lines 2>/dev/null || true)
  [ "${rows:-0}" -ge 4 ] || rows=24
  printf '\033[H\033[2J'
  while frame=$(cleave top --once 2>/dev/null) && [ "$(cleave ps --json | grep -c '"id"')" -gt 0 ]; do
    printf '\033[H'
    { echo "$((SECONDS - began)) s; Ctrl-C ends it all" && echo && echo "$frame"; } | sed -n "1,$((rows - 1)){s/\$/\x1b[K/;p}"
    printf '\033[J'
    sleep 0.5
  done
  printf '\033[H\033[2J'
}

# In seconds: from the first submitted job's permission to start to the last one's end.
measured_makespan() {
  cleave events --json | awk '
    function seconds(line) {
      match(line, /T[0-9:.]+Z/)
      split(substr(line, RSTART + 1, RLENGTH - 2), part, ":")
      return part[1] * 3600 + part[2] * 60 + part[3]
    }
    /"kind": ?"resumed"/ { begin = seconds($0) }
    /"kind": ?"job-(finished|failed|cancelled)"/ { end = seconds($0) }
    END { if (end < begin) end += 86400; printf "%.1f", end - begin }'
}

# A token is of the user who asks, and never root's.
page_address() {
  local as=()
  [ "$(id -u)" != 0 ] || as=(--as nobody)
  cleave page --scope act --for 2h ${as[@]+"${as[@]}"} 2>/dev/null
}

# Jobs without end, for something to look at, and the address; until Ctrl-C where there is somebody to press it.
show_page() {
  local address
  address=$(page_address) || {
    echo "demo: there is no address of the page:" >&2
    cat "$work/cleaved.log" >&2
    return 1
  }
  for memory in 3GiB 8GiB 17GiB 4GiB 9GiB; do
    cleave submit --memory "$memory" --name "page-$memory" --restartable --clean-env -- \
      cleave-job --memory 2GiB --seconds 7200 --quiet >/dev/null
  done
  echo
  echo "The live page of this daemon, with jobs running; the address lets anyone who has it act for two hours:"
  echo
  echo "  $address"
  echo
  if [ ! -t 0 ] || [ ! -t 1 ]; then
    echo "There is no terminal, so this ends now, and the page with it."
    return
  fi
  echo "Open it in a browser on this machine. Ctrl-C ends the daemon and its jobs."
  trap 'exit 0' INT
  while kill -0 "$daemon" 2>/dev/null; do sleep 1; done
}

start_daemon
jobs=$(grep -c '^[a-z]' examples/demo/batch.txt)
echo
echo "cleaved runs on $gpus, simulated: making an instance takes the time measured on an A100. $jobs jobs are"
echo "submitted, real processes that hold simulated memory; one of them does not state its size, and grows."
echo
submit_all
show_until_over

echo
echo "What became of them:"
echo
cleave ps --all
grown=$(cleave ps --all --json | awk '/"id"/ { id = $2 + 0 } /"name": "grows"/ { print id }')
if [ -n "$grown" ]; then
  echo
  echo "\$ cleave show $grown"
  cleave show "$grown"
fi
makespan=$(measured_makespan)
run=(compare --fleet "$gpus" --workload "$work/batch.jsonl" --schedulers full-gpu,static:layout=best,adaptive --forecast laws)
echo
echo "The same batch in the simulator: one job at a time on a whole GPU, the best layout that never changes, and"
echo "the scheduler that the daemon used (adaptive):"
echo
cleave "${run[@]}"
cleave "${run[@]}" --json 2>/dev/null | awk -v daemon="$makespan" '
  /"scheduler"/ { gsub(/[",]/, ""); name = $2 }
  /"makespan_s": [0-9]/ { gsub(/,/, ""); time[name] = $2 }
  END {
    printf "\nThe daemon itself, with real processes, took %.1f s from the first start to the last end: %.2f times one\n", daemon, daemon / time["full-gpu"]
    printf "job at a time (%.1f s), %.2f times the best static layout (%.1f s), %+.1f %% beside the simulator (%.1f s).\n", \
      time["full-gpu"], daemon / time["static:layout=best"], time["static:layout=best"], 100 * (daemon / time["adaptive"] - 1), time["adaptive"]
    printf "In the simulator the scheduler is told how long each job takes; the daemon finds it out.\n"
  }'
cat <<TEXT

Try next:
  cleaved --simulate 4xA100-40GB          a daemon of your own; then, elsewhere:
  cleave submit --memory 9GiB -- cleave-job --memory 8GiB --seconds 30
  cleave top                              what runs where
  ./demo.sh --planning                    schedulers side by side on a day of jobs, and the plan of a fleet
  docs/daemon.md                          what the daemon is and how to run it
  docs/page.md                            the live page: cleaved --page 127.0.0.1:8790, cleave page
  (programs are in build/release/bin)
TEXT
[ "$page" = no ] || show_page
