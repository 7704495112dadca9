#!/usr/bin/env bash
# Fetches other people's NVML clients, with which tests/clients shows that the simulated library is one that
# they can use: pynvml, gpustat and nvtop, and NVIDIA's header to hold the binary interface against; and from
# PyPI nvitop with its exporter, py3nvml, pynvml_utils and glances; hwloc and lspci, which look at the host
# beside the library.
#
#   tools/clients.sh
#   tools/clients.sh --long    # also larger ones, with what they depend on: codecarbon, Zeus, distributed
#
# They come from the contrib and non-free parts of the Debian mirror that this machine uses already. They are
# unpacked into build/clients and never installed, so no driver is pulled in, and neither apt's sources nor
# its lists are touched. What could not be had is said in build/clients/missing, which the tests print when
# they skip; the exit status is then 1. Those from PyPI are unpacked into build/clients/wheels; why there are
# none is said in build/clients/missing-wheels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Each with a file that is there once it is unpacked. Those from blessed on are from main.
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

here=$PWD/build/clients
root=$here/unpacked log=$here/log
mkdir -p "$root" "$here/debs" "$here/lists/partial" "$here/cache/archives/partial" "$here/sources"

wanted() {
  local client
  for client in "${clients[@]}"; do
    [ -e "$root/${client#*:}" ] || echo "${client%%:*}"
  done
}
give_up() { # WHY
  echo "$1" >"$here/missing"
  echo "clients: $1" >&2
  exit 1
}

# Pinned, of Python alone, and without what they depend on beside each other and the above.
wheels=(nvidia-ml-py==13.615.71 nvitop==1.7.2 nvitop-exporter==1.7.2 prometheus-client==0.26.0
  py3nvml==0.2.7 xmltodict==1.0.4 pynvml==13.0.1 glances==4.5.8 defusedxml==0.7.1 packaging==26.4)
fetch_wheels() {
  local into=$here/wheels fresh
  [ "$(cat "$into/which" 2>/dev/null)" != "${wheels[*]}" ] || return 0
  fresh=$(mktemp -d "$here/wheels.XXXXXX")
  if PIP_DISABLE_PIP_VERSION_CHECK=1 timeout 120 python3 -m pip download -q --no-deps --only-binary=:all: \
    -d "$fresh" "${wheels[@]}" >"$here/missing-wheels" 2>&1; then
    for wheel in "$fresh"/*.whl; do python3 -m zipfile -e "$wheel" "$fresh"; done
    rm -f "$fresh"/*.whl "$here/missing-wheels"
    echo "${wheels[*]}" >"$fresh/which"
    rm -rf "$into"
    mv "$fresh" "$into"
  else
    echo "could not be had from PyPI: ${wheels[*]}" >"$here/missing-wheels"
    rm -rf "$fresh"
  fi
}
fetch_wheels

# An environment of its own for each. Only they are pinned: what they depend on is what they ask for.
environments=(codecarbon==3.3.2 zeus==0.16.0 distributed==2026.8.0)
fetch_environment() { # NAME==VERSION
  local into=$here/environments/${1%%==*}
  [ "$(cat "$into/which" 2>/dev/null)" != "$1" ] || return 0
  rm -rf "$into"
  if python3 -m venv "$into" >"$here/missing-environments" 2>&1 &&
    PIP_DISABLE_PIP_VERSION_CHECK=1 timeout 900 "$into/bin/pip" install -q --only-binary=:all: \
      nvidia-ml-py==13.615.71 "$1" >>"$here/missing-environments" 2>&1; then
    echo "$1" >"$into/which"
  else
    echo "could not be had from PyPI: $1" >"$into/missing"
  fi
  rm -f "$here/missing-environments"
}
if [ "${1-}" = --long ]; then
  for environment in "${environments[@]}"; do fetch_environment "$environment"; done
fi

mapfile -t missing < <(wanted)
if [ ${#missing[@]} = 0 ]; then
  rm -f "$here/missing"
  exit 0
fi
echo "Fetching NVML clients: ${missing[*]}"
: >"$log"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || give_up "there is no apt-get here"

# The machine's own sources, with two more parts of the same archive, in either of the forms that apt reads.
rm -f "$here/sources/"*
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ -s "$file" ] || continue
  if [[ $file == *.sources ]]; then
    sed -E 's/^(Components:.*\bmain\b).*/\1 contrib non-free/' "$file" >"$here/sources/$(basename "$file")"
  else
    sed -E 's/^(deb .*[[:space:]]main\b).*/\1 contrib non-free/' "$file" >"$here/sources/$(basename "$file")"
  fi
done
apt() {
  apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$here/sources" \
    -o Dir::State::lists="$here/lists" -o Dir::Cache="$here/cache" -o Dir::Cache::archives="$here/cache/archives" \
    -o APT::Sandbox::User= -o Acquire::Retries=2 -o Acquire::http::Timeout=30 "$@" >>"$log" 2>&1
}
apt update || true # one broken source of many need not matter: the download tells
for package in "${missing[@]}"; do
  (cd "$here/debs" && apt download "$package") || continue
  dpkg-deb -x "$here/debs/$package"_*.deb "$root" >>"$log" 2>&1 || true
done
rm -rf "$here/lists" "$here/cache" "$here/debs" "$here/sources"

mapfile -t missing < <(wanted)
[ ${#missing[@]} = 0 ] || give_up "could not be had from this machine's package sources: ${missing[*]}"
rm -f "$here/missing"
