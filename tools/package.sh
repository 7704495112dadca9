#!/usr/bin/env bash
# Makes the Debian packages of Cleave in build/release/packages: cleave, cleaved, cleave-kube, cleave-nvmlsim,
# libcleave-dev.
#
#   tools/package.sh            builds what belongs into them first
#   tools/package.sh --no-build takes the programs of the last build
#
# Installs the missing Debian packages that the build needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "") build=yes ;;
  --no-build) build=no ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac

if [ "$build" = yes ]; then
  tools/setup.sh package
  options=(-DCLEAVE_QUICK=OFF)
  [ -e build/release/CMakeCache.txt ] || options+=(-DBUILD_TESTING=OFF)
  TARGETS=packaged tools/build.sh build/package-build.log release "${options[@]}"
fi
packages=build/release/packages log=build/package.log
rm -rf "$packages"
echo "Packing ..."
if ! cpack --config build/release/CPackConfig.cmake >"$log" 2>&1; then
  echo "package: the packages could not be made; the end of $log:" >&2
  tail -n 30 "$log" >&2
  exit 1
fi
rm -rf "$packages/_CPack_Packages"
(cd "$packages" && du -h --apparent-size ./*.deb)
echo "Install with: apt install ./$packages/*.deb"
