"""The CPU that computes a stage of PaddlePaddle: its random numbers and precision; see device.Host."""

import contextlib
import re
import sys

paddle = sys.modules["paddle"]
_ADDRESS = re.compile("0x[0-9a-f]+")


def _tracer():
    return paddle.framework._dygraph_tracer()


class Host:
    type = "cpu"
    queues = False

    def random_state(self):
        return [paddle.get_rng_state(), self._tracker().get_states_tracker()]

    def set_random_state(self, state):
        paddle.set_rng_state(state[0])
        self._tracker().set_states_tracker(state[1])

    @staticmethod
    def _tracker():
        """Generators of tensor-parallel layers."""
        return paddle.distributed.fleet.meta_parallel.get_rng_state_tracker()

    @staticmethod
    def same(state, other):
        def values(generators, named):
            # States cannot be compared, but their text can, except for the address of each copy.
            states = generators + [state for name in sorted(named) for state in named[name]]
            return [_ADDRESS.sub("", str(state)) for state in states]

        return values(*state) == values(*other)

    def precision(self):
        """Autocast state of the calling thread, for autocast()."""
        tracer = _tracer()
        return tracer._amp_level, tracer._amp_dtype, tracer._use_promote, tracer._get_amp_op_list()

    @contextlib.contextmanager
    def autocast(self, precision):
        before = self.precision()
        self._set(precision)
        try:
            yield
        finally:
            self._set(before)

    @staticmethod
    def _set(precision):
        tracer = _tracer()
        tracer._amp_level, tracer._amp_dtype, tracer._use_promote, operators = precision
        tracer._set_amp_op_list(*operators)

    def holds(self, weight):
        return weight.place.is_cpu_place()

    def identifier(self):
        return None


def choose(modules):
    return Host()
