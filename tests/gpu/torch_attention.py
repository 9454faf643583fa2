"""Times of PyTorch's scaled_dot_product_attention by cuDNN on one GPU, to check our times of cuDNN against.

    torch_attention.py [--dry]    --dry: small shapes on the CPU, by PyTorch's own attention

Prints medians of 20 steps per shape, after 5 seconds. Forward times are comparable. PyTorch 2.11 uses cuDNN only for
gradients that are not deterministic, so its backward is a lower bound for ours.
"""

import statistics
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

SHAPES = [("gpt2", 8, 12, 1024), ("gpt2-xl", 8, 25, 1024), ("gpt2, 8x rows", 1, 12, 8192)]
WIDTH, STEPS = 64, 20


def step(query, key, value, grad, mark):
    times = [mark()]
    output = scaled_dot_product_attention(query, key, value, is_causal=True)
    times.append(mark())
    output.backward(grad)
    times.append(mark())
    for tensor in (query, key, value):
        tensor.grad = None
    return times


def marker(device):
    if device == "cpu":
        return time.perf_counter

    def mark():
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    return mark


def main(dry):
    device, backend, warm = ("cpu", SDPBackend.MATH, 0.0) if dry else ("cuda", SDPBackend.CUDNN_ATTENTION, 5.0)
    version = torch.backends.cudnn.version()
    print(f"PyTorch {torch.__version__}, cuDNN {version}")
    for name, sequences, heads, rows in SHAPES:
        shape = (1, heads, rows // 64, WIDTH) if dry else (sequences, heads, rows, WIDTH)
        query, key, value = (
            torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)
        )
        grad = torch.randn(shape, device=device, dtype=torch.bfloat16)
        mark = marker(device)
        with sdpa_kernel(backend):
            end = time.perf_counter() + warm
            while True:
                step(query, key, value, grad, mark)
                if time.perf_counter() >= end:
                    break
            steps = [step(query, key, value, grad, mark) for _ in range(STEPS)]
        if not dry:
            torch.cuda.synchronize()
        took = [
            statistics.median(
                1e6 * (s[i + 1] - s[i]) if dry else 1e3 * s[i].elapsed_time(s[i + 1]) for s in steps
            )
            for i in (0, 1)
        ]
        print(f"{name:<14} torch  forward {took[0]:8.1f} us  backward {took[1]:8.1f} us")


if __name__ == "__main__":
    main(sys.argv[1:] == ["--dry"])
