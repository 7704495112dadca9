#!/usr/bin/env bash
# Builds Cleave and runs every test: the release build, then the address and undefined-behaviour
# sanitizers, then the thread sanitizer on the tests that start threads. Compiles the files of the
# change each by itself, too, and clang-tidy reads them.
#
#   ./test.sh            all of it: an hour and more on two cores where nothing is built yet
#   ./test.sh --quick    the release build only
#   ./test.sh --long     all of it, with the long forms of laws, seeds, crashes and fuzzing: hours
#
# Installs the Debian packages that this needs where they are missing. The last line counts:
# N passed, N failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Names of the tests that run several threads, and the programs that hold them.
threaded='^Thread(s|ed)'
threaded_programs='graph_test simulate_test nvmlsim_test cudatrace_test soak_test threaded_executor_test'
# Whole evaluations, which compute for minutes under a sanitizer what smaller tests of the same code do in moments:
# there only in the long form.
evaluations='^(Advise|Advising|ApplicationTimes|Arena(Command|Data)|Bench|CompletionTime|Coruns|DynaP(Study|Law)|FairShareRuns|ForecastTime|GangBound|Help|Knowledge|Man|MigmStudy|OnlineReproduction|PublicData|Reproduc(e|tion)|ReproduceAllCommand|ReproduceCorunsCommand|Taming|Trace|Workloads)\.'

quick=no long=no
case "${1:-}" in
  "") ;;
  --quick) quick=yes ;;
  --long) long=yes ;;
  *)
    sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac

passed=0 failed=0 skipped=0 complete=no
# Whatever ends this script early, such as a build that fails, is one failure more.
finish() {
  [ "$complete" = yes ] || failed=$((failed + 1))
  local line="$passed passed, $failed failed"
  [ "$skipped" = 0 ] || line="$line, $skipped skipped"
  echo "$line"
  [ "$failed" = 0 ] || exit 1
  exit 0
}
trap finish EXIT
trap 'exit 1' INT TERM

