#!/usr/bin/env python3
"""Trains with and without a flush, and prints the tables of resources/benchmarks/no-flush.md.

    tests/bench/no_flush.py PROGRAM [--quick] [--figure FILE.svg] [--keep FILE.json]

Losses come from `run`, times from `simulate`, whose clock a paced run follows. The learning rate of each optimizer and
schedule is the best of a grid for the first seed.
"""

import argparse
import glob
import json
import math
import os
import statistics
import subprocess
import tempfile

RANKS, GROUP = 4, 8
TIMES = ["--forward", "10ms", "--backward", "20ms"]
MODEL = ["--width", "32", "--heads", "2", "--sequence", "32", "--batch", "4"]
RATES = {"adamw": [0.0003, 0.001, 0.003, 0.01], "muon": [0.003, 0.01, 0.03], "sgd": [0.003, 0.01, 0.03, 0.1]}
# Label, schedule, micro-batches per update. Curves have a loss per GROUP micro-batches.
SCHEDULES = {"1f1b": ("1f1b", GROUP), "pipedream-2bw": ("pipedream-2bw", GROUP),
             "pipedream (8)": ("pipedream", GROUP), "pipedream (1)": ("pipedream", 1)}
WINDOW = 20  # groups whose mean loss counts


def json_of(program, *arguments):
    return json.loads(subprocess.run([program, *arguments, "--json"], check=True, capture_output=True, text=True).stdout)


def size(label, updates):
    """Options for a number of groups: steps of 1F1B, or one step of a pipeline without a flush."""
    schedule, each = SCHEDULES[label]
    options = ["--schedule", schedule, "--pp", str(RANKS)]
    if schedule == "1f1b":
        return options + ["--microbatches", str(GROUP)], ["--steps", str(updates)]
    return options + ["--microbatches", str(GROUP * updates), "--group-size", str(each)], ["--steps", "1"]


def losses(program, text, schedule, optimizer, rate, seed, updates):
    """The loss of each group."""
    order, steps = size(schedule, updates)
    found = json_of(program, "run", *order, *steps, *MODEL, "--text", text, "--optimizer", optimizer,
                    "--learning-rate", str(rate), "--seed", str(seed), "--no-pace")["training"]["losses"]
    found = [math.nan if loss is None else loss for loss in found]
    each = GROUP // SCHEDULES[schedule][1]
    return [statistics.fmean(found[i:i + each]) for i in range(0, len(found), each)]


def seconds(program, schedule, updates):
    """The time at which each group is done: filling the pipeline, then a constant time."""
    one = json_of(program, "simulate", *size(schedule, 1)[0], *TIMES)["makespan_ns"] / 1e9
    if schedule == "1f1b":
        return [one * (i + 1) for i in range(updates)]
    more = json_of(program, "simulate", *size(schedule, 9)[0], *TIMES)["makespan_ns"] / 1e9
    return [one + (more - one) / 8 * i for i in range(updates)]


def smooth(values):
    return [statistics.fmean(values[max(0, i + 1 - WINDOW):i + 1]) for i in range(len(values))]


def first_below(curve, level):
    return next((i + 1 for i, loss in enumerate(curve) if i + 1 >= WINDOW and loss <= level), None)


def spread(values):
    return f"{statistics.fmean(values):+.1f} ({min(values):+.1f} to {max(values):+.1f})"


def compare(runs, clocks, optimizer, schedule):
    """Tokens and time to the schedule's last loss, by seed, in per cent more than 1F1B's."""
    tokens, times = [], []
    for seed, curve in runs[schedule].items():
        at = first_below(smooth(runs["1f1b"][seed]), smooth(curve)[-1])
        if at is None:
            return f"| {optimizer} | {schedule} | 1F1B does not reach it | |"
        tokens.append(100 * (len(curve) / at - 1))
        times.append(100 * (clocks[schedule][len(curve) - 1] / clocks["1f1b"][at - 1] - 1))
    return f"| {optimizer} | {schedule} | {spread(tokens)} | {spread(times)} |"


