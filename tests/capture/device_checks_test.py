"""Checks in the bubbles of a job on a GPU, with a stand-in for the GPU: see stand_in_device.py. Needs PyTorch; without it,
runs itself with the Python of BUBBLESCOPE_FRAMEWORKS, or skips. BUBBLESCOPE_CAMPAIGN=full plants more flips."""

import contextlib
import gc
import os
import random
import sys
import tempfile
import threading
import types
import unittest
import weakref

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
from bubblescope_adapters.check_budget import Delays
from stand_in_device import StandIn

FULL = os.environ.get("BUBBLESCOPE_CAMPAIGN") == "full"
BUBBLE = 3_000_000


def cost(name):
    return {"mm": 100_000, "addmm": 100_000}.get(name, 5_000)


@contextlib.contextmanager
def rig_of(cost=cost, bubble_ns=lambda place: BUBBLE, pause=0.01, kind=bubble_rig.Rig, **more):
    device = StandIn(cost, pause=pause)
    peer = device.stream(computes=False)
    with device.operators():
        rig = kind(device, peer, lambda stream, ns: stream.sleep(ns), bubble_ns, **more)
        with contextlib.closing(rig):
            yield rig
            for stream in device.streams:
                stream.synchronize()


def always():
    return True


def weights(rig):
    return torch.cat([weight.detach().reshape(-1) for weight in rig.module.parameters()]).clone()


