"""Megatron-core: forward_step and backward_step are the ops of all its schedules, P2PCommunicator carries the transfers.

A backward step gets no number: it is known by the output that it starts from. A receive gets none either: they come in
the order in which the schedule uses them.
"""

import importlib
import sys

from . import events
from .events import steps

VERSIONS = ("0.16", "0.15")

_FORWARD_BACKWARD = {
    "forward_backward_no_pipelining": ("fthenb", None),
    "forward_backward_pipelining_without_interleaving": ("1f1b", None),
    "forward_backward_pipelining_with_interleaving": ("interleaved", "megatron"),
}


def identity(_):
    # The package itself is not finished while it loads this module.
    return "megatron-core", importlib.import_module("megatron.core.package_info").__version__


class _Pipeline:
    """What is on its way in the step that runs."""

    def __init__(self):
        self.rank = 0
        self.size = 1
        self.outputs = {}  # id of a forward's output, or of the gradient that a backward made: (stage, micro-batch)
        self.receives_forward = iter(())
        self.receives_backward = iter(())

    def begin(self, rank, size, order):
        self.rank, self.size = rank, size
        self.outputs = {}
        chunks = 1 + max((chunk for _, chunk in order), default=0)
        last = size * chunks - 1
        forward = [(chunk * size + rank, microbatch) for microbatch, chunk in order]
        backward = [((chunks - 1 - chunk) * size + rank, microbatch) for microbatch, chunk in order]
        self.receives_forward = iter([label for label in forward if label[0] > 0])
        self.receives_backward = iter([label for label in backward if label[0] < last])


pipeline = _Pipeline()


def _first(tensors):
    return tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors


def prepare(schedules, changes, framework, version):
    p2p = sys.modules["megatron.core.pipeline_parallel.p2p_communication"]
    changes.replace(schedules, "forward_step", _forward)
    changes.replace(schedules, "backward_step", _backward)
    changes.replace(p2p.P2PCommunicator, "_communicate", _communicate)
    watch = [events.watch_optimizers]
    for function, known in _FORWARD_BACKWARD.items():
        changes.replace(schedules, function, _step(schedules, watch, framework, version, known))


def _forward(function):
    def call(*args, **kwargs):
        microbatch = kwargs.get("current_microbatch")
        if not steps.active or steps.inside or microbatch is None:
            return function(*args, **kwargs)
        label = ((kwargs.get("vp_stage") or 0) * pipeline.size + pipeline.rank, microbatch)
        events.push(b"%dF%d" % label)
        steps.inside = 1
        try:
            result = function(*args, **kwargs)
        finally:
            steps.inside = 0
            events.pop()
        pipeline.outputs[id(_first(result[0]))] = label
        return result

    return call


def _backward(function):
    def call(input_tensor, output_tensor, *args, **kwargs):
        label = pipeline.outputs.pop(id(_first(output_tensor)), None) if steps.active else None
        if label is None or steps.inside:
            return function(input_tensor, output_tensor, *args, **kwargs)
        events.push(b"%dB%d" % label)
        steps.inside = 1
        try:
            result = function(input_tensor, output_tensor, *args, **kwargs)
        finally:
            steps.inside = 0
            events.pop()
        pipeline.outputs[id(_first(result))] = label
        return result

    return call


class _Waited:
    """A request whose wait shows when its data arrived."""

    def __init__(self, request, label):
        self._request = request
        self._label = label

    def wait(self, *args, **kwargs):
        events.push(self._label)
        try:
            return self._request.wait(*args, **kwargs)
        finally:
            events.pop()

    def __getattr__(self, attribute):
        return getattr(self._request, attribute)


def _sent(tensor, spelling, labels):
    label = pipeline.outputs.get(id(tensor)) if tensor is not None else None
    if label is not None:
        labels.append((spelling % label, tensor.nbytes))


def _received(wanted, order, spelling):
    label = next(order, None) if wanted else None
    return None if label is None else spelling % label


def _communicate(function):
    """Sends and receives of one call go together, and the call waits for all of them unless it is told not to."""

    def call(self, *args, **kwargs):
        if not steps.active:
            return function(self, *args, **kwargs)
        labels = []
        _sent(kwargs.get("tensor_send_next"), b"%dSEND_F%d", labels)
        _sent(kwargs.get("tensor_send_prev"), b"%dSEND_B%d", labels)
        forward = _received(kwargs.get("recv_prev"), pipeline.receives_forward, b"%dRECV_F%d")
        backward = _received(kwargs.get("recv_next"), pipeline.receives_backward, b"%dRECV_B%d")
        waits = kwargs.get("wait_on_reqs", True)
        if waits:
            labels += [(label, 0) for label in (forward, backward) if label is not None]
        for label, size in labels:
            events.push_bytes(label, size) if size else events.push(label)
        try:
            result = function(self, *args, **kwargs)
        finally:
            for _ in labels:
                events.pop()
        if not waits and len(result) == 3 and isinstance(result[2], dict):
            for key, label in (("recv_prev", forward), ("recv_next", backward)):
                if label is not None and key in result[2]:
                    result[2][key] = _Waited(result[2][key], label)
        return result

    return call


def _order(schedules, models, microbatches, config):
    """(micro-batch, chunk) of each forward, in the schedule's order."""
    chunks = len(models) if isinstance(models, list) else 1
    if chunks == 1:
        return [(microbatch, 0) for microbatch in range(microbatches)]
    return schedules.get_schedule_table(microbatches, chunks, config.microbatch_group_size_per_vp_stage)


def _axis(state, name):
    try:
        rank = getattr(state, "get_%s_rank" % name)()
        return "%d/%d" % (rank, getattr(state, "get_%s_world_size" % name)())
    except Exception:  # noqa: BLE001: an axis that the job does not have
        return None


def _step(schedules, watch, framework, version, known):
    state = sys.modules["megatron.core.parallel_state"]

    def describe(called, models):
        chunks = models if isinstance(models, list) else [models]
        try:
            layers = events.stage_layers(
                [(chunk * pipeline.size + pipeline.rank, model) for chunk, model in enumerate(chunks)]
            )
        except Exception:  # noqa: BLE001: models of another kind
            layers = None
        return {
            "layers": layers,
            "framework": framework,
            "version": version,
            "schedule": called,
            "family": known[0],
            "flavor": known[1],
            "rank": sys.modules["torch.distributed"].get_rank(),
            "pp": "%d/%d" % (pipeline.rank, pipeline.size),
            "tp": _axis(state, "tensor_model_parallel"),
            "dp": _axis(state, "data_parallel"),
            "cp": _axis(state, "context_parallel"),
            "ep": _axis(state, "expert_model_parallel"),
        }

    def make(function):
        called = function.__name__

        def call(*args, **kwargs):
            if watch:
                watch.pop()()
            try:
                if kwargs.get("forward_only"):
                    steps.pause()
                else:
                    models = kwargs["model"]
                    config = sys.modules["megatron.core.utils"].get_model_config(_first(models))
                    rank = state.get_pipeline_model_parallel_rank()
                    size = state.get_pipeline_model_parallel_world_size()
                    pipeline.begin(rank, size, _order(schedules, models, kwargs["num_microbatches"], config))
                    steps.state_once(called, lambda: describe(called, models))
                    steps.begin()
            except Exception as problem:  # noqa: BLE001: a call of another kind
                steps.pause()
                events.message("a step of %s has no names: %s: %s" % (called, type(problem).__name__, problem))
            return function(*args, **kwargs)

        return call

    return make
