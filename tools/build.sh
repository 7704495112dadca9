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

# Keeps the last "[12/58]" of ninja on the line, for people who watch.
follow() {
  if [ ! -t 1 ]; then
    cat >/dev/null
    return
  fi
  while IFS= read -r line; do
    case $line in \[*/*\]*) printf '\rBuilding Cleave (%s) %s]' "$preset" "${line%%]*}" ;; esac
  done
  printf '\r\033[K'
}

mkdir -p "$(dirname "$log")"
seconds=$SECONDS
[ -e "build/$preset/build.ninja" ] || echo "Building Cleave ($preset), which takes minutes the first time; log in $log"
if cmake --preset "$preset" "$@" >"$log" 2>&1 && cmake --build --preset "$preset" ${TARGETS:+--target $TARGETS} 2>&1 | tee -a "$log" | follow; then
  echo "Built Cleave ($preset) in $((SECONDS - seconds)) s"
else
  echo "build: $preset could not be built; the errors in $log:" >&2
  # Where no line names an error, its end has to do.
  grep -E -A 4 'error:|CMake Error|undefined reference|multiple definition' "$log" | head -n 60 >&2 || tail -n 30 "$log" >&2
  exit 1
fi
