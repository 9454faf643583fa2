"""The errors that this package raises. Messages are those of the command line, with keywords in place of options."""

__all__ = ["Error", "UsageError", "InputError", "RunError", "Cancelled"]


class Error(Exception):
    """An error reported by Bubblescope.

    Attributes:
        message: what happened.
        place: the file and the position in it; may be empty.
        way_out: what to do about it; may be empty.
    """

    def __init__(self, text: str, message: str = "", place: str = "", way_out: str = "") -> None:
        super().__init__(text)
        self.message = message or text
        self.place = place
        self.way_out = way_out

    def __reduce__(self) -> "tuple[type, tuple[str, str, str, str]]":
        return type(self), (str(self), self.message, self.place, self.way_out)


class UsageError(Error, ValueError):
    """The request is invalid; the command line exits with 2."""


class InputError(Error):
    """A file is unreadable or invalid; the command line exits with 3."""


class RunError(Error):
    """A run started but failed; the command line exits with 4."""


class Cancelled(Error):
    """The work was stopped before it finished."""
