#pragma once

#include "core/graph/cost_table.h"
#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace bubblescope {

/// Builds the timeline of a simulated step, as its ops and transfers become known.
class TimelineRecorder {
public:
    explicit TimelineRecorder(const Schedule& schedule) {
        step_.pp = schedule.pp;
        step_.microbatches = schedule.microbatches;
        step_.vpp = schedule.vpp;
        step_.placement = schedule.placement;
        step_.ranks.resize(schedule.ranks.size());
        step_.comm.resize(schedule.ranks.size());
        for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
            step_.ranks[r].reserve(schedule.ranks[r].size());
            // At most one send, receive and wait per op; unused memory is never touched.
            if (schedule.pp > 1) step_.comm[r].reserve(3 * schedule.ranks[r].size());
        }
    }

    void op(Rank rank, const Op& op, TimeNs start, TimeNs end) {
        step_.ranks[rank.index()].push_back({op, start, end});
    }

    /// Records both sides of a transfer.
    void transfer(Rank from, const Transfer& what, TimeNs start, TimeNs end) {
        span(CommKind::Send, from, what, what.to, start, end);
        span(CommKind::Receive, what.to, what, from, start, end);
    }

    /// Records a rank's wait for a transfer from or to `peer`.
    void wait(Rank rank, const Transfer& what, Rank peer, TimeNs start, TimeNs end) {
        span(CommKind::Wait, rank, what, peer, start, end);
    }

    [[nodiscard]] StepTimeline take() {
        for (auto& spans : step_.comm)
            std::ranges::stable_sort(spans, {}, &CommSpan::start);
        step_.fitWindow();
        return std::move(step_);
    }

private:
    void span(CommKind kind, Rank rank, const Transfer& what, Rank peer, TimeNs start, TimeNs end) {
        step_.comm[rank.index()].emplace_back(kind, what.payload, what.microbatch, what.stage, peer, start, end,
                                              what.sequence);
    }

    StepTimeline step_;
};

} // namespace bubblescope
