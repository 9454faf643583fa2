# A pipeline of Megatron-core on the CPU whose rank 0 computes a wrong bit now and then, forward in one layer and backward in
# another one: STEPS [CHUNKS]. The last rank prints the loss of the last step, which a recording should hold.
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.overrides import TorchFunctionMode

torch.cuda.current_device = lambda: torch.device("cpu")
torch.cuda.synchronize = lambda *_, **__: None


class OnCpu(TorchFunctionMode):
    """Tensors that the framework makes for a GPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if "cuda" in str(kwargs.get("device", "")):
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


OnCpu().__enter__()
dist.init_process_group("gloo")
torch.set_num_threads(1)

from megatron.core import parallel_state  # noqa: E402
from megatron.core.enums import ModelType  # noqa: E402
from megatron.core.model_parallel_config import ModelParallelConfig  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402

WIDTH, MICROBATCHES, SEQUENCE = 64, 8, 16
steps, chunks = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
ranks = dist.get_world_size()
virtual = chunks if chunks > 1 else None
parallel_state.initialize_model_parallel(1, ranks, virtual_pipeline_model_parallel_size=virtual)
config = ModelParallelConfig(
    pipeline_model_parallel_size=ranks, virtual_pipeline_model_parallel_size=virtual, pipeline_dtype=torch.float32
)
config.hidden_size = WIDTH
for name in ("fine_grained_activation_offloading", "calculate_per_token_loss", "cuda_graph_impl", "mtp_num_layers",
             "overlap_moe_expert_parallel_comm"):
    setattr(config, name, False)
finalized = []
config.finalize_model_grads_func = lambda *_, **__: finalized.append(1)
executions = {"forward": 0, "backward": 0}


def is_wrong(direction):
    executions[direction] += 1
    return executions[direction] > 150 and executions[direction] % 5 == 0 and dist.get_rank() == 0


class Flipping(nn.Module):
    def forward(self, x):
        y = x * 1.5
        if is_wrong("forward"):
            y.detach().view(-1)[-1:].view(torch.int32)[0] ^= 1 << 3
        return y


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        if is_wrong("backward"):
            gradient.view(-1)[-1:].view(torch.int32)[0] ^= 1 << 4
        return gradient


class FlippingBackward(nn.Module):
    def forward(self, x):
        return Same.apply(x)


class Chunk(nn.Module):
    def __init__(self):
        super().__init__()
        usual = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(2)]
        self.layers = nn.Sequential(usual[0], Flipping(), FlippingBackward(), usual[1], nn.Dropout(0.1))
        self.given, self.config, self.model_type = None, config, ModelType.encoder_or_decoder

    def set_input_tensor(self, tensor):
        self.given = tensor[0] if isinstance(tensor, list) else tensor

    def forward(self, x):
        return self.layers(x if self.given is None else self.given)


torch.manual_seed(3 + dist.get_rank())
models = [Chunk() for _ in range(chunks)]
optimizer = torch.optim.SGD([weight for model in models for weight in model.parameters()], 1e-3)
losses = []


def forward(_, model):
    def loss(output):
        losses.append((output**2).mean())
        return losses[-1].clone(), {"loss": 0.0}

    return model(torch.ones(SEQUENCE, 1, WIDTH)), loss


for _ in range(steps):
    optimizer.zero_grad()
    del losses[:]
    get_forward_backward_func()(
        forward_step_func=forward,
        data_iterator=[iter(()) for _ in models] if chunks > 1 else iter(()),
        model=models if chunks > 1 else models[0],
        num_microbatches=MICROBATCHES,
        seq_length=SEQUENCE,
        micro_batch_size=1,
        decoder_seq_length=SEQUENCE,
        forward_only=False,
    )
    optimizer.step()
assert len(finalized) == steps
if losses:
    print("loss %.6f" % (sum(losses).item() / len(losses)), flush=True)
dist.barrier()
dist.destroy_process_group()
