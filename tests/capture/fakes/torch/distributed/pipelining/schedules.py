import contextlib
import os
import time

import torch

from . import stage as _stage  # noqa: F401

record_function = contextlib.nullcontext


class _Work:
    def __init__(self, sends):
        self._sends = sends
        self._waited = False

    def wait(self):
        assert not self._waited, "gloo waits once"
        self._waited = True
        if self._sends:
            time.sleep(0.005)


def _batch_p2p(ops, desc=None):
    return [_Work(op.sends) for op in ops]


def _wait_batch_p2p(works):
    for work in works:
        work.wait()


class _PipelineSchedule:
    def _update_losses(self, stages, losses):
        self._internal_losses.clear()


class PipelineScheduleSingle(_PipelineSchedule):
    def __init__(self, stage, microbatches, backward=True):
        self._internal_losses = []
        self.scale_grads = not os.environ.get("FAKE_TORCH_ADDS")
        self._stage = stage
        self._microbatches = microbatches
        self._has_backward = backward

    def step(self, *args, target=None):
        self._step_microbatches()
        self._update_losses(self._stage, None)
        return "the step's result"

    def _step_microbatches(self):
        for i in range(self._microbatches):
            _wait_batch_p2p(_batch_p2p(self._stage.get_fwd_recv_ops(i)))
            self._stage.forward_one_chunk(i)
            if self._stage.is_last:
                self._internal_losses.append(torch.Tensor(2.0 + i))
            _batch_p2p(self._stage.get_fwd_send_ops(i))
        for i in range(self._microbatches if self._has_backward else 0):
            _wait_batch_p2p(_batch_p2p(self._stage.get_bwd_recv_ops(i)))
            self._stage.backward_one_chunk(i, loss=None)
            _batch_p2p(self._stage.get_bwd_send_ops(i))


class Schedule1F1B(PipelineScheduleSingle):
    """Sends are waited for together with the next receive."""

    def _step_microbatches(self):
        stage, sends = self._stage, []
        for i in range(self._microbatches):
            _wait_batch_p2p(_batch_p2p(sends + stage.get_fwd_recv_ops(i)))
            stage.forward_one_chunk(i)
            _wait_batch_p2p(_batch_p2p(stage.get_fwd_send_ops(i) + stage.get_bwd_recv_ops(i)))
            stage.backward_one_chunk(i, loss=None)
            sends = stage.get_bwd_send_ops(i)
        _wait_batch_p2p(_batch_p2p(sends))


class PipelineScheduleMulti(_PipelineSchedule):
    def step(self):
        return None


class ScheduleGPipe(PipelineScheduleSingle):
    pass


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    def register_custom_function(self, kind, function):
        self.custom = function


if os.environ.get("FAKE_TORCH_LACKS"):  # another version, which the adapter must notice
    del _wait_batch_p2p
