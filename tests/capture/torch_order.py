"""Trains a small model with PyTorch's pipelining in the order of a schedule file.

    torchrun --nproc-per-node P torch_order.py ORDER.csv NAME MICROBATCHES STEPS

NAME is the schedule's name that torchtitan needs in addition to the file: it decides which rank holds which stage.
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

WIDTH = 256
BATCH = 16


def local_stages(name, rank, ranks, chunks):
    if name == "ZBVZeroBubble":
        return [rank, 2 * ranks - 1 - rank]
    return [rank + chunk * ranks for chunk in range(chunks)]


def main(path, name, microbatches, steps):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    with open(path) as lines:
        cells = [cell for line in lines for cell in line.strip().split(",") if cell]
    total = 1 + max(int(cell.split("F")[0]) for cell in cells if "F" in cell and "(" not in cell)
    stages = []
    for index in local_stages(name, rank, ranks, total // ranks):
        layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()) for _ in range(1 + index % 3)]
        stages.append(PipelineStage(torch.nn.Sequential(*layers), index, total, torch.device("cpu")))
    schedule = _PipelineScheduleRuntime(stages, microbatches, loss_fn=lambda y, t: ((y - t) ** 2).mean())
    schedule._load_csv(path)
    optimizer = torch.optim.SGD([p for stage in stages for p in stage.submod.parameters()], 1e-3)
    inputs = torch.randn(microbatches * BATCH, WIDTH)
    held = {stage.stage_index for stage in stages}
    for _ in range(steps):
        optimizer.zero_grad()
        arguments = (inputs,) if 0 in held else ()
        target = {"target": inputs} if total - 1 in held else {}
        schedule.step(*arguments, **target)
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
