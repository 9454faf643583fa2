"""Checks in the bubbles of a job on a GPU. They have not run on a GPU yet: the tests replace it with streams on the CPU.

The job's thread queues all work and does not wait for any of it, so nothing here blocks, and no thread is added. At a wait,
a check is queued on a stream of its own, behind the last op. Events on the device measure bubbles, checks and ops; they are
read in a later step. A check is queued only if it is expected to fit: its time plus the margin is less than 80 % of the
shortest of the last eight bubbles at this place. The place is the number of ops before it.

Steps take turns: one with checks, one in which only the bubbles are measured, and a quiet one without any event between
its ends. The session gets a step as a whole, once the device has finished it. Pairs of steps with and without checks
measure delays, which Budget limits; see Delays.

The data of a check is held until its last event has occurred. Before the optimizer, the job's stream waits for that event,
so later changes of weights cannot reach the check; earlier changes show in the versions of the tensors.

Only forwards are checked."""

import collections

from . import bubblescope_aadiff as aadiff
from . import events
from .check_budget import Budget, Delays, Lengths
from .comparison import Comparison
from .layers import OUTPUT, Kept, difference
from .rank_checks import RankChecks
from .trial import VARIES, CannotRepeat, Trial, can_be_repeated

_TRIAL_STEPS = 32  # a layer is left out if it has had no trial after this many steps
_REPETITIONS = 8  # of a layer in its trial
_CHECKED, _MEASURED, _QUIET, _TRYING = range(4)
_TURNS = (_CHECKED, _MEASURED, _QUIET)
_IDLE_TURNS = 16  # after this many steps without a check, steps are quiet
_IDLE_STEPS = 64  # for this many steps
_FIRST_PAUSE, _MOST_PAUSE = 64, 4096  # of a place at which checks delay the next op, in steps
_ANY_TIME = 1 << 60  # nanoseconds; the session is asked after the check, so there is nothing left to fit


class _Work:
    """A check, a trial or further repetitions on the stream of checks. Holds what they use until the end."""

    def __init__(self, step, key, kept):
        self.number, self.place, self.key, self.kept = step.number, len(step.ops), key, kept
        self.start = self.end = self.comparison = self.again = None
        self.valid = True  # false if the job has changed the data before it was ordered behind the check
        self.repetitions = None  # of a mismatch: two comparisons with each of the first two results
        self.looked = self.draws = False


class _Step:
    def __init__(self, turn, number):
        self.turn, self.number = turn, number
        self.ops = []  # (kind, micro-batch, chunk, start, end)
        self.works = []
        self.begin = self.end = self.base = self.last = None  # events; `last` is the last one on the stream of checks
        self.base_ns = 0  # time of the host at `base`
        self.broken = False  # true if a CUDA graph was captured in the step

    def over(self):
        return (self.broken or self.end.query()) and (self.last is None or self.last.query())


