#!/usr/bin/env bash
# Runs a test program of the release build as root of a virtual machine with a kernel of Debian's. There the only control
# groups are those of version 2, below a service's own as systemd delegates them, and device programs fence.
#
#   tools/virtual-machine.sh PROGRAM [ARGUMENT...]
#
#   tools/virtual-machine.sh build/release/bin/supervised_test --gtest_filter='InGroups.*'
#
# It needs x86-64 and the packages of `tools/setup.sh long`; the kernel is unpacked into build/virtual-machine and never
# installed. The processor is emulated, so everything takes ten times as long. Ends with the program's exit status; 77:
# there can be no virtual machine here, and why.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -ge 1 ] && [ -x "$1" ] || { sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
program=$(realpath "$1")
shift
place=$PWD/build/virtual-machine
longest=3600 # seconds

cannot() {
  echo "virtual-machine: $1" >&2
  exit 77
}
[ "$(uname -m)" = x86_64 ] || cannot "this is written for x86-64"
for needed in qemu-system-x86_64 busybox /usr/bin/python3; do
  command -v "$needed" >/dev/null || cannot "$needed is missing: tools/setup.sh long"
done

# The kernel on which the package linux-image-cloud-amd64 depends.
fetch_kernel() {
  compgen -G "$place/kernel/boot/vmlinuz-*" >/dev/null && return
  local package
  package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: //p' | head -n 1)
  [ -n "$package" ] || cannot "apt knows no linux-image-cloud-amd64"
  mkdir -p "$place/debs"
  (cd "$place/debs" && apt-get -q download "$package") >"$place/log" 2>&1 || cannot "$package could not be fetched: $place/log"
  dpkg-deb -x "$place/debs/$package"_*.deb "$place/unpacked"
  mkdir -p "$place/kernel"
  mv "$place/unpacked/boot" "$place/kernel/"
  rm -rf "$place/debs" "$place/unpacked"
}

# Files go where they are here, with the shared libraries that they load.
root=$place/root
add() {
  local file
  for file in "$@"; do
    [ ! -e "$root$file" ] || continue
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
  done
}
add_programs() {
  local file
  for file in "$@"; do
    add "$file"
    mapfile -t libraries < <(ldd "$file" 2>/dev/null | grep -o '/[^ ]*')
    add "${libraries[@]}"
  done
}

fill_root() {
  local bin each
  rm -rf "$root"
  mkdir -p "$root"/{bin,etc,proc,sys,dev,tmp,run,var/lib}
  add_programs "$(command -v busybox)" "$program"
  ln -s "$(command -v busybox)" "$root/bin/sh"
  bin=$(dirname "$program")
  for each in cleave cleaved cleave-supervise cleave-job; do
    [ ! -x "$bin/$each" ] || add_programs "$bin/$each"
  done
  [ ! -d "$bin/../lib" ] || (mkdir -p "$root${bin%/bin}" && cp -r "$bin/../lib" "$root${bin%/bin}/")
  # Python, for jobs that fork and allocate, with the modules that it loads when it begins.
  add_programs /usr/bin/python3
  mapfile -t modules < <(/usr/bin/python3 -I -c '
import sys, os, time, encodings.ascii, encodings.latin_1
for module in list(sys.modules.values()):
    if getattr(module, "__file__", None): print(module.__file__)')
  add "${modules[@]}"
  printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
  cat >"$root/init" <<'END'
#!/bin/sh
busybox=$(readlink /bin/sh)
for each in $($busybox --list); do [ -e /bin/$each ] || $busybox ln -s $busybox /bin/$each; done
export PATH=/usr/bin:/bin HOME=/tmp GTEST_COLOR=no
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up
own=/sys/fs/cgroup/service
echo "+cpu +cpuset +memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
mkdir $own
python3 -I -c "import os; os.setxattr('$own', 'trusted.delegate', b'1')"
(echo 0 >$own/cgroup.procs && exec sh /program)
echo "virtual-machine: ended with $?"
poweroff -f
END
  { printf 'cd /\nexec'; printf ' %q' "$program" "$@"; echo; } >"$root/program"
  chmod 755 "$root/init"
  (cd "$root" && find . | busybox cpio -o -H newc) 2>/dev/null | gzip -1 >"$place/root.gz"
}

mkdir -p "$place"
fetch_kernel
fill_root "$@"
said=$place/said
timeout "$longest" qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 2048 -nodefaults -nographic -serial stdio -no-reboot \
  -kernel "$place"/kernel/boot/vmlinuz-* -initrd "$place/root.gz" -append "console=ttyS0 quiet panic=-1" </dev/null \
  | tr -d '\r' | sed -u 's/^.*\x1b\[2J//; /^Could not find platform/d' | tee "$said" | grep --line-buffered -v '^virtual-machine: ended'
status=$(sed -n 's/^virtual-machine: ended with //p' "$said")
[ -n "$status" ] || { echo "virtual-machine: it did not end by itself; what it said is in $said" >&2; exit 1; }
exit "$status"
