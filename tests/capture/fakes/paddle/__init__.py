import os

from .version import full_version

NAMES_CHUNKS = not full_version.startswith("3.2")
int64, float32 = "paddle.int64", "paddle.float32"


class Tensor:
    class place:
        @staticmethod
        def is_cpu_place():
            return "FAKE_PADDLE_GPU" not in os.environ

    def __init__(self, value=0.0, shape=(), dtype=float32):
        self.value, self.shape, self.dtype = value, list(shape), dtype
        self.size = 1
        for length in self.shape:
            self.size *= length

    def element_size(self):
        return 4

    def sum(self):
        return self

    def item(self):
        return self.value
