#include "core/live/live_view.h"

#include <algorithm>
#include <cstddef>
#include <vector>

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

LiveStep summed(const ReducedStep& step, int replicas) {
    LiveStep sum;
    sum.index = step.index;
    sum.checks = step.checks;
    sum.mismatches = step.mismatches;
    const auto complete = std::ranges::count_if(step.replicas, &ReducedReplica::complete);
    sum.complete = complete == replicas;
    const double weight = 1 / static_cast<double>(std::max<std::ptrdiff_t>(1, complete));
    std::vector<StepValues> values;
    for (const ReducedReplica& replica : step.replicas) {
        values.push_back(replica.values);
        if (!replica.complete) {
            if (sum.fault.empty()) sum.fault = replica.fault;
            for (const Rank rank : replica.unknown)
                sum.unknown.emplace_back(replica.replica, rank);
            continue;
        }
        sum.wall = std::max(sum.wall, replica.wall);
        sum.bubble_rate += weight * replica.bubble_rate;
        const bool has_form = replica.expected_rate.has_value();
        if (has_form) {
            sum.expected_rate = sum.expected_rate.value_or(0) + weight * *replica.expected_rate;
            sum.expected_bubble = sum.expected_bubble.value_or(TimeNs{0});
        }
        for (const ReducedRank& rank : replica.ranks) {
            sum.busy += rank.busy;
            sum.bubble += rank.bubble;
            if (has_form) *sum.expected_bubble += rank.expected_bubble.value_or(TimeNs{0});
            for (std::size_t cause = 0; cause < kCauseCount; ++cause)
                sum.causes[cause] += rank.causes[cause];
        }
    }
    if (sum.complete) sum.values = together(values);
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
