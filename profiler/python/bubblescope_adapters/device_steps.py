"""Steps of checks on a GPU: what was queued in them, and the times that their events show."""

import functools

from .check_budget import Delays, Lengths

CHECKED, MEASURED, QUIET, TRYING = range(4)
TURNS = (CHECKED, MEASURED, QUIET)
_FIRST_PAUSE, _MOST_PAUSE = 64, 4096  # of a place at which checks delay the next op, in steps


def ns(begin, end):
    return int(begin.elapsed_time(end) * 1e6)


def apart(method):
    """Other threads may capture CUDA graphs during the call."""

    @functools.wraps(method)
    def call(self, *args):
        with self._device.apart():
            return method(self, *args)

    return call


def pairs_of(first, again):
    if list(first) != list(again):
        raise ValueError("the number of results changed")
    return [(first[name], again[name]) for name in first]


class Work:
    """A check, a trial or further repetitions on the stream of checks. Holds what they use until the end."""

    def __init__(self, step, key, kept):
        """`key` is (kind, micro-batch, chunk, layer)."""
        self.number, self.place, self.key, self.kept = step.number, step.place(), key, kept
        self.start = self.end = self.comparison = self.again = None
        self.valid = True  # false if the job has changed the data before it was ordered behind the check
        self.more = self.repeated = None  # further repetitions, and for each tensor two comparisons with each of both results
        self.times = 1  # number of repetitions between start and end
        self.looked = self.draws = False


class Step:
    def __init__(self, turn, number):
        self.turn, self.number = turn, number
        self.ops = []  # (kind, micro-batch, chunk, start, end)
        self.works = []
        self.dropped = []  # works that the arrival of data has ended before all was queued
        self.ops_over = False
        self.waits = []  # [start, end] of each wait after the last op
        self.begin = self.end = self.base = self.last = None  # events; `last` is the last one on the stream of checks
        self.base_ns = 0  # time of the host at `base`
        self.broken = False  # true if a CUDA graph was captured in the step

    def place(self):
        """Number of the current bubble: the number of ops before it, and of waits between it and the last op."""
        return len(self.ops) + max(len(self.waits) - 1, 0)

    def idle_since(self):
        """Event at the start of the current bubble."""
        return self.waits[-1][0] if self.waits else self.ops[-1][4]

    def bubbles(self):
        """(place, start, end, end of the work that follows) of each bubble."""
        between = [(before[4], after[3], after[4]) for before, after in zip(self.ops, self.ops[1:])]
        return list(enumerate(between + [(start, end, self.end) for start, end in self.waits], 1))

    def over(self):
        return (self.broken or self.end.query()) and (self.last is None or self.last.query())


class Times:
    """Bubbles and delays at each place of a step."""

    def __init__(self, share):
        """`share` is the fraction of a step's time by which checks may delay the job."""
        self._share, self.bubbles, self._delays = share, Lengths(), Delays()
        self._stopped = {}  # by place: (length of the pause, the step at which it ends)

    def has_stopped(self, place, now):
        """True while checks at the place pause because they delayed the next op. `now` counts steps."""
        return now < self._stopped.get(place, (0, 0))[1]

    def learn(self, step, now):
        """Takes the times of a finished step. Returns the delay by its checks."""
        length = ns(step.begin, step.end)
        if step.turn == QUIET:
            self._delays.without("step", length)
        elif step.turn == MEASURED:
            for place, (start, end, then) in step.bubbles():
                self.bubbles.add(place, ns(start, end))
                self._delays.without(place, ns(start, then))
        elif step.turn == CHECKED and (step.works or step.dropped):
            self._delays.with_checks("step", length)
            works = step.works + step.dropped
            places = {work.place for work in works}
            overrun = sum([self._overlap(work, op) for work in works for op in step.ops[work.place :]])
            overrun += max(ns(step.waits[-1][1] if step.waits else step.ops[-1][4], step.last), 0)  # the optimizer waits
            for place, (start, _, then) in step.bubbles():
                if place in places:
                    self._delays.with_checks(place, ns(start, then))
                    if self._delays.of(place) > self._share * length:
                        self._stop_at(place, now)
            return max(overrun, self._delays.of("step"))
        return 0

    @staticmethod
    def _overlap(work, op):
        """Time in which a check and an op that could have begun compete for the device."""
        _, _, _, start, end = op
        return max(min(ns(start, work.end), ns(start, end)) - max(ns(start, work.start), 0), 0)

    def _stop_at(self, place, now):
        pause = min(2 * self._stopped.get(place, (_FIRST_PAUSE // 2, 0))[0], _MOST_PAUSE)
        self._stopped[place] = pause, now + pause
        self._delays.forget(place)
