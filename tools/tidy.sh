#!/usr/bin/env bash
# Runs clang-tidy 19 with .clang-tidy's checks on C++ files; build/release must be configured.
#
#   tools/tidy.sh               the sources that differ from where this branch left origin/main;
#                               on main itself, those of the last commit
#   tools/tidy.sh FILE...       these
#   tools/tidy.sh --all         all of them: about an hour on two cores
#
# TIDY_FILES=N reads at most N files (default 20) and says how many it left out.
# Exit status: 0 clean, 1 findings, 77 cannot run here (the reason is printed).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cannot() {
  echo "tidy: $*"
  exit 77
}

command -v clang-tidy-19 >/dev/null || cannot "clang-tidy-19 is not installed; tools/setup.sh test installs it"
[ -e build/release/compile_commands.json ] || cannot "build/release is not configured; run: cmake --preset release -DBUILD_TESTING=ON"

# The sources of the change, newest change first.
changed() {
  local base
  base=$(git merge-base origin/main HEAD 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=$(git rev-parse -q --verify HEAD~1 || true); fi
  [ -n "$base" ] || return 0
  {
    git diff --name-only HEAD
    git log --format= --name-only "$base"..HEAD
  } | awk '!seen[$0]++'
}

most=${TIDY_FILES:-20}
case "${1:-}" in
  "") mapfile -t files < <(changed 2>/dev/null) ;;
  --all)
    mapfile -t files < <(git ls-files 'src/*.cpp' 'tests/*.cpp')
    most=${#files[@]}
    ;;
  -*)
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
  *) files=("$@") ;;
esac

# Only what the release build compiles can be read.
sources=()
for file in "${files[@]}"; do
  case $file in
    *.cpp) if [ -e "$file" ] && grep -qF "/$file\"" build/release/compile_commands.json; then sources+=("$file"); fi ;;
  esac
done
left=$((${#sources[@]} > most ? ${#sources[@]} - most : 0))
sources=("${sources[@]:0:most}")
if [ ${#sources[@]} = 0 ]; then
  echo "tidy: no C++ source has changed"
  exit 0
fi

status=0
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 -p build/release --quiet 2>/dev/null || status=1
[ "$left" = 0 ] || echo "tidy: $left more files have changed; tools/tidy.sh --all reads them"
if [ "$status" = 0 ]; then echo "tidy: ${#sources[@]} files are clean"; fi
exit $status
