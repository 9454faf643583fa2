"""Limits the time that checks in bubbles use on the job's threads, by deciding for which planned checks a step keeps
inputs."""

_SAVED_STEPS = 32  # maximum savings, as a number of steps
_BEGIN_STEPS = 8  # savings that are required for a step with checks, as a number of steps
_MOST_PAUSE = 16 # maximum pause of a check for which no bubble was long enough, in steps


class Budget:
    """Each step adds a share of its time to the savings. They are spent on the rank's work for checks, and on checks that
    are still running when the rank continues. The least recently checked units have priority: if the savings do not cover
    the first unit, no other unit is checked either. Times are in nanoseconds."""

    def __init__(self, share, debt=_SAVED_STEPS):
        """Debts above `debt` times the savings of a step are forgiven, because a busy machine can cause large ones."""
        self._share, self._debt = share, debt
        self._saved = self._earned = self._needed = 0
        self._began = None  # start of the step
        self._mean = {}  # time to keep data for one check, by kind and chunk; absent = not known yet
        self._turn = 0
        self._turns = {}  # number of the last check of each unit
        self._pauses = {}  # for each planned check: (length of the pause in steps, the step at which it ends)
        self._step = 0
        self._fitted = set()  # (kind, chunk) of checks in the current step
        self.chosen = 0  # total number of chosen checks

    def begin_step(self, now, spent):
        """`spent` is the time spent since the last call."""
        earned = 0 if self._began is None else int((now - self._began) * self._share)
        self._began, self._earned = now, earned
        self._step += 1
        self._fitted.clear()
        most = max(_SAVED_STEPS * earned, 2 * max(self._mean.values(), default=0))
        self._saved = min(max(self._saved + earned - spent, -max(most, self._debt * earned)), most)

    def can_begin(self):
        """True if the savings are sufficient for a step with checks."""
        return self._share > 0 and self._saved >= max(_BEGIN_STEPS * self._earned, self._needed)

    def choose(self, planned):
        """Each (kind, micro-batch, chunk, layer) that the savings cover."""
        left, unknown, chosen, self._needed = self._saved, 0, [], 0
        for what in self._in_turn(planned) if self._share > 0 else []:
            mean = self._mean.get(what[0::2][:2])
            if mean is None and (unknown or left < 0):
                continue
            if mean is not None and mean > left:
                self._needed = 0 if chosen else mean
                break
            unknown += mean is None
            left -= mean or 0
            chosen.append(what)
        self.chosen += len(chosen)
        return chosen

    def _in_turn(self, planned):
        """Iterates over all units once, and then again."""
        times, order = {}, []
        for what in planned:
            if self._pauses.get(what, (0, 0))[1] <= self._step:
                unit = self._unit(what)
                times[unit] = times.get(unit, 0) + 1
                order.append((times[unit], self._turns.get(unit, 0), what))
        return [what for _, _, what in sorted(order, key=lambda one: one[:2])]

    def took(self, what, time):
        """Records the time needed to keep data for a check."""
        key = what[0::2][:2]
        before = self._mean.get(key, time)
        self._mean[key] = before + (time - before) // 4

    def checked(self, what):
        """Bubbles are long enough for checks of this kind, so none of them pauses: otherwise, the first one to be checked
        would be checked in each step, and the others hardly ever."""
        self._turn += 1
        self._turns[self._unit(what)] = self._turn
        self._fitted.add(what[0::2][:2])
        self._pauses = {one: pause for one, pause in self._pauses.items() if one[0::2][:2] not in self._fitted}

    def missed(self, what):
        """Must be called if no bubble was long enough for a check whose data was kept. Pauses the check for twice as many
        steps as before, unless others of its kind have taken the bubbles."""
        if what[0::2][:2] in self._fitted:
            return
        pause = min(2 * self._pauses.get(what, (1, 0))[0], _MOST_PAUSE)
        self._pauses[what] = pause, self._step + pause

    @staticmethod
    def _unit(what):
        return what[0], what[2], what[3]


class Lengths:
    """Usable length of a bubble at each place of a step: a fraction of the shortest of the last eight. 0 if unknown."""

    _LAST, _FEWEST = 8, 4
    _USED = 0.8

    def __init__(self):
        self._lengths = {}

    def add(self, place, length):
        lengths = self._lengths.setdefault(place, [])
        lengths.append(length)
        del lengths[: -self._LAST]

    def usable(self, place):
        lengths = self._lengths.get(place, ())
        return int(min(lengths) * self._USED) if len(lengths) >= self._FEWEST else 0

    def places(self, shortest=1):
        """Places with at least this usable length."""
        return [place for place in list(self._lengths) if self.usable(place) >= shortest]

    def longest(self):
        """Longest usable length at any place, even after fewer steps."""
        return max([int(min(last) * self._USED) for last in self._lengths.values()], default=0)


class Waits:
    """Estimates the length of a rank's wait at each place in a step, as a fraction of the shortest recent
    wait."""

    def __init__(self):
        self._lengths = Lengths()
        self._place = (0, 0)  # number of ops before the place, and number of waits since the last of them
        self._since = None

    def begin_step(self):
        self._place, self._since = (0, 0), None

    def ran(self, now):
        """Must be called when an op has ended."""
        self._place, self._since = (self._place[0] + 1, 0), now

    def end(self, now):
        """Earliest expected end of the wait that starts now; `now` if unknown."""
        usable = 0 if self._since is None else self._lengths.usable(self._place)
        return self._since + usable if usable else now

    def longest(self):
        """Longest usable wait at any place."""
        return self._lengths.longest()

    def ops(self):
        """Number of ops since the start of the step."""
        return self._place[0]

    def last(self, shortest):
        """Number of ops before the last wait with at least this usable length."""
        return max([ops for ops, _ in self._lengths.places(shortest)], default=0)

    def over(self, now):
        if self._since is not None:
            self._lengths.add(self._place, now - self._since)
        self._place = self._place[0], self._place[1] + 1


class Delays:
    """Delays by checks, each measured as a pair: the length of a part of a step with checks, and of the same part of the
    latest step without. A delay counts only if three of four pairs show one."""

    _LAST, _FEWEST = 16, 8

    def __init__(self):
        self._without = {}
        self._pairs = {}

    def without(self, part, length):
        self._without[part] = length

    def with_checks(self, part, length):
        if part in self._without:
            pairs = self._pairs.setdefault(part, [])
            pairs.append(length - self._without[part])
            del pairs[: -self._LAST]

    def of(self, part):
        """Median delay; 0 if it is not certain."""
        pairs = sorted(self._pairs.get(part, ()))
        return pairs[len(pairs) // 2] if len(pairs) >= self._FEWEST and pairs[len(pairs) // 4] > 0 else 0

    def forget(self, part):
        self._pairs.pop(part, None)
