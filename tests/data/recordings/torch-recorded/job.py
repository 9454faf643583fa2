# Two replicas of a pipeline of two stages that reads tokens: 3 steps.
import torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
torch.set_num_threads(1)
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "pp"))
group = mesh["pp"].get_group(); r = dist.get_rank(group); torch.manual_seed(dist.get_rank())
class First(nn.Module):
    def __init__(s): super().__init__(); s.e = nn.Embedding(64, 32); s.l = nn.Sequential(*[nn.Linear(32, 32) for _ in range(2)])
    def forward(s, x): return s.l(s.e(x))
class Last(nn.Module):
    def __init__(s): super().__init__(); s.l = nn.Sequential(*[nn.Linear(32, 32) for _ in range(2)]); s.h = nn.Linear(32, 64)
    def forward(s, x): return s.h(s.l(x))
stage = PipelineStage(First() if r == 0 else Last(), r, 2, torch.device("cpu"), group=group)
s = Schedule1F1B(stage, 4, loss_fn=lambda y, t: nn.functional.cross_entropy(y.flatten(0, 1), t.flatten()))
opt = torch.optim.SGD(stage.submod.parameters(), 1e-2)
x = torch.randint(64, (8, 16)); t = torch.randint(64, (8, 16))
for i in range(3):
    opt.zero_grad()
    s.step(x) if r == 0 else s.step(target=t)
    opt.step()
dist.destroy_process_group()
