# F-then-B on two ranks with two chunks, as Paddle calls its methods.
import os


class Grid:
    def get_data_parallel_rank(self):
        return 0

    def get_data_parallel_world_size(self):
        return 1

    get_model_parallel_rank = get_data_parallel_rank
    get_model_parallel_world_size = get_data_parallel_world_size


class PipelineParallel:
    def __init__(self):
        self.stage_id = self.global_rank = int(os.environ.get("FAKE_RANK", "0"))
        self.num_stages = 2
        self._hcg = Grid()
        self._virtual_pp_rank = None

    def _forward_step(self, input_tensor, micro_dataset, chunk_id=None, step_id=None):
        return None

    def _backward_step(self, input_tensor, output_tensor, output_tensor_grad, chunk_id=None, step_id=None):
        return None

    def _optimizer_step(self):
        return None

    def train_batch(self, data):
        return None

    def eval_batch(self, data):
        self._forward_step(None, data)


class PipelineParallelWithInterleave(PipelineParallel):
    def train_batch(self, data):
        for chunk in (0, 1):
            self._virtual_pp_rank = chunk
            for _ in range(3):
                self._forward_step(None, data, chunk)
        for chunk in (1, 0):
            self._virtual_pp_rank = chunk
            for _ in range(3):
                self._backward_step(None, None, None)
        self._optimizer_step()

    def eval_batch(self, data):
        self._forward_step(None, data, 0)
