#include "core/live/reduced_step.h"

#include <algorithm>
#include <iterator>

namespace bubblescope::profiler {

LiveStep summed(const ReducedStep& step, int replicas) {
    LiveStep sum;
    sum.index = step.index;
    sum.checks = step.checks;
    sum.mismatches = step.mismatches;
    const auto complete = std::ranges::count_if(step.replicas, &ReducedReplica::complete);
    sum.complete = complete == replicas;
    const double share = 1 / static_cast<double>(std::max<std::ptrdiff_t>(1, complete));
    for (const ReducedReplica& replica : step.replicas) {
        if (!replica.complete) {
            if (sum.fault.empty()) sum.fault = replica.fault;
            for (const Rank rank : replica.unknown)
                sum.unknown.emplace_back(replica.replica, rank);
            continue;
        }
        sum.wall = std::max(sum.wall, replica.wall);
        sum.bubble_rate += share * replica.bubble_rate;
        const bool has_form = replica.expected_rate.has_value();
        if (has_form) {
            sum.expected_rate = sum.expected_rate.value_or(0) + share * *replica.expected_rate;
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
    return sum;
}

StepAssembler::Taken ReducedBoard::add(ReducedStep part, TimeNs now) {
    if (part.index <= last_closed_) return StepAssembler::Taken::Late;
    const auto [entry, is_new] = steps_.try_emplace(part.index);
    Open& open = entry->second;
    if (is_new) {
        open.step.index = part.index;
        open.since = now;
    }
    StepAssembler::Taken taken = StepAssembler::Taken::Yes;
    for (ReducedReplica& replica : part.replicas) {
        auto& there = open.step.replicas;
        const auto at = std::ranges::lower_bound(there, replica.replica, {}, &ReducedReplica::replica);
        if (at != there.end() && at->replica == replica.replica)
            taken = StepAssembler::Taken::Bad; // the first is as good
        else
            there.insert(at, std::move(replica));
    }
    if (taken != StepAssembler::Taken::Yes) return taken;
    open.step.checks.add(part.checks);
    std::ranges::move(part.mismatches, std::back_inserter(open.step.mismatches));
    return taken;
}

std::optional<ReducedStep> ReducedBoard::close(TimeNs now) {
    if (steps_.empty()) return std::nullopt;
    const auto first = steps_.begin();
    const bool all = static_cast<int>(first->second.step.replicas.size()) >= replicas_;
    const bool given_up = now - first->second.since >= 2 * limits_.patience;
    if (!all && !given_up && steps_.size() <= limits_.open_steps) return std::nullopt;
    last_closed_ = first->first;
    ReducedStep step = std::move(first->second.step);
    steps_.erase(first);
    return step;
}

} // namespace bubblescope::profiler
