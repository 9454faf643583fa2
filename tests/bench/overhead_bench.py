"""The cost of recording for a job of a framework: blocks of steps with the adapter and without it, in alternation, within one job.

    bubblescope record --out DIR -- torchrun --nproc-per-node 4 overhead_bench.py [--block N] JOB ARGUMENTS...

JOB is a script that reads time.time() itself once at the beginning of each step, as those of the frameworks do. Between blocks
the functions that the adapter wraps are put back, so that a step without it runs the framework's own. Each rank prints how much
more the adapter makes of a step's processor time, of all its threads (that which writes included) and of its own one, and of its
time on the wall.
On a machine that others use, give the job the priority of real time (chrt -r 5 bubblescope record ...).
"""

import os
import runpy
import statistics
import sys
import time

import bubblescope_adapters
from blocks import differences, tell
from bubblescope_adapters import events

WARM_UP = 10  # steps
SETTLE = 2  # steps of a block that do not count: Python specialises the code again after a switch
changed = []  # (owner, name, without, with)
read = time.time
stamps = []  # (wall, processor, processor of this thread) at the beginning of each step
pushed = [0]


class Noted(bubblescope_adapters.Changes):
    def make(self):
        # The wrapped attribute may have been inherited: the replacement is then deleted again.
        noted = [(owner, name, vars(owner).get(name, noted_absent), after) for owner, name, after in self._changes]
        super().make()
        changed.extend(noted)


noted_absent = object()


def switch(on):
    for owner, name, without, after in changed:
        if on:
            setattr(owner, name, after)
        elif without is noted_absent:
            delattr(owner, name)
        else:
            setattr(owner, name, without)
    if not on:
        events.steps.pause()


def main():
    words = sys.argv[1:]
    block = 8
    if words[0] == "--block":
        block, words = int(words[1]), words[2:]
    bubblescope_adapters.Changes = Noted

    def step_begins():
        if sys._getframe(1).f_globals.get("__name__") == "__main__":
            number = len(stamps)
            if number >= WARM_UP and (number - WARM_UP) % block == 0:
                switch((number - WARM_UP) // block % 2 == 0)
            stamps.append((time.perf_counter(), time.process_time(), time.thread_time()))
        return read()

    time.time = step_begins
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")
    report(block)


def report(block):
    """Each step of a block but the first ones counts; a block's value is the mean of its steps."""
    if len(stamps) < WARM_UP + 6 * block:
        sys.exit("more steps are needed: %d at least" % (WARM_UP + 6 * block))
    steps = [tuple(b - a for a, b in zip(one, two)) for one, two in zip(stamps, stamps[1:])][WARM_UP:]
    parts = [steps[at + SETTLE:at + block] for at in range(0, len(steps) - block + 1, block)]
    rank = os.environ.get("RANK", "0")
    for what, which in (("processor", 1), ("its own thread", 2), ("wall", 0)):
        more = differences([statistics.mean([step[which] for step in part]) for part in parts])
        usual = statistics.median([without for _, without in more])
        tell("rank %s, %s, %.2f ms a step" % (rank, what, usual * 1e3), [one for one, _ in more], 1e6, "us")


main()
