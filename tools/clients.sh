#!/usr/bin/env bash
# Fetches other people's NVML clients, with which tests/clients shows that the simulated library is one that
# they can use: pynvml, gpustat and nvtop, and NVIDIA's header to hold the binary interface against; and from
# PyPI nvitop with its exporter, py3nvml, pynvml_utils and glances; hwloc and lspci, which look at the host
# beside the library.
#
#   tools/clients.sh
#   tools/clients.sh --long    # also larger ones, with what they depend on: codecarbon, Zeus, distributed, mlflow,
#                              # wandb, nvdashboard, cuda-core, ray; Slurm's GPU plugin; programs in Go and Rust
#   tools/clients.sh --lock    # writes tools/clients/*.txt anew, after a version here was changed
#
# The first come from the contrib and non-free parts of the Debian mirror that this machine uses already. They
# are unpacked into build/clients and never installed, so no driver is pulled in, and neither apt's sources nor
# its lists are touched. Their versions are the release's, and are written down in build/clients/versions.
# Those from PyPI have each package, with its dependencies, pinned by version and hash in tools/clients, for
# Python 3.11 on x86-64. Modules of Go and crates are pinned by version, and they pin what they depend on.
# mig-parted, k8s-device-plugin, NVIDIA's DRA driver and HAMi are no such modules: their calls are made by
# tests/clients/go, over the libraries that they share.
#
# Why something is not there is said in build/clients/missing/NAME, which the tests print when they skip; the
# exit status is then 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

here=$PWD/build/clients
root=$here/unpacked log=$here/log locks=$PWD/tools/clients
mkdir -p "$root"
# How these were said before there was one file for each.
for old in missing missing-wheels missing-environments; do [ ! -f "$here/$old" ] || rm -f "$here/$old"; done
mkdir -p "$here/missing"
export PIP_DISABLE_PIP_VERSION_CHECK=1

status=0
missing() { # NAME WHY
  echo "$2" >"$here/missing/$1"
  echo "clients: $1: $2" >&2
  status=1
}
here_now() { rm -f "$here/missing/$1"; } # NAME

# Debian packages, each with a file that is there once it is unpacked. Those from blessed on are from main.
clients=(
  python3-pynvml:usr/lib/python3/dist-packages/pynvml.py
  gpustat:usr/lib/python3/dist-packages/gpustat/core.py
  nvtop:usr/bin/nvtop
  libnvidia-ml-dev:usr/include/nvml.h
  python3-blessed:usr/lib/python3/dist-packages/blessed/__init__.py
  python3-wcwidth:usr/lib/python3/dist-packages/wcwidth/__init__.py
  python3-psutil:usr/lib/python3/dist-packages/psutil/__init__.py
  python3-six:usr/lib/python3/dist-packages/six.py
  hwloc-nox:usr/bin/lstopo-no-graphics
  libhwloc15:usr/lib/x86_64-linux-gnu/libhwloc.so.15
  pciutils:usr/bin/lspci
  libpci3:usr/lib/x86_64-linux-gnu/libpci.so.3
)
slurm=(
  slurmd:usr/sbin/slurmd-wlm
  slurm-wlm-basic-plugins:usr/lib/x86_64-linux-gnu/slurm-wlm/gres_gpu.so
  slurm-wlm-nvml-plugin:usr/lib/x86_64-linux-gnu/slurm-wlm/gpu_nvml.so
  libmunge2:usr/lib/x86_64-linux-gnu/libmunge.so.2
)

wanted() { # PACKAGE:FILE...
  local client
  for client in "$@"; do [ -e "$root/${client#*:}" ] || echo "${client%%:*}"; done
}