class DeviceChecksTest(unittest.TestCase):
    def test_a_clean_run_has_no_mismatch_and_no_delay(self):
        with rig_of(layers=6) as rig:
            self.assertIsNotNone(rig.begin(), rig.messages)
            delays = rig.pairs(40 if FULL else 4, 9, always)
            self.assertLess(max(delays), 0.005)
            counts = rig.clean(20_000 if FULL else 1_000, always)
            self.assertEqual((counts["mismatched"], counts["aborted"]), (0, 0))
            self.assertEqual((rig.counts()["units"], rig.counts()["units_covered"]), (12, 12))

    def test_planted_flips_are_found(self):
        with rig_of(microbatches=4, bubble_ns=lambda place: 2 * BUBBLE) as rig:
            self.assertIsNotNone(rig.begin())
            for number in range(59 if FULL else 9):
                self.assertIsNotNone(rig.flip(number, 100, always), number)
            for tensor in ("output", "input gradient", "weight gradient"):
                self.assertRegex("\n".join(rig.messages), "its %s again on stand-in .*transient" % tensor)

    def test_the_halves_of_split_backwards_are_checked(self):
        with rig_of(kind=SplitRig, microbatches=4) as rig:
            self.assertIsNotNone(rig.begin(), rig.messages)
            while rig.counts()["equal"] < 200:
                rig.step()
            counts = rig.counts()
            self.assertEqual((counts["units"], counts["units_covered"], counts["mismatched"]), (9, 9, 0), rig.messages)
            for number in range(3, 9):
                self.assertIsNotNone(rig.flip(number, 100, always), number)

    def test_a_bubble_that_ends_early_delays_the_next_op_by_at_most_one_check(self):
        bubble = [BUBBLE]
        with rig_of(microbatches=4, bubble_ns=lambda place: bubble[0], settings=(0.1, None, 1.0)) as rig:
            self.assertIsNotNone(rig.begin())
            running, steps = rig.running, {}
            learn = running._times.learn
            running._times.learn = lambda step, now: steps.setdefault(step.turn, []).append(step) or learn(step, now)
            running._pool = _NoPool()
            for _ in range(30):
                rig.step()
            bubble[0] = 0
            steps.clear()
            while not any([step.works for step in steps.get(0, ())]):
                rig.step()
            checked = next(step for step in steps[0] if step.works)
            places = [work.place for work in checked.works]
            self.assertEqual(len(places), len(set(places)), "one check per bubble")
            self.assertGreater(len(places), 1)
            took = {work.place: work.end.ns - work.start.ns for work in checked.works}
            quiet = steps[1][0]
            for place, (before, op) in enumerate(zip(checked.ops, checked.ops[1:]), 1):
                late = (op[4].ns - before[4].ns) - (quiet.ops[place][4].ns - quiet.ops[place - 1][4].ns)
                self.assertLessEqual(late, took.get(place, 0) + 200_000, place)  # and launching it

    def test_a_wait_between_the_last_op_and_the_optimizer_holds_checks(self):
        with rig_of(microbatches=4, bubble_ns=lambda place: 0, norm_ns=2 * BUBBLE) as rig:
            self.assertIsNotNone(rig.begin(), rig.messages)
            running, places = rig.running, rig.places()
            self.assertEqual(rig.clean(60, always)["mismatched"], 0)
            self.assertEqual(places, {8}, "after all ops")
            self.assertLess(max(rig.pairs(2, 9, always)), 0.005)
            for number in range(9):
                self.assertIsNotNone(rig.flip(number, 100, always), number)
            rig.optimizer = types.SimpleNamespace(zero_grad=rig.optimizer.zero_grad, step=lambda: None)
            for _ in range(8):
                rig.step()
            queued = running.checks
            for _ in range(9):
                rig.step()
            self.assertEqual(running.checks, queued, "no optimizer of PyTorch ends the steps")

    def test_the_host_drops_the_rest_of_a_check_when_data_arrives(self):
        with rig_of(microbatches=4) as rig:
            self.assertIsNotNone(rig.begin())
            running, repeats = rig.running, []
            for layer in running._layers[0]:
                run = layer.run
                layer.run = lambda kept, kind, over, run=run: run(kept, kind, lambda: repeats.append(kind) or True)
            while len(repeats) < 5:
                rig.step()
            counts = rig.clean(20, always)
            self.assertEqual((counts["mismatched"], counts["aborted"]), (0, 0))
            self.assertEqual(set(repeats), {"B"}, "forwards have one part")

    def test_data_that_has_arrived_leaves_no_bubble(self):
        with rig_of(microbatches=4) as rig:
            self.assertIsNotNone(rig.begin())
            rig.early = True
            for _ in range(4):
                rig.step()
            queued = rig.running.checks
            for _ in range(6):
                rig.step()
            self.assertEqual(rig.running.checks, queued)

    def test_other_threads_may_capture_graphs(self):
        with rig_of(microbatches=4) as rig:
            self.assertIsNotNone(rig.begin())
            rig.device.others_capture, before = True, rig.counts()["equal"]
            for _ in range(9):
                rig.step()
            self.assertGreater(rig.counts()["equal"], before)
            self.assertEqual(rig.device.forbidden, 0)
            self.assertFalse(rig.device.is_apart, "the job's own calls are as before")

    def test_the_job_computes_the_same_as_without_checks(self):
        trained = []
        for share in (0.0, 0.02):
            with rig_of(microbatches=4, settings=(0.1, None, share), norm_ns=BUBBLE) as rig:
                for _ in range(60):
                    rig.step()
                self.assertEqual(rig.counts()["equal"] > 0, share > 0)
                trained.append(weights(rig))
        self.assertTrue(torch.equal(*trained))

    def test_work_that_does_not_wait_for_the_job_reads_wrong_data(self):
        with rig_of(microbatches=4, pause=0.05) as rig:
            self.assertIsNotNone(rig.begin())
            rig.running._stream.wait_event = lambda event: None
            for _ in range(300):
                rig.step()
                if rig.counts()["mismatched"]:
                    return
            self.fail("the stand-in does not show a missing event")

    def test_an_optimizer_that_does_not_wait_for_checks_changes_their_weights(self):
        with rig_of(microbatches=4, pause=0.1, settings=(0.1, None, 1.0)) as rig:
            self.assertIsNotNone(rig.begin())
            job = rig.device.job
            wait = job.wait_event
            job.wait_event = lambda event: None if rig.running._step is None else wait(event)
            for group in rig.optimizer.param_groups:
                group["lr"] = 1e-2
            slow = rig.running._stream.queue
            rig.running._stream.queue = lambda call, ns: slow(lambda: (call(), pause(5e-3)), ns)
            for _ in range(60):
                rig.step()
                if rig.counts()["mismatched"]:
                    return
            self.fail("the stand-in does not show an optimizer that overtakes a check")

    def test_slow_checks_delay_the_job_by_no_more_than_their_share(self):
        share, factor, took = 0.005 * bubble_rig.STAGES, [1], []
        running = []

        def slow(name):
            on_checks = running and running[0]._device.stream_now is running[0]._stream
            return cost(name) * (factor[0] if on_checks else 1)

        with rig_of(cost=slow, microbatches=4, settings=(0.1, None, share)) as rig:
            self.assertIsNotNone(rig.begin())
            running.append(rig.running)
            device = rig.device
            for factor[0], rests in ((1, float("inf")), (30, 0)):
                rig.running._rest_until = rests
                before = device.now_ns
                for _ in range(400):
                    rig.step()
                took.append(device.now_ns - before)
        # Savings of 32 steps are spent in addition.
        self.assertLess(took[1] / took[0] - 1, 0.005 * (1 + 32 / 400))

    def test_data_is_held_until_the_device_has_read_it(self):
        with rig_of(microbatches=4) as rig:
            self.assertIsNotNone(rig.begin())
            running, begin = rig.running, rig.running._begin
            begun = []

            def begin_and_watch(step, work, over):
                begin(step, work, over)
                begun.append((weakref.ref(work.kept), work.end))

            running._begin = begin_and_watch
            released = 0
            for _ in range(30):
                rig.step()
                gc.collect()
                for kept, end in begun:
                    if kept() is None:
                        self.assertTrue(end.query())
                        released += 1
                begun = [one for one in begun if one[0]() is not None]
            self.assertGreater(released, 0)

    def test_nothing_is_queued_while_the_job_captures_a_graph(self):
        with rig_of(microbatches=4) as rig:
            self.assertIsNotNone(rig.begin())
            for _ in range(4):
                rig.step()
            queued, rig.device.captures = rig.running._stream.ns, True
            for _ in range(6):
                rig.step()
            self.assertEqual(rig.running._stream.ns, queued)
            self.assertFalse(rig.running.active)
            rig.device.captures, before = False, rig.counts()["equal"]
            for _ in range(9):
                rig.step()
            self.assertGreater(rig.counts()["equal"], before)

    def test_kept_data_stays_within_its_limit(self):
        limit = 80_000  # of 16 KiB for an input, an output and their repetitions, or of 36 KiB with gradients
        with rig_of(microbatches=4, settings=(0.1, limit, 0.02)) as rig:
            keep, most = None, [0]

            def keep_and_count(layer, key, kept):
                one, running = keep(layer, key, kept), rig.running
                held = list(running._kept.values()) + running._held_gradients() + [work.kept for work in running._running()]
                most[0] = max(most[0], sum([2 * one.bytes for one in set(held)]))
                return one

            rig.step()
            keep, rig.running._keep = rig.running._keep, keep_and_count
            self.assertIsNotNone(rig.begin(), rig.messages)
            for _ in range(30):
                rig.step()
            self.assertGreater(most[0], 16_000)
            self.assertLessEqual(most[0], limit)

    def test_a_bubble_that_is_too_short_holds_no_check(self):
        with rig_of(microbatches=4, bubble_ns=lambda place: 300_000) as rig:  # a check needs 265 us and its margin
            self.assertIsNone(rig.begin(60))
            self.assertEqual(rig.running.checks, 0)


