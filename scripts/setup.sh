#!/usr/bin/env bash
# Installs what the build and the session need, from the distribution's own packages. Works as root
# or through sudo, asks nothing, and changes nothing where everything is there already.
# Supported: Debian 12, Ubuntu 24.04.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/setup.sh [--dry-run]
  --dry-run   say what is missing and end with 1 if anything is, install nothing
Exit codes: 0 everything is there, 1 something is missing (--dry-run) or apt failed,
2 wrong usage, 69 this system has no apt or no way to become root.
TEXT
}

dry_run=0
for argument in "$@"; do
  case "$argument" in
    --dry-run) dry_run=1 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "setup: unknown option '$argument'" >&2; usage >&2; exit 2 ;;
  esac
done

# package|why
packages='g++|C++20 compiler
cmake|build system, 3.25 or newer
ninja-build|build tool of the presets
pkg-config|finds libzmq and Xapian
git|commits, refs and clean exports
ca-certificates|git over https
libopenmpi-dev|MPI headers: the ranks of one worker group
openmpi-bin|mpirun, which starts the workers
libzmq3-dev|messages between coordinator and worker
libdnnl-dev|oneDNN: FP32 products on the CPU
libisal-dev|CRC-32C of the frames
cppzmq-dev|C++ face of libzmq
nlohmann-json3-dev|settings, ledger and receipts
libspdlog-dev|logging
libcli11-dev|command line
libpng-dev|picture grids
zlib1g-dev|checksums of NPZ files
libssl-dev|SHA-256
libxapian-dev|search over the handbook
libeigen3-dev|eigenvalues for the Frechet distance
libboost-dev|special functions of the statistics
libgtest-dev|tests
libgmock-dev|tests
gnuplot-nox|progress.png
fonts-dejavu-core|labels in progress.png
clang-format|format check of .ci/run'

if ! command -v dpkg-query >/dev/null; then
  echo "setup: no dpkg here; on another system install by hand what scripts/setup.sh lists" >&2
  exit 69
fi

missing=()
while IFS='|' read -r package why; do
  if ! dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
    echo "setup: missing $package ($why)"
    missing+=("$package")
  fi
done <<<"$packages"

if [ "${#missing[@]}" -eq 0 ]; then
  echo "setup: every package is installed"
  exit 0
fi
[ "$dry_run" -eq 0 ] || exit 1

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "setup: root is needed for: apt-get install ${missing[*]}" >&2
    echo "setup: run it as root, or allow sudo without a password for this call" >&2
    exit 69
  fi
  as_root=(sudo -n)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}"
echo "setup: installed ${missing[*]}"
