#!/bin/sh
# Error rates and power of the shipped decision code on the simulated engine.
# usage: scripts/study/run.sh [trials]        (a build of the cpu preset is needed; minutes)
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
study=$root/build/cpu/bin/dit-ar-study
if [ ! -x "$study" ]; then
  echo "run.sh: $study is missing; build it: cmake --build build/cpu --target dit-ar-study" >&2
  exit 69
fi
exec "$study" "${1:-2000}"
