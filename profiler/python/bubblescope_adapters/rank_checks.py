"""The common part of checks on the CPU and on a GPU: the layers of a rank, those that are left out, and the session with the
library that plans the checks and records them."""

from . import bubblescope_aadiff as aadiff
from . import events
from .framework import CannotRepeat, chosen
from .layers import Kept, Layer, split

_BACKWARDS = {"B": "the backward of ", "I": "the input gradient of ", "W": "the weight gradient of "}


class Pipeline:
    """The properties of a rank and its schedule that checks require."""

    def __init__(self, *, rank, pp, microbatches, order, stages, family=None, flavor=None, replica=0, dp=1,
                 tensor_rank=0, tp=1):
        """`order` is the order of all ranks in the format of schedule files. `stages` lists (number, module) of the rank's
        stages."""
        self.rank, self.pp, self.microbatches, self.order = rank, pp, microbatches, order
        self.stages = sorted(stages, key=lambda stage: stage[0])
        self.family, self.flavor = family or "1f1b", flavor
        self.replica, self.dp, self.tensor_rank, self.tp = replica, dp, tensor_rank, tp


class RankChecks:
    _data_of_backwards = None  # the class that keeps it

    def __init__(self, pipeline, margin, memory, device):
        self._pipeline, self._margin, self._memory, self._device = pipeline, margin, memory, device
        self._chunk_of = {stage: chunk for chunk, (stage, _) in enumerate(pipeline.stages)}
        self._layers = []  # layers of each chunk
        self._backwards = [set() for _ in pipeline.stages]  # kinds of backward ops, per chunk
        self._session = None
        self._numbers = {}  # (kind, micro-batch, chunk): number of ops of a step up to this one
        self._ops = {}  # results of Session.prepared(), by op
        self._watched = []
        self._planned = {}  # by (micro-batch, chunk): {layer: kinds}; on a GPU, None = trials
        self._kept = {}  # (micro-batch, chunk, layer): data of a forward
        self._gradients = {}  # (micro-batch, chunk): {layer: data of its backward}
        self._stated = False
        self._find_layers()

    def description(self):
        """Properties of the checks that are required to read the capture."""
        return ",".join(
            "%d:%d" % (stage, len(layers)) for (stage, _), layers in zip(self._pipeline.stages, self._layers)
        )

    def _find_layers(self):
        for stage, module in self._pipeline.stages:
            layers = []
            compiled = chosen().is_compiled(module)
            for number, (name, inner) in enumerate(split(module)):
                try:
                    if compiled:
                        raise CannotRepeat("is part of a compiled stage")
                    layers.append(Layer(name, inner, stage, number, self._device))
                except CannotRepeat as why:
                    layers.append(None)
                    self._leave_out(stage, number, name, why)
            self._layers.append(layers)

    @staticmethod
    def _leave_out(stage, number, name, why, what=""):
        events.message("%slayer %d of stage %d (%s) is not checked in bubbles: it %s" % (what, number, stage, name, why))

    def _drop(self, layer, why):
        self._layers[self._chunk_of[layer.stage]][layer.number] = None
        self._leave_out(layer.stage, layer.number, layer.name, why)

    def _refuse(self, layer, kind, why):
        """Excludes a kind of op of the layer. Without its forward, the layer has no checks."""
        if isinstance(why, Exception) and not isinstance(why, CannotRepeat):
            why = "fails when it is run again (%s: %s)" % (type(why).__name__, why)
        if self._layers[self._chunk_of[layer.stage]][layer.number] is not layer:
            return
        if kind == "F":
            self._drop(layer, why)
        elif layer.is_open(kind):
            layer.left_out.add(kind)
            self._leave_out(layer.stage, layer.number, layer.name, why, _BACKWARDS[kind])

    def _in_trials(self):
        """True until the trials of the layers are over."""
        raise NotImplementedError

    def _in_trial(self, layer, chunk):
        """The kinds whose data is kept in the layer's next execution during trials."""
        raise NotImplementedError

    def _arm(self, chunk, microbatch):
        """Makes the layers keep the data that checks of the next op need."""
        if self._in_trials():
            wanted = [(layer, self._in_trial(layer, chunk)) for layer in self._layers[chunk] if layer is not None]
        else:
            planned = self._planned.get((microbatch, chunk), {})
            wanted = [(self._layers[chunk][number], kinds) for number, kinds in planned.items()]
        for layer, kinds in wanted:
            if layer is None or not kinds:
                continue
            key = microbatch, chunk, layer.number
            if "F" in kinds:
                layer.watch(Kept, lambda kept, layer=layer, key=key: self._keep(layer, key, kept))
            if kinds - {"F"}:
                layer.watch(self._data_of_backwards, lambda kept, layer=layer, key=key, kinds=frozenset(kinds - {"F"}):
                            self._keep_gradients(layer, key, kinds, kept))
            self._watched.append(layer)

    def _has_room(self, layer, kept):
        """Whether the data fits into the memory for checks."""
        raise NotImplementedError

    def _on_kept(self, key, kept):
        """Called before the data of a forward is stored."""

    def _keep(self, layer, key, kept):
        if isinstance(kept, Exception):
            self._kept.pop(key, None)
            self._refuse(layer, "F", kept if isinstance(kept, CannotRepeat) else "cannot be kept (%r)" % (kept,))
            return None
        if not self._has_room(layer, kept):
            return None
        self._on_kept(key, kept)
        self._kept[key] = kept
        return kept

    def _keep_gradients(self, layer, key, kinds, kept):
        microbatch, chunk, number = key
        if isinstance(kept, Exception):
            self._gradients.get((microbatch, chunk), {}).pop(number, None)
            self._refuse_gradients(layer, kept if isinstance(kept, CannotRepeat) else "cannot be kept (%r)" % (kept,))
            return None
        if not self._has_room(layer, kept):
            return None
        kept.wanted = kinds
        self._gradients.setdefault((microbatch, chunk), {})[number] = kept
        return kept

    def _refuse_untried(self, untried):
        backwards = {}
        for layer, kind in untried:
            if kind == "F":
                self._refuse(layer, kind, "does not fit into any free bubble for a trial")
            else:
                layer.left_out.add(kind)
                backwards.setdefault((layer.stage, kind), []).append(layer.number)
        for (stage, kind), numbers in sorted(backwards.items()):
            events.message("%slayers %s of stage %d are not checked in bubbles: no bubble was free for a trial"
                           % (_BACKWARDS[kind], ", ".join(str(number) for number in numbers), stage))

    def _refuse_gradients(self, layer, why):
        for kind in sorted(self._backwards[self._chunk_of[layer.stage]]):
            self._refuse(layer, kind, why)

    def _open_session(self):
        of = self._pipeline
        backwards = sorted(set().union(*self._backwards))
        kept = [sum([layer.kept_bytes for layer in layers if layer is not None]) for layers in self._layers]
        self._session = aadiff.Session(
            of.family, flavor=of.flavor, rank=of.rank, pp=of.pp, microbatches=of.microbatches, vpp=len(of.stages),
            order=of.order, layers=[len(layers) for layers in self._layers], kinds="F" + "".join(backwards),
            margin=self._margin, kept_bytes=kept, room_bytes=self._memory, event=events.event_address(),
            replica=of.replica, dp=of.dp, tensor_rank=of.tensor_rank, tp=of.tp, forward_again=True,
        )
        for chunk, layers in enumerate(self._layers):
            for number, layer in enumerate(layers):
                left_out = ["F"] + backwards if layer is None else sorted(layer.left_out)
                if left_out:
                    self._session.leave_out(chunk, number, "".join(left_out))

    def _planned_checks(self):
        """The checks of the step that has begun in the session: their ops, by (kind, micro-batch, chunk, layer)."""
        listed = self._session.planned()
        taken = {op[:3] + (layer,) for op, layer in listed}
        planned = {}
        for op, layer in listed:
            op = self._with_later_wait(op, layer, taken)
            planned[op[:3] + (layer,)] = op
        if planned and not self._stated:
            self._state_coverage(len(planned))
        return planned

    def _with_later_wait(self, op, layer, taken):
        """A planned op, or the same op of another micro-batch if the rank no longer waits after the planned one: the plan
        also contains the bubble at the end of a step, which no wait shows."""
        last = self._last_wait()
        if self._numbers.get(op[:3], 0) <= last:
            return op
        others = [(number, what) for what, number in list(self._numbers.items())
                  if number <= last and what[::2] == op[:3:2] and what + (layer,) not in taken]
        if not others:
            return op
        _, what = max(others)
        self._session.move(op, layer, what[1])
        taken.add(what + (layer,))
        return what + op[3:]

    def _last_wait(self):
        """Number of ops before the last usable wait of a step."""
        raise NotImplementedError

    def _state_coverage(self, planned):
        self._stated = True
        units = self._session.counts()["units"]
        layers = sum([layer is not None for of_chunk in self._layers for layer in of_chunk])
        events.message(
            "checks in bubbles begin on rank %d: %d kinds of ops of %d of %d layers; its waits fit up to %d checks per step"
            % (self._pipeline.rank, units, layers, sum(map(len, self._layers)), planned)
        )

    def _untried(self):
        """All (layer, kind) pairs that have had no trial yet."""
        return [
            (layer, kind)
            for layers, backwards in zip(self._layers, self._backwards)
            for layer in layers
            if layer is not None
            for kind in ["F"] + sorted(backwards)
            if layer.is_open(kind)
        ]

    def _op(self, kind, microbatch, chunk):
        found = self._ops.get((kind, microbatch, chunk))
        if found is None:
            found = self._ops[kind, microbatch, chunk] = self._session.prepared(kind, microbatch, chunk)
        return found

    def _disarm(self):
        for layer in self._watched:
            layer.unwatch()
        del self._watched[:]

    @staticmethod
    def _layers_kept(kept):
        kept.layer.kept_bytes = max(kept.layer.kept_bytes, kept.bytes)
