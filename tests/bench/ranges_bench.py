"""The cost of naming an op: bubblescope record -- python ranges_bench.py [hot]

A method with a name as adapters give it against the same method without, in turns; processor time of the calling thread.
`loop`: one after the other. Then each call after memory of some size was copied, which leaves nothing else in the caches that are
smaller, as work between ops does: medians on the wall, and the first tenth. Through ctypes, through the functions of our module,
and as its ranges; and Megatron-core's functions with the wrappers in Python and with the ranges that replace them. The ratio is to
an empty `with` of PyTorch's record_function or, without PyTorch, of a class that calls two functions in C as it does.
"""

import ctypes
import os
import statistics
import sys
import time

from bubblescope_adapters import events

ROUNDS, CALLS, COLD = 40, 2000, 300
SIZES = () if "hot" in sys.argv[1:] else (32, 256, 1024, 4096, 65536)  # KiB


def through_ctypes():
    library = ctypes.PyDLL(os.environ["BUBBLESCOPE_INJECT_LIBRARY"])
    push, pop = library.bubblescope_push, library.bubblescope_pop
    push.argtypes, push.restype, pop.restype = [ctypes.c_char_p], None, None
    return push, pop


def stage(push=None, pop=None, native=False):
    class Stage:
        stage_index = 3

        def run(self, chunk, args, kwargs=None):
            return None

    if native:
        Stage.run = events.stage_range("F")(Stage.run)
    elif push is not None:
        events.push, events.pop = push, pop
        Stage.run = events.range_around(lambda self, chunk, *_, **__: events.names["%dF%d", self.stage_index, chunk])(Stage.run)
    made = Stage()
    return lambda chunk: made.run(chunk, (), kwargs=None)


def megatron(native=None):
    """A forward and a backward of Megatron-core, which count as two ops; None: without names."""
    from bubblescope_adapters import megatron_core

    def forward_step(func, data, model, microbatches, tensor, store, config, current_microbatch=None, vp_stage=None):
        return output

    def backward_step(input_tensor, output_tensor, output_tensor_grad, config):
        return gradient

    output, gradient = (object(), 0), object()
    if native is not None:
        module = events._module
        if not native:
            events._module = None
        megatron_core.pipeline.last = 7
        forward_step, backward_step = megatron_core._forward(forward_step), megatron_core._backward(backward_step)
        events._module = module

    def run(chunk):
        forward_step(None, None, None, 8, None, [], None, current_microbatch=chunk, vp_stage=0)
        backward_step(None, [output[0]], None, None)

    return run


def nothing(_):
    return None


def peer():
    if "torch" in sys.modules or os.environ.get("BENCH_TORCH"):
        from torch.autograd.profiler import record_function
    else:
        begin, end = os.environ.keys, os.environ.keys  # any methods without work

        class record_function:
            def __init__(self, name, args=None):
                self.name, self.args, self.run_callbacks_on_exit = name, args, True

            def __enter__(self):
                self.record = begin()
                return self

            def __exit__(self, kind, value, trace):
                if self.run_callbacks_on_exit:
                    end()

    def run(_):
        with record_function("3F1"):
            pass

    return run


def loop(run):
    start = time.thread_time_ns()
    for call in range(CALLS):
        run(call & 7)
    return (time.thread_time_ns() - start) / CALLS


def in_turns(plain, named, ops=1):
    """Median time of a name in a loop, in us."""
    return statistics.median([-loop(plain) + loop(named) for _ in range(ROUNDS)]) / ops / 1e3


def between_work(run, memory, times):
    bytes(memory)
    start = time.perf_counter_ns()
    run(3)
    times.append(time.perf_counter_ns() - start)


def main():
    module = events.push, events.pop
    empty = in_turns(nothing, peer())
    print("an empty record_function: %.2f us" % empty, flush=True)
    events.steps.begin()
    plain, of_megatron = stage(), megatron()
    for name, bare, named, ops in (
        ("ctypes", plain, lambda: stage(*through_ctypes()), 1),
        ("module", plain, lambda: stage(*module), 1),
        ("stage_range", plain, lambda: stage(native=True), 1),
        ("Megatron, in Python", of_megatron, lambda: megatron(False), 2),
        ("Megatron, native", of_megatron, lambda: megatron(True), 2),
    ):
        named = named()
        hot = in_turns(bare, named, ops)
        print("%s: %.2f us an op in a loop, %.2f of record_function" % (name, hot, hot / empty), flush=True)
        for size in SIZES:
            memory, without, with_name = bytearray(size << 10), [], []
            for _ in range(COLD):
                between_work(bare, memory, without)
                between_work(named, memory, with_name)
            without.sort(), with_name.sort()
            at = [(with_name[place] - without[place]) / ops / 1e3 for place in (COLD // 2, COLD // 10)]
            print("  after a copy of %5d KiB: %.2f us, first tenth %.2f us" % (size, *at), flush=True)


main()
