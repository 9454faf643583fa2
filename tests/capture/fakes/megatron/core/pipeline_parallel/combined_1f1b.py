# The call that runs a forward, a backward or both, with the signature of combined_forward_backward_step() in
# megatron/core/pipeline_parallel/combined_1f1b.py of Megatron-core 0.15 and 0.16.
import torch


def combined_forward_backward_step(
    forward_step_func, data_iterator, f_model, num_microbatches, input_tensor, forward_data_store, b_model, b_input_tensor,
    b_output_tensor, b_output_tensor_grad, config, f_model_chunk_id=None, pre_forward=None, pre_backward=None,
    post_forward=None, post_backward=None, collect_non_loss_data=False, checkpoint_activations_microbatch=None,
    is_first_microbatch=False, current_microbatch=None, encoder_decoder_xattn=False,
):
    output = gradient = None
    if f_model is not None:
        output = torch.Tensor(0.25 * (1 + current_microbatch))
        if post_forward is not None:
            post_forward(output, f_model_chunk_id)
    if b_model is not None:
        gradient = torch.Tensor()
        if post_backward is not None:
            post_backward(gradient)
    return output, 0, gradient


def combined_1f1b_schedule_for_interleaved_pipelining(
    model, microbatches, forward, backward, b_output, losses, post_forward, post_backward
):
    output, _, gradient = combined_forward_backward_step(
        None, None, model[forward[1]] if forward else None, microbatches, None, losses, model[backward[1]] if backward else None,
        None, b_output, None, None, f_model_chunk_id=forward[1] if forward else None, post_forward=post_forward,
        post_backward=post_backward, current_microbatch=forward[0] if forward else None,
    )
    return output, gradient
