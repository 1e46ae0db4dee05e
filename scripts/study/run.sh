#!/bin/sh
# Error rates and power of the shipped decision code on a simulated engine with a known truth.
# usage: scripts/study/run.sh [trials] [record]     (2000 trials: under a minute of one core)
# Prints the tables and their bars and writes them to the record (default: scripts/study/record.txt).
# Needs a build of the cpu preset. Exit code 1 if a bar is missed.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
study=$root/build/cpu/bin/dit-ar-study
trials=${1:-2000}
record=${2:-$root/scripts/study/record.txt}
if [ ! -x "$study" ]; then
  echo "run.sh: $study is missing; build it: cmake --build build/cpu --target dit-ar-study" >&2
  exit 69
fi
table=$(mktemp)
trap 'rm -f "$table"' EXIT
status=0
"$study" "$trials" >"$table" || status=$?
[ "$status" -le 1 ] || exit "$status"
{
  echo "scripts/study/run.sh $trials   (simulated: no figure here was measured on hardware)"
  echo "sources: tree $(git -C "$root" rev-parse HEAD:coordinator/src/verdict | cut -c1-12) of coordinator/src/verdict"
  cat "$table"
} | tee "$record"
exit "$status"
