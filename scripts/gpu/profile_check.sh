#!/usr/bin/env bash
# Checks the profiler and the rest of the CUDA engine on a machine with a GPU; nothing is built.
# usage: scripts/gpu/profile_check.sh OUTDIR     (one log per step there, and summary.txt)
# BUILD: build folder, default build/cuda. MODEL: a DiT-XL/2 checkpoint; else scripts/peers/synthetic_dit.py
# makes one where PyTorch is. GPU: name for the modelled column, default what the driver says.
# Every step has a time limit and none stops the next. Exit code: the number of steps that failed.
set -u
[ $# -eq 1 ] || { echo "usage: $0 OUTDIR" >&2; exit 2; }
out="$(mkdir -p "$1" && cd "$1" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="${BUILD:-build/cuda}"
small="tests/golden/data/hd72.safetensors"
failed=0
: >"$out/summary.txt"

say() { echo "$*" | tee -a "$out/summary.txt"; }
# step NAME SECONDS COMMAND...: its log, its exit code and its wall time
step() {
  local name="$1" limit="$2" begin code
  shift 2
  begin=$(date +%s)
  timeout --kill-after=10 "$limit" "$@" >"$out/$name.log" 2>&1
  code=$?
  [ $code -eq 0 ] || failed=$((failed + 1))
  say "$(printf '%-28s exit %3d  %4d s  %s' "$name" $code $(($(date +%s) - begin)) "$name.log")"
}
have() { command -v "$1" >/dev/null 2>&1; }
missing() { say "$(printf '%-28s skipped: %s' "$1" "$2")"; }

say "profile_check of $(git rev-parse --short HEAD 2>/dev/null || echo unknown) in $build"
step machine 30 nvidia-smi -q -d CLOCK,POWER,PERFORMANCE,ECC,UTILIZATION
gpu="${GPU:-$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)}"
say "GPU: ${gpu:-none}"

# The tests that need a GPU, and the record of what ptxas said.
step gpu_tests 300 ctest --test-dir "$build" -L gpu --output-on-failure --timeout 240
step kernel_resources 60 python3 scripts/kernel_resources.py "$build/kernels" --arch sm_86 --sass

# A whole DiT-XL/2.
model="${MODEL:-}"
if [ -z "$model" ] && python3 -c 'import torch' 2>/dev/null; then
  model="$out/../xl2.safetensors"
  [ -f "$model" ] || step synthetic_xl2 120 python3 scripts/peers/synthetic_dit.py "$model"
fi
profile() { # NAME IMAGES PRECISION
  step "$1" 90 "$build/bin/dit-ar" --json profile --model "$model" --device cuda --precision "$3" \
    --images "$2" --guidance 4 --model-of "$gpu"
  python3 - "$out/$1.log" <<'PY' | tee -a "$out/summary.txt"
import json, sys
text = open(sys.argv[1]).read()
try:
    measured = json.loads(text[text.index("{"):])["measured"]
    total = sum(group["ms"] for group in measured["groups"])
    print(f"  step {measured['step_ms']:.4f} ms, groups {total:.4f} ms, method {measured['method']}")
    for group in measured["groups"]:
        print(f"    {group['ms']:9.4f} ms {group['percent_of_roofline']:6.1f} %  {group['name']}")
except (ValueError, KeyError) as error:
    print("  no profile in", sys.argv[1], repr(error))
PY
}
if [ -n "$model" ] && [ -f "$model" ]; then
  profile profile_b2_fp16 1 fp16
  profile profile_b32_fp16 16 fp16
  profile profile_b2_fp32 1 fp32
  step profile_text 90 "$build/bin/dit-ar" profile --model "$model" --device cuda --precision fp16 \
    --images 1 --guidance 4 --model-of "$gpu"
else
  missing profile_xl2 "no checkpoint; set MODEL, or run where PyTorch is"
fi
step profile_small 60 "$build/bin/dit-ar" profile --model "$small" --device cuda --precision fp16
step model_of_a5500 30 "$build/bin/dit-ar" profile --model-of "NVIDIA RTX A5500" --image 256 --batch 2

# The same kernels through other profilers.
bench=("$build/bin/dit-worker" bench --model "${model:-$small}" --device cuda --precision fp16
  --images 1 --guidance 4 --steps 10 --requests 3 --warmup 2)
if have nsys; then
  step nsys 120 nsys profile --force-overwrite true --cuda-graph-trace=node --trace cuda,nvtx \
    --output "$out/nsys" "${bench[@]}"
  step nsys_kernels 60 nsys stats --report cuda_gpu_kern_sum --format csv "$out/nsys.nsys-rep"
else
  missing nsys "not on the path"
fi
if have ncu; then
  step ncu 180 ncu --target-processes all --graph-profiling node --launch-skip 400 --launch-count 200 \
    --section SpeedOfLight --csv "${bench[@]}"
else
  missing ncu "not on the path"
fi

# A small model under the sanitizer; which kernels read what nothing seen wrote.
if have compute-sanitizer; then
  for tool in memcheck initcheck; do
    step "sanitizer_$tool" 240 compute-sanitizer --tool "$tool" --print-limit 2000 \
      --error-exitcode 9 "$build/bin/dit-worker" bench --model "$small" --device cuda \
      --precision fp32 --images 1 --steps 2 --requests 1 --warmup 0
    grep -oE 'at [A-Za-z_:]+[a-z0-9_]*_kernel|at [a-z0-9_]*(gemm|cutlass|xmma)[a-zA-Z0-9_]*' \
      "$out/sanitizer_$tool.log" | sort | uniq -c | sort -rn | head -n 12 | tee -a "$out/summary.txt"
  done
else
  missing compute-sanitizer "not on the path"
fi
say "$failed steps failed"
exit $failed
