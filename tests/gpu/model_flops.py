"""The floating-point operations of a training step, and the rate at which a run performs them.

A step takes 6 operations per token for each weight that tokens are multiplied with, which excludes embeddings, biases and
normalisations, and 12 · layers · hidden · sequence per token for attention, as in PaLM (Chowdhery et al. 2022, appendix B).
Causal attention needs half of the latter. Recomputation does not count."""

import dataclasses

# Dense 16-bit rates from the data sheets, by a part of the name that the driver reports.
PEAKS = {"H200": 989e12, "H100 80GB HBM3": 989e12, "A100": 312e12, "B200": 2250e12}


@dataclasses.dataclass
class Transformer:
    layers: int
    hidden: int
    heads: int
    sequence: int
    vocabulary: int  # 0: neither embedding nor head
    sequences: int  # of a step

    def weights(self):
        return 12 * self.layers * self.hidden**2 + self.hidden * self.vocabulary

    def flops(self):
        tokens = self.sequences * self.sequence
        attention = 12 * self.layers * self.hidden * self.sequence * tokens
        return {"causal": 6 * self.weights() * tokens + attention / 2, "full": 6 * self.weights() * tokens + attention}


def of_products(weights, rows):
    """A step of a model without attention."""
    return {"causal": 6 * weights * rows, "full": 6 * weights * rows}


def peak_of(gpu):
    """FLOP/s of the GPU that all ranks share; None if unknown."""
    return next((peak for name, peak in PEAKS.items() if name in (gpu or "")), None)


def rate(flops, milliseconds, peak):
    """The members of a truth: MFU if the peak is known, otherwise FLOP/s."""
    per_second = {attention: 1e3 * count / milliseconds for attention, count in flops.items()}
    if peak is None:
        return {"flops_per_second": per_second}
    return {"peak_flops": peak, "mfu": {attention: each / peak for attention, each in per_second.items()}}