class _NoPool(list):
    """Keeps events, so that their times can be read later."""

    def __bool__(self):
        return False


def pause(seconds, event=__import__("threading").Event()):
    event.wait(seconds)


class _Extra(nn.Module):
    def __init__(self, forward=lambda x: x * 1.5, **attributes):
        super().__init__()
        self.apply_to = forward
        self.own = nn.Parameter(torch.zeros(1))
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.apply_to(x) + 0 * self.own


class _Counts(_Extra):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


class _Varies(_Extra):
    """As a kernel whose result depends on the order of its threads."""

    def forward(self, x):
        return super().forward(x) + 1e-3 * self.chance.random()

    chance = types.SimpleNamespace(random=iter(range(1, 1 << 40)).__next__)


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, change):
        ctx.change = change
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.change(gradient), None


def _backward(change):
    return _Extra(lambda x: _Backward.apply(x, change))


class _Fused(_Extra):
    """As a library that adds weight gradients to a buffer of its own."""

    def forward(self, x):
        weight = self.own

        def add(gradient):
            weight.main_grad.add_(1)
            return gradient

        return _Backward.apply(super().forward(x), add)


class FullyShardedDataParallel(_Extra):
    """Named as PyTorch's."""


class MoEFlexTokenDispatcher:
    """Named as Megatron-core's."""


