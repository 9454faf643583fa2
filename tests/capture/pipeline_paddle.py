# A pipeline of PaddlePaddle on the CPU, with its own schedules and p2p: pipeline_paddle.py CHUNKS MICROBATCHES STEPS [balanced]
# The device is the CPU; and each pair of neighbours has a group of its own in each direction: messages of PaddlePaddle's gloo are
# numbered by group, and those of three ranks of one group do not find their receiver.
import sys

import paddle
import paddle.distributed as dist
from paddle.distributed import fleet
from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

chunks, microbatches, step_count = (int(word) for word in sys.argv[1:4])
WIDTH, SAMPLES = 32, 4
paddle.set_device("cpu")
dist.ParallelEnv._device_id = 0
ranks = dist.ParallelEnv().world_size
strategy = fleet.DistributedStrategy()
strategy.hybrid_configs = {
    "dp_degree": 1,
    "mp_degree": 1,
    "pp_degree": ranks,
    "pp_configs": {"use_batch_p2p_comm": False, "best_unbalanced_scheduler": "balanced" in sys.argv},
}
strategy.pipeline_configs = {"accumulate_steps": microbatches, "micro_batch_size": SAMPLES}
fleet.init(is_collective=True, strategy=strategy)

me = dist.get_rank()
ways = {}
for source in range(ranks):
    for target in ((source - 1) % ranks, (source + 1) % ranks):
        if source != target and (source, target) not in ways:
            ways[source, target] = dist.new_group([source, target], backend="gloo")


def between_two(function, way):
    def call(tensor, peer=0, group=None, **more):
        peer = more.get("src", more.get("dst", peer))
        return function(tensor, peer, ways[way(peer)])

    return call


for name in ("send", "isend"):
    setattr(dist, name, between_two(getattr(dist, name), lambda peer: (me, peer)))
for name in ("recv", "irecv"):
    setattr(dist, name, between_two(getattr(dist, name), lambda peer: (peer, me)))


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
