#include "core/request/lowering_request.h"

#include "core/base/field.h"
#include "core/base/text.h"
#include "core/graph/validate.h"
#include "core/lowering/deepspeed_lowering.h"
#include "core/lowering/megatron_lowering.h"
#include "core/lowering/paddle_lowering.h"
#include "core/lowering/torch_lowering.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::string_view kTorch = "torch";

/// The runtimes without options of their own.
struct Runtime {
    std::string_view name;
    std::string_view flavor; ///< its own order of a family, if that has one
    Result<LoweredSchedule> (*lower)(const Schedule& order);
};

template <MegatronTransfers transfers>
Result<LoweredSchedule> asMegatron(const Schedule& order) {
    return lowerAsMegatron(order, transfers);
}
template <bool overlapped>
Result<LoweredSchedule> asPaddle(const Schedule& order) {
    return lowerAsPaddle(order, overlapped);
}

constexpr std::array kRuntimes{
    Runtime{"megatron", "megatron", asMegatron<MegatronTransfers::Batched>},
    Runtime{"megatron-separate", "megatron", asMegatron<MegatronTransfers::Separate>},
    Runtime{"megatron-overlapped", "megatron", asMegatron<MegatronTransfers::Overlapped>},
    Runtime{"megatron-overlapped-flush", "megatron", asMegatron<MegatronTransfers::OverlappedFlush>},
    Runtime{"deepspeed", "", lowerAsDeepSpeed},
    Runtime{"paddle", "paddle-dynamic", asPaddle<false>},
    Runtime{"paddle-overlapped", "paddle-dynamic", asPaddle<true>},
};

Status parseLookahead(std::string_view text, TorchLowering& options) {
    using Lookahead = TorchLowering::Lookahead;
    options.lookahead = text.empty() || text == "full" ? Lookahead::Full
                        : text == "auto"               ? Lookahead::Auto
                                                       : Lookahead::Listed;
    if (options.lookahead != Lookahead::Listed) return {};
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const auto number = parseNumber<int>(trimmed(text.substr(begin, end - begin)));
        if (!number) {
            return usageError(
                fmt::format("{} is not full, auto or a list of numbers", Field("unshard_lookahead").is(text)),
                "use a number per rank, such as 2,2,3,3");
        }
        options.lookahead_list.push_back(*number);
        begin = end + 1;
    }
    return {};
}

} // namespace

std::vector<std::string> LoweringRequest::runtimeNames() {
    std::vector<std::string> names{std::string(kTorch)};
    for (const Runtime& runtime : kRuntimes)
        names.emplace_back(runtime.name);
    return names;
}

std::optional<std::string> LoweringRequest::ownFlavor() const {
    const auto runtime = std::ranges::find(kRuntimes, lower, &Runtime::name);
    return runtime == kRuntimes.end() ? std::nullopt : std::optional(std::string(runtime->flavor));
}

void LoweringRequest::chooseFlavor(ScheduleSpec& spec) const {
    const ScheduleFamily* const family = findScheduleFamily(spec.name);
    if (!spec.flavor.empty() || family == nullptr) return;
    const auto runtime = std::ranges::find(kRuntimes, lower, &Runtime::name);
    const std::string_view own = lower == kTorch ? kTorch : runtime == kRuntimes.end() ? "" : runtime->flavor;
    if (std::ranges::find(family->flavors, own) != family->flavors.end()) spec.flavor = own;
}

bool LoweringRequest::hasTorchOptions() const {
    return defer_receives || receives_ahead || max_active_stages || !unshard_lookahead.empty() ||
           max_outstanding_sends || defer_reduce_grad_wait;
}

Result<LoweredSchedule> LoweringRequest::asTorch(const Schedule& order) const {
    TorchLowering options;
    options.defer_pp_recv = defer_receives;
    options.receives_ahead = receives_ahead;
    options.max_active_stages = max_active_stages.value_or(options.max_active_stages);
    BUBBLESCOPE_TRY(parseLookahead(unshard_lookahead, options));
    options.max_outstanding_sends = max_outstanding_sends;
    options.defer_reduce_grad_wait = defer_reduce_grad_wait;
    return lowerAsTorch(order, options);
}

Result<LoweredSchedule> LoweringRequest::lowered(Schedule order, const std::string& file) const {
    if (wanted()) {
        BUBBLESCOPE_TRY(rejectEncoders(order.placement, "a lowered order"));
        BUBBLESCOPE_ASSIGN([[maybe_unused]] const OpGraph whole, completeGraph(order));
        if (lower == kTorch) return asTorch(order);
        const auto runtime = std::ranges::find(kRuntimes, lower, &Runtime::name);
        if (runtime == kRuntimes.end())
            return usageError(fmt::format("{} is not known", Field("lower").is(lower)),
                              fmt::format("specify one of {}", fmt::join(runtimeNames(), ", ")));
        if (hasTorchOptions())
            return usageError(fmt::format("{} does not support these options", Field("lower").is(lower)),
                              fmt::format("use them with {}", Field("lower").is(kTorch)));
        return runtime->lower(order);
    }
    LoweredSchedule lowered{std::move(order), {}};
    if (file.empty()) return lowered;
    BUBBLESCOPE_ASSIGN(LoweredSchedule read, readLoweredFile(file));
    lowered.actions = std::move(read.actions);
    return lowered;
}

} // namespace bubblescope
