#!/usr/bin/env python3
"""Makes the golden data of tests/golden from independent FP64 references.

    python scripts/golden/make_goldens.py [--mnist config/models/mnist-dit.safetensors]
                                          [--out tests/golden/data] [--only tables,official,...]

Needs torch, diffusers, numpy and safetensors. Everything is made anew and is the same on every run
with the same library versions (to the last bits of FP64).
"""

import argparse
import hashlib
import json
import pathlib
import shutil

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import load_file, save_file

import diffusers_reference
import reference_sampler as rs
from reference_dit import ReferenceDit, random_state

ROOT = pathlib.Path(__file__).resolve().parents[2]


def save(path, tensors, metadata=None):
    tensors = {k: v.contiguous() for k, v in tensors.items()}
    save_file(tensors, path, {k: str(v) for k, v in (metadata or {}).items()})
    print(f"{path.name}: {path.stat().st_size} bytes")


def normal(seed, *shape):
    """FP32 values, so that the engine's FP32 face gets them exactly."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def make_tables(out):
    betas = np.linspace(1e-4, 2e-2, 1000, dtype=np.float64)
    tensors = {"betas": betas, "alpha_bars": rs.alpha_bars()}
    for text in ["1", "2", "10", "25", "50", "250", "1000", "10,15,20", "ddim10", "ddim25",
                 "ddim50", "ddim250"]:
        tensors["respaced." + text] = np.array(rs.respaced(text), dtype=np.int32)
    for steps in [1, 2, 5, 10, 20, 50, 250, 1000]:
        spaced = np.linspace(0, 999, steps).round()[::-1] if steps > 1 else np.array([999])
        tensors[f"ddim_timesteps.{steps}"] = spaced.astype(np.int32)
    g = np.random.default_rng(11)
    schedules = {"even": list(rs.respaced("6"))[::-1], "uneven": [999, 700, 650, 13, 1, 0],
                 "pair": [640, 320], "single": [500]}
    for name, timesteps in schedules.items():
        s = len(timesteps)
        x, eps, v, z, history = (g.standard_normal((s, 8)) for _ in range(5))
        tensors |= {f"step.{name}.timesteps": np.array(timesteps, dtype=np.int32),
                    f"step.{name}.x": x, f"step.{name}.eps": eps, f"step.{name}.v": v,
                    f"step.{name}.noise": z, f"step.{name}.history": history}
        tensors[f"step.{name}.ddim"] = np.stack(
            [rs.ddim_step(x[k], eps[k], z[k], timesteps, k, 0.0) for k in range(s)])
        tensors[f"step.{name}.ddim_eta"] = np.stack(
            [rs.ddim_step(x[k], eps[k], z[k], timesteps, k, 0.7) for k in range(s)])
        if s > 1:
            tensors[f"step.{name}.ddpm"] = np.stack(
                [rs.ddpm_step(x[k], eps[k], v[k], z[k], timesteps, k) for k in range(s)])
            tensors[f"step.{name}.ddpm_fixed"] = np.stack(
                [rs.ddpm_step(x[k], eps[k], v[k], z[k], timesteps, k, False) for k in range(s)])
        pairs = [rs.dpmpp_step(x[k], eps[k], history[k], timesteps, k) for k in range(s)]
        tensors[f"step.{name}.dpmpp"] = np.stack([p[0] for p in pairs])
        tensors[f"step.{name}.dpmpp_x0"] = np.stack([p[1] for p in pairs])
    save_numpy(tensors, out / "tables.safetensors")


def official_trajectory(model, x, labels, null, timesteps, sampler, guidance, guided_channels,
                        noise):
    """The published sampling loop: both branches from one state, guidance on some channels."""
    n, channels = x.shape[0], x.shape[1]
    x, history = x.double(), None
    for k, t in enumerate(timesteps):
        out = model.forward(torch.cat([x, x]), torch.full((2 * n,), t),
                            torch.cat([labels, torch.full((n,), null)]))
        cond, uncond = out[:n], out[n:]
        eps = cond[:, :channels].clone()
        g = guided_channels or channels
        eps[:, :g] = uncond[:, :g] + guidance * (cond[:, :g] - uncond[:, :g])
        xs, es = x.numpy(), eps.numpy()
        z = noise[k].double().numpy() if noise is not None else np.zeros_like(xs)
        if sampler == "ddim":
            x = rs.ddim_step(xs, es, z, timesteps, k, 0.0)
        elif sampler == "ddpm":
            x = rs.ddpm_step(xs, es, cond[:, channels:].numpy(), z, timesteps, k)
        else:
            x, history = rs.dpmpp_step(xs, es, history, timesteps, k)
        x = torch.from_numpy(np.ascontiguousarray(x))
    return x


def official_golden(model, null, seed, runs, images=2):
    """Single forwards at scattered timesteps and whole trajectories."""
    n = 4
    x = normal(seed, n, model.channels, model.height, model.width)
    t = torch.tensor([999, 500, 21, 0])
    y = torch.tensor([0, null, null - 1, 1])
    tensors = {"forward.x": x, "forward.t": t.int(), "forward.y": y.int(),
               "forward.out": model.forward(x, t, y)}
    labels = torch.arange(images) % null
    start = normal(seed + 1, images, model.channels, model.height, model.width)
    for name, (sampler, timesteps, guidance, guided_channels) in runs.items():
        noise = normal(seed + 2, len(timesteps), *start.shape) if sampler == "ddpm" else None
        final = official_trajectory(model, start, labels, null, timesteps, sampler, guidance,
                                    guided_channels, noise)
        tensors |= {f"run.{name}.timesteps": torch.tensor(timesteps).int(),
                    f"run.{name}.scalars": torch.tensor([guidance, guided_channels]).double(),
                    f"run.{name}.final": final}
        if noise is not None:
            tensors[f"run.{name}.noise"] = noise
    return tensors | {"run.labels": labels.int(), "run.start": start}


RUNS = {"ddim": ("ddim", rs.respaced("5")[::-1], 1.5, 0),
        "ddim3": ("ddim", [900, 400, 30], 4.0, 3),
        "ddpm": ("ddpm", rs.respaced("4")[::-1], 1.5, 0),
        "dpmpp2m": ("dpmpp2m", rs.respaced("5")[::-1], 1.5, 0)}


def make_official(out):
    cases = {
        "hd72": (dict(hidden=72, depth=2, channels=4, patch=2, classes=10, out_channels=8,
                      mlp_hidden=144, seed=1), 1, 8, 8, torch.bfloat16),
        "p4": (dict(hidden=32, depth=2, channels=4, patch=4, classes=5, out_channels=8,
                    mlp_hidden=128, seed=2), 2, 16, 16, torch.float16),
        "p8rect": (dict(hidden=32, depth=1, channels=4, patch=8, classes=7, out_channels=4,
                        mlp_hidden=128, seed=3), 4, 16, 32, torch.float32)}
    for name, (sizes, heads, height, width, dtype) in cases.items():
        state = {k: v.to(dtype) for k, v in random_state(**sizes).items()}
        save(out / f"{name}.safetensors", state,
             {"heads": heads, "height": height, "width": width})
        model = ReferenceDit(state, heads, height, width)
        runs = {k: v for k, v in RUNS.items()
                if sizes["out_channels"] == 8 or not k.startswith("ddpm")}
        save(out / f"{name}.golden.safetensors",
             official_golden(model, sizes["classes"], 10 * sizes["seed"], runs))


def make_mnist(out, path):
    with safe_open(path, "pt") as f:
        heads = int((f.metadata() or {}).get("heads", 4))
    model = ReferenceDit(load_file(path), heads, 28, 28)
    runs = {"ddim": ("ddim", rs.respaced("10")[::-1], 1.5, 0),
            "ddpm": ("ddpm", rs.respaced("4")[::-1], 1.5, 0),
            "dpmpp2m": ("dpmpp2m", rs.respaced("8")[::-1], 1.5, 0)}
    digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    save(out / "mnist.golden.safetensors", official_golden(model, 10, 100, runs),
         {"model_sha256": digest})


def write_shards(folder, state):
    """Two fp16 shards and their index, under the spelling that diffusers itself writes."""
    names = sorted(state)
    parts = [names[::2], names[1::2]]
    weight_map = {}
    for i, part in enumerate(parts):
        file = f"diffusion_pytorch_model.fp16-0000{i + 1}-of-00002.safetensors"
        save(folder / file, {k: state[k].half() for k in part})
        weight_map |= {k: file for k in part}
    index = {"metadata": {"total_size": 2 * sum(v.numel() for v in state.values())},
             "weight_map": weight_map}
    (folder / "diffusion_pytorch_model.safetensors.index.fp16.json").write_text(
        json.dumps(index, indent=1, sort_keys=True) + "\n")


def make_diffusers(out):
    for name, differ in [("diffusers", False), ("diffusers-per-block", True)]:
        folder = out / name / "transformer"
        shutil.rmtree(out / name, ignore_errors=True)
        folder.mkdir(parents=True)
        model = diffusers_reference.make_model(seed=4 + differ, differ=differ)
        model.save_config(folder)
        state = model.state_dict()
        if differ:
            write_shards(folder, state)
        else:
            save(folder / "diffusion_pytorch_model.safetensors",
                 {k: v.half() for k, v in state.items()})
        model = diffusers_reference.to_fp64(model)
        x, start = normal(41, 3, 4, 8, 8), normal(42, 2, 4, 8, 8)
        t, y, labels = torch.tensor([999, 250, 0]), torch.tensor([3, 10, 0]), torch.tensor([1, 9])
        tensors = {"forward.x": x, "forward.t": t.int(), "forward.y": y.int(),
                   "forward.out": diffusers_reference.forward(model, x, t, y),
                   "run.labels": labels.int(), "run.start": start}
        for run, sample in [("ddim", diffusers_reference.ddim),
                            ("dpmpp2m", diffusers_reference.dpmpp)]:
            final, timesteps = sample(model, start.double(), labels, 5, 4.0)
            tensors |= {f"run.{run}.final": final,
                        f"run.{run}.timesteps": torch.tensor(timesteps).int(),
                        f"run.{run}.scalars": torch.tensor([4.0, 0.0]).double()}
        save(out / f"{name}.golden.safetensors", tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mnist", default=ROOT / "config/models/mnist-dit.safetensors")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests/golden/data")
    parser.add_argument("--only", default="tables,official,diffusers,mnist")
    args = parser.parse_args()
    torch.set_num_threads(2)
    args.out.mkdir(parents=True, exist_ok=True)
    for part in args.only.split(","):
        if part == "mnist":
            make_mnist(args.out, args.mnist)
        else:
            {"tables": make_tables, "official": make_official,
             "diffusers": make_diffusers}[part](args.out)


if __name__ == "__main__":
    main()
