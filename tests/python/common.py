"""Code that the tests of the Python package share. PYTHONPATH leads to the package, BUBBLESCOPE_PROGRAM to the command line."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import bubblescope as bs

SKIPPED = 77  # as CTest expects
PROGRAM = os.environ["BUBBLESCOPE_PROGRAM"]
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*words, code=0):
    """Standard output of a command, which ends with `code`."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    if done.returncode != code:
        raise AssertionError(f"{words} ended with {done.returncode}: {done.stderr}")
    return done.stdout if code == 0 else done.stderr


def printed(*words):
    return json.loads(run(*words, "--json"))


_folder = tempfile.TemporaryDirectory()


def scratch(name):
    return os.path.join(_folder.name, name)


def trace(name="run.pftrace", **options):
    """A trace of our own, made once."""
    path = scratch(name)
    if not os.path.exists(path):
        sizes = {"schedule": "1f1b", "pp": 4, "microbatches": 8, "forward": "2ms", "comm": "100us", **options}
        words = [word for key, value in sizes.items() for word in ("--" + key.replace("_", "-"), str(value))]
        run("simulate", *words, "--out", path)
    return path


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


def main():
    unittest.main(module="__main__")


__all__ = ["SOURCE", "PROGRAM", "bs", "main", "printed", "run", "scratch", "skip", "trace", "unittest"]