@torch.library.custom_op("shop_of_test::scale", mutates_args=())
def _scale(x: torch.Tensor) -> torch.Tensor:
    return 1.25 * x


_scale.register_autograd(lambda ctx, gradient: 1.25 * gradient)
_scale.register_fake(torch.empty_like)


class RefusalTest(unittest.TestCase):
    def test_each_reason_is_named(self):
        compiled = _Extra()
        compiled._compiled_call_impl = compiled._call_impl
        replaced = _Extra()
        replaced.forward = lambda x: x * 2
        cases = [
            (compiled, "it is compiled"),
            (replaced, "has a forward method that was replaced at run time"),
            (FullyShardedDataParallel(), "is sharded by FSDP"),
            (_Extra(_is_fsdp_managed_module=True), "is sharded by FSDP"),
            (_Extra(fp8=True), "keeps FP8 scaling factors"),
            (_Extra(cudagraph_manager=object()), "runs as a CUDA graph"),
            (_Extra(ub_overlap_ag_fprop=True), "communicates while it computes"),
            (_Extra(token_dispatcher=MoEFlexTokenDispatcher()), "communicates (DeepEP or HybridEP)"),
            (_Extra(lambda x: _scale(x)), "uses operators from 'shop_of_test', which may communicate"),
            (_Extra(lambda x: torch.zeros_like(x).index_add(0, torch.arange(len(x)), x)), "the operator 'index_add'"),
            (_Extra(lambda x: torch.zeros_like(x).index_put((torch.arange(len(x)),), x, accumulate=True)),
             "the operator 'index_put'"),
            (_Extra(lambda x: x * (1 + random.random())), "uses random numbers of Python"),
            (_Counts(), "it changes its buffer 'calls'"),
            (_Varies(), "is not deterministic"),
        ]
        with rig_of(layers=1, microbatches=4, extra=[layer for layer, _ in cases]) as rig:
            for _ in range(60):
                rig.step()
            for number, (_, reason) in enumerate(cases, 1):
                said = [text for text in rig.messages if text.startswith("layer %d of " % number)]
                self.assertEqual(len(said), 1, (reason, rig.messages))
                self.assertIn(reason, said[0])
            self.assertGreater(rig.counts()["equal"], 0, "the other layer is checked")


    def test_backwards_are_left_out_alone(self):
        attention = _Extra(deterministic=False)
        attention.__class__ = type("FusedAttention", (_Extra,), {})
        hooked = _Extra()
        hooked.own.register_hook(lambda gradient: None)
        cases = [
            (_Extra(gradient_accumulation_fusion=True), "accumulates its weight gradients in a buffer"),
            (_Extra(wgrad_store=types.SimpleNamespace(enabled=True)), "computes its weight gradients later"),
            (attention, "has an attention whose backward is not deterministic"),
            (hooked, "has hooks on its weight gradients"),
            (_Extra(lambda x: x.gather(1, torch.zeros_like(x, dtype=torch.int64))), "the operator 'scatter_add'"),
            (_backward(_scale), "uses operators from 'shop_of_test', which may communicate"),
            (_backward(lambda gradient: gradient * (1 + 1e-3 * _Varies.chance.random())), "is not deterministic"),
            (_Fused(), "fails when it is run again (AttributeError"),
        ]
        with rig_of(layers=1, microbatches=4, extra=[layer for layer, _ in cases]) as rig:
            for layer, _ in cases:
                layer.own.main_grad = torch.zeros(1)
            for _ in range(90):
                rig.step()
            for number, (_, reason) in enumerate(cases, 1):
                said = [text for text in rig.messages if "layer %d of " % number in text and "again on" not in text]
                self.assertEqual(len(said), 1, (reason, rig.messages))
                self.assertTrue(said[0].startswith("the backward of layer"), said)
                self.assertIn(reason, said[0])
            self.assertEqual(rig.counts()["units"], 2 + len(cases))
            self.assertEqual(cases[-1][0].own.main_grad.item(), 90 * 4, "only the job adds to it")

    def test_attention_of_pytorch_is_allowed_if_the_job_asks_for_determinism(self):
        from bubblescope_adapters.torch_framework import CannotRepeat, KnownOperators

        name = "_scaled_dot_product_flash_attention_backward"
        call = lambda: KnownOperators(True).__torch_dispatch__(_Function(name), (), (torch.ones(1),))
        self.assertRaisesRegex(CannotRepeat, "unless the job calls torch.use_deterministic_algorithms", call)
        torch.use_deterministic_algorithms(True)
        try:
            self.assertEqual(call(), "called")
        finally:
            torch.use_deterministic_algorithms(False)


