"""A PyTorch pipeline, paced: see pacing.py."""

import threading
import time

import torch
import torch.distributed as dist
import torch.distributed.pipelining.schedules as schedules
from pacing import WIDTH, begin, device, dtype, layers_of, loss_of, rank, ranks, run_steps, spec, stall, wait
from torch import nn
from torch.distributed.pipelining import PipelineStage

SCHEDULES = {
    "gpipe": ("ScheduleGPipe", 1),
    "1f1b": ("Schedule1F1B", 1),
    "interleaved": ("ScheduleInterleaved1F1B", 2),
    "interleaved4": ("ScheduleInterleaved1F1B", 4),
    "interleaved-zb": ("ScheduleInterleavedZeroBubble", 2),
    "interleaved-zb4": ("ScheduleInterleavedZeroBubble", 4),
    "zb-v": ("ScheduleZBVZeroBubble", 2),
}

SAMPLES = 4  # of a micro-batch

dist.init_process_group(begin())


class LateSend:
    """A transfer that leaves later, on a thread of its own: the sender goes on, as with a slow link."""

    def __init__(self, op, late_ms):
        self._thread = threading.Thread(target=self._send, args=(op, late_ms))
        self._thread.start()

    def _send(self, op, late_ms):
        time.sleep(late_ms * 1e-3)
        for work in post([op]):
            work.wait()

    def wait(self, *_):
        self._thread.join()


post = dist.batch_isend_irecv


def send_late_on_gpu(op, late_ms):
    slow.wait_stream(torch.cuda.current_stream())
    op.tensor.record_stream(slow)
    with torch.cuda.stream(slow):
        wait(late_ms)
        return post([op])


def post_late(ops):
    works = []
    for op in ops:
        late_ms = spec["links"].get(f"{rank}>{op.peer}", 0) if op.op is dist.isend else 0
        if late_ms and device.type == "cuda":
            works += send_late_on_gpu(op, late_ms)
        else:
            works += [LateSend(op, late_ms)] if late_ms else post([op])
    return works


if spec["links"]:
    slow = torch.cuda.Stream() if device.type == "cuda" else None
    dist.batch_isend_irecv = post_late
    schedules.dist.batch_isend_irecv = post_late

issue = schedules._batch_p2p


def receive_at_once(ops, **more):
    """As `dist.recv`: a batch of receives returns once the tensors are there, even if the next op does not need them."""
    works = issue(ops, **more)
    if not ops or any(op.op is not dist.irecv for op in ops):
        return works
    schedules._wait_batch_p2p(works)
    return []


if rank in spec["blocking_receives"]:
    schedules._batch_p2p = receive_at_once

name, chunks = SCHEDULES[spec["schedule"]]
count = ranks * chunks
if spec["schedule"] == "zb-v":
    mine = [rank, 2 * ranks - 1 - rank]
else:
    mine = [rank + chunk * ranks for chunk in range(chunks)]
modules = [nn.Sequential(*layers_of(stage, count)) for stage in mine]
stages = [PipelineStage(module, stage, count, device) for module, stage in zip(modules, mine)]
if spec["file"]:
    runtime = schedules._PipelineScheduleRuntime(stages, spec["microbatches"], loss_fn=loss_of)
    runtime._load_csv(spec["file"])
else:
    runtime = getattr(schedules, name)(
        stages[0] if chunks == 1 else stages, spec["microbatches"], loss_fn=loss_of
    )
optimizer = torch.optim.SGD([p for module in modules for p in module.parameters()], 1e-3)
rows = (spec["transformer"]["sequence"], spec["transformer"]["hidden"]) if spec["transformer"] else (WIDTH,)
batch, target = (torch.randn(spec["microbatches"] * SAMPLES, *rows, device=device, dtype=dtype) for _ in range(2))


class Samples(torch.utils.data.Dataset):
    """One batch per step, whose loading may take time."""

    def __len__(self):
        return spec["steps"]

    def __getitem__(self, _):
        stall()
        return batch


def run_step(samples):
    optimizer.zero_grad()
    runtime.step(*((samples,) if 0 in mine else ()), **({"target": target} if count - 1 in mine else {}))
    optimizer.step()


run_steps(run_step, torch.utils.data.DataLoader(Samples(), batch_size=None))
