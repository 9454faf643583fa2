# Parts that DeepSeek's DualPipe and DualPipeV share with PaddlePaddle's DualPipeV: counters per phase, and transfers between
# calls. The order of the calls comes from a file.
import os

import order


class Phases:
    counter = "chunk_id"
    is_in_second_half = False

    def prepare(self, ranks):
        self.place, self.num_ranks, self.forward_only = int(os.environ.get("FAKE_RANK", "0")), ranks, False
        self.overlapped_forward_backward = "FAKE_NO_OVERLAP" not in os.environ

    def begins(self, index):
        return self.place == 0 if index == 0 else self.place == self.num_ranks - 1

    def ends(self, index):  # of a V
        return self.place == (self.num_ranks - 1 if index == 0 else 0)

    def index(self, phase):
        return phase ^ int(self.is_in_second_half)

    def advance(self, way, phase):
        getattr(self, "current_%s_%s" % (way, self.counter))[self.index(phase)] += 1

    def _recv_forward(self, phase):
        if not self.begins(self.index(phase)):
            self.advance("recv_f", phase)

    def _send_forward(self, phase):
        if not self.ends(self.index(phase)):
            self.advance("send_f", phase)

    def _recv_backward(self, phase):
        if not self.ends(self.index(phase)):
            self.advance("recv_b", phase)

    def _send_backward(self, phase):
        if not self.begins(self.index(phase)):
            self.advance("send_b", phase)

    def _commit_and_wait_comm(self):
        return None

    def run(self, forward, backward, pair, weight):
        for way in ("f", "b", "send_f", "send_b", "recv_f", "recv_b"):
            setattr(self, "current_%s_%s" % (way, self.counter), [0, 0])
        for call in order.calls(self.place):
            phases = [self.index(chunk) for _, _, chunk in call]
            kinds = [kind for kind, _, _ in call]
            if kinds == ["W"]:
                weight()
                continue
            for kind, phase in zip(kinds, phases):
                (self._recv_forward if kind == "F" else self._recv_backward)(phase)
            self._commit_and_wait_comm()
            if len(call) == 2:
                pair(*phases)
            elif kinds == ["F"]:
                forward(phases[0])
            else:
                backward(phases[0], enable_zb=kinds == ["I"])
            for kind, phase in zip(kinds, phases):
                (self._send_forward if kind == "F" else self._send_backward)(phase)
        self._commit_and_wait_comm()
