"""Ranges without Python code: native_ranges_test.py MODULE, with any CPython from 3.9 on."""

import ctypes
import importlib.util
import sys
import unittest

spec = importlib.util.spec_from_file_location("bubblescope_native_ranges", sys.argv.pop(1))
native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(native)
if not hasattr(native, "StepState"):
    print("ranges need Python 3.9")
    sys.exit(77)  # skipped

told = []
callbacks = [
    ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda name: told.append(name.decode())),
    ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint64)(lambda name, size: told.append((name.decode(), size))),
    ctypes.CFUNCTYPE(None)(lambda: told.append("end")),
]


def bind(functions):
    native.bind(*[ctypes.cast(function, ctypes.c_void_p).value for function in functions])


class Steps(native.StepState):
    pass


class InFlight(native.FlightState):
    pass


class Tensor:
    pass


class NativeRanges(unittest.TestCase):
    def setUp(self):
        bind(callbacks)
        del told[:]
        self.steps, self.flight, self.outputs, self.kept = Steps(), InFlight(), {}, []
        self.steps.active = True
        self.flight.rank, self.flight.size, self.flight.last = 1, 2, 3

    def forward(self, function):
        keep = lambda output, tokens: self.kept.append((output, tokens))  # noqa: E731
        return native.forward_range(function, self.steps, self.flight, self.outputs, keep)

    def test_arguments_and_results_pass_unchanged(self):
        seen = []

        class Stage:
            stage_index = 2

            def run(self, chunk, *args, last=True, **kwargs):
                seen.append((self, chunk, args, last, kwargs))
                return kwargs

        plain = Stage.run
        Stage.run = native.stage_range(plain, self.steps, "stage_index", "B", "I", "last", 3)
        stage, tensor = Stage(), Tensor()
        result = stage.run(5, tensor, other=tensor)
        self.assertIs(result, seen[0][4])
        self.assertIs(seen[0][2][0], tensor)
        stage.run(6, last=False)
        Stage.run(stage, 7, tensor, False)
        (lambda *args, **kwargs: stage.run(*args, **kwargs))(8, last=True)
        stage.run(chunk=9)  # not a call that can be named
        self.assertEqual(told, ["2B5", "end", "2I6", "end", "2I7", "end", "2B8", "end"])

    def test_ranges_are_written_only_in_a_step_and_once(self):
        class Stage:
            stage_index = 0

            def run(self, chunk, inner=0):
                return self.run(chunk, inner - 1) if inner else chunk

        Stage.run = native.stage_range(Stage.run, self.steps, "stage_index", "F", "F", None, 0)
        self.assertEqual(Stage().run(3, 2), 3)
        self.steps.sends = 2
        Stage().run(4)
        self.steps.active = False
        Stage().run(5)
        self.assertEqual(told, ["0F3", "end", "end", "end", "0F4", "end"])
        self.assertEqual(self.steps.sends, 0)

    def test_exceptions_end_the_range(self):
        def fails(**_):
            raise ArithmeticError("of the job")

        bind([ctypes.CDLL(None).getpid] * 3)  # because Python code in callbacks would clear the exception
        with self.assertRaisesRegex(ArithmeticError, "of the job"):
            self.forward(fails)(current_microbatch=0)
        self.assertEqual((self.steps.inside, self.outputs), (0, {}))

    def test_forwards_and_backwards_of_megatron(self):
        outputs, gradients = [Tensor() for _ in range(4)], [Tensor() for _ in range(4)]
        forward = self.forward(lambda place, current_microbatch=None, vp_stage=None: (outputs[place], 7))
        backward = native.backward_range(lambda input_tensor, output_tensor, *_: gradients.pop(0), self.steps, self.outputs)
        forward(0, current_microbatch=4)
        forward(1, current_microbatch=5, vp_stage=1)
        forward(2, current_microbatch=6, vp_stage=None)
        forward(3)  # an evaluation
        self.assertEqual(self.kept, [(outputs[1], 7)], "of the last stage")
        self.assertEqual(self.outputs, {id(outputs[0]): (1, 4), id(outputs[1]): (3, 5), id(outputs[2]): (1, 6)})
        first, second = gradients[:2]
        backward(None, [outputs[1]], None)
        backward(input_tensor=None, output_tensor={"a": (outputs[0],)})
        backward(None, outputs[3])
        self.assertEqual(told, ["1F4", "end", "3F5", "end", "1F6", "end", "3B5", "end", "1B4", "end"])
        self.assertEqual(self.outputs, {id(outputs[2]): (1, 6), id(first): (3, 5), id(second): (1, 4)})

    def test_calls_of_another_kind_are_left_alone(self):
        forward = self.forward(lambda *args, **kwargs: kwargs.get("result"))
        for odd in (None, "text", 1 << 80):
            forward(current_microbatch=odd)
        self.assertEqual(told, [])
        forward(current_microbatch=1, vp_stage="text")
        forward(current_microbatch=2, result=())
        forward(current_microbatch=3, result=[Tensor(), 1])
        self.outputs[id(None)] = "not a label"
        native.backward_range(lambda *_: None, self.steps, self.outputs)(None, None)
        self.assertEqual(told, ["1F1", "end", "1F2", "end", "1F3", "end"])

    def test_nothing_leaks(self):
        tensor, loss = Tensor(), Tensor()
        forward = self.forward(lambda current_microbatch, vp_stage: (tensor, loss))
        backward = native.backward_range(lambda _, output: tensor, self.steps, self.outputs)
        before = sys.getrefcount(tensor), sys.getrefcount(loss)
        for microbatch in range(1000):
            forward(current_microbatch=1000 + microbatch, vp_stage=1)
            backward(None, tensor)
        del self.kept[:]
        self.assertEqual((sys.getrefcount(tensor), sys.getrefcount(loss)), before)
        self.assertEqual(sys.getrefcount(self.outputs[id(tensor)]), 2, "the dictionary's and ours")

    def test_other_types_are_refused(self):
        with self.assertRaises(TypeError):
            native.stage_range(len, object(), "stage_index", "F", "F", None, 0)
        with self.assertRaises(TypeError):
            native.forward_range(lambda: None, self.steps, object(), {}, print)
        with self.assertRaises(TypeError):
            native.backward_range(lambda: None, self.steps, [])


if __name__ == "__main__":
    unittest.main()
