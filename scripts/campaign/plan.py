"""The cases of the campaign and how each changes the tree. Every change is a commit of its own."""

import pathlib
import random
import re

NO_OPS = 40
PLANTED = 20
GAIN = 1.03  # of each planted commit

WASTE = """// Work that the campaign plants and takes away again: a chain of dependent integer operations.
#pragma once

#include <cstdint>

namespace ditar {{

inline constexpr std::int64_t kPlantedRounds = {rounds};  // in every denoiser step

inline void planted_waste() {{
  std::uint64_t x = 1;
  for (std::int64_t i = 0; i < kPlantedRounds; ++i) {{
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    asm volatile("" : "+r"(x));
  }}
}}

}}  // namespace ditar
"""


def cases(seed):
    """Kinds in a drawn order; exactly half of each sort with a neighbour on the second core."""
    draw = random.Random(seed)
    kinds = ["padding"] * 18 + ["order"] * 8 + ["rename"] * 8 + ["comment"] * 6
    assert len(kinds) == NO_OPS
    out = []
    for sort in (kinds, ["planted"] * PLANTED):
        neighbours = [True, False] * (len(sort) // 2)
        draw.shuffle(neighbours)
        out += [
            {"number": 0, "kind": kind, "neighbour": noisy, "result": None}
            for kind, noisy in zip(sort, neighbours)
        ]
    draw.shuffle(out)
    for number, case in enumerate(out, 1):
        case["number"] = number
    return out


def plant(root, rounds):
    """Writes the waste of so many rounds; the first time also calls it from the engine's step."""
    (root / "worker/dit/planted_waste.h").write_text(WASTE.format(rounds=rounds))
    engine = root / "worker/dit/dit_engine.cc"
    text = engine.read_text()
    if "planted_waste" in text:
        return
    hook = "  if (k % knobs_.step_stride != 0) return;\n"
    if text.count(hook) != 1:
        raise SystemExit("campaign: DitEngine::step has changed; mend plant() in scripts/campaign/plan.py")
    text = text.replace(hook, hook + "  planted_waste();\n")
    engine.write_text('#include "planted_waste.h"\n' + text)


def rounds_at(level, seconds, steps, rounds_per_second):
    """Rounds a step that make a request of `seconds` take GAIN**level times as long."""
    return round(seconds * (GAIN**level - 1.0) / steps * rounds_per_second)


def pad(root, number):
    """Bytes that are never run, of another length each time: all code behind them moves."""
    source = root / "worker/dit/sampler_plan.cc"
    bytes_ = 16 * (1 + 37 * number % 251)
    source.write_text(
        f'asm(".text\\n.skip {bytes_}, 0x90\\n");  // padding {number}\n' + source.read_text()
    )


def reorder(root, number):
    """Another order of the engine's sources: the linker lays their functions out differently."""
    lists = root / "worker/dit/CMakeLists.txt"
    text = lists.read_text()
    block = re.search(r"ditar_engine STATIC\n((?:  \w+\.cc\n)*  \w+\.cc)\)", text)
    if block is None:
        raise SystemExit("campaign: worker/dit/CMakeLists.txt has changed; mend reorder()")
    lines = block.group(1).split("\n")
    random.Random(number).shuffle(lines)
    lists.write_text(text.replace(block.group(1), "\n".join(lines)))


def rename(root, number):
    """Another name for a function that several files share."""
    for source in sorted((root / "worker/dit").glob("*.[ch]*")):
        text = source.read_text()
        renamed = re.sub(r"\bposition_table\(", f"position_table_{number}(", text)
        if renamed != text:
            source.write_text(renamed)


def comment(root, number):
    """A remark: the same program, which is to be refused before it is timed."""
    source = root / "worker/dit/sampler_plan.cc"
    source.write_text(f"// Remark {number}.\n" + source.read_text())


NO_OP_CHANGES = {"padding": pad, "order": reorder, "rename": rename, "comment": comment}


def change(root, case, planted_rounds):
    if case["kind"] == "planted":
        plant(root, planted_rounds)
    else:
        NO_OP_CHANGES[case["kind"]](pathlib.Path(root), case["number"])
