"""Which layers can be repeated: what their modules show, and what the first repetitions of a layer show."""

import random
import re
import sys

from torch.utils._python_dispatch import TorchDispatchMode

from .device import host

torch = sys.modules["torch"]
nn = torch.nn
PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.Size, torch.dtype, torch.device)
VARIES = "is not deterministic"


class CannotRepeat(Exception):
    """Reason for excluding a layer, as the end of a sentence that starts with the name of the
    layer."""


class Trial:
    """Context of the first repetitions of a layer, which detects what prevents checks and restores what the layer has
    changed. Raises CannotRepeat at its end."""

    def __init__(self, layer, kept):
        self._layer, self._kept = layer, kept
        self.draws = False  # true if the execution draws random numbers
        self.changed = ""  # the part of the layer's state that the execution has changed

    def __enter__(self):
        self._state, self._host = _State(self._layer.module), _HostRandom()
        self._before = self._layer.device.random_state()
        self._start = self._before if self._kept.random is None else self._kept.random
        return self

    def first(self, kind):
        device = self._layer.device
        device.set_random_state(self._start)
        with _KnownOperators(device.queues):
            results = self._layer.run(self._kept, kind)
        self.draws = not device.same(device.random_state(), self._start)
        self._state.compare()
        return results

    def again(self, kind):
        self._layer.device.set_random_state(self._start)
        return self._layer.run(self._kept, kind)

    def __exit__(self, kind, error, trace):
        self._layer.device.set_random_state(self._before)
        drew = self._host.restore()
        self.changed = self._state.restore()
        if error is not None:
            return
        if drew:
            raise CannotRepeat("uses random numbers of %s, which cannot be repeated" % drew)
        if self.changed:
            raise CannotRepeat("changes its %s as it runs" % self.changed)


def can_be_repeated(module, device):
    """Raises CannotRepeat if the properties of the module show that it cannot be repeated on its device."""
    if "forward" in module.__dict__:
        raise CannotRepeat("has a forward method that was replaced at run time")
    for inner in module.modules():
        if is_compiled(inner):
            raise CannotRepeat("is compiled")
        if isinstance(inner, nn.modules.batchnorm._NormBase) and inner.track_running_stats:
            raise CannotRepeat("changes its running statistics as it runs")
        if getattr(inner, "fp8_initialized", False):
            raise CannotRepeat("keeps FP8 scaling factors, which change as it runs")
        if getattr(inner, "_is_fsdp_managed_module", False) or "FullyShardedDataParallel" in type(inner).__name__:
            raise CannotRepeat("is sharded by FSDP, which frees its weights between uses")
        if device.queues:
            _runs_alone(inner)
        if inner is not module and (inner._forward_hooks or inner._forward_pre_hooks):
            raise CannotRepeat("contains hooks, which would run a second time")
    for weight in list(module.parameters()) + list(module.buffers()):
        if hasattr(weight, "device_mesh"):
            raise CannotRepeat("is sharded over several ranks")
        if not device.holds(weight):
            raise CannotRepeat("has weights on %s, but the checks of its rank run on the %s"
                               % (weight.device, "CPU" if device is host else "GPU of its other layers"))


def is_compiled(module):
    return getattr(module, "_compiled_call_impl", None) is not None or type(module).__name__ == "OptimizedModule"


def _runs_alone(inner):
    """Libraries for GPUs whose state or communication no dispatch mode sees."""
    if getattr(inner, "fp8", False):
        raise CannotRepeat("keeps FP8 scaling factors, which change as it runs")
    if getattr(inner, "cudagraph_manager", None) is not None:
        raise CannotRepeat("runs as a CUDA graph")
    if any([name.startswith("ub_overlap") and value is True for name, value in vars(inner).items()]):
        raise CannotRepeat("communicates while it computes (user buffers of Transformer Engine)")
    if type(getattr(inner, "token_dispatcher", None)).__name__ == "MoEFlexTokenDispatcher":
        raise CannotRepeat("communicates (DeepEP or HybridEP)")


# Operators whose CUDA kernels add floating-point numbers in any order, or choose one of several equal elements. The
# repetitions of a trial can miss differences that are rare.
_ORDERLESS = frozenset(
    "scatter_add scatter_reduce index_add index_reduce index_copy put cumsum histc bincount kthvalue median "
    "nll_loss2d_forward nll_loss2d_backward _ctc_loss_backward _embedding_bag_backward grid_sampler_2d_backward "
    "grid_sampler_3d_backward convolution_backward cudnn_convolution_backward "
    "_scaled_dot_product_flash_attention_backward _scaled_dot_product_efficient_attention_backward "
    "_scaled_dot_product_cudnn_attention_backward _flash_attention_backward _efficient_attention_backward "
    "_cudnn_attention_backward".split()
)
_ORDERLESS_BACKWARDS = re.compile(
    "(reflection_pad|replication_pad|upsample|_upsample|avg_pool3d|adaptive_avg_pool|_adaptive_avg_pool|max_pool|"
    "adaptive_max_pool|fractional_max_pool).*_backward"
)


