"""The common code of the paced jobs: a fault or fix by specification, layers that wait instead of computing, and the period.

Each job runs under torchrun with SPEC, a JSON object (see `DEFAULTS`), in which promises.py plants a fault or applies a
fix. Rank 0 prints a JSON line with the period from step to step in ms. Ranks run with real-time priority where that is
allowed, so that other load does not reach them. The jobs do not use Bubblescope.
"""

import gc
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

DEFAULTS = {
    "schedule": "1f1b",
    "microbatches": 8,
    "steps": 24,
    "layers": None,  # of each stage; stages in the order of the model; none: 4 / v each
    "forward_ms": 4.0,  # of a layer
    "input_ms": 4.0,  # its backward for the input
    "weight_ms": 4.0,  # and for the weights
    "head": 0,  # what the last stage does besides, as many layers' worth of work
    "rank_times": {},  # rank -> factor
    "links": {},  # "1>2" -> ms that a transfer takes longer; PyTorch only
    "stall": None,  # [rank, ms]: loading before each step
    "hiccup": None,  # [rank, every, ms]: a pause in each so-manieth step
    "pauses": None,  # [rank, probability, ms]: random pauses of ops
    "collect": None,  # [rank, every, ms]: garbage collection behind each so-manieth step
    "file": None,  # a schedule in PyTorch's CSV; PyTorch only
}
WIDTH = 64

spec = {**DEFAULTS, **json.loads(sys.argv[1])}
rank = int(os.environ["RANK"])
ranks = int(os.environ["WORLD_SIZE"])
noise = torch.Generator().manual_seed(7 + rank)


def begin():
    torch.set_num_threads(1)
    if spec["collect"]:
        gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    except PermissionError:
        pass


def wait(milliseconds):
    if spec["pauses"] and spec["pauses"][0] == rank:
        if torch.rand(1, generator=noise).item() < spec["pauses"][1]:
            milliseconds += spec["pauses"][2]
    time.sleep(milliseconds * 1e-3)


class InputWait(torch.autograd.Function):
    """Waits in the forward pass, and in the backward pass for the input."""

    @staticmethod
    def forward(ctx, x, forward_ms, input_ms):
        ctx.input_ms = input_ms
        wait(forward_ms)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        wait(ctx.input_ms)
        return gradient.clone(), None, None


class WeightWait(torch.autograd.Function):
    """Waits in the backward pass for the weights."""

    @staticmethod
    def forward(ctx, weight, weight_ms):
        ctx.weight_ms = weight_ms
        return weight.clone()

    @staticmethod
    def backward(ctx, gradient):
        wait(ctx.weight_ms)
        return gradient.clone(), None


class Layer(nn.Module):
    """`work`: how many usual layers it is worth."""

    def __init__(self, work=1):
        super().__init__()
        factor = work * spec["rank_times"].get(str(rank), 1)
        self.weight = nn.Parameter(torch.eye(WIDTH))
        self.times = [spec[name] * factor for name in ("forward_ms", "input_ms", "weight_ms")]

    def forward(self, x):
        forward_ms, input_ms, weight_ms = self.times
        x = nn.functional.linear(x, WeightWait.apply(self.weight, weight_ms))
        return InputWait.apply(x, forward_ms, input_ms)


class Heavy:
    """Part of a circle, so that only a collection finds it, and as long to finalize as asked."""

    def __init__(self, milliseconds):
        self.milliseconds = milliseconds
        self.myself = self

    def __del__(self):
        time.sleep(self.milliseconds * 1e-3)


def layers_of(stage, stages):
    """The layers of a stage, and the head behind the last one."""
    count = spec["layers"][stage] if spec["layers"] else 4 * ranks // stages
    layers = [Layer() for _ in range(count)]
    return layers + [Layer(spec["head"])] * bool(spec["head"] and stage == stages - 1)


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def stall():
    if spec["stall"] and spec["stall"][0] == rank:
        time.sleep(spec["stall"][1] * 1e-3)


def run_steps(run_step, batches=None):
    """Calls run_step(what comes of `batches`) for each step, and reports."""
    begins = []
    for number, batch in enumerate(range(spec["steps"]) if batches is None else batches):
        begins.append(time.perf_counter())
        if spec["hiccup"] and spec["hiccup"][0] == rank and number % spec["hiccup"][1] == 0:
            time.sleep(spec["hiccup"][2] * 1e-3)
        run_step(batch)
        if spec["collect"] and spec["collect"][0] == rank and number % spec["collect"][1] == 0:
            Heavy(spec["collect"][2])
            gc.collect()
    dist.barrier()
    if rank == 0:
        periods = sorted((b - a) * 1e3 for a, b in zip(begins[3:], begins[4:]))
        print(json.dumps({"median_ms": periods[len(periods) // 2], "mean_ms": sum(periods) / len(periods)}), flush=True)
    dist.destroy_process_group()
