# Every Python process of a recorded job loads this file, because PYTHONPATH lists its folder first. The file removes the
# folder from the search path, runs the sitecustomize that the process would otherwise have loaded, and waits for the import
# of a supported framework. The job may use any Python, so the file also has to run on Python 2.
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
        pass  # the job continues without op names


class _Finder(object):
    """Finds only the modules in this folder, and detects when a framework's module has been loaded."""

    FRAMEWORKS = {
        "torch.autograd.profiler": "torch_profiler",
        "torch.distributed.pipelining.schedules": "torch_pipelining",
        "megatron.core.pipeline_parallel.schedules": "megatron_core",
        "deepspeed.runtime.pipe.engine": "deepspeed_engine",
        "paddle.distributed.fleet.meta_parallel.pipeline_parallel": "paddle_pipeline",
        "paddle.distributed.fleet.meta_parallel.dualpipev": "paddle_dualpipev",
        "dualpipe.dualpipe": "dual_pipe",
        "dualpipe.dualpipev": "dual_pipe",
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
        """Loads the module as usual, then passes it to the adapter."""
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
                pass  # adapt() reports the errors of adapters; if it is missing, they cannot be reported

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # this kind of loader does not support new attributes
        return spec


_begin()
# The next import continues with the job's sitecustomize, whose errors are not handled here. If there is none, the import
# fails, as `site` expects.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401
