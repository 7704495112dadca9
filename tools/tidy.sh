#!/usr/bin/env bash
# Reads C++ files each by itself: with g++ and all its warnings, as rooms are otherwise compiled several sources at a
# time, and with clang-tidy 19 and .clang-tidy's checks. Configures build/alone for it, and compiles nothing.
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
mkdir -p build
cmake --preset release -B build/alone -DBUILD_TESTING=ON -DCLEAVE_QUICK=OFF -DCLEAVE_ROOMS_AT_ONCE=OFF >build/alone.log 2>&1 ||
  cannot "build/alone cannot be configured; build/alone.log says why"
# The headers that are made of the kubelet's protocol, where they are.
made=$(ninja -C build/alone -t targets all | sed -n 's/^\(protocol\/[^:]*\.h\): .*/\1/p')
# shellcheck disable=SC2086 # a list
[ -z "$made" ] || ninja -C build/alone $made >>build/alone.log 2>&1 || cannot "build/alone.log says what could not be made"

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

# Only what is compiled can be read.
sources=()
for file in "${files[@]}"; do
  case $file in
    *.cpp) if [ -e "$file" ] && grep -qF "/$file\"" build/alone/compile_commands.json; then sources+=("$file"); fi ;;
  esac
done
left=$((${#sources[@]} > most ? ${#sources[@]} - most : 0))
sources=("${sources[@]:0:most}")
if [ ${#sources[@]} = 0 ]; then
  echo "tidy: no C++ source has changed"
  exit 0
fi

# Compiles a source by itself, for its warnings alone.
compile() { # FILE
  local command
  command=$(ninja -C build/alone -t commands | grep -F -- " -c $PWD/$1" | head -n 1)
  command=${command##*ccache } # a file that only the check sees need not be kept
  (cd build/alone && bash -c "${command%% -MD *} -fsyntax-only -c '../../$1'") || { echo "tidy: $1 does not compile by itself" && return 1; }
}
export -f compile

status=0
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$0"' 2>&1 || status=1
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 -p build/alone --quiet 2>/dev/null || status=1
[ "$left" = 0 ] || echo "tidy: $left more files have changed; tools/tidy.sh --all reads them"
if [ "$status" = 0 ]; then echo "tidy: ${#sources[@]} files are clean"; fi
exit $status
