"""The cost of checks in the bubbles of a PyTorch job: blocks of steps with checks and without, in alternation, within one job.

    bubblescope record --aadiff --out DIR -- torchrun --nproc-per-node 2 checks_bench.py [--steps 2000] [--block 16]
        [--microbatches 4] [--layers 4] [--width 512] [--rows 64] [--pause MS] [--only keeping]

`--pause`: each forward also sleeps as long, each backward twice, as if a device computed. `--only keeping`: inputs are kept and
ops reported, but nothing is run again. The first rank prints what checks add to the time of a step on the wall and to the
processor time of all threads of all ranks, and how many checks there were. On a machine that others use, give the job the
priority of real time (chrt -r 5 bubblescope record ...).
"""

import argparse
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from blocks import differences, tell
from bubblescope_adapters import bubble_checks
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

WARM_UP = 60  # steps: trials of layers, the plan, the first measurements

given = argparse.ArgumentParser()
for name, value in (("steps", 2000), ("block", 16), ("microbatches", 4), ("layers", 4), ("width", 512), ("rows", 64)):
    given.add_argument("--" + name, type=int, default=value)
given.add_argument("--pause", type=float, default=0)
given.add_argument("--only", choices=["keeping"])
given = given.parse_args()

checks = []  # the one BubbleChecks of the process
on = [True]


def switchable():
    """With checks switched off nothing of them runs, but the plan of the next step, which is made at the end of one."""
    kind = bubble_checks.BubbleChecks
    make = kind.__init__

    def init(self, *args, **kwargs):
        make(self, *args, **kwargs)
        checks.append(self)

    kind.__init__ = init
    for name, instead in (("begin_step", None), ("end_step", None), ("began", 0), ("ended", None)):

        def method(self, *args, function=getattr(kind, name), instead=instead):
            return function(self, *args) if on[0] else instead

        setattr(kind, name, method)
    fill = kind.fill
    kind.active = property(lambda self: on[0] and self._tells, lambda self, tells: setattr(self, "_tells", tells))
    kind.fill = lambda self, wait: fill(self, wait) if on[0] and not (given.only and self._session) else wait()


def switch(to):
    """Steps without checks do not save time for those with checks."""
    if to != on[0] and checks:
        budget, now = checks[0]._budget, time.monotonic_ns()
        if not to:
            budget.stopped = now
        elif budget._began is not None:
            budget._began += now - budget.stopped
    on[0] = to


class Pause(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        time.sleep(given.pause / 1e3)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(2 * given.pause / 1e3)
        return gradient


class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(given.width, given.width), nn.GELU(), nn.Linear(given.width, given.width))
            for _ in range(given.layers)
        )

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return Pause.apply(x) if given.pause else x


def main():
    switchable()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    stage = PipelineStage(Stage(), rank, size, torch.device("cpu"))
    schedule = Schedule1F1B(stage, given.microbatches, loss_fn=lambda y, t: ((y - t) ** 2).mean())
    optimizer = torch.optim.SGD(stage.submod.parameters(), 1e-4)
    x = torch.randn(given.microbatches * given.rows, given.width)
    target = torch.zeros_like(x)
    blocks, done = [], [0]
    for number in range(WARM_UP + given.steps // given.block * given.block):
        counted = number - WARM_UP
        if counted >= 0 and counted % given.block == 0:
            switch(counted // given.block % 2 == 0)
            blocks.append((time.perf_counter(), time.process_time()))
        optimizer.zero_grad()
        schedule.step(*([x] if rank == 0 else []), **({"target": target} if rank == size - 1 else {}))
        optimizer.step()
    blocks.append((time.perf_counter(), time.process_time()))
    counts = checks[0]._session.counts() if checks and checks[0]._session else {"equal": 0, "mismatched": 0}
    walls = [(b[0] - a[0]) / given.block for a, b in zip(blocks, blocks[1:])]
    used = torch.tensor([(b[1] - a[1]) / given.block for a, b in zip(blocks, blocks[1:])] + [counts["equal"], counts["mismatched"]])
    dist.all_reduce(used)
    if rank == 0:
        print("step %.1f ms, load %.1f" % (statistics.median(walls) * 1e3, os.getloadavg()[0]))
        for what, blocks in (("wall", walls), ("processor, all ranks", used[:-2].tolist())):
            tell(what, [more / without for more, without in differences(blocks)], 100, "%")
        print("%d checks of %d steps found equal bits, %d others" % (used[-2], given.steps // 2, used[-1]), flush=True)
    dist.destroy_process_group()


main()
