"""Checks in the bubbles of a PyTorch pipeline: where a rank waits for a receive, layers of its stages are run again and
compared with their first execution. The plan, the choice of what fits and the verdicts are those of the library behind
bubblescope_aadiff.py; the records go into the capture.

A framework's adapter calls begin_step(), around each op began() and ended(), for each wait fill(), and end_step().
"""

import os
import threading
import time

from . import bubblescope_aadiff as aadiff
from . import events
from .layers import CannotRepeat, Layer, difference, digest, split

_TRIAL_STEPS = 16  # a layer that found no bubble for its trial until then is left out
_IDLE_STEPS = 32  # after as many in which its bubbles held no check, a rank leaves them alone


class _Worker(threading.Thread):
    """Checks while the job's own thread waits, which so goes on at once when what it waits for is there; and does between
    steps what nobody waits for. One call at a time."""

    def __init__(self):
        super().__init__(name="bubblescope checks", daemon=True)
        self.over = True
        self._call, self._error = None, None
        self._begin, self._end = threading.Lock(), threading.Lock()
        self._begin.acquire()
        self._end.acquire()
        self.start()

    def begin(self, call):
        self._call, self._error, self.over = call, None, False
        self._begin.release()

    def finish(self):
        self._end.acquire()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def run(self):
        while True:
            self._begin.acquire()
            try:
                self._call()
            except BaseException as error:  # noqa: BLE001: the caller gets it
                self._error = error
            self._call = None
            self.over = True
            self._end.release()


class Pipeline:
    """What checks need to know of a rank's place and schedule."""

    def __init__(self, *, rank, pp, microbatches, order, stages, family=None, flavor=None, replica=0, dp=1,
                 tensor_rank=0, tp=1):
        """`order`: of all ranks, as a schedule file. `stages`: (number, module) of the rank's stages."""
        self.rank, self.pp, self.microbatches, self.order = rank, pp, microbatches, order
        self.stages = sorted(stages, key=lambda stage: stage[0])
        self.family, self.flavor = family or "1f1b", flavor
        self.replica, self.dp, self.tensor_rank, self.tp = replica, dp, tensor_rank, tp


