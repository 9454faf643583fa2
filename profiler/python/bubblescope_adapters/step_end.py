"""The part of a step after its last op and before the optimizer. The weights are still unchanged there, so checks may use
its waits: collectives, such as the sum of a gradient norm over the ranks of the pipeline. Without a collective, there is no
wait, and no checks."""

import sys
import threading

_KNOWN = 4  # number of successive steps that an optimizer of PyTorch has to end: other code may change weights unseen
_COLLECTIVES = (
    "all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_to_all_single",
    "broadcast_object_list", "reduce_scatter_tensor", "barrier",
)


class StepEnd:
    def __init__(self, fill, over):
        """`fill` calls a function that waits; see Checks.fill(). `over` is called before the weights change."""
        self._fill, self._over = fill, over
        self._thread = None  # that runs the end of the step; None outside
        self._known = 0  # number of successive steps that an optimizer has ended
        self._optimized = self._ops_over = False
        self._watches = False
        self._replaced = []  # functions of torch.distributed, replaced only in this part of a step

    def begin_step(self):
        self.close()
        optimizer = sys.modules.get("torch.optim.optimizer")
        if not self._watches and optimizer is not None:
            self._watches = True
            optimizer.register_optimizer_step_pre_hook(self._optimizes)
        self._known = self._known + 1 if self._optimized else 0
        self._optimized = self._ops_over = False

    @property
    def is_open(self):
        return self._thread is not None

    def open(self):
        """Must be called after the last op. Returns True if the step goes on until the optimizer begins."""
        self._ops_over = True
        if self._known < _KNOWN:
            return False
        self._thread = threading.get_ident()
        distributed = sys.modules["torch.distributed"]
        for name in _COLLECTIVES:
            function = getattr(distributed, name, None)
            if function is not None:
                self._replaced.append((distributed, name, function, self._filled(function)))
                setattr(*self._replaced[-1][:2], self._replaced[-1][3])
        return True

    def close(self):
        """Ends the step if it is still open."""
        if self._thread is None:
            return
        self._thread = None
        for owner, name, before, ours in self._replaced:
            if getattr(owner, name) is ours:
                setattr(owner, name, before)
        del self._replaced[:]
        self._over()

    def _optimizes(self, *_):
        self._optimized = self._ops_over  # an optimizer that runs inside backwards does not end the ops
        self.close()

    def _filled(self, function):
        def call(*args, **kwargs):
            begins_only = kwargs.get("async_op") or any([one is True for one in args])
            if begins_only or self._thread != threading.get_ident():
                return function(*args, **kwargs)
            return self._fill(lambda: function(*args, **kwargs), sends=True)

        return call