# What ctest's report says: failed tests with their output, skipped ones with their reason; the counts go to
# the file `counts`. CTest's XML has one element a line. It calls a test skipped whose program is missing; that
# is a failure here.
summarise() { # PRESET REPORT COUNTS
  awk -v preset="$1" -v counts="$3" '
    function plain(text) {
      gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text); gsub(/&apos;/, "\047", text)
      gsub(/&amp;/, "\\&", text)
      return text
    }
    function attribute(key) {
      if (!match($0, " " key "=\"[^\"]*\"")) return ""
      return plain(substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 4))
    }
    function add(line) { if (line != "") output[lines++] = plain(line) }
    /^\t<testcase / { name = attribute("name"); status = attribute("status"); lines = 0; skip = 0; inside = 0 }
    /^\t\t<skipped message="SKIP_/ { skip = 1; next }
    /^\t\t<system-out>/ { inside = 1; sub(/^\t\t<system-out>/, "") }
    inside {
      last = sub(/<\/system-out>.*/, "")
      add($0)
      if (last) inside = 0
    }
    /^\t<\/testcase>/ {
      if (status == "run") {
        passed++
      } else if (skip || status == "disabled") {
        skipped++
        reason = ""
        for (i = 0; i < lines; i++) {
          if (output[i] ~ /: Skipped$/) { collecting = 1; continue }
          if (sub(/^skipped: /, "", output[i])) reason = output[i]  # a script of ours
          if (output[i] ~ /^\[/) collecting = 0
          if (collecting) reason = reason (reason == "" ? "" : " ") output[i]
        }
        collecting = 0
        if (reason == "") reason = status == "disabled" ? "disabled" : "no reason given"
        printf "skipped (%s): %s: %s\n", preset, name, reason
      } else {
        failed++
        printf "FAILED (%s): %s\n", preset, name
        said = 0
        for (i = lines > 80 ? lines - 80 : 0; i < lines; i++) {
          # The frame that GoogleTest puts around every test says nothing about this one.
          if (output[i] ~ /^(\[[-= ]|Running main|Note: Google Test filter| *[0-9]+ FAILED TEST)/) continue
          print "    " output[i]
          said++
        }
        if (!said) print "    it ended without a word; see build/" preset "/ctest.log"
      }
    }
    END { print passed + 0, failed + 0, skipped + 0 > counts }
  ' "$2"
}

# The sanitizers of g++ 12 need memory laid out as older kernels did; recent ones spread it too far.
choose_runner() { # PRESET; sets `runner`
  runner=()
  if [ "$1" != release ] && setarch "$(uname -m)" -R true 2>/dev/null; then runner=(setarch "$(uname -m)" -R); fi
}

# Builds a preset and runs its tests, or those that the options for ctest choose.
run_tests() { # PRESET [CTEST-OPTION...]
  local preset=$1 seconds status=0 p=0 f=0 s=0 runner
  shift
  tools/build.sh "build/test-$preset.log" "$preset" -DBUILD_TESTING=ON -DCLEAVE_QUICK=OFF \
    -DCLEAVE_SANITIZE_ALL="$([ "$long" = yes ] && echo ON || echo OFF)"
  local report="$PWD/build/$preset/junit.xml" log="build/$preset/ctest.log" counts="build/$preset/counts"
  choose_runner "$preset"
  rm -f "$report" "$counts"
  echo "Testing ($preset) ..."
  seconds=$SECONDS
  # One more than there are cores: many tests mostly wait.
  UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1} "${runner[@]}" ctest --preset "$preset" -j $(($(nproc) + 1)) \
    --no-tests=ignore --output-junit "$report" "$@" >"$log" 2>&1 || status=$?
  if [ -e "$report" ]; then
    summarise "$preset" "$report" "$counts"
    read -r p f s <"$counts"
  fi
  if [ "$status" != 0 ] && [ "$f" = 0 ]; then
    echo "FAILED ($preset): ctest ended with status $status; the end of $log:"
    tail -n 20 "$log"
    f=1
  fi
  echo "Tested ($preset): $p passed, $f failed, $s skipped in $((SECONDS - seconds)) s"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# What ./demo.sh builds where nothing is built, which is compiled in another way than all that is tested here.
run_quick_build() {
  local log=build/test-quick.log seconds=$SECONDS
  if TARGETS="cleave cleaved cleave-job" tools/build.sh "$log" quick && build/quick/bin/cleave --version >>"$log"; then
    passed=$((passed + 1)) && echo "Built as for the demo in $((SECONDS - seconds)) s"
  else
    failed=$((failed + 1)) && echo "FAILED (as for the demo)"
  fi
}

# Every source by itself, with assertions.
run_debug_build() {
  local seconds=$SECONDS
  if tools/build.sh build/long-debug.log debug -DBUILD_TESTING=ON; then
    passed=$((passed + 1)) && echo "Built each source by itself in $((SECONDS - seconds)) s"
  else
    failed=$((failed + 1)) && echo "FAILED (each source by itself)"
  fi
}

# Reads the sources of the change, each by itself, with g++ and clang-tidy: one test more, or one skipped where it cannot run.
run_tidy() {
  local log=build/tidy.log status=0 seconds=$SECONDS
  echo "Reading the change with clang-tidy ..."
  tools/tidy.sh >"$log" 2>&1 || status=$?
  case $status in
    0) passed=$((passed + 1)) && echo "Read: $(tail -n 1 "$log") in $((SECONDS - seconds)) s" ;;
    77) skipped=$((skipped + 1)) && echo "skipped (clang-tidy): $(tail -n 1 "$log")" ;;
    *) failed=$((failed + 1)) && echo "FAILED (clang-tidy):" && tail -n 60 "$log" ;;
  esac
}

# The long form of one test program of the release build, outside ctest and its time limits.
run_long() { # PROGRAM FILTER [NAME=VALUE...]
  long_form release "$@"
}
# The same of another preset.
long_form() { # PRESET PROGRAM FILTER [NAME=VALUE...]
  local preset=$1 program=$2 filter=$3 log="build/long-$1-$2.log" seconds=$SECONDS runner
  shift 3
  choose_runner "$preset"
  echo "Testing at length ($program, $preset) ..."
  env "$@" "${runner[@]}" "build/$preset/bin/$program" --gtest_filter="$filter" >"$log" 2>&1 || true
  count_long "$program at length ($preset)" "$log" "$seconds"
}

# One test program in a virtual machine, whose control groups are of version 2 alone.
run_virtual() { # PROGRAM FILTER
  local log="build/virtual-$1.log" seconds=$SECONDS status=0
  echo "Testing in a virtual machine ($1) ..."
  tools/virtual-machine.sh "build/release/bin/$1" --gtest_filter="$2" >"$log" 2>&1 || status=$?
  if [ "$status" = 77 ]; then
    skipped=$((skipped + 1))
    echo "skipped ($1 in a virtual machine): $(tail -n 1 "$log")"
  else
    count_long "$1 in a virtual machine" "$log" "$seconds"
  fi
}

