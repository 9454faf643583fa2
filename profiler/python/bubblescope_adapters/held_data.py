"""The data that checks on a GPU hold from an op until its check is queued."""

from .layers import HeldGradients
from .rank_checks import RankChecks


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
