"""First repetitions of a layer, which show if it can be checked."""

import random
import sys

from .framework import CannotRepeat, chosen

framework = chosen()
VARIES = "is not deterministic"


class Trial:
    """Context of the first repetitions of a layer, which detects what prevents checks and restores what the layer has
    changed. Raises CannotRepeat at its end."""

    def __init__(self, layer, kept):
        self._layer, self._kept = layer, kept
        self.draws = False  # true if the execution draws random numbers
        self.operators = 0  # number of calls in an execution
        self.changed = ""  # the part of the layer's state that the execution has changed

    def __enter__(self):
        self._state, self._host = _State(self._layer.module), _HostRandom()
        self._before = self._layer.device.random_state()
        self._start = self._before if self._kept.random is None else self._kept.random
        return self

    def first(self, kind):
        device = self._layer.device
        device.set_random_state(self._start)
        with framework.KnownOperators(device.queues) as known:
            results = self._layer.run(self._kept, kind)
        self.operators = known.calls
        self.draws = not device.same(device.random_state(), self._start)
        self._state.compare()
        return results

    def again(self, kind):
        self._layer.device.set_random_state(self._start)
        return self._layer.run(self._kept, kind)

    def __exit__(self, kind, error, trace):
        self._layer.device.set_random_state(self._before)
        drew = self._host.restore()
        self.changed = self._state.restore()
        if error is not None:
            return
        if drew:
            raise CannotRepeat("uses random numbers of %s, which cannot be repeated" % drew)
        if self.changed:
            raise CannotRepeat("changes its %s as it runs" % self.changed)


class _HostRandom:
    """Saves the random generators of Python and NumPy, so that a trial does not consume random numbers of the
    job."""

    def __init__(self):
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = getattr(numpy, "random", None)
        self._state = self._numpy.get_state() if self._numpy is not None else None

    def restore(self):
        """Restores the generators and returns those that have been used since; may be empty."""
        drew = ""
        if random.getstate() != self._python:
            random.setstate(self._python)
            drew = "Python"
        if self._state is not None:
            now = self._numpy.get_state()
            if now[2:] != self._state[2:] or now[1].tobytes() != self._state[1].tobytes():
                self._numpy.set_state(self._state)
                drew = drew or "NumPy"
        return drew


class _State:
    """State of a layer's modules, except parameters, to detect changes by an execution."""

    def __init__(self, module):
        self._modules = framework.modules(module)
        self._tensors = [
            (kind, owner, name, tensor, framework.version(tensor), framework.copy(tensor))
            for inner in self._modules
            for kind, owner in framework.state(inner)
            for name, tensor in owner.items()
            if tensor is not None
        ]
        self._gradients = framework.Gradients(module)
        self._values = [(inner, self._of(inner)) for inner in self._modules]
        self._changed = ""

    @staticmethod
    def _of(module):
        values = {}
        for name, value in vars(module).items():
            if name in framework.OWN_ATTRIBUTES or name.startswith("__"):
                continue
            inside = len(value) if isinstance(value, (list, dict, set)) else None
            values[name] = (value, value.get_state() if isinstance(value, framework.GENERATORS) else inside)
        return values

    def compare(self):
        for kind, owner, name, tensor, version, copy in self._tensors:
            if owner.get(name) is not tensor or framework.is_changed(tensor, version, copy):
                self._changed = self._changed or "%s '%s'" % (kind, name)
        for inner, values in self._values:
            now = self._of(inner)
            for name in list(now) + list(values):
                if name not in now or name not in values or not self._same(now[name], values[name]):
                    self._changed = self._changed or "attribute '%s'" % name

    @staticmethod
    def _same(now, then):
        if isinstance(now[1], framework.Tensor) and isinstance(then[1], framework.Tensor):
            return bool((now[1] == then[1]).all())
        if now[1] is not then[1] and now[1] != then[1]:
            return False
        if now[0] is then[0]:
            return True
        return type(now[0]) is type(then[0]) and isinstance(now[0], framework.PLAIN) and now[0] == then[0]

    def restore(self):
        """Restores as much as possible and returns the changed parts; may be empty."""
        self.compare()
        self._changed = self._gradients.restore() or self._changed
        for _, owner, name, tensor, version, copy in self._tensors:
            if framework.is_changed(tensor, version, copy):
                framework.copy_into(tensor, copy)
            owner[name] = tensor
        for inner, values in self._values:
            own = vars(inner)
            for name, (value, inside) in values.items():
                if own.get(name) is not value:
                    own[name] = value
                if isinstance(value, framework.GENERATORS):
                    value.set_state(inside)
            for name in [name for name in own if name not in values
                         and name not in framework.OWN_ATTRIBUTES and not name.startswith("__")]:
                del own[name]
        return self._changed
