"""Names the ops of frameworks in the capture of an unmodified job.

Each adapter wraps the functions of one framework that run ops, transfers and steps. An adapter is applied completely or not
at all, and never fails the job: an error becomes one line in the log of the capture."""

import importlib

from . import events


class Unknown(Exception):
    """The adapter does not support this framework or version; the message says why."""


class Changes:
    """Replacements for attributes of a framework, which are applied together."""

    def __init__(self):
        self._changes = []

    def replace(self, owner, name, make):
        """`make` is called with the current value. If the attribute is missing, Unknown is
        raised."""
        try:
            before = getattr(owner, name)
        except AttributeError:
            raise Unknown("%s has no %s" % (getattr(owner, "__name__", owner), name)) from None
        after = make(before)
        for copied in ("__name__", "__qualname__", "__doc__", "__module__", "__wrapped__"):
            try:
                setattr(after, copied, before if copied == "__wrapped__" else getattr(before, copied))
            except (AttributeError, TypeError):
                pass
        self._changes.append((owner, name, after))

    def make(self):
        for owner, name, after in self._changes:
            setattr(owner, name, after)


def adapt(module, adapter):
    """Applies bubblescope_adapters.ADAPTER to a module that has just been loaded."""
    try:
        chosen = importlib.import_module("bubblescope_adapters." + adapter)
        if not getattr(chosen, "NAMES_OPS", True):
            chosen.prepare(module)
            return
        if not events.records_frameworks():
            return
        framework, version = chosen.identity(module)
        known = ".".join(version.split(".")[:2])
        if known not in chosen.VERSIONS:
            raise Unknown(
                "version %s is not known (known are %s)" % (version, ", ".join(chosen.VERSIONS))
            )
        changes = Changes()
        chosen.prepare(module, changes, framework, version)
        changes.make()
    except Unknown as problem:
        events.message("%s: %s; it is recorded without op names" % (adapter, problem))
    except Exception as problem:  # noqa: BLE001: the job matters more than its recording
        events.message(
            "%s: the adapter failed with %s: %s; it is recorded without op names"
            % (adapter, type(problem).__name__, problem)
        )
