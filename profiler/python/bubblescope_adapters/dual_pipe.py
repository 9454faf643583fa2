"""Adapter for DeepSeek's `dualpipe` package, and the parts that its copy in PaddlePaddle shares.

A rank has two phases: with DualPipeV, the two chunks of a model; with DualPipe, one stage of each of two copies, whose
micro-batches go in opposite directions. Counters contain the next micro-batch of each phase. Weight gradients run in the
order in which they were deferred."""

import sys

from . import events
from .events import Range, names, range_around, steps
from .step_values import StepValues, first_tensor

VERSIONS = ("1.0",)


def identity(_):
    return "DualPipe", getattr(sys.modules["dualpipe"], "__version__", "1.0.0")


class Phases:
    """The ops and transfers of a program. `counter` is the ending of the names of its counters, and `stage_of` returns the
    stage and the index into the counters for a pipeline and a phase."""

    def __init__(self, counter, stage_of):
        self._counter = counter
        self._stage_of = stage_of
        self._deferred = []  # labels of input gradients whose weight gradients have not run
        self._transfers = []  # names of the transfers in the next batch

    def begin_step(self):
        self._deferred, self._transfers = [], []

    def _label(self, pipeline, phase, way):
        stage, index = self._stage_of(pipeline, phase)
        return stage, getattr(pipeline, "current_%s_%s" % (way, self._counter))[index]

    def forward(self, pipeline, phase, *_, **__):
        return names[("%dF%d",) + self._label(pipeline, phase, "f")]

    def backward(self, pipeline, phase, enable_zb=False, **_):
        if pipeline.forward_only:
            return None
        label = self._label(pipeline, phase, "b")
        if enable_zb:
            self._deferred.append(label)
        return names[("%dI%d" if enable_zb else "%dB%d",) + label]

    def pair(self, pipeline, forward_phase, backward_phase, *_, **__):
        """None if the program calls both halves one after the other, which then are ops of their own."""
        if pipeline.forward_only or not pipeline.overlapped_forward_backward:
            return None
        return events.pair_name(self._label(pipeline, forward_phase, "f"), self._label(pipeline, backward_phase, "b"))

    def weight(self, *_, **__):
        return names[("%dW%d",) + self._deferred.pop(0)] if self._deferred else None

    def transfer(self, way, spelling):
        """For Changes.replace(): a method that adds a transfer to the next batch, unless there is none at this stage."""

        def make(function):
            def call(pipeline, phase, *args, **kwargs):
                if not steps.active:
                    return function(pipeline, phase, *args, **kwargs)
                label = self._label(pipeline, phase, way)
                result = function(pipeline, phase, *args, **kwargs)
                if self._label(pipeline, phase, way) != label:
                    self._transfers.append(names[(spelling,) + label])
                return result

            return call

        return make

    def batch(self, function):
        """For Changes.replace(): the method that issues the transfers and waits for them."""

        def call(pipeline, *args, **kwargs):
            batch, self._transfers = self._transfers, []
            for name in batch:
                events.push(name)
            try:
                return function(pipeline, *args, **kwargs)
            finally:
                for _ in batch:
                    events.pop()

        return call

    def replace_transfers(self, kind, changes):
        for method, way, spelling in (
            ("_send_forward", "send_f", "%dSEND_F%d"),
            ("_send_backward", "send_b", "%dSEND_B%d"),
            ("_recv_forward", "recv_f", "%dRECV_F%d"),
            ("_recv_backward", "recv_b", "%dRECV_B%d"),
        ):
            changes.replace(kind, method, self.transfer(way, spelling))
        changes.replace(kind, "_commit_and_wait_comm", self.batch)


def static_range(name_of):
    """range_around() for a class method that is replaced by a static one."""

    def make(function):
        return staticmethod(range_around(name_of)(function))

    return make


def v_stage(pipeline_rank, ranks, phase):
    """Stage of a phase with the placement of DualPipeV."""
    return pipeline_rank if phase == 0 else 2 * ranks - 1 - pipeline_rank


def _stage_of_v(pipeline, phase):
    return v_stage(pipeline.rank, pipeline.num_ranks, phase), phase


def _stage_of_both(pipeline, phase):
    """DualPipe's phase 0 goes away from the end of the ranks that is closer. Stages of the two copies alternate."""
    way = phase ^ int(pipeline.is_in_second_half)
    place = pipeline.rank if way == 0 else pipeline.num_ranks - 1 - pipeline.rank
    return 2 * place + way, way


_watch = [events.watch_host]  # once, although two modules are adapted


def prepare(module, changes, framework, version):
    both = hasattr(module, "DualPipe")
    kind = module.DualPipe if both else module.DualPipeV
    phases = Phases("chunk_id", _stage_of_both if both else _stage_of_v)
    changes.replace(kind, "_forward_compute_chunk", range_around(phases.forward))
    changes.replace(kind, "_backward_compute_chunk", range_around(phases.backward))
    changes.replace(kind, "_forward_backward_compute_chunk", range_around(phases.pair))
    changes.replace(module.WeightGradStore, "pop", static_range(phases.weight))
    phases.replace_transfers(kind, changes)
    changes.replace(kind, "step", _step(phases, both, framework, version))


def _step(phases, both, framework, version):
    values = StepValues()

    def make(function):
        def call(self, *inputs, **kwargs):
            if _watch:
                _watch.pop()()
            if not sys.modules["torch"].is_grad_enabled():
                steps.pause()
                return function(self, *inputs, **kwargs)
            steps.state_once(id(self), lambda: _description(self, both, framework, version))
            phases.begin_step()
            steps.begin()
            result = function(self, *inputs, **kwargs)
            if not both:  # each end of DualPipe has the loss of half the micro-batches
                losses = [] if result[0] is None else [result[0].mean()]
                values.state(steps.number, losses, first_tensor(inputs))
            return result

        return call

    return make


def _description(pipeline, both, framework, version):
    said = {"framework": framework, "version": version, "schedule": type(pipeline).__name__}
    said["family"], said["flavor"] = ("dualpipe", None) if both else ("dualpipev", "deepseek")
    said["rank"] = sys.modules["torch.distributed"].get_rank()
    said["pp"] = "%d/%d" % (pipeline.rank, pipeline.num_ranks)
    if not both:
        stages = [(_stage_of_v(pipeline, phase)[0], pipeline.module[phase]) for phase in (0, 1)]
        try:
            said["layers"] = events.stage_layers(stages)
        except Exception:  # noqa: BLE001: a module of another kind
            pass
    return said
