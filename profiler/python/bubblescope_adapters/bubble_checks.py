"""Checks in the bubbles of a pipeline on the CPU: while a rank waits for a receive, layers of its stages are run again and
compared with their first execution. The library behind bubblescope_aadiff.py plans the checks, selects those that fit, and
determines the verdict on mismatches. The records are written to the capture.

A framework's adapter calls begin_step(), began() and ended() around each op, fill() for each wait, end_ops() if waits follow
the last op, and end_step() before the weights change.

Checks use time on the job's thread, which has to copy their data; most of it is for gradients. This time is measured and
limited to a share of a step; see Budget. It is elapsed time: on a busy machine, checks delay the job by more than the CPU
time of its thread. A check starts only in a wait that was long enough in the last steps, and only while a core is free; see
Waits and Neighbours."""

import os
import threading
import time

from . import events
from .check_budget import Budget, Waits
from .framework import Stopped, chosen
from .layers import KeptGradients, difference, digest, digests, spare
from .neighbours import Neighbours
from .rank_checks import RankChecks

_TRIAL_STEPS = 16  # a layer is left out if its trial has found no bubble after this many steps
_BACKWARD_TRIAL_STEPS = 4  # the same limit for backwards, from the end of the forwards' trials
_SHORTEST = 100_000  # nanoseconds; minimum wait for a check
_MEASURED_AGAIN = 32 # number of steps between measurements while all waits are too short
_IDLE_STEPS = 32  # a rank stops checking after this many steps without a check


class _Worker(threading.Thread):
    """Runs checks while the job's thread waits, so that the job can continue as soon as its data arrives. Does less urgent
    work between steps. Runs one call at a time."""

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


