# The profiler asks the library that stands for CUPTI whether it may have it.
import ctypes
import enum
import os


class ProfilerActivity(enum.Enum):
    CPU = 0
    CUDA = 2


def _prepare_profiler(config, activities):
    cupti = ctypes.CDLL(os.environ["BUBBLESCOPE_CUPTI"])
    print("profiler of", config, "gets", cupti.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()), None, None))
