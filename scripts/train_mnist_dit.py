#!/usr/bin/env python3
"""Trains the shipped MNIST models: the judge with its reference statistics, and a DiT.

    scripts/train_mnist_dit.py --data DIR --out DIR judge
    scripts/train_mnist_dit.py --data DIR --out DIR dit --config mnist --judge DIR/mnist-judge.safetensors
    scripts/train_mnist_dit.py --data DIR --out DIR evaluate --config mnist --weights FILE --judge FILE

DIR holds the four gzip IDX files of MNIST. Each step writes a safetensors file (official DiT key
names) and a JSON record beside it: how it was trained, on what device, and what it scores. Needs
PyTorch, NumPy and safetensors; minutes on a GPU, many hours on a CPU.
"""

import argparse
import copy
import json
import math
import pathlib
import time

import numpy as np
import torch
from mnist import data, diffusion
from mnist import judge as judges
from mnist.dit import CONFIGS, Dit
from safetensors.torch import load_file, save_file

TRAIN_COUNT = 55000  # the last 5,000 training images are held out for the judge
TABLE = [(10, 1.5), (20, 1.0), (20, 1.5), (20, 2.0), (50, 1.5)]


def to_pixels(images, device):
    return torch.tensor(images, device=device).float()[:, None] / 127.5 - 1


def device_name(device):
    return torch.cuda.get_device_name() if device == "cuda" else "cpu"


def save(path, tensors, metadata, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
    save_file(tensors, path, metadata={k: str(v) for k, v in metadata.items()})
    path.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"wrote {path}", flush=True)


def load_judge(path, device):
    tensors = load_file(path)
    reference = tensors.pop("reference.mu").numpy(), tensors.pop("reference.cov").numpy()
    judge = judges.Judge()
    judge.load_state_dict(tensors)
    return judge.to(device).eval(), reference


def run_judge(args, device):
    images, labels = data.load(args.data, "train")
    x, y = to_pixels(images, device), torch.tensor(labels, device=device)
    test_images, test_labels = data.load(args.data, "t10k")
    tx, ty = to_pixels(test_images, device), torch.tensor(test_labels, device=device)
    judge = judges.train(x[:TRAIN_COUNT], y[:TRAIN_COUNT], args.epochs, args.seed, device)
    judges.normalise(judge, tx)
    mu, cov = judges.statistics(judge, tx)
    own = judges.frechet(*judges.statistics(judge, x[:4000]), mu, cov)
    record = {
        "script": "scripts/train_mnist_dit.py judge", "seed": args.seed, "epochs": args.epochs,
        "device": device_name(device), "torch": torch.__version__,
        "features": "scaled to a total variance of 256 over the test images",
        "accuracy_heldout": judges.accuracy(judge, x[TRAIN_COUNT:], y[TRAIN_COUNT:]),
        "accuracy_test": judges.accuracy(judge, tx, ty),
        "frechet_first_4000_training_images": own,
        "data": "MNIST (Y. LeCun, C. Cortes, C. J. C. Burges), CC BY-SA 3.0",
    }
    print(json.dumps(record), flush=True)
    tensors = judge.state_dict() | {"reference.mu": torch.tensor(mu), "reference.cov": torch.tensor(cov)}
    save(args.out / "mnist-judge.safetensors", tensors, {"kind": "mnist-judge"}, record)


def load_dit(path, config, device):
    model = Dit(**CONFIGS[config])
    model.load_state_dict({k: v.float() for k, v in load_file(path).items()})
    return model.to(device).eval()


def draw_noise(count, seed, device):
    return torch.randn(count, 1, 28, 28, generator=torch.Generator().manual_seed(seed)).to(device)


def evaluate(model, judge, reference, noise):
    """Rows of accuracy and Frechet distance over the table of steps and guidance, each from the same
    noise (count, 1, 28, 28); image i has label i mod classes."""
    schedule = diffusion.Schedule(noise.device)
    label = torch.arange(len(noise), device=noise.device) % model.classes
    rows = []
    for steps, guidance in TABLE:
        images = torch.cat([
            diffusion.ddim_sample(model, schedule, x, y, steps, guidance)
            for x, y in zip(noise.split(500), label.split(500))
        ])
        rows.append({
            "steps": steps, "guidance": guidance,
            "accuracy": judges.accuracy(judge, images, label),
            "frechet": judges.frechet(*judges.statistics(judge, images), *reference),
        })
        print(rows[-1], flush=True)
    return rows