class DeviceChecks(RankChecks):
    def __init__(self, pipeline, margin, memory, cost, device):
        """`cost` is the fraction of a step's time by which checks may delay the job, on all ranks together."""
        super().__init__(pipeline, margin, memory, device)
        self._share = cost / pipeline.pp
        self._budget, self._bubbles, self._delays = Budget(self._share), Lengths(), Delays()
        self._stream = device.stream()
        self._pool = []  # events for reuse
        self._steps = self._turn = self._idle = 0
        self._rest_until = 0  # step at which checks begin again
        self._stopped = {}  # by place: (length of the pause, the step at which it ends)
        self._costs = {}  # by (chunk, layer): times of the last eight repetitions
        self._step = None  # the current step; None outside
        self._open = collections.deque()  # earlier steps that the device may not have finished
        self._kept = {}  # (micro-batch, chunk, layer): Kept
        self._planned = {}  # by (micro-batch, chunk): set of layers
        self._order = []  # keys of the planned checks, the most urgent first
        self._free = None  # usable rest of the current bubble; None before the first wait
        self._start = None  # event after the last wait
        self._spent = 0  # delays since the last step with checks
        self.active = True
        self.checks = 0  # number of checks that have begun
        self._ended = not self._has_layers()

    def _has_layers(self):
        return any([layer is not None for layers in self._layers for layer in layers])

    # ---- Steps

    def begin_step(self, number):
        self._steps += 1
        self._start = None
        device = self._device
        if self._ended or device.capturing():
            self.active = False
            return
        self._settle()
        if self._session is None:
            self._prepare()
            if self._ended:
                return
        step = self._step = _Step(self._next_turn(), number)
        self._budget.begin_step(device.now(), self._spent)
        self._spent = 0
        self.active = step.turn != _QUIET
        step.begin = self._record(device.current())
        if step.turn == _CHECKED:
            # The stream of checks is idle here, so the event occurs now: this is how times of the device become times of
            # the host. Each step does this again, because clocks drift and the resolution of long times is low.
            step.base_ns = device.now()
            step.base = self._record(self._stream)
            self._session.begin_step(number)
            self._order = [(what[1], what[2], what[3]) for what in self._planned_checks()]
            for microbatch, chunk, layer in self._order:
                self._planned.setdefault((microbatch, chunk), set()).add(layer)
        elif step.turn == _TRYING:
            self._planned = None  # all

    def _next_turn(self):
        if self._session is None:
            return _TRYING
        if self._steps < self._rest_until:
            return _QUIET
        turn = _TURNS[self._turn % len(_TURNS)]
        if turn == _CHECKED:
            if any([step.turn == _CHECKED for step in self._open]):  # the session gets one step at a time
                return _QUIET
            if not self._budget.can_begin():
                return _QUIET
            self._idle += 1
            if self._idle > _IDLE_TURNS:
                self._idle, self._rest_until = 0, self._steps + _IDLE_STEPS
        self._turn += 1
        return turn

    def end_step(self):
        step, self._step = self._step, None
        if step is None:
            return
        self._disarm()
        if not self._device.capturing():
            self._look(step)
            job = self._device.current()
            for work in step.works:
                work.valid = work.valid and work.kept.unchanged()
            if step.last is not None:
                job.wait_event(step.last)  # the optimizer changes the weights
            step.end = self._record(job)
        else:
            step.broken = True
        self._kept.clear()
        self._planned, self._order = {}, []
        self._open.append(step)

    def _record(self, stream):
        event = self._pool.pop() if self._pool else self._device.event()
        event.record(stream)
        return event

    def _forsake(self):
        """The job captures a CUDA graph: nothing of this step is used."""
        self._step.broken, self.active = True, False
        self._kept.clear()
        self._disarm()

    # ---- Ops and waits

    def began(self, kind, stage, microbatch):
        step = self._step
        if step is None or step.broken:
            return None
        if self._device.capturing():
            return self._forsake()
        if kind == "F":
            self._arm(self._chunk_of[stage], microbatch)
        start, self._start = self._start, None
        return start or self._record(self._device.current())

    def ended(self, kind, stage, microbatch, start):
        step = self._step
        self._disarm()
        if step is None or step.broken or not start:
            return
        if self._device.capturing():
            return self._forsake()
        step.ops.append((kind, microbatch, self._chunk_of[stage], start, self._record(self._device.current())))
        self._free = None
        if kind == "F":
            for kept in self._kept.values():
                self._layers_kept(kept)

    def _arm(self, chunk, microbatch):
        wanted = self._layers[chunk]
        if self._planned is not None:
            wanted = [wanted[number] for number in self._planned.get((microbatch, chunk), ())]
        for layer in wanted:
            if layer is None or self._session is None and not self._wants_trial(layer, chunk):
                continue
            key = microbatch, chunk, layer.number
            layer.watch(Kept, lambda kept, layer=layer, key=key: self._keep(layer, key, kept))
            self._watched.append(layer)

    def _wants_trial(self, layer, chunk):
        return layer.is_open("F") and not any(
            [key[1:] == (chunk, layer.number) for key in self._kept] + [work.kept.layer is layer for work in self._running()]
        )

    def _running(self):
        return [work for step in list(self._open) + [self._step] if step is not None for work in step.works]

    def _keep(self, layer, key, kept):
        if isinstance(kept, Exception):
            self._kept.pop(key, None)
            self._refuse(layer, "F", kept if isinstance(kept, CannotRepeat) else "cannot be kept (%r)" % (kept,))
            return None
        if self._memory is not None:
            held = sum([2 * one.bytes for one in self._kept.values()]) + sum([2 * work.kept.bytes for work in self._running()])
            # The outputs and their repetitions come later; the first time, they are assumed to be as large as the inputs.
            if held + 2 * (layer.kept_bytes or 2 * kept.bytes) > self._memory:
                return None
        self._kept[key] = kept
        return kept

    def rest(self, wait):
        """Calls `wait` in a step without checks."""
        return wait()

    def fill(self, wait, sends=False):
        """Calls `wait`, which may return before the rank's data has arrived. Checks are queued before, because some
        frameworks wait for the device here, unless `wait` also sends results, for which other ranks wait."""
        step = self._step
        if step is None or step.broken:
            return wait()
        if not sends:
            self._use_bubble(step)
        result = wait()
        if not step.broken:
            if self._start is not None:
                self._pool.append(self._start)
            self._start = self._record(self._device.current())
            if sends and not self._start.query():  # otherwise the bubble is over
                self._use_bubble(step)
        return result

    def _use_bubble(self, step):
        try:
            if self._device.capturing():
                self._forsake()
            elif step.ops:
                self._look(step)
                self._queue(step)
        except Exception as problem:  # noqa: BLE001: the job matters more than its checks
            self._forsake()
            self._ended = True
            events.message("checks in bubbles have stopped: %s: %s" % (type(problem).__name__, problem))

    def _queue(self, step):
        place = len(step.ops)
        if step.turn == _TRYING:
            for key in list(self._kept):
                kept = self._kept.pop(key)
                if kept.results and kept.layer.is_open("F"):
                    return self._try_out(step, _Work(step, key, kept))
        if step.turn != _CHECKED or self._steps < self._stopped.get(place, (0, 0))[1]:
            return None
        if self._free is None:
            self._free = self._bubbles.usable(place)
        for key in self._order:
            kept = self._kept.get(key)
            if kept is None or not kept.results:
                continue
            needed = max(self._costs[key[1:]]) * (1 + self._margin)
            if needed < self._free and kept.unchanged():
                self._free -= needed
                del self._kept[key]
                self._begin(step, _Work(step, key, kept))

    def _on_stream(self, step, work, queue):
        """Queues work behind the last op, with events around it."""
        self._stream.wait_event(step.ops[-1][4])
        with self._device.on(self._stream):
            work.start = self._record(self._stream)
            try:
                queue()
            finally:
                work.end = step.last = self._record(self._stream)
        step.works.append(work)

    def _begin(self, step, work):
        def queue():
            work.again = work.kept.layer.repeat(work.kept, "F")[OUTPUT]
            work.comparison = Comparison(self._device, [(work.kept.first("F")[OUTPUT], work.again)])

        self._on_stream(step, work, queue)
        self.checks += 1
        self._idle = 0

    # ---- Trials

    def _try_out(self, step, work):
        """Queues the trial of a layer. The host sees at once what the layer changes and calls; whether the bits are equal
        is known when the device has finished."""
        layer, kept = work.kept.layer, work.kept
        trial = Trial(layer, kept)

        def queue():
            can_be_repeated(layer.module, self._device)  # again: FP8, for example, shows after the first execution
            with trial:
                once = trial.first("F")[OUTPUT]
                pairs = [(kept.first("F")[OUTPUT], once)]
                for _ in range(1, _REPETITIONS):
                    pairs.append((once, trial.again("F")[OUTPUT]))
            work.draws = trial.draws
            work.comparison = Comparison(self._device, pairs)

        try:
            self._on_stream(step, work, queue)
        except Exception as problem:  # noqa: BLE001
            step.works = [one for one in step.works if one is not work]
            if trial.changed:  # the state has been restored on the stream of checks
                self._device.current().wait_event(step.last)
            self._refuse(layer, "F", problem)

    def _judge(self, work):
        layer = work.kept.layer
        if not layer.is_open("F"):
            return
        if not work.valid:
            return self._refuse(layer, "F", "has inputs or outputs that are modified in place")
        cost = self._ns(work.start, work.end) // _REPETITIONS
        self._costs.setdefault((work.key[1], layer.number), collections.deque(maxlen=8)).append(cost)
        equal = work.comparison.equal()
        if not all(equal[1:]):
            return self._refuse(layer, "F", VARIES)
        try:
            if equal[0]:
                layer.show("F", work.draws)
            else:
                layer.doubt("F")
        except CannotRepeat as why:
            self._refuse(layer, "F", why)

    def _prepare(self):
        """Opens the session as soon as each layer has had its trial."""
        untried = self._untried()
        if self._steps < 2 or untried and self._steps <= _TRIAL_STEPS or any([step.works for step in self._open]):
            return
        self._refuse_untried(untried)
        self._ended = not self._has_layers()
        if not self._ended:
            events.message("backwards are not checked in bubbles on a GPU")
            self._open_session(self._device.identifier())

    # ---- Results

    @staticmethod
    def _ns(begin, end):
        return int(begin.elapsed_time(end) * 1e6)

    def _look(self, step):
        """If a check of this step has found a mismatch and its data is unchanged, queues two more repetitions, which the
        verdict needs."""
        for work in list(step.works):
            if work.looked or step.turn != _CHECKED or not work.end.query():
                continue
            work.looked = True
            if all(work.comparison.equal()) or not work.kept.unchanged():
                continue
            more = _Work(step, work.key, work.kept)
            more.looked = True
            first = work.kept.first("F")[OUTPUT]

            def queue(work=work, more=more, first=first):
                again = [work.kept.layer.repeat(work.kept, "F")[OUTPUT] for _ in range(2)]
                more.comparison = Comparison(self._device, [(one, other) for other in again for one in (first, work.again)])

            self._on_stream(step, more, queue)
            step.works.pop()  # it is part of the check
            work.repetitions = more

    def _settle(self):
        """Reads the events of the steps that the device has finished."""
        while self._open and self._open[0].over():
            step = self._open.popleft()
            if not step.broken:
                self._learn(step)
            if step.turn == _CHECKED:
                self._tell(step)
            elif step.turn == _TRYING and not step.broken:
                for work in step.works:
                    self._judge(work)
            self._pool += [event for _, _, _, *pair in step.ops for event in pair]
            for work in step.works + [work.repetitions for work in step.works if work.repetitions]:
                self._pool += [work.start, work.end]
            self._pool += [event for event in (step.begin, step.end, step.base) if event is not None]

    def _learn(self, step):
        length = self._ns(step.begin, step.end)
        parts = [(place, before[4], after) for place, (before, after) in enumerate(zip(step.ops, step.ops[1:]), 1)]
        if step.turn == _QUIET:
            self._delays.without("step", length)
        elif step.turn == _MEASURED:
            for place, ended, (_, _, _, start, end) in parts:
                self._bubbles.add(place, self._ns(ended, start))
                self._delays.without(place, self._ns(ended, end))
        elif step.turn == _CHECKED and step.works:
            self._delays.with_checks("step", length)
            last = {work.place: work.end for work in step.works}
            overrun = 0
            for place, ended, (_, _, _, start, end) in parts:
                if place in last:
                    overrun += min(max(self._ns(start, last[place]), 0), self._ns(start, end))
                    self._delays.with_checks(place, self._ns(ended, end))
                    self._stop_at(place, self._delays.of(place) > self._share * length)
            self._spent += max(overrun, self._delays.of("step"))

    def _stop_at(self, place, delays):
        if delays:
            pause = min(2 * self._stopped.get(place, (_FIRST_PAUSE // 2, 0))[0], _MOST_PAUSE)
            self._stopped[place] = pause, self._steps + pause
            self._delays.forget(place)

    def _tell(self, step):
        """Reports a finished step to the session: all ops first, because a check may have run in an earlier bubble than
        planned."""
        session = self._session

        def at(event):
            return step.base_ns + self._ns(step.base, event)

        if not step.broken:
            for kind, microbatch, chunk, start, end in step.ops:
                begin = at(start)
                self._op(kind, microbatch, chunk)[0](begin, max(begin, at(end)))
            for work in step.works:
                self._tell_check(session, work, at)
        session.end_step()

    def _tell_check(self, session, work, at):
        microbatch, chunk, layer = work.key
        self._costs[chunk, layer].append(self._ns(work.start, work.end))
        first, second = work.comparison.digests(0)
        self._op("F", microbatch, chunk)[1](layer, OUTPUT.encode(), first)
        task = session.ask(_ANY_TIME)
        if task is None:  # the step did not follow the schedule
            return
        task.start_ns = at(work.start)
        task.end_ns = max(task.start_ns, at(work.end))
        if not work.valid:
            return task.give_up()
        if not task.compare(OUTPUT, second):
            self._mismatch(session, work, first, second)

    def _mismatch(self, session, work, first, second):
        layer, verdict = work.kept.layer, "open"
        # The copies wait for the device, which is acceptable for a rank that computes wrong results.
        found = difference([one.cpu() for one in work.kept.first("F")[OUTPUT]], [one.cpu() for one in work.again])
        if found is not None:
            session.difference(*found)
        if work.repetitions is not None:
            equal, comparison = work.repetitions.comparison.equal(), work.repetitions.comparison
            same = [first if equal[i] else second if equal[i + 1] else comparison.digests(i)[1] for i in (0, 2)]
            verdict = session.repeated(same)
        events.message(
            "step %d, layer %d of stage %d (%s), micro-batch %d: computing its %s again on %s gave different bits (%s)"
            % (work.number, layer.number, layer.stage, layer.name, work.key[0], OUTPUT,
               self._device.identifier(), verdict)
        )
