#!/usr/bin/env python3
"""One denoiser forward of DiT-XL/2 on a GPU: this engine beside PyTorch, and the floor of both.

    python3 scripts/peers/gpu_forward.py --bench build/cuda/bin/dit-bench-gpu --json FILE
        [--cases 256:2,256:32,512:2,512:8] [--rounds 10] [--no-compile] [--tune]

Peers: eager, eager in a CUDA graph, torch.compile(max-autotune, fullgraph). Floor: this shape's four
GEMMs of each block (PyTorch's, through cuBLAS) and the fastest scaled_dot_product_attention backend,
28 times, in a graph, nothing else. Ours: the recorded step with the modulations of the request's steps
ready ("ours", which pays 1/50 of computing them: "ours + 1/50") and with them computed inside. All hold
the same FP16 weights and inputs and take turns within each round; outputs are compared first. Times are
medians of CUDA events, in microseconds. Prints one table; --json keeps every median and the GPU's name.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/peers"))
from gpu_files import position_table, read_safetensors, write_safetensors  # noqa: E402
from torch_dit import TorchDit  # noqa: E402

HIDDEN, HEADS, DEPTH, MLP = 1152, 16, 28, 4608
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
            "cudnn": SDPBackend.CUDNN_ATTENTION, "math": SDPBackend.MATH}


class Engine:
    """dit-bench-gpu, one line of JSON for each command."""

    def __init__(self, bench, model, inputs):
        self.process = subprocess.Popen([bench, str(model), str(inputs), "fp16", "-"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("dit-bench-gpu ended; its message is above")
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return next(iter(self.read().values()))

    def close(self):
        self.process.communicate("quit\n", timeout=30)


def in_graph(call):
    """`call` recorded as a CUDA graph; gives a function that replays it and keeps what `call` uses."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()

    def replay(held=call):
        graph.replay()
    return replay


