# A pipeline of two ranks with layers that drop out, keep statistics, are not deterministic, count their calls, draw from
# a generator of their own or from Python's, communicate, use another library or add up their gradients, one that computes a wrong bit on rank 0 now and then, and one
# whose gradient has a wrong bit there. The error is in a column that no weight depends on: the weights at the end are
# equal, whatever a recording repeats in between.
import random
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

WIDTH, MICROBATCHES = 64, 4
executions = {"forward": 0, "backward": 0}


def is_wrong(direction):
    """Now and then, but for the first steps, in which layers show whether they are deterministic."""
    executions[direction] += 1
    return executions[direction] > 90 and executions[direction] % 5 == 0 and dist.get_rank() == 0


class Usual(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Dropout(0.1))


class Noisy(nn.Module):
    def forward(self, x):
        y = x.clone()
        y.detach()[0, -1] = float(time.monotonic_ns() % 1000003)
        return y


class Counting(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 1.5


class Talking(nn.Module):
    def __init__(self, alone):
        super().__init__()
        self.alone = alone

    def forward(self, x):
        total = x.detach().sum()
        dist.all_reduce(total, group=self.alone)
        return x + 0 * total


class Flipping(nn.Module):
    def forward(self, x):
        y = x * 2
        if is_wrong("forward"):
            y.detach()[0, -1:].view(torch.int32)[0] ^= 1 << 20
        return y


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient * 2
        if is_wrong("backward"):
            gradient[0, -1:].view(torch.int32)[0] ^= 1 << 21
        return gradient


class FlippingBackward(nn.Module):
    def forward(self, x):
        return Twice.apply(x)


class Spare(nn.Module):
    def forward(self, x):
        return torch.cat([x[:, :-1], torch.ones_like(x[:, -1:])], 1)


class Drawing(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(5)

    def forward(self, x):
        return x + 0.1 * torch.rand(x.shape, generator=self.generator)


class Scaling(nn.Module):
    def forward(self, x):
        return x * (1 + 0.1 * random.random())


@torch.library.custom_op("shop::scale", mutates_args=())
def scale(x: torch.Tensor) -> torch.Tensor:
    return 1.25 * x


scale.register_autograd(lambda ctx, gradient: 1.25 * gradient)


class Foreign(nn.Module):
    def forward(self, x):
        return scale(x)


class AddsUp(nn.Linear):
    gradient_accumulation_fusion = True  # as in Megatron-core's layers


dist.init_process_group("gloo")
torch.set_num_threads(1)
rank, size, steps = dist.get_rank(), dist.get_world_size(), int(sys.argv[1])
alone = [dist.new_group([r]) for r in range(size)][rank]
torch.manual_seed(7 + rank)
random.seed(11 + rank)
body = [Usual(), nn.BatchNorm1d(WIDTH), Noisy(), Counting(), Talking(alone), Flipping(), Spare(), FlippingBackward()]
body += [Drawing(), Usual(), Scaling(), Foreign(), AddsUp(WIDTH, WIDTH)]
module = nn.Module()
module.body = nn.Sequential(*body)
module.forward = module.body.forward
stage = PipelineStage(module, rank, size, torch.device("cpu"))
schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=lambda y, t: ((y - t) ** 2).mean())
optimizer = torch.optim.SGD(module.parameters(), 1e-3)
x, target = torch.ones(MICROBATCHES * 16, WIDTH), torch.zeros(MICROBATCHES * 16, WIDTH)
for _ in range(steps):
    optimizer.zero_grad()
    schedule.step(*([x] if rank == 0 else []), **({"target": target} if rank == size - 1 else {}))
    norm = torch.stack([weight.grad.square().sum() for weight in module.parameters()]).sum()
    dist.all_reduce(norm)  # the only wait of the last rank after its first forward
    optimizer.step()
weights = torch.cat([weight.detach().view(-1) for weight in module.parameters()]).view(torch.int32)
if rank == 0:
    print("weights", weights.long().mul(torch.arange(1, weights.numel() + 1)).sum().item(), flush=True)
dist.barrier()
dist.destroy_process_group()
