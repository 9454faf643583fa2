"""Adapter for DeepSpeed's pipeline engine: the instructions in its stream are the ops and transfers.

An instruction contains a buffer instead of a micro-batch, but each kind of instruction processes the micro-batches of a step
in order."""

import importlib

from .events import Range, evaluation, names, steps
from .step_values import StepValues, first_tensor, sizes

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
    # While the package loads this module, the package is incomplete.
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
    changes.replace(kind, "eval_batch", evaluation)


def _counted(function, spelling, counts):
    def call(self, *args, **kwargs):
        if not steps.active:
            return function(self, *args, **kwargs)
        number = counts.get(spelling, 0)
        counts[spelling] = number + 1
        with Range(names[spelling, self.stage_id, number]):
            return function(self, *args, **kwargs)

    return call


def _named(function, label):
    def call(*args, **kwargs):
        if not steps.active:
            return function(*args, **kwargs)
        with Range(label):
            return function(*args, **kwargs)

    return call


def _values(engine, loss):
    """Arguments of StepValues.state() after the step. Every stage has the loss; only the last stage reports
    it."""
    known = {}
    if engine.is_first_stage():
        inputs = first_tensor([batch for batch in engine.pipe_buffers.get("inputs", []) if batch is not None])
        known = {kind: count for kind, count in sizes(inputs).items() if kind != "samples"}
        if "tokens" in known:
            known["tokens"] *= engine.micro_batches
        known["samples"] = engine.micro_batches * engine.train_micro_batch_size_per_gpu()
    if engine.is_last_stage() and loss is not None:
        known["losses"] = [loss]
    return known


def _train(counts, framework, version):
    values = StepValues()

    def make(function):
        def call(self, *args, **kwargs):
            counts.clear()
            steps.state_once(id(self), lambda: _description(self, framework, version))
            steps.begin()
            loss = function(self, *args, **kwargs)
            values.state_as(steps.number, lambda: _values(self, loss))
            return loss

        return call

    return make


def _description(engine, framework, version):
    grid = engine.grid
    said = {"framework": framework, "version": version, "schedule": "TrainSchedule", "family": "1f1b"}
    said["rank"] = engine.global_rank
    parts = getattr(getattr(engine, "module", None), "parts", None)
    if parts:
        said["layers"] = "%d:%d" % (engine.stage_id, parts[engine.stage_id + 1] - parts[engine.stage_id])
    said["pp"] = "%d/%d" % (engine.stage_id, engine.num_stages)
    said["dp"] = "%d/%d" % (grid.get_data_parallel_id(), grid.get_data_parallel_world_size())
    said["tp"] = "%d/%d" % (grid.get_slice_parallel_rank(), grid.get_slice_parallel_world_size())
    return said