class _Function:
    """An operator of PyTorch for GPUs."""

    namespace = "aten"

    def __init__(self, name):
        self.overloadpacket = types.SimpleNamespace(__name__=name)

    def __call__(self, *_):
        return "called"


class RepetitionTest(unittest.TestCase):
    """PyTorch runs backwards on a GPU, and their hooks, in a thread of its own."""

    def setUp(self):
        grad = torch.autograd.grad

        def elsewhere(*args, **kwargs):
            results = []
            thread = threading.Thread(target=lambda: results.append(grad(*args, **kwargs)))
            thread.start()
            thread.join()
            return results[0]

        torch.autograd.grad = elsewhere
        self.addCleanup(setattr, torch.autograd, "grad", grad)

    def kept_of(self, kind):
        from bubblescope_adapters.device import host
        from bubblescope_adapters.layers import Layer

        layer, kept = Layer("linear", nn.Linear(4, 4), 0, 0, host), []
        layer.watch(kind, lambda one: kept.append(one) or one)
        layer.module.weight.main_grad = torch.zeros(4, 4)
        output = layer.module(torch.ones(2, 4, requires_grad=True))
        kept[0].listen()
        output.backward(torch.full((2, 4), 3.0))
        return layer, kept[0]

    def test_gradients_of_repetitions_are_not_taken_for_those_of_the_job(self):
        from bubblescope_adapters.held_data import HeldGradients
        from bubblescope_adapters.layers import KeptGradients, digests

        for kind in (KeptGradients, HeldGradients):
            layer, kept = self.kept_of(kind)
            hooked, before = list(kept.results), layer.module.weight.grad.clone()
            again = layer.repeat(kept, "B")
            self.assertEqual(len(kept.results), len(hooked), kind)  # it still listens
            self.assertEqual(digests(again), digests(kept.first("B")))
            self.assertEqual(len(again), 2)
            self.assertTrue(torch.equal(layer.module.weight.grad, before))
            self.assertFalse(layer.module.weight.main_grad.any())
            self.assertIs(layer.weights[0], layer.module.weight)


