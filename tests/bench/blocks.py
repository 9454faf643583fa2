"""Blocks of steps with something and without it, in alternation: what it costs, whatever else slows the machine for a while."""

import random
import statistics

_TRIMMED = 0.1  # of the differences at each end
_AGAIN = 2000  # samples for an interval


def _trimmed_mean(values):
    cut = int(len(values) * _TRIMMED)
    return statistics.mean(sorted(values)[cut:len(values) - cut])


def differences(blocks):
    """For the values of blocks, the first of which has it: (difference, value without it) of each, compared with the
    mean of those before and after it."""
    found = []
    for at in range(2, len(blocks) - 1, 2):
        without = (blocks[at - 1] + blocks[at + 1]) / 2
        found.append((blocks[at] - without, without))
    return found


def tell(what, values, scale, unit):
    """Prints the median and the trimmed mean of values, each with an interval of 95 % from resampling."""
    for name, of in (("median", statistics.median), ("trimmed mean", _trimmed_mean)):
        again = sorted(of(random.choices(values, k=len(values))) for _ in range(_AGAIN))
        low, high = again[_AGAIN // 40], again[-_AGAIN // 40 - 1]
        print("%s: %s %+.2f %s (%+.2f to %+.2f)" % (what, name, of(values) * scale, unit, low * scale, high * scale), flush=True)
