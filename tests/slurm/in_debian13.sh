#!/usr/bin/env bash
# Runs a test of this folder with the Slurm of Debian 13 (24.11), in a root that debootstrap makes
# in build/slurm-debian13 and that later calls use again:
#
#   tests/slurm/in_debian13.sh BUILD modes_test.py [ARGUMENT...]     BUILD such as build/release
#
# Needs root, debootstrap and Debian's package source. Mounts are in a namespace of their own. The
# programs are those of BUILD, with the libraries that Debian 13 does not have.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd) root=$top/build/slurm-debian13 test=$2
if [ "${CLEAVE_OWN_MOUNTS:-}" != yes ]; then
  CLEAVE_OWN_MOUNTS=yes exec unshare --mount "$0" "$@"
fi
shift 2
packages=slurmctld,slurmd,slurmdbd,slurm-client,slurm-wlm-basic-plugins,munge,mariadb-server,python3
if [ ! -e "$root/made" ]; then
  command -v debootstrap >/dev/null || { echo "in_debian13: needs debootstrap" >&2; exit 2; }
  source=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources | head -n 1)
  rm -rf "$root" && mkdir -p "$root"
  debootstrap --variant=minbase --include="$packages" trixie "$root" "$source" \
    >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 1; }
  touch "$root/made"
fi
# Programs and what they load are looked for where they are here.
mkdir -p "$root$top" "$root$build"
for each in proc sys dev; do mount --rbind "/$each" "$root/$each"; done
mount --bind "$top" "$root$top"
[ "${build#"$top"/}" != "$build" ] || mount --bind "$build" "$root$build"
cp -L /etc/hosts "$root/etc/hosts"
{ chroot "$root" ldd "$build"/bin/cleave "$build"/bin/cleaved "$build"/lib/cleave/*.so || true; } |
  sed -n 's/^\t\(.*\) => not found$/\1/p' | sort -u | while read -r library; do
  cp -L "/usr/lib/x86_64-linux-gnu/$library" "$root/usr/local/lib/"
done
chroot "$root" ldconfig
# The plugin for SPANK belongs to the release of Slurm whose headers it was built with.
CLEAVE_WITHOUT_SPANK=1 chroot "$root" python3 "$top/tests/slurm/$test" "$build/bin" "$@"
