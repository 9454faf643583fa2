"""Do the savings that Bubblescope promises come true? Plants a fault in a real job of PyTorch, Megatron-core or DeepSpeed,
records it, reads the answer, applies the fix in the job, and measures again with the job's own clock.

    promises.py --program build/release/app/cli/bubblescope --python VENV/bin/python [--only TEXT] [--keep FOLDER] [--write FILE]
    promises.py --program PROGRAM --runs cuda [--only TEXT] [--keep FOLDER]
    promises.py --program PROGRAM --python VENV/bin/python --gpu [--only TEXT] [--keep FOLDER]

VENV holds torch, megatron-core and deepspeed. Each scenario takes about a minute. `--runs` takes runs of our own instead,
on that backend, which need no framework. With `--gpu`, PyTorch's jobs run on a GPU, which all ranks share.
`--write` makes resources/benchmarks/promises.md.
With `--keep`, traces and periods stay in FOLDER; what is there is not run again, so that another program can be asked about it.
"""

import argparse
import contextlib
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from mps import mps  # noqa: E402
from scenarios import on_gpu, own_runs, scenarios  # noqa: E402

TOLERATED = 0.03  # of the realised time
VERSIONS = """
from importlib.metadata import version
print(", ".join(f"{name} {version(name)}" for name in ("torch", "megatron-core", "deepspeed")))
"""


class Bench:
    environment = None  # of the jobs

    def __init__(self, program, python, folder):
        self.program, self.python, self.folder = program, python, folder

    def _run(self, scenario, spec, prefix=()):
        torchrun = [self.python, "-m", "torch.distributed.run", "--nproc-per-node", str(scenario.ranks)]
        command = [*prefix, *torchrun, str(HERE / f"{scenario.job}_job.py"), json.dumps(spec)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=self.environment)
        line = next((line for line in done.stdout.splitlines() if line.startswith('{"median_ms"')), None)
        if done.returncode != 0 or line is None:
            raise RuntimeError(f"the job failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(line)

    def _kept(self, scenario, spec, recorded, run):
        """The periods of a job, and the folder for its trace; it is run unless it was before."""
        key = json.dumps([scenario.job, scenario.ranks, spec, recorded], sort_keys=True)
        folder = self.folder / hashlib.sha256(key.encode()).hexdigest()[:12]
        stated = folder / "periods.json"
        if not stated.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            stated.write_text(json.dumps(run(folder / "trace") | {"job": key}))
        return json.loads(stated.read_text())["mean_ms" if scenario.mean else "median_ms"], folder / "trace"

    def period(self, scenario, spec):
        return self._kept(scenario, spec, False, lambda _: self._run(scenario, spec))[0]

    def record(self, scenario):
        def run(out):
            return self._run(scenario, scenario.before, [self.program, "record", "--out", str(out), "--"])

        period, trace = self._kept(scenario, scenario.before, True, run)
        return trace, period

    def ask(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments), "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{arguments[0]}: {done.stderr[-500:]}")
        return json.loads(done.stdout)


class OwnRuns(Bench):
    """Runs of our own instead of a framework's jobs; a run always leaves its trace."""

    def __init__(self, program, backend, folder):
        super().__init__(program, None, folder)
        self.backend = backend

    def _run(self, scenario, spec, out):
        command = [self.program, "run", "--backend", self.backend, "--steps", "12", "--json", "--out", str(out)]
        command += spec["options"]
        if "file" in spec:
            command += ["--schedule-file", spec["file"]]
        else:
            command += ["--schedule", spec["schedule"], "--pp", str(scenario.ranks)]
            command += ["--microbatches", str(spec.get("microbatches", 8))]
        if "layers" in spec:
            command += ["--layer-cut", ",".join(map(str, spec["layers"]))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"the run failed: {done.stderr[-500:]}")
        period = json.loads(done.stdout)["period"]
        return {"median_ms": (period["step_ns"] + period["between_ns"]) / 1e6, "mean_ms": period["period_ns"] / 1e6}

    def period(self, scenario, spec):
        return self._kept(scenario, spec, False, lambda out: self._run(scenario, spec, out))[0]

    def record(self, scenario):
        period, trace = self._kept(scenario, scenario.before, True, lambda out: self._run(scenario, scenario.before, out))
        return trace, period


def first_cost(answer):
    """The first statement about time; None if no statement has a cost."""
    return next((statement for statement in answer if statement["class"] == "time"), None)


def is_right(statement, cause):
    return statement is not None and all(statement.get(key) == value for key, value in cause.items())


def split_of(change):
    return [int(number) for number in re.fullmatch(r"layers=([\d,]+)", change).group(1).split(",")]


def proposed_split(bench, trace, scenario):
    """The split that `advise` proposes for the order that is there, and what it gains."""
    layers = ",".join(map(str, scenario.before["layers"]))
    advice = bench.ask("advise", trace, "--layers", layers, "--search-time", "0")
    for suggestion in advice["suggestions"]:
        if len(suggestion["changes"]) == 1 and suggestion["changes"][0].startswith("layers="):
            return split_of(suggestion["changes"][0]), -suggestion["change_ns"] / 1e6
    raise RuntimeError("no split of the layers is proposed")


def found_order(bench, trace):
    """The file with the order that `advise` finds, and what it gains."""
    folder = trace.with_name("orders")
    advice = bench.ask("advise", trace, "--orders", folder, "--search-time", "3s")
    for suggestion in advice["suggestions"]:
        if len(suggestion["changes"]) == 1 and suggestion["changes"][0].startswith("schedule-file="):
            return suggestion["changes"][0].partition("=")[2], -suggestion["change_ns"] / 1e6
    raise RuntimeError("no order is proposed")


