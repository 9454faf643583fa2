#!/usr/bin/env python3
"""Makes the tables of resources/benchmarks/dispatch.md: steps in a fixed order and by readiness, with equal faults.

    dispatch_table.py PROGRAM [--draws N]
"""

import argparse
import json
import random
import subprocess

P, M = 8, 32
FORWARD, BACKWARD = "10ms", "20ms"
CHUNKS = {"1f1b": 1, "interleaved": 2, "zb-h1": 1}
KINDS = {"1f1b": "FB", "interleaved": "FB", "zb-h1": "FIW"}


def lengths(kinds, sigma, seed, where=""):
    """Each micro-batch takes its own time on all ranks, as with sequences of different length; or on some ranks."""
    draw = random.Random(seed)
    faults = []
    for m in range(M):
        factor = draw.lognormvariate(-sigma * sigma / 2, sigma)
        faults += [f"op:{kind}{m}{where},factor={factor:.4f}" for kind in kinds]
    return faults


# Name, and the faults of one of several draws.
DISTURBANCES = [
    ("none", lambda seed, kinds: []),
    ("op times ± 10 %", lambda seed, kinds: [f"jitter:sigma=10%,seed={seed}"]),
    ("op times ± 30 %", lambda seed, kinds: [f"jitter:sigma=30%,seed={seed}"]),
    ("micro-batches of different length (σ = 0.5)", lambda seed, kinds: lengths(kinds, 0.5, seed)),
    ("encoder on rank 0, work per sample varies (σ = 1)", lambda seed, kinds: lengths(kinds, 1.0, seed, ",rank=0")),
    ("rank 3 slower by 1.5 ×", lambda seed, kinds: ["slow:rank=3,factor=1.5"]),
    ("link 3 → 4 later by 20 ms", lambda seed, kinds: ["link:3>4,latency=20ms"]),
    ("both directions between 3 and 4 later by 20 ms",
     lambda seed, kinds: ["link:3>4,latency=20ms", "link:4>3,latency=20ms"]),
    ("all links later by 5 ms, op times ± 30 %",
     lambda seed, kinds: ["link:*>*,latency=5ms", f"jitter:sigma=30%,seed={seed}"]),
]


def simulate(program, order, faults, extra):
    words = [program, "simulate", "--schedule", order, "--pp", str(P), "--microbatches", str(M), "--forward", FORWARD,
             "--backward", BACKWARD, "--times-of", "rank", "--json", *extra]
    if CHUNKS[order] > 1:
        words += ["--vpp", str(CHUNKS[order])]
    for fault in faults:
        words += ["--inject", fault]
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {out.stderr}")
    return json.loads(out.stdout)


def mean_step(program, order, faults_of, draws, extra):
    walls = [simulate(program, order, faults_of(seed, KINDS[order]), extra)["makespan_ns"] for seed in range(1, draws + 1)]
    return sum(walls) / len(walls) / 1e6


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--draws", type=int, default=10)
    given = arguments.parse_args()
    for order in CHUNKS:
        peak = max(rank["peak_activations"] for rank in simulate(given.program, order, [], [])["ranks"])
        print(f"\n{order}, p = {P}, m = {M}, v = {CHUNKS[order]}; at most {peak} activations per rank\n")
        print("| disturbance | fixed, blocking sends | fixed | ready | ready, twice the memory | backward first, twice "
              "the memory | best against fixed | against blocking |")
        print("|---|---|---|---|---|---|---|---|")
        for name, faults_of in DISTURBANCES:
            draws = given.draws if faults_of(1, "F") != faults_of(2, "F") else 1
            wide = ["--in-flight", str(2 * peak)]
            times = [mean_step(given.program, order, faults_of, draws, extra)
                     for extra in (["--sends", "paired" if order != "interleaved" else "batched"], [],
                                   ["--dispatch", "ready"], ["--dispatch", "ready", *wide],
                                   ["--dispatch", "backward", *wide])]
            best = min(times[2:])
            row = [f"{time / 1000:.2f} s" for time in times] + [f"{times[1] / best:.2f} ×", f"{times[0] / best:.2f} ×"]
            print(f"| {name} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
