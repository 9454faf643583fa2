"""The data that checks on a GPU hold from an op until its check is queued."""

import contextlib
import sys

from .comparison import hashes
from .framework import CannotRepeat
from .layers import WEIGHT_GRADIENT, KeptGradients
from .rank_checks import RankChecks

nn = sys.modules["torch"].nn


@contextlib.contextmanager
def _aliases(module, weights):
    """Replaces the module's weights with aliases, which have no gradients, hooks or buffers for gradients, so a repetition
    cannot change the job's. Must not be used while another thread runs the module."""
    aliases = {id(weight): nn.Parameter(weight.detach()) for weight in weights}
    places = [(inner._parameters, name, weight) for inner in module.modules()
              for name, weight in inner._parameters.items() if id(weight) in aliases]
    for parameters, name, weight in places:
        parameters[name] = aliases[id(weight)]
    try:
        yield [aliases[id(weight)] for weight in weights]
    finally:
        for parameters, name, weight in places:
            parameters[name] = weight


class HeldGradients(KeptGradients):
    """As KeptGradients, for a GPU: without copies. Gradients of outputs and inputs are held, and hashes take the place of
    weight gradients, because PyTorch would have to copy a weight gradient that somebody else holds."""

    def __init__(self, layer, args, kwargs):
        super().__init__(layer, args, kwargs)
        self.ran = set()  # kinds of ops that have ended
        if any([getattr(getattr(inner, "wgrad_store", None), "enabled", False) for inner in layer.module.modules()]):
            raise CannotRepeat("computes its weight gradients later than its backward")
        if any([getattr(inner, "deterministic", True) is False and "attention" in type(inner).__name__.lower()
                for inner in layer.module.modules()]):
            raise CannotRepeat("has an attention whose backward is not deterministic")

    def _keep(self, gradient, of_weight):
        return hashes(gradient) if of_weight else gradient.detach()

    def repeated(self, results):
        weights = results.get(WEIGHT_GRADIENT)
        return dict(results, **{WEIGHT_GRADIENT: [hashes(one) for one in weights]}) if weights else results

    def parameters(self):
        return _aliases(self.layer.module, self.trained)


class HeldData(RankChecks):
    _data_of_backwards = HeldGradients

    def _running(self):
        """Works whose data the device may still use."""
        raise NotImplementedError

    def _in_trials(self):
        return self._planned is None

    def _in_trial(self, layer, chunk):
        """The kinds whose data is kept in the layer's next execution. Backwards follow after the trial of the forward."""
        if any([kept.layer is layer for kept in list(self._kept.values()) + self._held_gradients()]
               + [work.kept.layer is layer for work in self._running()]):
            return set()
        return {"F"} if layer.is_open("F") else {kind for kind in self._backwards[chunk] if layer.is_open(kind)}

    def _has_room(self, layer, kept):
        if self._memory is None:
            return True
        others = {id(one): one.bytes for one in list(self._kept.values()) + self._held_gradients()
                  + [work.kept for work in self._running()]}
        # The results and their repetitions come later; the first time, they are assumed to be as large as the inputs.
        return 2 * (sum(others.values()) + (layer.kept_bytes or 2 * kept.bytes)) <= self._memory

    def _available(self, key):
        """The data of a check; None if it is missing or incomplete."""
        kind, microbatch, chunk, layer = key
        if kind == "F":
            kept = self._kept.get((microbatch, chunk, layer))
        else:
            kept = self._gradients.get((microbatch, chunk), {}).get(layer)
            kept = kept if kept is not None and kind in kept.ran else None
        return kept if kept is not None and kept.has(kind) else None

    def _take(self, key):
        kind, microbatch, chunk, layer = key
        if kind == "F":
            del self._kept[microbatch, chunk, layer]
            return
        of_op = self._gradients[microbatch, chunk]
        of_op[layer].wanted -= {kind}
        if not of_op[layer].wanted:
            del of_op[layer]

    def _forget(self):
        self._disarm()
        for kept in self._held_gradients():
            kept.release()
        self._kept.clear()
        self._gradients.clear()

    def _held_gradients(self):
        return [kept for of_op in self._gradients.values() for kept in of_op.values()]
