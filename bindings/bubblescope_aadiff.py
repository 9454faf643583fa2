"""Checks in the bubbles of a pipeline: the Python interface of bubblescope_aadiff.h. A single file that needs no build step and
does not import torch when it is loaded.

    import bubblescope_aadiff as aadiff

    session = aadiff.Session("1f1b", rank=rank, pp=4, microbatches=8, directory="my-run")
    for step in range(steps):
        with session.step(step):
            ...                                    # in a bubble, once the sends are issued:
            for task in session.tasks():
                with task:                         # measures the time
                    out = recompute(task.op, task.layer)
                if not task.compare("output", aadiff.digest(out)):
                    ...                            # a mismatch
            with session.op("F", microbatch, chunk) as op:
                out = layer(x)
                op.computed(0, "output", aadiff.digest(out))
    session.close()

The library is loaded from the path BUBBLESCOPE_AADIFF_LIBRARY, from the folder of this file, or from the system's library path.
"""

import contextlib
import ctypes
import os

VERSION = 1
VERDICTS = ("open", "transient", "device", "everywhere")
ELEMENT_TYPES = {"bits8": 1, "bits16": 2, "bits32": 4, "bits64": 8,
                 "float16": 16, "bfloat16": 17, "float32": 32, "float64": 64}

_ODD = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_MASK = (1 << 64) - 1


class AadiffError(RuntimeError):
    """An error from the library."""


class _Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("rank", ctypes.c_int32), ("replica", ctypes.c_int32),
                ("tensor_rank", ctypes.c_int32), ("dp", ctypes.c_int32), ("tp", ctypes.c_int32),
                ("schedule", ctypes.c_char_p), ("flavor", ctypes.c_char_p), ("pp", ctypes.c_int32),
                ("microbatches", ctypes.c_int32), ("vpp", ctypes.c_int32), ("layers_per_stage", ctypes.c_int32),
                ("forward_ns", ctypes.c_int64), ("backward_ns", ctypes.c_int64), ("input_grad_ns", ctypes.c_int64),
                ("weight_grad_ns", ctypes.c_int64), ("margin", ctypes.c_double), ("latency_ns", ctypes.c_int64),
                ("directory", ctypes.c_char_p), ("device", ctypes.c_char_p), ("order", ctypes.c_char_p),
                ("layers", ctypes.POINTER(ctypes.c_int32)), ("kinds", ctypes.c_char_p),
                ("kept_bytes", ctypes.POINTER(ctypes.c_int64)), ("room_bytes", ctypes.c_int64),
                ("event", ctypes.c_void_p), ("forward_again", ctypes.c_int32)]


class _Op(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("kind", ctypes.c_char), ("microbatch", ctypes.c_int32),
                ("chunk", ctypes.c_int32), ("sequence", ctypes.c_int32)]


class _Task(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("op", _Op), ("layer", ctypes.c_int32), ("cost_ns", ctypes.c_int64),
                ("free_ns", ctypes.c_int64)]


class _Counts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("planned", ctypes.c_int64), ("equal", ctypes.c_int64),
                ("mismatched", ctypes.c_int64), ("aborted", ctypes.c_int64), ("skipped", ctypes.c_int64),
                ("units", ctypes.c_int32), ("units_covered", ctypes.c_int32)]


