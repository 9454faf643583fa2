#include "app/gui/models/op_kernels.h"

#include "core/timeline/trace_names.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace bubblescope::gui {
namespace {

/// True if a name such as "F0.0+B1.0" contains the op's name.
bool namesOp(std::string_view names, const std::string& op) {
    while (!names.empty()) {
        const std::size_t plus = std::min(names.find('+'), names.size());
        if (names.substr(0, plus) == op) return true;
        names.remove_prefix(std::min(plus + 1, names.size()));
    }
    return false;
}

} // namespace

OpKernels kernelsOf(const Session& session, const ItemRef& item) {
    OpKernels out;
    if (!session.raw.any()) return out;
    const Trace& trace = *session.run.trace;
    const std::string op = opName(session.op(item).op);
    std::unordered_map<StringId, OpKernels::Named> by_name;
    for (const RawLane& lane : session.raw.of(session.lanes.lineOf(item))) {
        if (!lane.device) continue;
        const Track& track = trace.tracks()[lane.track];
        const TimeRange range = lane.toLaneTime(session.range(item));
        const auto starts = trace.sliceStarts().subspan(track.first_slice, track.end_slice - track.first_slice);
        const auto first = std::ranges::lower_bound(starts, range.begin.count());
        for (auto slice = track.first_slice + static_cast<SliceId>(first - starts.begin());
             slice < track.end_slice && trace.start(slice) < range.end; ++slice) {
            const auto given = trace.textArg(trace.sliceArgs()[slice], trace_names::kOfOp);
            if (given && !namesOp(*given, op)) continue;
            const TimeNs time = trace.end(slice) - trace.start(slice);
            OpKernels::Named& named = by_name[trace.sliceNames()[slice]];
            ++named.count;
            named.total += time;
            ++out.count;
            out.total += time;
        }
    }
    for (auto& [name, named] : by_name) {
        named.name = trace.text(name);
        out.longest.push_back(named);
    }
    std::ranges::sort(out.longest, [](const OpKernels::Named& a, const OpKernels::Named& b) {
        return std::pair(b.total, a.name) < std::pair(a.total, b.name);
    });
    if (out.longest.size() > OpKernels::kNamed) out.longest.resize(OpKernels::kNamed);
    return out;
}

} // namespace bubblescope::gui
