#!/usr/bin/env bash
# Makes a small root file system of Debian's packages, in which the tests of containers run jobs.
#
#   tools/containers.sh
#
# The packages come from the sources that this machine uses already; they are unpacked into
# build/containers/root and never installed. What could not be had is said in
# build/containers/missing, which the tests print when they skip; the exit status is then 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A shell and its tools, and what programs in C++ need.
packages=(busybox-static libc6 libstdc++6 libgcc-s1)
commands=(sh cat echo env false grep head id kill ls mkdir mount ps seq setsid sleep sort touch true wc)

here=$PWD/build/containers
root=$here/root log=$here/log
mkdir -p "$here"
if [ -e "$root/etc/cleave-test" ]; then
  rm -f "$here/missing"
  exit 0
fi
give_up() { # WHY
  echo "$1" >"$here/missing"
  echo "containers: $1" >&2
  exit 1
}
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || give_up "there is no apt-get here"
echo "Fetching packages for a root file system: ${packages[*]}"
rm -rf "$root" "$here/debs"
mkdir -p "$root" "$here/debs"
(cd "$here/debs" && apt-get -q -o APT::Sandbox::User= -o Acquire::Retries=2 download "${packages[@]}") >"$log" 2>&1 ||
  give_up "could not be had from this machine's package sources: ${packages[*]} (see build/containers/log)"
for package in "$here"/debs/*.deb; do dpkg-deb -x "$package" "$root" >>"$log" 2>&1; done
rm -rf "$here/debs" "$root/usr/share"
mkdir -p "$root/etc" "$root/tmp" "$root/home"
for command in "${commands[@]}"; do ln -sf busybox "$root/bin/$command"; done
echo "made by tools/containers.sh" >"$root/etc/cleave-test"
rm -f "$here/missing"
