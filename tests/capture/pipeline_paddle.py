# A pipeline of PaddlePaddle on the CPU, with its own schedules and p2p: pipeline_paddle.py CHUNKS MICROBATCHES STEPS [balanced]
import sys

import paddle
from paddle.distributed import fleet
from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

import paddle_on_cpu

chunks, microbatches, step_count = (int(word) for word in sys.argv[1:4])
WIDTH, SAMPLES = 32, 4
ranks = paddle_on_cpu.begin(microbatches, SAMPLES, best_unbalanced_scheduler="balanced" in sys.argv)


class Block(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = paddle.nn.Sequential(paddle.nn.Linear(WIDTH, WIDTH), paddle.nn.GELU())

    def forward(self, x):
        return self.body(x)


layers = PipelineLayer(
    [LayerDesc(Block) for _ in range(3 * ranks * chunks)],
    num_stages=ranks,
    loss_fn=lambda output, target: ((output - target) ** 2).mean(),
    num_virtual_pipeline_stages=chunks if chunks > 1 else None,
    seg_method="layer:Block",
)
model = fleet.distributed_model(layers)
optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(1e-3, parameters=model.parameters()))
for number in range(step_count):
    rows = SAMPLES * microbatches
    loss = model.train_batch((paddle.randn([rows, WIDTH]), paddle.randn([rows, WIDTH])), optimizer)
print("loss %.6f" % loss.item(), flush=True)
