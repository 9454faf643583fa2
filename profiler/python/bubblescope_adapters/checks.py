"""Checks in bubbles, for the functions that the adapter of a framework wraps. Used only if the job is recorded with
checks."""

import importlib

from . import events, framework
from .events import steps
from .step_end import StepEnd


class Checks:
    """The checks of the current schedule. An error ends the checks, but not the job."""

    def __init__(self, framework="torch_framework", device="device"):
        """Names of the modules with what checks need from the framework."""
        self._framework, self._device = framework, device
        self._settings = events.checks()
        self._of = None  # the schedule to which `running` belongs
        self.running = None  # a BubbleChecks, or None
        self._in_ops = False  # true from the start of a step to its last op
        self._end_of_step = StepEnd(self.fill, self._end_step)

    @property
    def wanted(self):
        return self._settings is not None

    def around(self, op_of, ranges):
        """For Changes.replace(): reports the calls that `ranges` names also as ops of the checks. `op_of` takes the
        arguments of the call and returns kind, stage and micro-batch, or None if the call is not an op."""
        if not self.wanted:
            return ranges

        def make(function):
            inner = ranges(function)

            def call(*args, **kwargs):
                running = self.running
                op = op_of(*args, **kwargs) if running is not None and running.active and steps.active else None
                if op is None:
                    return inner(*args, **kwargs)
                start = self._safely(running.began, *op)
                try:
                    return inner(*args, **kwargs)
                finally:
                    self._safely(running.ended, *op, start)

            return call

        return make

    def _safely(self, function, *args):
        try:
            return function(*args)
        except Exception as problem:  # noqa: BLE001: the job matters more than its checks
            self.running = None
            events.message("checks in bubbles have stopped: %s: %s" % (type(problem).__name__, problem))
            return 0

    def begin(self, key, describe):
        """Starts a step of the schedule `key`. `describe` returns the arguments of bubble_checks.Pipeline. It is called when
        the schedule has changed."""
        if not self.wanted:
            return
        self._end_of_step.begin_step()
        if self._of != key:
            self._of, self.running = key, None
            self.running = self._safely(self._make, describe) or None
        if self.running is not None:
            self._in_ops = True
            self._safely(self.running.begin_step, steps.number)

    def end(self):
        """Must be called after the last op of a step; further calls have no effect."""
        if self.running is None or not self._in_ops:
            return
        self._in_ops = False
        if self._end_of_step.open():
            self._safely(self.running.end_ops)
        else:
            self._end_step()

    def _end_step(self):
        if self.running is not None:
            self._safely(self.running.end_step)

    def fill(self, wait, sends=False, arrived=lambda: False):
        """Calls `wait`, during which the rank is idle. `sends`: the call also begins sends. `arrived` returns True if there is
        nothing left to wait for; it does not block."""
        running = self.running
        if running is None or not (self._in_ops or self._end_of_step.is_open):
            return wait()
        return running.fill(wait, sends, arrived) if running.active else running.rest(wait)

    def _make(self, describe):
        described = describe()  # before the modules are loaded, which need more of the framework
        framework.choose(self._framework)
        from .rank_checks import Pipeline

        pipeline = Pipeline(**described)
        device = importlib.import_module("." + self._device, __package__)
        chosen = device.choose([module for _, module in pipeline.stages])
        if chosen.queues:
            from .device_checks import DeviceChecks

            made = DeviceChecks(pipeline, *self._settings, device=chosen)
        else:
            from .bubble_checks import BubbleChecks

            made = BubbleChecks(pipeline, *self._settings, device=chosen, threads=framework.chosen().threads())
        events.state("check_layers", made.description())
        if chosen.identifier() is not None:
            events.state("check_device", chosen.identifier())
        return made
