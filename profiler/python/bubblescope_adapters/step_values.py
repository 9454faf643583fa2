"""Values that a framework provides for a step, in addition to times: loss, tokens, samples and sequence length."""

import sys

from . import events


class StepValues:
    """Writes the values of finished steps. It never waits for a device: values are written when they have
    arrived."""

    def __init__(self):
        self._waiting = []  # (step, losses being copied to the host, divisor, event for their arrival)
        self._failed = False

    def state(self, step, losses=(), inputs=(), added=False, **counts):
        """`losses` are the losses of the micro-batches, as numbers or tensors. The loss of the step is their mean, or their
        sum if `added`. `inputs` are the tensors of the step's input on this rank; see sizes(). `counts` are the counts for
        events.step_values()."""
        if self._failed:
            return
        try:
            events.step_values(step, **dict(sizes(inputs), **counts))
            self._tell()
            if losses:
                self._state_loss(step, losses, 1 if added else len(losses))
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

    def _state_loss(self, step, losses, parts):
        torch = sys.modules.get("torch")
        tensors = [loss for loss in losses if torch is not None and isinstance(loss, torch.Tensor)]
        devices = [loss.device for loss in tensors if loss.device.type != "cpu"]
        if not devices:
            numbers = [loss.detach().item() if hasattr(loss, "detach") else float(loss) for loss in losses]
            return events.step_values(step, loss=sum(numbers) / parts)
        with torch.no_grad():
            together = torch.stack(self._alike(torch, losses, devices[0]))
            host = torch.empty(together.shape, dtype=together.dtype, pin_memory=True)
            host.copy_(together, non_blocking=True)
        arrived = torch.get_device_module(devices[0]).Event()
        arrived.record()
        self._waiting.append((step, host, parts, arrived))
        return None

    @staticmethod
    def _alike(torch, losses, device):
        """Usually, the losses are scalars of one type on one device, which then performs only a stack and a
        copy."""
        if len({(type(loss), getattr(loss, "dtype", None), getattr(loss, "device", None)) for loss in losses}) == 1:
            if all([loss.dim() == 0 for loss in losses]):
                return [loss.detach() for loss in losses]
        return [torch.as_tensor(loss, device=device).detach().float().sum() for loss in losses]

    def _tell(self):
        while self._waiting and self._waiting[0][3].query():
            step, host, parts, _ = self._waiting.pop(0)
            events.step_values(step, loss=host.double().sum().item() / parts)


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
