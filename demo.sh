#!/usr/bin/env bash
# Builds Cleave and shows what it is for: a daemon runs a batch of jobs on two simulated A100, each on an
# instance made for it, and compares that with other ways to run the batch. No GPU is needed.
#
#   ./demo.sh               the daemon; takes about a minute after the build
#   ./demo.sh --planning    a day of jobs under the schedulers of five papers, and the plan of a fleet
#   ./demo.sh --no-build    uses the programs of the last build
#   ./demo.sh --no-page     ends by itself; otherwise, on a terminal, the daemon's live page stays until Ctrl-C
#
# Installs the missing Debian packages that the build needs. Safe to repeat; Ctrl-C ends the daemon and its
# jobs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

part=daemon build=yes page=()
for option in "$@"; do
  case $option in
    --planning) part=planning ;;
    --no-build) build=no ;;
    --no-page) page=(--no-page) ;;
    *)
      sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
      exit 2
      ;;
  esac
done

if [ "$build" = yes ]; then
  tools/setup.sh build
  # What was configured stays as it is. The first time, only what is shown here is compiled, and quickly; test.sh and
  # package.sh compile what people get.
  options=()
  [ -e build/release/CMakeCache.txt ] || options=(-DBUILD_TESTING=OFF -DCLEAVE_QUICK=ON)
  TARGETS="cleave cleaved cleave-job" tools/build.sh build/demo.log release ${options[@]+"${options[@]}"}
fi
if [ "$part" = planning ]; then exec examples/planning.sh; fi
exec examples/demo/run.sh ${page[@]+"${page[@]}"}
