#!/usr/bin/env python3
"""Writes a DiT checkpoint of the official layout with seeded random weights, for timing and for error
measurements where no trained checkpoint is at hand.

Usage: scripts/peers/synthetic_dit.py OUT.safetensors [--size XL] [--patch 2] [--latent 32]
       [--dtype f16] [--seed 0]

Gates are not zero and products keep the variance of their inputs, so every block changes the stream
as a trained one does: activations neither vanish nor grow without bound. Prints the file's SHA-256.
"""
import argparse
import hashlib
import json
import struct

import torch

SIZES = {"S": (384, 12, 6), "B": (768, 12, 12), "L": (1024, 24, 16), "XL": (1152, 28, 16)}
DTYPES = {"f32": ("F32", torch.float32), "f16": ("F16", torch.float16),
          "bf16": ("BF16", torch.bfloat16)}


def tensors(hidden, depth, patch, channels=4, classes=1000):
    """(name, shape, standard deviation of the weight) in the order of the file."""
    def linear(name, rows, columns, gain=1.0):
        yield name + ".weight", (rows, columns), gain * columns ** -0.5
        yield name + ".bias", (rows,), 0.02
    values = patch * patch * channels
    yield "x_embedder.proj.weight", (hidden, channels, patch, patch), values ** -0.5
    yield "x_embedder.proj.bias", (hidden,), 0.02
    yield from linear("t_embedder.mlp.0", hidden, 256)
    yield from linear("t_embedder.mlp.2", hidden, hidden)
    yield "y_embedder.embedding_table.weight", (classes + 1, hidden), 0.5
    for block in range(depth):
        prefix = f"blocks.{block}."
        yield from linear(prefix + "attn.qkv", 3 * hidden, hidden)
        yield from linear(prefix + "attn.proj", hidden, hidden)
        yield from linear(prefix + "mlp.fc1", 4 * hidden, hidden)
        yield from linear(prefix + "mlp.fc2", hidden, 4 * hidden)
        yield from linear(prefix + "adaLN_modulation.1", 6 * hidden, hidden, 0.7)
    yield from linear("final_layer.adaLN_modulation.1", 2 * hidden, hidden, 0.7)
    yield from linear("final_layer.linear", 2 * values, hidden)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out")
    parser.add_argument("--size", choices=SIZES, default="XL")
    parser.add_argument("--patch", type=int, default=2)
    parser.add_argument("--latent", type=int, default=32, help="height and width of the latents")
    parser.add_argument("--dtype", choices=DTYPES, default="f16")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    hidden, depth, heads = SIZES[options.size]
    name, dtype = DTYPES[options.dtype]
    width = torch.empty(0, dtype=dtype).element_size()
    header = {"__metadata__": {"heads": str(heads), "height": str(options.latent),
                               "width": str(options.latent), "seed": str(options.seed)}}
    offset = 0
    specs = list(tensors(hidden, depth, options.patch))
    for tensor, shape, _ in specs:
        size = torch.Size(shape).numel() * width
        header[tensor] = {"dtype": name, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    generator = torch.Generator().manual_seed(options.seed)
    with open(options.out, "wb") as file:
        for part in (struct.pack("<Q", len(text)), text):
            file.write(part)
            digest.update(part)
        for _, shape, deviation in specs:
            values = torch.randn(shape, generator=generator) * deviation
            part = values.to(dtype).contiguous().view(torch.uint8).numpy().tobytes()
            file.write(part)
            digest.update(part)
    print(f"{options.out}  sha256 {digest.hexdigest()}")


if __name__ == "__main__":
    main()
