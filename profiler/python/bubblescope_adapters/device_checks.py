"""Checks in the bubbles of a job on a GPU. They have not run on a GPU yet: the tests replace it with streams on the CPU.

The job's thread queues all work and does not wait for any of it, so nothing here blocks, and no thread is added. At a wait,
a check is queued on a stream of its own, behind the last op. Events on the device measure bubbles, checks and ops; they are
read in a later step. A check is queued only if it is expected to fit: its time plus the margin is less than 80 % of the
shortest of the last eight bubbles at this place. The place is the number of ops before it. Nothing can take queued work
back, so a bubble gets one check, and another only once the first has ended: if a bubble ends early, the next op is delayed
by one check of one layer. If the data arrives while the host is queuing a backward, the host drops the rest of it.

Steps take turns: one with checks, one in which only the bubbles are measured, and a quiet one without any event between
its ends. The session gets a step as a whole, once the device has finished it. Pairs of steps with and without checks
measure delays, which Budget limits; see Delays.

The data of a check is held until its last event has occurred. Before the optimizer, the job's stream waits for that event,
so later changes of weights cannot reach the check; earlier changes show in the versions of the tensors. Until then, waits
for collectives after the last op hold checks too; see StepEnd.

A backward is repeated with its forward, on aliases of the weights. For weight gradients, only hashes are kept; see
HeldGradients."""

import collections

from . import bubblescope_aadiff as aadiff
from . import events
from .check_budget import Budget
from .comparison import Comparison
from .device_steps import CHECKED, MEASURED, QUIET, TRYING, TURNS, Step, Times, Work, apart, ns, pairs_of
from .framework import CannotRepeat, Stopped
from .held_data import HeldData
from .layers import WEIGHT_GRADIENT, difference
from .torch_framework import can_be_repeated
from .trial import VARIES, Trial

_TRIAL_STEPS = 32  # a layer is left out if it has had no trial after this many steps
_BACKWARD_TRIAL_STEPS = 16  # the same limit for backwards, from the end of the forwards' trials
_REPETITIONS = 8  # of a layer in its trial
_IDLE_TURNS = 16  # after this many steps without a check, steps are quiet
_IDLE_STEPS = 64  # for this many steps
_DEBT = 4096  # steps: delays are measured on the device, so all of them are paid
_ANY_TIME = 1 << 60  # nanoseconds; the session is asked after the check, so there is nothing left to fit


