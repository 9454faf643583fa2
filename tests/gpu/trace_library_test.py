"""Tests trace_library.py with the CPU: trace_library_test.py FOLDER, where the program `bubblescope` is."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

SCRIPT = pathlib.Path(__file__).with_name("trace_library.py")
FRAMEWORKS = os.environ.get("BUBBLESCOPE_FRAMEWORKS", "")
CASES = ("1f1b", "slow-rank", "stalled-transfer", "killed-rank")


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False)


def record(library, *names, more=()):
    only = [argument for name in names for argument in ("--only", name)]
    # Ops keep their nominal times however busy the machine is.
    return run("record", library, "--pace-tolerance", "10s", *only, *more)


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

    def test_all_of_bubblescopes_answers_are_right(self):
        answers = run("answer", self.library)
        self.assertEqual(answers.returncode, 0, answers.stderr)
        shown = self.score(json.loads(answers.stdout))
        self.assertRegex(shown, r"cause +4 +0 +0\n")
        self.assertRegex(shown, r"schedule +4 +0 +0\n")

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
        cases = ("torch-1f1b", "torch-slow-rank", "torch-slow-link")
        library = pathlib.Path(self.folder.name) / "pytorch"
        python = os.path.join(FRAMEWORKS, "bin", "python")
        recorded = record(library, *cases, more=["--python", python])
        self.assertEqual(recorded.returncode, 0, recorded.stdout + recorded.stderr)
        truth = json.loads((library / "torch-slow-link" / "truth.json").read_text(encoding="utf-8"))
        self.assertEqual(truth["planted"], ['links={"0>1": 15}'])
        self.assertNotIn(python, truth["made"]["command"])
        path = library / "answers.json"
        path.write_text(run("answer", library).stdout, encoding="utf-8")
        shown = run("score", library, path).stdout
        self.assertRegex(shown, r"schedule +3 +0 +0\n")
        self.assertRegex(shown, r"cause +2 +0 +0\n")

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
