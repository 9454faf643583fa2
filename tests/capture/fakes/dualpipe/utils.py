import torch
import torch.distributed
from phases import Phases


class WeightGradStore:
    @classmethod
    def pop(cls):
        return None


class Program(Phases):
    def __init__(self, ranks):
        self.prepare(ranks)
        self.rank, self.module = self.place, (self, self)

    def _forward_compute_chunk(self, phase):
        self.advance("f", phase)

    def _backward_compute_chunk(self, phase, enable_zb=False):
        self.advance("b", phase)

    def _forward_backward_compute_chunk(self, phase0, phase1):
        if self.overlapped_forward_backward:
            self.advance("f", phase0)
            self.advance("b", phase1)
        else:
            self._forward_compute_chunk(phase0)
            self._backward_compute_chunk(phase1)

    def step(self, *inputs, num_chunks=0, criterion=None, labels=(), return_outputs=False):
        self.forward_only = not torch.is_grad_enabled()
        self.run(self._forward_compute_chunk, self._backward_compute_chunk, self._forward_backward_compute_chunk,
                 WeightGradStore.pop)
        return (torch.Tensor(1.5, shape=(2,)) if self.rank == 0 else None), None
