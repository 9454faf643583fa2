"""A pipeline of megatron-core on gloo, paced: see pacing.py. Its schedules and its transfers are used as they are; only
the tensors that it makes for a GPU are made on the CPU."""

import torch
import torch.distributed as dist
from pacing import WIDTH, begin, layers_of, rank, ranks, run_steps, spec, stall
from torch import nn
from torch.overrides import TorchFunctionMode


class MadeOnCpu(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if "cuda" in str(kwargs.get("device", "")):
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


torch.cuda.current_device = lambda: torch.device("cpu")
torch.cuda.synchronize = lambda *_, **__: None
MadeOnCpu().__enter__()
begin()
dist.init_process_group("gloo")

from megatron.core import parallel_state  # noqa: E402, it asks for the device when it is imported
from megatron.core.enums import ModelType  # noqa: E402
from megatron.core.model_parallel_config import ModelParallelConfig  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402

chunks = {"1f1b": 1, "interleaved": 2}[spec["schedule"]]
virtual = chunks if chunks > 1 else None
parallel_state.initialize_model_parallel(1, ranks, virtual_pipeline_model_parallel_size=virtual)
config = ModelParallelConfig(
    pipeline_model_parallel_size=ranks,
    virtual_pipeline_model_parallel_size=virtual,
    pipeline_dtype=torch.float32,
)
config.hidden_size = WIDTH
# The fields of a transformer's configuration that its schedules need; this is not a transformer.
for name in (
    "fine_grained_activation_offloading",
    "calculate_per_token_loss",
    "cuda_graph_impl",
    "mtp_num_layers",
    "overlap_moe_expert_parallel_comm",
):
    setattr(config, name, False)


class Chunk(nn.Module):
    def __init__(self, stage):
        super().__init__()
        self.layers = nn.Sequential(*layers_of(stage, ranks * chunks))
        self.config = config
        self.model_type = ModelType.encoder_or_decoder
        self.received = None

    def set_input_tensor(self, tensor):
        self.received = tensor[0] if isinstance(tensor, list) else tensor

    def forward(self, samples):
        return self.layers(samples if self.received is None else self.received)


models = [Chunk(rank + chunk * ranks) for chunk in range(chunks)]
optimizer = torch.optim.SGD([p for model in models for p in model.parameters()], 1e-3)
run_schedule = get_forward_backward_func()


def forward_step(_, model):
    return model(torch.randn(16, 1, WIDTH)), lambda output: ((output**2).mean(), {})


def run_step(_):
    stall()
    optimizer.zero_grad()
    run_schedule(
        forward_step_func=forward_step,
        data_iterator=[iter(()) for _ in models] if chunks > 1 else iter(()),
        model=models if chunks > 1 else models[0],
        num_microbatches=spec["microbatches"],
        seq_length=16,
        micro_batch_size=1,
        decoder_seq_length=16,
        forward_only=False,
    )
    optimizer.step()


run_steps(run_step)
