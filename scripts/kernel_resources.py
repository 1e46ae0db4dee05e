#!/usr/bin/env python3
"""Prints registers, shared memory, spills and register-bound occupancy of each CUDA kernel of a build.

Usage: scripts/kernel_resources.py BUILD_FOLDER [--arch sm_86] [--sass]
       (--sass: list the opcodes of the tensor-core attention too, where cuobjdump is found)
Exit codes: 0 within the limits; 1 a kernel spills, or needs more than an SM of the A5500 has; 2 no
record of ptxas is there (build the cuda preset first).

The records are what ptxas -v said when the objects were compiled (scripts/cmake/record_ptxas.sh).
Shared memory is the static part; the dynamic part of the attention is bounded by a static_assert.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

SM_REGISTERS, SM_THREADS, SM_BLOCKS, MAX_SHARED = 65536, 1536, 16, 99 * 1024  # compute capability 8.6
COMPILING = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
OPCODES = ("HMMA", "LDSM", "LDGSTS")


def kernels(folder, arch):
    for path in sorted(folder.rglob("*.cu.o.ptxas")):
        name = stack = spill = None
        for line in path.read_text().splitlines():
            if match := COMPILING.search(line):
                name = match.group(1) if match.group(2) == arch else None
            elif match := FRAME.search(line):
                stack, spill = int(match.group(1)), int(match.group(2)) + int(match.group(3))
            elif (match := USED.search(line)) and name:
                shared = SHARED.search(line)
                yield path, name, int(match.group(1)), int(shared.group(1)) if shared else 0, stack, spill
                name = None


def demangled(names):
    tool = shutil.which("c++filt")
    if tool is None:
        return names
    text = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True, check=True)
    short = [line.replace("ditar::cuda::", "").replace("(anonymous namespace)::", "")
             for line in text.stdout.splitlines()]
    return [re.sub(r"^void ", "", re.sub(r"\(.*$", "", line)) for line in short]


def print_sass(folder):
    tool = shutil.which("cuobjdump")
    if tool is None:
        print("sass: skipped, no cuobjdump is on the path")
        return True
    complete = True
    for path in sorted(folder.rglob("flash_d*.cu.o")):
        text = subprocess.run([tool, "--dump-sass", str(path)], capture_output=True, text=True).stdout
        counts = {opcode: len(re.findall(rf"\b{opcode}\b", text)) for opcode in OPCODES}
        print(f"sass: {path.name}: {counts}")
        complete &= all(counts.values())
    return complete


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_86")
    parser.add_argument("--sass", action="store_true")
    options = parser.parse_args()
    found = list(kernels(options.build, options.arch))
    if not found:
        print(f"kernel_resources: {options.build} holds no record of ptxas for {options.arch}; build "
              "the cuda preset for that architecture first", file=sys.stderr)
        return 2
    bad = []
    print(f"{'registers':>9} {'shared':>7} {'stack':>6} {'spill':>6} {'warps/SM':>8}  kernel")
    for (_, _, registers, shared, stack, spill), name in zip(
            found, demangled([name for _, name, *_ in found])):
        warps = min(SM_REGISTERS // (32 * -(-registers // 8) * 8), SM_THREADS // 32)
        print(f"{registers:>9} {shared:>7} {stack:>6} {spill:>6} {warps:>8}  {name}")
        if spill or shared > MAX_SHARED:
            bad.append(name)
    for name in bad:
        print(f"kernel_resources: {name} spills registers or needs too much shared memory",
              file=sys.stderr)
    return 1 if bad or (options.sass and not print_sass(options.build)) else 0


if __name__ == "__main__":
    sys.exit(main())
