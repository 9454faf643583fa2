"""Layers of a PyTorch model that are run again: finds the modules, keeps data of a first execution, and repeats it
without changing the job.

A forward is repeated without gradients, a backward from its forward on, with separate gradients that are not added to
the weights; both with the random numbers, the precision and the mode of the first execution. Parameters and buffers
stay as they are: a layer that changes them, or anything else of its modules, is left out, and so is one whose
repetitions differ from each other, or that communicates. If only its backward cannot be repeated, only that is left
out."""

import random
import sys
import threading
import time

from torch.utils._python_dispatch import TorchDispatchMode

from . import bubblescope_aadiff as aadiff

torch = sys.modules["torch"]
nn = torch.nn
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.Size, torch.dtype, torch.device)


class CannotRepeat(Exception):
    """The reason why a layer is left out, as the end of a sentence that begins with its name."""


def _splits(module):
    return any(isinstance(inner, _CONTAINERS) and len(inner) > 1 for inner in module.modules())


def split(module, name=""):
    """(name, module) of the layers of a stage: the entries of its lists of modules, and the modules next to the
    lists."""
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
    """Adds the tensors inside of a value, in its order. Raises if it contains an object that may change unnoticed."""
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


def _mapped(value, change):
    """The value with `change(tensor)` in place of each of its tensors, in the order of _tensors()."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        items = [_mapped(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return type(value)((key, _mapped(item, change)) for key, item in value.items())
    return value


def digest(tensors):
    """One digest of all tensors together."""
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


OUTPUT, INPUT_GRADIENT, WEIGHT_GRADIENT = "output", "input gradient", "weight gradient"


class Kept:
    """One execution of a layer: its inputs, its outputs as they were, and the state that it began with."""

    def __init__(self, layer, args, kwargs):
        self.layer = layer
        inputs = _tensors(kwargs, _tensors(args, [])) if kwargs else _tensors(args, [])
        self.args, self.kwargs = _mapped(args, torch.Tensor.detach), _mapped(kwargs, torch.Tensor.detach)
        self.inputs = [(tensor, tensor._version, tensor.requires_grad) for tensor in inputs]
        self.random = torch.get_rng_state() if layer.random else None
        self.autocast = (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
        self.training = layer.module.training
        self.weights = sum([weight._version for weight in layer.weights])
        self.results = []  # tensors with their versions, once there
        self.bytes = sum([tensor.nbytes for tensor in inputs])

    def done(self, result):
        self.results = [(tensor.detach(), tensor._version) for tensor in _tensors(result, [])]
        self._let_go()
        self.bytes += sum([tensor.nbytes for tensor, _ in self.results])

    def _let_go(self):
        """Releases the graph to which the inputs belong."""
        self.inputs = [(tensor.detach(), version, needs) for tensor, version, needs in self.inputs]

    def unchanged(self):
        """Whether inputs, results, weights and mode are still those of the execution."""
        return (
            self.training == self.layer.module.training
            and self.weights == sum([weight._version for weight in self.layer.weights])
            and all([tensor._version == version for tensor, version, _ in self.inputs])
            and all([tensor._version == version for tensor, version in self.results])
        )

    def release(self):
        """Its data is not needed any more."""

    def has(self, kind):
        """Whether all tensors exist with which a repetition of kind F, B, I or W is compared."""
        return kind == "F" and bool(self.results)

    def first(self, kind):
        """The results of the execution: tensors by name."""
        return {OUTPUT: [tensor for tensor, _ in self.results]}


class _Spare:
    """Reused memory for copies of gradients. A gradient is copied and not kept itself: PyTorch would then allocate
    other memory for the next one, and the system takes many times as long to provide its pages as the copy takes."""

    def __init__(self):
        self._free = {}  # by type and shape

    @staticmethod
    def _kind(tensor):
        return tensor.dtype, tensor.shape, tensor.stride()

    def copy(self, tensor):
        free = self._free.get(self._kind(tensor))
        with torch.no_grad():
            return (free.pop() if free else torch.empty_like(tensor, requires_grad=False)).copy_(tensor)

    def give_back(self, copies):
        for copy in copies:
            self._free.setdefault(self._kind(copy), []).append(copy)

    def clear(self):
        self._free.clear()


spare = _Spare()
_repeating = threading.local()  # .here: the thread computes gradients again, which are not the job's


class KeptGradients(Kept):
    """One execution of a layer whose backward is repeated: the gradients that it receives, and those that it
    returns."""

    def __init__(self, layer, args, kwargs):
        super().__init__(layer, args, kwargs)
        if not torch.is_grad_enabled():
            raise CannotRepeat("runs without gradients")
        self.trained = [weight for weight in layer.module.parameters() if weight.requires_grad]
        if any([weight._backward_hooks for weight in self.trained]):
            raise CannotRepeat("has hooks on the gradients of its weights, which would run again")
        self.got = []  # gradient of each output
        self.to_inputs = [None for _, _, needs in self.inputs if needs]
        self.to_weights = [None for _ in self.trained]
        self.wanted = frozenset() # kinds of ops to re-execute
        self._listeners = []
        self._copies = []
        self._whole = True  # whether each gradient could be copied

    def taps(self, args, kwargs):
        """The arguments, with aliases of the tensors that need a gradient, so that the layer's own part of it can be
        seen."""
        places = iter(range(len(self.to_inputs)))

        def tap(tensor):
            if not tensor.requires_grad:
                return tensor
            alias = tensor.view_as(tensor)
            alias.register_hook(self._notes(self.to_inputs, next(places)))
            return alias

        return _mapped(args, tap), _mapped(kwargs, tap)

    def done(self, result):
        outputs = _tensors(result, [])
        self.got = [None] * len(outputs)
        for place, tensor in enumerate(outputs):
            if tensor.is_leaf and tensor.requires_grad:
                raise CannotRepeat("returns one of its weights or inputs as it is")
            if tensor.requires_grad:
                tensor.register_hook(self._notes(self.got, place))
        self._let_go()

    def listen(self):
        """Until unlisten() the weights' gradients are those of this execution."""
        for place, weight in enumerate(self.trained):
            self._listeners.append(weight.register_hook(self._notes(self.to_weights, place)))

    def unlisten(self):
        for listener in self._listeners:
            listener.remove()
        self._listeners = []

    def _notes(self, places, place):
        def note(gradient):
            if getattr(_repeating, "here", False):
                return
            begin = time.monotonic_ns()
            try:
                copy = spare.copy(gradient)
                places[place] = copy
                self._copies.append(copy)
                self.results.append((copy, copy._version))
                self.bytes += copy.nbytes
            except Exception:  # noqa: BLE001: a sparse one; the job's own backward goes on
                self._whole = False
            self.layer.spent += time.monotonic_ns() - begin

        return note

    def release(self):
        """Its data is not needed any more."""
        self.unlisten()
        copies, self._copies = self._copies, []
        spare.give_back(copies)

    def gives(self, kind):
        """Whether there is anything to compare of this kind."""
        return kind == "B" or bool(self.to_inputs if kind == "I" else self.to_weights)

    def has(self, kind):
        return self._whole and any([one is not None for one in self.got]) and any(self.first(kind).values())

    def first(self, kind):
        return _named(kind, self.to_inputs, self.to_weights)


