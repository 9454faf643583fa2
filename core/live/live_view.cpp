#include "core/live/live_view.h"

#include <algorithm>
#include <cstddef>

namespace bubblescope::live {

std::string_view rankStateName(RankState state) {
    switch (state) {
    case RankState::Awaited: return "awaited";
    case RankState::Running: return "running";
    case RankState::Late: return "late";
    case RankState::Gone: return "gone";
    case RankState::Ended: return "ended";
    }
    return "awaited";
}

LiveStep summed(std::span<const StepAnalysis> analyses, std::span<const StepAccounting> accounts) {
    LiveStep sum;
    const double weight = 1 / static_cast<double>(std::max<std::size_t>(1, analyses.size()));
    for (const StepAnalysis& replica : analyses) {
        sum.wall = std::max(sum.wall, replica.wall); // replicas run in parallel
        sum.bubble_rate += weight * replica.rates.over_makespan;
        if (replica.form) {
            sum.expected_rate = sum.expected_rate.value_or(0) + weight * replica.form->bubble_rate;
            sum.expected_bubble = sum.expected_bubble.value_or(TimeNs{0});
        }
        for (const RankAccount& rank : replica.ranks) {
            sum.busy += rank.busy;
            sum.bubble += rank.bubble;
            if (replica.form) *sum.expected_bubble += rank.expected_bubble.value_or(TimeNs{0});
        }
    }
    for (const StepAccounting& replica : accounts) {
        for (const RankAccounting& rank : replica.ranks.list()) {
            for (std::size_t cause = 0; cause < kCauseCount; ++cause)
                sum.causes[cause] += rank.causes[cause];
        }
    }
    return sum;
}

void CheckCounts::add(const CheckCounts& other) {
    equal += other.equal;
    mismatch += other.mismatch;
    aborted += other.aborted;
    skipped += other.skipped;
    digests += other.digests;
    time += other.time;
}

} // namespace bubblescope::live
