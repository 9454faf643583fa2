"""PaddlePaddle for checks in bubbles: its tensors, its modules, and the operators of a layer. The functions are those of
torch_framework.

The version of a tensor counts only operators in place: optimizers, set_value(), copy_() and running statistics do not change
it. So trials compare bits, and checks end before the optimizer."""

import contextlib
import functools
import math
import re
import sys
import threading

from . import bubblescope_aadiff as aadiff
from .framework import CannotRepeat

paddle = sys.modules["paddle"]
nn = paddle.nn
core = paddle.base.core
_pipeline = sys.modules["paddle.distributed.fleet.meta_parallel.parallel_layers.pp_layers"]
Tensor = paddle.Tensor
PLAIN = (type(None), bool, int, float, complex, str, bytes, paddle.dtype, type(paddle.CPUPlace()))
GENERATORS = ()  # no operator takes a generator
_STAGES = (_pipeline.PipelineLayer, _pipeline.PipelineLayerChunk)
LISTS = (nn.Sequential, nn.LayerList, nn.LayerDict) + _STAGES
OWN_ATTRIBUTES = ("_parameters", "_buffers", "_sub_layers")
ELEMENTS = {paddle.float16: "float16", paddle.bfloat16: "bfloat16", paddle.float32: "float32", paddle.float64: "float64"}
PARALLEL_BACKWARDS = False  # the autograd engine has state that all threads share


# ---- Tensors

detach = Tensor.detach


def version(tensor):
    return tensor.inplace_version


def is_changed(tensor, version, copy):
    return tensor.inplace_version != version or aadiff.digest(tensor) != aadiff.digest(copy)


def needs_gradient(tensor):
    return not tensor.stop_gradient


def leaf(tensor, needs):
    made = tensor.detach()
    made.stop_gradient = not needs
    return made


def alias(tensor):
    return tensor.view(tensor.shape)


def size(tensor):
    return int(tensor.size) * tensor.element_size()


def layout(tensor):
    return tensor.dtype, tuple(tensor.shape)


def copy(tensor):
    return copy_into(empty_like(tensor), tensor)


def empty_like(tensor):
    return paddle.empty(tensor.shape, tensor.dtype)


def copy_into(target, tensor):
    with paddle.no_grad():
        target.copy_(tensor.detach().contiguous(), True)
    return target


# ---- Gradients

has_gradients = paddle.is_grad_enabled
with_gradients = paddle.set_grad_enabled


def gradients(outputs, inputs, given):
    return paddle.grad(outputs, inputs, given, allow_unused=True)


def check_hooks(weights):
    """A repeated backward calls no hooks of weights, but those that run at the end of any backward."""
    if sys.modules["paddle.amp.auto_cast"].amp_global_state().use_master_grad:
        raise CannotRepeat("trains with master_grad, whose gradients a repetition would convert too early")


def in_repetition():
    return False


def repetition(outputs):
    return contextlib.nullcontext()


class Gradients:
    """Recomputation and fused layers add to the gradients themselves, in a repetition too."""

    _NAMES = ("grad", "main_grad")

    def __init__(self, module):
        self._before = [(weight, name, one, None if one is None else copy(one))
                        for weight in module.parameters() if needs_gradient(weight)
                        for name in self._NAMES for one in [getattr(weight, name, None)]]

    def restore(self):
        changed = ""
        for weight, name, before, bits in self._before:
            now = getattr(weight, name, None)
            if now is None or bits is not None and aadiff.digest(now) == aadiff.digest(bits):
                continue
            changed = "weight gradients"
            if bits is not None:
                copy_into(now, bits)
            elif name == "grad":
                weight.clear_gradient(False)
            else:
                setattr(weight, name, None)
        return changed


# ---- Modules

def modules(module):
    return module.sublayers(include_self=True)


def children(module):
    """A stage also calls functions, and layers that several stages share, which are not inside it."""
    if not isinstance(module, _STAGES):
        return list(module.named_children())
    called = [one.args[0] if isinstance(one, functools.partial) and one.args else one for one in module.run_function]
    return [(type(one).__name__, one) for one in called if isinstance(one, nn.Layer)]


def state(module):
    return [("buffer", module._buffers), ("weight", module._parameters)]


def threads():
    return paddle.get_flags("FLAGS_paddle_num_threads")["FLAGS_paddle_num_threads"]


def can_be_repeated(module, device):
    """Raises CannotRepeat if the properties of the module show that it cannot be repeated."""
    if is_compiled(module):
        raise CannotRepeat("is compiled")
    if "forward" in module.__dict__:
        raise CannotRepeat("has a forward method that was replaced at run time")
    for inner in modules(module):
        if is_compiled(inner):
            raise CannotRepeat("is compiled")
        if isinstance(inner, nn.layer.norm._BatchNormBase) and not inner._use_global_stats:
            raise CannotRepeat("changes its running statistics as it runs")
        if inner is not module and (inner._forward_pre_hooks or inner._forward_post_hooks):
            raise CannotRepeat("contains hooks, which would run a second time")
    for weight in list(module.parameters()) + list(module.buffers()):
        if weight.is_dist():
            raise CannotRepeat("is sharded over several ranks")
        if not device.holds(weight):
            raise CannotRepeat("has weights on a GPU: layers of PaddlePaddle are checked only on CPUs")


def is_compiled(module):
    return "StaticFunction" in type(module.__dict__.get("forward")).__name__


# Operators that communicate, or whose backward does.
_COMMUNICATES = re.compile(
    r"(c_(?!embedding).*|mp_allreduce.*|all_gather|all_reduce|all_to_all|broadcast|reduce|reduce_scatter|barrier|send_v2|"
    r"recv_v2|p_send.*|p_recv.*|partial_(send|recv|allgather)|global_(scatter|gather)|moe_gate_dispatch_auto|sync_batch_norm|"
    r"distributed_.*)_?"
)


class KnownOperators:
    """Prevents communication in a trial, because the layer and the other ranks would deadlock. Other threads of the job may
    communicate in the meantime."""

    calls = math.inf  # unknown, so repetitions do not stop between operators

    def __init__(self, queues):
        self._replaced = []
        self._thread = threading.get_ident()

    def __enter__(self):
        for name, method in list(vars(core.ProcessGroup).items()):
            if not name.startswith("_") and name not in ("name", "rank", "size"):
                self._replace(core.ProcessGroup, name, method, "communicates")
        for operators in (paddle._C_ops, paddle._legacy_C_ops):
            for name, operator in list(vars(operators).items()):
                if _COMMUNICATES.fullmatch(name):
                    self._replace(operators, name, operator, "communicates")
        # Libraries have other names for their communication, and no list can contain all of them.
        for place in (paddle._C_ops, core.eager):
            if hasattr(place, "_run_custom_op"):
                self._replace(place, "_run_custom_op", place._run_custom_op, "uses custom operators, which may communicate")
        return self

    def _replace(self, owner, name, function, why):
        def call(*args, **kwargs):
            if threading.get_ident() == self._thread:
                raise CannotRepeat(why)
            return function(*args, **kwargs)

        setattr(owner, name, call)
        self._replaced.append((owner, name, function))

    def __exit__(self, *_):
        for owner, name, function in self._replaced:
            setattr(owner, name, function)
