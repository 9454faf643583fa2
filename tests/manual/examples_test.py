"""Every example in the help texts, in README.md and in the manual runs.

usage: examples_test.py [--checks] PROGRAM      --checks: the program was built with checks in bubbles

Examples that the manual's generator has run (`$ bubblescope …`) are checked there. Examples on one page run in order, in
a folder with the inputs that examples name. Those that need what a test machine lacks are listed in NEEDS.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MANUAL = SOURCE / "resources/manual"
EXAMPLES = SOURCE / "resources/examples"

# Examples that contain such a text are not run. Whether their options exist is tested in tests/unit/cli.
NEEDS = {
    "a job to start": [" -- "],
    "another machine": ["--listen", "--forward head", "ssh://", "/shared/"],
    "a GPU": ["--backend cuda"],
    "a display": ["bubblescope view"],
    "a program of the user": ["--alert ./page-me.sh"],
    "a recorded job": ["bubblescope attach"],
    "an open port": ["--metrics 9095"],
    "a shell's variables": ["SLURM"],
    "checks in bubbles": ["--aadiff", "bubblescope aadiff"],
    "text left out": ["…"],
}
PROFILE = SOURCE / "tests/data/recordings/torch-pp-cpu-gloo/1f1b_pp4_mb8/iteration_4"
RUNS = ["my-run", "my-trace", "capture", "traces", "slow", "extracts", "before", "after", "first-run", "second-run"]
TRACES = ["trace.json.gz", "trace-rank0.json.gz", "rank0.json", "rank1.json", "slow-last-stage.pftrace"]
QUESTION = "SELECT count(*) AS slices FROM slice"
RULES = '{"rules": [{"name": "mine", "ops": [{"name": "fwd{microbatch}", "kind": "F"}]}]}'


class Examples:
    def __init__(self, program, folder):
        self.program = program
        self.inputs = folder / "inputs"
        self.folder = folder / "page"
        self.failures = []
        self.count = 0
        self.skipped = {}

    def call(self, *words, timeout=120):
        return subprocess.run([self.program, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout)

    def make(self, *words):
        result = self.call(*words)
        assert result.returncode == 0, (words, result.stderr)

    def make_inputs(self):
        self.folder.mkdir()
        (self.folder.parent / "examples").symlink_to(EXAMPLES)  # pages name these inputs as ../examples/…
        checks = [] if "checks in bubbles" in NEEDS else ["--aadiff"]
        self.make("run", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--steps", "4", "--forward", "2ms",
                  "--backward", "4ms", "--out", "my-run", *checks)
        for name in RUNS[1:]:
            shutil.copytree(self.folder / "my-run", self.folder / name)
        for name in TRACES:
            self.make("convert", "my-run", name)
        for name, framework in (("order.csv", "torchtitan"), ("order.json", None)):
            order = ["schedule", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--out", name]
            self.make(*order, *(["--for", framework] if framework else []))
        (self.folder / "times.csv").write_text("forward,backward\n" + "1.5ms,3ms\n" * 31 + "2.5ms,5ms\n")
        (self.folder / "times.json").write_text('{"stages": [' + ", ".join(['{"forward": "5ms", "backward": "9ms"}'] * 4)
                                                + "]}")
        shutil.copytree(PROFILE, self.folder / "profiles/iteration_4")
        shutil.copy(EXAMPLES / "llama3-8b-memory.json", self.folder / "model.json")
        shutil.copy(next((EXAMPLES / "op-costs").glob("*paddle*")), self.folder / "layer.json")
        (self.folder / "question.sql").write_text(QUESTION)
        (self.folder / "rules.json").write_text(RULES)
        shutil.copytree(MANUAL / "examples", self.folder / "examples")
        self.folder.rename(self.inputs)

    def begin_page(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.inputs, self.folder)

    def without_what_it_writes(self, words):
        """Examples that write to a new file or folder may name one that others read."""
        for option, value in zip(words, words[1:]):
            if option in ("--out", "--svg", "--html", "--figure"):
                path = self.folder / value
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        if words[0] == "convert":
            (self.folder / words[-1]).unlink(missing_ok=True)
        if words[0] == "demo" and len(words) > 1 and "--out" not in words:
            (self.folder / f"{words[1]}.pftrace").unlink(missing_ok=True)

    def shortened(self, words):
        """Fewer steps and less searching: the examples are checked, not their results."""
        words = list(words)
        for option, value in (("--steps", "2"), ("--time-limit", "1s")):
            if option in words and words[0] in ("run", "search"):
                words[words.index(option) + 1] = value
        if words[0] == "search" and "--time-limit" not in words:
            words += ["--time-limit", "1s"]
        return words

    def run(self, where, line):
        for need, texts in NEEDS.items():
            if any(text in line for text in texts):
                self.skipped[need] = self.skipped.get(need, 0) + 1
                return
        for part in line.split("&&"):
            words = shlex.split(part, comments=True)
            assert words[0] == "bubblescope", line
            words = [word for word in words[1:] if word != "&"]
            self.count += 1
            self.without_what_it_writes(words)
            try:
                result = self.call(*self.shortened(words))
            except subprocess.TimeoutExpired:
                self.failures.append(f"{where}: {line}\n    does not end")
                continue
            expected = (0, 1) if "--fail-on" in words else (0,)
            if result.returncode not in expected:
                self.failures.append(f"{where}: {line}\n    exit {result.returncode}: {result.stderr.strip()[-400:]}")

    def run_page(self, page):
        calls = calls_in(page.read_text(encoding="utf-8"))
        if calls:
            self.begin_page()
        for line in calls:
            self.run(page.name, line)

    def run_help(self):
        with tempfile.TemporaryDirectory() as pages:
            self.begin_page()
            self.make("help", "--man-pages", pages)
            for page in sorted(pathlib.Path(pages).iterdir()):
                for line in calls_in_man_page(page.read_text(encoding="utf-8")):
                    self.begin_page()
                    self.run(page.name, line)


def calls_in(page):
    """The lines in code blocks that call the program, but for those that the manual's generator has run."""
    calls = []
    code = False
    lines = iter(page.splitlines())
    for line in lines:
        if line.startswith("```"):
            code = not code
        elif code and line.startswith("bubblescope "):
            while line.endswith("\\"):
                line = line[:-1] + next(lines).strip()
            calls.append(line)
    return calls


def calls_in_man_page(page):
    """Its section of examples, without troff's escapes."""
    section = re.search(r"^\.SH EXAMPLES?\n(.*?)(?=^\.SH|\Z)", page, re.M | re.S)
    if not section:
        return []
    text = section[1].replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"').replace("\\e", "\\")
    return [line for line in text.splitlines() if line.startswith("bubblescope ")]


def main():
    if "--checks" in sys.argv:
        del NEEDS["checks in bubbles"]
    with tempfile.TemporaryDirectory() as scratch:
        examples = Examples(os.path.abspath(sys.argv[-1]), pathlib.Path(scratch))
        examples.make_inputs()
        examples.run_help()
        of_help = examples.count
        for page in [SOURCE / "README.md", *sorted(MANUAL.glob("*.md")), *sorted(MANUAL.glob("schedules/*.md"))]:
            examples.run_page(page)
    for failure in examples.failures:
        print(failure)
    print(f"{examples.count} examples ran, {of_help} of help texts; {len(examples.failures)} failed")
    for need, count in examples.skipped.items():
        print(f"  {count} not run: need {need}")
    assert of_help >= 40 and examples.count >= 80, "examples are no longer found"
    return 1 if examples.failures else 0


sys.exit(main())
