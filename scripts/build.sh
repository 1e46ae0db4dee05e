#!/usr/bin/env bash
# Configures and builds one preset with as many jobs as there are CPUs. usage: scripts/build.sh [preset]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset="${1:-cpu}"
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
log="build/$preset.configure.log"
mkdir -p build
if ! cmake --preset "$preset" "${launcher[@]}" >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "build: configuring failed; the whole text is in $log" >&2
  exit 1
fi
echo "build: preset $preset"
cmake --build --preset "$preset" -j "$(nproc)"
