"""Runs with one planted fault each: steps that `bubblescope simulate` makes from op times, put one after another.

They are the same on every machine, and no file states the planted fault."""

import json
import os
import subprocess
from dataclasses import dataclass, field

FORWARD, BACKWARD = 6_000_000, 12_000_000  # ns, of a whole rank
TRANSFER = 150_000
STEPS = 10


@dataclass
class Fault:
    """The expected finding: a kind, and its place."""

    kind: str
    rank: int | None = None
    peer: int | None = None
    step: int | None = None


@dataclass
class Plan:
    """How a run differs from an undisturbed one. Factors are of times."""

    name: str
    fault: Fault
    schedule: str = "1f1b"
    pp: int = 4
    microbatches: int = 8
    vpp: int = 1
    # factor(step, rank, kind, microbatch, chunk) of an op
    factor: object = lambda *op: 1
    latency: int = TRANSFER
    links: list = field(default_factory=list)  # [from, to, latency in ns, first step]
    gap: object = lambda step: 2_000_000  # before a step
    # change(events) edits what is written
    change: object = None


def noise(*parts):
    """Between -1 and 1, the same for the same parts."""
    value = 0x9E3779B97F4A7C15
    for part in parts:
        for letter in str(part):
            value = (value ^ ord(letter)) * 0xBF58476D1CE4E5B9 % 2**64
            value ^= value >> 29
    return value / 2**63 - 1


