#!/usr/bin/env python3
"""Writes kernels/src/cuda/instances/flash_dN.cu, one tensor-core attention instance per head size.

Usage: scripts/generate_attention.py [--check]   (--check: exit 1 if a file differs)
"""
import pathlib
import sys

# head size: (keys a tile, warps and 16-row tiles a warp of the wide variant). Larger heads take 32
# keys so that two blocks fit an SM of sm_86 (99 KB), and one row tile a warp so that nothing spills.
INSTANCES = {32: (64, 4, 2), 64: (64, 4, 2), 72: (64, 4, 2), 80: (64, 4, 2), 96: (32, 8, 1),
             128: (32, 8, 1)}
TEXT = """// Written by scripts/generate_attention.py.
#include "cuda/flash_attention.cuh"
#include "cuda/flash_instances.h"

namespace ditar::cuda {{
void flash_attention_d{size}(DType dtype, AttentionTile tile, const AttentionLaunch& arguments,
{indent}cudaStream_t stream) {{
  launch_flash_of_size<{size}, {keys}, {warps}, {tiles}>(dtype, tile, arguments, stream);
}}
}}  // namespace ditar::cuda
"""


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "kernels/src/cuda/instances"
    check = sys.argv[1:] == ["--check"]
    for size, (keys, warps, tiles) in INSTANCES.items():
        path = folder / f"flash_d{size}.cu"
        indent = " " * len(f"void flash_attention_d{size}(")
        text = TEXT.format(size=size, indent=indent, keys=keys, warps=warps, tiles=tiles)
        if check and (not path.exists() or path.read_text() != text):
            sys.exit(f"{path} differs from its generator; run scripts/generate_attention.py")
        if not check:
            path.write_text(text)


if __name__ == "__main__":
    main()
