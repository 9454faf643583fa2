#!/usr/bin/env python3
"""A pipeline of PyTorch that checks itself in its bubbles: 1F1B over gloo on the CPU, a process a rank.

    python3 aadiff_torch.py --out my-run                  # trains, checks, writes a trace
    python3 aadiff_torch.py --out my-run --flip 2:1:1     # bits flip in step 2 on rank 1, layer 1
    bubblescope analyze my-run                            # what was covered, and what was found

Needs PyTorch (any since 1.13) and bubblescope_aadiff.py with its library on the PYTHONPATH.
"""

import argparse
import json
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import bubblescope_aadiff as aadiff

ROWS, WIDTH, LAYERS = 32, 64, 2


class Flip:
    """Flips one bit of a layer's outputs in one step: what a faulty multiplier does for a while."""

    def __init__(self, text):
        self.step, self.rank, self.layer = (int(part) for part in text.split(":")) if text else (-1, -1, -1)

    def strike(self, step, rank, layer, tensor):
        if (step, rank, layer) != (self.step, self.rank, self.layer):
            return tensor
        struck = tensor.detach().clone()
        struck.view(-1).view(torch.int32)[5] ^= 1 << 20
        return tensor + (struck - tensor).detach()  # keeps the graph


class Stage:
    """The layers of one rank, with what checks need of them."""

    def __init__(self, rank, pp, session, flip):
        torch.manual_seed(rank)
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())
                                          for _ in range(LAYERS))
        self.optimizer = torch.optim.SGD(self.layers.parameters(), lr=0.01)
        self.rank, self.last, self.session, self.flip = rank, rank == pp - 1, session, flip
        self.step, self.kept, self.passes, self.mismatches = 0, {}, {}, []

    def forward(self, microbatch, x):
        with self.session.op("F", microbatch) as op:
            x = x.requires_grad_(self.rank > 0)
            first = x
            for number, layer in enumerate(self.layers):
                if op.wanted(number):
                    self.kept[microbatch, number] = x.detach().clone()
                x = self.flip.strike(self.step, self.rank, number, layer(x))
                op.computed(number, "output", aadiff.digest(x))
                if op.wanted(number):
                    self.kept[microbatch, number, "output"] = x.detach().clone()
            self.passes[microbatch] = first, x
        return x.detach()

    def backward(self, microbatch, gradient):
        first, out = self.passes.pop(microbatch)
        with self.session.op("B", microbatch) as op:
            if self.last:
                out.square().mean().backward()
            else:
                out.backward(gradient)
            if first.grad is not None:
                op.computed(0, "input gradient", aadiff.digest(first.grad))
        return first.grad

    def replay(self, task):
        """Computes a layer's forward again on its inputs; backwards are left to frameworks that can."""
        if task.kind != "F":
            task.give_up()
            return
        compute = lambda: self.layers[task.layer](self.kept[task.microbatch, task.layer])
        with task, torch.no_grad():
            again = compute()
        if task.compare("output", aadiff.digest(again)):
            return
        with torch.no_grad():
            repeats = [aadiff.digest(compute()) for _ in range(2)]
        self.session.difference(self.kept[task.microbatch, task.layer, "output"], again, "float32")
        self.mismatches.append({"step": self.step, "rank": self.rank, "layer": task.layer,
                                "microbatch": task.microbatch, "verdict": self.session.repeated(repeats)})

    def bubble(self, transfer):
        """Fills the time until a receive is there; sends were issued before."""
        for task in self.session.tasks():
            self.replay(task)
            if transfer is not None and transfer.is_completed():
                break
        if transfer is not None:
            transfer.wait()


def receive(source, stage):
    buffer = torch.empty(ROWS, WIDTH)
    stage.bubble(dist.irecv(buffer, source))
    return buffer


def run_step(stage, pp, microbatches, sends):
    rank = stage.rank
    data = torch.Generator().manual_seed(1000 + stage.step)
    batches = [torch.randn(ROWS, WIDTH, generator=data) for _ in range(microbatches)]

    def forward(microbatch):
        x = batches[microbatch] if rank == 0 else receive(rank - 1, stage)
        out = stage.forward(microbatch, x)
        if not stage.last:
            sends.append((dist.isend(out, rank + 1), out))

    def backward(microbatch):
        gradient = None if stage.last else receive(rank + 1, stage)
        out = stage.backward(microbatch, gradient)
        if rank > 0:
            sends.append((dist.isend(out, rank - 1), out))

    with stage.session.step(stage.step):
        stage.optimizer.zero_grad()
        warm_up = min(microbatches, pp - rank - 1)
        for microbatch in range(warm_up):
            forward(microbatch)
        for microbatch in range(warm_up, microbatches):
            forward(microbatch)
            backward(microbatch - warm_up)
        for microbatch in range(microbatches - warm_up, microbatches):
            backward(microbatch)
        stage.bubble(None)
        for transfer, _ in sends:
            transfer.wait()
        sends.clear()
        stage.optimizer.step()
    stage.step += 1
    stage.kept.clear()


def run_rank(rank, options, rendezvous, results):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=options.pp)
    session = aadiff.Session("1f1b", rank=rank, pp=options.pp, microbatches=options.microbatches,
                             layers_per_stage=LAYERS, directory=options.out,
                             forward_ns=int(options.op_time * 1e9), backward_ns=int(2 * options.op_time * 1e9))
    stage = Stage(rank, options.pp, session, Flip(options.flip))
    for _ in range(options.steps):
        run_step(stage, options.pp, options.microbatches, [])
        dist.barrier()
    results[rank] = {"mismatches": stage.mismatches, **session.counts()}
    session.close()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pp", type=int, default=3)
    parser.add_argument("--microbatches", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--op-time", type=float, default=0.0, help="seconds of a forward; 0 = watched first")
    parser.add_argument("--flip", default="", metavar="STEP:RANK:LAYER", help="plants bit flips")
    parser.add_argument("--out", required=True, help="folder for the trace")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(run_rank, (options, os.path.join(folder, "rendezvous"), results), nprocs=options.pp)
        results = dict(results)
    print(json.dumps({"mismatches": [found for rank in sorted(results) for found in results[rank].pop("mismatches")],
                      "ranks": [results[rank] for rank in sorted(results)]}))


if __name__ == "__main__":
    main()
