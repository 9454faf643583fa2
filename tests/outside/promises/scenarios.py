"""The faults that promises.py plants, and the right answers: the cause to be named first, the fix, and the statement of its gain."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Scenario:
    name: str
    before: dict  # what the job runs with, see pacing.DEFAULTS
    after: dict | None  # the job with the fix; None: the split that the answer proposes, or with `order` the order
    cause: dict | None = None  # members of the answer's first statement of class "time"; None: there is none to name
    changes: tuple = ()  # of `whatif`; none: the answer's own gain
    ranks: int = 4
    job: str = "pytorch"  # or "megatron", "deepspeed": the job of that name; "run": a run of our own
    mean: bool = False  # the mean period counts, not the median: the repaired fault does not occur in each step
    kinds: tuple = field(default=())  # of statements that are right, if several are
    order: bool = False  # the fix is the order that `advise` finds
    advised: str = ""  # the change that `advise` must recommend, whose gain it states


def slow_rank(rank, factor, **rest):
    return {"rank_times": {str(rank): factor}, **rest}


def scenarios():
    base = {}
    slow = {"head": 2.4}
    list_ = [
        Scenario("last stage with a head of 2.4 layers, as fast as the rest", slow, base, {"rank": 3}, ("stage:3=usual",)),
        Scenario("last stage with a head of 2.4 layers, new split", slow | {"layers": [4, 4, 4, 4]}, None, {"rank": 3}),
        Scenario("last stage with a head of 2.4 layers, found order", slow, None, {"rank": 3}, order=True),
        Scenario("layers 6,4,3,3, new split", {"layers": [6, 4, 3, 3]}, None, {"rank": 0}),
    ]
    for rank in range(4):
        list_.append(Scenario(f"rank {rank} 1.3 x slower", slow_rank(rank, 1.3), base, {"rank": rank},
                              (f"rank:{rank}=usual",)))
    for rank in range(2):
        list_.append(Scenario(f"rank {rank} of 2 1.3 x slower", slow_rank(rank, 1.3), base, {"rank": rank},
                              (f"rank:{rank}=usual",), ranks=2))
    for link in ("0>1", "1>2", "2>1", "3>2"):
        sender, receiver = (int(end) for end in link.split(">"))
        cause = {"kind": "slow-link", "rank": sender, "peer": receiver}
        list_.append(Scenario(f"link {link} 15 ms slower", {"links": {link: 15}}, base, cause))
    both = {"links": {"1>2": 15, "2>1": 15}}
    list_ += [
        Scenario("link 1-2 15 ms slower both ways", both, base, {"kind": "slow-link"},
                 ("link:1-2=usual", "link:2-1=usual")),
        Scenario("rank 2 1.3 x and link 0>1 15 ms slower", slow_rank(2, 1.3, links={"0>1": 15}), base, None,
                 ("rank:2=usual", "link:0-1=usual")),
        Scenario("rank 1 pauses 300 ms every 5th step", {"hiccup": [1, 5, 300]}, base, {"rank": 1}, mean=True),
        Scenario("rank 1 pauses 40 ms at random", {"pauses": [1, 0.02, 40]}, base, {"rank": 1}, mean=True),
        Scenario("rank 0 loads data for 60 ms", {"stall": [0, 60]}, base, {"rank": 0}),
        Scenario("rank 2 collects garbage for 80 ms", {"collect": [2, 2, 80]}, base, {"rank": 2}, mean=True),
        Scenario("rank 0 waits where it posts receives", {"schedule": "interleaved", "blocking_receives": [0]},
                 {"schedule": "interleaved"}, {"kind": "blocking-receive", "rank": 0}),
        Scenario("all ranks wait where they post receives", {"schedule": "interleaved", "blocking_receives": [0, 1, 2, 3]},
                 {"schedule": "interleaved"}, {"kind": "blocking-receive"}, advised="blocked=0"),
        Scenario("GPipe to 1F1B", {"schedule": "gpipe"}, base, None, ("schedule=1f1b",)),
        Scenario("1F1B to GPipe", base, {"schedule": "gpipe"}, None, ("schedule=gpipe",)),
        Scenario("1F1B to interleaved, v = 2", base, {"schedule": "interleaved"}, None,
                 ("schedule=interleaved/torch", "vpp=2")),
        Scenario("1F1B to interleaved, v = 4", base, {"schedule": "interleaved4"}, None,
                 ("schedule=interleaved/torch", "vpp=4")),
        Scenario("1F1B to interleaved-zb, v = 2", base, {"schedule": "interleaved-zb"}, None,
                 ("schedule=interleaved-zb/torch", "vpp=2")),
        Scenario("1F1B to interleaved-zb, v = 4", base, {"schedule": "interleaved-zb4"}, None,
                 ("schedule=interleaved-zb/torch", "vpp=4")),
        Scenario("1F1B to zb-v", base, {"schedule": "zb-v"}, None, ("schedule=zb-v/torch", "vpp=2")),
        Scenario("twice the micro-batches", base, {"microbatches": 16}, None, ("microbatches=16",)),
    ]
    return list_ + megatron(base) + deepspeed(base)


ON_GPU = ("last stage with a head of 2.4 layers, as fast as the rest", "last stage with a head of 2.4 layers, found order",
          "rank 2 1.3 x slower", "link 0>1 15 ms slower", "all ranks wait where they post receives", "GPipe to 1F1B", "1F1B to interleaved, v = 2", "1F1B to zb-v")


def on_gpu():
    """PyTorch's jobs with all ranks on one GPU."""
    launches = {"launches": {"1": 400}, "forward_ms": 1.0}
    list_ = [Scenario("rank 1 launches 400 small kernels a layer", launches, launches | {"launches": {}}, {"rank": 1},
                      ("rank:1=usual",))]
    list_ += [scenario for scenario in scenarios() if scenario.name in ON_GPU]
    gpu = {"device": "cuda"}
    return [replace(one, before=one.before | gpu, after=None if one.after is None else one.after | gpu) for one in list_]


