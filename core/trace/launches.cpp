#include "core/trace/launches.h"

namespace bubblescope {

std::optional<std::int64_t> correlationOf(const Trace& trace, SliceId slice) {
    // Kineto's, Paddle's, and those of rocprofv3's two ways of writing args.
    constexpr std::array<std::string_view, 4> kNames{"correlation", "correlation id", "corr_id", "debug.corr_id"};
    const ArgSetId args = trace.sliceArgs()[slice];
    for (const std::string_view name : kNames) {
        if (const auto id = trace.intArg(args, name)) return id;
    }
    return std::nullopt;
}

} // namespace bubblescope
