"""Creates, simulates, validates and searches schedules."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import _core
from ._answers import MOST_DRAWN, Answer, escaped
from ._options import ScheduleKeywords, SearchKeywords, SimulateKeywords, ValidateKeywords, takes

if TYPE_CHECKING:
    from ._runs import Run

__all__ = ["Schedule", "Simulation", "SearchResult", "schedule", "simulate", "formula", "validate", "search"]


class Schedule(dict):  # type: ignore[type-arg]
    """An order of ops on every rank.

    The content of the dict is a JSON document: from schedule(), the output of `bubblescope schedule --json` with "ranks"; from
    Run.schedule, the "schedule" part of the run's document. Notebooks show a drawing of the step.
    """

    def __init__(self, document: "dict[str, Any]", order: _core.Order) -> None:
        super().__init__(document)
        self._order = order

    @property
    def order(self) -> "list[list[list[Any]]]":
        """Ops of each rank as [kind, microbatch, chunk], as in "ranks" of a schedule document."""
        return json.loads(self._order.json())["ranks"]

    def to_json(self) -> str:
        """Output of `bubblescope schedule --json`, which can be used as a --schedule-file."""
        return self._order.json()

    def to_csv(self) -> str:
        """The schedule in PyTorch's file format."""
        return self._order.csv()

    def simulate(self, **options: Any) -> "Simulation":
        """See simulate()."""
        return simulate(self, **options)

    def validate(self, **options: Any) -> Answer:
        """See validate()."""
        return validate(self, **options)

    def __str__(self) -> str:
        return self._order.chart()

    def __repr__(self) -> str:
        return f"<bubblescope.Schedule: {self._order.chart().splitlines()[0]}>"

    def _repr_svg_(self) -> Optional[str]:
        return self._order.svg() if self._order.op_count <= MOST_DRAWN else None

    def _repr_html_(self) -> str:
        return self._repr_svg_() or escaped(str(self))


class Simulation(Answer):
    """The output of `bubblescope simulate --json`. Notebooks show a drawing of the step."""

    def __init__(self, step: _core.SimulatedStep) -> None:
        super().__init__(step.answer())
        self._step = step

    @property
    def schedule(self) -> Schedule:
        """The simulated schedule."""
        order = self._step.order()
        return Schedule(json.loads(order.json()), order)

    def ops(self) -> _core.Table:
        """One row per op: step, replica, rank, kind, microbatch, chunk, sequence, stage, overlapped, start_ns, end_ns, …"""
        return self._step.ops()

    def bubbles(self) -> _core.Table:
        """One row per bubble: step, replica, rank, position, start_ns, end_ns."""
        return self._step.bubbles()

    def write(self, file: "Union[str, os.PathLike[str]]") -> None:
        """Writes the step as a trace file for load(), the command line and Perfetto."""
        self._step.write(os.fspath(file))

    def _repr_svg_(self) -> Optional[str]:
        return self._step.svg() if self._step.op_count <= MOST_DRAWN else None

    def _repr_html_(self) -> str:
        return (self._repr_svg_() or "") + escaped(self.text)


class SearchResult(Answer):
    """The output of `bubblescope search --json`. `order` is the resulting schedule."""

    def __init__(self, json_text: str, text: str, order: _core.Order) -> None:
        super().__init__((json_text, text))
        self.order = Schedule(json.loads(order.json()), order)

    def _repr_html_(self) -> str:
        return self.order._repr_html_() + escaped(self.text)


def _scheduled(of: "Union[str, Schedule, None]", options: "dict[str, Any]") -> "dict[str, Any]":
    return dict(options, schedule=of._order if isinstance(of, Schedule) else of)


@takes(ScheduleKeywords)
def schedule(name: Optional[str] = None, /, **options: Any) -> Schedule:
    """Creates a schedule: the order of a family for pp ranks and microbatches, or the order in a schedule_file.

    Times are integer nanoseconds, a datetime.timedelta, or a string with a unit such as "1.5ms"; sizes are bytes or
    "32MiB".
    """
    order = _core.order(_scheduled(name, options))
    return Schedule(json.loads(order.json()), order)


@takes(SimulateKeywords)
def simulate(of: "Union[str, Schedule, None]" = None, /, **options: Any) -> Simulation:
    """Simulates a schedule, which is a name or the result of schedule(), with op times: makespan, bubbles, memory."""
    return Simulation(_core.simulate(_scheduled(of, options)))


@takes(ScheduleKeywords)
def formula(of: "Union[str, Schedule, None]" = None, /, **options: Any) -> Answer:
    """Bubbles of a schedule in closed form, by rank and position."""
    return Answer(_core.formula(_scheduled(of, options)))


@takes(ValidateKeywords)
def validate(order: "Union[str, os.PathLike[str], Schedule, dict[str, Any]]", /, **options: Any) -> Answer:
    """Checks a schedule, its document or a schedule file for missing ops, broken dependencies, deadlocks and memory
    use.

    If there are problems, "valid" is False in the result and "problems" lists them. An error is raised only if the argument is
    not a schedule."""
    if isinstance(order, Schedule):
        checked: "Union[str, _core.Order]" = order._order
    elif isinstance(order, dict):
        checked = _core.order_from_json(json.dumps(order), "the schedule document")
    else:
        checked = os.fspath(order)
    return Answer(_core.validate(checked, options))


@takes(SearchKeywords)
def search(*, recorded: "Optional[Run]" = None, progress: Optional[Callable[[int, int], Any]] = None,
           **options: Any) -> SearchResult:
    """Searches for the order with the shortest step for given sizes, times and memory, and reports a lower bound.

    `recorded` provides sizes, placement, mean times and memory use in place of the options. `progress` is called with the
    number of completed rounds and 0; an exception in `progress`, or Ctrl+C, stops the search.
    """
    found = _core.search(options, recorded._handle if recorded is not None else None, progress)
    return SearchResult(*found)
