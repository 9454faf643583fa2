"""Exceptions of this package. Messages are those of the command line, with keywords instead of options."""

__all__ = ["Error", "UsageError", "InputError", "RunError", "Cancelled"]


class Error(Exception):
    """An error reported by Bubblescope.

    Attributes:
        message: description of the error.
        place: file and position in the file; may be empty.
        way_out: remedy; may be empty.
    """

    def __init__(self, text: str, message: str = "", place: str = "", way_out: str = "") -> None:
        super().__init__(text)
        self.message = message or text
        self.place = place
        self.way_out = way_out

    def __reduce__(self) -> "tuple[type, tuple[str, str, str, str]]":
        return type(self), (str(self), self.message, self.place, self.way_out)


class UsageError(Error, ValueError):
    """The request is invalid. The command line exits with 2."""


class InputError(Error):
    """A file is unreadable or invalid. The command line exits with 3."""


class RunError(Error):
    """A run started but failed. The command line exits with 4."""


class Cancelled(Error):
    """The work was stopped before it finished."""
