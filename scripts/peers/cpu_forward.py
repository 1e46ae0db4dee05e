#!/usr/bin/env python3
"""One forward of a DiT on the CPU: this engine beside PyTorch eager and torch.compile.

    python scripts/peers/cpu_forward.py --bench build/cpu/bin/dit-bench-forward
        [--mnist config/models/mnist-dit.safetensors] [--threads 2] [--rounds 12] [--json FILE]

All three hold the same weights and inputs, use the same number of threads and take turns within
each round, in an order drawn anew; outputs are compared in the same run, and a peer or an engine
whose output is off gets no figure. Prints one line per case with medians and the ratio to the faster
peer; --json keeps the raw nanoseconds.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/golden"))
sys.path.insert(0, str(ROOT / "scripts/peers"))


class Engine:
    """The C++ side, one line of JSON for each command."""

    def __init__(self, bench, model, inputs, threads):
        env = os.environ | {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
        self.process = subprocess.Popen([bench, str(model), str(inputs), str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.hello = json.loads(self.process.stdout.readline())

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"dit-bench-forward ended at '{line}'")
        return json.loads(answer)

    def close(self):
        self.process.communicate("quit\n", timeout=20)


def relative_l2(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def time_calls(call, count):
    out = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        call()
        out.append(time.perf_counter_ns() - begin)
    return out


def measure(name, model_path, state, heads, batch, args, folder):
    import torch
    from safetensors.torch import load_file, save_file
    from reference_dit import ReferenceDit
    from torch_dit import TorchDit

    module = TorchDit(state, heads).eval()
    channels = state["x_embedder.proj.weight"].shape[1]
    side = int(state["pos_embed"].shape[1] ** 0.5) * module.patch
    classes = state["y_embedder.embedding_table.weight"].shape[0] - 1
    x = torch.randn(batch, channels, side, side, generator=torch.Generator().manual_seed(1))
    t, y = torch.full((batch,), 500), torch.arange(batch) % classes
    inputs = folder / f"{name}-{batch}.safetensors".replace("/", "-")
    save_file({"x": x, "t": t[:1].int(), "y": y.int()}, inputs)
    compiled = torch.compile(module)
    engine = Engine(args.bench, model_path, inputs, args.threads)

    peers = {"eager": lambda: module(x, t, y), "compile": lambda: compiled(x, t, y)}
    golden = ReferenceDit(state, heads, side, side).forward(x[:2], t[:2], y[:2])
    errors = {k: relative_l2(f()[:2], golden) for k, f in peers.items()}
    engine.ask("run 3")
    engine.ask(f"output {folder / 'out.safetensors'}")
    errors["ours"] = relative_l2(load_file(folder / "out.safetensors")["out"][:2], golden)
    wrong = {k: e for k, e in errors.items() if e > 2e-5}
    if wrong:
        raise RuntimeError(f"{name} batch {batch}: outputs are off: {wrong}")

    first = time_calls(peers["eager"], 3)[-1]
    count = max(1, min(200, int(args.slice_ms * 1e6 / first)))
    raw = {"ours": [], "eager": [], "compile": []}
    order = list(raw)
    engine.ask("phases")
    for _ in range(args.rounds):
        random.shuffle(order)
        for who in order:
            raw[who].append(engine.ask(f"run {count}")["forward_ns"] if who == "ours"
                            else time_calls(peers[who], count))
    phases = engine.ask("phases")
    engine.close()
    medians = {k: statistics.median(statistics.median(r) for r in v) / 1e6 for k, v in raw.items()}
    ratio = medians["ours"] / min(medians["eager"], medians["compile"])
    print(f"{name:10} batch {batch:4}: ours {medians['ours']:9.3f} ms  eager "
          f"{medians['eager']:9.3f}  compile {medians['compile']:9.3f}  ratio {ratio:.3f}  "
          f"errors {', '.join(f'{k} {e:.1e}' for k, e in errors.items())}", flush=True)
    total = sum(p["ms"] for p in phases.values())
    print("           " + "  ".join(f"{k.split('/')[-1]} {100 * p['ms'] / total:.1f} %"
                                     for k, p in phases.items()), flush=True)
    return {"case": name, "batch": batch, "threads": args.threads, "medians_ms": medians,
            "ratio_to_faster_peer": ratio, "relative_l2": errors, "phases": phases, "raw_ns": raw,
            "torch": torch.__version__, "instructions": engine.hello["instructions"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default=str(ROOT / "build/cpu/bin/dit-bench-forward"))
    parser.add_argument("--mnist", default=str(ROOT / "config/models/mnist-dit.safetensors"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--slice-ms", type=float, default=300.0)
    parser.add_argument("--cases", default="mnist:1,mnist:16,mnist:128,dit-s/2:1")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": str(args.threads), "OMP_WAIT_POLICY": "passive"}
    import torch
    from safetensors.torch import load_file, save_file
    from reference_dit import position_table, random_state
    torch.set_num_threads(args.threads)
    records = []
    with torch.inference_mode(), tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in args.cases.split(","):
            model, batch = case.split(":")
            if model == "mnist":
                path, heads = args.mnist, 4
                state = load_file(path)
            else:
                path, heads = folder / "dit-s-2.safetensors", 6
                state = random_state(hidden=384, depth=12, channels=4, patch=2, classes=1000,
                                     out_channels=8, mlp_hidden=1536, seed=1)
                state["pos_embed"] = position_table(384, 16, 16)[None]
                state = {k: v.float().contiguous() for k, v in state.items()}
                save_file(state, path)
            records.append(measure(model, path, state, heads, int(batch), args, folder))
    if args.json:
        args.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
