"""Tests trace_library.py with the CPU: trace_library_test.py FOLDER, where the program `bubblescope` is."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

SCRIPT = pathlib.Path(__file__).with_name("trace_library.py")
STORED = SCRIPT.parents[1] / "data" / "gpu-pipelines"  # all folders there are tested
FRAMEWORKS = os.environ.get("BUBBLESCOPE_FRAMEWORKS", "")
CASES = ("1f1b", "slow-rank", "stalled-transfer", "killed-rank")


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False)


def record(library, *names, more=()):
    only = [argument for name in names for argument in ("--only", name)]
    # Ops keep their nominal times however busy the machine is.
    return run("record", library, "--pace-tolerance", "10s", *only, *more)


def check(library, names, again):
    """Checks a library that was just recorded. Other load may delay steps: what `again` records again counts then."""
    for _ in range(3):
        checked = run("check", library)
        failed = {line.partition(":")[0] for line in checked.stdout.splitlines()} & set(names)
        if not failed:
            break
        for name in failed:
            shutil.rmtree(library / name)
        again(*failed)
    return checked


class TraceLibrary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.library = pathlib.Path(cls.folder.name) / "library"
        cls.recorded = record(cls.library, *CASES)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def score(self, answers):
        path = pathlib.Path(self.folder.name) / "answers.json"
        path.write_text(json.dumps(answers), encoding="utf-8")
        return run("score", self.library, path).stdout

    def test_a_case_has_its_traces_and_the_truth(self):
        self.assertEqual(self.recorded.returncode, 0, self.recorded.stdout + self.recorded.stderr)
        self.assertEqual(sorted(path.name for path in self.library.iterdir()), sorted(CASES))
        truth = json.loads((self.library / "slow-rank" / "truth.json").read_text(encoding="utf-8"))
        self.assertEqual(truth["cause"], {"concern": "time", "rank": 2})
        self.assertEqual(truth["planted"], ["slow:rank=2,factor=1.3"])
        self.assertNotIn(self.folder.name, truth["made"]["command"])
        clean = json.loads((self.library / "1f1b" / "truth.json").read_text(encoding="utf-8"))
        self.assertAlmostEqual(clean["bubble_percent"], 100 * 3 / 11, places=2)
        self.assertEqual(len(list((self.library / "1f1b" / "trace").iterdir())), 4)

    def test_all_answers_to_new_cases_are_right(self):
        checked = check(self.library, CASES, lambda *names: record(self.library, *names))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertRegex(checked.stdout, r"^2\d answers are right\n$")

    def test_all_answers_to_stored_cases_are_right(self):
        checked = run("check", STORED)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def changed(self, change):
        """Checks a copy of a stored case whose truth is changed."""
        with tempfile.TemporaryDirectory() as folder:
            case = pathlib.Path(folder) / "case"
            shutil.copytree(STORED / "torch-transformer", case)
            path = case / "truth.json"
            truth = change(json.loads(path.read_text(encoding="utf-8")))
            path.write_text(json.dumps(truth), encoding="utf-8")
            checked = run("check", folder)
            self.assertEqual(checked.returncode, 1, checked.stdout)
            return checked.stdout

    def test_a_wrong_or_unchecked_truth_fails(self):
        self.assertIn("case: cause is {'concern': 'time', 'rank': 5}, not",
                      self.changed(lambda truth: truth | {"cause": {"concern": "time", "rank": 5}}))
        self.assertIn("case: pp is 5, not 4", self.changed(lambda truth: truth | {"pp": 5}))
        self.assertIn("case: kernels is [7, 7, 7, 7], not None",
                      self.changed(lambda truth: truth | {"kernels": [7, 7, 7, 7]}))
        rates = {attention: 2 * rate for attention, rate in self.stored("torch-transformer")["flops_per_second"].items()}
        self.assertIn("case: flops_per_second is", self.changed(lambda truth: truth | {"flops_per_second": rates}))
        self.assertIn("case: mfu is", self.changed(lambda truth: truth | {"mfu": {"causal": 0.4, "full": 0.4}}))
        self.assertIn("case: no rule checks 'colour'", self.changed(lambda truth: truth | {"colour": "red"}))
        self.assertIn("case: a fault was planted, but", self.changed(lambda truth: truth | {"planted": ["head=2.4"]}))
        self.assertIn("case: the truth lacks", self.changed(lambda truth: {"pp": 4}))

    def test_a_case_without_truth_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(STORED / "torch-transformer", pathlib.Path(folder) / "good")
            shutil.copytree(STORED / "torch-transformer" / "trace", pathlib.Path(folder) / "bad" / "trace")
            checked = run("check", folder)
            self.assertEqual((checked.returncode, checked.stdout.splitlines()[0]), (1, "bad: no truth.json"))

    def test_a_case_without_traces_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            case = pathlib.Path(folder) / "empty"
            shutil.copytree(STORED / "torch-transformer", case, ignore=shutil.ignore_patterns("*.gz"))
            checked = run("check", folder)
            self.assertEqual(checked.returncode, 1, checked.stderr)
            self.assertRegex(checked.stdout, "^empty: bubblescope: ")

    def stored(self, name):
        return json.loads((STORED / name / "truth.json").read_text(encoding="utf-8"))

    def test_operations_of_models(self):
        from model_flops import Transformer, peak_of, rate

        # Twelve blocks of gpt2: 85 million weights, and 256 columns of the head.
        gpt2 = Transformer(layers=12, hidden=768, heads=12, sequence=1024, vocabulary=256, sequences=8)
        self.assertEqual(gpt2.weights(), 12 * 12 * 768 * 768 + 768 * 256)
        self.assertEqual(gpt2.flops()["full"], 8192 * (6 * gpt2.weights() + 12 * 12 * 768 * 1024))
        self.assertEqual(gpt2.flops()["full"] - gpt2.flops()["causal"], 8192 * 6 * 12 * 768 * 1024)
        self.assertEqual(peak_of("NVIDIA H200, 580.159.04"), 989e12)
        self.assertIsNone(peak_of(None))
        self.assertEqual(rate({"causal": 989e9}, 2, 989e12), {"peak_flops": 989e12, "mfu": {"causal": 0.5}})
        self.assertEqual(rate({"causal": 6}, 2, None), {"flops_per_second": {"causal": 3000}})

    def test_full_speed_is_measured_by_the_clock(self):
        from trace_library import Case, measured_step_ms

        self.assertGreater(measured_step_ms(Case("fast", ["--no-pace"], pp=2, paced=False), "cpu", few=2, many=200), 0)

    def test_wrong_and_missing_answers_count(self):
        shown = self.score({"1f1b": {"cause": {"concern": "time", "rank": 0}, "bubble_percent": 20, "pp": "4"}})
        self.assertIn("1f1b: bubble_percent is 27.273, not 20\n", shown)
        self.assertRegex(shown, r"cause +0 +1 +3\n")
        self.assertRegex(shown, r"pp +1 +0 +3\n")

    def test_what_is_there_is_not_recorded_again(self):
        before = (self.library / "1f1b" / "truth.json").stat().st_mtime_ns
        again = record(self.library, *CASES)
        self.assertEqual((again.returncode, again.stdout), (0, ""))
        self.assertEqual((self.library / "1f1b" / "truth.json").stat().st_mtime_ns, before)

    @unittest.skipUnless(FRAMEWORKS, "BUBBLESCOPE_FRAMEWORKS names no Python environment with PyTorch")
    def test_cases_of_pytorch(self):
        cases = ("torch-blocking-receive", "torch-slow-link", "torch-transformer")
        library = pathlib.Path(self.folder.name) / "pytorch"
        python = os.path.join(FRAMEWORKS, "bin", "python")
        recorded = record(library, *cases, more=["--python", python])
        self.assertEqual(recorded.returncode, 0, recorded.stdout + recorded.stderr)
        truth = json.loads((library / "torch-slow-link" / "truth.json").read_text(encoding="utf-8"))
        self.assertEqual(truth["planted"], ['links={"0>1": 15}'])
        self.assertNotIn(python, truth["made"]["command"])
        checked = check(library, cases, lambda *names: record(library, *names, more=["--python", python]))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_ranks_share_a_gpu_by_mps(self):
        from trace_library import mps

        tools = pathlib.Path(self.folder.name) / "tools"
        tools.mkdir()
        control = tools / "nvidia-cuda-mps-control"
        control.write_text('#!/bin/sh\n[ "$1" = -d ] && echo started >>"$LOG" || cat >>"$LOG"\n', encoding="utf-8")
        control.chmod(0o755)
        log = tools / "log"
        with unittest.mock.patch.dict(os.environ, {"PATH": f"{tools}:{os.environ['PATH']}", "LOG": str(log)}):
            with mps() as environment:
                self.assertEqual(log.read_text(encoding="utf-8"), "started\n")
                self.assertTrue(os.path.isdir(environment["CUDA_MPS_PIPE_DIRECTORY"]))
                self.assertNotIn("CUDA_MPS_PIPE_DIRECTORY", os.environ)
            self.assertEqual(log.read_text(encoding="utf-8"), "started\nquit -t 5\n")
            control.write_text("#!/bin/sh\necho no such device >&2; exit 1\n", encoding="utf-8")
            with self.assertRaisesRegex(RuntimeError, "MPS does not start: no such device"), mps():
                pass
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            with self.assertRaisesRegex(RuntimeError, "there is no nvidia-cuda-mps-control"), mps():
                pass

    def test_unknown_cases_and_empty_libraries_are_errors(self):
        self.assertIn("there is no case 'none'", record(self.library, "none").stderr)
        with tempfile.TemporaryDirectory() as empty:
            self.assertIn("no cases", run("answer", empty).stderr)


if __name__ == "__main__":
    os.environ["PATH"] = sys.argv.pop(1) + os.pathsep + os.environ["PATH"]
    unittest.main()
