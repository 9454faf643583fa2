# Exchanges with the neighbours: the call waits, unless the caller states that it waits itself.
class Request:
    def wait(self):
        return "arrived"


def _p2p_helper(
    tensor_send_next, tensor_send_prev, recv_prev, recv_next, sync_recv=True, send_recv_meta=None, batch_p2p_comm=True,
    wait_on_reqs=True, dynamic_shape=False,
):
    requests = [Request() for wanted in (tensor_send_next, tensor_send_prev, recv_prev, recv_next) if wanted]
    return ("input" if recv_prev else None), ("gradient" if recv_next else None), None if wait_on_reqs else requests


class P2pHelper:
    def send_forward_recv_forward(self, output, recv_prev, overlap=False):
        received = _p2p_helper(
            tensor_send_next=output, tensor_send_prev=None, recv_prev=recv_prev, recv_next=False,
            wait_on_reqs=not overlap,
        )
        return (received[0], received[2]) if overlap else received[0]

    def send_backward_recv_backward(self, gradient, recv_next):
        return _p2p_helper(tensor_send_next=None, tensor_send_prev=gradient, recv_prev=False, recv_next=recv_next)[1]
