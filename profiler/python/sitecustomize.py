# Loaded by every Python process of a recorded job: PYTHONPATH names this folder first. It leaves no trace of itself in
# the search path, hands over to the sitecustomize that the process would have loaded, and waits until a framework is
# imported whose ops have names. Any Python reads this file, so it uses only what Python 2 knows as well.
import os
import sys


def _begin():
    here = os.path.dirname(__file__)
    sys.path[:] = [place for place in sys.path if place != here]
    if sys.version_info < (3, 8) or not os.environ.get("BUBBLESCOPE_CAPTURE_DIR"):
        return
    try:
        sys.meta_path.insert(0, _Finder(here))
    except Exception:
        pass  # the job goes on without names of ops


class _Finder(object):
    """Finds nothing for the job but this folder's own modules; notes when a framework's module has been loaded."""

    FRAMEWORKS = {
        "torch.autograd.profiler": "torch_profiler",
        "torch.distributed.pipelining.schedules": "torch_pipelining",
        "megatron.core.pipeline_parallel.schedules": "megatron_core",
        "deepspeed.runtime.pipe.engine": "deepspeed_engine",
        "paddle.distributed.fleet.meta_parallel.pipeline_parallel": "paddle_pipeline",
    }
    OWN = ("bubblescope_ranges", "bubblescope_adapters")

    def __init__(self, here):
        self._here = here
        self._busy = set()

    def find_spec(self, name, path=None, target=None):
        adapter = self.FRAMEWORKS.get(name)
        if adapter is None:
            return self._own(name) if name.startswith(self.OWN) else None
        if name in self._busy:
            return None
        self._busy.add(name)
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec = None if finder is self or find is None else find(name, path, target)
                if spec is not None:
                    return self._observed(spec, adapter)
            return None
        finally:
            self._busy.discard(name)

    def _own(self, name):
        import importlib.util

        place = os.path.join(self._here, *name.split("."))
        for file in (os.path.join(place, "__init__.py"), place + ".py"):
            if os.path.isfile(file):
                return importlib.util.spec_from_file_location(name, file)
        return None

    @staticmethod
    def _observed(spec, adapter):
        """The module is loaded as it would be; then the adapter gets it."""
        loader = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return spec

        def exec_module(module):
            execute(module)
            try:
                import bubblescope_adapters

                bubblescope_adapters.adapt(module, adapter)
            except Exception:
                pass  # adapt() reports what fails in an adapter; without it there is nobody to tell

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # a loader of another kind, which keeps no attributes
        return spec


_begin()
# An import of this name continues with the job's own module, whose errors are its own. If there is none, the import fails
# as it would have: `site` takes that for granted.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401