# The machine's own sources, with two more parts of the same archive, in either of the forms that apt reads.
write_sources() {
  local file
  rm -f "$here/sources/"*
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ -s "$file" ] || continue
    if [[ $file == *.sources ]]; then
      sed -E 's/^(Components:.*\bmain\b).*/\1 contrib non-free/' "$file" >"$here/sources/$(basename "$file")"
    else
      sed -E 's/^(deb .*[[:space:]]main\b).*/\1 contrib non-free/' "$file" >"$here/sources/$(basename "$file")"
    fi
  done
}
apt() {
  apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$here/sources" \
    -o Dir::State::lists="$here/lists" -o Dir::Cache="$here/cache" -o Dir::Cache::archives="$here/cache/archives" \
    -o APT::Sandbox::User= -o Acquire::Retries=2 -o Acquire::http::Timeout=30 "$@" >>"$log" 2>&1
}
fetch_debian() { # NAME PACKAGE:FILE...
  local name=$1 lacking package
  shift
  mapfile -t lacking < <(wanted "$@")
  [ ${#lacking[@]} != 0 ] || { here_now "$name" && return; }
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    missing "$name" "there is no apt-get here" && return
  fi
  echo "Fetching NVML clients: ${lacking[*]}"
  mkdir -p "$here/debs" "$here/lists/partial" "$here/cache/archives/partial" "$here/sources"
  : >"$log"
  write_sources
  apt update || true # one broken source of many need not matter: the download tells
  for package in "${lacking[@]}"; do
    (cd "$here/debs" && apt download "$package") || continue
    dpkg-deb -x "$here/debs/$package"_*.deb "$root" >>"$log" 2>&1 || continue
    dpkg-deb -f "$here/debs/$package"_*.deb Package Version | paste -sd ' ' >>"$here/versions"
  done
  rm -rf "$here/lists" "$here/cache" "$here/debs" "$here/sources"
  mapfile -t lacking < <(wanted "$@")
  if [ ${#lacking[@]} = 0 ]; then
    here_now "$name"
  else
    missing "$name" "could not be had from this machine's package sources: ${lacking[*]}"
  fi
}

# For the hashes: one wheel of each package was tried.
find_python() {
  local each
  for each in python3.11 python3 /usr/bin/python3; do
    if "$each" -c 'import platform, sys, ensurepip, venv
sys.exit(sys.version_info[:2] != (3, 11) or platform.machine() != "x86_64")' 2>/dev/null; then
      echo "$each"
      return
    fi
  done
  return 0
}
python=$(find_python)
no_python="the versions that were tried are for Python 3.11 with venv, on x86-64, which is not here"

# Of Python alone, and without what they depend on beside each other and the Debian packages.
wheels=(nvidia-ml-py==13.615.71 nvitop==1.7.2 nvitop-exporter==1.7.2 prometheus-client==0.26.0
  py3nvml==0.2.7 xmltodict==1.0.4 pynvml==13.0.1 glances==4.5.8 defusedxml==0.7.1 packaging==26.4)
# An environment of its own for each, by the name of its lock, with all that it depends on.
environments=("codecarbon codecarbon==3.3.2" "zeus zeus==0.16.0" "distributed distributed==2026.8.0"
  "mlflow mlflow-skinny==3.17.2" "wandb wandb==0.31.0" "nvdashboard jupyterlab-nvdashboard==0.15.0"
  "cuda-core cuda-core==1.2.2 cuda-bindings==13.5.0" "ray ray==2.60.0")

# What pip would take, as a file of requirements with a hash for each.
lock() { # NAME OPTIONS-AND-REQUIREMENTS...
  local name=$1
  shift
  "$python" -m pip install -q --dry-run --ignore-installed --only-binary=:all: --report "$here/report" "$@" >/dev/null
  "$python" - "$here/report" >"$locks/$name.txt" <<'PYTHON'
import json, sys

rows = []
for each in json.load(open(sys.argv[1]))["install"]:
    name, version = each["metadata"]["name"].lower().replace("_", "-"), each["metadata"]["version"]
    rows.append(f"{name}=={version} --hash=sha256:{each['download_info']['archive_info']['hashes']['sha256']}")
print("# Written by tools/clients.sh --lock.", *sorted(rows), sep="\n")
PYTHON
  rm -f "$here/report"
}
lock_all() {
  local each
  lock wheels --no-deps "${wheels[@]}"
  for each in "${environments[@]}"; do
    # shellcheck disable=SC2086
    lock ${each%% *} nvidia-ml-py==13.615.71 ${each#* }
  done
}

# Unpacked only: they need no environment.
fetch_wheels() {
  local into=$here/wheels fresh wheel
  if cmp -s "$locks/wheels.txt" "$into/which"; then here_now wheels && return; fi
  [ -n "$python" ] || { missing wheels "$no_python" && return; }
  fresh=$(mktemp -d "$here/wheels.XXXXXX")
  if timeout 120 "$python" -m pip download -q --no-deps --only-binary=:all: --require-hashes -d "$fresh" \
    -r "$locks/wheels.txt" >"$here/pip" 2>&1; then
    for wheel in "$fresh"/*.whl; do "$python" -m zipfile -e "$wheel" "$fresh"; done
    rm -f "$fresh"/*.whl
    cp "$locks/wheels.txt" "$fresh/which"
    rm -rf "$into"
    mv "$fresh" "$into"
    here_now wheels
  else
    missing wheels "could not be had from PyPI: $(tail -n 1 "$here/pip")"
    rm -rf "$fresh"
  fi
}
fetch_environment() { # NAME
  local into=$here/environments/$1
  if cmp -s "$locks/$1.txt" "$into/which"; then here_now "$1" && return; fi
  [ -n "$python" ] || { missing "$1" "$no_python" && return; }
  rm -rf "$into"
  echo "Fetching $1 ..."
  if "$python" -m venv "$into" >"$here/pip" 2>&1 &&
    timeout 900 "$into/bin/pip" install -q --no-deps --only-binary=:all: --require-hashes -r "$locks/$1.txt" \
      >>"$here/pip" 2>&1; then
    cp "$locks/$1.txt" "$into/which"
    here_now "$1"
  else
    missing "$1" "could not be had from PyPI: $(tail -n 1 "$here/pip")"
  fi
}

# Programs in Go and Rust, each with its version in the name of its folder: NAME/VERSION/bin/PROGRAM.
fetch_go() { # NAME VERSION MODULE/PATH...
  local name=$1 version=$2 into=$here/programs/$1/$2 path
  shift 2
  if [ -e "$into/which" ]; then here_now "$name" && return; fi
  command -v go >/dev/null || { missing "$name" "there is no Go here" && return; }
  command -v cc >/dev/null || { missing "$name" "it needs a C compiler" && return; }
  mkdir -p "$into" "$here/go"
  echo "Building $name ..."
  for path in "$@"; do
    # In a folder that is not in this repository: only then does Go take the versions that the module names.
    if ! (cd / && GOPATH="$here/go" GOBIN="$into/bin" GOFLAGS=-modcacherw timeout 1500 nice go install \
      "$path@$version") >"$here/go.log" 2>&1; then
      missing "$name" "$path $version could not be built: $(grep -v warning "$here/go.log" | tail -n 1)" && return
    fi
  done
  touch "$into/which"
  rm -rf "$here/go"
  here_now "$name"
}
# One of ours over other people's modules, which its go.sum pins by hash.
fetch_our_go() { # NAME VERSION FOLDER
  local name=$1 into=$here/programs/$1/$2 from=$PWD/$3
  if cmp -s <(cat "$from"/go.* "$from"/*.go) "$into/which"; then here_now "$name" && return; fi
  command -v go >/dev/null || { missing "$name" "there is no Go here" && return; }
  command -v cc >/dev/null || { missing "$name" "it needs a C compiler" && return; }
  mkdir -p "$into/bin" "$here/go"
  echo "Building $name ..."
  if (cd "$from" && GOPATH="$here/go" GOFLAGS="-modcacherw -mod=readonly -buildvcs=false" timeout 1500 nice \
    go build -o "$into/bin/$name" .) >"$here/go.log" 2>&1; then
    cat "$from"/go.* "$from"/*.go >"$into/which"
    here_now "$name"
  else
    missing "$name" "it could not be built: $(grep -v warning "$here/go.log" | tail -n 1)"
  fi
  rm -rf "$here/go"
}
fetch_crate() { # NAME VERSION OPTIONS...
  local name=$1 version=$2 into=$here/programs/$1/$2
  shift 2
  if [ -e "$into/which" ]; then here_now "$name" && return; fi
  command -v cargo >/dev/null || { missing "$name" "there is no cargo here" && return; }
  mkdir -p "$into"
  echo "Building $name ..."
  if CARGO_TARGET_DIR="$here/cargo" timeout 1500 nice cargo install --locked --debug --root "$into" "$@" \
    "$name@$version" >"$here/cargo.log" 2>&1; then
    touch "$into/which"
    here_now "$name"
  else
    missing "$name" "it could not be built in 25 minutes: $(tail -n 1 "$here/cargo.log")"
  fi
  rm -rf "$here/cargo"
}

fetch_long() {
  local each
  for each in "${environments[@]}"; do fetch_environment "${each%% *}"; done
  fetch_debian slurm "${slurm[@]}"
  # It looks for GPUs only under this name, which Debian's alternatives give it.
  [ ! -e "$root/usr/sbin/slurmd-wlm" ] || ln -sf slurmd-wlm "$root/usr/sbin/slurmd"
  fetch_go go-nvml v0.13.4-1 github.com/NVIDIA/go-nvml/examples/devices \
    github.com/NVIDIA/go-nvml/examples/compute-processes
  fetch_go nvidia-ctk v1.19.0 github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk
  fetch_our_go mig-calls go-nvlib-v0.13.0 tests/clients/go
  fetch_crate nvml-wrapper 0.13.0 --example basic_usage
}

case "${1-}" in
  "" | --long)
    fetch_wheels
    fetch_debian debian "${clients[@]}"
    [ "${1-}" != --long ] || fetch_long
    ;;
  --lock)
    [ -n "$python" ] || { echo "clients: $no_python" >&2 && exit 1; }
    lock_all
    ;;
  *)
    sed -n '7,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
exit "$status"
