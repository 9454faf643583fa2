"""Results of the command line as dicts, which print as text and are drawn in notebooks."""

from __future__ import annotations

import html
import json
from typing import Any

# Maximum number of ops in a drawing, because browsers cannot show more.
MOST_DRAWN = 20_000


def escaped(text: str) -> str:
    """Text escaped for display in a notebook."""
    return f"<pre>{html.escape(text)}</pre>"


class Answer(dict):  # type: ignore[type-arg]
    """The JSON output of a command as a dict. str() returns the text output. Values of keys that end in _ns are in
    nanoseconds."""

    def __init__(self, answer: "tuple[str, str]") -> None:
        super().__init__(json.loads(answer[0]))
        self.text = answer[1]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<bubblescope.{type(self).__name__}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        return escaped(self.text)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)
