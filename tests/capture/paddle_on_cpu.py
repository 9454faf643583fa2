# PaddlePaddle's pipelines on the CPU: the device is the CPU, and each pair of neighbours has a group of its own in each
# direction, because messages of PaddlePaddle's gloo are numbered by group, and those of three ranks of one group do not find
# their receiver.
import paddle
import paddle.distributed as dist
from paddle.distributed import fleet


def begin(microbatches, samples, **pp_configs):
    paddle.set_device("cpu")
    dist.ParallelEnv._device_id = 0
    ranks = dist.ParallelEnv().world_size
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {
        "dp_degree": 1,
        "mp_degree": 1,
        "pp_degree": ranks,
        "pp_configs": {"use_batch_p2p_comm": False, **pp_configs},
    }
    strategy.pipeline_configs = {"accumulate_steps": microbatches, "micro_batch_size": samples}
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
    return ranks
