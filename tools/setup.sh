#!/usr/bin/env bash
# Installs what Cleave is built and tested with: packages of Debian 12, and nothing from elsewhere.
#
#   tools/setup.sh build    what ./demo.sh needs
#   tools/setup.sh package  that, and what tools/package.sh needs besides
#   tools/setup.sh test     that, and what ./test.sh needs besides
#   tools/setup.sh long     that, and what ./test.sh --long needs besides
#
# Says first what it will install, and installs only what is missing: with nothing missing it ends at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(
  g++                 # the compiler; C++23 as version 12 has it
  cmake               # reads CMakePresets.json
  ninja-build         # what the presets build with
  ccache              # makes a second build quick
  libfmt-dev          # text: std::format is not in g++ 12
  nlohmann-json3-dev  # workload files, and every --json answer
  libcli11-dev        # the command line
  zlib1g-dev          # traces, which may be gzip
  pkg-config          # finds CBC
  coinor-libcbc-dev   # the mixed-integer solver behind optimal plans
  libxgboost-dev      # grows the trees behind completion times
  libboost-dev        # HTTP over unix sockets (Beast, Asio)
  libsqlite3-dev      # what the daemon remembers
  libtomlplusplus-dev # its configuration
  libspdlog-dev       # its log
  prometheus-cpp-dev  # the format of its metrics
  libssl-dev          # TLS, where they are served over the network
)
package_packages=(
  dpkg-dev          # finds the packages that programs depend on
  file              # with which CPack finds programs
)
test_packages=(
  libgtest-dev      # the tests
  libgrpc++-dev     # how the kubelet of Kubernetes calls cleave-kube, which is left out without it
  libprotobuf-dev   # the messages of that
  protobuf-compiler-grpc  # makes code of their description
  mold              # links the test programs
  clang-format      # a test checks the format of the sources
  clang-tidy-19     # looks at the files of a change
  podman            # runs jobs in containers, in the root file system that tools/containers.sh makes
  crun              # what podman makes containers with
  python3           # runs pynvml and gpustat, which tools/clients.sh fetches
  tmux              # shows the screen of nvtop
  libncursesw6      # which nvtop draws with
  chromium          # shows the pages of reports, and the daemon's
  prometheus        # reads the metrics, and checks the rules of alerts
  openssl           # makes the certificates of the tests
  slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins  # a cluster whose jobs claim instances
  libslurm-dev      # the headers with which the plugin for SPANK is built
  munge             # how its parts trust one another
  mariadb-server-core mariadb-client-core  # its accounting, by the programs alone: no service is begun
)
# Both build the web pages and drive the browser in their tests; Node is often there by other means.
command -v npm >/dev/null || test_packages+=(nodejs npm)
long_packages=(
  qemu-system-x86   # the virtual machine of tools/virtual-machine.sh
  busybox-static    # all that it has besides the test programs
  debootstrap       # the bare Debian on which tools/try-packages.sh installs packages
  lintian           # reads the packages
  valgrind          # counts instructions for tools/account.py
)

case "${1:-}" in
  build) packages=("${build_packages[@]}") purpose="building Cleave" ;;
  package) packages=("${build_packages[@]}" "${package_packages[@]}") purpose="making Cleave's packages" ;;
  test) packages=("${build_packages[@]}" "${test_packages[@]}") purpose="building and testing Cleave" ;;
  long)
    packages=("${build_packages[@]}" "${package_packages[@]}" "${test_packages[@]}" "${long_packages[@]}")
    purpose="testing Cleave at length"
    ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac

# The packages of the list that are not there, one a line.
missing() {
  local installed
  # Status "ii" is installed; dpkg-query fails when it does not know a package, which is an answer here.
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' "${packages[@]}" 2>/dev/null || true)
  for package in "${packages[@]}"; do
    grep -q "^$package .i" <<<"$installed" || echo "$package"
  done
}

mapfile -t wanted < <(missing)
[ ${#wanted[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: $purpose needs these Debian packages: ${wanted[*]}" >&2
  echo "setup: there is no apt-get here; install their counterparts, then: cmake --preset release && cmake --build --preset release" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: $purpose needs these packages: ${wanted[*]}" >&2
    echo "setup: you are not root and there is no sudo; let an administrator run: apt-get install ${wanted[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing what $purpose needs from Debian's packages: ${wanted[*]}"
mkdir -p build
log=build/setup.log
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1; }
: >"$log"
apt update || true # one broken source of many need not matter: the installation tells
if ! apt install -y --no-install-recommends "${wanted[@]}"; then
  echo "setup: the installation failed; the end of $log:" >&2
  tail -n 15 "$log" >&2
  echo "setup: see to the network and the package sources in /etc/apt, then run it again; by hand: apt-get install ${wanted[*]}" >&2
  exit 1
fi
