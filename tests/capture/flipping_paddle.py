# A pipeline of PaddlePaddle on the CPU with its own schedules, as pipeline_paddle.py, with layers that drop out, keep
# statistics, are not deterministic, count their calls, communicate or recompute, one that computes a wrong bit on rank 0 now
# and then, and one whose gradient has a wrong bit there: flipping_paddle.py CHUNKS MICROBATCHES STEPS [clean]
# The error is in a column that no weight depends on: the weights at the end are equal, whatever a recording repeats in
# between.
import sys
import time

import paddle
import paddle.distributed as dist
from paddle.base import core
from paddle.distributed import collective, fleet
from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer
from paddle.distributed.fleet.utils import recompute

import paddle_on_cpu

chunks, microbatches, step_count = (int(word) for word in sys.argv[1:4])
clean = "clean" in sys.argv
WIDTH, SAMPLES = 64, 16
executions = {"forward": 0, "backward": 0}
paddle_on_cpu.begin(microbatches, SAMPLES)
alone = core.ProcessGroupGloo.create(collective._default_store, 0, 1, 1000 + dist.get_rank())


def is_wrong(direction):
    """Now and then, but for the first steps, in which layers show whether they are deterministic."""
    executions[direction] += 1
    return not clean and executions[direction] > 90 and executions[direction] % 5 == 0 and dist.get_rank() == 0


def flip(tensor, bit):
    """A copy of the tensor, whose last element in the first row has this bit flipped."""
    bits = tensor.detach().numpy().copy()
    bits.view("int32")[0, -1] ^= 1 << bit
    return paddle.to_tensor(bits)


class Usual(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = paddle.nn.Sequential(paddle.nn.Linear(WIDTH, WIDTH), paddle.nn.GELU(), paddle.nn.Dropout(0.1))

    def forward(self, x):
        with paddle.amp.auto_cast(enable=False):
            return x + self.body(x)


class Normal(paddle.nn.BatchNorm1D):
    def __init__(self):
        super().__init__(WIDTH)


class Keeping(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.total = paddle.create_parameter([1], "float32")
        self.total.stop_gradient = True

    def forward(self, x):
        self.total.set_value(self.total + 1)
        return x * 1.0


class Noisy(paddle.nn.Layer):
    def forward(self, x):
        noise = paddle.zeros_like(x)
        noise[0, -1] = float(time.monotonic_ns() % 1000003)
        return x + noise


class Counting(paddle.nn.Layer):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 1.5


class Talking(paddle.nn.Layer):
    def forward(self, x):
        total = x.detach().sum()
        alone.all_reduce(total, core.ReduceOp.SUM, True).wait()
        return x + 0 * total


class Twice(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        return flip(y, 20) if is_wrong("forward") else y

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Flipping(paddle.nn.Layer):
    def forward(self, x):
        return Twice.apply(x)


class Half(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient / 2
        return flip(gradient, 21) if is_wrong("backward") else gradient


class FlippingBackward(paddle.nn.Layer):
    def forward(self, x):
        return Half.apply(x)


class Spare(paddle.nn.Layer):
    """Separates the column with the wrong bits."""

    def forward(self, x):
        return paddle.concat([x[:, :-1], paddle.ones_like(x[:, -1:])], 1)


class Again(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = paddle.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return recompute(self.body, x)


kinds = [Usual, Normal, Keeping, Noisy, Counting, Talking, Flipping, Spare, FlippingBackward]
kinds += [Again, Usual]
if clean:
    kinds = [Usual, Usual, Usual, Usual]
layers = PipelineLayer(
    [LayerDesc(kind) for _ in range(dist.get_world_size() * chunks) for kind in kinds],
    num_stages=dist.get_world_size(),
    loss_fn=lambda output, target: ((output - target) ** 2).mean(),
    num_virtual_pipeline_stages=chunks if chunks > 1 else None,
    seg_method="layer:Usual",
)
model = fleet.distributed_model(layers)
optimizer = fleet.distributed_optimizer(paddle.optimizer.AdamW(1e-4, parameters=model.parameters()))
paddle.seed(5)
losses = []
for number in range(step_count):
    rows = SAMPLES * microbatches
    losses.append(model.train_batch((paddle.randn([rows, WIDTH]), paddle.randn([rows, WIDTH])), optimizer).item())
digest = 0
for weight in model.parameters():
    for word in weight.numpy().tobytes()[:4096]:
        digest = (31 * digest + word) % (1 << 61)
print("weights %d loss %.9g" % (digest, sum(losses)), flush=True)
