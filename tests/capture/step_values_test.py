"""The losses of steps on a device: what they cost, and that they are exact."""

import atexit
import os
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "profiler", "python"))
from bubblescope_adapters import events, step_values


class Device:
    type = "cuda"
    capturing = False
    stands = False  # does not finish its work


class Event:
    def record(self):
        self.at = len(launched)

    def query(self):
        return not Device.stands


class Tensor:
    """Memory, in the device or on the host, and the part of it that the tensor shows."""

    dtype = "float32"

    def __init__(self, memory, shape=(), at=0, device=None):
        self.memory, self.shape, self.at, self.device = memory, shape, at, device

    def numel(self):
        return 1

    def detach(self):
        return self

    def reshape(self, shape):
        return self

    def __getitem__(self, place):
        if isinstance(place, slice):
            return Tensor(self.memory, (place.stop, self.shape[1]))
        return Tensor(self.memory, self.shape[1:], self.at + place * self.shape[1], self.device)

    def copy_(self, other, non_blocking):
        assert non_blocking
        launched.append("copy")
        self.memory[:] = other.memory

    def double(self):
        return self

    def sum(self, dim):
        rows, width = self.shape
        sums = [sum(self.memory[row * width : (row + 1) * width]) for row in range(rows)]
        return types.SimpleNamespace(tolist=lambda: sums)


def stack(values, out):
    launched.append("stack")
    out.memory[out.at : out.at + len(values)] = [value.memory[0] for value in values]


def empty(shape, dtype, device=None, pin_memory=False):
    assert pin_memory == (device is None)
    return Tensor([None] * (shape[0] * shape[1]), shape, device=device)


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        return False


launched = []
GPU = Device()
torch = types.ModuleType("torch")
torch.Tensor, torch.stack, torch.empty, torch.no_grad = Tensor, stack, empty, Nothing
torch.get_device_module = lambda _: types.SimpleNamespace(Event=Event, is_current_stream_capturing=lambda: Device.capturing)


def loss(value):
    return Tensor([value], device=GPU)


class StepValuesTest(unittest.TestCase):
    def setUp(self):
        self.told = {}
        events.step_values = lambda step, loss=None, **_: None if loss is None else self.told.update({step: loss})
        sys.modules["torch"] = torch
        del launched[:]
        Device.capturing = Device.stands = False
        self.values = step_values.StepValues()

    def tearDown(self):
        atexit.unregister(self.values._finish)
        del sys.modules["torch"]

    def test_one_launch_per_step_and_one_copy_every_eighth(self):
        for step in range(24):
            self.values.state(step, [loss(step), loss(step + 0.5), loss(0.25)])
        self.assertEqual(launched.count("stack"), 24)
        self.assertEqual(launched.count("copy"), 3)
        self.assertEqual(self.told, {step: (2 * step + 0.75) / 3 for step in range(16)})
        self.values._finish(os.getpid())
        self.assertEqual(len(self.told), 24)

    def test_a_step_keeps_its_loss_when_its_memory_is_used_again(self):
        memory = loss(None)
        for step in range(8):
            memory.memory[0] = 10.0 + step
            self.values.state(step, [memory])
        self.values._finish(os.getpid())
        self.assertEqual(self.told, {step: 10.0 + step for step in range(8)})

    def test_the_last_steps_arrive_at_the_exit(self):
        for step in range(3):
            self.values.state(step, [loss(step), loss(1)], added=True)
        self.assertEqual(self.told, {})
        self.values._finish(os.getpid() + 1)  # a forked child
        self.assertEqual(self.told, {})
        self.values._finish(os.getpid())
        self.assertEqual(self.told, {step: step + 1 for step in range(3)})

    def test_a_device_that_stands_does_not_block_the_exit(self):
        Device.stands = True
        self.values.state(0, [loss(1)])
        self.values._finish(os.getpid())
        self.assertEqual(self.told, {})

    def test_weights_and_other_numbers_of_microbatches(self):
        self.values.state(0, [loss(6), loss(4)], weights=[loss(3), loss(2)])
        self.values.state(1, [loss(6), loss(4), loss(5)], weights=[loss(3), loss(2), loss(5)])
        self.values.state(2, [loss(6)], weights=[loss(0)])
        self.values._finish(os.getpid())
        self.assertEqual((self.told[0], self.told[1]), (2, 1.5))
        self.assertNotEqual(self.told[2], self.told[2], "no tokens: not a number")

    def test_long_steps_are_copied_at_once(self):
        before, step_values._SOON = step_values._SOON, 0
        for step in range(3):
            self.values.state(step, [loss(step)])
        step_values._SOON = before
        self.assertEqual(launched, ["stack", "copy"] * 3)
        self.assertEqual(self.told, {0: 0, 1: 1})

    def test_a_captured_graph_contains_nothing_of_ours(self):
        Device.capturing = True
        self.values.state(0, [loss(1)])
        self.assertEqual(launched, [])
        Device.capturing = False
        self.values.state(1, [loss(2)])
        self.values._finish(os.getpid())
        self.assertEqual(self.told, {1: 2})

    def test_numbers_and_losses_on_the_host(self):
        self.values.state(0, [1.0, 2.0])
        self.values.state(1, [1.0, 2.0], weights=[2, 4])
        self.assertEqual(self.told, {0: 1.5, 1: 0.5})


if __name__ == "__main__":
    unittest.main()
