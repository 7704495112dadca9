#!/usr/bin/env bash
# Installs Cleave's packages on a Debian on which nothing else is, uses them, removes and purges them. Run there as
# root by tools/try-packages.sh, in the folder of the packages. Prints one line for each step.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
log=/tmp/steps.log

step() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$log" 2>&1; then
    echo "ok: $name"
  else
    echo "FAILED: $name; the end of what it said:"
    tail -n 25 "$log"
    exit 1
  fi
}
install() { apt-get install -y -q "$@"; }

no_trace_of_it() {
  local found
  found=$(find / -xdev \( -path /proc -o -path "$PWD" -o -path /var/cache -o -path /var/log \) -prune -o -iname '*cleave*' -print)
  echo "$found"
  [ -z "$found" ] && ! dpkg-query -W 'cleave*' 'libcleave*' 2>/dev/null
}
not_on_the_loaders_path() { ! ldconfig -p | grep -E 'nvidia-ml|cleave|libcuda' && ! find /usr/lib/x86_64-linux-gnu /lib -maxdepth 1 -name '*nvidia-ml*' | grep .; }
enabled_and_not_running() { [ -L /etc/systemd/system/multi-user.target.wants/cleaved.service ] && [ ! -e /run/cleave ]; }

# A daemon on simulated GPUs, as root with its state in /var/lib/cleave.
start_daemon() {
  cleaved --simulate 2xA100-40GB --instant --page 127.0.0.1:8790 >/tmp/cleaved.log 2>&1 &
  daemon=$!
  for _ in $(seq 200); do
    [ ! -S /run/cleave/cleaved.sock ] || return 0
    sleep 0.05
  done
  cat /tmp/cleaved.log
  return 1
}
a_job_runs() {
  cleave submit --memory 9GiB --wait -- cleave-job --memory 8GiB --seconds 1
  cleave submit --profile 1g.5gb --wait -- /bin/sh -c 'test -n "$CUDA_VISIBLE_DEVICES"'
  cleave ps --all | grep -c finished
  cleave show 1 | grep 'exit code    0'
}
ps_loads_neither() {
  LD_DEBUG=libs cleave ps >/dev/null 2>/tmp/loaded
  grep -q libfmt /tmp/loaded && ! grep -E 'libCbc|libxgboost|libcleave-' /tmp/loaded
}
plan_loads_the_solver() {
  LD_DEBUG=libs cleave plan compact --fleet /tmp/scattered.json 2>/tmp/loaded
  grep -q libCbc /tmp/loaded && ! grep libxgboost /tmp/loaded
}
forecast_loads_the_learner() {
  LD_DEBUG=libs cleave forecast time --train /tmp/measured.csv --group app --whole whole_s --slices slices 2>/tmp/loaded
  grep -q libxgboost /tmp/loaded
}
every_command_has_a_page() {
  cleave man --list | tr ' ' - | xargs man -w >/dev/null || return 1
  for page in cleave cleave-submit cleave-slurm-prolog cleaved cleaved-check cleave-job; do man "$page" | grep -q NAME || return 1; done
}
completion() {
  bash --norc -c '. /usr/share/bash-completion/completions/cleave && complete -p cleave &&
    COMP_WORDS=(cleave slurm pr) COMP_CWORD=2 && _cleave && test "${COMPREPLY[*]}" = prolog'
}
answer_of_page() { # PATH
  exec 3<>/dev/tcp/127.0.0.1/8790
  printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:8790\r\nConnection: close\r\n\r\n' "$1" >&3
  tr -d '\0' <&3
  exec 3<&-
}
the_page_is_served() {
  cleave page --as nobody | grep 'http://127.0.0.1:8790/#token='
  answer_of_page / | grep -a '<script'
  answer_of_page /live.js | grep -a '200 OK'
  answer_of_page /live.css | grep -a '200 OK'
}
another_engine_claims() {
  cleave claim make slurm:1 --profile 1g.5gb --holder 'job 1 of ann' --wait 20
  cleave claim list | grep 'slurm:1 *held'
  cleave claim release slurm:1 --wait 20
}
slurm_is_set_up() {
  cleave slurm setup --write /tmp/slurm --nodes 'n[1-2]' --gpus 2xA100-40GB --mode node
  for hook in prolog epilog task-prolog; do
    [ -x "/tmp/slurm/$hook" ] && grep -q "^exec /usr/bin/cleave slurm $hook" "/tmp/slurm/$hook" || return 1
  done
  grep cleave_submit /tmp/slurm/job_submit.lua && "/tmp/slurm/prolog"
}
# What the documentation shows is run in its folder.
examples_are_there() ( # in a shell of its own, which changes the folder
  cd /usr/share/doc/cleave
  cleave place --fleet examples/fleets/one-node.json --profile 3g.20gb | grep 'on GPU n0/0'
  cleave simulate --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl | grep jobs
  [ -s python/cleave_report/__init__.py ] && [ -s /usr/share/cleave/python/cleave_report/loop.py ]
)
simulated_node() {
  cleave sim-node create /tmp/node --gpus 1xA100-40GB
  CLEAVE_SIM_NODE=/tmp/node cleave gpus | grep A100
  LD_LIBRARY_PATH=/usr/lib/cleave-nvmlsim CLEAVE_SIM_NODE=/tmp/node /usr/lib/cleave-nvmlsim/cleave-smi -L | grep A100
}
a_program_is_built() {
  cmake -S /usr/share/doc/libcleave-dev/examples -B /tmp/example && cmake --build /tmp/example && /tmp/example/two-schedulers | grep 'adaptive  200 jobs'
}
kept() { [ -e /etc/cleave/cleaved.toml ] && [ -e /var/lib/cleave/simulated/cleave.db ] && [ ! -e /usr/bin/cleaved ]; }

step "the package lists are read" apt-get update -q
step "the packages are installed" install ./cleave_*.deb ./cleaved_*.deb ./cleave-nvmlsim_*.deb man-db
step "nothing of it is on the loader's path" not_on_the_loaders_path
step "the daemon is enabled and not started" enabled_and_not_running
step "the programs of cleave say what they are" cleave --version
step "a daemon begins on simulated GPUs" start_daemon
step "jobs run" a_job_runs
step "ps loads neither solver nor learner" ps_loads_neither
step "plan loads the solver" plan_loads_the_solver
step "forecast loads the learner" forecast_loads_the_learner
step "a simulated node is made and looked at" simulated_node
step "the daemon serves the live page" the_page_is_served
step "another engine claims an instance" another_engine_claims
step "Slurm's files are written" slurm_is_set_up
step "every command has a man page" every_command_has_a_page
step "bash completes commands" completion
step "the documentation's examples run" examples_are_there
kill "$daemon"
wait "$daemon" || true
if [ "${1:-}" != quick ]; then
  step "the library is installed" install ./libcleave-dev_*.deb g++ cmake make
  step "a program is built with the library" a_program_is_built
  step "the library is purged" apt-get purge -y -q libcleave-dev
fi
mkdir -p /etc/cleave && cleaved --sample-config >/etc/cleave/cleaved.toml
step "the packages are removed" apt-get remove -y -q cleave cleaved cleave-nvmlsim
step "configuration and state are kept" kept
step "the packages are purged" apt-get purge -y -q cleave cleaved cleave-nvmlsim
rm -rf /tmp/node /tmp/example /tmp/slurm /tmp/cleaved.log
step "nothing is left of it" no_trace_of_it