def timed(call, count):
    call()
    out = []
    for _ in range(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        out.append(1e3 * begin.elapsed_time(end))
    return out


def attention_backends(batch, tokens):
    """Microseconds of one attention per backend that runs, each 20 times in a graph."""
    qkv = torch.randn(batch, tokens, 3, HEADS, HIDDEN // HEADS, device="cuda", dtype=torch.float16)
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    calls = {}
    for name, backend in BACKENDS.items():
        def call(backend=backend, q=q, k=k, v=v):
            with sdpa_kernel(backend):
                for _ in range(20):
                    F.scaled_dot_product_attention(q, k, v)
        try:
            calls[name] = in_graph(call)
        except RuntimeError as error:
            print(f"sdpa {name} does not run here: {str(error).splitlines()[0][:90]}", file=sys.stderr)
    return calls


def floor_call(batch, tokens, backend):
    rows = batch * tokens
    shapes = [(HIDDEN, 3 * HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, MLP), (MLP, HIDDEN)]
    half = dict(device="cuda", dtype=torch.float16)
    weights = [[torch.randn(n, k, **half) * k ** -0.5 for k, n in shapes] for _ in range(DEPTH)]
    biases = [torch.randn(n, **half) for _, n in shapes]
    inputs = [torch.randn(rows, k, **half) for k, _ in shapes]
    qkv = torch.randn(batch, tokens, 3, HEADS, HIDDEN // HEADS, **half)
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)

    def call():
        with sdpa_kernel(backend):
            for block in weights:
                for x, w, b in zip(inputs, block, biases):
                    F.linear(x, w, b)
                F.scaled_dot_product_attention(q, k, v)
    return in_graph(call)


def measure(size, batch, args, folder):
    side = size // 8
    tokens = (side // 2) ** 2
    path = folder / f"xl2-{size}.safetensors"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "scripts/peers/synthetic_dit.py", path, "--latent",
                        str(side)], check=True)
    state = {name: tensor.float() for name, tensor in read_safetensors(path).items()}
    state["pos_embed"] = position_table(HIDDEN, side // 2)[None]
    module = TorchDit(state, HEADS).eval()
    freqs = module.freqs.cuda()  # timesteps keep FP32, as a user of FP16 does
    module = module.half().cuda()
    module.freqs = freqs
    x = torch.randn(batch, 4, side, side, generator=torch.Generator().manual_seed(1))
    y = (torch.arange(batch) * 37 % 1000).int()
    inputs = folder / "inputs.safetensors"
    write_safetensors(inputs, {"x": x, "t": torch.tensor([500], dtype=torch.int32), "y": y})
    gx, gt, gy = x.half().cuda(), torch.full((batch,), 500, device="cuda"), y.long().cuda()
    engine = Engine(args.bench, path, inputs)
    if args.tune:
        engine.ask(f"tune {folder / 'table'}")
    engine.ask(f"output {folder / 'out.safetensors'}")
    ours = read_safetensors(folder / "out.safetensors")["out"].double()

    def forward():
        return module(gx, gt, gy)

    exact = TorchDit(state, HEADS).eval().cuda()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    truth = exact(gx.float(), gt, gy).double().cpu()
    del exact
    errors = {"ours": ((ours - truth).norm() / truth.norm()).item(),
              "eager": ((forward().double().cpu() - truth).norm() / truth.norm()).item()}
    if max(errors.values()) > 5e-3:
        raise RuntimeError(f"{size} px B={batch}: outputs are off: {errors}")

    attention = attention_backends(batch, tokens)
    first = {name: statistics.median(timed(call, 20)) / 20 for name, call in attention.items()}
    best = min(first, key=first.get)
    calls = {"eager": forward, "graph": in_graph(forward),
             "floor": floor_call(batch, tokens, BACKENDS[best])}
    if not args.no_compile:
        compiled = torch.compile(forward, mode="max-autotune", fullgraph=True)
        for _ in range(3):
            compiled()
        calls["compile"] = compiled
    raw = {name: [] for name in ["ours", "inside", "own attention", *calls,
                                 *(f"sdpa {name}" for name in attention)]}
    for _ in range(args.rounds):
        torch.cuda.synchronize()
        raw["ours"] += engine.ask(f"step {args.count}")
        raw["inside"] += engine.ask(f"inside {args.count}")
        raw["own attention"] += engine.ask(f"attention {batch} {tokens} {HEADS} 72 {args.count}")
        for name, call in calls.items():
            raw[name] += timed(call, args.count)
        for name, call in attention.items():
            raw[f"sdpa {name}"] += [value / 20 for value in timed(call, args.count)]
    engine.close()
    medians = {name: statistics.median(values) for name, values in raw.items()}
    medians["ours + 1/50"] = medians["ours"] + (medians["inside"] - medians["ours"]) / 50
    print(f"{size} px B={batch}: " + "  ".join(f"{k} {v:.1f}" for k, v in medians.items()) +
          f"  | errors {errors['ours']:.1e} (eager {errors['eager']:.1e})", flush=True)
    return {"size": size, "batch": batch, "median_us": medians, "relative_l2": errors,
            "tuned": args.tune}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default=str(ROOT / "build/cuda/bin/dit-bench-gpu"))
    parser.add_argument("--cases", default="256:2,256:32,512:2,512:8")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--count", type=int, default=10, help="calls a round")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--tune", action="store_true", help="tune our GEMMs first")
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the checkpoints here")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    records = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
               "model": "DiT-XL/2 fp16, seeded random weights", "unit": "us", "cases": []}
    print(f"{records['gpu']}, torch {records['torch']}; microseconds, medians")
    with torch.inference_mode(), tempfile.TemporaryDirectory() as name:
        folder = args.folder or pathlib.Path(name)
        for case in args.cases.split(","):
            size, batch = map(int, case.split(":"))
            records["cases"].append(measure(size, batch, args, folder))
            if args.json:
                args.json.write_text(json.dumps(records, indent=1) + "\n")
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
