#!/usr/bin/env python3
"""Makes the judge table that the engine must reproduce: accuracy and Frechet distance of the shipped
MNIST pair in PyTorch, FP32, from the engine's own Philox noise.

    python3 scripts/golden/make_judge_table.py --dit config/models/mnist-dit.safetensors \\
        --judge config/models/mnist-judge.safetensors --out tests/golden/data/judge_table.json

Needs torch, numpy and safetensors alone. Minutes on a CUDA device, an hour or two on a CPU. To be
made anew whenever the weights or the judge change; judge_table_test compares their SHA-256.
"""

import argparse
import hashlib
import json
import pathlib
import sys

import torch

import philox

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from train_mnist_dit import device_name, evaluate, load_dit, load_judge  # noqa: E402

SEED = 20260


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def keep_fp32():
    """No TF32, and attention as written: convolutions of a CUDA device round to TF32 by default."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dit", type=pathlib.Path, required=True, help="weights, official layout")
    parser.add_argument("--judge", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="JSON file to write")
    parser.add_argument("--count", type=int, default=4000, help="images per row (default 4000)")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    keep_fp32()
    philox.check_known_answers()
    noise = philox.normals(SEED, args.count, 28 * 28)
    model = load_dit(args.dit, "mnist", device)
    judge, reference = load_judge(args.judge, device)
    start = torch.from_numpy(noise).view(-1, 1, 28, 28).to(device)
    record = {
        "script": "scripts/golden/make_judge_table.py",
        "count": args.count, "seed": SEED, "noise_sha256": sha256(noise.tobytes()),
        "dit_sha256": sha256(args.dit.read_bytes()), "judge_sha256": sha256(args.judge.read_bytes()),
        "device": device_name(device), "torch": torch.__version__,
        "rows": evaluate(model, judge, reference, start),
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