def _load():
    name = "libbubblescope_aadiff.so"
    wanted = os.environ.get("BUBBLESCOPE_AADIFF_LIBRARY")
    here = os.path.dirname(os.path.abspath(__file__))
    places = (os.path.join(here, name), os.path.join(here, "bubblescope", "lib", name),  # both are in a wheel
              os.path.normpath(os.path.join(here, "..", "..", "..", name)))
    beside = [path for path in places if os.path.exists(path)]
    library = ctypes.CDLL(wanted or (beside[0] if beside else name))
    session, op, task = ctypes.c_void_p, ctypes.POINTER(_Op), ctypes.POINTER(_Task)
    i32, i64, u64, text, size = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t
    buffer, digests = ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)
    for function, result, arguments in (
            ("version", ctypes.c_uint32, []), ("error", text, []), ("now", i64, []),
            ("digest", u64, [buffer, size]), ("digest_sum", u64, [buffer, size, u64]),
            ("digest_finish", u64, [u64, u64]),
            ("open", ctypes.c_int, [ctypes.POINTER(_Config), ctypes.POINTER(session)]), ("close", None, [session]),
            ("leave_out_kinds", ctypes.c_int, [session, i32, i32, text]), ("planned", ctypes.c_int, [session, task, size]),
            ("withdraw", ctypes.c_int, [session, op, i32]), ("move", ctypes.c_int, [session, op, i32, i32]),
            ("begin_step", ctypes.c_int, [session, i32]), ("end_step", ctypes.c_int, [session]),
            ("op", ctypes.c_int, [session, op, i64, i64]), ("wanted", ctypes.c_int, [session, op, i32]),
            ("computed", ctypes.c_int, [session, op, i32, text, u64]), ("ask", ctypes.c_int, [session, i64, task]),
            ("checked", ctypes.c_int, [session, task, text, u64, i64, i64]),
            ("given_up", ctypes.c_int, [session, task, i64, i64]),
            ("difference", ctypes.c_int, [session, buffer, buffer, i64, i32]),
            ("repeated", ctypes.c_int, [session, digests, size, digests, size]),
            ("count", ctypes.c_int, [session, ctypes.POINTER(_Counts)])):
        entry = getattr(library, "bubblescope_aadiff_" + function)
        entry.restype, entry.argtypes = result, arguments
    if library.bubblescope_aadiff_version() != VERSION:
        raise AadiffError(f"{name} has version {library.bubblescope_aadiff_version()} of the interface, but this file "
                          f"version {VERSION}: use both from the same Bubblescope version")
    return library


_library = None


def _lib():
    global _library
    if _library is None:
        _library = _load()
    return _library


def _call(function, *arguments):
    code = getattr(_lib(), "bubblescope_aadiff_" + function)(*arguments)
    if code < 0:
        raise AadiffError(_lib().bubblescope_aadiff_error().decode())
    return code


def now():
    """Current time in nanoseconds, on the clock for all times in this module."""
    return _lib().bubblescope_aadiff_now()


def _address(data):
    """Address and size of contiguous host memory, and the object that owns it."""
    if hasattr(data, "data_ptr"):  # a torch or paddle tensor
        tensor = data.detach().contiguous()
        size = getattr(tensor, "nbytes", None)  # paddle has no such attribute
        return tensor.data_ptr(), int(tensor.size) * tensor.element_size() if size is None else size, tensor
    view = memoryview(data)
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    if view.nbytes == 0:
        return None, 0, view
    if view.readonly:
        kept = ctypes.create_string_buffer(view.tobytes(), view.nbytes)
    else:
        kept = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B"))
    return ctypes.addressof(kept), view.nbytes, kept


def digest(data):
    """Digest of bytes, of an object with the buffer protocol (NumPy), or of a torch tensor on any device."""
    if hasattr(data, "data_ptr") and getattr(data, "device", None) is not None and data.device.type != "cpu":
        return torch_digest(data)
    address, size, kept = _address(data)
    result = _lib().bubblescope_aadiff_digest(address, size)
    del kept
    return result


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def torch_digest_sum(tensor):
    """Sum of the digest, as an int64 tensor with one element on the tensor's device. Does not wait for the device."""
    import torch
    raw = tensor.detach().contiguous().view(-1).view(torch.uint8)
    if raw.numel() % 8:
        raw = torch.cat([raw, raw.new_zeros(8 - raw.numel() % 8)])
    words = raw.view(torch.int64) if raw.storage_offset() % 8 == 0 else raw.clone().view(torch.int64)

    def mix(x):  # int64 wraps like uint64; right shifts must fill with zeros
        for shift, factor in ((30, _FIRST), (27, _SECOND), (31, None)):
            x = x ^ ((x >> shift) & ((1 << (64 - shift)) - 1))
            if factor is not None:
                x = x * _signed(factor)
        return x

    places = torch.arange(1, words.numel() + 1, dtype=torch.int64, device=words.device)
    return mix(words + places * _signed(_ODD)).sum()


