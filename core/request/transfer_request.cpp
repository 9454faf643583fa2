#include "core/request/transfer_request.h"

#include "core/base/field.h"
#include "core/cost/cost_files.h"

#include <algorithm>

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

Result<TransferModel> TransferRequest::model(int pp, bool timed) const {
    TransferModel model = stated;
    model.gradient_bytes = gradient_bytes.value_or(model.activation_bytes);
    if (!links.empty()) {
        BUBBLESCOPE_ASSIGN(model.links, readLinks(links, pp));
    }
    const bool sized = model.activation_bytes != 0 || model.gradient_bytes != 0;
    const bool rated = model.bytes_per_second || std::ranges::any_of(model.links, [](const Link& link) {
                           return link.bytes_per_second.has_value();
                       });
    if (rated && !sized) {
        return usageError(
            fmt::format("{} has no effect without a transfer size",
                        model.bytes_per_second ? Field("bandwidth") : Field("links")),
            fmt::format("give {}, and {} if they differ", Field("activation_bytes"), Field("gradient_bytes")));
    }
    if (sized && !rated && !eager_sends) {
        return usageError(
            fmt::format("{} has no effect without a bandwidth: bytes take no time",
                        model.activation_bytes != 0 ? Field("activation_bytes") : Field("gradient_bytes")),
            fmt::format("give {}, such as {}", Field("bandwidth"), Field("bandwidth").is("50GB/s")));
    }
    if (model.streams != CommStreams::Unlimited && !rated && !timed && model.links.empty()) {
        return usageError(
            fmt::format("{} has no effect on transfers that take no time", Field("comm_streams")),
            fmt::format("give {}, or {} and {}", Field("comm"), Field("activation_bytes"), Field("bandwidth")));
    }
    return model;
}

} // namespace bubblescope