def _chooses_order():
    """True if the job allows operators that are not deterministic."""
    return not torch.are_deterministic_algorithms_enabled() or torch.is_deterministic_algorithms_warn_only_enabled()


class _KnownOperators(TorchDispatchMode):
    """Prevents communication in a trial, because the layer and the other ranks would deadlock, and on a GPU also operators
    that are not deterministic."""

    def __init__(self, queues):
        super().__init__()
        self._forbids = queues and _chooses_order()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if self._forbids and args and isinstance(args[0], torch.Tensor) and args[0].is_floating_point():
            name = function.overloadpacket.__name__.rstrip("_")
            adds = name in ("index_put", "_index_put_impl") and True in [*args[3:4], (kwargs or {}).get("accumulate")]
            if name in _ORDERLESS or adds or _ORDERLESS_BACKWARDS.fullmatch(name):
                raise CannotRepeat("uses the operator '%s', which is not deterministic on a GPU unless the job calls "
                                   "torch.use_deterministic_algorithms(True)" % name)
        if function.namespace in ("c10d", "_c10d_functional", "_dtensor", "symm_mem"):
            raise CannotRepeat("communicates")
        if function.namespace not in ("aten", "prims", "prim", "profiler"):
            # Libraries have other names for their communication, and no list can contain all of them.
            raise CannotRepeat("uses operators from '%s', which may communicate" % function.namespace)
        return function(*args, **(kwargs or {}))


class _HostRandom:
    """Saves the random generators of Python and NumPy, so that a trial does not consume random numbers of the
    job."""

    def __init__(self):
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = getattr(numpy, "random", None)
        self._state = self._numpy.get_state() if self._numpy is not None else None

    def restore(self):
        """Restores the generators and returns those that have been used since; may be empty."""
        drew = ""
        if random.getstate() != self._python:
            random.setstate(self._python)
            drew = "Python"
        if self._state is not None:
            now = self._numpy.get_state()
            if now[2:] != self._state[2:] or now[1].tobytes() != self._state[1].tobytes():
                self._numpy.set_state(self._state)
                drew = drew or "NumPy"
        return drew


class _State:
    """State of a layer's modules, except parameters, to detect changes by an execution."""

    def __init__(self, module):
        self._modules = list(module.modules())
        self._buffers = [
            (inner, name, buffer, buffer._version, buffer.clone())
            for inner in self._modules
            for name, buffer in inner._buffers.items()
            if buffer is not None
        ]
        self._values = [(inner, self._of(inner)) for inner in self._modules]
        self._changed = ""

    @staticmethod
    def _of(module):
        values = {}
        for name, value in vars(module).items():
            if name in ("_parameters", "_buffers", "_modules") or name.startswith("__"):
                continue
            inside = len(value) if isinstance(value, (list, dict, set)) else None
            values[name] = (value, value.get_state() if isinstance(value, torch.Generator) else inside)
        return values

    def compare(self):
        for inner, name, buffer, version, _ in self._buffers:
            if inner._buffers.get(name) is not buffer or buffer._version != version:
                self._changed = self._changed or "buffer '%s'" % name
        for inner, values in self._values:
            now = self._of(inner)
            for name in list(now) + list(values):
                if name not in now or name not in values or not self._same(now[name], values[name]):
                    self._changed = self._changed or "attribute '%s'" % name

    @staticmethod
    def _same(now, then):
        if isinstance(now[1], torch.Tensor) and isinstance(then[1], torch.Tensor):
            return torch.equal(now[1], then[1])
        if now[1] is not then[1] and now[1] != then[1]:
            return False
        if now[0] is then[0]:
            return True
        return type(now[0]) is type(then[0]) and isinstance(now[0], PLAIN) and now[0] == then[0]

    def restore(self):
        """Restores as much as possible and returns the changed parts; may be empty."""
        self.compare()
        with torch.no_grad():
            for inner, name, buffer, version, copy in self._buffers:
                if buffer._version != version:
                    buffer.copy_(copy)
                inner._buffers[name] = buffer
        for inner, values in self._values:
            own = vars(inner)
            for name, (value, inside) in values.items():
                if own.get(name) is not value:
                    own[name] = value
                if isinstance(value, torch.Generator):
                    value.set_state(inside)
            for name in [name for name in own if name not in values
                         and name not in ("_parameters", "_buffers", "_modules") and not name.startswith("__")]:
                del own[name]
        return self._changed
