"""PaddlePaddle's pipelines of the dynamic graph: their forward and backward steps are the ops.

A step of a chunk gets no number that is a micro-batch: each chunk takes the micro-batches of a step in their order.
"""

import importlib

from . import events
from .events import evaluation, names, range_around, steps

VERSIONS = ("3.3", "3.2")

# As the program calls them: family and flavor.
SCHEDULES = {
    "PipelineParallel": ("1f1b", None),
    "PipelineParallelWithInterleave": ("interleaved", "paddle-dynamic"),
    "PipelineParallelWithInterleaveFthenB": ("interleaved-fthenb", None),
    "VPPFhenBInBalancedMemory": ("vpp-balanced-memory", None),
}


def identity(_):
    return "PaddlePaddle", importlib.import_module("paddle.version").full_version


def prepare(module, changes, framework, version):
    counts = {}

    def numbered(letter):
        def label(self, *_, chunk_id=None, **__):
            chunk = getattr(self, "_virtual_pp_rank", None) if chunk_id is None else chunk_id
            stage = (chunk or 0) * self.num_stages + self.stage_id
            number = counts.get((letter, stage), 0)
            counts[letter, stage] = number + 1
            return names["%d" + letter + "%d", stage, number]

        return label

    kind = module.PipelineParallel
    changes.replace(kind, "_forward_step", range_around(numbered("F")))
    changes.replace(kind, "_backward_step", range_around(numbered("B")))
    changes.replace(kind, "_optimizer_step", range_around(lambda *_, **__: b"Optimizer"))
    for owner in (kind, module.PipelineParallelWithInterleave):
        changes.replace(owner, "train_batch", _train(counts, framework, version))
        changes.replace(owner, "eval_batch", evaluation)


def _train(counts, framework, version):
    def make(function):
        def call(self, *args, **kwargs):
            if type(self).__name__ not in SCHEDULES:  # a pipeline whose steps are not these, such as DualPipeV's
                steps.state_once(id(self), lambda: _unknown(self))
                return function(self, *args, **kwargs)
            counts.clear()
            steps.state_once(id(self), lambda: _description(self, framework, version))
            steps.begin()
            return function(self, *args, **kwargs)

        return call

    return make


def _unknown(pipeline):
    events.message("%s of PaddlePaddle is recorded without names of ops" % type(pipeline).__name__)
    return {}


def _description(pipeline, framework, version):
    grid = pipeline._hcg
    called = type(pipeline).__name__
    family, flavor = SCHEDULES[called]
    said = {"framework": framework, "version": version, "schedule": called, "family": family, "flavor": flavor}
    said["rank"] = pipeline.global_rank
    said["pp"] = "%d/%d" % (pipeline.stage_id, pipeline.num_stages)
    said["dp"] = "%d/%d" % (grid.get_data_parallel_rank(), grid.get_data_parallel_world_size())
    said["tp"] = "%d/%d" % (grid.get_model_parallel_rank(), grid.get_model_parallel_world_size())
    return said
