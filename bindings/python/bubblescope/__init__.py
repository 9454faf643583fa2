"""Shows and explains the pipeline bubbles of training runs.

    import bubblescope as bs
    run = bs.load("capture/")
    print(run.summary)
    pandas.DataFrame.from_arrow(run.ops())

Times are integers in nanoseconds. The names of their columns and keys end in _ns.
"""

from ._answers import Answer
from ._core import Column, Table, __version__
from ._runs import Run, Step, diff, load
from ._schedules import Schedule, SearchResult, Simulation, formula, schedule, search, simulate, validate
from .errors import Cancelled, Error, InputError, RunError, UsageError

__all__ = [
    "Answer", "Cancelled", "Column", "Error", "InputError", "Run", "RunError", "Schedule", "SearchResult", "Simulation",
    "Step", "Table", "UsageError", "__version__", "diff", "formula", "load", "schedule", "search", "simulate",
    "validate",
]