class BubbleChecks(RankChecks):
    _data_of_backwards = KeptGradients

    def __init__(self, pipeline, margin, memory, cost, device, threads=1):
        """`cost` is the fraction of a step's time that checks may take from the job's threads. In a pipeline without slack,
        the delays of all ranks add up, so each rank gets a part of the fraction. `threads` is the number of compute threads
        of the job."""
        super().__init__(pipeline, margin, memory, device)
        self._budget, self._waits, self._neighbours = Budget(cost / pipeline.pp), Waits(), Neighbours(threads)
        self._spent = 0  # nanoseconds spent by the job's thread since the start of the step, without those counted by layers
        self._overrun = 0 # nanoseconds that the worker ran after the job's thread had continued
        self._worker = None
        self._failed = False
        self._working = False  # true if the worker has an unfinished call
        self._stop = False # true if the input that the job waits for has arrived
        self._stopped = 0  # time of its arrival
        self._random = True  # true if the repeated layer sets the job's random numbers, or must run alone
        self._process = os.getpid()
        self._steps = 0
        self._forwards_known = 0  # number of steps until all forwards have had their trial
        self._chosen = []  # (kind, micro-batch, chunk, layer) whose data the step keeps
        self._taken = []  # KeptGradients whose checks are finished or in progress
        self._fresh = []  # (kind, micro-batch, chunk, layer) not yet reported to the session
        self._ran = []  # ops not yet reported to the session
        self.active = True # true if ops and waits are reported; false in steps without checks, to avoid overhead
        self._in_session = False  # true if the step belongs to the session
        self._number = 0
        self._ops_over = False  # true between the last op and the end of the step
        self._arrived = 0 # time when the next op's input arrived
        self._until = 0  # time at which the wait is expected to end
        self._shortest = 0  # shortest duration of recent checks in nanoseconds; increases slowly
        self._wanted = set()  # (kind, micro-batch, chunk, layer) with kept data and without a check so far
        self._idle = 1  # number of session steps since the last planned check

    # ---- Steps

    def begin_step(self, number):
        self._steps += 1
        self._number = number
        if not self.active:
            return
        begin = time.monotonic_ns()
        self._forget()
        self._waits.begin_step()
        if self._session is None:
            self._prepare()
            if self._session is not None:
                self._begin_in_session(number)
        elif self._in_session: # the step starts at the end of the previous one
            self._join()
        self._spent += time.monotonic_ns() - begin

    def _settle(self, now):
        """Must be called when the cost of the step is known."""
        spent, self._spent, self._overrun = self._spent + self._overrun, 0, 0
        wanted, chosen, kept = self._wanted, self._chosen, {}
        self._wanted, self._chosen, self._planned = set(), [], {}
        for what in wanted:
            self._budget.missed(what)
        for what in chosen:
            kept.setdefault(what[2:], []).append(what)
        for layers in self._layers:
            for layer in layers:
                if layer is None or not layer.spent:
                    continue
                spent += layer.spent
                of_layer = kept.get((self._chunk_of[layer.stage], layer.number), ())
                for what in of_layer:
                    self._budget.took(what, layer.spent // len(of_layer))
                layer.spent = 0
        self._budget.begin_step(now, spent if self._session is not None else 0)  # trials, which run only once, are free

    def _begin_in_session(self, number):
        self._in_session = self.active = True
        self._session.begin_step(number)
        planned = self._planned_checks()
        self._idle = 0 if planned else self._idle + 1
        self._chosen = self._budget.choose(list(planned))
        self._wanted = set(self._chosen)
        self._planned = {}
        for kind, microbatch, chunk, layer in self._chosen:
            self._planned.setdefault((microbatch, chunk), {}).setdefault(layer, set()).add(kind)
        for what, op in planned.items():
            if what not in self._wanted:
                self._session.withdraw(op, what[3])

    def end_ops(self):
        begin = time.monotonic_ns()
        self._join()
        self._ops_over = True
        self._spent += time.monotonic_ns() - begin

    def end_step(self):
        begin = time.monotonic_ns()
        self._ops_over = False
        if self.active:
            self._join()  # required because the weights are about to change
            self._forget()
            self._settle(begin)
        else:
            spent, self._spent = self._spent, 0
            self._budget.begin_step(begin, spent)
        # Only steps that keep tensors for checks belong to the session. Their checks use the time saved in several
        # steps.
        goes_on = self._session is not None and self._idle <= _IDLE_STEPS and (self._idle > 0 or self._pays())
        if self._in_session or goes_on:
            self._begin_work(lambda ends=self._in_session: self._end_in_session(ends, goes_on))
        self._in_session = goes_on
        self.active = goes_on or self._session is None
        self._spent += time.monotonic_ns() - begin

    def _pays(self):
        """True if the next step may have checks. If all waits are too short, they are measured again in an occasional
        step."""
        if not self._budget.can_begin():
            return False
        return self._waits.longest() >= max(self._shortest, _SHORTEST) or self._steps % _MEASURED_AGAIN == 0

    def _begin_work(self, call):
        if self._worker is None:
            self._worker = _Worker()
        self._join()
        self._working = True
        self._worker.begin(call)

    def _join(self):
        if self._working:
            self._working = False
            self._worker.finish()

    def _end_in_session(self, ends, goes_on):
        if ends:
            self._tell_ops()
            self._session.end_step()
        if goes_on:
            self._begin_in_session(self._number + 1)

    def _tell_ops(self):
        for ran, start, end in self._ran:
            ran(start, end)
        del self._ran[:]

    def _forget(self):
        self._disarm()
        for kept in self._taken + [kept for of_op in self._gradients.values() for kept in of_op.values()]:
            kept.release()
        del self._taken[:]
        self._kept.clear()
        self._gradients.clear()
        del self._fresh[:]

    def _prepare(self):
        """Opens the session as soon as each layer has had its trial."""
        untried = self._untried()
        if any([kind == "F" for _, kind in untried]):
            if self._steps <= _TRIAL_STEPS:
                return
        elif self._forwards_known == 0:
            self._forwards_known = self._steps
        if self._steps < 2:  # the ops are known only after the first step
            return
        if untried and self._steps <= self._forwards_known + _BACKWARD_TRIAL_STEPS:
            return
        self._refuse_untried(untried)
        spare.clear()  # frees the memory that trials needed
        self._neighbours.find()
        self._open_session()

    # ---- Ops

    def began(self, kind, stage, microbatch):
        begin = time.monotonic_ns()
        self._began(kind, self._chunk_of[stage], microbatch)
        now = time.monotonic_ns()
        self._spent += now - begin
        return now

    def _began(self, kind, chunk, microbatch):
        if kind == "F":
            self._arm(chunk, microbatch)
        else:
            if self._session is None:
                self._backwards[chunk].add(kind)
            if kind != "I" and self._gradients:
                for kept in list(self._gradients.get((microbatch, chunk), {}).values()):
                    kept.listen()

    def ended(self, kind, stage, microbatch, start):
        end = time.monotonic_ns()
        self._waits.ran(end)
        self._ended(kind, self._chunk_of[stage], microbatch, start, end)
        self._spent += time.monotonic_ns() - end

    def _ended(self, kind, chunk, microbatch, start, end):
        if self._watched:
            self._disarm()
        if kind != "F" and self._gradients:
            for layer, kept in list(self._gradients.get((microbatch, chunk), {}).items()):
                kept.unlisten()
                self._layers_kept(kept)
                if kept.gives(kind):
                    self._fresh.append((kind, microbatch, chunk, layer))
                else:
                    kept.layer.left_out.add(kind)  # the first layer of the model has no input gradient
        self._numbers[kind, microbatch, chunk] = self._waits.ops()
        if self._in_session:
            # If a check overruns, the bubble must not appear longer than it is.
            if self._arrived:
                start, self._arrived = min(start, self._arrived), 0
            self._ran.append((self._op(kind, microbatch, chunk)[0], start, end))

    def _in_trials(self):
        return self._session is None

    def _last_wait(self):
        return self._waits.last(_SHORTEST)

    def _in_trial(self, layer, chunk):
        """The kinds whose data is kept in the layer's next execution. Backwards follow after the trial of the forward."""
        if layer.is_open("F"):
            return {"F"}
        if any([layer.number in kept for (_, at), kept in self._gradients.items() if at == chunk]):
            return set()  # one execution per step is enough
        return {kind for kind in self._backwards[chunk] if layer.is_open(kind)}

    def _has_room(self, layer, kept):
        if self._memory is None:
            return True
        others = list(self._kept.values()) + [one for some in list(self._gradients.values()) for one in some.values()]
        return max(kept.bytes, layer.kept_bytes) + sum([one.bytes for one in others]) <= self._memory

    def _on_kept(self, key, kept):
        self._layers_kept(kept)
        self._fresh.append(("F",) + key)

    def _take(self, kind, microbatch, chunk, layer):
        """Data kept for a check; None if missing or incomplete."""
        if kind == "F":
            kept = self._kept.pop((microbatch, chunk, layer), None)
        else:
            of_op = self._gradients.get((microbatch, chunk), {})
            kept = of_op.get(layer)
            if kept is not None and not kept.wanted - {kind}:
                del of_op[layer]
                self._taken.append(kept)
        return kept if kept is not None and kept.has(kind) else None

    # ---- Bubbles

    def rest(self, wait):
        """Calls `wait` in a step without checks."""
        if not self._neighbours.crowded:
            return wait()
        self._neighbours.waits(True)
        try:
            return wait()
        finally:
            self._neighbours.waits(False)

    def fill(self, wait, *_):
        """Calls `wait`, which returns when the rank's data has arrived. Until then, the worker runs checks. An unfinished
        layer continues during the next op, unless both need random numbers. After the last op it ends first, because the
        weights may change next."""
        self._until = begin = time.monotonic_ns()
        self._neighbours.waits(True)
        checks = self._begins_checks(begin)
        begun = time.monotonic_ns()
        if self._until < begun: # otherwise the job is still idle
            self._spent += begun - begin
        try:
            return wait()
        finally:
            now = time.monotonic_ns()
            self._neighbours.waits(False)
            self._waits.over(now)
            if checks:
                self._stopped, self._stop = now, True
                if self._session is not None and not self._ops_over:
                    self._arrived = now
                if self._random or self._ops_over:  # the worker sets _random before it reads _stop
                    self._join()
            self._spent += time.monotonic_ns() - now

    def _begins_checks(self, now):
        """Starts the worker if a check is expected to fit."""
        if self._failed or not (self._kept or self._gradients) or self._process != os.getpid():
            # A fork has no worker.
            return False
        if self._working and not self._worker.over:  # the worker is still busy with a layer from the previous bubble
            return False
        self._until = self._waits.end(now)
        if self._session is not None and self._until - now < _SHORTEST:
            return False
        self._join()
        if self._session is None:
            work = self._trials()
        else:
            self._announce()
            work = self._checks()
        first = next(work, None)
        if first is None:
            return False
        self._stop, self._random = False, True
        self._begin_work(lambda: self._work(first, work))
        return True

    def _work(self, first, work):
        try:
            while first is not None and not self._stop:
                first()
                if self._stop:
                    self._overrun += time.monotonic_ns() - self._stopped
                    break
                first = next(work, None)
            work.close()
        except Exception as problem:  # noqa: BLE001: the job matters more than its checks
            self._failed = True
            events.message("checks in bubbles have stopped: %s: %s" % (type(problem).__name__, problem))
        self._random = False

    def _announce(self):
        self._tell_ops()
        for kind, microbatch, chunk, layer in self._fresh:
            if kind == "F":
                kept = self._kept.get((microbatch, chunk, layer))
            else:
                kept = self._gradients.get((microbatch, chunk), {}).get(layer)
            if kept is not None and kept.has(kind):
                for name in kept.first(kind):
                    self._op(kind, microbatch, chunk)[1](layer, name.encode(), 0)
        del self._fresh[:]

    def _trials(self):
        while self._fresh:
            kind, microbatch, chunk, number = self._fresh.pop(0)
            kept = self._take(kind, microbatch, chunk, number)
            if kept is not None and kept.layer.is_open(kind):
                yield lambda kind=kind, kept=kept: self._try_out(kind, kept)

    def _try_out(self, kind, kept):
        layer = kept.layer
        if not layer.is_open(kind):
            return
        if not kept.unchanged():
            return self._refuse(layer, kind, "has inputs or outputs that are modified in place")
        begin = time.monotonic_ns()
        try:
            layer.try_out(kept, kind)
            self._note_time((time.monotonic_ns() - begin) // 2)  # the layer is repeated twice
        except Exception as problem:  # noqa: BLE001
            self._refuse(layer, kind, problem)

    def _checks(self):
        while self._neighbours.begin_check():
            try:
                free = self._until - time.monotonic_ns()
                task = self._session.ask(free) if free > 0 else None
                if task is None:
                    return
                self._wanted.discard((task.kind, task.microbatch, task.chunk, task.layer))
                done = []

                def check():
                    done.append(True)
                    self._check(task)

                try:
                    yield check
                finally:
                    if not done:
                        task.give_up()
            finally:
                self._neighbours.end_check()

    def _check(self, task):
        kind = task.kind
        kept = self._take(kind, task.microbatch, task.chunk, task.layer)
        self._random = kept is not None and (kept.layer.random or kind != "F" and not chosen().PARALLEL_BACKWARDS)
        if self._stop or kept is None or not kept.unchanged():
            return task.give_up()
        try:
            with task:
                once = kept.first(kind)
                first = digests(once)
                again = kept.layer.repeat(kept, kind, lambda: self._stop)
                second = digests(again)
        except Stopped:
            return task.give_up()
        self._note_time(task.end_ns - task.start_ns)
        self._budget.checked((kind, task.microbatch, task.chunk, task.layer))
        if first != second and not kept.unchanged():  # the job has changed the data in the meantime
            return task.give_up()
        for name, value in first.items():
            self._op(kind, task.microbatch, task.chunk)[1](task.layer, name.encode(), value)
            if not task.compare(name, second.get(name, 0)):
                self._mismatch(task, kept, name, once[name], again.get(name, []))
        return None

    def _note_time(self, took):
        self._shortest = min(took, self._shortest + self._shortest // 16) if self._shortest else took

    def _mismatch(self, task, kept, name, once, again):
        found = difference(once, again)
        if found is not None:
            self._session.difference(*found)
        repetitions = [kept.layer.repeat(kept, task.kind).get(name, []) for _ in range(2)]
        verdict = self._session.repeated([digest(results) for results in repetitions])
        events.message(
            "step %d, layer %d of stage %d (%s), micro-batch %d: computing its %s again gave different bits (%s)"
            % (events.steps.number, task.layer, kept.layer.stage, kept.layer.name, task.microbatch, name, verdict)
        )
