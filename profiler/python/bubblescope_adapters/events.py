"""The events that adapters write into the capture: ranges on the calling thread, step marks, and properties that are
written once.

The functions `push`, `push_bytes`, `pop` and `mark` take bytes. They call the capture library directly, because they are
called for every op. In a process that is not recorded, they do nothing."""

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
        # The first library object keeps the GIL, which is faster and safe for functions that never block; the second
        # releases the GIL.
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
    """Our extension module, which is three times as fast as ctypes; None if it is missing or was built for another version
    of Python."""
    path = os.path.join(os.path.dirname(__file__), "native_ranges.abi3.so")
    if library is None or sys.implementation.name != "cpython" or "t" in sys.abiflags or not os.path.isfile(path):
        return None
    try:
        spec = importlib.util.spec_from_file_location("bubblescope_native_ranges", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        functions = [getattr(library, "bubblescope_" + name) for name in ("push", "push_bytes", "pop")]
        module.bind(*[ctypes.cast(function, ctypes.c_void_p).value for function in functions])
        return module
    except Exception:  # noqa: BLE001
        return None


_fast, _patient = _load()
_module = _native(_fast)
push, push_bytes, pop = (_module.push, _module.push_bytes, _module.pop) if _module else (
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
    """Settings for checks in bubbles: margin (a fraction), limit in bytes (None = unlimited), and the fraction of the step
    time that they may use. None without checks."""
    margin, memory, cost = ctypes.c_double(), ctypes.c_int64(), ctypes.c_double()
    if not _checks(ctypes.byref(margin), ctypes.byref(memory), ctypes.byref(cost)):
        return None
    return margin.value, None if memory.value < 0 else memory.value, cost.value


def event_address():
    """Address of the function that receives the records of checks."""
    return ctypes.cast(_patient.bubblescope_event, ctypes.c_void_p).value


def state(name, value):
    """Writes a property of the job; the manual's page on recording frameworks lists the names."""
    _state(str(name).encode(), str(value).encode())


def step_values(step, loss=None, tokens=None, samples=None, sequence_length=None):
    """Writes the framework's values for a finished step; unknown values are None. Each rank writes its values; counts are
    for the replica of the rank."""
    counts = [-1 if count is None else int(count) for count in (tokens, samples, sequence_length)]
    if loss is not None or max(counts) >= 0:
        _step_values(step, loss is not None, 0.0 if loss is None else float(loss), *counts)


def message(text):
    """Writes one line to the trace and to the log of the capture."""
    if _patient is not None:
        return _message(str(text).encode())
    try:
        with open(os.path.join(os.environ["BUBBLESCOPE_CAPTURE_DIR"], "capture.log"), "a") as log:
            log.write("%s %d: %s\n" % (os.path.basename(sys.executable), os.getpid(), text))
    except (OSError, KeyError):
        pass
    return None


def release_cupti(tool):
    """Releases CUPTI for a profiler that the job starts, because only one tool at a time may use
    CUPTI."""
    _release_cupti(tool.encode())


FlightState = getattr(_module, "FlightState", object)  # base of exchanges.InFlight


def native_range(kind, *args):
    """A range around a function that runs without Python code and passes the arguments unchanged: `kind` is the name of a
    function of the native module. None if the module cannot make it, as with other Python implementations."""
    if not hasattr(_module, "StepState"):
        return None
    try:
        return getattr(_module, kind)(*args)
    except TypeError:  # before Python 3.11, a function that is not written in Python
        return None


class Steps(getattr(_module, "StepState", object)):
    """Steps of a process. Ops are written only within a step, and only once: if one framework calls another, only the outer
    framework writes."""

    def __init__(self):
        self.active = False  # inside a training step
        self.inside = 0  # number of enclosing ops
        self.sends = 0  # ranges of sends that end with the next op or transfer
        self.number = -1
        self._stated = None
        self._optimizing = False

    def begin(self):
        self.end_optimizer()  # closes the range of an optimizer step that raised an exception
        self.number += 1
        mark(b"step %d" % self.number)
        self.inside = 0
        self.active = True

    def pause(self):
        """Ends the step. Later ops are part of an evaluation and are not in a step."""
        self.end_optimizer()
        mark(b"evaluation")
        self.active = False

    def state_once(self, key, describe):
        """`describe` returns a dictionary of properties. It is called when `key` changes."""
        if key == self._stated:
            return
        self._stated = key
        try:
            for name, value in describe().items():
                if value is not None:
                    state(name, value)
        except Exception as problem:  # noqa: BLE001
            message("cannot describe the framework: %s: %s" % (type(problem).__name__, problem))

    def end_sends(self):
        while self.sends:
            self.sends -= 1
            pop()

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
    """Number of layers in the PyTorch module of a stage: the length of its longest list of modules, without lists nested in
    other lists. None if there is no list."""
    nn = sys.modules["torch.nn"]
    lists = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
    level, most = [module], 0
    while level and not most:
        most = max([len(inner) for inner in level if isinstance(inner, lists)], default=0)
        level = [child for inner in level for child in inner.children()]
    return most or None


def stage_layers(stages):
    """The value of "layers" for state(), such as "0:4,7:4", from (stage, module) pairs; None if a stage has no
    list of layers."""
    counts = [(stage, longest_list(module)) for stage, module in stages]
    if any(count is None for _, count in counts):
        return None
    return ",".join("%d:%d" % pair for pair in counts)


class Range:
    """An op that includes all ops inside it."""

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
    """For Changes.replace(): writes calls of the function as ranges. `name_of` takes the arguments of the call and returns
    the name in bytes, or None if the call is not an op. It must be fast."""

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


def stage_range(letter, other="", choice=None, position=0):
    """For Changes.replace(): writes calls of a stage's method as ranges such as b"2F3", from the attribute stage_index of
    the stage and the micro-batch, which is the first argument. If the argument `choice`, which may also be passed at
    `position`, is false, the letter is `other`."""

    def name_of(stage, chunk, *rest, **more):
        steps.end_sends()
        is_other = choice is not None and not more.get(choice, (rest[position - 2 :] or (True,))[0])
        return names["%d" + (other if is_other else letter) + "%d", stage.stage_index, chunk]

    def make(function):
        native = native_range("stage_range", function, steps, "stage_index", letter, other or letter, choice, position)
        return range_around(name_of)(function) if native is None else native

    return make


def evaluation(function):
    """For Changes.replace(): ops during a call of the function are not part of a step."""

    def call(*args, **kwargs):
        steps.pause()
        return function(*args, **kwargs)

    return call


class _Names(dict):
    """Names in bytes, by (spelling, stage, micro-batch), as in names["%dF%d", 2, 3]. Cached because the same names occur in
    every step."""

    _MOST = 1 << 16

    def __missing__(self, key):
        made = (key[0] % key[1:]).encode()
        if len(self) < self._MOST:
            self[key] = made
        return made


names = _Names()


def pair_name(forward, backward):
    """Name of an op or an overlapped pair, from the (stage, micro-batch) of its forward, its backward or
    both."""
    if backward is None:
        return names[("%dF%d",) + forward]
    if forward is None:
        return names[("%dB%d",) + backward]
    return names[("(%dF%d;%dB%d)OVERLAP_F_B",) + forward + backward]


def _watch_optimizers():
    """Writes steps of PyTorch's optimizers as ops, regardless of the caller."""
    optimizer = sys.modules.get("torch.optim.optimizer")
    if optimizer is None:
        return
    optimizer.register_optimizer_step_pre_hook(steps.begin_optimizer)
    optimizer.register_optimizer_step_post_hook(steps.end_optimizer)


def _on_collection(phase, about):
    # Collections of young objects are short and occur hundreds of times per second. Collections during finalization of the
    # interpreter do not delay work.
    if about["generation"] < 2 or sys.is_finalizing():
        return
    if phase == "start":
        push(b"gc")
    else:
        pop()


def _watch_collections():
    """Writes full garbage collections as ranges, because a rank that pauses for a collection delays all
    others."""
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
    """Writes waits for the next batch of PyTorch's data loaders as ranges."""
    loaders = sys.modules.get("torch.utils.data.dataloader")
    iterator = getattr(loaders, "_BaseDataLoaderIter", None)
    if iterator is None or not hasattr(iterator, "__next__"):
        return
    iterator.__next__ = _with_wait(iterator.__next__)


def watch_host():
    """Starts recording other activities of the host."""
    _watch_optimizers()
    _watch_collections()
    _watch_data_loaders()
