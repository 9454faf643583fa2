"""The cost of naming an op: bubblescope record -- python ranges_bench.py

A method with a name as adapters give it against the same method without, in turns; processor time of the calling thread.
`loop`: one after the other. Then each call after memory of some size was copied, which leaves nothing else in the caches that are
smaller, as work between ops does: medians on the wall, and the first tenth. Through ctypes and through the module of our own.
"""

import ctypes
import os
import statistics
import time

from bubblescope_adapters import events

ROUNDS, CALLS, COLD = 40, 2000, 300
SIZES = (32, 256, 1024, 4096, 65536)  # KiB


def through_ctypes():
    library = ctypes.PyDLL(os.environ["BUBBLESCOPE_INJECT_LIBRARY"])
    push, pop = library.bubblescope_push, library.bubblescope_pop
    push.argtypes, push.restype, pop.restype = [ctypes.c_char_p], None, None
    return push, pop


def make(push=None, pop=None, native=False):
    class Stage:
        stage_index = 3

        def run(self, chunk, args, kwargs=None):
            return None

    if native:
        Stage.run = events.stage_range("F")(Stage.run)
    elif push is not None:
        events.push, events.pop = push, pop
        Stage.run = events.range_around(lambda self, chunk, *_, **__: events.names["%dF%d", self.stage_index, chunk])(Stage.run)
    return Stage()


def loop(stage):
    start = time.thread_time_ns()
    for call in range(CALLS):
        stage.run(call & 7, (), kwargs=None)
    return (time.thread_time_ns() - start) / CALLS


def between_work(stage, memory, times):
    bytes(memory)
    start = time.perf_counter_ns()
    stage.run(3, (), kwargs=None)
    times.append(time.perf_counter_ns() - start)


def main():
    module = events.push, events.pop
    plain = make()
    for name, way in (("ctypes", through_ctypes()), ("module", module), ("native range", (None, None, True))):
        named = make(*way)
        events.steps.begin()
        hot = []
        for _ in range(ROUNDS):
            hot.append(-loop(plain) + loop(named))
        print("%s: %.2f us an op in a loop" % (name, statistics.median(hot) / 1e3), flush=True)
        for size in SIZES:
            memory, without, with_name = bytearray(size << 10), [], []
            for _ in range(COLD):
                between_work(plain, memory, without)
                between_work(named, memory, with_name)
            without.sort(), with_name.sort()
            at = [(with_name[place] - without[place]) / 1e3 for place in (COLD // 2, COLD // 10)]
            print("  after a copy of %5d KiB: %.2f us, first tenth %.2f us" % (size, *at), flush=True)


main()
