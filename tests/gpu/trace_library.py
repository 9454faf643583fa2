"""A library of small traces of pipelines, each with the truth about it, and the score of a tool on it.

    trace_library.py record LIBRARY [--backend cuda] [--python PYTHON] [--seconds N] [--only CASE]…
    trace_library.py answer LIBRARY            Bubblescope's answers, as JSON
    trace_library.py score LIBRARY ANSWERS     compares the answers of any tool with the truth

A case is a folder: `trace/` has one file per rank, `truth.json` states what ran and which fault was planted.
resources/benchmarks/trace-library.md describes both, and the answers. Recording can be stopped at any time: a case appears
under its name only when it is complete, and cases that are there are not recorded again. PYTHON is an interpreter with
PyTorch; with it, there are also cases of PyTorch's schedules.
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
JOBS = next(folder for folder in (HERE, HERE.parent / "outside" / "promises") if (folder / "pytorch_job.py").exists())
sys.path.insert(0, str(JOBS))
from mps import mps  # noqa: E402

LARGEST = 2 << 20  # bytes of a case
FORWARD_MS, BACKWARD_MS = 2, 4
PACED = ["--forward", f"{FORWARD_MS}ms", "--backward", f"{BACKWARD_MS}ms"]
MICROBATCHES = {"interleaved-fthenb": 6, "vpp-balanced-memory": 6, "stp": 12}  # the others take 8
CHECKED = ["--steps", "10", "--aadiff", "--aadiff-cost", "100"]


@dataclasses.dataclass
class Case:
    name: str
    options: list
    schedule: str = "1f1b"
    pp: int = 4
    microbatches: int = 8
    faults: tuple = ()  # of `run --inject`
    cause: dict = dataclasses.field(default_factory=lambda: {"concern": "none"})
    exit_code: int = 0
    paced: bool = True
    torch: dict = None  # what pacing.py takes, for a job of PyTorch

    def command(self, backend, folder, python):
        if self.torch is not None:
            return ["bubblescope", "record", "--out", str(folder), "--", *self.job(backend, python)]
        command = ["bubblescope", "run", "--backend", backend, "--schedule", self.schedule, "--pp", str(self.pp)]
        command += ["--microbatches", str(self.microbatches), "--timeout", "10s", "--json", "--out", str(folder)]
        for fault in self.faults:
            command += ["--inject", fault]
        if "--steps" not in self.options:
            command += ["--steps", "6"]
        return command + (PACED if self.paced else []) + self.options

    def job(self, backend, python, **more):
        """PyTorch's job by itself."""
        spec = {"steps": 12, "microbatches": self.microbatches, "device": backend, **self.torch, **more}
        return [python, "-m", "torch.distributed.run", "--nproc-per-node", str(self.pp), str(JOBS / "pytorch_job.py"), json.dumps(spec)]


# Where no fault is planted, the framework's own work between ops may take more than a tool should keep silent about.
def torch_case(name, schedule="1f1b", cause=None, **spec):
    times = {"forward_ms": 4, "input_ms": 4, "weight_ms": 4}
    return Case(name, [], schedule, cause=cause, torch={"schedule": schedule, **times, **spec}, paced=False)


def faulty(name, fault, cause, options=(), exit_code=0):
    return Case(name, list(options), faults=(fault,), cause=cause, exit_code=exit_code)


def torch_cases(backend):
    found = [
        torch_case("torch-1f1b"),
        torch_case("torch-slow-rank", cause={"concern": "time", "rank": 2}, rank_times={"2": 1.3}),
        torch_case("torch-large-last-stage", cause={"concern": "time", "rank": 3}, head=2.4),
        torch_case("torch-slow-link", cause={"concern": "time", "rank": 0, "peer": 1}, links={"0>1": 15}),
        torch_case("torch-interleaved", "interleaved"),
        torch_case("torch-zb-v", "zb-v"),
    ]
    if backend == "cuda":
        found.insert(1, torch_case("torch-small-kernels", cause={"concern": "time", "rank": 1}, launches={"1": 400}))
    return found


