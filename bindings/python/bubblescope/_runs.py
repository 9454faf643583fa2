"""Loads, explains and compares recorded runs."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Optional, Union

from . import _core
from ._answers import MOST_DRAWN, Answer, escaped
from ._options import AdviseKeywords, DiffKeywords, LoadKeywords, ModelKeywords, Path, takes
from ._schedules import Schedule

__all__ = ["Run", "Step", "load", "diff"]


class Step:
    """One step of a run, on one replica. Notebooks show it as a drawing.

    Attributes:
        index: number of the step in the run.
        replica: data-parallel replica that ran the step.
    """

    def __init__(self, handle: _core.RunHandle, timeline: int) -> None:
        self._handle, self._timeline = handle, timeline
        self.index, self.replica, self._ops, self._bubbles = handle.step(timeline)

    def ops(self) -> _core.Table:
        """One row per op. The columns are those of Run.ops()."""
        return self._ops

    def bubbles(self) -> _core.Table:
        """One row per bubble. The columns are those of Run.bubbles()."""
        return self._bubbles

    def __repr__(self) -> str:
        return f"<bubblescope.Step {self.index}: {len(self._ops)} ops>"

    def _repr_svg_(self) -> Optional[str]:
        return self._handle.svg(self._timeline) if len(self._ops) <= MOST_DRAWN else None

    def _repr_html_(self) -> str:
        return self._repr_svg_() or self._ops._repr_html_()


class Run:
    """A loaded trace with its recognised pipeline and diagnosis. Immutable. Notebooks show a drawing of its typical
    step.

    A trace without a pipeline has only `document`, `summary`, slices() and the tables of its devices; all other members raise
    InputError with the reason."""

    def __init__(self, handle: _core.RunHandle) -> None:
        self._handle = handle
        self._document: "Optional[dict[str, Any]]" = None

    @property
    def document(self) -> "dict[str, Any]":
        """The complete analysis, as printed by `bubblescope analyze --json`. Keys that end in _ns have values in ns."""
        if self._document is None:
            self._document = json.loads(self._handle.json())
        return self._document

    @property
    def schedule(self) -> Schedule:
        """The recognised schedule, from "schedule" in the document."""
        return Schedule(self.document["schedule"], self._handle.order())

    @property
    def summary(self) -> Answer:
        """The outcome, the largest cost and its remedy, as printed by `bubblescope analyze --summary
        --json`."""
        return Answer(self._handle.summary())

    @property
    def findings(self) -> "list[dict[str, Any]]":
        """Findings that require attention, the most costly first, from "anomalies" in the
        document."""
        return self.document["anomalies"] if self._handle.has_pipeline else []

    def ops(self) -> _core.Table:
        """One row per op: step, replica, rank, kind, microbatch, chunk, sequence, stage, overlapped, start_ns, end_ns,
        device_idle_ns, exposed_comm_ns. Times are relative to the first event of the trace."""
        return self._handle.table("ops")

    def bubbles(self) -> _core.Table:
        """One row per bubble: step, replica, rank, position, start_ns, end_ns."""
        return self._handle.table("bubbles")

    def steps(self) -> _core.Table:
        """One row per step and replica: step, replica, status, start_ns, wall_ns, bubble_rate, expected_bubble_rate,
        forward_median_ns, backward_median_ns; and, if the framework of a recorded job reports them, loss, tokens, samples and
        sequence_length."""
        return self._handle.table("steps")

    def accounting(self) -> _core.Table:
        """Time of each rank by use: step, replica, rank, entry, time_ns."""
        return self._handle.table("accounting")

    def transfers(self) -> _core.Table:
        """One row per transfer and rank: step, replica, rank, peer, kind, payload, microbatch, sequence, stage, start_ns,
        end_ns. For a trace without a pipeline, the collectives of the devices."""
        return self._handle.table("transfers")

    def table(self, name: str) -> _core.Table:
        """A table by name, including "findings". For a trace without a pipeline: "devices", "streams" or "kernels"."""
        return self._handle.table(name)

    def slices(self, category: Optional[str] = None) -> _core.Table:
        """Raw slices of the trace: rank, process, thread, category, name, start_ns, duration_ns. With `category`, only slices
        of this category, such as "kernel"; `bubblescope info` lists the categories."""
        return self._handle.slices(category)

    def query(self, sql: str) -> _core.Table:
        """Rows of a SELECT over slice, flow, counter, step, op, bubble and other tables, as `bubblescope query` prints them.
        Ctrl+C stops the query. A UsageError contains the position of the error in the query."""
        return self._handle.query(sql)

    def step(self, index: Optional[int] = None, replica: int = 0) -> Step:
        """A step by number, or the typical step by default."""
        return Step(self._handle, self._handle.timeline(index, replica))

    @takes(ModelKeywords)
    def whatif(self, *changes: str, **options: Any) -> Answer:
        """Predicts the step time with changes: "rank:2=usual", "link:2-3=2x", "comm=0", "schedule=zb-v". Several changes are
        combined. Without changes, reports what slows the step down. Ctrl+C stops the prediction."""
        return Answer(self._handle.whatif(list(changes), options))

    @takes(AdviseKeywords)
    def advise(self, **options: Any) -> Answer:
        """Finds schedules, chunks, micro-batches or layers that would shorten the steps. Ctrl+C stops the search."""
        return Answer(self._handle.advise(options))

    @takes(DiffKeywords)
    def diff(self, after: "Run", **options: Any) -> Answer:
        """See diff(). This run is the first of the two."""
        return Answer(_core.diff(self._handle, after._handle, options))

    def to_html(self) -> str:
        """The report as a single HTML page with drawings."""
        return self._handle.html()

    def __str__(self) -> str:
        return self._handle.text()

    def __repr__(self) -> str:
        return f"<bubblescope.Run: {self.summary.text.splitlines()[0]}>"

    def _repr_svg_(self) -> Optional[str]:
        if not self._handle.has_pipeline:
            return None
        typical = self._handle.timeline(None, 0)
        return self._handle.svg(typical) if self._handle.op_count(typical) <= MOST_DRAWN else None

    def _repr_html_(self) -> str:
        return (self._repr_svg_() or "") + escaped(self.summary.text)


@takes(LoadKeywords)
def load(*paths: Path, progress: Optional[Callable[[int, int], Any]] = None, **options: Any) -> Run:
    """Loads traces from files or folders, detects their pipeline, and diagnoses it, as `bubblescope analyze` does.

    Other Python threads continue to run. `progress` is called with the bytes read and the total (0 if unknown). An exception in
    `progress`, or Ctrl+C, stops loading.
    """
    if not paths:
        raise TypeError("load() needs at least one file or folder")
    return Run(_core.RunHandle([os.fspath(path) for path in paths], options, progress))


@takes(DiffKeywords)
def diff(before: "Union[Run, Path]", after: "Union[Run, Path]", /, **options: Any) -> Answer:
    """Compares two runs, or paths to load, op by op: the changes, their size and their significance."""
    a, b = (each if isinstance(each, Run) else load(each) for each in (before, after))
    return Answer(_core.diff(a._handle, b._handle, options))
