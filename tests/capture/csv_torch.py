# A pipeline of PyTorch whose order is a file: the second argument, in PyTorch's grammar. Its stages lie in a loop. The
# fifth argument is the format: compute_only, or compute_comms with sends and receives.
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

steps, order, chunks, microbatches = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
dist.init_process_group("gloo")
torch.set_num_threads(1)
rank, size = dist.get_rank(), dist.get_world_size()


def block():
    module = nn.Module()
    module.layers = nn.Sequential(*[nn.Linear(64, 64) for _ in range(3)])
    module.forward = module.layers.forward
    return module


places = [rank + size * chunk for chunk in range(chunks)]
stages = [PipelineStage(block(), place, size * chunks, torch.device("cpu")) for place in places]
schedule = _PipelineScheduleRuntime(stages, microbatches, loss_fn=lambda y, t: ((y - t) ** 2).mean())
schedule._load_csv(order, format=sys.argv[5] if len(sys.argv) > 5 else "compute_only")
x, target = torch.randn(microbatches * 4, 64), torch.randn(microbatches * 4, 64)
for _ in range(steps):
    schedule.step(*([x] if rank == 0 else []), **({"target": target} if rank == size - 1 else {}))
dist.barrier()
dist.destroy_process_group()
