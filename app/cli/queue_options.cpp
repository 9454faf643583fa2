#include "app/cli/queue_options.h"

#include "core/base/bytes.h"

namespace bubblescope::cli {

void addQueueOptions(Command command, QueueRequest& request, bool timed) {
    const std::string group = "Sends, receives and weights";
    command
        .addOption("--communicators", request.communicators,
                   "Communicators: one for everything; one per direction (activations, gradients), edge (ordered pair "
                   "of ranks) or pair; none (tag); or as defined in a file. On each communicator, a rank's transfers "
                   "run one after another")
        .typeName("KIND")
        .suggests({"one", "direction", "edge", "pair", "tag"})
        .group(group);
    command
        .addParsed("--eager", request.eager, parseBytes,
                   "Sends of up to this size complete before they are received (0)")
        .typeName("SIZE")
        .group(group)
        .rare();
    const Option blocks = command
                              .addFlag("--receive-blocks-compute", request.receive_blocks_compute,
                                       "A posted receive blocks all later ops, as on ROCm")
                              .group(group)
                              .rare();
    if (!timed) return;
    command
        .addOption("--receive-share", request.receive_share,
                   "Share of a GPU that each pending receive takes from the ops, in percent (0)")
        .typeName("PERCENT")
        .range(0, 99)
        .excludes(blocks)
        .group(group)
        .rare();
}

} // namespace bubblescope::cli
