"""Repeats layers of a model: finds the modules, keeps the data of a first execution, and runs the layers again
without changing the state of the job.

A forward is repeated without gradients. A backward is repeated together with its forward, with separate gradients that
are not added to the weights. Both use the random numbers, precision and mode of the first execution. Parameters and
buffers stay unchanged: a layer is excluded if it changes them or other state of its modules, if its repetitions differ
from each other, or if it communicates. If only the backward of a layer cannot be repeated, only the backward is
excluded."""

import contextlib
import time

from . import bubblescope_aadiff as aadiff
from .framework import CannotRepeat, Stopped, chosen
from .trial import VARIES, Trial

framework = chosen()
_LONG = 200_000  # nanoseconds per operator, on average; StopsBetweenOperators takes about 13,000


def _never():
    return False


def _splits(module):
    return any(isinstance(inner, framework.LISTS) and len(framework.children(inner)) > 1
               for inner in framework.modules(module))


def split(module, name=""):
    """(name, module) of the layers in a stage: the entries of its lists of modules, and the modules next to these
    lists."""
    children = [(name + "." + key if name else key, child) for key, child in framework.children(module)]
    if isinstance(module, framework.LISTS) and children:
        return children
    if not any(_splits(child) for _, child in children):
        return [(name or "the whole stage", module)]
    layers = []
    for key, child in children:
        layers += split(child, key) if _splits(child) else [(key, child)]
    return layers


def _tensors(value, found):
    """Adds the tensors inside a value, in order. Raises an exception if the value may change without detection."""
    if isinstance(value, framework.Tensor):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for item in value:
            _tensors(item, found)
    elif isinstance(value, dict):
        for key in value:
            _tensors(value[key], found)
    elif not isinstance(value, framework.PLAIN):
        raise CannotRepeat("takes or returns a %s, which cannot be stored" % type(value).__name__)
    return found


