"""Checks in the bubbles of a job on the CPU, in one process: waits are pauses of bubble_rig.py. Also which flipped bits a
comparison finds. Needs PyTorch, as device_checks_test.py does."""

import contextlib
import os
import sys
import time
import types
import unittest

sys.path[:0] = [os.environ["BUBBLESCOPE_ADAPTERS"], os.path.dirname(__file__),
                os.path.join(os.path.dirname(__file__), "..", "gpu")]
try:
    import torch
except ImportError:
    python = os.path.join(os.environ.get("BUBBLESCOPE_FRAMEWORKS", ""), "bin", "python")
    if not os.path.exists(python):
        print("skipped: BUBBLESCOPE_FRAMEWORKS names no Python environment with PyTorch")
        sys.exit(77)
    os.execv(python, [python] + sys.argv)
from torch import nn

import bubble_rig
from bubblescope_adapters.comparison import Comparison
from bubblescope_adapters.device import Host

torch.set_num_threads(1)
MS = 1_000_000


class _Now:
    """An event or a stream of a device that has no queue."""

    def record(self, *_):
        pass

    synchronize = wait_event = record


class _Device(Host):
    def event(self):
        return _Now()

    current = event

    @staticmethod
    def to_host(values):
        return values


class Rig(bubble_rig.Rig):
    def __init__(self, **more):
        self.paused = 0
        super().__init__(_Device(), _Now(), self._pause, lambda place: 0, microbatches=4, **more)

    def _pause(self, _, ns):
        time.sleep(ns / 1e9)
        self.paused = time.monotonic_ns()

    def plant(self, into):
        if into.shape == self.data.shape:
            into.copy_(self.data)
        self.received += 1


@contextlib.contextmanager
def rig_of(**more):
    with contextlib.closing(Rig(**more)) as rig:
        yield rig


class Slow(nn.Module):
    """Pauses before each of its operators."""

    def __init__(self, count=20):
        super().__init__()
        self.weight, self.count = nn.Parameter(torch.ones(1)), count

    def forward(self, x):
        for _ in range(self.count):
            x = _Pause.apply(x) * self.weight
        return x


class _Pause(torch.autograd.Function):
    begun = []  # times

    @staticmethod
    def of(x):
        _Pause.begun.append(time.monotonic_ns())
        time.sleep(1e-3)
        return x.clone()

    @staticmethod
    def forward(ctx, x):
        return _Pause.of(x)

    @staticmethod
    def backward(ctx, gradient):
        return _Pause.of(gradient)


class BubbleChecksTest(unittest.TestCase):
    def test_the_wait_between_the_last_op_and_the_optimizer_holds_checks(self):
        trained = []
        for share in (0.0, 1.0):
            with rig_of(settings=(0.1, None, share), norm_ns=20 * MS) as rig:
                for _ in range(80):
                    rig.step()
                counts = rig.counts()
                self.assertEqual(counts["equal"] > 0, share > 0, rig.messages)
                self.assertEqual(counts["mismatched"], 0)
                if share:
                    self.assertEqual(counts["units_covered"], counts["units"])
                    self.assertEqual(rig.running._last_wait(), 8, "ops of a step")
                trained.append(torch.cat([weight.detach().reshape(-1) for weight in rig.module.parameters()]))
        self.assertTrue(torch.equal(*trained))

    def test_an_optimizer_of_the_job_itself_ends_checks_with_the_last_op(self):
        with rig_of(settings=(0.1, None, 1.0), norm_ns=20 * MS) as rig:
            def step():
                for weight in rig.module.parameters():
                    weight.data.add_(weight.grad, alpha=-1e-5)  # does not change its version

            rig.optimizer = types.SimpleNamespace(zero_grad=rig.optimizer.zero_grad, step=step)
            for _ in range(40):
                rig.step()
            self.assertEqual(rig.counts()["equal"], 0)

    def test_a_wait_that_ends_early_delays_the_job_by_one_operator(self):
        late = []
        while len(late) < 3 and not (late and late[-1] < 10):  # a busy machine may stop the job's thread meanwhile
            late.append(self.operators_after_a_wait())
        self.assertLess(late[-1], 10, "of at least 20")

    def operators_after_a_wait(self):
        """The number of operators that a check begins after a wait that ends early."""
        with rig_of(settings=(0.1, None, 16.0), layers=0, extra=[Slow()], norm_ns=120 * MS) as rig:
            self.assertIsNotNone(rig.begin(), rig.messages)
            self.assertEqual(rig.running._layers[0][0].long, {"F", "B"})
            late, rig.norm_ns = [], 5 * MS  # by step
            rig.optimizer.register_step_pre_hook(
                lambda *_: late.append(sum(begun > rig.paused for begun in _Pause.begun)))
            while rig.counts()["aborted"] < 1:
                _Pause.begun.clear()
                rig.step()
            self.assertEqual(rig.counts()["mismatched"], 0)
            return max(late)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = self.qkv(x).view(1, -1, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape))


