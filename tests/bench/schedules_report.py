#!/usr/bin/env python3
"""Runs bench_schedules and the same work in plain Python, and prints the tables of
resources/benchmarks/schedules.md.

    tests/bench/schedules_report.py build/bench/tests/bench/bench_schedules
"""

import json
import math
import os
import platform
import subprocess
import sys
import time

import python_baseline as python

TIMES = {"F": 1_000_000, "B": 2_000_000, "I": 1_000_000, "W": 1_000_000}
UNEQUAL = {"F": 1_000_000, "B": 2_000_000, "I": 1_150_000, "W": 850_000}

CASES = {
    "1f1b": ("1F1B", 1),
    "interleaved_v4": ("interleaved 1F1B, v = 4", 4),
    "zb_v": ("ZB-V, greedy, equal times", 2),
    "zb_v_unequal": ("ZB-V, greedy, times 1 : 1.15 : 0.85", 2),
    "zb_v_paddle_v3": ("ZB-V, Paddle's, v = 3, times 1 : 1.15 : 0.85", 3),
    "v_half": ("V-Half", 2),
    "v_min": ("V-Min", 2),
    "v_1f1b": ("V-1F1B", 2),
}

GENERATE = {
    "1f1b": python.one_f_one_b,
    "interleaved_v4": lambda p, m: python.interleaved(p, m, 4),
    "zb_v": lambda p, m: python.zb_v(p, m, TIMES),
    "zb_v_unequal": lambda p, m: python.zb_v(p, m, UNEQUAL),
    "v_half": python.v_half,
}

# Seconds that the Python programs of others took, measured once on another machine: two virtual AMD EPYC CPUs,
# CPython 3.11.
RECORDED_AT = (64, 512)
RECORDED = {
    ("generate", "1f1b", "sail-sg's order"): 0.053,
    ("generate", "interleaved_v4", "sail-sg's order"): 0.30,
    ("generate", "interleaved_v4", "Megatron-LM's table"): 0.027,
    ("generate", "zb_v", "sail-sg's greedy search"): 2.88,
    ("generate", "v_half", "sail-sg's program"): 93.5,
    ("generate", "v_min", "sail-sg's program"): 62.5,
    ("simulation", "1f1b", "a dataflow simulator"): 0.14,
    ("simulation", "interleaved_v4", "a dataflow simulator"): 0.58,
}


def measured(program):
    out = subprocess.run(
        [program, "--benchmark_format=json", "--benchmark_min_time=0.3"],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    results = {}
    for entry in json.loads(out)["benchmarks"]:
        what, case, p, m = entry["name"].split("/")
        results.setdefault((what, case), {})[int(p), int(m)] = (entry["cpu_time"] / 1e3, entry["ops"])
    return results


def python_time(work):
    """The best of runs that take at least half a second together."""
    best, spent = math.inf, 0
    while spent < 0.5:
        begin = time.process_time()
        work()
        took = time.process_time() - begin
        best, spent = min(best, took), spent + took
    return best


def exponent(points):
    """Slope of log time over log p·m·v by least squares; points are (size, seconds)."""
    xs = [math.log(size) for size, _ in points]
    ys = [math.log(seconds) for _, seconds in points]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / sum((x - x_mean) ** 2 for x in xs)


def growth_table(results):
    print("| what | p·m·v | ms at p = 64, m = 1024 | million ops a second there | exponent |")
    print("|---|---|---|---|---|")
    for (what, case), sizes in results.items():
        name, v = CASES[case]
        points = sorted((p * m * v, seconds) for (p, m), (seconds, _) in sizes.items())
        seconds, ops = sizes[64, 1024]
        print(
            f"| {what} {name} | {points[0][0]:,} to {points[-1][0]:,} | {seconds * 1e3:,.2f} |"
            f" {ops / seconds / 1e6:,.1f} | {exponent(points):.2f} |"
        )


def python_table(results, p, m):
    print(f"| at p = {p}, m = {m} | plain Python, s | Bubblescope, ms | ratio |")
    print("|---|---|---|---|")
    for case, generate in GENERATE.items():
        name, v = CASES[case]
        rows = [("generate", lambda: generate(p, m))]
        if ("simulation", case) in results:
            order = generate(p, m)
            shape = case in ("zb_v", "v_half")
            rows.append(("simulation", lambda: python.simulate(order, v, TIMES, shape)))
        for what, work in rows:
            theirs = python_time(work)
            ours = results[what, case][p, m][0]
            print(f"| {what} {name} | {theirs:.3f} | {ours * 1e3:,.2f} | {theirs / ours:,.0f} |")


def recorded_table(results):
    p, m = RECORDED_AT
    print(f"| at p = {p}, m = {m} | recorded | s | Bubblescope, ms | ratio |")
    print("|---|---|---|---|---|")
    for (what, case, whose), theirs in RECORDED.items():
        ours = results[what, case][p, m][0]
        print(f"| {what} {CASES[case][0]} | {whose} | {theirs} | {ours * 1e3:,.2f} | {theirs / ours:,.0f} |")


def machine(out=sys.stdout):
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.split(":")[1].strip()
                break
    load = os.getloadavg()
    print(
        f"{os.cpu_count()} CPUs ({model}), load {load[0]:.1f}, CPython {platform.python_version()},"
        f" {time.strftime('%Y-%m-%d')}.\n",
        file=out,
    )


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    machine()
    results = measured(sys.argv[1])
    growth_table(results)
    print()
    python_table(results, 64, 1024)
    print()
    recorded_table(results)


if __name__ == "__main__":
    main()
