"""Releases CUPTI when the job uses PyTorch's profiler and that is about to record kernels."""

from . import events

NAMES_OPS = False


def prepare(module):
    before = getattr(module, "_prepare_profiler", None)
    if before is None:
        return # without this attribute, the profiler reports that CUPTI is in use

    def prepare_profiler(config, activities, *args, **kwargs):
        if any(getattr(activity, "name", "") == "CUDA" for activity in activities or ()):
            events.release_cupti("torch.profiler")
        return before(config, activities, *args, **kwargs)

    module._prepare_profiler = prepare_profiler
