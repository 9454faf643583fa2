"""The stubs of the compiled part against that part: the same names, and of every function the same parameters."""

import ast
import inspect
import os
import re

from common import main, unittest

import bubblescope
from bubblescope import _core

STUBS = os.path.join(os.path.dirname(bubblescope.__file__), "_core.pyi")
# The attributes of every class, and those that pybind11 adds.
COMMON = set(dir(object)) | {"__module__", "__doc__", "__dict__", "__weakref__"}
GIVEN = {"__init__", "__repr__", "__len__", "__getitem__", "__contains__"}


def parameters_of_stub(function):
    arguments = function.args
    names = [each.arg for each in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    return [name for name in names if name != "self"]


def signatures_of(function):
    """The names of the parameters of each overload, from pybind11's docstring."""
    found = []
    for line in (function.__doc__ or "").splitlines():
        match = re.match(r"(?:\d+\. )?\w+\((.*)\) -> ", line)
        if match and "*args" not in match.group(1):
            depth, names = 0, [""]
            for c in match.group(1):
                depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(c, 0)
                if c == "," and depth == 0:
                    names.append("")
                else:
                    names[-1] += c
            names = [re.split(r"[:=]", name.strip())[0] for name in names if name.strip()]
            found.append([name for name in names if name not in ("self", "arg0")])
    return found


class Stubs(unittest.TestCase):
    def setUp(self):
        with open(STUBS) as file:
            self.tree = ast.parse(file.read())

    def test_name_what_is_there(self):
        named = {node.name for node in self.tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        there = {name for name in dir(_core) if not name.startswith("_")}
        self.assertEqual(named, there)

    def test_name_the_members_of_classes(self):
        for node in self.tree.body:
            if not isinstance(node, ast.ClassDef):
                continue
            kind = getattr(_core, node.name)
            stubbed = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            there = {name for name in vars(kind) if not name.startswith("_")}
            self.assertEqual({name for name in stubbed if not name.startswith("_")}, there, node.name)
            for name in stubbed - {"__buffer__"}:  # a method of types from Python 3.12 on
                self.assertTrue(hasattr(kind, name), f"{node.name}.{name}")
            special = {name for name in vars(kind) if name.startswith("__arrow") or name.startswith("_repr")
                       or name in GIVEN - {"__init__", "__repr__"}}
            self.assertLessEqual(special, stubbed, node.name)

    def test_have_the_parameters_of_functions(self):
        def compare(nodes, owner):
            stubbed = {}
            for node in nodes:
                if isinstance(node, ast.FunctionDef):
                    stubbed.setdefault(node.name, []).append(node)
            for name, overloads in stubbed.items():
                if any(getattr(mark, "id", "") == "property" for mark in overloads[0].decorator_list):
                    self.assertIsInstance(inspect.getattr_static(owner, name), property)
                    continue
                actual = signatures_of(getattr(owner, name, None))
                if actual and name != "__repr__":
                    self.assertEqual([parameters_of_stub(each) for each in overloads], actual, name)
                    compared.append(name)

        compared = []
        compare(self.tree.body, _core)
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                compare(node.body, getattr(_core, node.name))
        self.assertGreater(len(compared), 25, "pybind11's docstrings look different now")


if __name__ == "__main__":
    main()
