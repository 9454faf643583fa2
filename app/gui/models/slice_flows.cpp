#include "app/gui/models/slice_flows.h"

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

SliceFlows::SliceFlows(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {
    const auto points = trace_->flowPoints();
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        const FlowPoint& a = points[i];
        const FlowPoint& b = points[i + 1];
        const auto file = [&](const FlowPoint& point) { return trace_->tracks()[point.track].file; };
        if (a.id != b.id || a.global != b.global || (!a.global && file(a) != file(b))) continue;
        by_begin_.push_back(static_cast<std::uint32_t>(i));
    }
    by_end_ = by_begin_;
    std::ranges::stable_sort(by_begin_, {}, [&](std::uint32_t point) { return points[point].time; });
    std::ranges::stable_sort(by_end_, {}, [&](std::uint32_t point) { return points[point + 1].time; });
}

SliceFlow SliceFlows::flow(std::uint32_t point) const {
    return {trace_->flowPoints()[point], trace_->flowPoints()[point + 1]};
}

std::size_t SliceFlows::firstFrom(TimeNs time) const {
    const auto begin = [this](std::uint32_t point) { return trace_->flowPoints()[point].time; };
    return static_cast<std::size_t>(std::ranges::lower_bound(by_begin_, time, {}, begin) - by_begin_.begin());
}

std::vector<SliceFlow> SliceFlows::of(SliceId slice) const {
    std::vector<SliceFlow> out;
    if (by_begin_.empty()) return out;
    const auto points = trace_->flowPoints();
    const auto add = [&](const std::vector<std::uint32_t>& flows, std::uint32_t end) {
        const auto time = [&](std::uint32_t point) { return points[point + end].time; };
        for (auto at = std::ranges::lower_bound(flows, trace_->start(slice), {}, time);
             at != flows.end() && time(*at) <= trace_->end(slice); ++at) {
            const bool twice = end == 1 && points[*at].slice == slice; // true if the arrow also starts at this slice
            if (points[*at + end].slice == slice && !twice) out.push_back(flow(*at));
        }
    };
    add(by_begin_, 0);
    add(by_end_, 1);
    return out;
}

SliceId SliceFlows::follow(SliceId slice, bool forward) const {
    for (const SliceFlow& flow : of(slice)) {
        const FlowPoint& here = forward ? flow.from : flow.to;
        const FlowPoint& there = forward ? flow.to : flow.from;
        if (here.slice == slice && there.slice != kNoId) return there.slice;
    }
    return kNoId;
}

} // namespace bubblescope::gui
