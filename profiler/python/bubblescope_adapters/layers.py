"""Layers of a PyTorch model that are run again: which modules they are, what is kept of a first execution, and how it is
repeated so that nothing of the job changes.

A layer is repeated without gradients, with the random numbers, the precision and the mode of its first execution. Its
parameters and buffers stay as they are: a layer that changes them, or anything else of its modules, is left out, and so is
one whose repetitions differ from each other, or that communicates.
"""

import random
import sys

from torch.utils._python_dispatch import TorchDispatchMode

from . import bubblescope_aadiff as aadiff

torch = sys.modules["torch"]
nn = torch.nn
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.Size, torch.dtype, torch.device)


class CannotRepeat(Exception):
    """Why a layer is left out, in words that go on from its name."""


def _splits(module):
    return any(isinstance(inner, _CONTAINERS) and len(inner) > 1 for inner in module.modules())


def split(module, name=""):
    """(name, module) of the layers of a stage: the entries of its lists of modules, and what stands beside the lists."""
    children = [(name + "." + key if name else key, child) for key, child in module.named_children()]
    if isinstance(module, _CONTAINERS) and children:
        return children
    if not any(_splits(child) for _, child in children):
        return [(name or "the whole stage", module)]
    layers = []
    for key, child in children:
        layers += split(child, key) if _splits(child) else [(key, child)]
    return layers


def _tensors(value, found):
    """Adds the tensors inside of a value, in its order. Raises where it holds anything that may change unnoticed."""
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for item in value:
            _tensors(item, found)
    elif isinstance(value, dict):
        for key in value:
            _tensors(value[key], found)
    elif not isinstance(value, _PLAIN):
        raise CannotRepeat("takes or returns a %s, which cannot be kept" % type(value).__name__)
    return found