def run_dit(args, device):
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    images, labels = data.load(args.data, "train")
    x, y = to_pixels(images[:TRAIN_COUNT], device), torch.tensor(labels[:TRAIN_COUNT], device=device)
    config = CONFIGS[args.config]
    model = Dit(**config).to(device)
    if args.init:
        model.load_state_dict({k: v.float() for k, v in load_file(args.init).items()})
    average = copy.deepcopy(model).requires_grad_(False)
    schedule = diffusion.Schedule(device)
    optimiser = torch.optim.AdamW(model.parameters(), args.rate, weight_decay=0.0, fused=device == "cuda")
    parameters, averages = list(model.parameters()), list(average.parameters())
    if device == "cuda":
        loss_of = torch.compile(diffusion.hybrid_loss)
    else:
        loss_of = diffusion.hybrid_loss
    start, step = time.monotonic(), 0
    while step < args.steps and time.monotonic() - start < 60 * args.minutes:
        # Progress counts against whichever budget ends first, so the rate always decays to its floor.
        spent = max(step / args.steps, (time.monotonic() - start) / (60 * args.minutes))
        warm = min(1.0, (step + 1) / 500)
        rate = args.rate * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, spent))))
        for group in optimiser.param_groups:
            group["lr"] = rate
        index = torch.randint(0, len(x), (args.batch,), device=device)
        t = torch.randint(0, diffusion.STEPS, (args.batch,), device=device)
        drop = torch.rand(args.batch, device=device) < args.label_dropout
        label = torch.where(drop, torch.full_like(y[index], config["classes"]), y[index])
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = loss_of(model, schedule, x[index], label, t, torch.randn_like(x[index]))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        decay = min(args.ema, (1 + step) / (10 + step))
        torch._foreach_lerp_(averages, parameters, 1 - decay)
        step += 1
        if step % 1000 == 0:
            print(f"step {step} loss {loss.item():.4f} rate {rate:.2e} "
                  f"{time.monotonic() - start:.0f} s", flush=True)
    average.eval()
    torch.backends.cuda.matmul.allow_tf32 = False
    stored = {k: v if k == "pos_embed" else v.half() for k, v in average.state_dict().items()}
    average.load_state_dict({k: v.float() for k, v in stored.items()})  # what is scored is what ships
    judge, reference = load_judge(args.judge, device)
    record = {
        "script": f"scripts/train_mnist_dit.py dit --config {args.config}", "config": config,
        "seed": args.seed, "init": str(args.init) if args.init else None, "steps": step,
        "batch": args.batch, "rate": args.rate, "ema": args.ema,
        "label_dropout": args.label_dropout, "schedule": "linear 1e-4..2e-2, 1000 steps", "loss": "noise MSE + bound",
        "stored_as": "float16 (pos_embed float32); the table is of the stored weights",
        "parameters": sum(p.numel() for p in averages), "seconds": round(time.monotonic() - start),
        "device": device_name(device), "torch": torch.__version__,
        "table_4000_images": evaluate(average, judge, reference, draw_noise(4000, 1, device)),
        "data": "MNIST (Y. LeCun, C. Cortes, C. J. C. Burges), CC BY-SA 3.0; first 55,000 images",
    }
    metadata = {"layout": "official", "heads": config["heads"], "training_steps": step}
    save(args.out / f"{args.config}-dit.safetensors".replace("hd72-dit", "dit-hd72"),
         stored, metadata, record)


def run_evaluate(args, device):
    judge, reference = load_judge(args.judge, device)
    model = load_dit(args.weights, args.config, device)
    evaluate(model, judge, reference, draw_noise(args.count, args.seed, device))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of MNIST's IDX files")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--seed", type=int, default=0)
    what = parser.add_subparsers(dest="what", required=True)
    judge = what.add_parser("judge")
    judge.add_argument("--epochs", type=int, default=12)
    dit = what.add_parser("dit")
    dit.add_argument("--steps", type=int, default=30000)
    dit.add_argument("--minutes", type=float, default=60.0, help="stop training after this long")
    dit.add_argument("--batch", type=int, default=512)
    dit.add_argument("--rate", type=float, default=1e-3)
    dit.add_argument("--ema", type=float, default=0.9995)
    dit.add_argument("--label-dropout", type=float, default=0.1, help="share of samples trained unlabelled")
    dit.add_argument("--init", type=pathlib.Path, help="weights to go on from")
    check = what.add_parser("evaluate")
    check.add_argument("--weights", type=pathlib.Path, required=True)
    check.add_argument("--count", type=int, default=4000)
    for sub in (dit, check):
        sub.add_argument("--config", choices=sorted(CONFIGS), default="mnist")
        sub.add_argument("--judge", type=pathlib.Path, required=True)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    {"judge": run_judge, "dit": run_dit, "evaluate": run_evaluate}[args.what](args, device)


if __name__ == "__main__":
    main()