def digest_finish(total, size):
    """Digest of `size` bytes whose terms add up to `total`, a number or the result of torch_digest_sum()."""
    return _lib().bubblescope_aadiff_digest_finish(int(total) & _MASK, size)


def torch_digest(tensor):
    """Same value as digest(), computed by torch on the device of the tensor."""
    return digest_finish(torch_digest_sum(tensor), tensor.numel() * tensor.element_size())


class Task:
    """A computation to repeat. As a context manager, measures the time. Afterwards, call compare() for every tensor, or call
    give_up()."""

    def __init__(self, session, raw):
        self._session, self._raw = session, raw
        self.kind = raw.op.kind.decode()
        self.microbatch, self.chunk, self.sequence = raw.op.microbatch, raw.op.chunk, raw.op.sequence
        self.layer, self.cost_ns, self.free_ns = raw.layer, raw.cost_ns, raw.free_ns
        self.start_ns = self.end_ns = now()

    @property
    def op(self):
        return self.kind, self.microbatch, self.chunk, self.sequence

    def __enter__(self):
        self.start_ns = self.end_ns = now()
        return self

    def __exit__(self, kind, error, trace):
        self.end_ns = now()
        return False

    def compare(self, tensor, value):
        """True if the digest equals the digest of the first execution."""
        return _call("checked", self._session, ctypes.byref(self._raw), tensor.encode(), value, self.start_ns,
                     self.end_ns) == 0

    def give_up(self):
        _call("given_up", self._session, ctypes.byref(self._raw), self.start_ns, now())

    def __repr__(self):
        return f"Task({self.kind}{self.microbatch}.{self.chunk}, layer {self.layer})"


class _Running:
    def __init__(self, session, op):
        self._session, self._op = session, op

    def computed(self, layer, tensor, value):
        """Reports the digest of one result of a layer in this op."""
        _call("computed", self._session, ctypes.byref(self._op), layer, tensor.encode(), value)

    def wanted(self, layer):
        """True if the layer will be repeated in this step, so that its inputs must be kept."""
        return _call("wanted", self._session, ctypes.byref(self._op), layer) == 1