class BubbleChecks:
    def __init__(self, pipeline, margin, memory):
        self._pipeline, self._margin, self._memory = pipeline, margin, memory
        self._chunk_of = {stage: chunk for chunk, (stage, _) in enumerate(pipeline.stages)}
        self._layers = []  # of each chunk
        self._session = None
        self._worker = None
        self._failed = False
        self._working = False  # whether the worker has a call that was not finished
        self._stop = False  # what the job waits for is there
        self._random = True  # the layer that runs again sets the job's random numbers
        self._process = os.getpid()
        self._steps = 0
        self._planned = {}  # (kind, micro-batch, chunk): layers
        self._kept = {}  # (micro-batch, chunk, layer): Kept
        self._fresh = []  # keys in _kept that the session does not know yet
        self._watched = []
        self._ops = {}  # what Session.prepared() gives, by op
        self._ran = []  # ops that the session does not know yet
        self._between = False  # whether the waiter ends a step
        self._number = 0
        self._arrived = 0  # when what the next op needs was there
        self._idle = 0  # steps since the last one with a check
        self._find_layers()

    def description(self):
        """What the reader of the capture must know."""
        return ",".join(
            "%d:%d" % (stage, len(layers)) for (stage, _), layers in zip(self._pipeline.stages, self._layers)
        )

    def _find_layers(self):
        for stage, module in self._pipeline.stages:
            layers = []
            for number, (name, inner) in enumerate(split(module)):
                try:
                    layers.append(Layer(name, inner, stage, number))
                except CannotRepeat as why:
                    layers.append(None)
                    self._leave_out(stage, number, name, why)
            self._layers.append(layers)

    @staticmethod
    def _leave_out(stage, number, name, why):
        events.message("layer %d of stage %d (%s) is not checked in bubbles: it %s" % (number, stage, name, why))

    def _drop(self, layer, why):
        self._layers[self._chunk_of[layer.stage]][layer.number] = None
        self._leave_out(layer.stage, layer.number, layer.name, why)

    # ---- Steps

    def begin_step(self, number):
        self._forget()
        self._steps += 1
        if self._session is None:
            self._prepare()
            if self._session is not None:
                self._begin_in_session(number)
        elif self._between:  # the step was begun when the last one ended
            self._between = False
            self._join()
        self._number = number

    def _begin_in_session(self, number):
        self._session.begin_step(number)
        planned = {}
        for (kind, microbatch, chunk, _), layer in self._session.planned():
            planned.setdefault((kind, microbatch, chunk), []).append(layer)
        self._planned = planned
        self._idle = 0 if planned else self._idle + 1

    def end_step(self):
        self._join()  # weights change now
        self._forget()
        if self._session is None or self._idle > _IDLE_STEPS:
            return
        self._between = True
        self._begin_work(self._end_in_session)

    def _begin_work(self, call):
        if self._worker is None:
            self._worker = _Worker()
        self._working = True
        self._worker.begin(call)

    def _join(self):
        if self._working:
            self._working = False
            self._worker.finish()

    def _end_in_session(self):
        self._tell_ops()
        self._session.end_step()
        self._begin_in_session(self._number + 1)

    def _tell_ops(self):
        for ran, start, end in self._ran:
            ran(start, end)
        del self._ran[:]

    def _forget(self):
        self._disarm()
        self._kept.clear()
        del self._fresh[:]

    def _untried(self):
        return [layer for layers in self._layers for layer in layers if layer is not None and not layer.known]

    def _prepare(self):
        """Opens the session once each layer has had its trial."""
        untried = self._untried()
        if untried and self._steps <= _TRIAL_STEPS:
            return
        for layer in untried:
            self._drop(layer, "found no bubble for its trial")
        of = self._pipeline
        kept = [sum([layer.input_bytes for layer in layers if layer is not None]) for layers in self._layers]
        self._session = aadiff.Session(
            of.family, flavor=of.flavor, rank=of.rank, pp=of.pp, microbatches=of.microbatches, vpp=len(of.stages),
            order=of.order, layers=[len(layers) for layers in self._layers], kinds="F", margin=self._margin,
            kept_bytes=kept, room_bytes=self._memory, event=events.event_address(), replica=of.replica, dp=of.dp,
            tensor_rank=of.tensor_rank, tp=of.tp,
        )
        for chunk, layers in enumerate(self._layers):
            for number, layer in enumerate(layers):
                if layer is None:
                    self._session.leave_out(chunk, number)

    # ---- Ops

    def began(self, kind, stage, microbatch):
        chunk = self._chunk_of[stage]
        if kind == "F":
            layers = self._layers[chunk]
            if self._session is None:
                self._arm(chunk, microbatch, [layer for layer in layers if layer is not None and not layer.known])
            else:
                numbers = self._planned.get((kind, microbatch, chunk), ())
                self._arm(chunk, microbatch, [layers[number] for number in numbers if layers[number] is not None])
        return time.monotonic_ns()

    def ended(self, kind, stage, microbatch, start):
        end = time.monotonic_ns()
        if self._watched:
            self._disarm()
        if self._session is not None and self._idle <= _IDLE_STEPS:
            # A check that took longer than it should must not make the bubble seem longer.
            if self._arrived:
                start, self._arrived = min(start, self._arrived), 0
            self._ran.append((self._op(kind, microbatch, self._chunk_of[stage])[0], start, end))

    def _op(self, kind, microbatch, chunk):
        found = self._ops.get((kind, microbatch, chunk))
        if found is None:
            found = self._ops[kind, microbatch, chunk] = self._session.prepared(kind, microbatch, chunk)
        return found

    def _arm(self, chunk, microbatch, layers):
        for layer in layers:
            layer.watch(lambda kept, key=(microbatch, chunk, layer.number): self._keep(key, kept))
            self._watched.append(layer)

    def _disarm(self):
        for layer in self._watched:
            layer.unwatch()
        del self._watched[:]

    def _keep(self, key, kept):
        if isinstance(kept, Exception):
            self._kept.pop(key, None)
            layer = self._layers[key[1]][key[2]]
            if layer is not None:
                self._drop(layer, kept if isinstance(kept, CannotRepeat) else "cannot be kept (%r)" % (kept,))
            return None
        if self._memory is not None and kept.bytes + sum([k.bytes for k in list(self._kept.values())]) > self._memory:
            return None
        kept.layer.input_bytes = max(kept.layer.input_bytes, kept.bytes)
        self._kept[key] = kept
        self._fresh.append(key)
        return kept

    # ---- Bubbles

    def fill(self, wait):
        """Calls `wait`, which returns when what the rank waits for is there. Until then the worker checks; a layer that it
        has begun goes on beside the next op, unless it would take the random numbers from it."""
        if self._failed or not self._kept or self._process != os.getpid():  # a forked child has no worker
            return wait()
        if self._working and not self._worker.over:  # with a layer of the bubble before
            return wait()
        self._join()
        if self._session is None:
            work = self._trials()
        else:
            self._announce()
            work = self._checks()
        first = next(work, None)
        if first is None:
            return wait()
        self._stop, self._random = False, True
        self._begin_work(lambda: self._work(first, work))
        try:
            return wait()
        finally:
            self._stop = True
            if self._session is not None:
                self._arrived = time.monotonic_ns()
            if self._random:  # the worker sets this before it looks at _stop
                self._join()

    def _work(self, first, work):
        try:
            while first is not None and not self._stop:
                first()
                first = None if self._stop else next(work, None)
            work.close()
        except Exception as problem:  # noqa: BLE001: the job matters more than its checks
            self._failed = True
            events.message("there are no more checks in bubbles: %s: %s" % (type(problem).__name__, problem))
        self._random = False

    def _announce(self):
        self._tell_ops()
        for microbatch, chunk, layer in self._fresh:
            self._op("F", microbatch, chunk)[1](layer, b"output", 0)
        del self._fresh[:]

    def _trials(self):
        for key in list(self._kept):
            kept = self._kept[key]
            if not kept.layer.known and kept.outputs is not None:
                yield lambda key=key, kept=kept: self._try_out(key, kept)

    def _try_out(self, key, kept):
        self._kept.pop(key, None)
        layer = kept.layer
        if self._layers[key[1]][key[2]] is not layer:
            return
        if not kept.unchanged():
            return self._drop(layer, "has inputs or outputs that are changed in place")
        try:
            layer.try_out(kept)
        except CannotRepeat as why:
            self._drop(layer, why)
        except Exception as problem:  # noqa: BLE001
            self._drop(layer, "fails when it is run again (%s: %s)" % (type(problem).__name__, problem))

    def _checks(self):
        while True:
            task = self._session.ask()
            if task is None:
                return
            done = []

            def check():
                done.append(True)
                self._check(task)

            try:
                yield check
            finally:
                if not done:
                    task.give_up()

    def _check(self, task):
        kept = self._kept.pop((task.microbatch, task.chunk, task.layer), None)
        self._random = kept is not None and kept.layer.random
        if self._stop or kept is None or kept.outputs is None or not kept.unchanged():
            return task.give_up()
        with task:
            first = digest(kept.first())
            again = kept.layer.repeat(kept)
            second = digest(again)
        if first != second and not kept.unchanged():  # the job went on meanwhile
            return task.give_up()
        self._op("F", task.microbatch, task.chunk)[1](task.layer, b"output", first)
        if task.compare("output", second):
            return None
        found = difference(kept.first(), again)
        if found is not None:
            self._session.difference(*found)
        verdict = self._session.repeated([digest(kept.layer.repeat(kept)) for _ in range(2)])
        events.message(
            "step %d, layer %d of stage %d (%s), micro-batch %d: computing it again gave other bits (%s)"
            % (events.steps.number, task.layer, kept.layer.stage, kept.layer.name, task.microbatch, verdict)
        )
