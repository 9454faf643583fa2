# F-then-B on two ranks with two chunks, as Paddle calls its methods. Version 3.2 names no chunk.
import os

import order
import paddle
from paddle.distributed.fleet.meta_parallel.pp_utils.p2p_communication import P2pHelper


class Grid:
    def get_data_parallel_rank(self):
        return 0

    def get_data_parallel_world_size(self):
        return 1

    get_model_parallel_rank = get_data_parallel_rank
    get_model_parallel_world_size = get_data_parallel_world_size


class Description:
    def __init__(self, layer_func):
        self.layer_func = layer_func


class Embedding:
    pass


class Block:
    pass


class Model:
    _layers_desc = [Description(Embedding)] + [Description(Block) for _ in range(9)] + [print]
    segment_parts = [0, 3, 5, 7, 11]


class PipelineParallel:
    accumulate_steps, micro_batch_size, num_stages = 3, 4, 2
    _delay_scale_loss = False
    _virtual_pp_world_size = None

    def __init__(self):
        self.stage_id = self.global_rank = int(os.environ.get("FAKE_RANK", "0"))
        self._hcg = Grid()
        self._layers = Model()
        self._p2p_helper = P2pHelper()
        self._virtual_pp_rank = None

    if paddle.NAMES_CHUNKS:

        def _forward_step(self, input_tensor, micro_dataset, chunk_id=None, step_id=None, overlap_schedule_mode=False):
            return paddle.Tensor(shape=[4, 8]), None, None

        def _backward_step(self, input_tensor, output_tensor, output_tensor_grad, chunk_id=None, step_id=None):
            return paddle.Tensor(shape=[4, 8])

    else:

        def _forward_step(self, input_tensor, micro_dataset, chunk_id=None, step_id=None):
            return paddle.Tensor(shape=[4, 8]), None, None

        def _backward_step(self, input_tensor, output_tensor, output_tensor_grad, step_id=None):
            return paddle.Tensor(shape=[4, 8])

    def _optimizer_step(self):
        return None

    def _broadcast_final_loss(self, return_micro_batch_loss=False):
        return paddle.Tensor(2.5)

    def train_batch(self, data, optimizer):
        return None

    def eval_batch(self, data):
        self._forward_step(None, data)


class AsyncHandle:
    """Sends within a pair; the last stage has no activation to send, and the first no gradient."""

    def __init__(self, pipeline, stages):
        self._p2p, self._stages = pipeline._p2p_helper, stages

    def forward_async_comm(self, output):
        self._p2p.send_forward_recv_forward(output if self._stages[0] < 3 else None, False)

    def backward_async_comm(self, gradient):
        self._p2p.send_backward_recv_backward(gradient if self._stages[1] > 0 else None, False)


class PipelineParallelWithInterleave(PipelineParallel):
    _virtual_pp_world_size = 2

    def __init__(self, overlap_schedule_mode=False):
        super().__init__()
        self.overlap_schedule_mode = overlap_schedule_mode

        if overlap_schedule_mode:
            self.accumulate_steps = 4

    def _get_virtual_pp_rank(self, micro_step, forward):
        group = self.num_stages if self.overlap_schedule_mode else self.accumulate_steps
        chunk = micro_step // group % 2
        return chunk if forward else 1 - chunk

    def _forward_backward_helper(self, micro_dataset, forward_micro_step_id, backward_micro_step_id, p2p_async_handle=None):
        output, gradient = (paddle.Tensor(shape=[4, 8]),), paddle.Tensor(shape=[4, 8])
        p2p_async_handle.forward_async_comm(output)
        p2p_async_handle.backward_async_comm(gradient)
        return output, gradient

    def _train_overlapped(self, data):
        """The order of calls comes from a file; micro-steps count the forwards and the backwards."""
        done = {"F": 0, "B": 0}
        for call in order.calls(self.stage_id):
            numbers = {kind: done[kind] for kind, _, _ in call}
            for kind in numbers:
                done[kind] += 1
            if len(call) == 2:
                handle = AsyncHandle(self, [self.num_stages * chunk + self.stage_id for _, _, chunk in call])
                self._forward_backward_helper(data, numbers["F"], numbers["B"], p2p_async_handle=handle)
                continue
            kind = call[0][0]
            self._virtual_pp_rank = self._get_virtual_pp_rank(numbers[kind], kind == "F")
            if kind == "F":
                self._forward_step(None, data)
            else:
                self._backward_step(None, None, None)
        self._optimizer_step()
        return self._broadcast_final_loss()

    def train_batch(self, data, optimizer):
        if self.overlap_schedule_mode:
            return self._train_overlapped(data)
        last = self.num_stages - 1
        handles = None
        for number in range(6):
            self._virtual_pp_rank = chunk = self._get_virtual_pp_rank(number, True)
            if chunk + self.stage_id > 0:  # in time for this step
                _, handles = self._p2p_helper.send_forward_recv_forward(None, True, overlap=True)
                assert [handle.wait() for handle in handles] == ["arrived"]
            output, _, _ = self._forward_step(None, data, **({"chunk_id": chunk} if paddle.NAMES_CHUNKS else {}))
            if self.stage_id < last or chunk == 0:
                self._p2p_helper.send_forward_recv_forward(output, False)
        for number in range(6):
            self._virtual_pp_rank = chunk = self._get_virtual_pp_rank(number, False)
            if self.stage_id < last or chunk == 0:
                assert self._p2p_helper.send_backward_recv_backward(None, True) == "gradient"
            gradient = self._backward_step(None, None, None, step_id=number)
            if chunk + self.stage_id > 0:
                self._p2p_helper.send_backward_recv_backward((gradient,), False)
        loss = self._broadcast_final_loss()
        self._optimizer_step()
        return loss

    def eval_batch(self, data):
        self._forward_step(None, data)
