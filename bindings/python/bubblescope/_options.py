"""Keywords shared by several functions."""

from __future__ import annotations

import datetime
import functools
import inspect
import os
from typing import Any, Callable, Sequence, TypedDict, TypeVar, Union

Path = Union[str, "os.PathLike[str]"]
Time = Union[int, str, datetime.timedelta]  # integer nanoseconds, "1.5ms", or a timedelta
Size = Union[int, str]  # integer bytes, or "80GiB"


class SizeKeywords(TypedDict, total=False):
    pp: int  # number of pipeline ranks
    microbatches: int  # per step
    vpp: int  # chunks per rank (1; 2 for families that need two)


class OrderKeywords(SizeKeywords, total=False):
    schedule_file: Path  # JSON or PyTorch's CSV, instead of a name
    flavor: str  # framework whose variant to use, if frameworks differ
    group_size: int  # micro-batches per group
    memory_limit: int  # limit of held activations per rank, in forward ops of one chunk
    activation_sizes: Sequence[int] # activations that a forward allocates, and that its input and weight gradients free
    sequence_slices: int  # per sequence
    encoders: str  # pipeline ranks of one or two encoders before the trunk, such as "2+1" or "2:800us@dp4"


class TimeKeywords(TypedDict, total=False):
    op_costs: Path  # cost model of a layer's operators
    pair_cuts: str  # how a framework interleaves a pair, such as "paddle"
    stage_times: Path  # op times per stage, JSON or CSV
    forward: Time  # duration of one forward op (1 ms)
    backward: Time  # duration of one complete backward op (twice the forward)
    input_grad: Time
    weight_grad: Time
    overlapped: Time  # duration of an overlapped forward-backward pair (their sum)
    all_reduce: Time  # exposed time in forward and input-gradient ops that run alone (0)
    comm: Time  # latency of a transfer between ranks (0)
    loss: Time  # extra time of the last stage (0)


class TransferKeywords(TypedDict, total=False):
    activation_bytes: Size  # size of the tensor that a stage sends to the next stage
    gradient_bytes: Size  # size of the gradient that a stage sends back (same as the activation)
    bandwidth: str  # such as "50GB/s" (unlimited)
    links: Path  # links with a different latency or bandwidth, JSON or CSV
    comm_streams: str  # kind of queue for transfers: "unlimited", "direction", "link", "rank"
    sends: str  # "async", "blocking", "paired", "batched"
    comm_overlap: bool  # False if transfers block the sending rank


class MemoryKeywords(TypedDict, total=False):
    memory_model: Path  # tensor sizes of the model's layers, JSON
    memory_budget: Size  # per rank


class ScheduleKeywords(OrderKeywords, TimeKeywords, TransferKeywords, total=False):
    op_times: Path  # measured times of single ops, JSON or CSV
    slices: str  # division of sequences into slices: "balanced", "even", "redistributed"
    attention: float  # share of attention in the op time of a complete sequence, with slices (0)


class SimulateKeywords(ScheduleKeywords, MemoryKeywords, total=False):
    pass


class ValidateKeywords(MemoryKeywords, total=False):
    memory_limit: int  # limit of held activations per rank
    sends: str  # "async", "blocking", "paired", "batched"


class LoadKeywords(OrderKeywords, MemoryKeywords, total=False):
    schedule: str  # schedule that the trace should contain; sizes may be omitted
    rules: Union[Path, Sequence[Path]]  # files with additional rules for op names and lanes
    rank_of: Union[str, Sequence[str]]  # "PATTERN=RANK": rank of files and processes, by name
    mesh: str  # parallel sizes of the job, such as "pp=4,dp=2,tp=2"
    mesh_order: str  # numbering order of the ranks in the mesh
    steps: Union[int, str, Sequence[Union[int, str]]]  # only these steps, such as 3, "5-9" or "809/0"
    replicas: Union[int, Sequence[int]]  # only these data-parallel replicas
    ranks: Union[int, Sequence[int]]  # pipeline ranks to show in tables and documents
    clocks: str  # "auto", "align", "off"
    thresholds: Union[Path, "dict[str, Any]"]  # thresholds of findings: a JSON file, or names and values


class ModelKeywords(TypedDict, total=False):
    layers: Union[str, Sequence[int]]  # layers per stage, or a layout in a framework's notation
    input_share: float  # percentage of input gradients in a complete backward (50)
    max_error: float  # error if the replay error exceeds this percentage


class AdviseKeywords(ModelKeywords, MemoryKeywords, total=False):
    search_time: Time  # time limit of the search for an order (10 s); 0 = no search


class DiffKeywords(TypedDict, total=False):
    alpha: float  # probability of reporting a change if there is none (0.05)
    least: float  # smallest relative change to report (0.005)


class SearchKeywords(SizeKeywords, TimeKeywords, TransferKeywords, total=False):
    memory_limit: Union[int, Sequence[int]]  # limit of held activations, for all ranks or per rank
    memory_model: Path  # tensor sizes of the model's layers, JSON
    memory_budget: Union[Size, Sequence[Size]]  # for all ranks, or per rank
    placement: str  # "any", "loop", "v"
    op_times: Path  # times of single ops, JSON or CSV
    second: Path  # stage times of a second model in the opposite direction; if it has fewer stages, copies of it run
    second_microbatches: int  # micro-batches of each copy (by default, the same total as for the first model)
    overlap_pairs: bool  # allow overlapped pairs of a forward and a backward
    split_backward: str  # "auto", "on", "off"
    noise: str  # relative variation of op times, such as "5%"
    time_limit: Time  # time limit of the search (10 s)
    rounds: int  # maximum number of rounds; makes the result reproducible
    seed: int
    threads: int  # number of threads (all cores)


Function = TypeVar("Function", bound=Callable[..., Any])


def keywords_of(kind: type) -> "dict[str, Any]":
    """Keywords of a kind and its bases, in order."""
    return {name: getattr(annotation, "__forward_arg__", annotation) for name, annotation in kind.__annotations__.items()}


def takes(kind: type) -> Callable[[Function], Function]:
    """Checks the names of keyword arguments, and makes them visible to help() and editors."""
    known = keywords_of(kind)

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
            unknown = [name for name in options if name not in accepted]
            if unknown:
                raise TypeError(f"{function.__name__}() has no keyword {unknown[0]!r}; known keywords: {', '.join(accepted)}")
            return function(*arguments, **options)

        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
                 for name, annotation in known.items()]
        checked.__signature__ = signature.replace(parameters=own + added)  # type: ignore[attr-defined]
        accepted = [each.name for each in own + added if each.kind is not inspect.Parameter.POSITIONAL_ONLY]
        return checked  # type: ignore[return-value]

    return wrap
