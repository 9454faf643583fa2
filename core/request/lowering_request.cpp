#include "core/request/lowering_request.h"

#include "core/base/field.h"
#include "core/base/text.h"
#include "core/graph/validate.h"
#include "core/lowering/megatron_lowering.h"
#include "core/lowering/torch_lowering.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::string_view kTorch = "torch";
constexpr std::string_view kMegatron = "megatron";
constexpr std::string_view kMegatronSeparate = "megatron-separate";

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
                "give a number per rank, such as 2,2,3,3");
        }
        options.lookahead_list.push_back(*number);
        begin = end + 1;
    }
    return {};
}

} // namespace

void LoweringRequest::chooseFlavor(ScheduleSpec& spec) const {
    const ScheduleFamily* const family = findScheduleFamily(spec.name);
    if (lower != kTorch || !spec.flavor.empty() || family == nullptr) return;
    if (std::ranges::find(family->flavors, kTorch) != family->flavors.end()) spec.flavor = kTorch;
}

bool LoweringRequest::hasTorchOptions() const {
    return defer_receives || max_active_stages || !unshard_lookahead.empty() || max_outstanding_sends ||
           defer_reduce_grad_wait;
}

Result<LoweredSchedule> LoweringRequest::asTorch(const Schedule& order) const {
    TorchLowering options;
    options.defer_pp_recv = defer_receives;
    options.max_active_stages = max_active_stages.value_or(options.max_active_stages);
    BUBBLESCOPE_TRY(parseLookahead(unshard_lookahead, options));
    options.max_outstanding_sends = max_outstanding_sends;
    options.defer_reduce_grad_wait = defer_reduce_grad_wait;
    return lowerAsTorch(order, options);
}

Result<LoweredSchedule> LoweringRequest::lowered(Schedule order, const std::string& file) const {
    if (wanted()) {
        BUBBLESCOPE_ASSIGN([[maybe_unused]] const OpGraph whole, completeGraph(order));
        if (lower == kTorch) return asTorch(order);
        if (lower != kMegatron && lower != kMegatronSeparate)
            return usageError(fmt::format("{} is not known", Field("lower").is(lower)),
                              "give torch, megatron or megatron-separate");
        if (hasTorchOptions())
            return usageError(fmt::format("{} does not take these options", Field("lower").is(lower)),
                              fmt::format("use them with {}", Field("lower").is(kTorch)));
        return lowerAsMegatron(order, lower == kMegatron ? MegatronTransfers::Batched : MegatronTransfers::Separate);
    }
    LoweredSchedule lowered{std::move(order), {}};
    if (file.empty()) return lowered;
    BUBBLESCOPE_ASSIGN(LoweredSchedule read, readLoweredFile(file));
    lowered.actions = std::move(read.actions);
    return lowered;
}

} // namespace bubblescope
