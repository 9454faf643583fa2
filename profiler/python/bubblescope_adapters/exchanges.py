"""Ops and transfers of schedules that pass tensors between function calls: the schedules of Megatron-core, and those of
PaddlePaddle, which are modelled on Megatron-core's.

A send is identified by its tensor, which a forward or backward step returned. Receives are identified by their order, which
is the order in which the schedule uses them."""

from . import events
from .events import names, steps


def first(tensors):
    """The tensor that a step takes or returns; if there are several, the first."""
    if isinstance(tensors, dict):
        tensors = list(tensors.values())
    return first(tensors[0]) if isinstance(tensors, (list, tuple)) and tensors else tensors


def _bytes(tensors):
    if isinstance(tensors, (list, tuple)):
        return sum([_bytes(tensor) for tensor in tensors])
    size = getattr(tensors, "nbytes", None)
    return int(tensors.size) * tensors.element_size() if size is None else size


class InFlight(events.FlightState):
    """Transfers in progress in the current step."""

    def __init__(self):
        self.rank = 0
        self.size = 1
        self.last = 0  # stage
        self.outputs = {}  # (stage, micro-batch) by id of the output of a forward, or of the gradient from a backward
        self._receives_forward = iter(())
        self._receives_backward = iter(())

    def begin(self, rank, size, chunks, forward, backward):
        """`forward` and `backward` list (micro-batch, chunk) of this rank's ops in the order of the
        schedule."""
        self.rank, self.size = rank, size
        self.outputs.clear()
        self.last = size * chunks - 1
        self._receives_forward = self._behind(forward, 0)
        self._receives_backward = self._behind(backward, self.last)

    def _behind(self, order, end):
        """The ops of an order that wait for a tensor, which excludes ops of the stage at the end of the
        pipeline."""
        labels = [(chunk * self.size + self.rank, microbatch) for microbatch, chunk in order]
        return iter([label for label in labels if label[0] != end])

    def made(self, tensors, label):
        self.outputs[id(first(tensors))] = label

    def sends_inside(self, send, label):
        """`send`, which an op calls with its result before it returns."""

        def call(tensors, *args, **kwargs):
            self.made(tensors, label)
            return send(tensors, *args, **kwargs)

        return call

    def sent(self, tensors, spelling):
        """[(name, bytes)] of a send; [] if there is no send or if its tensor is unknown."""
        label = None if tensors is None else self.outputs.get(id(first(tensors)))
        return [] if label is None else [(names[(spelling,) + label], _bytes(tensors))]

    def _received(self, wanted, order, spelling):
        label = next(order, None) if wanted else None
        return None if label is None else names[(spelling,) + label]

    def exchange(self, fill):
        """For Changes.replace(): wraps a function that sends to both neighbours and receives from them, with the keyword
        arguments of Megatron-core. The function returns both received tensors and the requests, and waits for the requests
        unless an argument disables this. `fill` calls a function that waits, and may run checks in the meantime; see
        Checks.fill()."""

        def make(function):
            def call(*args, **kwargs):
                if not steps.active:
                    return function(*args, **kwargs)
                labels = self.sent(kwargs.get("tensor_send_next"), "%dSEND_F%d")
                labels += self.sent(kwargs.get("tensor_send_prev"), "%dSEND_B%d")
                forward = self._received(kwargs.get("recv_prev"), self._receives_forward, "%dRECV_F%d")
                backward = self._received(kwargs.get("recv_next"), self._receives_backward, "%dRECV_B%d")
                received = [label for label in (forward, backward) if label is not None]
                sends = bool(labels)
                waits = kwargs.get("wait_on_reqs", True)
                if waits:
                    labels += [(label, 0) for label in received]
                for label, size in labels:
                    events.push_bytes(label, size) if size else events.push(label)
                try:
                    if waits and received:
                        result = fill(lambda: function(*args, **kwargs), sends)
                    else:
                        result = function(*args, **kwargs)
                finally:
                    for _ in labels:
                        events.pop()
                return result if waits or not received else _show_waits(result, forward, backward, fill)

            return call

        return make


def _show_waits(result, forward, backward, fill):
    """The requests are either a dictionary keyed by received tensor, or a list whose requests are waited for
    together."""
    if len(result) != 3 or not result[2]:
        return result
    requests = result[2]
    if isinstance(requests, dict):
        for key, label in (("recv_prev", forward), ("recv_next", backward)):
            if label is not None and key in requests:
                requests[key] = _Waited([requests[key]], [label], fill)
    elif isinstance(requests, list):
        requests[:] = [_Waited(list(requests), [label for label in (forward, backward) if label is not None], fill)]
    return result


class _Waited:
    """Requests whose wait shows the arrival time of their data."""

    def __init__(self, requests, labels, fill):
        self._requests = requests
        self._labels = labels
        self._fill = fill

    def wait(self, *args, **kwargs):
        for label in self._labels:
            events.push(label)
        try:
            return self._fill(lambda: [request.wait(*args, **kwargs) for request in self._requests][-1],
                              arrived=lambda: all([request.is_completed() for request in self._requests]))
        finally:
            for _ in self._labels:
                events.pop()

    def __getattr__(self, attribute):
        return getattr(self._requests[-1], attribute)