def cases(backend, python):
    """In the order of their worth: recording may be stopped at any time."""
    found = [
        Case("1f1b", []),
        faulty("slow-rank", "slow:rank=2,factor=1.3", {"concern": "time", "rank": 2}),
        faulty("slow-op", "op:F3,rank=1,add=10ms", {"concern": "time", "rank": 1}),
        faulty("slow-link", "link:0>1,latency=4ms", {"concern": "time", "rank": 0, "peer": 1}),
        faulty("stalled-transfer", "stall:1>2,step=3,for=50ms", {"concern": "time", "step": 3}),
        faulty("paused-rank", "pause:rank=1,step=4,op=B0,for=30ms", {"concern": "time", "step": 4}),
        faulty("lost-records", "drop:rank=1,share=10%", {"concern": "data", "rank": 1}),
        faulty("flipped-bit", "flip:F,rank=1,layer=2,tensor=output,bit=9,stay=sticky",
               {"concern": "computation", "rank": 1}, CHECKED),
        faulty("flipped-weight-gradient", "flip:B,rank=2,layer=3,tensor=weight-gradient,bit=12,stay=sticky",
               {"concern": "computation", "rank": 2}, CHECKED),
        faulty("killed-rank", "die:rank=3,step=4,op=F1", {"concern": "ended", "rank": 3}, exit_code=4),
        faulty("hung-rank", "hang:rank=3,step=4,op=F1", {"concern": "ended", "rank": 3}, exit_code=4),
        Case("replicas", ["--dp", "2"], pp=2),
        Case("shared-stages", ["--tp", "2"], pp=2),
    ]
    if backend == "cuda":
        found += [
            Case(f"{schedule}-{partition}", ["--no-pace", "--preset", "gpt2", "--gpu-partition", partition], schedule,
                 paced=False)
            for partition in ("auto", "off") for schedule in ("1f1b", "zb-h1", "interleaved")
        ]
    if python:
        found += torch_cases(backend)
    for family in output_of(["bubblescope", "schedules", "--json"])["schedules"]:
        if family["name"] != "1f1b":
            found.append(Case(family["name"], [], family["name"], microbatches=MICROBATCHES.get(family["name"], 8)))
    return found


