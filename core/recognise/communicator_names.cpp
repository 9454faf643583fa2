#include "core/recognise/communicator_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {

std::string processGroupOf(const Trace& trace, SliceId slice) {
    const ArgSetId args = trace.sliceArgs()[slice];
    const std::string name = trace.textArg(args, "Process Group Name").value_or("");
    if (name.empty()) return {};
    const std::string description = trace.textArg(args, "Process Group Description").value_or("");
    return description.empty() || description == "undefined" ? name : fmt::format("{} {}", description, name);
}

std::string communicatorName(const Trace& trace, const std::string& group, SliceId kernel) {
    if (group.empty()) return {};
    const auto stream = trace.intArg(trace.sliceArgs()[kernel], "stream");
    return fmt::format("{}, stream {}", group, stream.value_or(trace.tracks()[trace.sliceTracks()[kernel]].tid));
}

PostedGroups::PostedGroups(const Trace& trace) : trace_(trace) {
    const StringId call = trace.strings().find("record_param_comms");
    for (SliceId slice = 0; slice < trace.sliceCount() && call != 0; ++slice) {
        if (trace.sliceNames()[slice] != call) continue;
        const TrackId track = trace.sliceTracks()[slice];
        calls_[{trace.tracks()[track].file, GpuWork::threadOf(trace, track)}].emplace_back(trace.start(slice), slice);
    }
    for (auto& [thread, calls] : calls_)
        std::ranges::sort(calls);
}

std::string PostedGroups::in(std::uint32_t file, std::int64_t thread, TimeNs from, TimeNs to) const {
    const auto of_thread = calls_.find({file, thread});
    if (of_thread == calls_.end()) return {};
    const auto& calls = of_thread->second;
    for (auto call = std::ranges::lower_bound(calls, from, {}, &std::pair<TimeNs, SliceId>::first);
         call != calls.end() && call->first <= to; ++call) {
        const auto name = trace_.textArg(trace_.sliceArgs()[call->second], "Collective name");
        if (name == "send" || name == "recv") return processGroupOf(trace_, call->second);
    }
    return {};
}

} // namespace bubblescope
