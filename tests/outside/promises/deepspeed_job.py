"""A pipeline of DeepSpeed on gloo, paced: see pacing.py."""

import os

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed  # noqa: E402, it chooses the device when it is imported
import torch  # noqa: E402
from deepspeed.pipe import LayerSpec, PipelineModule  # noqa: E402
from pacing import WIDTH, Layer, begin, loss_of, ranks, run_steps, spec, stall  # noqa: E402

SAMPLES = 4  # of a micro-batch

begin()
deepspeed.init_distributed(dist_backend="gloo")
split = spec["layers"] or [4] * ranks


class Pipeline(PipelineModule):
    """Split as asked, not evenly."""

    def _partition_layers(self, method="uniform"):
        self.parts = [sum(split[:stage]) for stage in range(ranks)] + [len(self._layer_specs)]
        stage = self._topo.get_coord(self.global_rank).pipe
        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])


layers = [LayerSpec(Layer) for _ in range(sum(split))]
if spec["head"]:
    layers.append(LayerSpec(Layer, spec["head"]))
engine, *_ = deepspeed.initialize(
    model=Pipeline(layers, num_stages=ranks, loss_fn=loss_of, activation_checkpoint_interval=0),
    config={
        "train_batch_size": SAMPLES * spec["microbatches"],
        "train_micro_batch_size_per_gpu": SAMPLES,
        "gradient_accumulation_steps": spec["microbatches"],
        "optimizer": {"type": "SGD", "params": {"lr": 1e-3}},
        "steps_per_print": 1000,
    },
)


def samples():
    batch = torch.randn(SAMPLES, WIDTH), torch.randn(SAMPLES, WIDTH)
    while True:
        yield batch


stream = samples()


def run_step(_):
    stall()
    engine.train_batch(data_iter=stream)


run_steps(run_step)
