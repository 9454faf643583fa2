"""Adapter for Megatron-core: forward_step and backward_step are the ops of all its schedules, and P2PCommunicator performs
the transfers.

With overlap_moe_expert_parallel_comm, combined_forward_backward_step runs both instead, as a pair in the steady phase. NVTX
ranges of Megatron-core mark its parts.

A backward step has no micro-batch number, so it is identified by the output from which it starts. Receives are identified by
their order, which is the order in which the schedule uses them. The output of a forward step on the last stage is the loss,
divided by the number of micro-batches."""

import importlib
import sys

from . import events
from .checks import Checks
from .events import steps
from .exchanges import InFlight, first
from .step_values import StepValues

VERSIONS = ("0.16", "0.15")

_FORWARD_BACKWARD = {
    "forward_backward_no_pipelining": ("fthenb", None),
    "forward_backward_pipelining_without_interleaving": ("1f1b", None),
    "forward_backward_pipelining_with_interleaving": ("interleaved", "megatron"),
}
_COMBINED = {"fthenb": ("1f1b-overlap", "combined"), "interleaved": ("interleaved-overlap", None)}


def identity(_):
    # While the package loads this module, the package is incomplete.
    return "megatron-core", importlib.import_module("megatron.core.package_info").__version__


class _Pipeline(InFlight):
    """Transfers in progress in the current step, and the losses of the micro-batches on the last stage with their token
    counts, as tensors."""

    def __init__(self):
        super().__init__()
        self.losses = []

    def begin_step(self, rank, size, order):
        """`order` lists the (micro-batch, chunk) of each forward; backwards use the chunks in reverse."""
        chunks = 1 + max((chunk for _, chunk in order), default=0)
        self.begin(rank, size, chunks, order, [(microbatch, chunks - 1 - chunk) for microbatch, chunk in order])
        self.losses = []


pipeline = _Pipeline()


def prepare(schedules, changes, framework, version):
    p2p = sys.modules["megatron.core.pipeline_parallel.p2p_communication"]
    checks, values = Checks(), StepValues()
    changes.replace(schedules, "forward_step", checks.around(_forward_op, _forward))
    changes.replace(schedules, "backward_step", checks.around(_backward_op, _backward))
    combined = sys.modules.get("megatron.core.pipeline_parallel.combined_1f1b")
    if combined is not None:
        changes.replace(combined, "combined_forward_backward_step", _combined)
    changes.replace(p2p.P2PCommunicator, "_communicate", pipeline.exchange(checks.fill))
    watch = [events.watch_host]
    for function, known in _FORWARD_BACKWARD.items():
        changes.replace(schedules, function, _step(schedules, watch, checks, values, framework, version, known))


def _label_of_forward(*_, current_microbatch=None, vp_stage=None, **__):
    """Stage and micro-batch; None for other calls."""
    if current_microbatch is None:
        return None
    return (vp_stage or 0) * pipeline.size + pipeline.rank, current_microbatch


def _forward_op(*args, **kwargs):
    label = _label_of_forward(*args, **kwargs)
    return None if label is None else ("F",) + label


def _backward_op(_, output_tensor, *__, **___):
    label = pipeline.outputs.get(id(first(output_tensor)))
    return None if label is None else ("B",) + label


def _forward(function):
    native = events.native_range("forward_range", function, steps, pipeline, pipeline.outputs, _keep_loss)
    if native is not None:
        return native

    def call(*args, **kwargs):
        label = _label_of_forward(*args, **kwargs)
        if not steps.active or steps.inside or label is None:
            return function(*args, **kwargs)
        events.push(events.names["%dF%d", label[0], label[1]])
        steps.inside = 1
        try:
            result = function(*args, **kwargs)
        finally:
            steps.inside = 0
            events.pop()
        pipeline.made(result[0], label)
        if label[0] == pipeline.last:
            _keep_loss(first(result[0]), result[1])
        return result

    return call


def _keep_loss(output, tokens):
    try:
        pipeline.losses.append((output.detach(), tokens))  # detached because the schedule frees the data of the output
    except Exception:  # noqa: BLE001: an output of another kind
        pass


def _backward(function):
    native = events.native_range("backward_range", function, steps, pipeline.outputs)
    if native is not None:
        return native

    def call(input_tensor, output_tensor, *args, **kwargs):
        label = pipeline.outputs.pop(id(first(output_tensor)), None) if steps.active else None
        if label is None or steps.inside:
            return function(input_tensor, output_tensor, *args, **kwargs)
        events.push(events.names["%dB%d", label[0], label[1]])
        steps.inside = 1
        try:
            result = function(input_tensor, output_tensor, *args, **kwargs)
        finally:
            steps.inside = 0
            events.pop()
        pipeline.made(result, label)
        return result

    return call


