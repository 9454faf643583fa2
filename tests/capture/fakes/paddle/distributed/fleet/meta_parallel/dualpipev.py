# The interface of python/paddle/distributed/fleet/meta_parallel/dualpipev.py in PaddlePaddle/Paddle.
import paddle
from phases import Phases

from .pipeline_parallel import PipelineParallel
from .zero_bubble_utils import WeightGradStore


class DualPipeVParallel(Phases, PipelineParallel):
    accumulate_steps = 4
    counter = "acc_id"

    def __init__(self):
        PipelineParallel.__init__(self)
        self.prepare(self.num_stages)
        self.group_rank = self.place

    def _forward_compute(self, phase, micro_datasets=None):
        self.advance("f", phase)

    def _backward_compute(self, phase, enable_zb=False):
        self.advance("b", phase)

    def _forward_backward_compute(self, forward_phase, backward_phase, micro_datasets=None):
        self.advance("f", forward_phase)
        self.advance("b", backward_phase)

    def _broadcast_final_loss(self):
        return paddle.Tensor(3.5)

    def train_batch(self, data, optimizer, lr_scheduler=None, scaler=None):
        self.run(self._forward_compute, self._backward_compute, self._forward_backward_compute, WeightGradStore.pop)
        loss = self._broadcast_final_loss()
        self._optimizer_step()
        return loss
