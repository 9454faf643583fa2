"""The events that adapters write into the capture: ranges on the calling thread, marks of steps, and statements made
once.

The functions `push`, `push_bytes`, `pop` and `mark` take bytes and are called for every op: use them with the
capture library itself. In a process that is not recorded they do nothing."""

import ctypes
import gc
import importlib.util
import os
import sys

_FRAMEWORKS = 1
_OWN_RANGES = 3


def _nothing(*_):
    return None


def _load():
    path = os.environ.get("BUBBLESCOPE_INJECT_LIBRARY")
    if not path or not os.environ.get("BUBBLESCOPE_CAPTURE_DIR"):
        return None, None
    try:
        # The first keeps the interpreter's lock, which is faster and safe for functions that never wait; the second
        # releases it.
        return ctypes.PyDLL(path), ctypes.CDLL(path)
    except OSError:
        return None, None


def _function(library, name, *types, result=None):
    if library is None:
        return _nothing
    function = getattr(library, "bubblescope_" + name)
    function.argtypes = types
    function.restype = result
    return function


def _native(library):
    """push, push_bytes and pop as functions of our own module, which Python calls in a third of the time of ctypes;
    None if it is missing or was built for another Python."""
    path = os.path.join(os.path.dirname(__file__), "native_ranges.abi3.so")
    if library is None or sys.implementation.name != "cpython" or "t" in sys.abiflags or not os.path.isfile(path):
        return None
    try:
        spec = importlib.util.spec_from_file_location("bubblescope_native_ranges", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        functions = [getattr(library, "bubblescope_" + name) for name in ("push", "push_bytes", "pop")]
        module.bind(*[ctypes.cast(function, ctypes.c_void_p).value for function in functions])
        return module.push, module.push_bytes, module.pop
    except Exception:  # noqa: BLE001
        return None


_fast, _patient = _load()
push, push_bytes, pop = _native(_fast) or (
    _function(_fast, "push", ctypes.c_char_p),
    _function(_fast, "push_bytes", ctypes.c_char_p, ctypes.c_uint64),
    _function(_fast, "pop"),
)
mark = _function(_fast, "mark", ctypes.c_char_p)
_step_values = _function(
    _patient, "step_values", ctypes.c_int64, ctypes.c_int, ctypes.c_double, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)
_state = _function(_patient, "state", ctypes.c_char_p, ctypes.c_char_p)
_message = _function(_patient, "message", ctypes.c_char_p)
_release_cupti = _function(_patient, "release_cupti", ctypes.c_char_p)
_recording = _function(_patient, "recording", result=ctypes.c_int)() or 0
_checks = _function(_patient, "checks", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, result=ctypes.c_int)


def records_frameworks():
    return _recording == _FRAMEWORKS


def records_own_ranges():
    return _recording == _OWN_RANGES


def checks():
    """The margin (a fraction) and the bytes (None without a limit) of checks in bubbles, and the fraction of a step's
    time that they may take from the job; None without checks."""
    margin, memory, cost = ctypes.c_double(), ctypes.c_int64(), ctypes.c_double()
    if not _checks(ctypes.byref(margin), ctypes.byref(memory), ctypes.byref(cost)):
        return None
    return margin.value, None if memory.value < 0 else memory.value, cost.value


def event_address():
    """Address of the function that takes the records of checks."""
    return ctypes.cast(_patient.bubblescope_event, ctypes.c_void_p).value


def state(name, value):
    """States a property of the job: see the manual's page on recording frameworks for the names."""
    _state(str(name).encode(), str(value).encode())


def step_values(step, loss=None, tokens=None, samples=None, sequence_length=None):
    """States the framework's values of a finished step: None if a value is not known. Each rank states its own part;
    counts are those of the rank's replica."""
    counts = [-1 if count is None else int(count) for count in (tokens, samples, sequence_length)]
    if loss is not None or max(counts) >= 0:
        _step_values(step, loss is not None, 0.0 if loss is None else float(loss), *counts)


def message(text):
    """One line in the trace and in the capture's log."""
    if _patient is not None:
        return _message(str(text).encode())
    try:
        with open(os.path.join(os.environ["BUBBLESCOPE_CAPTURE_DIR"], "capture.log"), "a") as log:
            log.write("%s %d: %s\n" % (os.path.basename(sys.executable), os.getpid(), text))
    except (OSError, KeyError):
        pass
    return None


def release_cupti(tool):
    """Leaves CUPTI, which one tool at a time may hold, to a profiler that the job starts itself."""
    _release_cupti(tool.encode())


class Steps:
    """The steps of a process. Ops are written only inside a step, and each op once: if one framework calls another,
    only the outer one writes."""

    def __init__(self):
        self.active = False  # inside of a step that trains
        self.inside = 0  # ops around the current one
        self.number = -1
        self._stated = None
        self._optimizing = False

    def begin(self):
        self.end_optimizer()  # one that raised
        self.number += 1
        mark(b"step %d" % self.number)
        self.inside = 0
        self.active = True

    def pause(self):
        """Later ops belong to no step: an evaluation."""
        self.end_optimizer()
        mark(b"evaluation")
        self.active = False

    def state_once(self, key, describe):
        """`describe` returns a dictionary of statements; it is called when `key` changes."""
        if key == self._stated:
            return
        self._stated = key
        try:
            for name, value in describe().items():
                if value is not None:
                    state(name, value)
        except Exception as problem:  # noqa: BLE001
            message("the framework's description failed with %s: %s" % (type(problem).__name__, problem))

    def begin_optimizer(self, *_):
        if self.active and not self.inside and not self._optimizing:
            self._optimizing = True
            push(b"Optimizer")

    def end_optimizer(self, *_):
        if self._optimizing:
            self._optimizing = False
            pop()


steps = Steps()


def longest_list(module):
    """The number of layers in a stage's PyTorch module: the entries of its longest list of modules that are not inside
    of such an entry; None if it has none."""
    nn = sys.modules["torch.nn"]
    lists = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
    level, most = [module], 0
    while level and not most:
        most = max([len(inner) for inner in level if isinstance(inner, lists)], default=0)
        level = [child for inner in level for child in inner.children()]
    return most or None


def stage_layers(stages):
    """"0:4,7:4" of (stage, module): the value of "layers" for state(); None if a stage has no list of layers."""
    counts = [(stage, longest_list(module)) for stage, module in stages]
    if any(count is None for _, count in counts):
        return None
    return ",".join("%d:%d" % pair for pair in counts)


class Range:
    """An op around all calls inside: other ops there are part of it."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        push(self._name)
        steps.inside += 1

    def __exit__(self, *_):
        steps.inside -= 1
        pop()
        return False


def range_around(name_of):
    """For Changes.replace(): calls of the function become ranges. `name_of` gets the call's arguments and returns the
    name in bytes, or None for a call that is not an op. It must be quick."""

    def make(function):
        def call(*args, **kwargs):
            if not steps.active or steps.inside:
                return function(*args, **kwargs)
            try:
                name = name_of(*args, **kwargs)
            except Exception:  # noqa: BLE001: an unexpected call is the framework's business
                name = None
            if name is None:
                return function(*args, **kwargs)
            push(name)
            steps.inside = 1
            try:
                return function(*args, **kwargs)
            finally:
                steps.inside = 0
                pop()

        return call

    return make


def evaluation(function):
    """For Changes.replace(): ops inside a call of the function belong to no step."""

    def call(*args, **kwargs):
        steps.pause()
        return function(*args, **kwargs)

    return call


class _Names(dict):
    """The name in bytes of (spelling, stage, micro-batch), as in names["%dF%d", 2, 3]. The same names recur in every
    step."""

    _MOST = 1 << 16

    def __missing__(self, key):
        made = (key[0] % key[1:]).encode()
        if len(self) < self._MOST:
            self[key] = made
        return made


names = _Names()


def _watch_optimizers():
    """Steps of PyTorch's optimizers become ops, regardless of the caller."""
    optimizer = sys.modules.get("torch.optim.optimizer")
    if optimizer is None:
        return
    optimizer.register_optimizer_step_pre_hook(steps.begin_optimizer)
    optimizer.register_optimizer_step_post_hook(steps.end_optimizer)


def _on_collection(phase, about):
    # Collections of young objects are short, and there are hundreds per second; at the interpreter's end no work waits
    # for them.
    if about["generation"] < 2 or sys.is_finalizing():
        return
    if phase == "start":
        push(b"gc")
    else:
        pop()


def _watch_collections():
    """Full garbage collections become ranges: a rank that stops for one delays all others."""
    gc.callbacks.append(_on_collection)


def _with_wait(function):
    def load(self):
        push(b"DataLoader")
        try:
            return function(self)
        finally:
            pop()

    return load


def _watch_data_loaders():
    """Waits for the next batch of PyTorch's data loaders become ranges."""
    loaders = sys.modules.get("torch.utils.data.dataloader")
    iterator = getattr(loaders, "_BaseDataLoaderIter", None)
    if iterator is None or not hasattr(iterator, "__next__"):
        return
    iterator.__next__ = _with_wait(iterator.__next__)


def watch_host():
    """Records the host's other activities from now on."""
    _watch_optimizers()
    _watch_collections()
    _watch_data_loaders()