class Session:
    """One rank of a pipeline. Times are in nanoseconds. The C header describes the arguments."""

    def __init__(self, schedule, *, rank, pp, microbatches, vpp=1, flavor=None, layers_per_stage=1, forward_ns=0,
                 backward_ns=0, input_grad_ns=0, weight_grad_ns=0, margin=0.0, latency_ns=0, directory=None,
                 device=None, replica=0, dp=1, tensor_rank=0, tp=1, order=None, layers=None, kinds=None, kept_bytes=None,
                 room_bytes=None, event=None, forward_again=False):
        """`order`: order of all ranks, as in PyTorch's schedule files. `layers`: number of layers per chunk, instead of
        layers_per_stage. `event`: address of a function to call for each check. `forward_again`: True if repeating a backward
        also requires repeating the forward."""
        array = lambda type, values: None if values is None else (type * len(values))(*values)
        room = 0 if room_bytes is None else room_bytes or -1
        text = lambda value: None if value is None else os.fspath(value).encode()
        config = _Config(ctypes.sizeof(_Config), rank, replica, tensor_rank, dp, tp, schedule.encode(), text(flavor), pp,
                         microbatches, vpp, layers_per_stage, forward_ns, backward_ns, input_grad_ns, weight_grad_ns,
                         margin, latency_ns, text(directory), text(device), text(order),
                         array(ctypes.c_int32, layers), text(kinds), array(ctypes.c_int64, kept_bytes), room, event,
                         forward_again)
        self._session = ctypes.c_void_p()
        _call("open", ctypes.byref(config), ctypes.byref(self._session))

    def leave_out(self, chunk, layer, kinds="FBIW"):
        """Excludes a layer whose ops of these kinds cannot be repeated. Must be called before checks are planned."""
        _call("leave_out_kinds", self._session, chunk, layer, kinds.encode())

    def planned(self):
        """Checks planned in this step, as (kind, microbatch, chunk, sequence), layer."""
        count = _call("planned", self._session, None, 0)
        tasks = (_Task * count)()
        for task in tasks:
            task.size = ctypes.sizeof(_Task)
        _call("planned", self._session, tasks, count)
        return [((task.op.kind.decode(), task.op.microbatch, task.op.chunk, task.op.sequence), task.layer)
                for task in tasks]

    def withdraw(self, op, layer):
        """Cancels a planned check, as if it had not been planned for this step."""
        _call("withdraw", self._session, ctypes.byref(self._op(*op)), layer)

    def move(self, op, layer, microbatch):
        """Moves a planned check of this step to another micro-batch."""
        _call("move", self._session, ctypes.byref(self._op(*op)), layer, microbatch)

    @contextlib.contextmanager
    def step(self, number):
        self.begin_step(number)
        yield self
        self.end_step()

    def begin_step(self, number):
        _call("begin_step", self._session, number)

    def end_step(self):
        _call("end_step", self._session)

    @staticmethod
    def _op(kind, microbatch, chunk, sequence):
        return _Op(ctypes.sizeof(_Op), kind.encode(), microbatch, chunk, sequence)

    @contextlib.contextmanager
    def op(self, kind, microbatch=0, chunk=0, sequence=0):
        """Context manager for an op of the schedule. Kinds are F, B, I, W and O."""
        raw = self._op(kind, microbatch, chunk, sequence)
        start = now()
        yield _Running(self._session, raw)
        _call("op", self._session, ctypes.byref(raw), start, now())

    def tell_op(self, kind, microbatch, chunk, start_ns, end_ns, sequence=0):
        """Reports a completed op, with times from now()."""
        _call("op", self._session, ctypes.byref(self._op(kind, microbatch, chunk, sequence)), start_ns, end_ns)

    def prepared(self, kind, microbatch=0, chunk=0, sequence=0):
        """A pair of functions (ran, computed) for an op that occurs in each step, which are faster than tell_op() and
        running().computed(). Call ran(start_ns, end_ns) and computed(layer, tensor, digest), where `tensor` is bytes."""
        library, session, op = _lib(), self._session, ctypes.byref(self._op(kind, microbatch, chunk, sequence))
        functions = library.bubblescope_aadiff_op, library.bubblescope_aadiff_computed

        def quick(function):
            def call(*args):
                if function(session, op, *args) < 0:
                    raise AadiffError(library.bubblescope_aadiff_error().decode())
            return call

        return quick(functions[0]), quick(functions[1])

    def running(self, kind, microbatch=0, chunk=0, sequence=0):
        """Reports digests of an op that is reported by tell_op()."""
        return _Running(self._session, self._op(kind, microbatch, chunk, sequence))

    def ask(self, free_ns=0):
        """Next computation to repeat, or None."""
        raw = _Task()
        raw.size = ctypes.sizeof(_Task)
        return Task(self._session, raw) if _call("ask", self._session, free_ns, ctypes.byref(raw)) == 1 else None

    def tasks(self, free_ns=0):
        """Iterates over all computations that fit into the bubble."""
        while (task := self.ask(free_ns)) is not None:
            yield task

    def difference(self, first, second, element_type):
        """Records the differences of the latest mismatch. The tensors must be contiguous, in host memory and equal in size."""
        (a, size, keep_a), (b, other, keep_b) = _address(first), _address(second)
        if size != other:
            raise ValueError("the tensors differ in size")
        code = ELEMENT_TYPES[element_type]
        width = {16: 2, 17: 2, 32: 4, 64: 8}.get(code, code)
        _call("difference", self._session, a, b, size // width, code)
        del keep_a, keep_b

    def repeated(self, here, there=()):
        """Verdict on the latest mismatch, from the digests of at least two more executions on each rank."""
        array = lambda values: (ctypes.c_uint64 * len(values))(*values)
        return VERDICTS[_call("repeated", self._session, array(here), len(here), array(there), len(there))]

    def counts(self):
        raw = _Counts()
        raw.size = ctypes.sizeof(_Counts)
        _call("count", self._session, ctypes.byref(raw))
        return {name: getattr(raw, name) for name, _ in _Counts._fields_[1:]}

    def close(self):
        if self._session:
            _lib().bubblescope_aadiff_close(self._session)
            self._session = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close()
        return False