def megatron(base):
    two = {"job": "megatron", "ranks": 2}
    head = {"head": 2.4}
    return [
        Scenario("Megatron-core: last stage with a head of 2.4 layers", head, base, {"rank": 1}, ("stage:1=usual",), **two),
        Scenario("Megatron-core: the same, new split", head | {"layers": [4, 4]}, None, {"rank": 1}, **two),
        Scenario("Megatron-core: rank 0 1.3 x slower", slow_rank(0, 1.3), base, {"rank": 0}, ("rank:0=usual",), **two),
        Scenario("Megatron-core: 1F1B to interleaved, v = 2", base, {"schedule": "interleaved"}, None,
                 ("schedule=interleaved", "vpp=2"), **two),
        Scenario("Megatron-core: rank 0 loads data for 60 ms", {"stall": [0, 60]}, base, {"rank": 0}, **two),
    ]


def deepspeed(base):
    two = {"job": "deepspeed", "ranks": 2}
    return [
        Scenario("DeepSpeed: layers 5,3, new split", {"layers": [5, 3]}, None, {"rank": 0}, **two),
        Scenario("DeepSpeed: rank 1 1.3 x slower", slow_rank(1, 1.3), base, {"rank": 1}, ("rank:1=usual",), **two),
        Scenario("DeepSpeed: rank 0 loads data for 60 ms", {"stall": [0, 60]}, base, {"rank": 0}, **two),
    ]


def own_runs(full_speed):
    """For `bubblescope run`: ops that take nominal times, and with `full_speed` a model that computes, for GPUs."""
    base = {"schedule": "1f1b", "options": ["--forward", "4ms", "--backward", "8ms"]}
    halves = {"schedule": "interleaved", "options": ["--vpp", "2", "--forward", "2ms", "--backward", "4ms"]}

    def changed(*options, **rest):
        return base | {"options": base["options"] + list(options)} | rest

    own = {"job": "run"}
    list_ = [
        Scenario("rank 2 1.3 x slower", changed("--inject", "slow:rank=2,factor=1.3"), base, {"rank": 2},
                 ("rank:2=usual",), **own),
        Scenario("link 0>1 4 ms slower", changed("--inject", "link:0>1,latency=4ms"), base,
                 {"kind": "slow-link", "rank": 0, "peer": 1}, **own),
        Scenario("one op of rank 1 10 ms slower", changed("--inject", "op:F3,rank=1,add=10ms"), base, {"rank": 1}, **own),
        Scenario("last stage with a loss of 4 ms, found order", changed("--loss", "4ms"), None, {"rank": 3}, order=True,
                 **own),
        Scenario("F-then-B to 1F1B", changed(schedule="fthenb"), base, None, ("schedule=1f1b",), **own),
        Scenario("1F1B to ZB-H1", base, changed(schedule="zb-h1"), None, ("schedule=zb-h1",), **own),
        Scenario("1F1B to interleaved, v = 2", base, halves, None, ("schedule=interleaved", "vpp=2"), **own),
    ]
    if full_speed:
        gpt2 = {"schedule": "1f1b", "layers": [3, 3, 3, 3], "options": ["--no-pace", "--preset", "gpt2"]}
        list_ += [
            Scenario("gpt2, layers 5,3,2,2, new split", gpt2 | {"layers": [5, 3, 2, 2]}, None, {"rank": 0}, **own),
            Scenario("gpt2, 1F1B to ZB-H1", gpt2, gpt2 | {"schedule": "zb-h1"}, None, ("schedule=zb-h1",), **own),
            Scenario("gpt2, twice the micro-batches", gpt2, gpt2 | {"microbatches": 16}, None, ("microbatches=16",), **own),
        ]
    return list_
