from dualpipe.utils import Program, WeightGradStore  # noqa: F401


class DualPipe(Program):
    def __init__(self, ranks):
        super().__init__(ranks)
        self.is_in_second_half = self.rank >= ranks // 2