def _mapped(value, change):
    """Copy of the value with each tensor replaced by `change(tensor)`, in the order of _tensors()."""
    if isinstance(value, framework.Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        items = [_mapped(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return type(value)((key, _mapped(item, change)) for key, item in value.items())
    return value


def digest(tensors):
    """A single digest for all tensors."""
    digests = [aadiff.digest(tensor) for tensor in tensors]
    if len(digests) == 1:
        return digests[0]
    return aadiff.digest(b"".join([value.to_bytes(8, "little") for value in digests]))


def difference(first, again):
    """The first pair of tensors that differ, and their element type, as arguments of Session.difference(). None if the sizes
    differ."""
    for one, other in zip(first, again):
        if framework.size(one) == framework.size(other) and aadiff.digest(one) != aadiff.digest(other):
            kind = framework.ELEMENTS.get(one.dtype, "bits%d" % (8 * min(8, one.element_size())))
            return one.contiguous(), other.contiguous(), kind
    return None


OUTPUT, INPUT_GRADIENT, WEIGHT_GRADIENT = "output", "input gradient", "weight gradient"


class Kept:
    """One execution of a layer: the inputs, the original outputs, and the state at the start."""

    def __init__(self, layer, args, kwargs):
        self.layer = layer
        inputs = _tensors(kwargs, _tensors(args, [])) if kwargs else _tensors(args, [])
        self.args, self.kwargs = _mapped(args, framework.detach), _mapped(kwargs, framework.detach)
        self.inputs = [(tensor, framework.version(tensor), framework.needs_gradient(tensor)) for tensor in inputs]
        self.random = layer.device.random_state() if layer.random else None
        self.precision = layer.device.precision()
        self.training = layer.module.training
        self.weights = sum(map(framework.version, layer.weights))
        self.results = []  # tensors with their versions, once computed
        self.bytes = sum(map(framework.size, inputs))

    def done(self, result):
        self.results = [(tensor.detach(), framework.version(tensor)) for tensor in _tensors(result, [])]
        self._let_go()
        self.bytes += sum([framework.size(tensor) for tensor, _ in self.results])

    def _let_go(self):
        """Releases the autograd graph that the inputs belong to."""
        self.inputs = [(tensor.detach(), version, needs) for tensor, version, needs in self.inputs]

    def unchanged(self):
        """True if inputs, results, weights and mode are unchanged since the execution."""
        return (
            self.training == self.layer.module.training
            and self.weights == sum(map(framework.version, self.layer.weights))
            and all([framework.version(tensor) == version for tensor, version, _ in self.inputs])
            and all([framework.version(tensor) == version for tensor, version in self.results])
        )

    def release(self):
        """Must be called when the data is no longer needed."""

    def has(self, kind):
        """True if all tensors required to compare a repetition of kind F, B, I or W are available."""
        return kind == "F" and bool(self.results)

    def first(self, kind):
        """Results of the execution, as tensors by name."""
        return {OUTPUT: [tensor for tensor, _ in self.results]}


class _Spare:
    """Reused memory for copies of gradients. If gradients were kept instead of copied, the framework would allocate
    new memory for the next gradients, and obtaining its pages from the system takes much longer than the
    copy."""

    def __init__(self):
        self._free = {}  # free memory by type and shape

    def copy(self, tensor):
        free = self._free.get(framework.layout(tensor))
        return framework.copy_into(free.pop() if free else framework.empty_like(tensor), tensor)

    def give_back(self, copies):
        for copy in copies:
            self._free.setdefault(framework.layout(copy), []).append(copy)

    def clear(self):
        self._free.clear()


spare = _Spare()


class KeptGradients(Kept):
    """One execution of a layer whose backward is repeated: the gradients that it receives and
    returns."""

    def __init__(self, layer, args, kwargs):
        super().__init__(layer, args, kwargs)
        if not framework.has_gradients():
            raise CannotRepeat("runs without gradients")
        self.trained = [weight for weight in layer.module.parameters() if framework.needs_gradient(weight)]
        if layer.adds_gradients:
            raise CannotRepeat("accumulates its weight gradients in a buffer as it computes them")
        framework.check_hooks(self.trained)
        self.got = []  # gradient of each output
        self.to_inputs = [None for _, _, needs in self.inputs if needs]
        self.to_weights = [None for _ in self.trained]
        self.wanted = frozenset() # kinds of ops to re-execute
        self._listeners = []
        self._copies = []
        self._whole = True  # true if every gradient could be copied

    def taps(self, args, kwargs):
        """The arguments, in which tensors that need a gradient are replaced by aliases. The aliases separate the layer's
        part of the gradient."""
        places = iter(range(len(self.to_inputs)))

        def tap(tensor):
            if not framework.needs_gradient(tensor):
                return tensor
            alias = framework.alias(tensor)
            alias.register_hook(self._notes(self.to_inputs, next(places)))
            return alias

        return _mapped(args, tap), _mapped(kwargs, tap)

    def done(self, result):
        outputs = _tensors(result, [])
        self.got = [None] * len(outputs)
        for place, tensor in enumerate(outputs):
            if tensor.is_leaf and framework.needs_gradient(tensor):
                raise CannotRepeat("returns one of its weights or inputs unchanged")
            if framework.needs_gradient(tensor):
                tensor.register_hook(self._notes(self.got, place))
        self._let_go()

    def listen(self):
        """Collects the weight gradients of this execution until unlisten() is called."""
        for place, weight in enumerate(self.trained):
            self._listeners.append(weight.register_hook(self._notes(self.to_weights, place)))

    def unlisten(self):
        for listener in self._listeners:
            listener.remove()
        self._listeners = []

    def _notes(self, places, place):
        def note(gradient):
            if framework.in_repetition():
                return
            begin = time.monotonic_ns()
            try:
                one = self._keep(gradient, places is self.to_weights)
                places[place] = one
                self.results.append((one, framework.version(one)))
                self.bytes += framework.size(one)
            except Exception:  # noqa: BLE001: a sparse one; the job's own backward goes on
                self._whole = False
            self.layer.spent += time.monotonic_ns() - begin

        return note

    def _keep(self, gradient, of_weight):
        copy = spare.copy(gradient)
        self._copies.append(copy)
        return copy

    def repeated(self, results):
        """Results of a repetition in the form of first()."""
        return results

    @contextlib.contextmanager
    def parameters(self):
        """Context with the weights whose gradients a repetition computes."""
        yield self.trained

    def release(self):
        """Must be called when the data is no longer needed."""
        self.unlisten()
        copies, self._copies = self._copies, []
        spare.give_back(copies)

    def gives(self, kind):
        """True if there are tensors of this kind to compare."""
        return kind == "B" or bool(self.to_inputs if kind == "I" else self.to_weights)

    def has(self, kind):
        return self._whole and any([one is not None for one in self.got]) and any(self.first(kind).values())

    def first(self, kind):
        return _named(kind, self.to_inputs, self.to_weights)


def _named(kind, to_inputs, to_weights):
    """Gradients that a kind of backward returns, by name. Tensors without a gradient are
    skipped."""
    gradients = {INPUT_GRADIENT: to_inputs if kind != "W" else [], WEIGHT_GRADIENT: to_weights if kind != "I" else []}
    given = {name: [one for one in list if one is not None] for name, list in gradients.items()}
    return {name: list for name, list in given.items() if list}


def digests(results):
    return {name: digest(tensors) for name, tensors in results.items()}


class Layer:
    """A module of a stage, with its index in the stage."""

    def __init__(self, name, module, stage, number, device):
        self.name, self.module, self.stage, self.number, self.device = name, module, stage, number, device
        self.weights = list(module.parameters()) + list(module.buffers())
        self.random = True  # assumed until a trial shows that it draws no random numbers
        self.gradients = False  # true if only an execution with gradients produces the same bits
        self.kept_bytes = 0  # maximum over the executions
        self.spent = 0  # nanoseconds spent on the job's thread to keep data
        self.shown = set()  # kinds of ops that a trial has shown to be repeatable
        self.left_out = set()  # kinds of ops that are not repeatable
        self.long = set()  # kinds of ops whose operators take long, so that repetitions stop between them
        self._trials = {}  # number of trials by kind
        self._watchers = []
        self._forward = module.forward
        # Layers of Megatron-core and Transformer Engine, in which a repeated backward would add to the job's gradients.
        self.adds_gradients = any([getattr(inner, name, False) for inner in framework.modules(module)
                                   for name in ("gradient_accumulation_fusion", "fuse_wgrad_accumulation")])
        framework.can_be_repeated(module, device)

    def is_open(self, kind):
        """True if it is still unknown whether the kind can be repeated."""
        return kind not in self.shown and kind not in self.left_out

    def watch(self, kept, keep):
        """Keeps the data of the next execution in a `kept`, which is Kept or KeptGradients. `keep(one)` is called after the
        start of the execution, or with an exception, and returns `one` if it should be kept."""
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

    def repeat(self, kept, kind, over=_never):
        """Repeats the layer on the kept data and returns the results, as tensors by name. Raises Stopped if `over` returns
        True between the forward and the backward, or between operators if these take long."""
        stops = framework.StopsBetweenOperators(over) if kind in self.long else contextlib.nullcontext()
        before = None if kept.random is None else self.device.random_state()
        try:
            if before is not None:
                self.device.set_random_state(kept.random)
            with stops:
                return self.run(kept, kind, over)
        finally:
            if before is not None:
                self.device.set_random_state(before)

    def run(self, kept, kind, over=_never):
        if kind != "F":
            return self._run_backward(kept, kind, over)
        return {OUTPUT: [tensor.detach() for tensor in self._run_forward(kept, self.gradients)[0]]}

    def _run_forward(self, kept, with_gradients):
        """The outputs, and the inputs that receive gradients."""
        leaves = []

        def leaf(tensor):
            again = framework.leaf(tensor, with_gradients and next(needs))
            if framework.needs_gradient(again):
                leaves.append(again)
            return again

        needs = iter([needs for _, _, needs in kept.inputs])
        args, kwargs = _mapped(kept.args, leaf), _mapped(kept.kwargs, leaf)
        with framework.with_gradients(with_gradients), self.device.autocast(kept.precision):
            outputs = _tensors(self._forward(*args, **kwargs), [])
        return outputs, leaves

    def _run_backward(self, kept, kind, over):
        with kept.parameters() as trained:
            outputs, leaves = self._run_forward(kept, True)
            if over():
                raise Stopped
            got = [(output, gradient) for output, gradient in zip(outputs, kept.got) if gradient is not None]
            inputs, weights = leaves if kind != "W" else [], trained if kind != "I" else []
            outputs = [output for output, _ in got]
            with framework.repetition(outputs):
                given = framework.gradients(outputs, inputs + weights, [gradient for _, gradient in got])
        return kept.repeated(_named(kind, given[: len(inputs)], given[len(inputs) :]))

    def try_out(self, kept, kind):
        """Repeats an execution twice to test if the kind can be checked. Raises CannotRepeat if
        not."""
        with Trial(self, kept) as trial:
            once = digests(trial.first(kind))
            begin = time.monotonic_ns()
            twice = digests(trial.again(kind))
            took = time.monotonic_ns() - begin
        draws = trial.draws
        if took > _LONG * trial.operators:
            self.long.add(kind)
        if once != twice:
            raise CannotRepeat(VARIES)
        if kind != "F" and draws and kept.random is None:
            raise CannotRepeat("draws random numbers only in its backward")
        if once != digests(kept.first(kind)):
            self.doubt(kind)
        else:
            self.show(kind, draws)

    def show(self, kind, draws):
        """A trial has shown that the kind can be repeated. `draws`: the execution draws random numbers."""
        if kind == "F":
            self.random = draws
        self.shown.add(kind)

    def doubt(self, kind):
        """The repetitions of a trial equal each other, but not the execution."""
        self._trials[kind] = self._trials.get(kind, 0) + 1
        if self._trials[kind] >= 4:
            raise CannotRepeat("gives different results when it is run again on the same inputs")
        self.gradients = self._trials.get("F", 0) >= 2  # some layers use different kernels without gradients
