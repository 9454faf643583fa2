"""Adapter for PaddlePaddle's DualPipeV, a copy of DeepSeek's with other names."""

from . import paddle_pipeline
from .checks import Checks
from .dual_pipe import Phases, static_range, v_stage
from .events import range_around, steps

VERSIONS = paddle_pipeline.VERSIONS
identity = paddle_pipeline.identity


def _stage(pipeline, phase):
    return v_stage(pipeline.group_rank, pipeline.num_ranks, phase), phase


def prepare(module, changes, framework, version):
    kind = module.DualPipeVParallel
    phases = Phases("acc_id", _stage)
    changes.replace(kind, "_forward_compute", range_around(phases.forward))
    changes.replace(kind, "_backward_compute", range_around(phases.backward))
    changes.replace(kind, "_forward_backward_compute", range_around(phases.pair))
    changes.replace(module.WeightGradStore, "pop", static_range(phases.weight))
    phases.replace_transfers(kind, changes)
    checks, values = Checks(), paddle_pipeline.Values()
    changes.replace(kind, "_broadcast_final_loss", values.behind)

    def train(function):
        def call(self, data, *args, **kwargs):
            steps.state_once(id(self), lambda: _description(self, framework, version))
            phases.begin_step()
            steps.begin()
            checks.begin(id(self), lambda: paddle_pipeline.pairs_without_checks(self))
            loss = function(self, data, *args, **kwargs)
            paddle_pipeline.safely(values.state, self, data, loss, kwargs)
            return loss

        return call

    changes.replace(kind, "train_batch", train)


def _description(pipeline, framework, version):
    stages = [_stage(pipeline, phase)[0] for phase in (0, 1)]
    return paddle_pipeline.describe(pipeline, framework, version, "dualpipev", "paddle", stages)
