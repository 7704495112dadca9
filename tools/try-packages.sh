#!/usr/bin/env bash
# Installs the packages of tools/package.sh on a bare Debian 12, uses, removes and purges them, and reads them with lintian.
#
#   tools/try-packages.sh          the packages in build/release/packages
#   tools/try-packages.sh quick    without libcleave-dev, whose compiler takes a while to fetch
#
# The Debian is made by debootstrap in build/debian from this machine's package sources, and kept for the next time. What
# is done in it is done in a copy, in namespaces of its own. Needs root. Exit status 77: it cannot run here, as the last
# line says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
  echo "$1"
  exit 77
}
case "${1:-}" in
  "" | quick) ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
packages=$PWD/build/release/packages place=$PWD/build/debian
compgen -G "$packages/*.deb" >/dev/null || skip "there are no packages in build/release/packages: run tools/package.sh"
[ "$(id -u)" = 0 ] || skip "a Debian can be made by root only"
command -v debootstrap >/dev/null || skip "there is no debootstrap here"
unshare --mount --pid --fork true 2>/dev/null || skip "there are no namespaces to be had here"

mkdir -p "$place"
if [ ! -e "$place/base.tar" ]; then
  mirror=$(sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +([^ ]+).*/\3/p' /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | head -n 1 || true)
  [ -n "$mirror" ] || skip "this machine has no package source of Debian's"
  new=$(mktemp -d "$place/new.XXXXXX")
  if ! debootstrap --variant=minbase bookworm "$new" "$mirror" >"$place/debootstrap.log" 2>&1; then
    rm -rf --one-file-system "$new"
    skip "debootstrap could not fetch Debian 12: $(tail -n 1 "$place/debootstrap.log")"
  fi
  tar -C "$new" -cf "$place/base.tar.part" . && mv "$place/base.tar.part" "$place/base.tar"
  rm -rf --one-file-system "$new"
fi
root=$(mktemp -d "$place/root.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
tar -C "$root" -xf "$place/base.tar"
chmod 755 "$root"
# Package sources, their keys and the way to them are this machine's.
rm -f "$root/etc/apt/sources.list"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/apt.conf.d/* /etc/resolv.conf /etc/hosts; do
  [ ! -f "$file" ] || cp -L "$file" "$root$file"
done
cp -n /usr/share/keyrings/debian-archive-keyring.gpg "$root/usr/share/keyrings/" 2>/dev/null || true
mkdir "$root/packages"
cp "$packages"/*.deb tests/packages/in-debian.sh "$root/packages/"
cp examples/fleets/scattered.json examples/forecast/measured.csv "$root/tmp/"

mapfile -t proxies < <(env | grep -iE '^(https?|no|ftp)_proxy=' || true)
# shellcheck disable=SC2016 # the inner shell's own variables
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "${proxies[@]}" unshare --mount --pid --fork sh -c '
  mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/run" && mount --bind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/dev/shm" &&
    exec chroot "$0" sh -c "cd /packages && exec bash in-debian.sh $1"' "$root" "${1:-}" </dev/null

if command -v lintian >/dev/null; then
  if errors=$(lintian --allow-root --fail-on error "$packages"/*.deb 2>&1); then
    echo "ok: lintian finds no errors"
  else
    printf 'FAILED: lintian\n%s\n' "$errors"
    exit 1
  fi
else
  echo "lintian is not here, and has not read the packages"
fi
