"""One rank of PyTorch's Schedule1F1B with checks in its bubbles, without its neighbours: each receive waits for a stream that
sleeps, so the bubbles are planted and their lengths known. The rank uses Bubblescope's adapter as a recorded job does.

    python3 bubble_rig.py --adapters FOLDER [--seconds N] [--summary FILE] [--pairs 40] [--flips 59] [--clean 20000] [--dry]

runs on the GPU of this machine: pairs of blocks of steps with and without checks, planted bit flips, and clean checks. Each
result is written at once, so the program can be stopped at any time. With --dry, it runs on the CPU, on the stand-in for a
GPU of tests/capture/device_checks_test.py, which also uses this file. It has not run on a GPU yet."""

import argparse
import contextlib
import os
import random
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

RANK, STAGES = 1, 4


class _Backward(torch.autograd.Function):
    """Computes the same, and a wrong bit in the backward if the block says so."""

    @staticmethod
    def forward(ctx, x, block, of):
        ctx.block, ctx.of = block, of
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.block.wrong(ctx.of, gradient.clone()), None, None


class Block(nn.Module):
    """Its first execution in a step has a wrong bit while `flips` is set, and a repetition has not."""

    def __init__(self, width, dropout):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.act, self.dropout = nn.GELU(), nn.Dropout(dropout)
        self.flips = None  # (tensor: output, input or weight; a bit, a function that returns whether this is the job's execution)

    def forward(self, x):
        x = _Backward.apply(x, self, "input")
        weight = _Backward.apply(self.down.weight, self, "weight")
        y = x + self.dropout(nn.functional.linear(self.act(self.up(x)), weight, self.down.bias))
        return self.wrong("output", y)

    def wrong(self, of, y):
        if self.flips is not None and self.flips[0] == of and self.flips[2]():
            with torch.no_grad():
                word = y.view(torch.int32)[0, :1]
                word.copy_(word ^ (1 << self.flips[1] if self.flips[1] < 31 else -1 << 31))
        return y


class _Planted:
    """A finished transfer for the host; the current stream waits until the bubble is over and the data is there."""

    def __init__(self, rig, op):
        self._rig, self._into = rig, op.tensor.data if op.op is dist.irecv else None
        rig.end_op()

    def wait(self, *_):
        if self._into is not None:
            self._rig.plant(self._into)
        return True

    def is_completed(self):
        return self._into is None or self._rig.early


