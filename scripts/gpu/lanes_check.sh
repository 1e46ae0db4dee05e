#!/usr/bin/env bash
# Runs the GPU lanes from doctor to verdict in a scratch clone on this machine and keeps what every
# step said. No step stops the next. usage: scripts/gpu/lanes_check.sh OUTDIR [GPU_ARCH]
# Needs build/cuda/bin/dit-ar; GPU_ARCH (such as 90) builds it first if it is not there.
# LANES_CHECK_QUICK=1 takes fewer blocks than the lanes do, where minutes on the GPU are short.
set -uo pipefail
if [ $# -lt 1 ]; then
  echo "usage: scripts/gpu/lanes_check.sh OUTDIR [GPU_ARCH]" >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
mkdir -p "$1"
out="$(cd "$1" && pwd)"
export PATH="$root/build/cuda/bin:$PATH:/usr/local/cuda/bin"
export GIT_AUTHOR_NAME=lanes GIT_AUTHOR_EMAIL=lanes@localhost
export GIT_COMMITTER_NAME=lanes GIT_COMMITTER_EMAIL=lanes@localhost
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
started=$SECONDS
: >"$out/steps.txt"

run() { # NAME SECONDS COMMAND...
  local name="$1" limit="$2" from=$SECONDS rc
  shift 2
  timeout -k 10 "$limit" "$@" >"$out/$name.txt" 2>&1 </dev/null
  rc=$?
  echo "$name rc=$rc seconds=$((SECONDS - from)) at=$((from - started))" | tee -a "$out/steps.txt"
}
dit() { # NAME SECONDS ARGUMENTS...
  local name="$1" limit="$2"
  shift 2
  run "$name" "$limit" dit-ar --config "$config" "$@"
}
session() { # LANE: a branch of its own from the first commit
  git checkout -q -f -B "autoresearch/$1" "$first" && dit "$1-init" 60 init --lane "$1"
}
experiment() { # NAME SECONDS DESCRIPTION; the working tree holds the change
  git commit -qam "$3"
  dit "$1" "$2" experiment --classification exact --description "$3"
}
keep_receipts() {
  find .autoresearch -name receipt.json -o -name build.log -o -name '*.log' -o -name ledger.jsonl |
    tar -czf "$out/state.tar.gz" -T - 2>/dev/null
}

if [ ! -x "$root/build/cuda/bin/dit-ar" ] && [ $# -ge 2 ]; then
  run configure 120 cmake --preset cuda -S "$root" "-DCMAKE_CUDA_ARCHITECTURES=$2"
  run build 900 cmake --build "$root/build/cuda" -j "$(nproc)" --target dit-ar dit-worker dit-isolate
fi
run nvidia-smi 30 nvidia-smi
run clone 60 git clone -q "$root" "$scratch/clone"
cd "$scratch/clone" || exit 1
first="$(git rev-parse HEAD)"
config=config/autoresearch.json
if [ "${LANES_CHECK_QUICK:-0}" = 1 ]; then
  config="$scratch/quick.json"
  sed -e 's/"calibration_blocks": [0-9]*/"calibration_blocks": 8/' \
    -e 's/"confirm_blocks": [0-9]*/"confirm_blocks": 8/' \
    -e 's/"oracle_items": [0-9]*/"oracle_items": 4/' \
    -e 's/"score_images": [0-9]*/"score_images": 128/g' config/autoresearch.json >"$config"
fi

dit doctor 60 doctor
session gpu-mnist
dit gpu-mnist-baseline 280 baseline
sed -i 's/"batch_guidance": false/"batch_guidance": true/' config/engine.json
experiment gpu-mnist-keep 200 "one batch for both guidance branches: fewer, larger products"
keep_receipts
sed -i '1i // A comment alone: nothing that reaches the program changes.' worker/dit/sampler_plan.cc
experiment gpu-mnist-comment 120 "a comment alone"
dit gpu-mnist-status 30 status
keep_receipts
session xl2-256-latency
dit xl2-baseline 280 baseline
keep_receipts
sed -i 's/"batch_guidance": false/"batch_guidance": true/' config/engine.json
experiment xl2-keep 240 "one batch for both guidance branches: fewer, larger products"
dit xl2-status 30 status
dit verify 60 verify
keep_receipts
cat "$out/steps.txt"
