from torch import distributed


class Tensor:
    nbytes = 64


class P2POp:
    def __init__(self, sends):
        self.tensor = Tensor()
        self.sends = sends


class _PipelineStageBase:
    def __init__(self, index, size):
        self.stage_index = index
        self.group_rank = index
        self.group_size = size
        # With more ranks than stages the pipelines lie side by side, as with a pp axis that is the slowest.
        apart = distributed.get_world_size() // size
        self.group = [rank * apart + distributed.get_rank() % apart for rank in range(size)]
        self.submod = self
        self.is_first, self.is_last = index == 0, index + 1 == size

    def parameters(self):
        return []

    def forward_one_chunk(self, chunk, args=(), kwargs=None, save_forward_output=True):
        if kwargs == "raise":
            raise ArithmeticError("the job's own")
        return chunk

    def backward_one_chunk(self, chunk, loss=None, full_backward=True, last_backward=False):
        return chunk

    def backward_weight_one_chunk(self, chunk, last_backward=False):
        return chunk

    def perform_reduce_grad(self, factor):
        return factor

    def _ops(self, there, sends=False):
        return [P2POp(sends), P2POp(sends)] if there else []

    def get_fwd_recv_ops(self, chunk):
        return self._ops(self.stage_index > 0)

    def get_bwd_recv_ops(self, chunk):
        return self._ops(self.stage_index + 1 < self.group_size)

    def get_fwd_send_ops(self, chunk):
        return self._ops(self.stage_index + 1 < self.group_size, True)

    def get_bwd_send_ops(self, chunk):
        return self._ops(self.stage_index > 0, True)