class Maker:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stderr}")
        return done.stdout

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content)
        return path

    def order(self, plan):
        words = ["schedule", "--schedule", plan.schedule, "--pp", str(plan.pp), "--microbatches",
                 str(plan.microbatches), "--json"]
        if plan.vpp > 1:
            words += ["--vpp", str(plan.vpp)]
        return self.run(*words)

    def step(self, plan, order_file, order, step):
        times = []
        of_kind = {"F": FORWARD, "B": BACKWARD, "I": BACKWARD // 2, "W": BACKWARD // 2}
        for rank, ops in enumerate(order["ranks"]):
            for op in ops:
                kind, microbatch, chunk = op[:3]
                usual = of_kind[kind] / plan.vpp
                jitter = 1 + 0.01 * (noise(plan.name, step, rank, kind, microbatch, chunk, 0) +
                                     noise(plan.name, step, rank, kind, microbatch, chunk, 1))
                factor = plan.factor(step, rank, kind, microbatch, chunk)
                times.append([kind, microbatch, chunk, rank, round(usual * jitter * factor)])
        op_times = self.file("times.json", json.dumps({"ops": times}))
        out = os.path.join(self.folder, "step.json")
        words = ["simulate", "--schedule-file", order_file, "--op-times", op_times, "--comm", f"{plan.latency}ns",
                 "--out", out, "--force"]
        links = [{"from": a, "to": b, "latency": f"{latency}ns"} for a, b, latency, first in plan.links if step >= first]
        if links:
            words += ["--links", self.file("links.json", json.dumps({"links": links}))]
        self.run(*words)
        with open(out, encoding="utf-8") as made:
            return json.load(made)

    def make(self, plan):
        """The file, as Chrome JSON."""
        text = self.order(plan)
        order_file = self.file("order.json", text)
        order = json.loads(text)
        events, begin = [], 0
        for step in range(STEPS):
            begin += plan.gap(step) / 1000
            end = begin
            for event in self.step(plan, order_file, order, step):
                if event["ph"] == "M":
                    if step == 0:
                        events.append(event)
                    continue
                event["ts"] += begin
                if "step" in event.get("args", {}):
                    event["args"]["step"] = step
                end = max(end, event["ts"] + event.get("dur", 0))
                events.append(event)
            begin = end
        if plan.change:
            events = plan.change(events)
        path = os.path.join(self.folder, f"{plan.name}.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(events, out)
        return path


def ops_of(events, **wanted):
    """The ops with these args; `rank` is the process."""
    for event in events:
        args = event.get("args", {})
        if event.get("cat") != "op":
            continue
        if all((event["pid"] - 1 if key == "rank" else args.get(key)) == value for key, value in wanted.items()):
            yield event


def without_rank(rank):
    return lambda events: [e for e in events if e["pid"] != rank + 1]


def without_op(**wanted):
    def change(events):
        gone = [id(e) for e in ops_of(events, **wanted)]
        assert len(gone) == 1, gone
        return [e for e in events if id(e) not in gone]
    return change


def twice(**wanted):
    def change(events):
        copies = []
        for event in ops_of(events, **wanted):
            copy = json.loads(json.dumps(event))
            event["dur"] /= 2
            copy["ts"] += event["dur"]
            copy["dur"] /= 2
            copies.append(copy)
        assert len(copies) == 1
        return events + copies
    return change


def swapped(step, rank, a, b):
    """Two ops of a rank exchange their names."""
    def change(events):
        (first,) = ops_of(events, step=step, rank=rank, kind=a[0], microbatch=a[1])
        (second,) = ops_of(events, step=step, rank=rank, kind=b[0], microbatch=b[1])
        for key in ("name",):
            first[key], second[key] = second[key], first[key]
        for key in ("kind", "microbatch"):
            first["args"][key], second["args"][key] = second["args"][key], first["args"][key]
        return events
    return change


def checked(pp, flipped_rank, flipped_step):
    """Every rank computes F0 again after its last op of a step; once the bits differ."""
    def change(events):
        tid = 4000000
        for rank in range(pp):
            pid = rank + 1
            events.append({"ph": "M", "pid": pid, "tid": tid + rank, "name": "process_name", "args": {"name": f"rank {rank}"}})
            events.append({"ph": "M", "pid": pid, "tid": tid + rank, "name": "thread_name", "args": {"name": "replay"}})
            for step in range(STEPS):
                last = max(e["ts"] + e["dur"] for e in ops_of(events, rank=rank, step=step))
                wrong = (rank, step) == (flipped_rank, flipped_step)
                args = {"kind": "F", "microbatch": 0, "chunk": 0, "stage": rank, "step": step, "layer": rank + 1,
                        "tensor": "output", "check": "replay", "outcome": "mismatch" if wrong else "equal",
                        "verdict": "transient" if wrong else "open", "first": "e45a4102556d2f2d",
                        "second": "a82f1e89e67a3e60" if wrong else "e45a4102556d2f2d"}
                if wrong:
                    args.update(elements=2048, differing=1, first_index=517, first_bits="3d8347df",
                                second_bits="3d8345df", ulp=512)
                events.append({"ph": "X", "pid": pid, "tid": tid + rank, "name": f"F0.0 layer {rank + 1}", "cat": "check",
                               "ts": last + 10, "dur": 500.0, "args": args})
        return events
    return change


def slow_rank(rank, by, first=0):
    return lambda step, r, *op: by if r == rank and step >= first else 1


def slow_chunk(rank, chunk, by):
    return lambda step, r, kind, m, c: by if (r, c) == (rank, chunk) else 1


def long_op(step, rank, kind, microbatch, by):
    return lambda s, r, k, m, c: by if (s, r, k, m) == (step, rank, kind, microbatch) else 1


def long_microbatch(step, microbatch, by):
    return lambda s, r, k, m, c: by if (s, m) == (step, microbatch) else 1


def later_steps(first, by):
    return lambda s, *op: by if s >= first else 1


def plans():
    of = []

    def add(name, kind, rank=None, peer=None, step=None, **how):
        of.append(Plan(name, Fault(kind, rank, peer, step), **how))

    for rank, by in ((0, 1.3), (1, 1.25), (2, 1.4)):
        add(f"r{rank}", "slow rank", rank, factor=slow_rank(rank, by))
    add("last", "slow rank", 3, factor=slow_rank(3, 1.5))
    for rank in (0, 2):
        add(f"i{rank}", "slow rank", rank, schedule="interleaved", vpp=2, factor=slow_rank(rank, 1.3))
    add("v1", "slow rank", 1, schedule="zb-v", vpp=2, factor=slow_rank(1, 1.35))
    add("h3", "slow rank", 5, schedule="zb-h1", pp=8, microbatches=16, factor=slow_rank(5, 1.3))
    for first in (4, 6):
        add(f"from{first}", "slow rank", 2, step=first, factor=slow_rank(2, 1.4, first))
    add("c21", "slow stage", 2, schedule="interleaved", vpp=2, factor=slow_chunk(2, 1, 1.6))
    add("c00", "slow stage", 0, schedule="interleaved", vpp=2, factor=slow_chunk(0, 0, 1.6))
    for a, b, latency in ((1, 2, 8), (2, 1, 8), (0, 1, 10), (3, 2, 9)):
        add(f"l{a}{b}", "slow link", a, b, links=[(a, b, latency * 1_000_000, 0)])
    add("later", "slow link", 2, 3, links=[(2, 3, 9_000_000, 5)])
    for step, rank, kind, m in ((3, 1, "F", 4), (5, 2, "B", 2), (7, 0, "B", 6), (2, 3, "F", 1)):
        add(f"hiccup{step}", "hiccup", rank, step=step, factor=long_op(step, rank, kind, m, 9))
    for step, m in ((4, 3), (6, 5)):
        add(f"long{step}", "long micro-batch", step=step, factor=long_microbatch(step, m, 2.5))
    for first, by in ((5, 1.3), (4, 1.2), (6, 0.8)):
        add(f"change{first}", "step time change", step=first, factor=later_steps(first, by))
    for rank in (1, 3):
        add(f"gone{rank}", "missing rank", rank, change=without_rank(rank))
    add("lacks", "missing op", 2, step=4, change=without_op(step=4, rank=2, kind="B", microbatch=3))
    add("lacks2", "missing op", 0, step=6, change=without_op(step=6, rank=0, kind="F", microbatch=7))
    add("twice", "duplicate op", 1, step=5, change=twice(step=5, rank=1, kind="F", microbatch=2))
    add("order", "wrong order", 2, step=5, change=swapped(5, 2, ("B", 3), ("B", 4)))
    add("gap", "idle between steps", gap=lambda step: 60_000_000)
    add("gap2", "idle between steps", schedule="zb-h1", gap=lambda step: 90_000_000)
    add("exposed", "exposed communication", latency=6_000_000)
    add("exposed2", "exposed communication", schedule="interleaved", vpp=2, latency=3_000_000)
    for rank, step in ((2, 4), (0, 7), (3, 2)):
        add(f"flip{rank}", "bit flip", rank, step=step, change=checked(4, rank, step))
    for name, schedule, vpp in (("fine", "1f1b", 1), ("fine2", "interleaved", 2), ("fine3", "zb-h1", 1)):
        add(name, "none", schedule=schedule, vpp=vpp)
    return of
