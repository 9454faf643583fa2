"""Adapter for PaddlePaddle's dynamic-graph pipelines: their forward and backward steps are the ops, and the exchanges of
their p2p helper are the transfers.

The step of a chunk has no micro-batch number, but each chunk processes the micro-batches of a step in order. With
forward_backward_overlap_scheduler, the interleaved pipeline runs pairs of both in its steady phase."""

import importlib

from . import events
from .checks import Checks
from .events import evaluation, names, range_around, steps
from .exchanges import InFlight
from .step_values import StepValues, first_tensor, sizes

VERSIONS = ("3.3", "3.2")

# Family and flavor in Bubblescope.
SCHEDULES = {
    "PipelineParallel": ("1f1b", None),
    "PipelineParallelWithInterleave": ("interleaved", "paddle-dynamic"),
    "PipelineParallelWithInterleaveFthenB": ("interleaved-fthenb", None),
    "VPPFhenBInBalancedMemory": ("vpp-balanced-memory", None),
}


def identity(_):
    return "PaddlePaddle", importlib.import_module("paddle.version").full_version


class _Step(InFlight):
    """The step in progress."""

    def __init__(self):
        super().__init__()
        self._counts = {}

    def begin_step(self, pipeline):
        self._counts.clear()
        chunks = pipeline._virtual_pp_world_size or 1
        orders = [self._order(pipeline, chunks, forward) for forward in (True, False)]
        self.begin(pipeline.stage_id, pipeline.num_stages, chunks, *orders)

    @staticmethod
    def _order(pipeline, chunks, forward):
        """(micro-batch, chunk) of the steps on this rank."""
        counts, order = [0] * chunks, []
        for number in range(pipeline.accumulate_steps * chunks):
            chunk = pipeline._get_virtual_pp_rank(number, forward=forward) if chunks > 1 else 0
            order.append((counts[chunk], chunk))
            counts[chunk] += 1
        return order

    def coming(self, letter, chunk):
        """Stage and micro-batch of the next step on a chunk."""
        stage = (chunk or 0) * self.size + self.rank
        return stage, self._counts.get((letter, stage), 0)

    def label(self, letter, chunk):
        """As coming(), for a step that begins."""
        stage, number = self.coming(letter, chunk)
        self._counts[letter, stage] = number + 1
        return stage, number


step = _Step()


def prepare(module, changes, framework, version):
    kind = module.PipelineParallel
    checks = Checks("paddle_framework", "paddle_device")
    for method, letter, made in (
        ("_forward_step", "F", lambda result: result[0]),
        ("_backward_step", "B", lambda result: result),
    ):

        def op(self, *_, letter=letter, **__):
            return None if steps.inside else (letter, *step.coming(letter, self._virtual_pp_rank))

        changes.replace(kind, method, checks.around(op, _op(letter, made)))
    if hasattr(module.PipelineParallelWithInterleave, "_forward_backward_helper"):
        changes.replace(module.PipelineParallelWithInterleave, "_forward_backward_helper", _pair)
    changes.replace(kind, "_optimizer_step", _optimizer(checks))
    p2p = importlib.import_module("paddle.distributed.fleet.meta_parallel.pp_utils.p2p_communication")
    changes.replace(p2p, "_p2p_helper", step.exchange(checks.fill))
    values = Values()
    changes.replace(kind, "_broadcast_final_loss", values.behind)
    for owner in (kind, module.PipelineParallelWithInterleave):
        changes.replace(owner, "train_batch", _train(checks, values, framework, version))
        changes.replace(owner, "eval_batch", evaluation)


def _op(letter, made):
    """`made` extracts the part of the result that is sent to a neighbour."""
    spelling = "%d" + letter + "%d"

    def make(function):
        def call(self, *args, **kwargs):
            if not steps.active or steps.inside:
                return function(self, *args, **kwargs)
            label = step.label(letter, self._virtual_pp_rank)
            events.push(names[(spelling,) + label])
            steps.inside = 1
            try:
                result = function(self, *args, **kwargs)
            finally:
                steps.inside = 0
                events.pop()
            step.made(made(result), label)
            return result

        return call

    return make


def _optimizer(checks):
    ranges = range_around(lambda *_, **__: b"Optimizer")

    def make(function):
        inner = ranges(function)

        def call(*args, **kwargs):
            checks.end()
            return inner(*args, **kwargs)

        return call if checks.wanted else inner

    return make


def _overlaps(pipeline):
    return bool(getattr(pipeline, "overlap_schedule_mode", False))


def _pair(function):
    def call(self, data, forward_step, backward_step, p2p_async_handle=None, **more):
        if p2p_async_handle is not None:
            more["p2p_async_handle"] = p2p_async_handle
        if not steps.active or steps.inside or not _overlaps(self):
            return function(self, data, forward_step, backward_step, **more)
        forward = step.label("F", self._get_virtual_pp_rank(forward_step, forward=True))
        backward = step.label("B", self._get_virtual_pp_rank(backward_step, forward=False))
        if p2p_async_handle is not None:
            for send, label in (("forward_async_comm", forward), ("backward_async_comm", backward)):
                setattr(p2p_async_handle, send, step.sends_inside(getattr(p2p_async_handle, send), label))
        with events.Range(events.pair_name(forward, backward)):
            result = function(self, data, forward_step, backward_step, **more)
        for made, label in zip(result or (), (forward, backward)):
            step.made(made, label)
        return result

    return call


