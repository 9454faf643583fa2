"""Adapter for torch.distributed.pipelining: the methods of its stages are the ops, and its batches of sends and receives are
the transfers."""

import sys

from . import events
from .checks import Checks
from .events import Range, names, range_around, stage_range, steps
from .step_values import StepValues, first_tensor

VERSIONS = ("2.15", "2.14", "2.11")

# Family and flavor in Bubblescope.
SCHEDULES = {
    "ScheduleGPipe": ("fthenb", None),
    "Schedule1F1B": ("1f1b", None),
    "ScheduleInterleaved1F1B": ("interleaved", "torch"),
    "ScheduleLoopedBFS": ("looped-bfs", "torch"),
    "ScheduleInterleavedZeroBubble": ("interleaved-zb", "torch"),
    "ScheduleZBVZeroBubble": ("zb-v", "torch"),
    "ScheduleDualPipeV": ("dualpipev", "torch"),
}


def identity(_):
    return "torch.distributed.pipelining", sys.modules["torch"].__version__


def prepare(schedules, changes, framework, version):
    stage = sys.modules["torch.distributed.pipelining.stage"]._PipelineStageBase

    def reduce(self, *_, **__):
        steps.end_sends()
        return b"%dREDUCE_GRAD" % self.stage_index

    checks, values = Checks(), StepValues()
    whole = ("I", "full_backward", 3)  # see _is_whole()
    for method, ranges, kind_of in (
        ("forward_one_chunk", stage_range("F"), lambda *_, **__: "F"),
        ("backward_one_chunk", stage_range("B", *whole), lambda *rest, **more: "B" if _is_whole(*rest, **more) else "I"),
        ("backward_weight_one_chunk", stage_range("W"), lambda *_, **__: "W"),
    ):

        def op(self, chunk, *rest, kind_of=kind_of, **more):
            return kind_of(*rest, **more), self.stage_index, chunk

        changes.replace(stage, method, checks.around(op, ranges))
    changes.replace(stage, "perform_reduce_grad", range_around(reduce))
    for method, spelling in (
        ("get_fwd_send_ops", "%dSEND_F%d"),
        ("get_bwd_send_ops", "%dSEND_B%d"),
        ("get_fwd_recv_ops", "%dRECV_F%d"),
        ("get_bwd_recv_ops", "%dRECV_B%d"),
    ):
        changes.replace(stage, method, _labelled(spelling))
    changes.replace(schedules, "_batch_p2p", _issue)
    changes.replace(schedules, "_wait_batch_p2p", _wait(checks))
    changes.replace(schedules, "record_function", _pairs)
    changes.replace(schedules._PipelineScheduleRuntime, "register_custom_function", _custom)
    losses = []  # losses of the current step, once all are computed
    if hasattr(schedules._PipelineSchedule, "_update_losses"):
        changes.replace(schedules._PipelineSchedule, "_update_losses", _keep_losses(losses))
    watch = [events.watch_host]
    for kind in (schedules.PipelineScheduleSingle, schedules.PipelineScheduleMulti):
        changes.replace(kind, "step", _step(watch, checks, values, losses, framework, version))


def _is_whole(loss=None, full_backward=True, last_backward=False, **_):
    """True if a backward is not split, according to the arguments of backward_one_chunk() after the
    micro-batch."""
    return full_backward


def _pipeline(schedule):
    """The arguments of bubble_checks.Pipeline."""
    stages = _stages(schedule)
    called = type(schedule).__name__
    family, flavor = SCHEDULES.get(called, (None, None))
    axes = _other_axes(stages[0])
    replica, dp = (int(number) for number in axes.get("dp", "0/1").split("/"))
    tensor_rank, tp = (int(number) for number in axes.get("tp", "0/1").split("/"))
    order = _order(schedule)
    if order is None and family is None:
        raise ValueError("the order of %s is not known" % called)
    return dict(
        rank=stages[0].group_rank, pp=stages[0].group_size, microbatches=schedule._n_microbatches, order=order,
        stages=[(stage.stage_index, stage.submod) for stage in stages], family=family, flavor=flavor, replica=replica,
        dp=dp, tensor_rank=tensor_rank, tp=tp,
    )


