"""The wheel that BUBBLESCOPE_WHEEL names, or the one in build/wheels, installed into a fresh environment."""

import glob
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECKS = """
import bubblescope as bs, bubblescope_aadiff as aadiff
assert len(aadiff.digest(b"abc").to_bytes(8, "little")) == 8
assert aadiff.digest(b"abc") != aadiff.digest(b"abd")
step = bs.simulate("1f1b", pp=2, microbatches=4, forward="1ms")
step.write("step.pftrace")
assert bs.load("step.pftrace").schedule["schedule"] == "1f1b"
"""


RECORDED = """
from bubblescope_adapters import bubblescope_aadiff, events
assert bubblescope_aadiff.digest(b"abc")
assert type(events.push).__name__ == "builtin_function_or_method", "calls go through ctypes"
from bubblescope_ranges import op, step
for _ in range(3):
    step()
    for i in range(4):
        with op("F", microbatch=i): pass
        with op("B", microbatch=i): pass
"""


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def main():
    made = os.environ.get("BUBBLESCOPE_WHEEL") or next(iter(glob.glob(os.path.join(SOURCE, "build/wheels/*.whl"))), None)
    if not made:
        skip("there is no wheel; ./bootstrap wheel makes one")
    _, _, pythons, _, platforms = os.path.basename(made).removesuffix(".whl").split("-")
    if f"cp{sys.version_info[0]}{sys.version_info[1]}" not in pythons.split("."):
        skip(f"{made} is for other Pythons")
    assert "manylinux_2_28_" in platforms, "needs a newer glibc than 2.28: " + made
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "venv")
        if subprocess.run([sys.executable, "-m", "venv", place], capture_output=True).returncode != 0:
            skip("this Python makes no environments (Debian: python3-venv)")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "BUBBLESCOPE"))}

        def run(*words):
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
            return done.stdout

        run(os.path.join(place, "bin", "pip"), "install", "--no-index", "--quiet", os.path.abspath(made))
        python, program = os.path.join(place, "bin", "python"), os.path.join(place, "bin", "bubblescope")
        run(python, "-c", CHECKS)
        assert "1f1b" in run(program, "analyze", "step.pftrace")
        # `record` finds the library and the adapters that came along.
        job = "import os; print(os.environ['NVTX_INJECTION64_PATH'])"
        library = run(program, "record", "--out", "capture", "--", python, "-c", job).splitlines()[0]
        assert os.path.realpath(library).startswith(os.path.realpath(place)), library
        adapters = os.path.join(os.path.dirname(library), "python")
        for beside in glob.glob(os.path.join(SOURCE, "profiler/python/**/*.py"), recursive=True):
            name = os.path.relpath(beside, os.path.join(SOURCE, "profiler/python"))
            assert os.path.exists(os.path.join(adapters, name)), name + " is not in the wheel"
        run(program, "record", "--python-ranges", "--out", "ranges", "--", python, "-c", RECORDED)
        assert "3 of 3 steps have this order" in run(program, "analyze", "ranges", "--json")
        run(os.path.join(place, "bin", "pip"), "uninstall", "--yes", "--quiet", "bubblescope")
        assert not os.path.exists(program)
    print("installed, used and removed " + os.path.basename(made))


if __name__ == "__main__":
    main()
