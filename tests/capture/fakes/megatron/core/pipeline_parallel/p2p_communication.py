class P2PCommunicator:
    def _communicate(self, *, tensor_send_next, tensor_send_prev, recv_prev, recv_next, tensor_shape, wait_on_reqs=True):
        return object() if recv_prev else None, object() if recv_next else None, None
