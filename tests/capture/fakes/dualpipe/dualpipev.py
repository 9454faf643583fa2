from dualpipe.utils import Program, WeightGradStore  # noqa: F401


class DualPipeV(Program):
    pass