def _order(schedule):
    """Order of all ranks in the format of schedule files. None for schedules with one stage per rank: they are identified by
    name, and the 1F1B order that they report is not the order that runs."""
    if not hasattr(schedule, "_stages"):
        return None
    order = getattr(schedule, "pipeline_order", None) or getattr(schedule, "pipeline_order_with_comms", None)
    if not order:
        return None
    return "\n".join(
        ",".join(str(action) for action in order[rank] if action is not None and action.is_compute_op)
        for rank in sorted(order)
    )


class _Label:
    """Content of a batch of tensors, for the first batch that is issued with the label."""

    __slots__ = ("name", "bytes", "sends")

    def __init__(self, name, size, sends):
        self.name = name
        self.bytes = size
        self.sends = sends


class _Works(list):
    """Result of `_batch_p2p`, with the receives that are complete after waiting for it."""

    receives = ()
    divided = ()  # works of receives and of sends, if each tensor has a separate work


def _labelled(spelling):
    sends = "SEND" in spelling

    def make(function):
        def call(self, chunk, *args, **kwargs):
            ops = function(self, chunk, *args, **kwargs)
            if steps.active and ops:
                try:
                    size = sum(op.tensor.nbytes for op in ops)
                    ops[0].bubblescope = _Label(names[spelling, self.stage_index, chunk], size, sends)
                except Exception:  # noqa: BLE001: tensors or ops of another kind
                    pass
            return ops

        return call

    return make


def _issue(function):
    """The range of a send is the call that issues it or, in a batch with receives, the wait for the complete batch, which
    immediately follows the call. The range of a receive is the wait for it, whose end shows when the data arrived."""

    def call(ops, *args, **kwargs):
        if not steps.active:
            return function(ops, *args, **kwargs)
        steps.end_sends()
        sends, receives, sending, is_send = [], [], False, []
        for op in ops:
            label = op.__dict__.pop("bubblescope", None)
            if label is not None:
                sending = label.sends
                (sends if sending else receives).append(label)
            is_send.append(sending)
        for label in sends:
            events.push_bytes(label.name, label.bytes)
        waits = False
        try:
            works = function(ops, *args, **kwargs)
            if receives and type(works) is list:
                works = _Works(works)
                works.receives = receives
                waits = bool(sends)
        finally:
            if not waits:
                for _ in sends:
                    events.pop()
        if waits:
            if len(works) == len(is_send):
                works.divided = tuple([w for w, of in zip(works, is_send) if of == side] for side in (False, True))
            steps.sends = len(sends)
        return works

    return call


def _wait(checks):
    def make(function):
        def call(work, *args, **kwargs):
            receives = work.receives if type(work) is _Works else ()
            if not receives:
                return function(work, *args, **kwargs)
            work.receives = ()
            # Waits for receives first, because in the order of issue, receives would appear to end with slower
            # sends.
            first, then = work.divided or (work, ())
            for label in receives:
                events.push_bytes(label.name, label.bytes)
            try:
                arrived = lambda: all([one.is_completed() for one in first])
                result = checks.fill(lambda: function(first, *args, **kwargs), arrived=arrived)
            finally:
                for _ in receives:
                    events.pop()
            try:
                return function(then, *args, **kwargs) if then else result
            finally:
                steps.end_sends()

        return call

    return make


class _Pair(Range):
    """Writes an overlapped pair of a forward and a backward as the range that the schedule opens for PyTorch's
    profiler."""

    __slots__ = ("_scope",)

    def __init__(self, name, scope):
        super().__init__(name)
        self._scope = scope

    def __enter__(self):
        super().__enter__()
        return self._scope.__enter__()

    def __exit__(self, *error):
        try:
            return self._scope.__exit__(*error)
        finally:
            super().__exit__()


def _pairs(function):
    def call(label, *args, **kwargs):
        scope = function(label, *args, **kwargs)
        if steps.active and not steps.inside and label.startswith("PP:("):
            return _Pair(label[3:].encode(), scope)
        return scope

    return call


