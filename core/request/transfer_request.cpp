#include "core/request/transfer_request.h"

#include "core/base/field.h"
#include "core/cost/cost_files.h"

namespace bubblescope {

Result<SendMode> parseSendMode(std::string_view name) {
    const auto mode = sendModeFromName(name);
    if (!mode)
        return usageError(fmt::format("{} is not known", Field("sends").is(name)),
                          "give async, blocking, paired or batched");
    return *mode;
}

Result<CommStreams> parseCommStreams(std::string_view name) {
    const auto mode = commStreamsFromName(name);
    if (!mode)
        return usageError(fmt::format("{} is not known", Field("comm_streams").is(name)),
                          "give unlimited, direction, link or rank");
    return *mode;
}

Result<TransferModel> TransferRequest::model(int pp) const {
    TransferModel model = stated;
    model.gradient_bytes = gradient_bytes.value_or(model.activation_bytes);
    if (!links.empty()) {
        BUBBLESCOPE_ASSIGN(model.links, readLinks(links, pp));
    }
    if (model.bytes_per_second && model.activation_bytes == 0 && model.gradient_bytes == 0) {
        return usageError(
            fmt::format("{} has no effect without a transfer size", Field("bandwidth")),
            fmt::format("give {}, and {} if they differ", Field("activation_bytes"), Field("gradient_bytes")));
    }
    return model;
}

} // namespace bubblescope
