#include "core/io/slice_pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace bubblescope {

void SlicePairing::addFlowToLast(std::uint64_t id) {
    flows_.push_back({static_cast<std::uint32_t>(marks_.size() - 1), id});
}

void SlicePairing::sortByTrackAndTime() {
    const auto before = [](const Numbered& a, const Numbered& b) {
        return std::tuple(a.mark.track, a.id, a.mark.time) < std::tuple(b.mark.track, b.id, b.mark.time);
    };
    if (!std::is_sorted(marks_.begin(), marks_.end(), before)) std::stable_sort(marks_.begin(), marks_.end(), before);
}

void SlicePairing::addFlows(TraceBuilder& builder, const Numbered& begin, SliceId slice) const {
    auto flow = std::lower_bound(flows_.begin(), flows_.end(), begin.number,
                                 [](const Flow& known, std::uint32_t number) { return known.mark < number; });
    for (; flow != flows_.end() && flow->mark == begin.number; ++flow)
        builder.addFlow({flow->id, begin.mark.time, begin.mark.track, slice, true});
}

void SlicePairing::finish(TraceBuilder& builder, DiagnosticLog& log, const std::string& where) {
    sortByTrackAndTime();
    std::vector<const Numbered*> open;
    const auto dropOpen = [&] {
        for (const Numbered* begin : open) {
            log.add("unmatched-begin", fmt::format("{}, slice '{}'", where, builder.text(begin->mark.name)),
                    "slices begin but never end; they are left out");
        }
        open.clear();
    };

    for (std::size_t i = 0; i < marks_.size(); ++i) {
        const Numbered& entry = marks_[i];
        if (i > 0 && (marks_[i - 1].mark.track != entry.mark.track || marks_[i - 1].id != entry.id)) dropOpen();
        if (!entry.mark.is_end) {
            open.push_back(&entry);
            continue;
        }
        if (open.empty()) {
            log.add("unmatched-end", fmt::format("{}, at {} ns", where, entry.mark.time.count()),
                    "slices end that never began; they are left out");
            continue;
        }
        const Numbered& begin = *open.back();
        open.pop_back();
        const SliceMark& mark = begin.mark;
        const SliceId slice = builder.addSlice({mark.track, mark.time, entry.mark.time - mark.time, mark.name,
                                                mark.category, builder.args().merge(mark.args, entry.mark.args)});
        addFlows(builder, begin, slice);
    }
    dropOpen();
    marks_.clear();
    flows_.clear();
}

} // namespace bubblescope