def _detached(value, with_gradients):
    if isinstance(value, torch.Tensor):
        return value.detach().requires_grad_(with_gradients and value.requires_grad)
    if isinstance(value, (tuple, list)):
        items = [_detached(item, with_gradients) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return type(value)((key, _detached(item, with_gradients)) for key, item in value.items())
    return value


def digest(tensors):
    """Of all together."""
    digests = [aadiff.digest(tensor) for tensor in tensors]
    if len(digests) == 1:
        return digests[0]
    return aadiff.digest(b"".join([value.to_bytes(8, "little") for value in digests]))


def difference(first, again):
    """The first two tensors that differ and what their elements are, as Session.difference() takes them; None where
    their sizes differ."""
    known = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64"}
    for one, other in zip(first, again):
        if one.nbytes == other.nbytes and aadiff.digest(one) != aadiff.digest(other):
            kind = known.get(one.dtype, "bits%d" % (8 * min(8, one.element_size())))
            return one.contiguous(), other.contiguous(), kind
    return None


class Kept:
    """One execution of a layer: its inputs, its outputs as they were, and the state that it began with."""

    __slots__ = ("layer", "args", "kwargs", "inputs", "outputs", "random", "autocast", "training", "weights", "bytes")

    def __init__(self, layer, args, kwargs):
        self.layer = layer
        inputs = _tensors(kwargs, _tensors(args, [])) if kwargs else _tensors(args, [])
        self.args, self.kwargs = _detached(args, False), _detached(kwargs, False)
        self.inputs = [(tensor, tensor._version, tensor.requires_grad) for tensor in inputs]
        self.random = torch.get_rng_state() if layer.random else None
        self.autocast = (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
        self.training = layer.module.training
        self.weights = sum([weight._version for weight in layer.weights])
        self.outputs = None
        self.bytes = sum([tensor.nbytes for tensor in inputs])

    def done(self, result):
        self.outputs = [(tensor.detach(), tensor._version) for tensor in _tensors(result, [])]
        self.inputs = [(tensor.detach(), version, needs) for tensor, version, needs in self.inputs]
        self.bytes += sum([tensor.nbytes for tensor, _ in self.outputs])  # those of inputs alone until here

    def unchanged(self):
        """Whether inputs, outputs, weights and mode are still those of the execution."""
        return (
            self.training == self.layer.module.training
            and self.weights == sum([weight._version for weight in self.layer.weights])
            and all([tensor._version == version for tensor, version, _ in self.inputs])
            and all([tensor._version == version for tensor, version in self.outputs])
        )

    def first(self):
        return [tensor for tensor, _ in self.outputs]


class Layer:
    """A module of a stage, by its number there."""

    def __init__(self, name, module, stage, number):
        self.name, self.module, self.stage, self.number = name, module, stage, number
        self.weights = list(module.parameters()) + list(module.buffers())
        self.random = True  # until a trial shows that it draws no numbers
        self.gradients = False  # whether only an execution with gradients gives the same bits
        self.input_bytes = 0
        self.trials = 0
        self.known = False  # whether a trial has shown that it can be repeated
        self._forward = module.forward
        _can_be_repeated(module)

    def watch(self, keep):
        """Keeps the next execution: `keep(kept)` is called when it has begun, `kept.done()` when it has ended."""
        own = self.module.__dict__
        own["forward"] = lambda *args, **kwargs: self._watched(keep, args, kwargs)

    def unwatch(self):
        self.module.__dict__.pop("forward", None)

    def _watched(self, keep, args, kwargs):
        self.unwatch()
        try:
            kept = Kept(self, args, kwargs)
            keep(kept)
        except Exception as problem:  # noqa: BLE001: the job goes on without the check
            kept = keep(problem)
        result = self._forward(*args, **kwargs)
        if kept is not None:
            try:
                kept.done(result)
            except Exception as problem:  # noqa: BLE001
                keep(problem)
        return result

    def repeat(self, kept):
        """The tensors that the layer computes from what was kept."""
        if kept.random is None:
            return self._run(kept)
        before = torch.get_rng_state()
        try:
            torch.set_rng_state(kept.random)
            return self._run(kept)
        finally:
            torch.set_rng_state(before)

    def _run(self, kept):
        args, kwargs = kept.args, kept.kwargs
        if self.gradients:
            needs = iter([needs for _, _, needs in kept.inputs])
            args, kwargs = _again(args, needs), _again(kwargs, needs)
        enabled, dtype = kept.autocast
        with torch.set_grad_enabled(self.gradients), torch.autocast("cpu", dtype, enabled, cache_enabled=False):
            result = self._forward(*args, **kwargs)
        return [tensor.detach() for tensor in _tensors(result, [])]

    def try_out(self, kept):
        """Repeats an execution twice to see whether the layer can be checked. Raises CannotRepeat where it cannot."""
        state = _State(self.module)
        host = _HostRandom()
        before = torch.get_rng_state()
        try:
            torch.set_rng_state(kept.random)
            with _NoCommunication():
                once = digest(self._run(kept))
            draws = not torch.equal(torch.get_rng_state(), kept.random)
            state.compare()
            torch.set_rng_state(kept.random)
            twice = digest(self._run(kept))
        finally:
            torch.set_rng_state(before)
            drew = host.restore()
            changed = state.restore()
        if drew:
            raise CannotRepeat("draws from the random numbers of %s, which are not repeated" % drew)
        if changed:
            raise CannotRepeat("changes its %s as it runs" % changed)
        if once != twice:
            raise CannotRepeat("is not deterministic")
        if once != digest(kept.first()):
            self._doubt()
            return
        self.random = draws
        self.known = True

    def _doubt(self):
        self.trials += 1
        if self.trials >= 4:
            raise CannotRepeat("computes something else when it is run again on the same inputs")
        self.gradients = self.trials >= 2  # some kernels are others without gradients


def _again(value, needs):
    if isinstance(value, torch.Tensor):
        return value.detach().requires_grad_(next(needs))
    if isinstance(value, (tuple, list)):
        items = [_again(item, needs) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return type(value)((key, _again(item, needs)) for key, item in value.items())
    return value


def _can_be_repeated(module):
    if "forward" in module.__dict__:
        raise CannotRepeat("has a forward of its own that was put in later")
    for inner in module.modules():
        if getattr(inner, "_compiled_call_impl", None) is not None or type(inner).__name__ == "OptimizedModule":
            raise CannotRepeat("is compiled")
        if isinstance(inner, nn.modules.batchnorm._NormBase) and inner.track_running_stats:
            raise CannotRepeat("changes its running statistics as it runs")
        if inner is not module and (inner._forward_hooks or inner._forward_pre_hooks):
            raise CannotRepeat("has hooks inside, which would run again")
    for weight in list(module.parameters()) + list(module.buffers()):
        if hasattr(weight, "device_mesh"):
            raise CannotRepeat("is spread over several ranks")
        if weight.device.type != "cpu":
            raise CannotRepeat("is on a %s: checks in a job's bubbles run on the CPU alone" % weight.device.type)


class _NoCommunication(TorchDispatchMode):
    """Where a layer communicates in a trial, the others would wait for it in vain, and it for them."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace in ("c10d", "_c10d_functional", "_dtensor"):
            raise CannotRepeat("communicates")
        return function(*args, **(kwargs or {}))


class _HostRandom:
    """The generators of Python and NumPy, so that a trial takes no numbers from the job."""

    def __init__(self):
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = getattr(numpy, "random", None)
        self._state = self._numpy.get_state() if self._numpy is not None else None

    def restore(self):
        """Returns whose numbers were drawn since; empty if none were."""
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
    """What the modules of a layer hold besides parameters, to see whether an execution changes it."""

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
        return type(now[0]) is type(then[0]) and isinstance(now[0], _PLAIN) and now[0] == then[0]

    def restore(self):
        """Puts everything back that can be; returns what had changed, empty if nothing had."""
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
