#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json, quietly.
#
#   tools/build.sh LOG PRESET [CMAKE-OPTION...]
#
# TARGETS="a b" builds these alone.
#
# Everything that is printed on the way goes to LOG; here come a line of progress and, if it fails, the errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
log=$1 preset=$2
shift 2

# "3 min", or "40 s" below two minutes.
in_words() { # SECONDS
  if [ "$1" -lt 120 ]; then echo "$1 s"; else echo "$((($1 + 30) / 60)) min"; fi
}

# What ninja says, "[12/580] ...", as progress with the time that is left at this machine's pace so far. On a terminal
# it stays on one line; elsewhere there is a line after half a minute, and one every three minutes.
follow() {
  local begin=$SECONDS next=30 line counts done all passed left
  while IFS= read -r line; do
    case $line in \[*/*\]*) ;; *) continue ;; esac
    counts=${line%%]*} counts=${counts#\[}
    done=${counts%/*} all=${counts#*/} passed=$((SECONDS - begin)) left=""
    case $done$all in *[!0-9]*) continue ;; esac
    if [ "$passed" -ge 10 ] && [ "$done" -ge 5 ]; then
      left=", about $(in_words $((passed * (all - done) / done))) left"
    fi
    if [ -t 1 ]; then
      printf '\r\033[KBuilding Cleave (%s): %s of %s%s' "$preset" "$done" "$all" "$left"
    elif [ "$passed" -ge "$next" ]; then
      echo "Building Cleave ($preset): $done of $all$left"
      next=$((passed + 180))
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}

# Says how long the build takes here if all has to be compiled: by one small file, of which the average source takes
# three times the time.
foretell() {
  local files began ms
  # shellcheck disable=SC2086 # a list
  files=$(ninja -C "build/$preset" -t commands ${TARGETS:-} 2>/dev/null | grep -c ' -c ' || true)
  began=${EPOCHREALTIME/[.,]/}
  printf '#include <chrono>\n#include <map>\n#include <string>\n#include <variant>\nstd::map<std::string, std::variant<int, std::string>> m;\n' |
    "${CXX:-c++}" -std=c++23 -O1 -x c++ -c - -o /dev/null 2>/dev/null || return 0
  ms=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
  echo "This takes about $(in_words $((ms * 3 * files / $(nproc) / 1000))) on this machine, as busy as it is now, and less where ccache knows the files"
}

mkdir -p "$(dirname "$log")"
seconds=$SECONDS
first=no
[ -e "build/$preset/.ninja_log" ] || first=yes
[ "$first" = no ] || echo "Building Cleave ($preset) for the first time; log in $log"
build() {
  cmake --preset "$preset" "$@" >"$log" 2>&1 || return 1
  [ "$first" = no ] || foretell
  # shellcheck disable=SC2086 # a list
  cmake --build --preset "$preset" ${TARGETS:+--target $TARGETS} 2>&1 | tee -a "$log" | follow
}
if build "$@"; then
  echo "Built Cleave ($preset) in $((SECONDS - seconds)) s"
else
  echo "build: $preset could not be built; the errors in $log:" >&2
  # Where no line names an error, its end has to do.
  grep -E -A 4 'error:|CMake Error|undefined reference|multiple definition' "$log" | head -n 60 >&2 || tail -n 30 "$log" >&2
  exit 1
fi
