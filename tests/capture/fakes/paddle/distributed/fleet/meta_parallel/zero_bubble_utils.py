class WeightGradStore:
    @classmethod
    def pop(cls):
        return None
