"""The framework whose layers this process repeats. Its module has the functions of torch_framework."""

import importlib

_modules = ["torch_framework"]


class CannotRepeat(Exception):
    """Reason for excluding a layer, as the end of a sentence that starts with the name of the
    layer."""


class Stopped(Exception):
    """The job goes on, so the rest of a repetition is dropped."""


def choose(module):
    """Must be called before the modules that repeat layers are loaded."""
    _modules[0] = module


def chosen():
    return importlib.import_module("." + _modules[0], __package__)
