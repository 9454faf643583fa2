"""A small pipeline in PyTorch on one GPU, for a recording to be held against the framework's own profiler.

    torch_job.py STEPS          trains, and prints the median time of a step
    torch_job.py --count STEPS  also counts the kernels of these steps with torch.profiler, and prints their number

Four stages in one process, each with a stream of its own; the micro-batches follow each other through them. Every step
launches the same kernels. So what a recording of some steps has more than one of none, which warms up and ends, is what
torch.profiler counts in these steps.
"""

import statistics
import sys
import time

import torch
from torch import nn

STAGES, MICROBATCHES, WIDTH, ROWS, WARM_UP = 4, 8, 1024, 2048, 3


def build():
    torch.manual_seed(1)
    stages = [
        nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)).cuda()
        for _ in range(STAGES)
    ]
    parameters = [parameter for stage in stages for parameter in stage.parameters()]
    return stages, torch.optim.SGD(parameters, lr=1e-4), [torch.cuda.Stream() for _ in range(STAGES)]


def step(number, stages, optimizer, streams, inputs):
    torch.cuda.nvtx.range_push(f"step {number}")
    losses = []
    for m in range(MICROBATCHES):
        values = inputs[m]
        for rank, stage in enumerate(stages):
            streams[rank].wait_stream(streams[rank - 1] if rank else torch.cuda.current_stream())
            with torch.cuda.stream(streams[rank]):
                torch.cuda.nvtx.range_push(f"F{m}")
                values = stage(values)
                torch.cuda.nvtx.range_pop()
        losses.append(values.square().mean())
    torch.cuda.synchronize()
    for loss in losses:
        loss.backward()
    torch.cuda.synchronize()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()


def kernels_in(profiled):
    cuda = torch.autograd.DeviceType.CUDA
    events = profiled.profiler.kineto_results.events()
    return sum(1 for e in events if e.device_type() == cuda and not e.name().startswith("Mem") and e.duration_ns() > 0)


def main(arguments):
    count = arguments[:1] == ["--count"]
    steps = int(arguments[-1])
    model = build()
    inputs = [torch.randn(ROWS, WIDTH, device="cuda") for _ in range(MICROBATCHES)]
    for number in range(WARM_UP):
        step(number, *model, inputs)
    times = []
    profiled = None
    if count:
        activities = [torch.profiler.ProfilerActivity.CUDA]
        profiled = torch.profiler.profile(activities=activities)
        profiled.start()
    for number in range(steps):
        began = time.perf_counter()
        step(WARM_UP + number, *model, inputs)
        times.append(time.perf_counter() - began)
    if profiled is not None:
        profiled.stop()
        print(f"kernels {kernels_in(profiled)}")
    if times:
        print(f"step_ms {1e3 * statistics.median(times):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
