"""NVIDIA's MPS, with which kernels of several processes run on one GPU at the same time instead of by turns."""

import contextlib
import os
import shutil
import subprocess
import tempfile

CONTROL = "nvidia-cuda-mps-control"


@contextlib.contextmanager
def mps():
    """Gives the environment in which processes share the GPU. Other processes do not notice it. RuntimeError without MPS."""
    if shutil.which(CONTROL) is None:
        raise RuntimeError(f"there is no {CONTROL}")
    with tempfile.TemporaryDirectory(prefix="mps-") as folder:  # sockets need a short path
        environment = os.environ | {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        started = subprocess.run([CONTROL, "-d"], env=environment, capture_output=True, text=True, timeout=20, check=False)
        if started.returncode != 0:
            raise RuntimeError(f"MPS does not start: {(started.stderr or started.stdout).strip()}")
        try:
            yield environment
        finally:
            subprocess.run([CONTROL], input="quit -t 5\n", env=environment, capture_output=True, text=True, timeout=20,
                           check=False)
