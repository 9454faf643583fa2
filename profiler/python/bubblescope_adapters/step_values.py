"""Values that a framework provides for a step, in addition to times: loss, tokens, samples and sequence length."""

import atexit
import os
import sys
import time

from . import events

_AT_ONCE = 8  # steps whose losses are copied to the host together
_SOON = 1.0  # seconds after which losses are copied even if there are fewer steps
_PATIENCE = 0.2  # seconds to wait for losses at the exit of the process


class StepValues:
    """Writes the values of finished steps. It never waits for a device during the job. Losses on a device take one launch
    per step, which gathers those of the micro-batches in their own type, and one copy every eighth step, or every second if
    steps are longer. The host adds them up in double precision. A step that is captured into a CUDA graph has no loss."""

    def __init__(self):
        self._gathered = None  # a _Block
        self._waiting = []  # blocks being copied to the host
        self._failed = False
        atexit.register(self._finish, os.getpid())

    def state(self, step, losses=(), inputs=(), added=False, weights=(), **counts):
        """`losses` are the losses of the micro-batches, as numbers or tensors. The loss of the step is their mean; if `added`,
        their sum; with `weights`, which has one number or tensor per loss, their sum divided by that of the weights.
        `inputs` are the tensors of the step's input on this rank; see sizes(). `counts` are the counts for
        events.step_values()."""
        if self._failed:
            return
        try:
            events.step_values(step, **dict(sizes(inputs), **counts))
            if losses:
                self._state_loss(step, losses, weights, 1 if added or weights else len(losses))
            elif self._waiting:
                self._tell()
        except Exception as problem:  # noqa: BLE001: the job matters more
            self._failed = True
            events.message("loss and tokens are not recorded: %s: %s" % (type(problem).__name__, problem))

    def state_as(self, step, describe):
        """`describe` returns the arguments of state() as a dictionary."""
        try:
            known = describe()
        except Exception:  # noqa: BLE001: a call of another kind than is known
            return
        self.state(step, **known)

    def _state_loss(self, step, losses, weights, parts):
        torch = sys.modules.get("torch")
        tensors = [loss for loss in losses if torch is not None and isinstance(loss, torch.Tensor)]
        devices = [loss.device for loss in tensors if loss.device.type != "cpu"]
        if not devices:
            return events.step_values(step, loss=sum(map(_number, losses)) / (sum(map(_number, weights)) if weights else parts))
        if getattr(torch.get_device_module(devices[0]), "is_current_stream_capturing", bool)():
            return None  # the graph would repeat our launches, and a query would break the capture
        self._tell()
        with torch.no_grad():
            rows = [_alike(torch, values, devices[0]) for values in (losses, weights) if values]
            kinds = [(len(row), row[0].dtype, row[0].device) for row in rows]
            if self._gathered is not None and self._gathered.kinds != kinds:
                self._send(torch)
            if self._gathered is None:
                self._gathered = _Block(torch, kinds)
            self._gathered.add(torch, step, parts, rows)
            if self._gathered.is_due():
                self._send(torch)
        return None

    def _send(self, torch):
        block, self._gathered = self._gathered, None
        block.send(torch)
        self._waiting.append(block)

    def _tell(self):
        while self._waiting and self._waiting[0].arrived.query():
            for step, loss in self._waiting.pop(0).losses():
                events.step_values(step, loss=loss)

    def _finish(self, process):
        if self._failed or os.getpid() != process:  # a forked child cannot use its parent's device
            return
        try:
            if self._gathered is not None:
                self._send(sys.modules["torch"])
            until = time.monotonic() + _PATIENCE  # a device that hangs must not block the exit
            self._tell()
            while self._waiting and time.monotonic() < until:
                time.sleep(0.001)
                self._tell()
        except Exception:  # noqa: BLE001: a device that has failed
            pass


class _Block:
    """The losses of several steps on a device, and their weights if they have any: one row per step. Rows are copies,
    because a job may reuse the memory of its losses in the next step."""

    def __init__(self, torch, kinds):
        self.kinds = kinds
        self.arrived = None
        self._steps = []  # (step, divisor)
        self._since = time.monotonic()
        self._rows = [torch.empty((_AT_ONCE, count), dtype=dtype, device=device) for count, dtype, device in kinds]

    def add(self, torch, step, parts, rows):
        for block, row in zip(self._rows, rows):
            torch.stack(row, out=block[len(self._steps)])
        self._steps.append((step, parts))

    def is_due(self):
        return len(self._steps) == _AT_ONCE or time.monotonic() - self._since >= _SOON

    def send(self, torch):
        hosts = []
        for block in self._rows:
            hosts.append(torch.empty(block.shape, dtype=block.dtype, pin_memory=True))
            hosts[-1].copy_(block, non_blocking=True)
        self.arrived = torch.get_device_module(self.kinds[0][2]).Event()
        self.arrived.record()
        self._rows = hosts

    def losses(self):
        """(step, loss) of each step, after the arrival."""
        sums = [block[: len(self._steps)].double().sum(dim=1).tolist() for block in self._rows]
        divisors = sums[1] if len(sums) > 1 else [parts for _, parts in self._steps]
        return [(step, loss / by if by else float("nan")) for (step, _), loss, by in zip(self._steps, sums[0], divisors)]


def _number(value):
    return value.detach().item() if hasattr(value, "detach") else float(value)


def _alike(torch, values, device):
    """Usually, the values are scalars of one type on one device, which are used as they are."""
    if len({(type(value), getattr(value, "dtype", None), getattr(value, "device", None)) for value in values}) == 1:
        if all([value.numel() == 1 for value in values]):
            return [value.detach().reshape(()) for value in values]
    return [torch.as_tensor(value, device=device).detach().double().sum() for value in values]


_tensors = {} # tensor classes of the loaded frameworks


def _is_tensor(value):
    """True for tensors of PyTorch or PaddlePaddle."""
    there = "torch" in sys.modules, "paddle" in sys.modules
    classes = _tensors.get(there)
    if classes is None:
        modules = [sys.modules.get(name) for name in ("torch", "paddle")]
        classes = tuple([module.Tensor for module in modules if hasattr(module, "Tensor")])
        if classes:
            _tensors[there] = classes
    return isinstance(value, classes)


_sizes = {}  # cached results by shapes and types, which are equal in most steps


def sizes(inputs):
    """The number of samples and, for text (integers, one row per sample), the number of tokens and the longest
    sequence."""
    shapes = tuple([(tuple(one.shape), one.dtype) for one in inputs if _is_tensor(one) and len(one.shape) > 0])
    found = _sizes.get(shapes)
    if found is None:
        if len(_sizes) > 256:
            _sizes.clear()
        found = _sizes[shapes] = _sizes_of(shapes)
    return found


def _sizes_of(shapes):
    if not shapes:
        return {}
    found = {"samples": sum([shape[0] for shape, _ in shapes])}
    if all([len(shape) == 2 and str(kind).rsplit(".", 1)[-1] in ("int64", "int32") for shape, kind in shapes]):
        found["tokens"] = sum([shape[0] * shape[1] for shape, _ in shapes])
        found["sequence_length"] = max([shape[1] for shape, _ in shapes])
    return found


def first_tensor(*values):
    """First tensor among the arguments of a call, as a list; [] if there is none."""
    for value in values:
        if _is_tensor(value):
            return [value]
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (tuple, list)):
            found = first_tensor(*value)
            if found:
                return found
    return []