def advised_gain(bench, trace, change):
    """The gain of the change that `advise` recommends, and its uncertainty; the change must be this one."""
    suggestions = bench.ask("advise", trace, "--search-time", "1s")["suggestions"]
    recommended = next((each for each in suggestions if each["recommended"]), None)
    if recommended is None or recommended["changes"] != [change]:
        raise RuntimeError(f"advise recommends {recommended and recommended['changes']}, not {change}")
    return -recommended["change_ns"] / 1e6, recommended["error_bar_ns"] / 1e6


def run(bench, scenario):
    trace, before = bench.record(scenario)
    statement = first_cost(bench.ask("analyze", trace)["answer"])
    after = scenario.after
    bar = 0.0
    if scenario.order:
        file, gain = found_order(bench, trace)
        after = scenario.before | {"file": file}
    elif after is None:
        split, gain = proposed_split(bench, trace, scenario)
        after = scenario.before | {"layers": split}
    elif scenario.advised:
        gain, bar = advised_gain(bench, trace, scenario.advised)
    elif scenario.changes:
        asked = [part for change in scenario.changes for part in ("--if", change)]
        predicted = bench.ask("whatif", trace, *asked)["scenario"]
        overlap = predicted["overlap_after_ns"] - predicted["overlap_before_ns"]  # the jobs have no barrier
        gain, bar = (overlap - predicted["change_ns"]) / 1e6, predicted["error_bar_ns"] / 1e6
    else:
        gain = (statement and statement["gain_ns"] or 0) / 1e6
    realised = bench.period(scenario, after)
    named = None if scenario.cause is None else is_right(statement, scenario.cause)
    return {
        "name": scenario.name,
        "before": before,
        "named": named,
        "first": statement["kind"] if statement else "nothing",
        "predicted": before - gain,
        "bar": bar,
        "realised": realised,
        "error": (before - gain) / realised - 1,
    }


def row(result):
    named = {None: "-", True: "yes", False: f"**no**: {result['first']}"}[result["named"]]
    bar = f" ± {result['bar']:.0f}" if result["bar"] else ""
    error = f"{100 * result['error']:+.1f}"
    error = f"**{error}**" if abs(result["error"]) > TOLERATED else error
    return f"| {result['name']} | {result['before']:.1f} | {named} | {result['predicted']:.1f}{bar} | " \
           f"{result['realised']:.1f} | {error} |"


def page(results, failed, versions):
    errors = sorted(abs(result["error"]) for result in results)
    asked = [result["named"] for result in results if result["named"] is not None]
    median = 100 * errors[len(errors) // 2] if errors else 0
    lines = [
        "# Savings that come true",
        "",
        "A fault is planted in a job of PyTorch (unless stated otherwise), Megatron-core or DeepSpeed. The job is recorded,",
        "the fix that the answer or `whatif` proposes is made in it, and it runs again. Layers wait instead of computing, and",
        "ranks have real-time priority. Times are the job's own: the period from step to step in ms, its median, or its mean",
        "where the fault is not in each step.",
        "",
        f"Made by `tests/outside/promises/promises.py` with {versions}.",
        f"The cause is named first in {sum(asked)} of {len(asked)}. The median error is {median:.1f} %, "
        f"the largest {100 * errors[-1] if errors else 0:.1f} %.",
        "",
        "| scenario | before | cause named first | predicted | realised | error % |",
        "|---|---|---|---|---|---|",
        *map(row, results),
        "",
    ]
    lines += [f"- Did not run: {name}: {reason}" for name, reason in failed]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--python", help="an interpreter with PyTorch")
    parser.add_argument("--runs", choices=("cpu", "cuda"), help="runs of our own on this backend, instead of PyTorch's jobs")
    parser.add_argument("--gpu", action="store_true", help="PyTorch's jobs on a GPU, which all ranks share")
    parser.add_argument("--only", default="", help="scenarios whose names contain this text")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for traces and periods")
    parser.add_argument("--write", type=pathlib.Path, help="the page to make")
    given = parser.parse_args()
    if (given.python is None) == (given.runs is None) or ((given.runs or given.gpu) and given.write):
        parser.error("use either --python, or --runs; --write needs --python without --gpu")
    results, failed = [], []
    with tempfile.TemporaryDirectory() as made, contextlib.ExitStack() as ending:
        folder = given.keep or pathlib.Path(made)
        if given.runs:
            bench, wanted = OwnRuns(given.program.resolve(), given.runs, folder), own_runs(given.runs == "cuda")
        else:
            bench, wanted = Bench(given.program.resolve(), given.python, folder), on_gpu() if given.gpu else scenarios()
            if given.gpu:
                try:
                    bench.environment = ending.enter_context(mps())
                except RuntimeError as reason:
                    sys.exit(f"promises.py: {reason}")
        for scenario in wanted:
            if given.only not in scenario.name:
                continue
            try:
                results.append(run(bench, scenario))
                print(row(results[-1]), flush=True)
            except (RuntimeError, subprocess.TimeoutExpired) as reason:
                failed.append((scenario.name, str(reason).strip().splitlines()[-1]))
                print(f"{scenario.name}: {reason}", flush=True)
    if given.write:
        versions = subprocess.run([given.python, "-c", VERSIONS], capture_output=True, text=True, check=True).stdout.strip()
        given.write.write_text(page(results, failed, versions))
    wrong = [result for result in results if result["named"] is False or abs(result["error"]) > TOLERATED]
    return 1 if failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
