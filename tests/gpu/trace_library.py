"""A library of small traces of pipelines, each with the truth about it, and the score of a tool on it.

    trace_library.py record LIBRARY [--backend cuda] [--python PYTHON] [--seconds N] [--only CASE]…
    trace_library.py answer LIBRARY            Bubblescope's answers, as JSON
    trace_library.py score LIBRARY ANSWERS     compares the answers of any tool with the truth
    trace_library.py check LIBRARY             requires that Bubblescope's answers are right and complete

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
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
JOBS = next(folder for folder in (HERE, HERE.parent / "outside" / "promises") if (folder / "pytorch_job.py").exists())
sys.path.insert(0, str(JOBS))
from model_flops import Transformer, of_products, peak_of, rate  # noqa: E402
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

    def option(self, name, otherwise):
        return int(self.options[self.options.index(name) + 1]) if name in self.options else otherwise

    def job(self, backend, python, **more):
        """PyTorch's job by itself."""
        spec = {"steps": 12, "microbatches": self.microbatches, "device": backend, **self.torch, **more}
        return [python, "-m", "torch.distributed.run", "--nproc-per-node", str(self.pp), str(JOBS / "pytorch_job.py"), json.dumps(spec)]


# Models of `run --preset`: layers (0: one per stage), hidden size, heads, tokens per sequence. Tokens are bytes.
PRESETS = {"tiny": (0, 32, 2, 16), "gpt2": (12, 768, 12, 1024)}
BYTES = 256


# Where no fault is planted, the framework's own work between ops may take more than a tool should keep silent about.
def torch_case(name, schedule="1f1b", cause=None, **spec):
    times = {"forward_ms": 4, "input_ms": 4, "weight_ms": 4}
    return Case(name, [], schedule, cause=cause, torch={"schedule": schedule, **times, **spec}, paced=False)


def faulty(name, fault, cause, options=(), exit_code=0):
    return Case(name, list(options), faults=(fault,), cause=cause, exit_code=exit_code)


