"""DeepSpeed's pipeline engine: the instructions of its stream are the ops and transfers.

An instruction names a buffer, not a micro-batch: each kind takes the micro-batches of a step in their order.
"""

import importlib

from . import events
from .events import steps

VERSIONS = ("0.19", "0.18")

SPELLINGS = {
    "ForwardPass": "%dF%d",
    "BackwardPass": "%dB%d",
    "SendActivation": "%dSEND_F%d",
    "RecvActivation": "%dRECV_F%d",
    "SendGrad": "%dSEND_B%d",
    "RecvGrad": "%dRECV_B%d",
}
OTHERS = {"OptimizerStep": b"Optimizer", "ReduceGrads": b"REDUCE_GRAD", "ReduceTiedGrads": b"REDUCE_TIED_GRAD"}


def identity(_):
    # The package itself is not finished while it loads this module.
    return "DeepSpeed", importlib.import_module("deepspeed.git_version_info").version


def prepare(engine, changes, framework, version):
    kind = engine.PipelineEngine
    counts = {}

    def instructions(before):
        after = {}
        for instruction, function in before.items():
            called = instruction.__name__
            if called in SPELLINGS:
                after[instruction] = _counted(function, SPELLINGS[called], counts)
            elif called in OTHERS:
                after[instruction] = _named(function, OTHERS[called])
            else:
                after[instruction] = function
        return after

    changes.replace(kind, "_INSTRUCTION_MAP", instructions)
    changes.replace(kind, "train_batch", _train(counts, framework, version))
    changes.replace(kind, "eval_batch", _evaluate)


def _run(label, function, args, kwargs):
    events.push(label)
    steps.inside += 1
    try:
        return function(*args, **kwargs)
    finally:
        steps.inside -= 1
        events.pop()


def _counted(function, spelling, counts):
    def call(self, *args, **kwargs):
        if not steps.active:
            return function(self, *args, **kwargs)
        number = counts.get(spelling, 0)
        counts[spelling] = number + 1
        return _run((spelling % (self.stage_id, number)).encode(), function, (self, *args), kwargs)

    return call


def _named(function, label):
    def call(*args, **kwargs):
        if not steps.active:
            return function(*args, **kwargs)
        return _run(label, function, args, kwargs)

    return call


def _train(counts, framework, version):
    def make(function):
        def call(self, *args, **kwargs):
            counts.clear()
            steps.state_once(id(self), lambda: _description(self, framework, version))
            steps.begin()
            return function(self, *args, **kwargs)

        return call

    return make


def _evaluate(function):
    def call(*args, **kwargs):
        steps.pause()
        return function(*args, **kwargs)

    return call


def _description(engine, framework, version):
    grid = engine.grid
    said = {"framework": framework, "version": version, "schedule": "TrainSchedule", "family": "1f1b"}
    said["rank"] = engine.global_rank
    said["pp"] = "%d/%d" % (engine.stage_id, engine.num_stages)
    said["dp"] = "%d/%d" % (grid.get_data_parallel_id(), grid.get_data_parallel_world_size())
    said["tp"] = "%d/%d" % (grid.get_slice_parallel_rank(), grid.get_slice_parallel_world_size())
    return said
