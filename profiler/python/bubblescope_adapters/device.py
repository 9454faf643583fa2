"""The device that computes a stage: its random numbers, precision, and, for a GPU, its streams and events. Checks use
PyTorch's device only through these classes, so that tests can replace the GPU."""

import contextlib
import ctypes
import sys
import time

torch = sys.modules["torch"]


_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class Host:
    """The CPU: ops end when their calls return, so it has no streams and no events."""

    type = "cpu"
    queues = False  # true if a call returns before its work has run

    def random_state(self):
        """State of the generators that modules on this device use, for set_random_state() and same()."""
        return [torch.get_rng_state()]

    def set_random_state(self, state):
        torch.set_rng_state(state[0])

    @staticmethod
    def same(state, other):
        return len(state) == len(other) and all(map(torch.equal, state, other))

    def precision(self):
        """Autocast state of the calling thread, for autocast()."""
        return torch.is_autocast_enabled(self.type), torch.get_autocast_dtype(self.type)

    def autocast(self, precision):
        enabled, dtype = precision
        return torch.autocast(self.type, dtype, enabled, cache_enabled=False)

    def holds(self, weight):
        return weight.device.type == self.type

    def identifier(self):
        """Name of the hardware for people; None if there is none."""


class Cuda(Host):
    """A GPU. None of the functions blocks the host, except the first use of pinned memory.

    A stream for checks has the same priority as the job's: PyTorch's default streams already have the lowest."""

    type = "cuda"
    queues = True

    def __init__(self, index):
        self.index = index
        self._exchange = self._exchange_of_driver()

    def holds(self, weight):
        return weight.device.type == self.type and weight.device.index == self.index

    def identifier(self):
        """The UUID identifies the card in every process and in `nvidia-smi -L`, unlike its index."""
        return "GPU-%s (cuda:%d)" % (torch.cuda.get_device_properties(self.index).uuid, self.index)

    @staticmethod
    def _exchange_of_driver():
        try:
            return ctypes.CDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode
        except (OSError, AttributeError):
            return None

    @contextlib.contextmanager
    def apart(self):
        """Within it, this thread may query events and allocate memory while another thread captures a CUDA graph in the
        global mode, which would fail otherwise, and the capture with it."""
        mode = ctypes.c_int(_RELAXED)
        exchanged = self._exchange is not None and self._exchange(ctypes.byref(mode)) == 0
        try:
            yield
        finally:
            if exchanged:
                self._exchange(ctypes.byref(mode))  # restores the mode before

    # The states of CUDA generators are seeds and offsets in host memory: reading and setting them does not wait.

    def random_state(self):
        return super().random_state() + [torch.cuda.get_rng_state(self.index)] + [
            state.get_state() if isinstance(state, torch.Generator) else state.clone()
            for _, state in self._tracked()
        ]

    def set_random_state(self, state):
        super().set_random_state(state)
        torch.cuda.set_rng_state(state[1], self.index)
        for (name, place), value in zip(self._tracked(), state[2:]):
            if isinstance(place, torch.Generator):
                place.set_state(value)
            else:
                self._trackers().states_[name] = value.clone()

    @staticmethod
    def _trackers():
        """Megatron-core's CudaRNGStatesTracker, whose generators tensor-parallel layers use; None without it."""
        random = sys.modules.get("megatron.core.tensor_parallel.random")
        return getattr(random, "_CUDA_RNG_STATE_TRACKER", None)

    def _tracked(self):
        return sorted((getattr(self._trackers(), "states_", None) or {}).items(), key=lambda one: one[0])

    # ---- Streams and events, with the methods of PyTorch's

    def current(self):
        return torch.cuda.current_stream(self.index)

    def stream(self):
        return torch.cuda.Stream(self.index)

    def on(self, stream):
        return torch.cuda.stream(stream)

    def event(self):
        return torch.cuda.Event(enable_timing=True)

    def capturing(self):
        """True while the job captures a CUDA graph, which work of others would break."""
        return torch.cuda.is_current_stream_capturing()

    @staticmethod
    def now():
        return time.monotonic_ns()

    def to_host(self, values):
        """Queues a copy to the host and returns it. Its content is valid once an event recorded afterwards has occurred."""
        copy = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        return copy.copy_(values, non_blocking=True)


host = Host()


def choose(modules):
    """The device whose layers can be checked: the only GPU among those of the weights, otherwise the CPU."""
    weights = [weight for module in modules for weight in list(module.parameters()) + list(module.buffers())]
    gpus = {weight.device.index for weight in weights if weight.device.type == "cuda"}
    return Cuda(gpus.pop()) if len(gpus) == 1 and torch.version.cuda else host