def torch_cases(backend):
    model = {"hidden": 64, "heads": 4, "sequence": 32}
    at_full_speed = {}
    if backend == "cuda":
        model = {"hidden": 1024, "heads": 16, "sequence": 1024}
        at_full_speed = {"forward_ms": 0, "input_ms": 0, "weight_ms": 0}
    found = [
        torch_case("torch-1f1b"),
        torch_case("torch-transformer", transformer=model, **at_full_speed),
        torch_case("torch-slow-rank", cause={"concern": "time", "rank": 2}, rank_times={"2": 1.3}),
        torch_case("torch-large-last-stage", cause={"concern": "time", "rank": 3}, head=2.4),
        torch_case("torch-slow-link", cause={"concern": "time", "rank": 0, "peer": 1}, links={"0>1": 15}),
        torch_case("torch-blocking-receive", "interleaved", cause={"concern": "time", "rank": 0}, blocking_receives=[0]),
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
        peak = peak_of(device["gpu"]) if backend == "cuda" else None
        if case.torch is not None:
            truth = truth_of_job(case, backend, python, environment, peak)
        else:
            truth = truth_of(case, json.loads(ran.stdout) if ran.returncode == 0 else None, backend, peak)
        made = " ".join(command).replace(str(part / "trace"), "trace").replace(f"{JOBS}/", "").replace(str(python), "python")
        truth["made"] = {"command": made, **device}
        (part / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
        part.rename(library / case.name)
        return f"{size_of(library / case.name)} bytes"
    finally:
        shutil.rmtree(part, ignore_errors=True)


def truth_of(case, report, backend, peak):
    """Facts that are known without looking at the trace: the order, the planted fault, the model's operations and, if paced
    without a fault, the closed form's bubble and step."""
    truth = {"format": 1, "schedule": case.schedule, "pp": case.pp, "microbatches": case.microbatches,
             "planted": list(case.faults), "cause": case.cause}
    if case.paced:
        truth["op_ms"] = {"F": FORWARD_MS, "B": BACKWARD_MS}
    if report is None:
        return truth
    truth["vpp"] = report["schedule"]["vpp"]
    ideal = None
    if case.paced and not case.faults:
        ideal = output_of(["bubblescope", "simulate", "--schedule", case.schedule, "--pp", str(case.pp),
                           "--microbatches", str(case.microbatches), *PACED, "--json"])
        truth["bubble_percent"] = round(100 * ideal["bubble_rate"], 3)
    model = model_of(case, report)
    if model is None:
        return truth
    truth |= {"model": {**dataclasses.asdict(model), "weights": model.weights()}, "flops_per_step": model.flops()}
    if ideal is not None:
        truth["step_ms"] = ideal["makespan_ns"] / 1e6
    elif not case.paced:
        truth["step_ms"] = measured_step_ms(case, backend)
    if "step_ms" in truth:
        truth |= rate(model.flops(), truth["step_ms"], peak)
    return truth


def model_of(case, report):
    """None for two pipelines over the same ranks, and if weights move: tools differ on what such a rank's share is."""
    if report["schedule"]["placement"] not in ("loop", "v"):
        return None
    preset = case.options[case.options.index("--preset") + 1] if "--preset" in case.options else "tiny"
    layers, hidden, heads, sequence = PRESETS[preset]
    return Transformer(layers or case.pp * report["schedule"]["vpp"], hidden, heads, sequence, BYTES,
                       case.microbatches * case.option("--dp", 1))


def measured_step_ms(case, backend, few=50, many=250):
    """By the clock of this process: how much longer a run with more steps takes. No kernels are recorded."""
    taken = {}
    unrecorded = ["--no-kernels"] if backend == "cuda" else []
    for steps in (few, many):
        run = dataclasses.replace(case, options=[*case.options, "--steps", str(steps), *unrecorded])
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(run.command(backend, folder, None), capture_output=True, timeout=120, check=True)
        taken[steps] = time.monotonic() - began
    return 1e3 * (taken[many] - taken[few]) / (many - few)


FAULTS_OF_JOBS = ("rank_times", "head", "links", "launches", "blocking_receives")  # see pacing.py


def truth_of_job(case, backend, python, environment, peak):
    """Facts about PyTorch's job. It runs again without recording, which gives the period by the job's own clock and, on a
    GPU, the number of kernels by PyTorch's profiler."""
    spec = case.torch
    planted = [f"{key}={json.dumps(spec[key])}" for key in FAULTS_OF_JOBS if key in spec]
    truth = {"format": 1, "schedule": case.schedule, "pp": case.pp, "microbatches": case.microbatches, "planted": planted}
    if case.cause:
        truth["cause"] = case.cause
    ran = subprocess.run(case.job(backend, python, profile=backend == "cuda"), capture_output=True, text=True, timeout=120,
                         check=True, env=environment)
    result = json.loads(next(line for line in ran.stdout.splitlines() if line.startswith('{"median_ms"')))
    if backend == "cuda":
        truth["kernels"] = result["counted"]
    truth["period_ms"] = round(result["median_ms"], 3)
    truth |= work_of_job(case)
    return truth | rate(truth["flops_per_step"], truth["period_ms"], peak)


LAYERS, SAMPLES, WIDTH = 16, 4, 64  # of pytorch_job.py: layers of the model, samples of a micro-batch, features


def work_of_job(case):
    sequences = SAMPLES * case.microbatches
    if shape := case.torch.get("transformer"):
        model = Transformer(LAYERS, shape["hidden"], shape["heads"], shape["sequence"], 0, sequences)
        return {"model": {**dataclasses.asdict(model), "weights": model.weights()}, "flops_per_step": model.flops()}
    weights = (LAYERS + ("head" in case.torch)) * WIDTH**2
    return {"model": {"weights": weights, "rows": sequences}, "flops_per_step": of_products(weights, sequences)}


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
    json.dump(answers_to(options.library), sys.stdout, indent=1)
    print()
    return 0


def answers_to(library):
    """Bubblescope's answer to each case. Any other tool needs a function like this one. It may use the model in the truth."""
    answers = {}
    for name, truth in truths(library).items():
        trace = library / name / "trace"
        ran = subprocess.run(["bubblescope", "analyze", str(trace), "--json", *model_options(truth)], capture_output=True,
                             text=True, check=False)
        if ran.returncode != 0:
            answers[name] = {"error": (ran.stderr.strip() or "no message").splitlines()[0]}
            continue
        report = json.loads(ran.stdout)
        answers[name] = {"cause": cause_in(report["answer"][0])}
        for key in ("schedule", "pp", "microbatches", "vpp"):
            answers[name][key] = report["schedule"][key]
        if "kernels" in truth:
            answers[name]["kernels"] = kernels_of(trace)
        if mfu := report.get("mfu"):
            share = mfu["period" if "period_ms" in truth else "step"]
            answers[name]["mfu"] = {"causal": share}
            answers[name]["flops_per_second"] = {"causal": share * mfu["peak_flops"]}
        for step in report["steps"]:
            if step["index"] == report["typical_step"]:
                answers[name]["bubble_percent"] = 100 * step["bubble_rate"]
    return answers


def model_options(truth):
    model = truth.get("model", {})
    if "layers" not in model:
        return []
    teraflops = truth.get("peak_flops", 1e12) / 1e12  # without a peak, only the rate is asked about
    sizes = [(f"--{key}", model[key]) for key in ("layers", "hidden", "heads", "sequence", "vocabulary")]
    rest = [("--preset", "gpt2-small"),  # whose feed-forward layers have no gates
            ("--global-batch", model["sequences"]), ("--gpus", 1), ("--tflops", teraflops)]
    return [str(word) for option in [*sizes, *rest] for word in option]


def cause_in(first):
    concern = {"fine": "none"}.get(first["class"], first["class"])
    if first["kind"] in ("run-ended", "rank-ended", "rank-killed"):
        concern = "ended"
    cause = {"concern": concern}
    if concern == "ended" and (rank := re.search(r"\brank (\d+)", first["message"])):
        cause["rank"] = int(rank.group(1))
    for key, member in (("rank", "rank"), ("peer", "peer"), ("step", "since_step")):
        if first.get(member) is not None:
            cause[key] = first[member]
    return cause


def kernels_of(trace):
    """Kernels of each rank in the last step but one; None if the trace has none."""
    asked = """
        WITH ends AS (SELECT ts, lead(ts) OVER (ORDER BY ts) AS next FROM step WHERE rank IS NULL),
             one AS (SELECT ts, next FROM ends WHERE next IS NOT NULL ORDER BY ts DESC LIMIT 1)
        SELECT s.rank, count(*) AS count FROM slice s JOIN one ON s.ts >= one.ts AND s.ts < one.next
        WHERE s.device IS NOT NULL AND s.kind IN ('compute', 'collective', 'point-to-point') GROUP BY s.rank ORDER BY s.rank"""
    ran = subprocess.run(["bubblescope", "query", str(trace), asked, "--json"], capture_output=True, text=True, check=False)
    return [row["count"] for row in json.loads(ran.stdout)] or None if ran.returncode == 0 else None


def same(truth, given):
    return str(given).lower() == str(truth).lower()


def is_cause(truth, given):
    """The kind of problem must be right, and all places that the truth states."""
    return all(given.get(key) == value for key, value in truth.items())


def is_rate(truth, given):
    """With causal attention halved or in full, as the tool states it."""
    return bool(given) and all(abs(value / truth[attention] - 1) <= 0.1 for attention, value in given.items())


RULES = {"schedule": same, "pp": same, "microbatches": same, "vpp": same,
         "bubble_percent": lambda truth, given: abs(given - truth) <= 1,
         "kernels": same, "flops_per_second": is_rate, "mfu": is_rate, "cause": is_cause}
# Other members of a truth: how the case was made, and the model, which tools may use.
DESCRIPTIVE = {"format", "planted", "op_ms", "model", "flops_per_step", "peak_flops", "step_ms", "period_ms", "made"}


def verdict_on(question, truth, given):
    if given is None:
        return "silent"
    return "right" if RULES[question](truth, given) else "wrong"


def score(options):
    answers = json.loads(options.answers.read_text(encoding="utf-8"))
    totals = {question: {"right": 0, "wrong": 0, "silent": 0} for question in RULES}
    for name, truth in truths(options.library).items():
        given = answers.get(name, {})
        for question in RULES:
            if question not in truth:
                continue
            verdict = verdict_on(question, truth[question], given.get(question))
            totals[question][verdict] += 1
            if verdict == "wrong":
                print(f"{name}: {question} is {truth[question]}, not {given[question]}")
    print(f"{'':16}{'right':>7}{'wrong':>7}{'silent':>8}")
    for question, counts in totals.items():
        print(f"{question:16}{counts['right']:7}{counts['wrong']:7}{counts['silent']:8}")
    return 0


def check(options):
    """Fails unless each folder is a case with a truth, a rule checks each statement of a truth, and every answer is right.
    Bubblescope may be silent only on the rate of a model that is not a transformer."""
    failures, checked = [], 0
    answers = answers_to(options.library)
    for folder in sorted(path for path in options.library.iterdir() if path.is_dir()):
        name = folder.name
        if not (folder / "truth.json").is_file():
            failures.append(f"{name}: no truth.json")
            continue
        truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
        failures += [f"{name}: no rule checks '{member}'" for member in sorted(set(truth) - set(RULES) - DESCRIPTIVE)]
        if not {"schedule", "pp", "microbatches", "made"} <= set(truth):
            failures.append(f"{name}: the truth lacks the schedule, its size, or how the case was made")
        if truth.get("planted") and "cause" not in truth:
            failures.append(f"{name}: a fault was planted, but the truth names no cause")
        if error := answers[name].get("error"):
            failures.append(f"{name}: {error}")
            continue
        for question in (each for each in RULES if each in truth):
            given = answers[name].get(question)
            verdict = verdict_on(question, truth[question], given)
            checked += verdict == "right"
            unasked = question in ("flops_per_second", "mfu") and not model_options(truth)
            if verdict == "wrong" or (verdict == "silent" and not unasked):
                failures.append(f"{name}: {question} is {truth[question]}, not {given}")
    print("\n".join([*failures, f"{checked} answers are right"]))
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="Traces of pipelines with known faults, and the score of a tool on them")
    commands = parser.add_subparsers(required=True)
    for name, run in (("record", record), ("answer", answer), ("score", score), ("check", check)):
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
