#include "core/request/queue_request.h"

#include "core/base/field.h"
#include "core/cost/cost_files.h"
#include "core/schedule/order_parts.h"

#include <fmt/format.h>

#include <filesystem>

namespace bubblescope {
namespace {

/// Each neighbouring pair of stages exchanges activations and gradients.
Status checkCovers(const Communicators& communicators, const Schedule& order, const std::string& file) {
    for (const auto& [low, high] : linkedRanks(order)) {
        const bool up = communicators.of(Payload::Activation, low, high, order.pp) >= 0;
        const bool down = communicators.of(Payload::Gradient, high, low, order.pp) >= 0;
        if (up && down) continue;
        return inputError(file,
                          fmt::format("no communicator for {} from rank {} to rank {}",
                                      up ? "gradients" : "activations", (up ? high : low).value,
                                      (up ? low : high).value),
                          "add an entry for it, or end with an entry that has only a name, for all other transfers");
    }
    return {};
}

} // namespace

Result<QueueModel> QueueRequest::model(const Schedule& order) const {
    QueueModel model;
    model.eager_bytes = eager.value_or(0);
    model.receive_blocks_compute = receive_blocks_compute;
    model.receive_share = receive_share.value_or(0);
    if (communicators.empty()) return model;
    if (const auto kind = communicatorKindFromName(communicators)) {
        model.communicators.kind = *kind;
        return model;
    }
    if (communicators != "-" && !std::filesystem::exists(communicators))
        return usageError(
            fmt::format("{} is neither a known name nor a file", Field("communicators").is(communicators)),
            "use one, direction, edge, pair, tag, or a file");
    BUBBLESCOPE_ASSIGN(model.communicators, readCommunicators(communicators, order.pp));
    BUBBLESCOPE_TRY(checkCovers(model.communicators, order, communicators));
    return model;
}

} // namespace bubblescope
