#!/usr/bin/env python3
"""Every split over every kind of link and every size, in one command: a table and a plot.

usage: scripts/topology/experiments.py --out FOLDER --model FILE [--model FILE ...] [--images 1,8]
           [--ranks 2] [--device cuda|cpu] [--precision fp16] [--build build/cuda] [--steps 50]
           [--requests 10] [--guidance 4] [--split cfg,tensor,...] [--limit SECONDS]

One model file per image size (a DiT makes one size). Links: "nvlink" leaves NCCL its choice, "p2p off"
sets NCCL_P2P_DISABLE=1 (through host memory, as between PCIe cards without peer access), "shm off" also
NCCL_SHM_DISABLE=1 (sockets, as between hosts). Each run is `mpirun -np RANKS dit-worker bench --json`,
which checks its output against one rank and every exchange byte by byte. The speed-up is against one
rank of the same job in the same call. On --device cpu NCCL's settings do nothing: that is a dry check
of the commands, and the table says so.

Writes FOLDER/results.json (everything), results.csv, table.md and plot.svg, and prints the table.
Exit code 0: every legal run was right; 1: one failed, was wrong or took longer than its limit."""

import argparse
import csv
import html
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPLITS = ("data", "cfg", "tensor", "ulysses", "ring", "pipeline")
LINKS = {
    "nvlink": {},
    "p2p off": {"NCCL_P2P_DISABLE": "1"},
    "shm off": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"},
}
REFUSALS = ("leaves ranks idle", "cannot be split over", "one branch only")
COLUMNS = ("model", "images", "split", "links", "state", "mean_ms", "speedup", "images_per_s", "sent_mb",
           "slowest_busbw_gb_per_s", "error", "why")
COLOURS = {"nvlink": "#1b7837", "p2p off": "#762a83", "shm off": "#bf812d"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--images", default="1,8")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--precision", default="")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--guidance", type=float, default=4.0)
    parser.add_argument("--split", default=",".join(SPLITS))
    parser.add_argument("--limit", type=int, default=600, help="seconds a run may take")
    options = parser.parse_args()
    options.images = [int(n) for n in options.images.split(",")]
    options.split = options.split.split(",")
    unknown = sorted(set(options.split) - set(SPLITS))
    if unknown or options.ranks < 2 or min(options.images) < 1:
        parser.error(f"--split takes {', '.join(SPLITS)} (not {unknown}), --ranks 2 or more, --images 1 or more")
    options.precision = options.precision or ("fp16" if options.device == "cuda" else "fp32")
    options.build = options.build or ROOT / "build" / ("cuda" if options.device == "cuda" else "cpu")
    return options


def bench(options, model, images, ranks, plan, environment):
    """The parsed report, or what went wrong as (state, why)."""
    command = [] if ranks == 1 else ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
    for name, value in environment.items():
        command += ["-x", f"{name}={value}"]
    command += [str(options.build / "bin" / "dit-worker"), "bench", "--json", "--model", model, "--images",
                str(images), "--device", options.device, "--precision", options.precision, "--steps",
                str(options.steps), "--requests", str(options.requests), "--guidance", str(options.guidance)]
    command += [] if ranks == 1 else ["--plan", plan]
    try:
        done = subprocess.run(command, env={**os.environ, **environment}, text=True, capture_output=True,
                              timeout=options.limit)
    except subprocess.TimeoutExpired:
        return ("failed", f"took longer than {options.limit} s")
    except OSError as error:
        sys.exit(f"experiments: {command[0]}: {error.strerror}; install Open MPI, and build the tree or give --build")
    if done.stdout.lstrip().startswith("{"):
        return json.loads(done.stdout)
    lines = [line.partition("error: ")[2] for line in done.stderr.splitlines() if "error: " in line]
    why = lines[0] if lines else f"exit code {done.returncode}"
    return ("refused" if any(words in why for words in REFUSALS) else "failed", why)


def row_of(answer, base, **labels):
    row = dict.fromkeys(COLUMNS, "")
    row.update(labels)
    if isinstance(answer, tuple):
        row["state"], row["why"] = answer
        return row
    size = answer["sizes"][0]
    mean = size["slowest_mean_ms"]
    wrong = any(exchange["wrong"] for exchange in answer["exchanges"])
    row["state"] = "ok" if size["right"] and not wrong else "WRONG"
    row["why"] = "an exchange arrived damaged" if wrong else answer["unchecked"]
    row["mean_ms"] = round(mean, 4)
    row["images_per_s"] = round(1000 * labels["images"] / mean, 4)
    row["speedup"] = round(base / mean, 4) if base else ""
    row["sent_mb"] = round(max(rank["sent_bytes"] for rank in size["ranks"]) / 1e6, 4)
    large = [exchange for exchange in answer["exchanges"] if exchange["size_bytes"] >= 65536]
    if large:
        row["slowest_busbw_gb_per_s"] = round(min(exchange["busbw_gb_per_s"] for exchange in large), 4)
    row["error"] = "" if size["error"] is None else f"{size['error']:.1e}"
    return row


