# A job that is recorded without knowing of it. The first argument says what it does; FAKE_RANK which rank it is.
import os
import signal
import sys

what = sys.argv[1]
rank = int(os.environ.get("FAKE_RANK", "0"))


def torch_job():
    import torch.optim
    from torch.distributed.pipelining.schedules import ScheduleGPipe
    from torch.distributed.pipelining.stage import _PipelineStageBase

    stage = _PipelineStageBase(rank * 2 // int(os.environ.get("FAKE_WORLD", "2")), 2)
    schedule = ScheduleGPipe(stage, 3)
    for number in range(3):
        inputs = [torch.Tensor(shape=(6, 16), dtype=torch.int64)] if stage.is_first else []
        assert schedule.step(*inputs) == "the step's result"
        torch.optim.SGD().step()
        if number == 1:
            ScheduleGPipe(stage, 2, backward=False).step()  # an evaluation is not a step
    return stage


def torch_batches_job():
    from torch.distributed.pipelining.schedules import Schedule1F1B
    from torch.distributed.pipelining.stage import _PipelineStageBase

    Schedule1F1B(_PipelineStageBase(rank, 2), 3).step()


def loading_job():
    import gc

    import torch.optim
    from torch.distributed.pipelining.schedules import ScheduleGPipe
    from torch.distributed.pipelining.stage import _PipelineStageBase
    from torch.utils.data import DataLoader

    gc.disable()
    schedule = ScheduleGPipe(_PipelineStageBase(0, 1), 1)
    inputs = [torch.Tensor(shape=(6, 16), dtype=torch.int64)]
    schedule.step(*inputs)
    assert list(DataLoader([1, 2])) == [1, 2]
    gc.collect(0)
    gc.collect()
    schedule.step(*inputs)


def busy_job():
    import time

    from bubblescope_ranges import op, step

    for number in range(2):
        step()
        for microbatch in range(4):
            with op("F", microbatch, 0):
                end = time.process_time() + 0.08
                while time.process_time() < end:
                    pass


def megatron_job():
    import megatron.core.pipeline_parallel.schedules as schedules

    class Model:
        config = type("Config", (), {"microbatch_group_size_per_vp_stage": 2})

    for number in range(3):
        schedules.forward_backward_pipelining_with_interleaving(
            model=[Model(), Model()], num_microbatches=4, seq_length=32, micro_batch_size=2, forward_only=number == 1
        )


def megatron_combined_job():
    import megatron.core.pipeline_parallel.schedules as schedules

    class Model:
        config = type("Config", (), {"microbatch_group_size_per_vp_stage": 2, "overlap_moe_expert_parallel_comm": True})

    for _ in range(2):
        schedules.forward_backward_pipelining_with_interleaving(
            model=[Model(), Model()], num_microbatches=4, seq_length=32, micro_batch_size=2
        )


def dualpipe_job():
    import dualpipe
    import torch

    program = getattr(dualpipe, what)(int(os.environ.get("WORLD_SIZE", "1")))
    for _ in range(2):
        program.step(*([torch.Tensor(shape=(8, 16), dtype=torch.int64)] if rank == 0 else []))


def paddle_dualpipev_job():
    import paddle
    from paddle.distributed.fleet.meta_parallel.dualpipev import DualPipeVParallel

    pipeline = DualPipeVParallel()
    for _ in range(2):
        assert pipeline.train_batch((paddle.Tensor(shape=(16, 16), dtype=paddle.int64), None), None).item() == 3.5


def deepspeed_job():
    from deepspeed.runtime.pipe.engine import PipelineEngine

    engine = PipelineEngine()
    engine.train_batch()
    engine.eval_batch()
    engine.train_batch()


def paddle_job():
    import paddle
    from paddle.distributed.fleet.meta_parallel.pipeline_parallel import PipelineParallelWithInterleave

    pipeline = PipelineParallelWithInterleave()
    data = (paddle.Tensor(shape=(12, 16), dtype=paddle.int64), None)
    assert pipeline.train_batch(data, None).item() == 2.5
    pipeline.eval_batch(data)
    pipeline.train_batch(data, None)


def paddle_overlapped_job():
    from paddle.distributed.fleet.meta_parallel.pipeline_parallel import PipelineParallelWithInterleave

    pipeline = PipelineParallelWithInterleave(overlap_schedule_mode=True)
    for _ in range(2):
        pipeline.train_batch(None, None)


def profiled_job():
    import ctypes

    import torch.autograd.profiler as profiler

    ctypes.CDLL(os.environ["BUBBLESCOPE_INJECT_LIBRARY"]).InitializeInjection()  # as CUDA does
    profiler._prepare_profiler("hosts", {profiler.ProfilerActivity.CPU})
    profiler._prepare_profiler("kernels", {profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA})


def own_job():
    from bubblescope_ranges import op, step, transfer

    for number in range(2):
        step(schedule="ours", tokens=64 if rank == 0 else None, previous_loss=4.5 if rank == 1 else None)
        for i in range(2):
            if rank == 1:
                with transfer("receive", "activation", microbatch=i, stage=rank, bytes=7):
                    pass
            with op("F", microbatch=i, stage=rank):
                pass
        for i in range(2):
            with op("B", microbatch=i, stage=rank):
                pass
        with op("O"):
            pass


def checks_job():
    """Two ranks with two stages each, whose layers compute a number; one layer draws it, another one computes its forward
    wrongly and a third one its backward. The gradients of one layer cannot be repeated."""
    import time
    import types

    layers, framework = [types.ModuleType(name) for name in ("layers", "torch_framework")]
    for module in (layers, framework):
        sys.modules["bubblescope_adapters." + module.__name__] = module
    from bubblescope_adapters import bubblescope_aadiff as aadiff
    from bubblescope_adapters import events
    from bubblescope_adapters.framework import CannotRepeat

    class Kept:
        bytes = 8

        def __init__(self, layer, x):
            self.layer, self.x, self.results = layer, x, {}

        def unchanged(self):
            return True

        def release(self):
            pass

        def has(self, kind):
            return kind in self.results

        def first(self, kind):
            return self.results[kind]

    class KeptGradients(Kept):
        listening = False

        def gives(self, kind):
            return True

        def listen(self):
            self.listening = True

        def unlisten(self):
            self.listening = False

    class Layer:
        random = False

        def __init__(self, name, module, stage, number, device):
            self.name, self.module, self.stage, self.number = name, module, stage, number
            self.shown, self.left_out, self.kept_bytes, self.watchers, self.calls = set(), set(), 0, [], 0
            self.spent = 0
            self.gradients = {}  # of micro-batches

        def is_open(self, kind):
            return kind not in self.shown | self.left_out

        def watch(self, kept, keep):
            self.watchers.append((kept, keep))

        def unwatch(self):
            self.watchers = []

        def compute(self, x, kind):
            self.calls += 1
            odd = {"F": (0, 1), "B": (0, 0)}[kind] == (self.stage, self.number)  # not deterministic
            number = (x + (self.calls if odd else 1)).to_bytes(8, "little")
            return {"output": [number]} if kind == "F" else {"input gradient": [number], "weight gradient": [number]}

        def forward(self, microbatch, x, wrong):
            watchers, self.watchers = self.watchers, []
            for make, keep in watchers:
                kept = keep(make(self, x))
                if isinstance(kept, KeptGradients):
                    self.gradients[microbatch] = kept
                elif kept is not None:
                    kept.results["F"] = {"output": [(x + 4097).to_bytes(8, "little")]} if wrong else self.compute(x, "F")

        def backward(self, microbatch, x, wrong):
            kept = self.gradients.pop(microbatch, None)
            if kept is not None:
                assert kept.listening
                kept.results["B"] = self.compute(x, "B")
                if wrong:
                    kept.results["B"]["weight gradient"] = [((x + 1) ^ 256).to_bytes(8, "little")]

        def repeat(self, kept, kind, over=None):
            time.sleep(0.0002)
            return self.compute(kept.x, kind)

        def try_out(self, kept, kind):
            if self.repeat(kept, kind) != self.repeat(kept, kind):
                raise CannotRepeat("is not deterministic")
            self.shown.add(kind)

    def difference(first, again):
        return first[0], again[0], "bits64"

    layers.Layer, layers.difference = Layer, difference
    framework.is_compiled, framework.PARALLEL_BACKWARDS = lambda module: False, True
    layers.Kept, layers.KeptGradients, layers.spare = Kept, KeptGradients, {}
    layers.digest = lambda tensors: aadiff.digest(tensors[0])
    layers.digests = lambda results: {name: layers.digest(tensors) for name, tensors in results.items()}
    layers.split = lambda module: [("layer %d" % number, number) for number in range(module)]
    from bubblescope_adapters.bubble_checks import BubbleChecks
    from bubblescope_adapters.rank_checks import Pipeline

    order = ["0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1", "1F0,1F1,3F0,3F1,3B0,3B1,1B0,1B1"]
    stages = [(rank, 2 + rank), (rank + 2, 2 + rank)]  # each with its number of layers
    pipeline = Pipeline(rank=rank, pp=2, microbatches=2, order="\n".join(order), stages=stages)
    checks = BubbleChecks(pipeline, *events.checks(), device=None)
    for name, value in (("framework", "fake"), ("pp", "%d/2" % rank), ("rank", rank),
                        ("check_layers", checks.description()), ("check_device", "GPU-3f (cuda:%d)" % rank)):
        events.state(name, value)
    for step in range(24):
        events.steps.begin()
        checks.begin_step(events.steps.number)
        for op in order[rank].split(","):
            stage, kind, microbatch = int(op[0]), op[1], int(op[2])
            if kind == "B":
                checks.fill(lambda: time.sleep(0.02))
            start = checks.began(kind, stage, microbatch)
            with events.Range(op.encode()):
                time.sleep(0.001)
                for layer in checks._layers[stage // 2]:
                    if layer is None:
                        continue
                    run, wrong = (layer.forward, (2, 1)) if kind == "F" else (layer.backward, (3, 0))
                    run(microbatch, 1000 * stage + microbatch, (stage, layer.number) == wrong and step >= 12)
            checks.ended(kind, stage, microbatch, start)
        checks.fill(lambda: time.sleep(0.01))
        checks.end_step()


if what == "torch":
    torch_job()
elif what == "torch_batches":
    torch_batches_job()
elif what == "loading":
    loading_job()
elif what == "busy":
    busy_job()
elif what == "checks":
    checks_job()
elif what == "megatron":
    megatron_job()
elif what == "megatron_combined":
    megatron_combined_job()
elif what in ("DualPipe", "DualPipeV"):
    dualpipe_job()
elif what == "paddle_dualpipev":
    paddle_dualpipev_job()
elif what == "paddle_overlapped":
    paddle_overlapped_job()
elif what == "deepspeed":
    deepspeed_job()
elif what == "paddle":
    paddle_job()
elif what == "profiled":
    profiled_job()
elif what == "own":
    own_job()
elif what == "raises":
    stage = torch_job()
    try:
        stage.forward_one_chunk(8, (), "raise")
    except ArithmeticError:
        stage.forward_one_chunk(9)
    stage.forward_one_chunk(8, (), "raise")
elif what == "killed":
    torch_job()
    os.kill(os.getpid(), signal.SIGKILL)
elif what == "leaves":
    torch_job()
    os._exit(7)
elif what == "forks":
    torch_job()
    child = os.fork()
    if child == 0:
        torch_job()
        sys.exit(5)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) + 1)
elif what == "looks":  # what a process sees of the recording
    print(sys.path[1:], [name for name in sys.modules if "bubblescope" in name or name == "sitecustomize"])
