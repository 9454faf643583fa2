# The interface of dualpipe/dualpipe.py and dualpipe/dualpipev.py in deepseek-ai/DualPipe.
__version__ = "1.0.0"

from dualpipe.dualpipe import DualPipe  # noqa: E402,F401
from dualpipe.dualpipev import DualPipeV  # noqa: E402,F401
