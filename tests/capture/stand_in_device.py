"""A device that takes the place of a GPU in tests of checks in bubbles: CPU tensors, and streams whose work runs in threads,
at random times that only the streams' order and events restrict. Work that lacks an event therefore reads wrong data.

Its time is computed when work is queued, so it does not depend on this machine: each operator has a cost, the host needs
`launch_ns` to queue it, and work that overlaps with the work of other streams takes longer by the overlap."""

import collections
import contextlib
import queue
import random
import threading

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bubblescope_adapters.device import Host

_WAITS = ("_local_scalar_dense", "equal", "nonzero", "is_nonzero")


class Event:
    def __init__(self, device):
        self._device, self._done, self.ns = device, None, None

    def record(self, stream):
        done = self._done = threading.Event()
        self.ns = stream.queue(done.set, 0)

    def query(self):
        self._device.forbidden += self._device.others_capture and not self._device.is_apart
        if self._device.now_ns < self.ns:
            return False
        self._done.wait()
        self._device.raise_problem()
        return True

    def elapsed_time(self, end):
        assert self.query() and end.query(), "the time of an event that has not occurred"
        return (end.ns - self.ns) / 1e6

    def wait_on(self):
        return self._done.wait


class Stream:
    def __init__(self, device, computes=True):
        self._device, self._calls, self._computes = device, queue.SimpleQueue(), computes
        self.ns = 0  # end of the queued work
        self.busy = collections.deque(maxlen=16)
        self._chance = random.Random(len(device.streams))
        device.streams.append(self)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with torch.no_grad():
            while (call := self._calls.get()) is not None:
                if self._chance.random() < self._device.pause:
                    threading.Event().wait(self._chance.random() * 2e-3)
                try:
                    call()
                except Exception as problem:  # noqa: BLE001: raised where the host looks next
                    self._device.problem = problem

    def queue(self, call, cost):
        """Returns the time at which the work ends."""
        start = max(self.ns, self._device.now_ns)
        if self._computes and cost:
            cost += sum([max(min(start + cost, end) - max(start, begin), 0)
                         for other in self._device.streams if other is not self for begin, end in other.busy])
            self.busy.append((start, start + cost))
        self.ns = start + cost
        self._calls.put(call)
        return self.ns

    def wait_event(self, event):
        self.ns = max(self.ns, event.ns)
        self._calls.put(event.wait_on())

    def sleep(self, ns):
        """A pause of another rank: it begins behind the last work, even if this host is late."""
        self.ns += ns

    def synchronize(self):
        event = Event(self._device)
        event.record(self)
        self._device.now_ns = max(self._device.now_ns, event.ns)
        event.wait_on()()
        self._device.raise_problem()


class _On:
    def __init__(self, device, stream):
        self._device, self._stream = device, stream

    def __enter__(self):
        self._before, self._device.stream_now = self._device.stream_now, self._stream

    def __exit__(self, *_):
        self._device.stream_now = self._before


class StandIn(Host):
    """As bubblescope_adapters.device.Cuda. Operators are queued inside `with device.operators():`."""

    queues = True

    def __init__(self, cost, launch_ns=5_000, pause=0.01):
        """`cost` is a function of an operator's name that returns nanoseconds; `pause` is the probability that a stream pauses
        before a call."""
        self.cost, self.launch_ns, self.pause = cost, launch_ns, pause
        self.now_ns, self.streams, self.captures, self.shapes = 0, [], False, {}
        self.problem = None
        self.others_capture = self.is_apart = False
        self.forbidden = 0  # calls that would break the capture of a CUDA graph by another thread
        self.stream_now = self.job = Stream(self)

    def identifier(self):
        return "stand-in"

    def raise_problem(self):
        if self.problem is not None:
            raise self.problem

    @contextlib.contextmanager
    def apart(self):
        before, self.is_apart = self.is_apart, True
        try:
            yield
        finally:
            self.is_apart = before

    def current(self):
        return self.stream_now

    def stream(self, computes=True):
        return Stream(self, computes)

    def on(self, stream):
        return _On(self, stream)

    def event(self):
        return Event(self)

    def capturing(self):
        return self.captures

    def now(self):
        return self.now_ns

    def to_host(self, values):
        return torch.empty(values.shape, dtype=values.dtype).copy_(values)

    def operators(self):
        return _Operators(self)


class _Operators(TorchDispatchMode):
    def __init__(self, device):
        super().__init__()
        self._device = device

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        device, name = self._device, function.overloadpacket.__name__
        device.now_ns += device.launch_ns
        tensors = _tensors(args, []) + _tensors(tuple(kwargs.values()), [])
        shapes_only = any([one.is_meta for one in tensors]) or str(kwargs.get("device")) == "meta"
        if function.is_view or not tensors or shapes_only or name in ("lift_fresh", "detach"):
            return function(*args, **kwargs)
        if name in _WAITS:
            device.current().synchronize()
            return function(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in function.tags:
            # Like on a GPU, the host determines the random numbers when it queues the operator.
            drawn = torch.empty_like(args[0])
            function(drawn, *args[1:], **kwargs)
            return self._queue(name, lambda out=args[0].data: out.copy_(drawn), args[0])
        data = _mapped(args), {key: _mapped(value) for key, value in kwargs.items()}
        if function._schema.is_mutable:
            result = kwargs.get("out", args[0]) if function._schema.returns else None
            return self._queue(name, lambda: function(*data[0], **data[1]), result)
        outputs = self._outputs(function, args, kwargs)
        into = [one.data for one in _tensors((outputs,), [])]  # so that threads do not change their versions

        def run():
            results = function(*data[0], **data[1])
            for out, one in zip(into, _tensors((results,), [])):
                out.copy_(one)

        return self._queue(name, run, outputs)

    def _queue(self, name, call, result):
        self._device.current().queue(call, self._device.cost(name))
        return result

    def _outputs(self, function, args, kwargs):
        """Memory for the results, whose shapes PyTorch computes without data."""
        key = function, _key(args), _key(tuple(kwargs.items()))
        if key not in self._device.shapes:
            on_meta = lambda value: _mapped(value, lambda one: one.data.to("meta"))
            self._device.shapes[key] = function(*on_meta(args), **{name: on_meta(value) for name, value in kwargs.items()
                                                            if name != "device"})
        return _mapped(self._device.shapes[key], lambda one: torch.empty_strided(one.shape, one.stride(), dtype=one.dtype))


def _tensors(value, found):
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for one in value:
            _tensors(one, found)
    return found


def _mapped(value, change=lambda tensor: tensor.data):
    if isinstance(value, torch.Tensor):
        return change(value)
    return type(value)(_mapped(one, change) for one in value) if isinstance(value, (tuple, list)) else value


def _key(value):
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype
    return tuple([_key(one) for one in value]) if isinstance(value, (tuple, list)) else value
