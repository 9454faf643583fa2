# As much of PyTorch as the adapter of its pipelines touches. The job chooses the version.
import os

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.15.0")