class DeviceChecks(HeldData):
    def __init__(self, pipeline, margin, memory, cost, device):
        """`cost` is the fraction of a step's time by which checks may delay the job, on all ranks together."""
        super().__init__(pipeline, margin, memory, device)
        self._share = cost / pipeline.pp
        self._budget, self._times = Budget(self._share, _DEBT), Times(self._share)
        self._stream = device.stream()
        self._pool = []  # events for reuse
        self._steps = self._turn = self._idle = 0
        self._rest_until = 0  # step at which checks begin again
        self._forwards_known = 0  # number of steps until all forwards have had their trial
        self._costs = {}  # by (kind, chunk, layer): times of the last eight repetitions
        self._step = None  # the current step; None outside
        self._open = collections.deque()  # earlier steps that the device may not have finished
        self._order = []  # keys of the planned checks, the most urgent first
        self._free = None  # usable rest of the current bubble; None before the first wait
        self._start = None  # event after the last wait
        self._spent = 0  # delays since the last step with checks
        self._suspect = False  # true once a check has found a mismatch
        self.active = True
        self.checks = 0  # number of checks that have begun
        self._ended = not self._has_layers()

    def _has_layers(self):
        return any([layer is not None for layers in self._layers for layer in layers])

    # ---- Steps

    @apart
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
        step = self._step = Step(self._next_turn(), number)
        self._budget.begin_step(device.now(), self._spent)
        self._spent = 0
        self.active = step.turn != QUIET
        step.begin = self._record(device.current())
        if step.turn == CHECKED:
            # The stream of checks is idle here, so the event occurs now: this is how times of the device become times of
            # the host. Each step does this again, because clocks drift and the resolution of long times is low.
            step.base_ns = device.now()
            step.base = self._record(self._stream)
            self._session.begin_step(number)
            # More data than the bubbles can use would only take memory.
            most = 2 * len(self._times.bubbles.places())
            for number, (what, op) in enumerate(self._planned_checks().items()):
                if number < most:
                    self._order.append(what)
                    kind, microbatch, chunk, layer = what
                    self._planned.setdefault((microbatch, chunk), {}).setdefault(layer, set()).add(kind)
                else:
                    self._session.withdraw(op, what[3])
        elif step.turn == TRYING:
            self._planned = None  # all

    def _last_wait(self):
        return max(self._times.bubbles.places(), default=0)

    def _next_turn(self):
        if self._session is None:
            return TRYING
        if self._steps < self._rest_until:
            return QUIET
        turn = TURNS[self._turn % len(TURNS)]
        if turn == CHECKED:
            if any([step.turn == CHECKED for step in self._open]):  # the session gets one step at a time
                return QUIET
            if not self._budget.can_begin():
                return QUIET
            self._idle += 1
            if self._idle > _IDLE_TURNS:
                self._idle, self._rest_until = 0, self._steps + _IDLE_STEPS
        self._turn += 1
        return turn

    def end_ops(self):
        if self._step is not None:
            self._step.ops_over = True

    @apart
    def end_step(self):
        step, self._step = self._step, None
        if step is None:
            return
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
        self._forget()
        self._planned, self._order = {}, []
        self._open.append(step)

    def _record(self, stream):
        event = self._pool.pop() if self._pool else self._device.event()
        event.record(stream)
        return event

    def _forsake(self):
        """The job captures a CUDA graph: nothing of this step is used."""
        self._step.broken, self.active = True, False
        self._forget()

    # ---- Ops and waits

    @apart
    def began(self, kind, stage, microbatch):
        step, chunk = self._step, self._chunk_of[stage]
        if step is None or step.broken:
            return None
        if self._device.capturing():
            return self._forsake()
        if kind == "F":
            self._arm(chunk, microbatch)
        else:
            if self._session is None:
                self._backwards[chunk].add(kind)
            if kind != "I":
                for kept in self._gradients.get((microbatch, chunk), {}).values():
                    kept.listen()
        start, self._start = self._start, None
        return start or self._record(self._device.current())

    @apart
    def ended(self, kind, stage, microbatch, start):
        step, chunk = self._step, self._chunk_of[stage]
        self._disarm()
        if step is None or step.broken or not start:
            return
        if self._device.capturing():
            return self._forsake()
        step.ops.append((kind, microbatch, chunk, start, self._record(self._device.current())))
        self._free = None
        if kind == "F":
            for kept in self._kept.values():
                self._layers_kept(kept)
        for kept in self._gradients.get((microbatch, chunk), {}).values() if kind != "F" else ():
            kept.unlisten()
            kept.ran.add(kind)
            self._layers_kept(kept)
            if not kept.gives(kind):
                kept.layer.left_out.add(kind)  # the first layer of the model has no input gradient

    def _running(self):
        return [work for step in list(self._open) + [self._step] if step is not None for work in step.works + step.dropped]

    def rest(self, wait):
        """Calls `wait` in a step without checks."""
        return wait()

    def fill(self, wait, sends=False, arrived=lambda: False):
        """Calls `wait`, which may return before the rank's data has arrived. Checks are queued before, because some
        frameworks wait for the device here, unless `wait` also sends results, for which other ranks wait."""
        step = self._step
        if step is None or step.broken:
            return wait()
        if not sends:
            self._use_bubble(step, arrived)
        if step.ops_over:
            self._begin_last_wait(step)
        result = wait()
        if not step.broken:
            self._end_wait(step, sends)
        return result

    @apart
    def _begin_last_wait(self, step):
        if self._device.capturing():
            return self._forsake()
        self._free = None
        start = self._record(self._device.current())
        step.waits.append([start, start])

    @apart
    def _end_wait(self, step, sends):
        end = self._record(self._device.current())
        if step.ops_over:
            step.waits[-1][1] = end
        else:
            if self._start is not None:
                self._pool.append(self._start)
            self._start = end
        if sends:
            self._use_bubble(step, end.query)

    @apart
    def _use_bubble(self, step, over):
        """`over` returns whether the data has arrived, so that the next op can begin."""
        try:
            if self._device.capturing():
                self._forsake()
            elif step.ops:
                self._look(step)
                self._queue(step, over)
        except Exception as problem:  # noqa: BLE001: the job matters more than its checks
            self._forsake()
            self._ended = True
            events.message("checks in bubbles have stopped: %s: %s" % (type(problem).__name__, problem))

    def _queue(self, step, over):
        place = step.place()
        if step.turn == TRYING:
            return self._next_trial(step)
        if step.turn != CHECKED or self._times.has_stopped(place, self._steps):
            return None
        if self._free is None:
            self._free = self._times.bubbles.usable(place)
        if not self._free or over() or step.works and step.works[-1].place == place and not step.works[-1].end.query():
            return None
        for key in self._order:
            kept = self._available(key)
            if kept is None:
                continue
            needed = max(self._costs[key[:1] + key[2:]]) * (1 + self._margin)
            if needed < self._free and kept.unchanged():
                self._order.remove(key)
                self._take(key)
                work = Work(step, key, kept)
                # The verdict on a mismatch needs two more, and the host often learns of the mismatch too late to queue them.
                work.times = 3 if self._suspect and 3 * needed < self._free else 1
                self._free -= needed * work.times
                return self._begin(step, work, over)

    def _on_stream(self, step, work, queue):
        """Queues work behind the last op, with events around it."""
        self._stream.wait_event(step.idle_since())
        with self._device.on(self._stream):
            work.start = self._record(self._stream)
            try:
                queue()
            finally:
                work.end = step.last = self._record(self._stream)
        step.works.append(work)

    def _begin(self, step, work, over):
        kept, kind = work.kept, work.key[0]

        def queue():
            work.again = kept.layer.repeat(kept, kind, over)
            work.comparison = Comparison(self._device, pairs_of(kept.first(kind), work.again))
            if work.times > 1:
                work.repeated = self._repeat_twice(work)

        try:
            self._on_stream(step, work, queue)
        except Stopped:
            step.dropped.append(work)
        self.checks += 1
        self._idle = 0

    def _repeat_twice(self, work):
        kept, kind = work.kept, work.key[0]
        results = [kept.layer.repeat(kept, kind) for _ in range(2)]
        return Comparison(self._device, [(one, result[name]) for name, first in kept.first(kind).items()
                                         for result in results for one in (first, work.again[name])])

    # ---- Trials

    def _next_trial(self, step):
        keys = [("F",) + key for key in self._kept]
        keys += [(kind, *op, layer) for op, of_op in self._gradients.items() for layer, kept in of_op.items()
                 for kind in sorted(kept.wanted)]
        for key in keys:
            kept = self._available(key)
            if kept is not None:
                self._take(key)
                if kept.layer.is_open(key[0]):
                    return self._try_out(step, Work(step, key, kept))

    def _try_out(self, step, work):
        """Queues the trial of a layer. The host sees at once what the layer changes and calls; whether the bits are equal
        is known when the device has finished."""
        layer, kept, kind = work.kept.layer, work.kept, work.key[0]
        trial = Trial(layer, kept)

        def queue():
            can_be_repeated(layer.module, self._device)  # again: FP8, for example, shows after the first execution
            with trial:
                once = trial.first(kind)
                pairs = pairs_of(kept.first(kind), once)
                for _ in range(1, _REPETITIONS):
                    pairs += pairs_of(once, trial.again(kind))
            if kind != "F" and trial.draws and kept.random is None:
                raise CannotRepeat("draws random numbers only in its backward")
            work.draws = trial.draws
            work.comparison = Comparison(self._device, pairs)

        try:
            self._on_stream(step, work, queue)
        except Exception as problem:  # noqa: BLE001
            step.works = [one for one in step.works if one is not work]
            if trial.changed:  # the state has been restored on the stream of checks
                self._device.current().wait_event(step.last)
            self._refuse(layer, kind, problem)

    def _judge(self, work):
        layer, (kind, _, chunk, number) = work.kept.layer, work.key
        if not layer.is_open(kind):
            return
        if not work.valid:
            return self._refuse(layer, kind, "has inputs or outputs that are modified in place")
        cost = ns(work.start, work.end) // _REPETITIONS
        self._costs.setdefault((kind, chunk, number), collections.deque(maxlen=8)).append(cost)
        equal = work.comparison.equal()
        tensors = len(equal) // _REPETITIONS
        if not all(equal[tensors:]):
            return self._refuse(layer, kind, VARIES)
        try:
            if all(equal[:tensors]):
                layer.show(kind, work.draws)
            else:
                layer.doubt(kind)
        except CannotRepeat as why:
            self._refuse(layer, kind, why)

    def _prepare(self):
        """Opens the session as soon as each layer has had its trial."""
        untried = self._untried()
        if self._steps < 2 or any([step.works for step in self._open]):
            return
        if any([kind == "F" for _, kind in untried]):
            if self._steps <= _TRIAL_STEPS:
                return
        elif self._forwards_known == 0:
            self._forwards_known = self._steps
        if untried and self._steps <= self._forwards_known + _BACKWARD_TRIAL_STEPS:
            return
        self._refuse_untried(untried)
        self._ended = not self._has_layers()
        if not self._ended:
            self._open_session()

    # ---- Results

    def _look(self, step):
        """If a check of this step has found a mismatch and its data is unchanged, queues two more repetitions for the
        verdict."""
        for work in list(step.works):
            if work.looked or step.turn != CHECKED or not work.end.query():
                continue
            work.looked = True
            if work.repeated or all(work.comparison.equal()) or not work.kept.unchanged():
                continue
            work.more = Work(step, work.key, work.kept)

            def queue(work=work):
                work.repeated = self._repeat_twice(work)

            self._on_stream(step, work.more, queue)
            step.works.pop()  # it is part of the check

    def _settle(self):
        """Reads the events of the steps that the device has finished."""
        while self._open and self._open[0].over():
            step = self._open.popleft()
            if not step.broken:
                self._spent += self._times.learn(step, self._steps)
            if step.turn == MEASURED and not step.broken:
                self._numbers = {op[:3]: number for number, op in enumerate(step.ops, 1)}
            if step.turn == CHECKED:
                self._tell(step)
            elif step.turn == TRYING and not step.broken:
                for work in step.works:
                    self._judge(work)
            self._pool += [event for _, _, _, *pair in step.ops for event in pair]
            for work in step.works + step.dropped + [work.more for work in step.works if work.more]:
                self._pool += [work.start, work.end]
            self._pool += [event for pair in step.waits for event in set(pair)]
            self._pool += [event for event in (step.begin, step.end, step.base) if event is not None]

    def _tell(self, step):
        """Reports a finished step to the session: all ops first, because a check may have run in an earlier bubble than
        planned."""
        session = self._session

        def at(event):
            return step.base_ns + ns(step.base, event)

        if not step.broken:
            for kind, microbatch, chunk, start, end in step.ops:
                begin = at(start)
                self._op(kind, microbatch, chunk)[0](begin, max(begin, at(end)))
            for work in step.works:
                self._tell_check(session, work, at)
        session.end_step()

    def _tell_check(self, session, work, at):
        kind, microbatch, chunk, layer = work.key
        self._costs[kind, chunk, layer].append(ns(work.start, work.end) // work.times)
        names = list(work.kept.first(kind))
        digests = [work.comparison.digests(number) for number in range(len(names))]
        for name, (first, _) in zip(names, digests):
            self._op(kind, microbatch, chunk)[1](layer, name.encode(), first)
        task = session.ask(_ANY_TIME)
        if task is None:  # the step did not follow the schedule
            return
        task.start_ns = at(work.start)
        task.end_ns = max(task.start_ns, at(work.end))
        if not work.valid:
            return task.give_up()
        for number, name in enumerate(names):
            if not task.compare(name, digests[number][1]):
                self._mismatch(session, work, number, name)

    def _mismatch(self, session, work, number, name):
        layer, verdict, self._suspect = work.kept.layer, "open", True
        first, again = work.kept.first(work.key[0])[name], work.again[name]
        if name != WEIGHT_GRADIENT:  # only hashes of it are kept
            # The copies wait for the device, which is acceptable for a rank that computes wrong results.
            found = difference([one.cpu() for one in first], [one.cpu() for one in again])
            if found is not None:
                session.difference(*found)
        if work.repeated is not None:
            equal, places = work.repeated.equal(), (4 * number, 4 * number + 2)
            first, again = work.comparison.digests(number)
            same = [first if equal[i] else again if equal[i + 1] else work.repeated.digests(i)[1] for i in places]
            verdict = session.repeated(same)
        events.message(
            "step %d, layer %d of stage %d (%s), micro-batch %d: computing its %s again on %s gave different bits (%s)"
            % (work.number, layer.number, layer.stage, layer.name, work.key[1], name, self._device.identifier(), verdict)
        )