def _combined(function):
    """A call without one of the models runs only the other half of a pair."""

    def call(func, data, f_model, microbatches, inputs, store, b_model, b_inputs, b_output, *rest, **kwargs):
        forward = backward = None
        if steps.active and not steps.inside:
            if f_model is not None:
                forward = _label_of_forward(
                    current_microbatch=kwargs.get("current_microbatch"), vp_stage=kwargs.get("f_model_chunk_id")
                )
            if b_model is not None:
                backward = pipeline.outputs.pop(id(first(b_output)), None)
        args = (func, data, f_model, microbatches, inputs, store, b_model, b_inputs, b_output) + rest
        if (forward is None) != (f_model is None) or (backward is None) != (b_model is None):
            return function(*args, **kwargs)
        for send, label in (("post_forward", forward), ("post_backward", backward)):
            if kwargs.get(send) is not None:
                kwargs[send] = pipeline.sends_inside(kwargs[send], label)
        with events.Range(events.pair_name(forward, backward)):
            result = function(*args, **kwargs)
        if forward is not None:
            pipeline.made(result[0], forward)
            if forward[0] == pipeline.last:
                _keep_loss(first(result[0]), result[1])
        if backward is not None:
            pipeline.made(result[2], backward)
        return result

    return call


def _overlaps(config):
    return bool(getattr(config, "overlap_moe_expert_parallel_comm", False))


def _order(schedules, models, microbatches, config):
    """(micro-batch, chunk) of each forward, in the order of the schedule."""
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


def _chunks(models):
    return models if isinstance(models, list) else [models]


def _stages(models):
    return [(chunk * pipeline.size + pipeline.rank, model) for chunk, model in enumerate(_chunks(models))]


def _values(config, kwargs):
    """Arguments of StepValues.state() after the step, with the values that this rank has."""
    known = {}
    if pipeline.rank == 0:
        known["samples"] = kwargs["num_microbatches"] * kwargs["micro_batch_size"]
        known["sequence_length"] = kwargs["seq_length"]
        known["tokens"] = known["samples"] * kwargs["seq_length"]
    if pipeline.losses and _axis(sys.modules["megatron.core.parallel_state"], "context_parallel") in (None, "0/1"):
        known["losses"], tokens = zip(*pipeline.losses)
        if getattr(config, "calculate_per_token_loss", False):  # in this case, losses are sums over tokens
            known["weights"] = tokens
        else:
            known["added"] = True  # each is already divided by the number of micro-batches
    return known


def _finalized(config, checks):
    """Writes the gradient reduction of a step, which follows its last op, as an op during the step. Returns a function that
    restores the configuration."""
    before = getattr(config, "finalize_model_grads_func", None)
    if before is None:
        return lambda: None

    def finalize(*args, **kwargs):
        checks.end()
        with events.Range(b"REDUCE_GRAD"):
            return before(*args, **kwargs)

    config.finalize_model_grads_func = finalize

    def restore():
        if config.finalize_model_grads_func is finalize:
            config.finalize_model_grads_func = before

    return restore


def _step(schedules, watch, checks, values, framework, version, known):
    state = sys.modules["megatron.core.parallel_state"]

    def describe(called, models, config):
        family, flavor = _COMBINED.get(known[0], known) if _overlaps(config) else known
        try:
            layers = events.stage_layers(_stages(models))
        except Exception:  # noqa: BLE001: models of another kind
            layers = None
        return {
            "layers": layers,
            "framework": framework,
            "version": version,
            "schedule": called,
            "family": family,
            "flavor": flavor,
            "rank": sys.modules["torch.distributed"].get_rank(),
            "pp": "%d/%d" % (pipeline.rank, pipeline.size),
            "tp": _axis(state, "tensor_model_parallel"),
            "dp": _axis(state, "data_parallel"),
            "cp": _axis(state, "context_parallel"),
            "ep": _axis(state, "expert_model_parallel"),
        }

    def checked(models, microbatches):
        replica, dp = (int(number) for number in (_axis(state, "data_parallel") or "0/1").split("/"))
        tensor_rank, tp = (int(number) for number in (_axis(state, "tensor_model_parallel") or "0/1").split("/"))
        return dict(
            rank=pipeline.rank, pp=pipeline.size, microbatches=microbatches, order=None, stages=_stages(models),
            family=known[0], flavor=known[1], replica=replica, dp=dp, tensor_rank=tensor_rank, tp=tp,
        )

    def make(function):
        called = function.__name__

        def begin(kwargs):
            """Function to call at the end of the step; None for a step without op names."""
            if kwargs.get("forward_only"):
                steps.pause()
                return None
            try:
                models, microbatches = kwargs["model"], kwargs["num_microbatches"]
                config = sys.modules["megatron.core.utils"].get_model_config(first(models))
                rank = state.get_pipeline_model_parallel_rank()
                size = state.get_pipeline_model_parallel_world_size()
                pipeline.begin_step(rank, size, _order(schedules, models, microbatches, config))
                steps.state_once(called, lambda: describe(called, models, config))
                steps.begin()
            except Exception as problem:  # noqa: BLE001: a call of another kind
                steps.pause()
                events.message("a step of %s is recorded without op names: %s: %s" % (called, type(problem).__name__, problem))
                return None
            key = (called, microbatches) + tuple(id(model) for model in _chunks(models))
            if not _overlaps(config):  # the layers of pairs are not called as modules, so they cannot be checked
                checks.begin(key, lambda: checked(models, microbatches))
            restore = _finalized(config, checks)

            def end(over):
                restore()
                checks.end()
                if over:
                    values.state_as(steps.number, lambda: _values(config, kwargs))
                pipeline.losses = []

            return end

        def call(*args, **kwargs):
            if watch:
                watch.pop()()
            end = begin(kwargs)
            if end is None:
                return function(*args, **kwargs)
            over = False
            try:
                result = function(*args, **kwargs)
                over = True
                return result
            finally:
                end(over)

        return call

    return make