# Debian packages, on a bare Debian: each step is a test.
run_packages() {
  local log=build/packages.log status=0 seconds=$SECONDS p f
  echo "Testing the packages on a bare Debian ..."
  { tools/package.sh && tools/try-packages.sh; } >"$log" 2>&1 || status=$?
  if [ "$status" = 77 ]; then
    skipped=$((skipped + 1))
    echo "skipped (packages): $(tail -n 1 "$log")"
    return
  fi
  p=$(grep -c '^ok: ' "$log" || true) f=0
  [ "$status" = 0 ] || { f=1 && echo "FAILED (packages); the end of $log:" && tail -n 40 "$log"; }
  echo "Tested (packages): $p passed, $f failed in $((SECONDS - seconds)) s"
  passed=$((passed + p)) failed=$((failed + f))
}

# Counts what a test program said in its log.
count_long() { # NAME LOG BEGAN
  local name=$1 log=$2 p f
  p=$(grep -c '^\[       OK \]' "$log" || true)
  f=$(grep -c '^\[  FAILED  \].* (.* ms)$' "$log" || true)
  # A program that dies says neither.
  grep -q '^\[==========\].* ran\.' "$log" || f=$((f + 1))
  [ "$f" = 0 ] || { echo "FAILED ($name); the end of $log:" && tail -n 40 "$log"; }
  echo "Tested ($name): $p passed, $f failed in $((SECONDS - $3)) s"
  passed=$((passed + p)) failed=$((failed + f))
}

if [ "$long" = yes ]; then tools/setup.sh long; else tools/setup.sh test; fi
# Other people's NVML clients, and an image for containers; without them the tests that need them skip and say why.
if [ "$long" = yes ]; then tools/clients.sh --long; else tools/clients.sh; fi || true
tools/containers.sh || true
[ ! -e build/clients/unpacked/usr/include/nvml.h ] || export CLEAVE_NVML_HEADER="$PWD/build/clients/unpacked/usr/include/nvml.h"
run_tests release
run_tidy
if [ "$long" = yes ]; then
  run_quick_build
  run_debug_build
  run_long laws_test 'Scheduler/Hosts.*' CLEAVE_HOST_EVENTS=120000
  run_long laws_test '-*dyna*:*racle*' CLEAVE_LAW_EVENTS=10000000 CLEAVE_REBUILD_EVENTS=1000000 CLEAVE_LONG=1
  run_long laws_test '*dyna*:*racle*' CLEAVE_LAW_EVENTS=1000000
  run_long daemon_plans_test 'Plan*' CLEAVE_LONG=1
  run_long daemon_loop_test '*Seed*' CLEAVE_DAEMON_SEEDS=100000 CLEAVE_PLAN_SEEDS=10000 CLEAVE_WATCHED_SEEDS=1000
  run_long daemon_crash_test '*' CLEAVE_LONG=1
  run_long daemon_injection_test '*' CLEAVE_LONG=1 CLEAVE_FAULT_WORKERS=4
  run_long daemon_health_test '*ThreeMonitors*' CLEAVE_LONG=1
  run_long daemon_test 'Damaged*:KilledWriter*:Faulty*' CLEAVE_LONG=1
  run_long daemon_hostile_test '*' CLEAVE_LONG=1
  run_long cli_test 'Pages.*' CLEAVE_LONG=1
  run_long plans_test '*' CLEAVE_PLAN_ROUNDS=10
  run_long fuzz_test '*' CLEAVE_FUZZ_SECONDS=200
  run_long nvmlsim_test 'RandomCalls.*' CLEAVE_LONG=1
  run_long clients_test '*LargeClients*:MigCalls.*' CLEAVE_LONG=1
  run_long soak_test '*' CLEAVE_SOAK_OPERATIONS=1000000
  run_virtual supervised_test '*'
  run_packages
fi
if [ "$quick" = no ]; then
  if [ "$long" = yes ]; then
    run_tests asan
    # A million calls of the simulated library by eight programs that are killed at random.
    long_form asan nvmlsim_test 'RandomCalls.*' CLEAVE_LONG=1 UBSAN_OPTIONS=halt_on_error=1
  else
    run_tests asan -E "$evaluations"
  fi
  TARGETS=$threaded_programs run_tests tsan -R "$threaded"
fi
complete=yes
