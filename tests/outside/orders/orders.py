#!/usr/bin/env python3
"""Runs random lowered orders in PyTorch's own pipeline runtime on gloo and compares what happens with the verdict of
`bubblescope validate`:

    orders.py BUBBLESCOPE [NUMBER [SEED]]

Needs PyTorch 2.15. Each rank is a forked process; ranks that make no progress for PATIENCE seconds count as hung. Gloo
matches by tag, so the verdict is that with `--communicators tag`. Orders that PyTorch rejects when it loads them are
counted, and left out unless it rejects them as deadlocks.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

PATIENCE = 6
ORDERS = [("1F1B", 2, 1, 3), ("1F1B", 3, 1, 3), ("GPipe", 2, 1, 2), ("Interleaved1F1B", 2, 2, 2), ("LoopedBFS", 2, 2, 2)]


def lowered(program, name, pp, vpp, microbatches, deferred):
    words = [program, "schedule", "--schedule", name, "--pp", str(pp), "--microbatches", str(microbatches), "--lower",
             "torch", "--json"] + (["--vpp", str(vpp)] if vpp > 1 else []) + (["--defer-receives"] if deferred else [])
    return json.loads(subprocess.run(words, capture_output=True, check=True, text=True).stdout)["lowered"]


def parts(cell):
    return re.fullmatch(r"(\d+)([A-Z_]+?)(\d*)", cell).groups()


def may_swap(first, then):
    """An op stays behind its receive and before its send, and a wait behind its send."""
    (_, a, m), (_, b, n) = parts(first), parts(then)
    computes = ("F", "B", "I", "W")
    if a in computes and b in computes or "GRAD" in a + b or "SHARD" in a + b:
        return False
    return m != n


def shuffled(lists, chance):
    for row in lists:
        for _ in range(chance.choice((0, 1, 3)) * len(row)):
            at = chance.randrange(len(row) - 1)
            if may_swap(row[at], row[at + 1]):
                row[at], row[at + 1] = row[at + 1], row[at]
    return lists


def run_rank(rank, size, vpp, microbatches, order, store, loaded, done):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=size)
    modules = [torch.nn.Linear(8, 8) for _ in range(vpp)]
    stages = [PipelineStage(module, rank + size * chunk, size * vpp, torch.device("cpu"))
              for chunk, module in enumerate(modules)]
    schedule = _PipelineScheduleRuntime(stages, microbatches, loss_fn=lambda y, t: ((y - t) ** 2).mean())
    schedule._load_csv(order, format="compute_comms")
    open(loaded + str(rank), "w").close()
    x = torch.randn(microbatches, 8)
    schedule.step(*([x] if rank == 0 else []), **({"target": x} if rank == size - 1 else {}))
    open(done + str(rank), "w").close()


def outcome(folder, size, vpp, microbatches, order):
    """finishes, hangs, or why PyTorch rejects the order."""
    children = []
    for rank in range(size):
        child = os.fork()
        if child == 0:
            with open(os.path.join(folder, "error%d" % rank), "w") as errors:
                os.dup2(errors.fileno(), 2)
                try:
                    run_rank(rank, size, vpp, microbatches, order, os.path.join(folder, "store"),
                             os.path.join(folder, "loaded"), os.path.join(folder, "done"))
                except BaseException as error:  # noqa: BLE001: the reason is read by the parent
                    sys.stderr.write("\n%s" % error)
            os._exit(0)
        children.append(child)
    ended, changed = set(), time.monotonic()
    while len(ended) < size and time.monotonic() - changed < PATIENCE:
        for child in children:
            if child not in ended and os.waitpid(child, os.WNOHANG)[0]:
                ended.add(child)
                changed = time.monotonic()
        if not all(os.path.exists(os.path.join(folder, "loaded%d" % rank)) for rank in range(size)) and not ended:
            changed = time.monotonic()  # still starting
        time.sleep(0.02)
    for child in children:
        if child not in ended:
            os.kill(child, 9)
            os.waitpid(child, 0)
    there = [os.path.exists(os.path.join(folder, "%s%d" % (what, rank))) for what in ("loaded", "done")
             for rank in range(size)]
    if all(there):
        return "finishes"
    if all(there[:size]):
        return "hangs"
    return open(os.path.join(folder, "error0")).read().strip().splitlines()[-1]


def main():
    program, number = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 20261129)
    counts, wrong = {}, 0
    for index in range(number):
        name, pp, vpp, microbatches = chance.choice(ORDERS)
        lists = shuffled(lowered(program, name, pp, vpp, microbatches, chance.random() < 0.5), chance)
        with tempfile.TemporaryDirectory() as folder:
            order = os.path.join(folder, "order.csv")
            with open(order, "w") as file:
                file.write("".join(",".join(row) + "\n" for row in lists))
            judged = subprocess.run([program, "validate", order, "--communicators", "tag", "--json"], capture_output=True,
                                    text=True)
            document = json.loads(judged.stdout)
            if any(problem["kind"] not in ("hang", "deadlock") for problem in document["problems"]):
                continue
            verdict = "finishes" if document["valid"] else "hangs"
            seen = outcome(folder, pp, vpp, microbatches, order)
        if seen not in ("finishes", "hangs"):
            key = "rejected as a deadlock" if re.search("deadlock|cycl|hang", seen, re.I) else "rejected: " + seen[:90]
            equal = verdict == "hangs" if key == "rejected as a deadlock" else True
        else:
            key, equal = seen, seen == verdict
        counts[key, verdict] = counts.get((key, verdict), 0) + 1
        if not equal:
            wrong += 1
            print("order %d (%s, p %d, m %d): %s, but the verdict is that it %s\n  %s"
                  % (index, name, pp, microbatches, seen, verdict, "\n  ".join(" ".join(row) for row in lists)))
    for (seen, verdict), count in sorted(counts.items()):
        print("%4d  PyTorch: %-40s verdict: %s" % (count, seen, verdict))
    sys.exit(1 if wrong else 0)


main()
