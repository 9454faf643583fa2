"""A PyTorch pipeline on gloo whose layers wait instead of computing, so that two cores show what many GPUs would.

paced_job.py SPEC, under torchrun: SPEC is a JSON object (see `DEFAULTS`), in which promises.py plants a fault or applies
a fix. Rank 0 prints a JSON line with the period from step to step in ms. Ranks run with real-time priority where that is
allowed, so that other load does not reach them. The job knows nothing of Bubblescope.
"""

import gc
import json
import os
import sys
import threading
import time

import torch
import torch.distributed as dist
import torch.distributed.pipelining.schedules as schedules
from torch import nn
from torch.distributed.pipelining import PipelineStage

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
    "links": {},  # "1>2" -> ms that a transfer takes longer
    "stall": None,  # [rank, ms]: loading before each step
    "hiccup": None,  # [rank, every, ms]: a pause in each so-manieth step
    "pauses": None,  # [rank, probability, ms]: random pauses of ops
    "collect": None,  # [rank, every, ms]: garbage collection behind each so-manieth step
    "file": None,  # a schedule in PyTorch's CSV
}
SCHEDULES = {
    "gpipe": ("ScheduleGPipe", 1),
    "1f1b": ("Schedule1F1B", 1),
    "interleaved": ("ScheduleInterleaved1F1B", 2),
    "interleaved4": ("ScheduleInterleaved1F1B", 4),
    "interleaved-zb": ("ScheduleInterleavedZeroBubble", 2),
    "interleaved-zb4": ("ScheduleInterleavedZeroBubble", 4),
    "zb-v": ("ScheduleZBVZeroBubble", 2),
}
WIDTH = 64

spec = {**DEFAULTS, **json.loads(sys.argv[1])}
torch.set_num_threads(1)
try:
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
except PermissionError:
    pass
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
step_number = 0
noise = torch.Generator().manual_seed(7 + rank)


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
    def __init__(self, factor):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(WIDTH))
        self.times = [spec[name] * factor for name in ("forward_ms", "input_ms", "weight_ms")]

    def forward(self, x):
        forward_ms, input_ms, weight_ms = self.times
        x = nn.functional.linear(x, WeightWait.apply(self.weight, weight_ms))
        return InputWait.apply(x, forward_ms, input_ms)


class LateSend:
    """A transfer that leaves later, on a thread of its own: the sender goes on, as with a slow link."""

    def __init__(self, op, late_ms):
        self._thread = threading.Thread(target=self._send, args=(op, late_ms))
        self._thread.start()

    def _send(self, op, late_ms):
        time.sleep(late_ms * 1e-3)
        for work in post([op]):
            work.wait()

    def wait(self, *_):
        self._thread.join()


post = dist.batch_isend_irecv


def post_late(ops):
    works = []
    for op in ops:
        late_ms = spec["links"].get(f"{rank}>{op.peer}", 0) if op.op is dist.isend else 0
        works += [LateSend(op, late_ms)] if late_ms else post([op])
    return works


if spec["links"]:
    dist.batch_isend_irecv = post_late
    schedules.dist.batch_isend_irecv = post_late

name, chunks = SCHEDULES[spec["schedule"]]
count = ranks * chunks
layers = spec["layers"] or [4 // chunks] * count
if spec["schedule"] == "zb-v":
    mine = [rank, 2 * ranks - 1 - rank]
else:
    mine = [rank + chunk * ranks for chunk in range(chunks)]


def stage_module(stage):
    factor = spec["rank_times"].get(str(rank), 1)
    modules = [Layer(factor) for _ in range(layers[stage])]
    if spec["head"] and stage == count - 1:
        modules.append(Layer(factor * spec["head"]))
    return nn.Sequential(*modules)


stages = [PipelineStage(stage_module(stage), stage, count, torch.device("cpu")) for stage in mine]


def loss_of(output, target):
    return ((output - target) ** 2).mean()


if spec["file"]:
    runtime = schedules._PipelineScheduleRuntime(stages, spec["microbatches"], loss_fn=loss_of)
    runtime._load_csv(spec["file"])
else:
    runtime = getattr(schedules, name)(
        stages[0] if chunks == 1 else stages, spec["microbatches"], loss_fn=loss_of
    )
optimizer = torch.optim.SGD([p for stage in stages for p in stage.submod.parameters()], 1e-3)
batch = torch.randn(spec["microbatches"] * 4, WIDTH)
target = torch.randn(spec["microbatches"] * 4, WIDTH)


class Samples(torch.utils.data.Dataset):
    """One batch per step, whose loading may take time."""

    def __len__(self):
        return spec["steps"]

    def __getitem__(self, _):
        if spec["stall"] and spec["stall"][0] == rank:
            time.sleep(spec["stall"][1] * 1e-3)
        return batch


def run_step(samples):
    optimizer.zero_grad()
    inputs = (samples,) if 0 in mine else ()
    targets = {"target": target} if count - 1 in mine else {}
    if spec["hiccup"] and spec["hiccup"][0] == rank and step_number % spec["hiccup"][1] == 0:
        time.sleep(spec["hiccup"][2] * 1e-3)
    runtime.step(*inputs, **targets)
    optimizer.step()
    if spec["collect"] and spec["collect"][0] == rank and step_number % spec["collect"][1] == 0:
        Heavy(spec["collect"][2])
        gc.collect()


class Heavy:
    """Part of a circle, so that only a collection finds it, and as long to finalize as asked."""

    def __init__(self, milliseconds):
        self.milliseconds = milliseconds
        self.myself = self

    def __del__(self):
        time.sleep(self.milliseconds * 1e-3)


if spec["collect"]:
    gc.disable()

begins = []
for step_number, samples in enumerate(torch.utils.data.DataLoader(Samples(), batch_size=None)):
    begins.append(time.perf_counter())
    run_step(samples)
dist.barrier()
if rank == 0:
    periods = sorted((b - a) * 1e3 for a, b in zip(begins[3:], begins[4:]))
    print(json.dumps({"median_ms": periods[len(periods) // 2], "mean_ms": sum(periods) / len(periods)}), flush=True)
dist.destroy_process_group()