class HashTest(unittest.TestCase):
    def test_each_bit_and_the_place_of_a_part_count(self):
        from bubblescope_adapters.comparison import hashes

        for shape in ((3,), (8, 16), (64, 64)):
            for kind in (torch.float32, torch.bfloat16, torch.float64):
                tensor = torch.randn(shape, dtype=kind)
                whole = hashes(tensor)
                for bit in range(8 * tensor.element_size()):
                    flipped = tensor.clone()
                    flipped.view(torch.uint8).view(-1)[bit // 8] ^= 1 << bit % 8
                    self.assertFalse(torch.equal(hashes(flipped), whole), (shape, kind, bit))
                inside = torch.cat([torch.zeros(1, dtype=kind), tensor.reshape(-1)])[1:].view(shape)
                self.assertTrue(torch.equal(hashes(inside), whole), "wherever it is in memory")
        rows = torch.randn(64, 64)
        self.assertFalse(torch.equal(hashes(rows.flip(0)), hashes(rows)))
        self.assertFalse(torch.equal(hashes(rows.flip(1)), hashes(rows)), "words that are exchanged within a part")


class SplitRig(bubble_rig.Rig):
    """The order of 1F1B with split backwards, from a schedule file."""

    def schedule(self, microbatches):
        from torch.distributed.pipelining import schedules

        def row(rank):
            warm_up = bubble_rig.STAGES - rank - 1
            forwards = ["%dF%d" % (rank, number) for number in range(microbatches)]
            ops = forwards[:warm_up]
            for number in range(microbatches):
                ops += forwards[warm_up + number:][:1] + ["%dI%d" % (rank, number), "%dW%d" % (rank, number)]
            return ops

        rows = [row(rank) for rank in range(bubble_rig.STAGES)]
        return super().schedule(microbatches, lambda stage: _loaded(
            schedules._PipelineScheduleRuntime([stage], microbatches, loss_fn=lambda y, _: y.sum()), rows))


def _loaded(schedule, rows):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("\n".join([",".join(row) for row in rows]))
        file.flush()
        schedule._load_csv(file.name, format="compute_only")
    return schedule


class MegatronRig(bubble_rig.Rig):
    """The functions of Megatron-core that its adapter wraps, in the order of its 1F1B schedule. With batch_p2p_sync, as by
    default, the host waits for the device after each exchange."""

    synchronizes = True

    def schedule(self, microbatches):
        from bubblescope_adapters import megatron_core

        rig, data = self, self.data
        self.module.config = config = types.SimpleNamespace(finalize_model_grads_func=lambda *_: None)
        if rig.norm_ns is not None:  # as the sum of the gradients of tied embeddings
            config.finalize_model_grads_func = lambda *_: bubble_rig.dist.all_reduce(data)

        class P2PCommunicator:
            def _communicate(self, *, tensor_send_next, tensor_send_prev, recv_prev, recv_next, tensor_shape):
                received = [torch.empty_like(data).requires_grad_(is_input) if wanted else None
                            for wanted, is_input in ((recv_prev, True), (recv_next, False))]
                for into in received:
                    if into is not None:
                        rig.plant(into.data)
                if rig.synchronizes:
                    rig.device.current().synchronize()
                return received[0], received[1], None

        def forward_step(func, data, model, microbatches, tensor, store, config, current_microbatch=None, vp_stage=None):
            return [model(tensor)], 0

        def backward_step(input_tensor, output_tensor, gradient, model_type, config):
            torch.autograd.backward(output_tensor, [gradient])
            return [input_tensor.grad]

        def forward_backward_pipelining_without_interleaving(*, model, num_microbatches, **_):
            steps, p2p, kept = types.SimpleNamespace(**vars(schedules)), P2PCommunicator(), {}
            warm_up = bubble_rig.STAGES - bubble_rig.RANK - 1

            def exchange(output=None, gradient=None, recv_prev=False, recv_next=False):
                return p2p._communicate(tensor_send_next=output, tensor_send_prev=gradient, recv_prev=recv_prev,
                                        recv_next=recv_next, tensor_shape=None)

            def forward(number, x):
                outputs, _ = steps.forward_step(None, None, model, num_microbatches, x, [], None, current_microbatch=number)
                rig.end_op()
                kept[number] = x, outputs
                return outputs[0]

            def backward(number, gradient):
                x, outputs = kept.pop(number)
                gradient = steps.backward_step(x, outputs, gradient, None, None)[0]
                rig.end_op()
                return gradient

            for number in range(warm_up):
                exchange(output=forward(number, exchange(recv_prev=True)[0]))
            x = exchange(recv_prev=True)[0]
            for number in range(warm_up, num_microbatches):  # each exchange sends a result and receives the next input
                gradient = exchange(output=forward(number, x), recv_next=True)[1]
                gradient = backward(number - warm_up, gradient)
                x = exchange(gradient=gradient, recv_prev=number + 1 < num_microbatches)[0]
            for number in range(num_microbatches - warm_up, num_microbatches):
                exchange(gradient=backward(number, exchange(recv_next=True)[1]))
            config.finalize_model_grads_func([model])

        schedules = types.SimpleNamespace(
            forward_step=forward_step, backward_step=backward_step, get_schedule_table=None,
            forward_backward_no_pipelining=lambda **_: None,
            forward_backward_pipelining_with_interleaving=lambda **_: None,
            forward_backward_pipelining_without_interleaving=forward_backward_pipelining_without_interleaving)
        core = "megatron.core."
        modules = {
            core + "pipeline_parallel.p2p_communication": types.SimpleNamespace(P2PCommunicator=P2PCommunicator),
            core + "utils": types.SimpleNamespace(get_model_config=lambda model: model.config),
            core + "parallel_state": types.SimpleNamespace(
                get_pipeline_model_parallel_rank=lambda: bubble_rig.RANK,
                get_pipeline_model_parallel_world_size=lambda: bubble_rig.STAGES),
        }
        sys.modules.update(modules)
        self.adapt(megatron_core, schedules, "0.16")
        return lambda: schedules.forward_backward_pipelining_without_interleaving(
            model=self.module, num_microbatches=microbatches, seq_length=1, micro_batch_size=1)


class MegatronTest(unittest.TestCase):
    def test_checks_find_flips_without_delays_whether_or_not_the_host_waits(self):
        for synchronizes in (True, False):
            kind = type("Rig", (MegatronRig,), {"synchronizes": synchronizes})
            with rig_of(kind=kind, microbatches=4) as rig:
                self.assertIsNotNone(rig.begin(), rig.messages)
                self.assertEqual(rig.clean(60, always)["mismatched"], 0)
                self.assertLess(max(rig.pairs(2, 9, always)), 0.005, synchronizes)
                self.assertIsNotNone(rig.flip(7, 100, always), synchronizes)


    def test_the_reduction_of_gradients_holds_checks(self):
        with rig_of(kind=MegatronRig, microbatches=4, bubble_ns=lambda place: 0, norm_ns=BUBBLE) as rig:
            self.assertIsNotNone(rig.begin(), rig.messages)
            places = rig.places()
            self.assertEqual(rig.clean(40, always)["mismatched"], 0)
            self.assertEqual(places, {8, 9}, "of the reduction and of the norm")


class RandomStateTest(unittest.TestCase):
    def test_generators_of_the_card_and_of_megatron_are_restored(self):
        from bubblescope_adapters.device import Cuda

        card, name = torch.Generator().manual_seed(1), "megatron.core.tensor_parallel.random"
        tracker = types.SimpleNamespace(states_={"model-parallel-rng": torch.Generator().manual_seed(2).get_state(),
                                                 "graphs": torch.Generator().manual_seed(3)})
        sys.modules[name] = types.SimpleNamespace(_CUDA_RNG_STATE_TRACKER=tracker)
        before = torch.cuda.get_rng_state, torch.cuda.set_rng_state
        torch.cuda.get_rng_state = lambda index: card.get_state()
        torch.cuda.set_rng_state = lambda state, index: card.set_state(state)
        try:
            device = Cuda(0)
            state = device.random_state()
            self.assertEqual(len(state), 4)

            def draw():
                tracked = torch.Generator()
                tracked.set_state(tracker.states_["model-parallel-rng"])
                drawn = [torch.rand(2), torch.rand(2, generator=card), torch.rand(2, generator=tracked),
                         torch.rand(2, generator=tracker.states_["graphs"])]
                tracker.states_["model-parallel-rng"] = tracked.get_state()
                return torch.cat(drawn)

            first = draw()
            self.assertFalse(device.same(device.random_state(), state))
            self.assertFalse(torch.equal(draw(), first))
            device.set_random_state(state)
            self.assertTrue(device.same(device.random_state(), state))
            self.assertTrue(torch.equal(draw(), first))
        finally:
            torch.cuda.get_rng_state, torch.cuda.set_rng_state = before
            del sys.modules[name]


class CaptureModeTest(unittest.TestCase):
    def test_the_driver_gets_the_relaxed_mode_and_then_the_one_before(self):
        from bubblescope_adapters.device import Cuda

        device, mode, seen = Cuda(0), [1], []

        def exchange(reference):
            asked = reference._obj
            mode[0], asked.value = asked.value, mode[0]
            seen.append(mode[0])
            return 0

        device._exchange = exchange
        with self.assertRaises(KeyError), device.apart():
            raise KeyError
        self.assertEqual(seen, [2, 1])
        device._exchange = None  # no driver
        with device.apart():
            pass


class DelaysTest(unittest.TestCase):
    def test_only_certain_delays_count(self):
        chance, noise, slow = random.Random(1), Delays(), Delays()
        for _ in range(16):
            for delays, more in ((noise, 0), (slow, 500)):
                delays.without("step", 10_000 + chance.gauss(0, 100))
                delays.with_checks("step", 10_000 + more + chance.gauss(0, 100))
        self.assertEqual(noise.of("step"), 0)
        self.assertAlmostEqual(slow.of("step"), 500, delta=150)
        slow.forget("step")
        self.assertEqual(slow.of("step"), 0)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
