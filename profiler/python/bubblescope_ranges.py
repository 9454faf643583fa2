"""Names the ops of a custom framework in the capture of `bubblescope record --python-ranges`.

    from bubblescope_ranges import op, step, transfer

    for batch in data:
        step()                                               # a step begins
        with op("F", microbatch=3, stage=1):                 # an op runs: F, B, I (for the input), W (for the weights), O
            ...
        with transfer("send", "activation", microbatch=3, stage=1, bytes=tensor.nbytes):
            ...

In a process that is not recorded, these functions do nothing. A trainer that must also run without Bubblescope can use
`contextlib.nullcontext` for `op` and `transfer` if the import fails.
"""

from bubblescope_adapters import events as _events

__all__ = ["op", "step", "transfer"]

_on = _events.records_own_ranges()
_DIRECTIONS = {"send": "SEND", "receive": "RECV"}
_PAYLOADS = {"activation": "F", "gradient": "B"}


class _Range:
    __slots__ = ("_name", "_bytes")

    def __init__(self, name, size=0):
        self._name = name
        self._bytes = size

    def __enter__(self):
        if _on and self._bytes:
            _events.push_bytes(self._name, self._bytes)
        elif _on:
            _events.push(self._name)
        return self

    def __exit__(self, *_):
        if _on:
            _events.pop()
        return False


def op(kind, microbatch=0, stage=0):
    """Context manager for an op on the calling thread. `kind`: F forward, B backward, I input gradients, W weight gradients,
    O optimizer. `stage`: index in the complete pipeline, from 0. On a GPU, the op lasts as long as the kernels launched
    inside it."""
    if kind == "O":
        return _Range(b"Optimizer")
    if kind not in ("F", "B", "I", "W"):
        raise ValueError("kind is %r, not one of F, B, I, W and O" % (kind,))
    return _Range(b"%d%s%d" % (stage, kind.encode(), microbatch))


def step(number=None, schedule=None, tokens=None, samples=None, sequence_length=None, previous_loss=None):
    """Starts a step, which lasts until the next call. By default, `number` is a counter. `schedule`: the trainer's name for
    its schedule, passed once. `tokens`, `samples`, `sequence_length`: input size of the step in the caller's pipeline,
    passed by only one of its ranks. `previous_loss`: loss of the step that ends with this call."""
    if not _on:
        return
    if previous_loss is not None and step._number >= 0:
        _events.step_values(step._number, loss=previous_loss)
    if schedule is not None and schedule != step._schedule:
        step._schedule = schedule
        _events.state("framework", "own")
        _events.state("schedule", schedule)
    step._number = step._number + 1 if number is None else int(number)
    _events.mark(b"step %d" % step._number)
    _events.step_values(step._number, tokens=tokens, samples=samples, sequence_length=sequence_length)


step._number = -1
step._schedule = None


def transfer(direction, payload, microbatch, stage, bytes=0):
    """Context manager for a transfer. `direction`: send or receive; for a receive, wrap the wait for the data. `payload`:
    activation or gradient. `stage`: stage of the calling rank. `bytes`: size of the payload, if known."""
    try:
        spelling = "%d" + _DIRECTIONS[direction] + "_" + _PAYLOADS[payload] + "%d"
    except KeyError as wrong:
        raise ValueError("%s is not a direction (send, receive) or payload (activation, gradient)" % wrong) from None
    return _Range((spelling % (stage, microbatch)).encode(), bytes)