class Rig:
    def __init__(self, device, peer, sleep, bubble_ns, width=64, rows=16, layers=3, microbatches=8, dropout=0.1,
                 settings=(0.1, None, 0.02), extra=(), norm_ns=None):
        """`peer` is a stream of the neighbours, and sleep(stream, ns) queues a pause on it. `bubble_ns` is a function of the
        number of receives since the start of the step. `settings` are margin, memory and cost of the checks. `extra` are
        further layers. With `norm_ns`, the ranks sum their gradient norms, and this rank waits that long for the others."""
        from bubblescope_adapters import device as devices
        from bubblescope_adapters import events

        self.device, self.peer, self.sleep, self.bubble_ns = device, peer, sleep, bubble_ns
        self.norm_ns, self.received, self.ended = norm_ns, 0, device.event()
        self.early = False  # true if data arrives before a rank waits for it, as far as the host can tell
        self.messages, self._undo = [], []
        self.replace(events, "checks", lambda: settings)
        self.replace(events, "event_address", lambda: None)
        self.replace(events, "message", self.messages.append)
        self.replace(devices, "choose", lambda modules: device)
        self.replace(dist, "all_reduce", self._sum)
        torch.manual_seed(3)
        place = torch.device(device.type)
        self.blocks = [Block(width, dropout).to(place) for _ in range(layers)]
        self.module = nn.Sequential(*self.blocks, *extra)
        self.data = torch.randn(rows, width, device=place)
        self.optimizer = torch.optim.SGD(self.module.parameters(), 1e-5)
        self.executions = 2 * microbatches * layers  # of layers in a step, forwards and backwards
        self.run = self.schedule(microbatches)

    def replace(self, owner, name, value):
        self._undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def schedule(self, microbatches, make=None):
        """Sets up the framework with its adapter. Returns a function that runs the forwards and backwards of a step. `make`
        returns the schedule of a stage; by default 1F1B."""
        from bubblescope_adapters import torch_pipelining
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B, schedules
        from torch.testing._internal.distributed.fake_pg import FakeStore

        if not dist.is_initialized():
            dist.init_process_group("fake", rank=RANK, world_size=STAGES, store=FakeStore())
        self.replace(dist, "batch_isend_irecv", lambda ops: [_Planted(self, op) for op in ops])
        self.adapt(torch_pipelining, schedules, torch.__version__)
        meta = self.data.to("meta")
        stage = PipelineStage(self.module, RANK, STAGES, self.data.device, input_args=meta, output_args=meta)
        if make is not None:
            return make(stage).step
        return Schedule1F1B(stage, microbatches, loss_fn=lambda y, _: y.sum()).step

    def adapt(self, adapter, schedules, version):
        from bubblescope_adapters import checks

        changes = _Changes()
        adapter.prepare(schedules, changes, "a framework", version)
        changes.make()
        self._undo += changes.undo
        self._checks = changes.checks(checks.Checks)

    def close(self):
        for owner, name, before in reversed(self._undo):
            setattr(owner, name, before)

    @property
    def running(self):
        return self._checks.running

    def end_op(self):
        """The next bubble begins here on the device."""
        self.ended.record(self.device.current())

    def plant(self, into):
        """The next op waits for data that arrives after the bubble."""
        job = self.device.current()
        self._wait(self.bubble_ns(self.received))
        if into.shape == self.data.shape:  # PyTorch first exchanges a number with its neighbours
            with self.device.on(self.peer):
                into.copy_(self.data)
        arrived = self.device.event()
        arrived.record(self.peer)
        job.wait_event(arrived)
        self.received += 1

    def _wait(self, ns):
        self.peer.wait_event(self.ended)
        self.sleep(self.peer, ns)

    def _sum(self, _):
        self.end_op()
        self._wait(self.norm_ns)
        arrived = self.device.event()
        arrived.record(self.peer)
        self.device.current().wait_event(arrived)

    def step(self):
        self.received = 0
        self.end_op()
        self.optimizer.zero_grad(set_to_none=False)
        self.run()
        if self.norm_ns is not None:
            dist.all_reduce(sum([(weight.grad ** 2).sum() for weight in self.module.parameters()]))
        self.optimizer.step()
        self.device.current().synchronize()  # as a job that prints its loss

    def counts(self):
        running = self.running
        session = running and running._session
        return session.counts() if session else dict.fromkeys(("planned", "equal", "mismatched", "aborted"), 0)

    def places(self):
        """Places of the bubbles with checks from now on, as a set that grows."""
        places, times = set(), self.running._times
        learn = times.learn
        times.learn = lambda step, now: places.update(work.place for work in step.works) or learn(step, now)
        return places

    def begin(self, most=200):
        """Trains until checks begin. Returns the number of steps, or None if they do not."""
        for number in range(most):
            self.step()
            if self.counts()["equal"]:
                return number + 1
        return None

    # ---- Measurements

    def pairs(self, count, steps, goes_on):
        """Relative delays of blocks of steps with checks, against blocks without next to them."""
        delays, chance = [], random.Random(1)
        while len(delays) < count and goes_on():
            took = {}
            for checked in chance.sample((False, True), 2):
                rests = 0 if checked else float("inf")
                self.running._rest_until = rests
                self.step()
                begin, end = self.device.event(), self.device.event()
                begin.record(self.device.current())
                for _ in range(steps):
                    self.step()
                end.record(self.device.current())
                self.device.current().synchronize()
                took[checked] = begin.elapsed_time(end)
            delays.append(took[True] / took[False] - 1)
        self.running._rest_until = 0
        return delays

    def clean(self, count, goes_on):
        """Runs until this many more checks were equal. Returns the numbers of new checks by outcome and of steps."""
        before, steps = self.counts(), 0
        while self.counts()["equal"] < before["equal"] + count and goes_on():
            self.step()
            steps += 1
        return {name: number - before[name] for name, number in self.counts().items()} | {"steps": steps}

    def flip(self, number, steps, goes_on):
        """Plants a wrong bit that stays, in an output or a gradient. Returns the number of steps until a check finds it, or None."""
        block = self.blocks[number % len(self.blocks)]
        before = self.counts()["mismatched"]
        on_job = lambda: self.running._stream != self.device.current()
        of = ("output", "input", "weight")[number // len(self.blocks) % 3]
        weights = list(self.module.parameters())
        copies = [weight.detach().clone() for weight in weights]
        block.flips = of, number % 32, on_job
        try:
            for step in range(steps):
                self.step()
                if self.counts()["mismatched"] > before:
                    return step + 1
                if not goes_on():
                    break
        finally:
            block.flips = None
            while any([step.turn == 0 for step in self.running._open]) and goes_on():
                self.step()  # so that the next flip is not found by this one's checks
            with torch.no_grad():  # a flip in an exponent can end in NaN everywhere, which hides later flips
                for weight, copy in zip(weights, copies):
                    weight.copy_(copy)
        return None


class _Changes:
    """As bubblescope_adapters.Changes, but what was replaced can be restored."""

    def __init__(self):
        self.undo, self._new = [], []

    def replace(self, owner, name, make):
        self.undo.append((owner, name, getattr(owner, name)))
        self._new.append((owner, name, make(getattr(owner, name)), make))
        self._new[-1][2].__name__ = name

    def make(self):
        for owner, name, new, _ in self._new:
            setattr(owner, name, new)

    def checks(self, kind):
        """The adapter's checks, which its functions refer to."""
        cells = [cell.cell_contents for *_, make in self._new for cell in getattr(make, "__closure__", None) or ()]
        cells += [getattr(one, "__self__", None) for one in cells]
        return next(one for one in cells if isinstance(one, kind))


def interval(values):
    """Mean and its 95 % interval."""
    mean = statistics.fmean(values)
    half = 1.96 * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("inf")
    return "%+.3f %% (%+.3f to %+.3f, %d pairs)" % (100 * mean, 100 * (mean - half), 100 * (mean + half), len(values))


def report(rig, say, *, pairs, block, clean, flips, goes_on):
    """Runs all measurements. Returns the number of failures."""
    begun = rig.begin()
    say("checks begin after %s steps; %s" % (begun, "; ".join(rig.messages) or "no messages"))
    if not begun:
        return 1
    delays = rig.pairs(pairs, block, goes_on)
    say("delay by checks: " + (interval(delays) if delays else "no time"))
    found = []
    while len(found) < flips and goes_on():
        steps = rig.flip(len(found), 100, goes_on)
        if steps is None and not goes_on():
            break
        found.append(steps)
    known = [one for one in found if one is not None]
    say("planted flips: %d of %d found, after at most %s steps" % (len(known), len(found), max(known, default="-")))
    counts = rig.clean(clean, goes_on)
    say("clean checks: %(equal)d equal, %(mismatched)d mismatched, %(aborted)d aborted" % counts)
    share = counts["equal"] / max(1, counts["steps"] * rig.executions)
    say("repeated: %.1f %% of the layers' executions in %d steps" % (100 * share, counts["steps"]))
    # A replay of whole steps repeats a share of all executions at a delay of at least that share.
    delay = statistics.fmean(delays) if delays else 0
    if delay > 0:
        say("a replay of whole steps with the same delay repeats at most %.2f %%: %.0f times fewer" %
            (100 * delay, share / delay))
    return (counts["mismatched"] > 0) + (len(known) < len(found))


def on_gpu():
    from bubblescope_adapters.device import Cuda

    device = Cuda(torch.cuda.current_device())
    begin, end = device.event(), device.event()
    begin.record(device.current())
    torch.cuda._sleep(10_000_000)
    end.record(device.current())
    torch.cuda.synchronize()
    cycles = 10_000_000 / (begin.elapsed_time(end) * 1e6)  # per nanosecond

    def sleep(stream, ns):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(int(ns * cycles))

    name = "%s, %s" % (torch.cuda.get_device_name(), device.identifier())
    return name, Rig(device, device.stream(), sleep, lambda place: 1_000_000, width=1024, rows=1024)


def on_stand_in(operators):
    """`operators` is an ExitStack, until whose end operators run on the stand-in."""
    sys.path += [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..", "capture")]
    from stand_in_device import StandIn

    device = StandIn(lambda name: 100_000 if name in ("mm", "addmm") else 5_000)
    peer = device.stream(computes=False)
    operators.enter_context(device.operators())
    return "stand-in for a GPU", Rig(device, peer, lambda stream, ns: stream.sleep(ns), lambda place: 3_000_000)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adapters", required=True)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--summary")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--flips", type=int, default=59)
    parser.add_argument("--clean", type=int, default=20_000)
    parser.add_argument("--dry", action="store_true")
    options = parser.parse_args()
    ends = time.monotonic() + options.seconds
    sys.path.insert(0, options.adapters)

    def say(text):
        print(text, flush=True)
        if options.summary:
            with open(options.summary, "a") as file:
                file.write(text + "\n")

    with contextlib.ExitStack() as stack:
        name, rig = on_stand_in(stack) if options.dry else on_gpu()
        say("%s, PyTorch %s" % (name, torch.__version__))
        return report(stack.enter_context(contextlib.closing(rig)), say, pairs=options.pairs, block=9, clean=options.clean,
                      flips=options.flips, goes_on=lambda: time.monotonic() < ends)


if __name__ == "__main__":
    sys.exit(main())
