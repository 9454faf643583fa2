"""The PyTorch example, from end to end. Exits with 77, which CTest takes as skipped, where PyTorch is not installed."""

import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.distributed as dist
except ImportError:
    print("skipped: PyTorch is not installed (Debian: python3-torch)")
    sys.exit(77)
if not dist.is_available():
    print("skipped: this PyTorch has no torch.distributed")
    sys.exit(77)

EXAMPLE, PROGRAM = sys.argv[1:3]


def train(folder, *more):
    made = subprocess.run([sys.executable, EXAMPLE, "--out", folder, "--op-time", "0.1", "--steps", "4", *more],
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return json.loads(made.stdout)


def run(*words):
    made = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    assert made.returncode in (0, 1), made.stderr
    return made


with tempfile.TemporaryDirectory() as work:
    clean, struck = os.path.join(work, "clean"), os.path.join(work, "struck")
    found = train(clean)
    assert found["mismatches"] == [], found
    assert sum(rank["equal"] for rank in found["ranks"]) > 0, found
    analysis = json.loads(run("analyze", clean, "--json").stdout)
    assert analysis["schedule"]["schedule"] == "1f1b", analysis["schedule"]
    assert analysis["aadiff"]["mismatches"] == []
    assert analysis["aadiff"]["checks"]["replay"]["equal"] == sum(rank["equal"] for rank in found["ranks"])

    # Two runs train alike, and flipped bits, one in each micro-batch, are where they part.
    train(struck, "--flip", "2:1:1")
    same = run("aadiff", "compare", clean, clean, "--fail-on", "difference")
    assert same.returncode == 0, same.stdout
    parted = json.loads(run("aadiff", "compare", clean, struck, "--json").stdout)
    first = parted["first"]
    assert (first["step"], first["layer"], first["a"]["rank"]) == (2, 3, 1), first
    assert first["a"]["op"] == "F0.0" and parted["independent"] == 4, parted

    # Checks meet them, in a later step if the machine was too busy.
    for step in range(4):
        folder = os.path.join(work, f"step{step}")
        found = train(folder, "--flip", f"{step}:1:0")
        if found["mismatches"]:
            break
    assert found["mismatches"], "no check met the flipped bit"
    assert {(m["rank"], m["layer"], m["verdict"]) for m in found["mismatches"]} == {(1, 0, "transient")}, found
    alarm = run("analyze", folder, "--fail-on", "aadiff-mismatch")
    assert alarm.returncode == 1 and "bit 20 flipped" in " ".join(alarm.stdout.split()), alarm.stdout
print("the example's checks work with PyTorch", torch.__version__)
