"""Repetitions of PaddlePaddle's layers in one process. Without PaddlePaddle, runs itself with the Python of BUBBLESCOPE_PADDLE,
or skips."""

import os
import sys
import threading
import unittest

sys.path.insert(0, os.environ["BUBBLESCOPE_ADAPTERS"])
try:
    import paddle
except ImportError:
    python = os.path.join(os.environ.get("BUBBLESCOPE_PADDLE", ""), "bin", "python")
    if not os.path.exists(python):
        print("skipped: BUBBLESCOPE_PADDLE names no Python environment with PaddlePaddle")
        sys.exit(77)
    os.execv(python, [python] + sys.argv)
import paddle.distributed as dist
from paddle import nn
from paddle.base import core
from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer
from paddle.distributed.fleet.utils import recompute

from bubblescope_adapters import framework

framework.choose("paddle_framework")
from bubblescope_adapters import layers, paddle_framework
from bubblescope_adapters.paddle_device import Host

host = Host()


class Recomputes(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return recompute(self.inner, x)


def run(module, kind=layers.KeptGradients, backward=True):
    """A layer, and the data of one execution of its module in the job."""
    layer, kept = layers.Layer("layer", module, 0, 0, host), []
    layer.watch(kind, lambda one: kept.append(one) or one)
    x = paddle.randn([8, 4])
    x.stop_gradient = False
    y = module(x * 1)
    if isinstance(kept[0], Exception):
        raise kept[0]
    if backward:
        kept[0].listen()
        (y * paddle.randn(y.shape)).sum().backward()
        kept[0].unlisten()
    return layer, kept[0], y


def elsewhere(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


class PaddleLayersTest(unittest.TestCase):
    def assertSame(self, one, other):
        self.assertEqual(layers.digests(one), layers.digests(other))

    def test_dropout_is_repeated_with_its_random_numbers(self):
        layer, kept, _ = run(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), layers.Kept, backward=False)
        paddle.randn([3])
        before = host.random_state()
        self.assertSame(elsewhere(lambda: layer.repeat(kept, "F")), kept.first("F"))
        self.assertTrue(host.same(before, host.random_state()))
        layer.try_out(kept, "F")
        self.assertTrue(layer.random)
        self.assertTrue(host.same(before, host.random_state()))
        layer, kept, _ = run(nn.Linear(4, 4), layers.Kept, backward=False)
        layer.try_out(kept, "F")
        self.assertFalse(layer.random)

    def test_a_backward_leaves_gradients_and_hooks_of_the_job_alone(self):
        module, calls = nn.Linear(4, 4), []
        module.weight._register_backward_hook(lambda *_: calls.append(1))
        layer, kept, _ = run(module)
        gradient = module.weight.grad.clone()
        again = layer.repeat(kept, "B")
        self.assertSame(again, kept.first("B"))
        self.assertEqual(sorted(again), ["input gradient", "weight gradient"])
        layer.try_out(kept, "B")
        self.assertEqual(layer.shown, {"B"})
        self.assertEqual(calls, [1])
        self.assertTrue((gradient == module.weight.grad).all())

    def test_a_backward_that_adds_to_gradients_is_refused_and_undone(self):
        for given in (True, False):  # the job has gradients already, or not
            module = Recomputes()
            layer, kept, _ = run(module)
            if not given:
                module.inner.weight.clear_gradient(False)
                module.inner.bias.clear_gradient(False)
            before = module.inner.weight.grad
            bits = None if before is None else before.clone()
            with self.assertRaisesRegex(framework.CannotRepeat, "changes its weight gradients"):
                layer.try_out(kept, "B")
            now = module.inner.weight.grad
            self.assertTrue(now is None if bits is None else (now == bits).all())

    def test_precision_of_the_first_execution_is_used_on_another_thread(self):
        tracer = paddle.framework._dygraph_tracer()
        before = tracer._amp_level, tracer._amp_dtype
        seen = []

        class Sees(nn.Layer):
            def forward(self, x):
                seen.append((tracer._amp_level, tracer._amp_dtype))
                return x * 2

        tracer._amp_level, tracer._amp_dtype = core.AmpLevel.O1, "bfloat16"
        try:
            layer, kept, _ = run(Sees(), layers.Kept, backward=False)
        finally:
            tracer._amp_level, tracer._amp_dtype = before
        elsewhere(lambda: layer.repeat(kept, "F"))
        self.assertEqual(seen, [(core.AmpLevel.O1, "bfloat16")] * 2)
        self.assertEqual((tracer._amp_level, tracer._amp_dtype), before)

    def test_results_survive_the_release_of_a_sent_output(self):
        layer, kept, y = run(nn.Linear(4, 4), layers.Kept, backward=False)
        y._clear_dataptr()
        self.assertSame(layer.repeat(kept, "F"), kept.first("F"))

    def test_changes_in_place_are_noticed(self):
        layer, kept, y = run(nn.Linear(4, 4), layers.Kept, backward=False)
        self.assertTrue(kept.unchanged())
        with paddle.no_grad():
            y.add_(paddle.ones_like(y))
        self.assertFalse(kept.unchanged())

    def test_layers_that_cannot_be_repeated_name_the_reason(self):
        class Gpu(Host):
            def holds(self, weight):
                return False

        hooked = nn.Sequential(nn.Linear(4, 4))
        hooked[0].register_forward_post_hook(lambda *_: None)
        cases = [(nn.BatchNorm1D(4), host, "running statistics"), (nn.Linear(4, 4), Gpu(), "only on CPUs"),
                 (hooked, host, "hooks"), (paddle.jit.to_static(nn.Linear(4, 4)), host, "is compiled")]
        for module, device, why in cases:
            with self.assertRaisesRegex(framework.CannotRepeat, why):
                layers.Layer("layer", module, 0, 0, device)

    def test_communication_is_prevented_only_in_the_trial(self):
        for call in (lambda: paddle._C_ops.all_reduce(paddle.ones([2]), 0, 0), lambda: core.ProcessGroup.barrier(None, 0),
                     lambda: paddle._C_ops._run_custom_op("custom", paddle.ones([2]))):
            with paddle_framework.KnownOperators(False):
                self.assertRaisesRegex(framework.CannotRepeat, "communicate", call)
                self.assertNotIsInstance(elsewhere(lambda: self.error_of(call)), framework.CannotRepeat)
            self.assertNotIsInstance(self.error_of(call), framework.CannotRepeat)

    @staticmethod
    def error_of(call):
        try:
            call()
        except Exception as error:  # noqa: BLE001: calls of the framework without a group
            return error
        return None

    def test_the_entries_of_a_stage_are_its_layers(self):
        class Block(nn.Layer):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.GELU())

            def forward(self, x):
                return self.body(x)

        class Stage(PipelineLayer):
            def __init__(self):
                nn.Layer.__init__(self)
                self.run_function = [Block(), paddle.nn.functional.relu, Block()]
                self.shared_layers = nn.LayerDict()

        self.assertEqual([name for name, _ in layers.split(Stage())], ["Block", "Block"])


if __name__ == "__main__":
    unittest.main()