def figure(results, clocks, updates):
    """Small multiples: a row per optimizer; loss over tokens at the left, over time at the right."""
    colours = {"1f1b": "#334155", "pipedream-2bw": "#c2410c", "pipedream (8)": "#7c3aed", "pipedream (1)": "#0f766e"}
    tokens = GROUP * 4 * 32 / 1000
    width, height, left, top = 380, 190, 60, 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * width + 80}" height="{len(results) * 240 + 40}" '
           'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for row, (optimizer, runs) in enumerate(results.items()):
        shown = updates * 3 // 2
        curves = {s: smooth([statistics.fmean(v) for v in zip(*runs[s].values())])[:shown] for s in runs}
        high, low = max(c[WINDOW] for c in curves.values()), min(c[-1] for c in curves.values())
        for column in range(2):
            x0, y0 = left + column * (width + 20), top + row * 240
            last = max(clocks[s][shown - 1] if column else updates * 1.5 * tokens for s in curves)
            at = lambda x, y: (x0 + x / last * (width - 40), y0 + (high - y) / (high - low) * height)
            out.append(f'<path d="M{x0} {y0}V{y0 + height}H{x0 + width - 40}" fill="none" stroke="#94a3b8"/>')
            for value in (low, (low + high) / 2, high):
                out.append(f'<text x="{x0 - 6}" y="{at(0, value)[1] + 4:.1f}" text-anchor="end">{value:.2f}</text>')
            unit = "s" if column else "thousand tokens"
            out.append(f'<text x="{x0 + width - 40}" y="{y0 + height + 16}" text-anchor="end">{last:.0f} {unit}</text>')
            out.append(f'<text x="{x0}" y="{y0 - 8}" font-weight="bold">{optimizer}: loss by '
                       f'{"time" if column else "tokens"}</text>')
            for index, (schedule, curve) in enumerate(curves.items()):
                points = " ".join("{:.1f},{:.1f}".format(*at(clocks[schedule][i] if column else (i + 1) * tokens, loss))
                                  for i, loss in enumerate(curve) if i >= WINDOW)
                out.append(f'<polyline points="{points}" fill="none" stroke="{colours[schedule]}" stroke-width="1.5"/>')
                out.append(f'<text x="{x0 + width - 150}" y="{y0 + 16 + 16 * index}" fill="{colours[schedule]}">'
                           f'{schedule}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figure")
    parser.add_argument("--keep", help="store the curves, or read them if the file exists")
    parser.add_argument("--updates", type=int, default=150)
    asked = parser.parse_args()
    program, updates = os.path.abspath(asked.program), 30 if asked.quick else asked.updates
    longer, seeds = updates * 3 // 2, range(1, 2 if asked.quick else 4)
    known = json.load(open(asked.keep)) if asked.keep and os.path.exists(asked.keep) else {}

    def curve(text, *key):
        name = " ".join(map(str, key))
        if name not in known:
            known[name] = losses(program, text, *key)
            if asked.keep:
                json.dump(known, open(asked.keep, "w"))
        return known[name]

    manual = os.path.join(os.path.dirname(__file__), "..", "..", "resources", "manual")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
        text.write("".join(open(page).read() for page in sorted(glob.glob(manual + "/*.md"))))
        text.flush()
        results, rates = {}, {}
        for optimizer, grid in RATES.items():
            results[optimizer] = {}
            for schedule in SCHEDULES:
                length = 2 * longer if schedule == "1f1b" else longer  # it must reach the others' last loss
                ends = {r: smooth(curve(text.name, schedule, optimizer, r, 1, length))[updates - 1] for r in grid}
                rate = min((r for r in grid if not math.isnan(ends[r])), key=ends.get)
                rates[optimizer, schedule] = rate
                results[optimizer][schedule] = {
                    seed: curve(text.name, schedule, optimizer, rate, seed, length) for seed in seeds}
    clocks = {schedule: seconds(program, schedule, 2 * longer) for schedule in SCHEDULES}
    print("| optimizer | schedule | learning rate | loss after 1F1B's time, mean | loss after equal tokens, mean |")
    print("|---|---|---|---|---|")
    for optimizer, runs in results.items():
        for schedule in SCHEDULES:
            in_time = max(i for i, at in enumerate(clocks[schedule]) if at <= clocks["1f1b"][updates - 1] + 1e-9)
            by = [statistics.fmean(smooth(c)[i] for c in runs[schedule].values()) for i in (in_time, updates - 1)]
            print(f"| {optimizer} | {schedule} | {rates[optimizer, schedule]} | {by[0]:.4f} | {by[1]:.4f} |")
    print(f"\nTo the loss without a flush after {longer} updates: more tokens and time than with 1F1B, in per cent.\n")
    print("| optimizer | schedule | tokens, mean (least to most) | time, mean (least to most) |\n|---|---|---|---|")
    for optimizer, runs in results.items():
        for schedule in list(SCHEDULES)[1:]:
            print(compare(runs, clocks, optimizer, schedule))
    if asked.figure:
        open(asked.figure, "w").write(figure(results, clocks, updates))


if __name__ == "__main__":
    main()
