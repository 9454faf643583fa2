#include "core/request/transfer_request.h"

#include "core/base/bytes.h"
#include "core/base/field.h"
#include "core/cost/cost_files.h"

#include <fmt/format.h>

namespace bubblescope {

Result<SendMode> sendMode(const std::string& name) {
    const auto mode = sendModeFromName(name);
    if (!mode)
        return usageError(fmt::format("{} is not known", Field("sends").is(name)),
                          "give async, blocking, paired or batched");
    return *mode;
}

Result<TransferModel> TransferRequest::model(int pp) const {
    TransferModel model;
    if (activation_bytes) {
        BUBBLESCOPE_ASSIGN(model.activation_bytes, parseBytes(*activation_bytes));
    }
    model.gradient_bytes = model.activation_bytes;
    if (gradient_bytes) {
        BUBBLESCOPE_ASSIGN(model.gradient_bytes, parseBytes(*gradient_bytes));
    }
    if (bandwidth) {
        BUBBLESCOPE_ASSIGN(model.bytes_per_second, parseBandwidth(*bandwidth));
    }
    if (!links.empty()) {
        BUBBLESCOPE_ASSIGN(model.links, readLinks(links, pp));
    }
    if (bandwidth && model.activation_bytes == 0 && model.gradient_bytes == 0) {
        return usageError(
            fmt::format("{} says nothing without the size of transfers", Field("bandwidth")),
            fmt::format("give {}, and {} if they differ", Field("activation_bytes"), Field("gradient_bytes")));
    }
    const auto mode = commStreamsFromName(streams);
    if (!mode) {
        return usageError(fmt::format("{} is not known", Field("comm_streams").is(streams)),
                          "give unlimited, direction, link or rank");
    }
    model.streams = *mode;
    BUBBLESCOPE_ASSIGN(model.sends, sendMode(sends));
    model.on_compute_stream = no_overlap;
    return model;
}

} // namespace bubblescope