def _custom(function):
    """A schedule may run an action with a function of the job, which might not call the methods of the
    stage."""

    def call(self, kind, custom, *args, **kwargs):
        def run(action, *rest, **more):
            letter = getattr(action.computation_type, "value", None)
            if not steps.active or steps.inside or letter not in ("F", "B", "I", "W"):
                return custom(action, *rest, **more)
            with Range(str(action).encode()):
                return custom(action, *rest, **more)

        return function(self, kind, run, *args, **kwargs)

    return call


def _keep_losses(losses):
    def make(function):
        def call(self, *args, **kwargs):
            losses[:] = self._internal_losses
            return function(self, *args, **kwargs)

        return call

    return make


def _step(watch, checks, values, losses, framework, version):
    def make(function):
        def call(self, *args, **kwargs):
            if watch:
                watch.pop()()
            trains = getattr(self, "_has_backward", False)
            if trains:
                steps.state_once((type(self), id(self)), lambda: _description(self, framework, version))
                steps.begin()
                checks.begin((type(self), id(self)), lambda: _pipeline(self))
            else:
                steps.pause()
            try:
                result = function(self, *args, **kwargs)
            finally:
                steps.end_sends()
                checks.end()
            if trains:
                # Losses that are not divided by the number of micro-batches add up to the loss of the step.
                added = not getattr(self, "scale_grads", True)
                values.state(steps.number, losses, _inputs(self, args, kwargs), added)
            del losses[:]
            return result

        return call

    return make


def _inputs(schedule, args, kwargs):
    """Tensors with the input of the step on the rank of the first stage, for the complete step or per
    micro-batch."""
    if not any([stage.is_first for stage in _stages(schedule)]):
        return []
    if kwargs.get("arg_mbs"):
        return [tensor for one in kwargs["arg_mbs"] for tensor in first_tensor(one)]
    more = [value for name, value in kwargs.items() if name not in ("target", "losses", "loss_kwargs", "target_mbs")]
    return first_tensor(args, more)


def _stages(schedule):
    return getattr(schedule, "_stages", None) or [schedule._stage]


def _description(schedule, framework, version):
    stages = _stages(schedule)
    called = type(schedule).__name__
    family, flavor = SCHEDULES.get(called, (None, None))
    said = {"framework": framework, "version": version, "schedule": called, "family": family, "flavor": flavor}
    said["rank"] = sys.modules["torch.distributed"].get_rank()
    said["pp"] = "%d/%d" % (stages[0].group_rank, stages[0].group_size)
    try:
        said["layers"] = events.stage_layers([(stage.stage_index, stage.submod) for stage in stages])
    except Exception:  # noqa: BLE001: a module of another kind
        pass
    said.update(_other_axes(stages[0]))
    return said


def _other_axes(stage):
    """Axes of a device mesh that contains the process group of the pipeline as an axis. The ranks of such a group are evenly
    spaced, so the groups can be numbered. Tensor parallelism is detected from the parameters and must be the fastest axis,
    as in torchtitan. The remaining factor is data parallelism."""
    distributed = sys.modules["torch.distributed"]
    ranks = sorted(distributed.get_process_group_ranks(stage.group))
    count = len(ranks)
    apart = ranks[1] - ranks[0] if count > 1 else 1
    if ranks != list(range(ranks[0], ranks[0] + apart * count, apart)):
        return {}
    rank, others = distributed.get_rank(), distributed.get_world_size() // count
    number = rank // (apart * count) * apart + rank % apart
    tp, tp_size = _tensor_axis(stage.submod)
    if tp != number % tp_size or others % tp_size != 0:
        return {}
    axes = {"dp": "%d/%d" % (number // tp_size, others // tp_size)}
    if tp_size > 1:
        axes["tp"] = "%d/%d" % (tp, tp_size)
    return axes


def _tensor_axis(module):
    for parameter in module.parameters():
        mesh = getattr(parameter, "device_mesh", None)
        if mesh is not None and "tp" in (mesh.mesh_dim_names or ()):
            return mesh.get_local_rank("tp"), mesh.size(mesh.mesh_dim_names.index("tp"))
    return 0, 1
