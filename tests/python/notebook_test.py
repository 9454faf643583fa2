"""The notebook of resources/examples: its cells as plain Python, and by a kernel where nbclient is installed."""

import importlib.util
import json
import os

from common import SOURCE, main, unittest

EXAMPLES = os.path.join(SOURCE, "resources", "examples")
NOTEBOOK = os.path.join(EXAMPLES, "bubbles.ipynb")


class Notebook(unittest.TestCase):
    def setUp(self):
        os.environ.pop("BUBBLESCOPE_TRACE", None)

    def test_runs_as_plain_python(self):
        with open(NOTEBOOK) as file:
            cells = ["".join(cell["source"]) for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        before, names = os.getcwd(), {}
        os.chdir(EXAMPLES)  # as a notebook's kernel does
        try:
            for cell in cells:
                exec(compile(cell, NOTEBOOK, "exec"), names)
        finally:
            os.chdir(before)
        self.assertEqual(names["run"].schedule["schedule"], "1f1b")
        self.assertEqual(names["slowest"], 2, "the rank that was made slower")
        self.assertTrue(any(each["rank"] == 2 for each in names["run"].findings))
        self.assertLess(names["change"]["scenario"]["change_ns"], 0)

    @unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("nbclient", "ipykernel")),
                         "nbclient and ipykernel are not installed; BUBBLESCOPE_PYTHON_PEERS names a Python that has them")
    def test_draws_in_a_kernel(self):
        import nbclient
        import nbformat
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": EXAMPLES}}).execute()
        shown = [output["data"] for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
                 if "data" in output]
        self.assertEqual(sum("image/svg+xml" in data for data in shown), 3, "the run, its schedule and a step")
        self.assertTrue(any("<pre>" in data.get("text/html", "") for data in shown))


if __name__ == "__main__":
    main()
