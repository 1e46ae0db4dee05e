#!/usr/bin/env bash
# Sets up, builds, and runs a whole research session in a scratch clone: baseline, then three
# commits whose ends are known beforehand (a faster one, one that halves the steps, one that does not
# compile), the table, and a grid of digits. usage: scripts/quickstart.sh [FOLDER]
# FOLDER (default build/quickstart) is replaced if an earlier quick start made it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root="$PWD"
folder="${1:-$root/build/quickstart}"

# What each phase took, for the table at the end.
phases=()
phase=""
phase_started=$SECONDS
begin() { # NAME of the phase that starts; empty at the end
  if [ -n "$phase" ]; then phases+=("$((SECONDS - phase_started))|$phase"); fi
  phase="$1"
  phase_started=$SECONDS
}

begin "set-up"
bash scripts/setup.sh
begin "build of both programs"
bash scripts/build.sh cpu
begin "scratch clone"
export PATH="$root/build/cpu/bin:$PATH"

if [ -e "$folder" ] && [ ! -e "$folder/.dit-ar-quickstart" ]; then
  echo "quickstart: $folder exists and no quick start made it; name another folder" >&2
  exit 2
fi
rm -rf "$folder"
mkdir -p "$folder"
touch "$folder/.dit-ar-quickstart"
git clone -q "$root" "$folder/session"
cd "$folder/session"
git config user.name "${GIT_AUTHOR_NAME:-quick start}"
git config user.email "${GIT_AUTHOR_EMAIL:-quickstart@localhost}"
git checkout -q -b autoresearch/quickstart

step() {
  begin "$1"
  printf '\n== %s (%d s)\n' "$1" "$SECONDS"
}
dit() { dit-ar --config config/autoresearch.json "$@"; }
experiment() { # CLASS DESCRIPTION; the working tree holds the change
  git commit -qam "$2"
  dit experiment --classification "$1" --description "$2"
}

step "doctor"
dit doctor
step "init"
dit init
step "baseline: the unmodified engine"
dit baseline

step "experiment 1: both guidance branches as one batch"
sed -i 's/"batch_guidance": false/"batch_guidance": true/' config/engine.json
experiment exact "one batch for both guidance branches: fewer, larger products"

step "experiment 2: half the steps, claimed numerical"
sed -i 's/"step_stride": 1/"step_stride": 2/' config/engine.json
experiment numerical "every second step only"
dit discard

step "experiment 3: does not compile"
echo 'static_assert(false, "a mistake");' >>worker/dit/denoiser.cc
experiment exact "a mistake in the denoiser"
dit discard

step "what came of it"
dit status
column -t -s "$(printf '\t')" .autoresearch/results.tsv 2>/dev/null || cat .autoresearch/results.tsv
dit report --out "$folder/report"

step "ten digits from the shipped model"
dit generate --labels 0-9 --seed 7 --out "$folder/grid.png"

step "time by phase"
begin ""
for line in "${phases[@]}"; do printf '%5d s  %s\n' "${line%%|*}" "${line#*|}"; done
printf '%5d s  in all\n' "$SECONDS"
for picture in "$folder/report/progress.png" "$folder/grid.png"; do
  [ -s "$picture" ] || { echo "quickstart: $picture was not made" >&2; exit 1; }
done
echo "the course of the session: $folder/report/progress.png"
echo "the ten digits:            $folder/grid.png"
bash "$root/scripts/on_path.sh"