def flipped(tensor, bit, place):
    size, tensor = tensor.element_size(), tensor.detach().clone()
    tensor.view(-1)[place : place + 1].view(torch.uint8)[bit // 8] ^= 1 << bit % 8
    return tensor


class BitTest(unittest.TestCase):
    """Each bit of each result counts, whatever its position and the values around it."""

    def executed(self, module, kind, x, flip=lambda gradient: gradient):
        """An execution of a layer with its backward, and the names of its comparisons that show a difference."""
        from bubblescope_adapters.layers import Kept, Layer, digests

        layer, kept = Layer("layer", module, 0, 0, _Device()), []
        layer.watch(kind, lambda one: kept.append(one) or one)
        output = module(x)
        if kind is Kept:
            kept[0].results = [(flip(tensor), version) for tensor, version in kept[0].results]
            ops = "F"
        else:
            keep, ops = kept[0]._keep, "BIW"
            kept[0]._keep = lambda gradient, of_weight: keep(flip(gradient), of_weight)
            kept[0].listen()
            output.backward(torch.linspace(-1, 1, output.numel(), dtype=x.dtype).view(output.shape))
            kept[0].unlisten()
        differ = set()
        for op in ops:
            first, again = kept[0].first(op), layer.repeat(kept[0], op)
            one, other = digests(first), digests(again)
            equal = Comparison(_Device(), [(first[name], again[name]) for name in first]).equal() if kind is not Kept else None
            differ.update([(op, name) for number, name in enumerate(first)
                           if one[name] != other[name] and (equal is None or not equal[number])])
        return differ

    def test_every_flipped_bit_is_found(self):
        from bubblescope_adapters.held_data import HeldGradients
        from bubblescope_adapters.layers import Kept, KeptGradients

        for make in (lambda: nn.Linear(8, 8), lambda: nn.LayerNorm(8), Mlp, Attention):
            for dtype in (torch.float32, torch.bfloat16):
                torch.manual_seed(5)
                module = make().to(dtype)
                x = torch.randn(4, 8, dtype=dtype, requires_grad=True)
                count = 2 + len(list(module.parameters()))  # gradients of the output, the input and the weights
                for kind in (Kept, KeptGradients, HeldGradients):
                    self.assertEqual(self.executed(module, kind, x), set())
                    for bit in range(8 * x.element_size()):
                        # The first gradient is an input of the backward.
                        for victim in [0] if kind is Kept else range(1, count):
                            calls = iter(range(count))
                            flip = lambda tensor: flipped(tensor, bit, bit % 8) if next(calls) == victim else tensor
                            self.assertTrue(self.executed(module, kind, x, flip), (module, dtype, kind, bit, victim))

    def test_values_that_no_result_depends_on_are_not_compared(self):
        class Hides(nn.Module):
            wrong = False

            def forward(self, x):
                y = x.clone()
                if self.wrong:
                    y.detach().view(torch.int32)[0, 0] ^= 1 << 20
                return self.hide(y)

        from bubblescope_adapters.layers import Kept

        x = -torch.rand(4, 8) - 1
        for hide in (torch.relu, lambda y: y * 0, lambda y: y * float("nan"), lambda y: y + 2.0**60):
            module = Hides()
            module.hide = hide
            module.wrong = True

            def right(tensor):
                module.wrong = False
                return tensor

            self.assertEqual(self.executed(module, Kept, x, right), set())


if __name__ == "__main__":
    unittest.main()
