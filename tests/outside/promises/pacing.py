"""The common code of the paced jobs: a fault or fix by specification, layers that wait instead of computing, and the period.

Each job runs under torchrun with SPEC, a JSON object (see `DEFAULTS`), in which promises.py plants a fault or applies a
fix. Rank 0 prints a JSON line with the period from step to step in ms. Ranks run with real-time priority where that is
allowed, so that other load does not reach them. The jobs do not use Bubblescope.

On a GPU, all ranks share the first one, and layers are kernels that wait. Kernels of different processes run at the same time
only under NVIDIA's MPS, which the caller starts.
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
    "blocking_receives": [],  # ranks that wait for each receive where they post it; PyTorch with several chunks only
    "stall": None,  # [rank, ms]: loading before each step
    "hiccup": None,  # [rank, every, ms]: a pause in each so-manieth step
    "pauses": None,  # [rank, probability, ms]: random pauses of ops
    "collect": None,  # [rank, every, ms]: garbage collection behind each so-manieth step
    "transformer": None,  # {"hidden", "heads", "sequence"}: layers are a transformer's blocks; PyTorch only
    "launches": {},  # rank -> small kernels that each of its layers launches besides
    "file": None,  # a schedule in PyTorch's CSV; PyTorch only
    "device": "cpu",  # or "cuda"; PyTorch only
    "profile": False,  # the last step but one, with torch.profiler, to count its kernels
}
WIDTH = 64

spec = {**DEFAULTS, **json.loads(sys.argv[1])}
rank = int(os.environ["RANK"])
ranks = int(os.environ["WORLD_SIZE"])
noise = torch.Generator().manual_seed(7 + rank)
device = torch.device(spec["device"])
dtype = torch.bfloat16 if device.type == "cuda" and spec["transformer"] else torch.float32
cycles_per_ms = 0.0


def begin():
    """Prepares the process. Returns the backend of `torch.distributed` for the device."""
    global cycles_per_ms
    torch.set_num_threads(1)
    if device.type == "cuda":
        # NCCL takes several ranks on one GPU only if it believes that they are on different hosts, which sockets join.
        os.environ |= {"NCCL_HOSTID": f"host-{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_NET": "Socket",
                       "NCCL_IB_DISABLE": "1"}
        cycles_per_ms = measured_cycles()
    if spec["collect"]:
        gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    except PermissionError:
        pass
    return "nccl" if device.type == "cuda" else "gloo"


def measured_cycles():
    """Cycles of the GPU in a millisecond, as torch.cuda._sleep counts them."""
    cycles = 20_000_000
    rates = []
    for _ in range(5):
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        ends[0].record()
        torch.cuda._sleep(cycles)
        ends[1].record()
        torch.cuda.synchronize()
        rates.append(cycles / ends[0].elapsed_time(ends[1]))
    return sorted(rates)[2]


def wait(milliseconds):
    if spec["pauses"] and spec["pauses"][0] == rank:
        if torch.rand(1, generator=noise).item() < spec["pauses"][1]:
            milliseconds += spec["pauses"][2]
    if milliseconds <= 0:
        return
    if device.type == "cuda":
        torch.cuda._sleep(int(milliseconds * cycles_per_ms))
    else:
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
        self.weight = nn.Parameter(torch.eye(WIDTH, device=device))
        self.launches = spec["launches"].get(str(rank), 0)
        self.times = [spec[name] * factor for name in ("forward_ms", "input_ms", "weight_ms")]

    def forward(self, x):
        forward_ms, input_ms, weight_ms = self.times
        with torch.no_grad():
            for _ in range(self.launches):
                self.weight.mul_(1)
        x = nn.functional.linear(x, WeightWait.apply(self.weight, weight_ms))
        return InputWait.apply(x, forward_ms, input_ms)


class Block(nn.Module):
    """A transformer's block with causal attention, which waits as a layer does after its work."""

    def __init__(self):
        super().__init__()
        width, self.heads = spec["transformer"]["hidden"], spec["transformer"]["heads"]
        made = {"device": device, "dtype": dtype}
        self.norms = nn.ModuleList(nn.LayerNorm(width, **made) for _ in range(2))
        self.inputs, self.outputs, self.wider, self.narrower = (
            nn.Linear(width * before, width * after, bias=False, **made) for before, after in ((1, 3), (1, 1), (1, 4), (4, 1))
        )
        factor = spec["rank_times"].get(str(rank), 1)
        self.times = [spec[name] * factor for name in ("forward_ms", "input_ms", "weight_ms")]

    def forward(self, x):
        forward_ms, input_ms, weight_ms = self.times
        parts = self.inputs(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
        x = x + nn.functional.linear(mixed, WeightWait.apply(self.outputs.weight, weight_ms))
        x = x + self.narrower(nn.functional.gelu(self.wider(self.norms[1](x))))
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
    layers = [Block() if spec["transformer"] else Layer() for _ in range(count)]
    return layers + [Layer(spec["head"])] * bool(spec["head"] and stage == stages - 1)


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def stall():
    if spec["stall"] and spec["stall"][0] == rank:
        time.sleep(spec["stall"][1] * 1e-3)


def counted(profiled):
    """How many kernels of the GPU, and on a CPU operators `aten::linear`, a profile has."""
    events = profiled.profiler.kineto_results.events()
    if device.type == "cuda":
        on_gpu = (e for e in events if e.device_type() == torch.autograd.DeviceType.CUDA and e.duration_ns() > 0)
        return sum(not e.name().startswith("Mem") for e in on_gpu)
    return sum(e.name() == "aten::linear" for e in events)


def run_steps(run_step, batches=None):
    """Calls run_step(what comes of `batches`) for each step, and reports."""
    begins = []
    profiled = torch.profiler.profile() if spec["profile"] else None
    for number, batch in enumerate(range(spec["steps"]) if batches is None else batches):
        if device.type == "cuda":
            torch.cuda.synchronize()
        if profiled and number == spec["steps"] - 2:
            profiled.start()
        if profiled and number == spec["steps"] - 1:
            profiled.stop()
        begins.append(time.perf_counter())
        if spec["hiccup"] and spec["hiccup"][0] == rank and number % spec["hiccup"][1] == 0:
            time.sleep(spec["hiccup"][2] * 1e-3)
        run_step(batch)
        if spec["collect"] and spec["collect"][0] == rank and number % spec["collect"][1] == 0:
            Heavy(spec["collect"][2])
            gc.collect()
    counts = None
    if profiled:
        counts = [None] * ranks
        dist.all_gather_object(counts, counted(profiled))
    dist.barrier()
    if rank == 0:
        periods = sorted((b - a) * 1e3 for a, b in zip(begins[3:], begins[4:]))
        result = {"median_ms": periods[len(periods) // 2], "mean_ms": sum(periods) / len(periods)}
        print(json.dumps(result | ({"counted": counts} if counts else {})), flush=True)
    dist.destroy_process_group()
