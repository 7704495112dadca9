#!/usr/bin/env bash
# Builds the pages, of reports and of the daemon, from page/ into page/built, which is committed: Cleave is built
# without Node. Needs Node from 18 on, and npm with its registry.
#
#   tools/page.sh                   takes types from docs/openapi.json, checks them, runs the tests, builds
#   tools/page.sh --check           the same, and fails where a generated file is not what comes out
#   tools/page.sh --run FILE ARG... runs page/FILE by Node beside what npm brings: browser tests, drawings
#
# Exits with 3 where Node or the registry is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../page"

check=no
case "${1:-}" in
  "") ;;
  --check) check=yes ;;
  --run) check=run ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "../tools/page.sh" >&2
    exit 2
    ;;
esac

lacking() {
  echo "page: $1" >&2
  exit 3
}
command -v node >/dev/null && command -v npm >/dev/null || lacking "Node and npm are not there"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || lacking "Node is older than 18"
# In a copy, so that what npm brings is not among the sources.
work=$PWD/../build/page
mkdir -p "$work"
find "$work" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name package-lock.installed -exec rm -r {} +
cp -r . "$work"
if ! cmp -s package-lock.json "$work/package-lock.installed"; then
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) ||
    lacking "npm could not fetch its packages: $(tail -n 1 "$work/npm.log")"
  cp package-lock.json "$work/package-lock.installed"
fi
sources=$PWD committed=$PWD/built built=$PWD/built
[ "$check" = no ] || built=$work/built
export CLEAVE_REPOSITORY=$PWD/..
cd "$work"
if [ "$check" = run ]; then
  shift
  exec node "$@"
fi
node generate.mjs $([ "$check" = no ] || echo --check)
[ "$check" = yes ] || cp src/api/*.ts "$sources/src/api/"
npx --no-install tsc --noEmit
node test.mjs
node build.mjs "$built"
[ "$check" = no ] || diff -rq "$built" "$committed" >&2 || {
  echo "page: page/built is not what page/ gives; run tools/page.sh and commit what it changes" >&2
  exit 1
}