def output_of(command):
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def record_case(case, backend, library, device, python, environment):
    """Records a case and returns a line about it."""
    part = library / (case.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    command = case.command(backend, part / "trace", python)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    try:
        if ran.returncode != case.exit_code:
            why = (ran.stderr.strip() or "no message").splitlines()[0]
            return f"left out: exit code {ran.returncode}, not {case.exit_code}: {why}"
        if size_of(part) > LARGEST:
            return f"left out: {size_of(part)} bytes, more than {LARGEST}"
        if case.torch is not None:
            truth = truth_of_job(case, backend, python, environment)
        else:
            truth = truth_of(case, json.loads(ran.stdout) if ran.returncode == 0 else None)
        made = " ".join(command).replace(str(part / "trace"), "trace").replace(f"{JOBS}/", "").replace(str(python), "python")
        truth["made"] = {"command": made, **device}
        (part / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
        part.rename(library / case.name)
        return f"{size_of(library / case.name)} bytes"
    finally:
        shutil.rmtree(part, ignore_errors=True)


def truth_of(case, report):
    """Facts that are known without looking at the trace: the order, the planted fault and, if paced, the closed form's bubble."""
    truth = {"format": 1, "schedule": case.schedule, "pp": case.pp, "microbatches": case.microbatches,
             "planted": list(case.faults), "cause": case.cause}
    if case.paced:
        truth["op_ms"] = {"F": FORWARD_MS, "B": BACKWARD_MS}
    if report is not None:
        truth["vpp"] = report["schedule"]["vpp"]
        if case.paced and not case.faults:
            ideal = output_of(["bubblescope", "simulate", "--schedule", case.schedule, "--pp", str(case.pp),
                               "--microbatches", str(case.microbatches), *PACED, "--json"])
            truth["bubble_percent"] = round(100 * ideal["bubble_rate"], 3)
    return truth


def truth_of_job(case, backend, python, environment):
    """Facts about PyTorch's job; its kernels are counted by PyTorch's profiler in a run that is not recorded."""
    planted = [f"{key}={json.dumps(case.torch[key])}" for key in ("rank_times", "head", "links", "launches") if key in case.torch]
    truth = {"format": 1, "schedule": case.schedule, "pp": case.pp, "microbatches": case.microbatches, "planted": planted}
    if case.cause:
        truth["cause"] = case.cause
    if backend == "cuda":
        ran = subprocess.run(case.job(backend, python, profile=True), capture_output=True, text=True, timeout=120, check=True,
                             env=environment)
        result = next(line for line in ran.stdout.splitlines() if line.startswith('{"median_ms"'))
        truth["kernels"] = json.loads(result)["counted"]
    return truth


def record(options):
    options.library.mkdir(parents=True, exist_ok=True)
    device = {"backend": options.backend, "machine": platform.machine(), "gpu": gpu_name(),
              "program": subprocess.run(["bubblescope", "--version"], capture_output=True, text=True,
                                        check=True).stdout.splitlines()[0]}
    due = time.monotonic() + options.seconds
    left_out = 0
    wanted = cases(options.backend, options.python)
    if options.only:
        unknown = set(options.only) - {case.name for case in wanted}
        if unknown:
            sys.exit(f"trace_library.py: there is no case '{min(unknown)}'")
        wanted = [case for case in wanted if case.name in options.only]
    with contextlib.ExitStack() as ending:
        shared = None  # the environment of PyTorch's ranks, which share the GPU
        for case in wanted:
            if (options.library / case.name).is_dir():
                continue
            if time.monotonic() > due:
                print(f"{case.name}: no time")
                continue
            case.options += ["--pace-tolerance", options.pace_tolerance] if case.paced else []
            try:
                if case.torch is not None and options.backend == "cuda" and shared is None:
                    shared = ending.enter_context(mps())
                environment = None if case.torch is None else shared
                line = record_case(case, options.backend, options.library, device, options.python, environment)
            except (RuntimeError, subprocess.SubprocessError) as reason:
                line = f"left out: {reason}"
            left_out += line.startswith("left out")
            print(f"{case.name}: {line}", flush=True)
    return 1 if left_out else 0


def gpu_name():
    try:
        found = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                               capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.splitlines()[0]


def truths(library):
    found = {path.parent.name: json.loads(path.read_text(encoding="utf-8"))
             for path in sorted(library.glob("*/truth.json"))}
    if not found:
        sys.exit(f"trace_library.py: {library}: no cases")
    return found


def answer(options):
    """Bubblescope's answer to each case. Any other tool needs a function like this one."""
    answers = {}
    for name in truths(options.library):
        ran = subprocess.run(["bubblescope", "analyze", str(options.library / name / "trace"), "--json"],
                             capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            continue
        report = json.loads(ran.stdout)
        first = report["answer"][0]
        concern = {"fine": "none"}.get(first["class"], first["class"])
        if first["kind"] in ("run-ended", "rank-ended", "rank-killed"):
            concern = "ended"
        cause = {"concern": concern}
        if concern == "ended" and (rank := re.search(r"\brank (\d+)", first["message"])):
            cause["rank"] = int(rank.group(1))
        for key, member in (("rank", "rank"), ("peer", "peer"), ("step", "since_step")):
            if first.get(member) is not None:
                cause[key] = first[member]
        answers[name] = {"cause": cause}
        for key in ("schedule", "pp", "microbatches", "vpp"):
            answers[name][key] = report["schedule"][key]
        if kernels := kernels_of(options.library / name / "trace"):
            answers[name]["kernels"] = kernels
        for step in report["steps"]:
            if step["index"] == report["typical_step"]:
                answers[name]["bubble_percent"] = 100 * step["bubble_rate"]
    json.dump(answers, sys.stdout, indent=1)
    print()
    return 0


def kernels_of(trace):
    """Kernels of each rank in the last step but one; None if the trace has none."""
    asked = """
        WITH ends AS (SELECT ts, lead(ts) OVER (ORDER BY ts) AS next FROM step WHERE rank IS NULL),
             one AS (SELECT ts, next FROM ends WHERE next IS NOT NULL ORDER BY ts DESC LIMIT 1)
        SELECT s.rank, count(*) AS count FROM slice s JOIN one ON s.ts >= one.ts AND s.ts < one.next
        WHERE s.device IS NOT NULL AND s.kind IN ('compute', 'collective', 'point-to-point') GROUP BY s.rank ORDER BY s.rank"""
    ran = subprocess.run(["bubblescope", "query", str(trace), asked, "--json"], capture_output=True, text=True, check=False)
    return [row["count"] for row in json.loads(ran.stdout)] or None if ran.returncode == 0 else None


def is_right(question, truth, given):
    if question == "cause":  # what kind of problem, and where: all places that are known must be right
        return all(given.get(key) == value for key, value in truth.items())
    if question == "bubble_percent":
        return abs(given - truth) <= 1
    return str(given).lower() == str(truth).lower()


QUESTIONS = ("schedule", "pp", "microbatches", "vpp", "bubble_percent", "kernels", "cause")


def score(options):
    answers = json.loads(options.answers.read_text(encoding="utf-8"))
    totals = {question: {"right": 0, "wrong": 0, "silent": 0} for question in QUESTIONS}
    for name, truth in truths(options.library).items():
        given = answers.get(name, {})
        for question in QUESTIONS:
            if question not in truth:
                continue
            verdict = "silent" if given.get(question) is None else \
                "right" if is_right(question, truth[question], given[question]) else "wrong"
            totals[question][verdict] += 1
            if verdict == "wrong":
                print(f"{name}: {question} is {truth[question]}, not {given[question]}")
    print(f"{'':16}{'right':>7}{'wrong':>7}{'silent':>8}")
    for question, counts in totals.items():
        print(f"{question:16}{counts['right']:7}{counts['wrong']:7}{counts['silent']:8}")
    return 0


def main():
    parser = argparse.ArgumentParser(description="Traces of pipelines with known faults, and the score of a tool on them")
    commands = parser.add_subparsers(required=True)
    for name, run in (("record", record), ("answer", answer), ("score", score)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("library", type=pathlib.Path)
        if name == "record":
            command.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
            command.add_argument("--python", help="an interpreter with PyTorch")
            command.add_argument("--seconds", type=float, default=3600)
            command.add_argument("--only", action="append")
            command.add_argument("--pace-tolerance", default="10ms")  # as of `run`; more on machines without idle cores
        if name == "score":
            command.add_argument("answers", type=pathlib.Path)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