def _named(kind, to_inputs, to_weights):
    """The gradients that a kind of backward returns; tensors without a gradient are left out."""
    gradients = {INPUT_GRADIENT: to_inputs if kind != "W" else [], WEIGHT_GRADIENT: to_weights if kind != "I" else []}
    given = {name: [one for one in list if one is not None] for name, list in gradients.items()}
    return {name: list for name, list in given.items() if list}


def digests(results):
    return {name: digest(tensors) for name, tensors in results.items()}


class Layer:
    """A module of a stage, by its number there."""

    def __init__(self, name, module, stage, number):
        self.name, self.module, self.stage, self.number = name, module, stage, number
        self.weights = list(module.parameters()) + list(module.buffers())
        self.random = True  # until a trial shows that it draws no numbers
        self.gradients = False  # whether only an execution with gradients gives the same bits
        self.kept_bytes = 0  # of an execution, at most
        self.spent = 0  # nanoseconds of the job's thread for what is kept
        self.shown = set()  # kinds of ops that can be repeated, as a trial has shown
        self.left_out = set()  # those that cannot
        self._trials = {}  # by kind
        self._watchers = []
        self._forward = module.forward
        _can_be_repeated(module)

    def is_open(self, kind):
        """Whether it is not known yet if the kind can be repeated."""
        return kind not in self.shown and kind not in self.left_out

    def watch(self, kept, keep):
        """Keeps the next execution as a `kept`, Kept or KeptGradients: `keep(one)` is called when it has begun, or with
        an exception, and returns it if it should be kept."""
        self._watchers.append((kept, keep))
        self.module.__dict__["forward"] = self._watched

    def unwatch(self):
        self._watchers = []
        self.module.__dict__.pop("forward", None)

    def _watched(self, *args, **kwargs):
        begin = time.monotonic_ns()
        watchers = self._watchers
        self.unwatch()
        begun = []
        for make, keep in watchers:
            try:
                one = keep(make(self, args, kwargs))
                if isinstance(one, KeptGradients):
                    args, kwargs = one.taps(args, kwargs)
            except Exception as problem:  # noqa: BLE001: the job goes on without the check
                one = keep(problem)
            if one is not None:
                begun.append((one, keep))
        self.spent += time.monotonic_ns() - begin
        result = self._forward(*args, **kwargs)
        begin = time.monotonic_ns()
        for one, keep in begun:
            try:
                one.done(result)
            except Exception as problem:  # noqa: BLE001
                keep(problem)
        self.spent += time.monotonic_ns() - begin
        return result

    def repeat(self, kept, kind):
        """The results that the layer computes from the kept data: tensors by name."""
        if kept.random is None:
            return self._run(kept, kind)
        before = torch.get_rng_state()
        try:
            torch.set_rng_state(kept.random)
            return self._run(kept, kind)
        finally:
            torch.set_rng_state(before)

    def _run(self, kept, kind):
        if kind != "F":
            return self._run_backward(kept, kind)
        return {OUTPUT: [tensor.detach() for tensor in self._run_forward(kept, self.gradients)[0]]}

    def _run_forward(self, kept, with_gradients):
        """The outputs, and those of the inputs that get gradients."""
        leaves = []

        def leaf(tensor):
            again = tensor.detach().requires_grad_(with_gradients and next(needs))
            if again.requires_grad:
                leaves.append(again)
            return again

        needs = iter([needs for _, _, needs in kept.inputs])
        args, kwargs = _mapped(kept.args, leaf), _mapped(kept.kwargs, leaf)
        enabled, dtype = kept.autocast
        with torch.set_grad_enabled(with_gradients), torch.autocast("cpu", dtype, enabled, cache_enabled=False):
            outputs = _tensors(self._forward(*args, **kwargs), [])
        return outputs, leaves

    def _run_backward(self, kept, kind):
        outputs, leaves = self._run_forward(kept, True)
        got = [(output, gradient) for output, gradient in zip(outputs, kept.got) if gradient is not None]
        inputs, weights = leaves if kind != "W" else [], kept.trained if kind != "I" else []
        _repeating.here = True
        try:
            given = torch.autograd.grad([output for output, _ in got], inputs + weights,
                                        [gradient for _, gradient in got], allow_unused=True)
        finally:
            _repeating.here = False
        return _named(kind, given[: len(inputs)], given[len(inputs) :])

    def try_out(self, kept, kind):
        """Repeats an execution twice to see whether the kind can be checked. Raises CannotRepeat where it cannot."""
        state = _State(self.module)
        host = _HostRandom()
        before = torch.get_rng_state()
        start = before if kept.random is None else kept.random
        try:
            torch.set_rng_state(start)
            with _NoCommunication():
                once = digests(self._run(kept, kind))
            draws = not torch.equal(torch.get_rng_state(), start)
            state.compare()
            torch.set_rng_state(start)
            twice = digests(self._run(kept, kind))
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
        if kind != "F" and draws and kept.random is None:
            raise CannotRepeat("draws random numbers in its backward alone")
        if once != digests(kept.first(kind)):
            self._doubt(kind)
            return
        if kind == "F":
            self.random = draws
        self.shown.add(kind)

    def _doubt(self, kind):
        self._trials[kind] = self._trials.get(kind, 0) + 1
        if self._trials[kind] >= 4:
            raise CannotRepeat("computes something else when it is run again on the same inputs")
        self.gradients = self._trials.get("F", 0) >= 2  # some kernels are others without gradients


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
    """If a layer communicated in a trial, it and the other ranks would wait for each other forever."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace in ("c10d", "_c10d_functional", "_dtensor"):
            raise CannotRepeat("communicates")
        return function(*args, **(kwargs or {}))


class _HostRandom:
    """The generators of Python and NumPy, so that a trial does not use up random numbers of the job."""

    def __init__(self):
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = getattr(numpy, "random", None)
        self._state = self._numpy.get_state() if self._numpy is not None else None

    def restore(self):
        """Returns the generators that were used since; empty if none were."""
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
    """The state of a layer's modules besides parameters, to detect whether an execution changes it."""

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
        """Restores everything that can be restored; returns the changed parts, empty if nothing had changed."""
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