def measure(options):
    rows, raw = [], []
    for model in options.model:
        for images in options.images:
            labels = {"model": pathlib.Path(model).stem, "images": images}
            answer = bench(options, model, images, 1, "", {})
            base = None if isinstance(answer, tuple) else answer["sizes"][0]["slowest_mean_ms"]
            rows.append(row_of(answer, base, **labels, split="single", links="-"))
            raw.append(answer)
            for split in options.split:
                for links, environment in LINKS.items():
                    plan = f"{split}={options.ranks}"
                    answer = bench(options, model, images, options.ranks, plan, environment)
                    rows.append(row_of(answer, base, **labels, split=plan, links=links))
                    raw.append(answer)
                    print(f"  {labels['model']} {images} image(s) {plan} {links}: {rows[-1]['state']}",
                          file=sys.stderr)
    return rows, raw


def table(options, rows):
    lines = [f"{options.ranks} ranks on {options.device}, {options.precision}, {options.steps} steps, guidance "
             f"{options.guidance:g}, {options.requests} requests a run"]
    if options.device == "cpu":
        lines.append("Ranks on CPUs: NCCL's settings have no effect, so the kinds of links are repeats of one "
                     "another. A dry check of the commands, no result.")
    lines += ["", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(str(row[column]) for column in COLUMNS) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def plot(options, rows):
    """Speed-ups as bars, one panel per job, one group per split, one colour per kind of link."""
    jobs = sorted({(row["model"], row["images"]) for row in rows})
    splits = [f"{split}={options.ranks}" for split in options.split]
    bar, gap, height, left, top = 18, 14, 150, 60, 50
    group = bar * len(LINKS) + gap
    width, panel = left + group * len(splits) + 30, height + 70
    most = max([row["speedup"] for row in rows if row["speedup"] != ""] + [float(options.ranks)])
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width, 520)}" height="{top + panel * len(jobs)}" '
           'font-family="sans-serif" font-size="11">',
           f'<text x="10" y="18" font-size="13">Speed-up against one rank: {options.ranks} ranks on '
           f'{options.device}, {options.precision}' + (" (dry check)" if options.device == "cpu" else "") + '</text>']
    for i, links in enumerate(LINKS):
        out.append(f'<rect x="{10 + 90 * i}" y="26" width="10" height="10" fill="{COLOURS[links]}"/>'
                   f'<text x="{24 + 90 * i}" y="35">{links}</text>')
    for j, (model, images) in enumerate(jobs):
        floor = top + panel * j + height + 20
        out.append(f'<text x="{left}" y="{floor - height - 6}">{html.escape(model)}, {images} image(s)</text>')
        for mark in range(int(most) + 1):
            y = floor - height * mark / most
            out.append(f'<line x1="{left}" x2="{width - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ccc"/>'
                       f'<text x="{left - 22}" y="{y + 4:.1f}">{mark}×</text>')
        for s, split in enumerate(splits):
            x = left + 6 + group * s
            out.append(f'<text x="{x}" y="{floor + 14}">{split}</text>')
            for i, links in enumerate(LINKS):
                found = [row for row in rows if (row["model"], row["images"], row["split"], row["links"])
                         == (model, images, split, links)]
                if found and found[0]["speedup"] != "":
                    tall = height * found[0]["speedup"] / most
                    out.append(f'<rect x="{x + bar * i}" y="{floor - tall:.1f}" width="{bar - 2}" '
                               f'height="{tall:.1f}" fill="{COLOURS[links]}"><title>{split}, {links}: '
                               f'{found[0]["speedup"]:.2f}×</title></rect>')
                elif found:
                    out.append(f'<text x="{x + bar * i + 4}" y="{floor - 3}">–</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    rows, raw = measure(options)
    text = table(options, rows)
    (options.out / "results.json").write_text(json.dumps({"rows": rows, "reports": raw}, indent=1) + "\n")
    (options.out / "table.md").write_text(text)
    (options.out / "plot.svg").write_text(plot(options, rows))
    with open(options.out / "results.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    print(text, end="")
    return 0 if all(row["state"] in ("ok", "refused") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
