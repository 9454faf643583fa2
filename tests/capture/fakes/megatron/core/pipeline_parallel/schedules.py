# An interleaved schedule of two ranks and two chunks: all forwards, then all backwards, as Megatron calls its functions.
import megatron.core.utils  # noqa: F401
import order
import torch.distributed
from megatron.core import parallel_state

from .combined_1f1b import combined_1f1b_schedule_for_interleaved_pipelining
from .p2p_communication import P2PCommunicator


def get_schedule_table(microbatches, chunks, group):
    table = []
    for first in range(0, microbatches, group):
        for chunk in range(chunks):
            table += [(i, chunk) for i in range(first, min(first + group, microbatches))]
    return table


def forward_step(func, data, model, microbatches, tensor, store, config, current_microbatch=None, vp_stage=None):
    return torch.Tensor(0.25 * (1 + current_microbatch)), 0


def backward_step(input_tensor, output_tensor, output_tensor_grad, model_type, config):
    return torch.Tensor()


def forward_backward_no_pipelining(**kwargs):
    return None


def forward_backward_pipelining_without_interleaving(**kwargs):
    return None


def forward_backward_pipelining_with_interleaving(
    *, model, num_microbatches, seq_length, micro_batch_size, forward_only=False
):
    if getattr(model[0].config, "overlap_moe_expert_parallel_comm", False) and not forward_only:
        return _combined(model, num_microbatches)
    table = get_schedule_table(num_microbatches, 2, 2)
    rank, p2p, outputs = parallel_state.get_pipeline_model_parallel_rank(), P2PCommunicator(), {}
    for microbatch, chunk in table:
        if chunk * 2 + rank > 0:
            p2p._communicate(tensor_send_next=None, tensor_send_prev=None, recv_prev=True, recv_next=False, tensor_shape=())
        outputs[microbatch, chunk], _ = forward_step(
            None, None, model[chunk], 4, None, [], None, current_microbatch=microbatch, vp_stage=chunk
        )
        if chunk * 2 + rank < 3:
            p2p._communicate(
                tensor_send_next=outputs[microbatch, chunk],
                tensor_send_prev=None,
                recv_prev=False,
                recv_next=False,
                tensor_shape=None,
            )
    for microbatch, turned in table if not forward_only else []:
        chunk = 1 - turned
        if chunk * 2 + rank < 3:
            p2p._communicate(tensor_send_next=None, tensor_send_prev=None, recv_prev=False, recv_next=True, tensor_shape=())
        gradient = backward_step(None, [outputs[microbatch, chunk]], None, None, None)
        if chunk * 2 + rank > 0:
            p2p._communicate(
                tensor_send_next=None, tensor_send_prev=gradient, recv_prev=False, recv_next=False, tensor_shape=None
            )
    return []


def _combined(model, microbatches):
    """The order of calls comes from a file. Pairs send before they return, as with overlap_p2p_comm."""
    rank, p2p, outputs, losses = parallel_state.get_pipeline_model_parallel_rank(), P2PCommunicator(), {}, []

    def sends(name):
        def send(tensor, vp_stage=None):
            tensors = {"tensor_send_next": None, "tensor_send_prev": None, name: tensor}
            p2p._communicate(recv_prev=False, recv_next=False, tensor_shape=None, **tensors)

        return send

    for call in order.calls(rank):
        ops = {kind: (microbatch, chunk) for kind, microbatch, chunk in call}
        forward, backward = ops.get("F"), ops.get("B")
        is_pair = forward is not None and backward is not None
        output, _ = combined_1f1b_schedule_for_interleaved_pipelining(
            model, microbatches, forward, backward, outputs.pop(backward, None), losses,
            sends("tensor_send_next") if is_pair and 2 * forward[1] + rank < 3 else None,
            sends("tensor_send_prev") if is_pair and 2 * backward[1] + rank > 0 else None,
        )
        if forward is not None:
            outputs[forward] = output
    return losses