class Values:
    """Loss, tokens and samples, which the first stage reports. It receives the loss from the last stage at the end of a
    step."""

    def __init__(self):
        self._values = StepValues()
        self._on_device = None  # (step, loss) whose loss is still on the device

    def state(self, pipeline, data, loss, arguments):
        if pipeline.stage_id != 0:
            return
        found = sizes(first_tensor(data))
        samples = pipeline.accumulate_steps * pipeline.micro_batch_size
        known = {"samples": samples, "sequence_length": found.get("sequence_length")}
        if "tokens" in found:
            known["tokens"] = samples * found["sequence_length"]
        if isinstance(loss, (list, tuple)):
            loss = loss[arguments.get("loss_fn_idx", 0)]
        apart = arguments.get("return_micro_batch_loss") and not pipeline._delay_scale_loss
        if loss.place.is_cpu_place():
            known["losses"] = [_number(loss, apart)]
        else:
            self._on_device = steps.number, loss, apart
        self._values.state_as(steps.number, lambda: known)

    def behind(self, function):
        """For Changes.replace(): wraps the function in which the first stage waits for the last. Afterwards, the values of
        the previous step can be read from the device without another wait."""

        def call(self, *args, **kwargs):
            result = function(self, *args, **kwargs)
            waiting, values._on_device = values._on_device, None
            if waiting is not None and steps.active:
                values._values.state_as(waiting[0], lambda: {"losses": [_number(*waiting[1:])]})
            return result

        values = self
        return call


def _number(loss, apart):
    """`apart`: True if the losses of micro-batches were already divided by the number of micro-batches."""
    total = float(loss.sum().item())
    return total if apart else total / max(1, int(loss.size))


def _train(checks, values, framework, version):
    def make(function):
        def call(self, data, *args, **kwargs):
            pairs = _overlaps(self) and not hasattr(self, "_forward_backward_helper")
            if type(self).__name__ not in SCHEDULES or pairs:
                steps.pause()
                steps.state_once(id(self), lambda: _unknown(self))
                return function(self, data, *args, **kwargs)
            steps.state_once((id(self), _overlaps(self)), lambda: _description(self, framework, version))
            safely(step.begin_step, self)
            steps.begin()
            checks.begin((id(self), _overlaps(self)), lambda: _checked(self))
            try:
                loss = function(self, data, *args, **kwargs)
            finally:
                checks.end()  # if it has not reached the optimizer
            safely(values.state, self, data, loss, kwargs)
            return loss

        return call

    return make


def safely(function, *args):
    try:
        function(*args)
    except Exception as problem:  # noqa: BLE001: the job matters more than its recording
        events.message("a PaddlePaddle step is recorded incompletely: %s: %s" % (type(problem).__name__, problem))


def _unknown(pipeline):
    """Pipelines with other steps, and overlapped pairs in older versions."""
    events.message("PaddlePaddle's %s is recorded without op names" % type(pipeline).__name__)
    return {}


def _stages(pipeline):
    chunks = pipeline._virtual_pp_world_size or 1
    return [chunk * pipeline.num_stages + pipeline.stage_id for chunk in range(chunks)]


def pairs_without_checks(pipeline):
    raise ValueError("%s runs forwards and backwards as pairs, which do not call their layers as modules"
                     % type(pipeline).__name__)


def _checked(pipeline):
    """The arguments of rank_checks.Pipeline."""
    if _overlaps(pipeline):
        pairs_without_checks(pipeline)
    family, flavor = _family(pipeline)
    grid, model = pipeline._hcg, pipeline._layers
    return dict(
        rank=pipeline.stage_id, pp=pipeline.num_stages, microbatches=pipeline.accumulate_steps, order=None,
        stages=list(zip(_stages(pipeline), model.get_model_chunks() or [model])), family=family, flavor=flavor,
        replica=grid.get_data_parallel_rank(), dp=grid.get_data_parallel_world_size(),
        tensor_rank=grid.get_model_parallel_rank(), tp=grid.get_model_parallel_world_size(),
    )


def _layers(pipeline, stages):
    """Number of layers in each stage of this rank, such as "0:4,2:4". Layers are the modules of the model's most frequent
    class."""
    model = pipeline._layers
    classes = [_class_name(layer) for layer in model._layers_desc]
    most = max(set(classes), key=classes.count)
    parts = model.segment_parts
    return ",".join("%d:%d" % (stage, classes[parts[stage]:parts[stage + 1]].count(most)) for stage in stages)


def _class_name(layer):
    """Class of a layer or its description."""
    made = getattr(layer, "layer_func", layer)
    return getattr(made, "__name__", type(made).__name__)


def _family(pipeline):
    family, flavor = SCHEDULES[type(pipeline).__name__]
    if getattr(pipeline, "_best_unbalanced_scheduler", False) and family == "interleaved":
        flavor = "paddle-dynamic-best-unbalanced"
    return family, flavor


def _description(pipeline, framework, version):
    family, flavor = _family(pipeline)
    if _overlaps(pipeline):
        family, flavor = "interleaved-overlap", None
    return describe(pipeline, framework, version, family, flavor, _stages(pipeline))


def describe(pipeline, framework, version, family, flavor, stages):
    """Properties for events.state(); `stages` are those of this rank."""
    grid = pipeline._hcg
    called = type(pipeline).__name__
    said = {"framework": framework, "version": version, "schedule": called, "family": family, "flavor": flavor}
    said["rank"] = pipeline.global_rank
    try:
        said["layers"] = _layers(pipeline, stages)
    except Exception:  # noqa: BLE001: a model of another kind
        pass
    said["pp"] = "%d/%d" % (pipeline.stage_id, pipeline.num_stages)
    said["dp"] = "%d/%d" % (grid.get_data_parallel_rank(), grid.get_data_parallel_world_size())
    said["tp"] = "%d/%d" % (grid.get_model_parallel_rank(), grid.get_model_parallel_world_size())
    return said
