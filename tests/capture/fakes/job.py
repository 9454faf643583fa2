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
        assert schedule.step() == "the step's result"
        torch.optim.SGD().step()
        if number == 1:
            ScheduleGPipe(stage, 2, backward=False).step()  # an evaluation is no step
    return stage


def megatron_job():
    import megatron.core.pipeline_parallel.schedules as schedules

    class Model:
        config = type("Config", (), {"microbatch_group_size_per_vp_stage": 2})

    for number in range(3):
        schedules.forward_backward_pipelining_with_interleaving(
            model=[Model(), Model()], num_microbatches=4, forward_only=number == 1
        )


def deepspeed_job():
    from deepspeed.runtime.pipe.engine import PipelineEngine

    engine = PipelineEngine()
    engine.train_batch()
    engine.eval_batch()
    engine.train_batch()


def paddle_job():
    from paddle.distributed.fleet.meta_parallel.pipeline_parallel import PipelineParallelWithInterleave

    pipeline = PipelineParallelWithInterleave()
    pipeline.train_batch(None)
    pipeline.eval_batch(None)
    pipeline.train_batch(None)


def own_job():
    from bubblescope_ranges import op, step, transfer

    for _ in range(2):
        step(schedule="ours")
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


if what == "torch":
    torch_job()
elif what == "megatron":
    megatron_job()
elif what == "deepspeed":
    deepspeed_job()
elif what == "paddle":
    paddle_job()
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
