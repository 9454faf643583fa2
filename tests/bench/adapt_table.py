#!/usr/bin/env python3
"""Makes the table of resources/benchmarks/dispatch.md about runs that adapt: 12 planted faults, each in a paced run
with and without --adapt. Times are those of the emulated clock, so the load of the machine does not matter.

    adapt_table.py PROGRAM [--schedule NAME] [--steps N] [--in-flight N]
"""

import argparse
import json
import statistics
import subprocess

FAULTS = [
    ["link:1>2,latency=10ms"],
    ["link:1>2,latency=10ms", "link:2>1,latency=10ms"],
    ["link:2>3,latency=20ms"],
    ["link:0>1,latency=15ms", "link:3>2,latency=15ms"],
    ["link:*>*,latency=3ms"],
    ["slow:rank=0,factor=1.3"],
    ["slow:rank=2,factor=1.5"],
    ["slow:rank=3,factor=1.2"],
    ["slow:rank=1,factor=2"],
    ["jitter:sigma=10%"],
    ["jitter:sigma=30%"],
    ["slow:rank=2,factor=1.3", "link:0>1,latency=10ms", "jitter:sigma=5%"],
]
COUNTED = 8  # the last steps


def run(given, faults, adapt):
    words = [given.program, "run", "--schedule", given.schedule, "--pp", "4", "--microbatches", "16", "--forward", "5ms",
             "--backward", "10ms", "--comm", "500us", "--steps", str(given.steps), "--pace-tolerance", "600s", "--json"]
    for fault in faults:
        words += ["--inject", fault]
    if adapt:
        words += ["--adapt"] + (["--in-flight", str(given.in_flight)] if given.in_flight else [])
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {out.stderr}")
    return json.loads(out.stdout)


def mean_wall(result):
    return statistics.mean(step["wall_ns"] for step in result["steps"][-COUNTED:]) / 1e6


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--schedule", default="1f1b")
    arguments.add_argument("--steps", type=int, default=16)
    arguments.add_argument("--in-flight", type=int, help="activations per rank for the runs that adapt")
    given = arguments.parse_args()
    healthy_run = run(given, [], False)
    healthy = mean_wall(healthy_run)
    print(f"{given.schedule}, p = 4, m = 16: {healthy:.0f} ms without a fault\n")
    print("| fault | unchanged | adapted | recovered | order at the end | weights |")
    print("|---|---|---|---|---|---|")
    for faults in [[]] + FAULTS:
        plain, adapted = run(given, faults, False), run(given, faults, True)
        before, after = mean_wall(plain), mean_wall(adapted)
        lost = before - healthy
        recovered = f"{100 * (before - after) / lost:.0f} %" if lost > 0.01 * healthy else "–"
        changes = adapted["training"].get("order_changes", [])
        same = plain["training"]["weights_digest"] == adapted["training"]["weights_digest"]
        print(f"| {' '.join(faults) or 'none'} | {before:.0f} ms | {after:.0f} ms ({100 * (after / before - 1):+.1f} %) | "
              f"{recovered} | {changes[-1]['order'] if changes else 'unchanged'} | {'equal' if same else 'DIFFER'} |",
              flush=True)


if __name__ == "__main__":
    main()
