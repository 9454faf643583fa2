"""PyTorch for checks in bubbles: its tensors, its modules, and the operators of a layer."""

import contextlib
import re
import sys

from torch.utils._python_dispatch import TorchDispatchMode

from .framework import CannotRepeat, Stopped

torch = sys.modules["torch"]
nn = torch.nn
Tensor = torch.Tensor
PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.Size, torch.dtype, torch.device)
GENERATORS = torch.Generator
LISTS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
OWN_ATTRIBUTES = ("_parameters", "_buffers", "_modules")  # of a module
ELEMENTS = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64"}
PARALLEL_BACKWARDS = True  # true if a repeated backward and one of the job may run at the same time


# ---- Tensors

detach = torch.Tensor.detach


def version(tensor):
    """Number of the changes in place."""
    return tensor._version


def is_changed(tensor, version, copy):
    """`copy` is a copy of the tensor when it had this version."""
    return tensor._version != version


def needs_gradient(tensor):
    return tensor.requires_grad


def leaf(tensor, needs):
    return tensor.detach().requires_grad_(needs)


def alias(tensor):
    """The same values as another place in the autograd graph."""
    return tensor.view_as(tensor)


def size(tensor):
    """In bytes."""
    return tensor.nbytes


def layout(tensor):
    """Tensors with the same layout can reuse the same memory."""
    return tensor.dtype, tensor.shape, tensor.stride()


def copy(tensor):
    return tensor.detach().clone()


def empty_like(tensor):
    return torch.empty_like(tensor, requires_grad=False)


def copy_into(target, tensor):
    with torch.no_grad():
        return target.copy_(tensor)


# ---- Gradients

has_gradients = torch.is_grad_enabled
with_gradients = torch.set_grad_enabled
_repetitions = set()  # backwards of repetitions that are running: PyTorch's number of each


def gradients(outputs, inputs, given):
    return torch.autograd.grad(outputs, inputs, given, allow_unused=True)


def check_hooks(weights):
    """Raises CannotRepeat if a repeated backward would call hooks of the job."""
    if any([weight._backward_hooks for weight in weights]):
        raise CannotRepeat("has hooks on its weight gradients, which would run a second time")


def _number():
    """Number of the backward that calls a hook. All threads in which PyTorch runs this backward get the same number: on a
    GPU, hooks run in a thread of PyTorch."""
    return torch._C._current_graph_task_id()


def in_repetition():
    """For hooks: true if they are called by the backward of a repetition instead of the job's."""
    return _number() in _repetitions


@contextlib.contextmanager
def repetition(outputs):
    """Context for a repeated backward from these outputs."""
    begun = []

    def begin(gradient):
        begun.append(_number())
        _repetitions.add(begun[-1])

    for output in outputs:
        output.register_hook(begin)
    try:
        yield
    finally:
        _repetitions.difference_update(begun)


class Gradients:
    """PyTorch does not add the gradients of repetitions to the job's."""

    def __init__(self, module):
        pass

    def restore(self):
        """Restores the gradients of the weights and returns the changed part of the layer's state; may be empty."""
        return ""


# ---- Modules

def modules(module):
    """The module and all modules inside it."""
    return list(module.modules())


def children(module):
    """(name, module) of the modules directly inside it."""
    return list(module.named_children())


def state(module):
    """(kind, tensors by name) of the module's state that an execution may change."""
    return [("buffer", module._buffers)]


def threads():
    """Number of compute threads of the job."""
    return torch.get_num_threads()


def can_be_repeated(module, device):
    """Raises CannotRepeat if the properties of the module show that it cannot be repeated on its device."""
    if "forward" in module.__dict__:
        raise CannotRepeat("has a forward method that was replaced at run time")
    for inner in module.modules():
        if is_compiled(inner):
            raise CannotRepeat("is compiled")
        if isinstance(inner, torch.nn.modules.batchnorm._NormBase) and inner.track_running_stats:
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
                               % (weight.device, "GPU of its other layers" if device.queues else "CPU"))


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


class KnownOperators(TorchDispatchMode):
    """Prevents communication in a trial, because the layer and the other ranks would deadlock, and on a GPU also operators
    that are not deterministic."""

    def __init__(self, queues):
        super().__init__()
        self._forbids = queues and _chooses_order()
        self.calls = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls += 1
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


class StopsBetweenOperators(TorchDispatchMode):
    """Raises Stopped at the next operator of this thread once `over` returns True."""

    def __init__(self, over):
        super().__init__()
        self._over = over

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if self._over():
            raise Stopped
        return function(*args, **(kwargs or {}))
