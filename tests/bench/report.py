#!/usr/bin/env python3
"""Measures Bubblescope and its peers in one run, and prints the table of resources/benchmarks/README.md.

    tests/bench/report.py BUILD [--quick] [--ranks N] [--hta PYTHON] [--shared FOLDER] [--write FILE]

BUILD is a build folder with the command line and the benchmarks. All figures are processor time, since other programs
may run at the same time; each is the minimum of three runs. --quick leaves the largest size out. --ranks: how many traces of 100 MB
are generated, extracted and removed one by one (64); each takes some seconds. --hta names a Python that has
HolisticTraceAnalysis. --shared names a folder with other people's traces. --write replaces the tables in FILE, which
stand between "<!-- report -->" and "<!-- end -->".
"""

import argparse
import io
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import many_steps
import python_baseline as python
import schedules_report as schedules

RUNS = 3
DECADES = (0.4, 4, 40, 400)  # MB of JSON; about 2,500 slices a MB
GOAL_EXPONENT = 1.1
START_NOISE = 2e-3  # seconds by which starts of a command differ: shorter work is not measured

MEASURE = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0) for descriptor in (1, 2)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


class Report:
    def __init__(self, arguments, work):
        self.build = pathlib.Path(arguments.build).resolve()
        self.cli = self.build / "app/cli/bubblescope"
        self.gui = self.build / "app/gui/bubblescope-gui"
        self.bench = self.build / "tests/bench"
        self.work = work
        self.hta = arguments.hta
        self.shared = arguments.shared and pathlib.Path(arguments.shared).resolve()
        self.quick = arguments.quick
        self.ranks = arguments.ranks
        self.decades = DECADES[:-1] if arguments.quick else DECADES
        self.rows = []
        self.growth = []
        self.start = 0.0

    # The measurements ------------------------------------------------------------------------------------------------

    def run(self, command, runs=RUNS):
        """The least processor time of a command, in seconds, and the most memory it took, in bytes. A small process starts
        it: the system counts the memory of the process that starts a program as the program's own, if that was more."""
        least, most = math.inf, 0
        for _ in range(runs):
            measured = subprocess.run([sys.executable, "-S", "-c", MEASURE, *map(str, command)], stdout=subprocess.PIPE,
                                      check=True, text=True).stdout
            code, seconds, kilobytes = measured.split()
            if int(code) not in (0, 1):
                return None
            least = min(least, float(seconds))
            most = max(most, int(kilobytes) * 1024)
        return least, most

    def ours(self, *arguments, runs=RUNS):
        """Processor time of the command line without its start."""
        took = self.run([self.cli, *arguments], runs)
        return None if took is None else (max(took[0] - self.start, 1e-4), took[1])

    def loads(self, folder, what="", seconds=0.3, runs=1):
        """The output of bench_load for the files of a folder, by name: the fastest of several runs."""
        out = subprocess.run(
            [self.bench / "bench_load", folder, f"--benchmark_filter={what}", "--benchmark_format=json",
             f"--benchmark_min_time={seconds}", f"--benchmark_repetitions={runs}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        ).stdout
        found = {}
        if not out.strip():  # nothing has such a name
            return found
        for entry in json.loads(out)["benchmarks"]:
            if entry.get("error_occurred") or entry["run_type"] != "iteration":
                continue
            name = re.sub(r"/process_time.*$", "", entry["name"])
            if name not in found or entry["cpu_time"] < found[name]["cpu_time"]:
                found[name] = entry
        return found

    # The tables ------------------------------------------------------------------------------------------------------

    def row(self, what, figure, peer, ratio, goal, met):
        self.rows.append((what, figure, peer, ratio, goal, met))

    def compare(self, what, seconds, peer, peer_seconds, goal):
        """A row with the goal that ours is `goal` times as fast as the peer."""
        if seconds is None or peer_seconds is None:
            return self.row(what, "–", peer, "not measured", f"≥ {goal}", "?")
        ratio = peer_seconds / seconds
        self.row(what, f"{seconds:.3f} s", f"{peer}: {peer_seconds:.3f} s", f"{ratio:.2f}", f"≥ {goal}", ratio >= goal)

    def below(self, what, value, unit, goal):
        self.row(what, f"{value:,.3g} {unit}", "–", "–", f"≤ {goal} {unit}", value <= goal)

    def grows(self, what, points, whose=None, least=0.0):
        """`points`: size and seconds; those below `least` are left out. A peer's exponent is shown next to ours and
        has no goal."""
        points = [point for point in points if point[1] >= least]
        if len(points) < 2:
            return
        exponent = schedules.exponent(points)
        small, large = points[0], points[-1]
        verdict = "–" if whose else yes(exponent <= GOAL_EXPONENT)
        self.growth.append(
            (what, whose or "Bubblescope", f"{small[0]:,.0f} to {large[0]:,.0f}", f"{large[1]:.3f}", f"{exponent:.2f}",
             verdict)
        )

    # The parts -------------------------------------------------------------------------------------------------------

    def make_traces(self):
        for megabytes in self.decades:
            folder = self.work / f"{megabytes}"
            subprocess.run(
                [self.bench / "make_bench_traces", folder, str(megabytes), str(int(megabytes * 2500))],
                stdout=subprocess.DEVNULL, check=True,
            )

    def loading(self):
        sizes = [(megabytes, self.loads(self.work / f"{megabytes}")) for megabytes in self.decades]
        largest = sizes[-1][1]
        seconds = lambda name: largest[name]["cpu_time"] / 1e3 if name in largest else None
        simdjson = seconds("simdjson_dom/kineto.json")
        self.compare("load Kineto JSON, as written", seconds("load/kineto.json"), "simdjson DOM, parsed only", simdjson, 1)
        self.compare("… the same file", seconds("load/kineto.json"), "nlohmann, parsed only", seconds("nlohmann/kineto.json"), 5)
        self.compare("load it on one line, metadata first", seconds("load/merged.json"), "simdjson DOM of that file",
                     seconds("simdjson_dom/merged.json"), 1)
        self.compare("load it with its events shuffled", seconds("load/shuffled.json"), "simdjson DOM of that file",
                     seconds("simdjson_dom/shuffled.json"), 1)
        self.compare("load it out of gzip", seconds("load/kineto.json.gz"), "simdjson DOM, unpacked", simdjson, 1)
        self.compare("load it out of zstd", seconds("load/kineto.json.zst"), "simdjson DOM, unpacked", simdjson, 1)
        for name in ("kineto.json", "perfetto.pftrace"):
            entry = largest[f"load/{name}"]
            self.below(f"memory kept of {name}, a slice", entry["kept_a_slice"], "bytes", 48)
        rate = lambda name: largest[f"load/{name}"]["slices"] / seconds(f"load/{name}")
        ratio = rate("perfetto.pftrace") / rate("kineto.json")
        self.row("slices a second of our format, few args", f"{rate('perfetto.pftrace') / 1e6:.2f} M",
                 f"Kineto JSON: {rate('kineto.json') / 1e6:.2f} M", f"{ratio:.2f}", "≥ 1", ratio >= 1)
        for name in ("kineto.json", "merged.json", "kineto.json.gz", "perfetto.pftrace", "nsys.sqlite"):
            key = f"load/{name}"
            self.grows(f"load {name}, slices",
                       [(at[key]["slices"], at[key]["cpu_time"] / 1e3) for _, at in sizes if key in at])
        for peer, key in (("simdjson DOM", "simdjson_dom/kineto.json"), ("nlohmann", "nlohmann/kineto.json")):
            self.grows("parse kineto.json, slices",
                       [(at["load/kineto.json"]["slices"], at[key]["cpu_time"] / 1e3) for _, at in sizes], peer)

    def run_sizes(self):
        return [4, 40, 400, 4000][: len(self.decades)]

    def our_runs(self):
        """Steps of our own, with every op, transfer, wait, arg and arrow."""
        micro = self.run_sizes()
        simulated, analyzed = [], []
        stages = {"info": ["info"], "whatif": ["whatif"], "whatif --if comm=0": ["whatif", "--if", "comm=0"]}
        grown = {stage: [] for stage in (*stages, "convert to Perfetto", "convert to JSON", "diff with itself")}
        for count in micro:
            folder = self.work / f"run{count}"
            folder.mkdir()
            file = folder / "run.pftrace"
            command = ["simulate", "--schedule", "1f1b", "--pp", "64", "--microbatches", count]
            wrote = self.ours(*command, "--out", file, "--force")
            without = self.ours(*command)
            ops = 64 * 2 * count
            simulated.append((ops, wrote[0]))
            analyzed.append((ops, self.ours("analyze", file)[0]))
            for stage, command_of in stages.items():
                grown[stage].append((ops, self.ours(*command_of, file)[0]))
            for stage, name in (("convert to Perfetto", "grown.pftrace"), ("convert to JSON", "grown.json")):
                grown[stage].append((ops, self.ours("convert", file, folder / name, "--force")[0]))
                (folder / name).unlink()
            grown["diff with itself"].append((ops, self.ours("diff", file, file)[0]))
        loaded = self.loads(folder, "load/")["load/run.pftrace"]
        seconds, slices = loaded["cpu_time"] / 1e3, loaded["slices"]
        as_json = folder / "run.json"
        written = self.ours("convert", file, as_json, "--force")
        json_loaded = self.loads(folder, "load/run.json")["load/run.json"]["cpu_time"] / 1e3
        self.compare(f"load our run, {slices / 1e6:.2f} M slices with args and flows", seconds, "the same as JSON",
                     json_loaded, 1)
        self.below("memory kept of it, a slice", loaded["kept_a_slice"], "bytes", 48)
        self.below("most memory of loading it, a slice", loaded["peak_MB"] * 1e6 / slices, "bytes", 148)
        self.compare("write our run as JSON", max(written[0] - seconds, 1e-3), "loading that JSON", json_loaded, 0.33)
        again = self.ours("convert", file, folder / "again.pftrace", "--force")
        self.compare("write our run as Perfetto", max(again[0] - seconds, 1e-3), "loading it", seconds, 0.33)
        self.compare("simulate --out, the writing", max(wrote[0] - without[0], 1e-3), "loading it", seconds, 0.33)
        self.below("most memory of simulate --out over that without, a slice", (wrote[1] - without[1]) / slices, "bytes", 10)
        self.grows("simulate --out, ops", simulated, least=START_NOISE)
        self.grows("analyze our run, ops", analyzed, least=START_NOISE)
        for stage, points in grown.items():
            self.grows(f"{stage}, ops", points, least=START_NOISE)

    def many_steps(self):
        """The memory of a run of small steps: what each op adds, over a run of a few. The least of some runs: how far a file
        is read ahead differs."""
        one = self.work / "one.json"
        self.ours("simulate", "--schedule", "1f1b", "--pp", "64", "--microbatches", "4", "--out", one, "--force", runs=1)
        most = []
        for steps in (10, 1000):
            file = self.work / f"steps{steps}.json"
            ops = many_steps.repeat_ops(one, steps, file)
            most.append((ops, min(self.ours("analyze", file, runs=1)[1] for _ in range(RUNS))))
            file.unlink()
        (few, least), (many, peak) = most
        self.below("most memory of analyze, 1,000 steps of 64 ranks, an op", (peak - least) / (many - few), "bytes", 120)

    def analyzed(self, what, *options):
        """By name the ops, the processor time and the time by the clock of what bench_analyze measures: the least."""
        out = subprocess.run(
            [self.bench / "bench_analyze", f"--benchmark_filter={what}", "--benchmark_format=json",
             "--benchmark_min_time=0.1", f"--benchmark_repetitions={RUNS}", *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        ).stdout
        runs = {}
        for entry in json.loads(out)["benchmarks"]:
            if entry["run_type"] == "iteration":
                runs.setdefault(entry["run_name"], []).append((entry["ops"], entry["cpu_time"] / 1e3, entry["real_time"] / 1e3))
        return {name: tuple(min(column) for column in zip(*of_name)) for name, of_name in runs.items()}

    def analysis(self):
        # As in a program that analyses once: the system hands out all memory.
        ops, _, wall = next(iter(self.analyzed("^analysis/1f1b_step_of_1M").values()))
        self.below(f"diagnose one step of {ops / 1e6:.2f} M ops, wall time", wall, "s", 0.4)
        # For slow functions only the first call would be measured, for fast ones mostly later calls.
        found = self.analyzed("^(analysis/1f1b|ranks|steps)/", "--benchmark_min_warmup_time=0.01")
        steps = [value for name, value in found.items() if name.startswith("analysis/1f1b/")]
        self.grows("diagnose steps of 8,192 ops, ops", [value[:2] for value in steps])
        for what, name in (("diagnose a step of 4 to 4,096 ranks, ops", "ranks/"),
                           ("diagnose 10 to 10,000 steps of 64 ranks, ops", "steps/")):
            self.grows(what, [value[:2] for key, value in found.items() if key.startswith(name)])

    def breakdown(self):
        """The part of our results that HTA has, too: where the time of each rank went."""
        folder = self.work / f"{self.decades[-2]}" / "pipeline"
        ours = self.ours("analyze", folder)
        theirs = None
        if self.hta:
            script = ("import sys\nfrom hta.trace_analysis import TraceAnalysis\n"
                      "TraceAnalysis(trace_dir=sys.argv[1]).get_temporal_breakdown(visualize=False)\n")
            theirs = self.run([self.hta, "-c", script, folder], runs=1)
        self.compare("load and break down eight ranks", ours and ours[0], "HTA, load and temporal breakdown",
                     theirs and theirs[0], 5)

    def extracts(self):
        """A job whose raw traces do not fit the machine: one exists at a time."""
        folder = self.work / "extracts"
        made = subprocess.run([self.bench / "make_extracts", folder, str(self.ranks), "100"], stdout=subprocess.PIPE,
                              check=True, text=True).stdout
        part, seconds = map(float, re.search(r"\(([\d.]+) %\), ([\d.]+) s", made).groups())
        self.below("extract a rank's 100 MB", seconds, "s", 1)
        self.below("… the extract's size, of the trace's", part, "%", 1)
        analyzed = self.ours("analyze", folder, "--json")
        what = f"{self.ranks:,} ranks of 100 MB out of their extracts"
        self.below(f"analyze {what}, a rank", analyzed[0] / self.ranks * 1e3, "ms", 20)
        self.below("… most memory, a rank", analyzed[1] / self.ranks / 1e6, "MB", 2)
        if self.gui.exists():
            opened = self.run([self.gui, "--screenshot", self.work / "extracts.png", "--force", folder])
            self.below(f"open {what} in the app, a rank", opened[0] / self.ranks * 1e3, "ms", 20)
            self.below("… most memory, a rank", opened[1] / self.ranks / 1e6, "MB", 4)
        shutil.rmtree(folder)

    def generators(self):
        results = schedules.measured(self.bench / "bench_schedules")
        p, m = 64, 1024
        for case, generate in schedules.GENERATE.items():
            name, _ = schedules.CASES[case]
            theirs = schedules.python_time(lambda: generate(p, m))
            self.compare(f"generate {name}, p = {p}, m = {m}", results["generate", case][p, m][0], "plain Python", theirs, 20)
        for (what, case), by_size in results.items():
            v = schedules.CASES[case][1]
            points = sorted((a * b * v, seconds) for (a, b), (seconds, _) in by_size.items())
            self.grows(f"{what} {schedules.CASES[case][0]}, p·m·v", points)

    def recorder(self):
        out = subprocess.run([self.bench / "bench_recorder", "--benchmark_filter=push", "--benchmark_format=json",
                              f"--benchmark_repetitions={RUNS}"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        runs = [entry["per_record"] for entry in json.loads(out)["benchmarks"] if entry["run_type"] == "iteration"]
        self.below("a record of the recorder", min(runs) * 1e9, "ns", 15)
        out = subprocess.run([self.bench / "bench_recording", "--benchmark_filter=wokenWriter/one_rank",
                              "--benchmark_format=json", "--benchmark_min_time=4", f"--benchmark_repetitions={RUNS}"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        runs = [entry for entry in json.loads(out)["benchmarks"] if entry["run_type"] == "iteration"]
        least = min(runs, key=lambda entry: entry["processor_us"])
        self.below(f"what writing at the ends of steps of {least['step_ms']:.1f} ms takes of them",
                   least["processor_us"] / least["step_ms"] / 10, "%", 0.5)

    def live_load(self, *options):
        """Its final output for a job that writes as fast as it can."""
        out = subprocess.run([self.build / "tests/unit/live/live_load", "--steps-per-minute", "0", *options],
                             stdout=subprocess.PIPE, check=True, text=True).stdout
        return json.loads(out.splitlines()[-1])

    def live(self):
        """A monitor and the writers of eight ranks at the same time, as fast as they can. One thread follows them, with the help of
        others; two cores carry what fits into them with the writing, and no more than that thread can follow."""
        best = None
        for _ in range(RUNS):
            run = self.live_load("--steps", "600")
            if best is None or run["slices_per_cpu_s"] > best["slices_per_cpu_s"]:
                best = run
        watching, writing = best["slices_per_cpu_s"], best["heard"] / best["producer_cpu_s"]
        rate = min(2 / (1 / watching + 1 / writing), best["heard"] / best["collector_cpu_s"])
        self.row("slices a second written and watched live on two cores", f"{rate / 1e6:.2f} M",
                 f"one core watches {watching / 1e6:.2f} M, writes {writing / 1e6:.2f} M", "–", "≥ 1 M", rate >= 1e6)

    def finished_run(self):
        """The cost of a finished run whose steps are read from the files one by one: for a monitor, and for an
        analysis in parts, which reports each rank's step."""
        ranks = 64
        written, watched, analyzed = [], [], []
        for steps in (2500, 10000):
            folder = self.work / "finished"
            folder.mkdir()
            run = self.live_load("--pp", str(ranks), "--microbatches", "1", "--steps", str(steps), "--dir", folder)
            written.append(run["written"])
            watched.append(self.ours("monitor", folder, runs=1)[1])
            in_parts = self.ours("analyze", folder, "--in-parts", "always", runs=1)
            analyzed.append(in_parts[1])
            whole = self.ours("analyze", folder, "--in-parts", "never", runs=1)
            shutil.rmtree(folder)
        self.below(f"memory of monitor over a finished run of {ranks} ranks, a slice from step 2,500 to 10,000",
                   (watched[1] - watched[0]) / (written[1] - written[0]), "bytes", 5)
        self.below("memory of analyze in parts over the same, a rank's step",
                   (analyzed[1] - analyzed[0]) / (7500 * ranks), "bytes", 120)
        self.compare(f"analyze these 10,000 steps in parts, {in_parts[1] / 1e6:.0f} MB", in_parts[0],
                     f"whole, {whole[1] / 1e6:.0f} MB", whole[0], 1)

    def real_traces(self):
        if not self.shared:
            return
        for what, path in (
            ("load PyTorch's ResNet-50 out of gzip", "kineto/resnet50_num_workers_0.pt.trace.json.gz"),
            ("load a recorded PyTorch job, four ranks", "torch-pp-cpu-gloo/1f1b_pp4_mb8"),
            ("load Megatron, 20 steps on four ranks", "megatronapp-pp4"),
        ):
            source = self.shared / path
            if not source.exists():
                continue
            folder = self.work / "real"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / source.name).symlink_to(source)
            plain = folder / "plain"
            plain.mkdir()
            files = [source] if source.is_file() else [f for f in source.rglob("*") if f.suffix in (".json", ".gz")]
            for file in files:
                if file.suffix == ".gz":
                    text = subprocess.run(["gzip", "-dc", file], stdout=subprocess.PIPE, check=True).stdout
                    (plain / file.stem).write_bytes(text)
                else:
                    shutil.copy(file, plain / f"{len(list(plain.iterdir()))}.json")
            found = self.loads(folder, "load/" + re.sub(r"[.+()\[\]]", r"\\\g<0>", source.name), 0.1, RUNS)
            ours = [entry["cpu_time"] / 1e3 for entry in found.values()]
            peers = [entry["cpu_time"] / 1e3 for entry in self.loads(plain, "simdjson_dom/", 0.1, RUNS).values()]
            self.compare(what, sum(ours) if ours else None, "simdjson DOM, unpacked", sum(peers) if peers else None, 0.5)

    def first_steps(self):
        """When a user sees the beginning of a trace that takes long to load, by the clock."""
        one = self.work / "one.json"
        self.ours("simulate", "--schedule", "1f1b", "--pp", "64", "--microbatches", "4", "--out", one, "--force", runs=1)
        file = self.work / "steps.json"
        many_steps.repeat_ops(one, 1000 if self.quick else 10_000, file)
        self.first_seen(file, f"first steps of {file.stat().st_size / 1e6:,.0f} MB of our JSON")
        file.unlink()
        for name in ("kineto.json", "merged.json", "kineto.json.gz"):
            foreign = self.work / f"{self.decades[-1]}" / name
            if foreign.exists():
                self.first_seen(foreign, f"first slices of {foreign.stat().st_size / 1e6:,.0f} MB, {name}")

    def first_seen(self, file, what):
        first, whole = [], []
        for _ in range(RUNS):
            out = subprocess.run([self.bench / "bench_open", file], stdout=subprocess.PIPE, check=True, text=True).stdout
            shown = dict(re.findall(r"^(first|all) .*, ms: (\d+)$", out, re.MULTILINE))
            first.append(int(shown.get("first", shown["all"])))
            whole.append(int(shown["all"]))
        self.row(f"{what} shown, by the clock", f"{min(first) / 1e3:.2f} s", f"all shown: {min(whole) / 1e3:.2f} s", "–",
                 "≤ 1 s", min(first) <= 1000)

    def app(self):
        """The app in pictures without a display, and frames of its timeline. Left out of builds without it."""
        if not self.gui.exists():
            return
        screenshot = [self.gui, "--screenshot", self.work / "picture.png", "--force"]
        self.below("start of the empty app", self.run([*screenshot, "--panel", "welcome"])[0] * 1e3, "ms", 250)
        run = self.work / f"run{self.run_sizes()[-1]}" / "run.pftrace"
        opened, analyzed = self.run([*screenshot, run])[0], self.run([self.cli, "analyze", run])[0]
        self.row("open our largest run in the app", f"{opened:.2f} s", f"analyze: {analyzed:.2f} s",
                 f"{opened / analyzed:.2f}", "≤ 1.3", opened <= 1.3 * analyzed)
        self.first_steps()
        # The clock shows how long a user waits; with other programs running it is imprecise, so processor time is shown next to it.
        for size, usual, worst in (("10000000", 8, 16), ("10000000@2160", 16, 32), ("50000000", 16, 33))[: 1 if self.quick else 3]:
            out = subprocess.run([self.bench / "bench_timeline", size], stdout=subprocess.PIPE,
                                 env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, check=True, text=True).stdout
            frames = re.findall(r"^\| (.+?) \| [\d.]+ \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", out, re.MULTILINE)
            what, *times = max(((what, *map(float, times)) for what, *times in frames), key=lambda f: f[1])
            slices, _, lines = size.partition("@")
            name = f"frames, {int(slices) // 1_000_000} M slices{f', {lines} lines' if lines else ''}"
            for kind, cpu, wall, goal in ((f"95 % of the slowest kind ({what})", times[0], times[2], usual),
                                          ("the worst of that kind", times[1], times[3], worst)):
                self.row(f"{name}, {kind}, by the clock", f"{wall:.1f} ms", f"processor time: {cpu:.1f} ms", "–",
                         f"≤ {goal} ms", wall <= goal)

    def measure(self):
        self.start = self.run([self.cli, "--version"])[0]
        for part in (self.make_traces, self.loading, self.our_runs, self.many_steps, self.analysis, self.breakdown, self.extracts,
                     self.generators, self.recorder, self.live, self.finished_run, self.real_traces, self.app):
            begin = time.monotonic()
            part()
            print(f"{part.__name__}: {time.monotonic() - begin:.0f} s", file=sys.stderr)

    def print(self, out):
        schedules.machine(out)
        print("| what | Bubblescope | peer | ratio | goal | met |\n|---|---|---|---|---|---|", file=out)
        for *cells, met in self.rows:
            print("| " + " | ".join(cells) + f" | {met if met == '?' else yes(met)} |", file=out)
        print("\n| growth of | whose | size | s at the largest | exponent | at most 1.1 |\n|---|---|---|---|---|---|", file=out)
        for cells in self.growth:
            print("| " + " | ".join(cells) + " |", file=out)


def yes(met):
    return "yes" if met else "**no**"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--hta")
    parser.add_argument("--shared")
    parser.add_argument("--write")
    arguments = parser.parse_args()
    if arguments.write and "<!-- report -->\n" not in pathlib.Path(arguments.write).read_text():
        parser.error(f"{arguments.write} has no place for the tables: the lines <!-- report --> and <!-- end -->")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        report = Report(arguments, pathlib.Path(work))
        report.measure()
    text = io.StringIO()
    report.print(text)
    print(f"\nMade in {(time.monotonic() - begin) / 60:.0f} minutes.", file=text)
    if not arguments.write:
        return print(text.getvalue(), end="")
    file = pathlib.Path(arguments.write)
    before, rest = file.read_text().split("<!-- report -->\n")
    after = rest[rest.index("<!-- end -->") :]
    file.write_text(f"{before}<!-- report -->\n{text.getvalue()}{after}")


if __name__ == "__main__":
    main()
