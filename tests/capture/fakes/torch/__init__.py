# As much of PyTorch as the adapter of its pipelines touches. The job chooses the version.
import os

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.15.0")

float32, int32, int64 = "float32", "int32", "int64"


class Tensor:
    """A loss, or an input of some shape."""

    class device:
        type = "cpu"

    def __init__(self, value=0.0, shape=(), dtype=float32):
        self.value, self.shape, self.dtype = value, shape, dtype
        self.nbytes = 256

    def dim(self):
        return len(self.shape)

    def numel(self):
        return self.shape[0] * self.shape[1]

    def detach(self):
        return self

    def item(self):
        return self.value

    def mean(self):
        return self

    def __mul__(self, factor):
        return Tensor(self.value * factor)


def is_grad_enabled():
    return "FAKE_NO_GRAD" not in os.environ
