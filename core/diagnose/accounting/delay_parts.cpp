#include "core/diagnose/accounting/delay_parts.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

using Interval = std::pair<TimeNs, TimeNs>;

/// How much of ascending stretches of time a set of intervals covers.
class Coverage {
public:
    explicit Coverage(std::vector<Interval> intervals) {
        if (!std::ranges::is_sorted(intervals)) std::ranges::sort(intervals);
        for (const Interval& next : intervals) {
            if (next.second <= next.first) continue;
            if (!merged_.empty() && next.first <= merged_.back().second) {
                merged_.back().second = std::max(merged_.back().second, next.second);
            } else {
                merged_.push_back(next);
            }
        }
    }

    /// `from` must not be less than in the call before.
    TimeNs within(TimeNs from, TimeNs to) {
        while (at_ < merged_.size() && merged_[at_].second <= from)
            ++at_;
        TimeNs covered{0};
        for (std::size_t i = at_; i < merged_.size() && merged_[i].first < to; ++i)
            covered += std::min(to, merged_[i].second) - std::max(from, merged_[i].first);
        return covered;
    }

    [[nodiscard]] const std::vector<Interval>& intervals() const { return merged_; }

private:
    std::vector<Interval> merged_;
    std::size_t at_ = 0;
};

/// The transfers of each rank that has delays, as intervals in which they were under way.
std::vector<std::vector<Interval>> transfersUnderWay(const StepGraph& graph, const std::vector<bool>& wanted) {
    std::vector<std::vector<Interval>> result(wanted.size());
    for (std::size_t side = 0; side < (graph.hasPairs() ? 2U : 1U); ++side) {
        for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
            const UnitIndex from = graph.input[side][unit];
            if (from == kNoUnit || graph.transfer[side][unit] == TimeNs{0}) continue;
            const Interval under_way{graph.sent[side][unit], graph.sent[side][unit] + graph.transfer[side][unit]};
            for (const std::int32_t r : {graph.rank[unit], graph.rank[StepGraph::at(from)]}) {
                if (wanted[Rank{r}.index()]) result[Rank{r}.index()].push_back(under_way);
            }
        }
    }
    return result;
}

void put(std::vector<TimeNs>& list, std::size_t unit, std::size_t size, TimeNs time) {
    if (time == TimeNs{0}) return;
    if (list.empty()) list.assign(size, TimeNs{0});
    list[unit] = time;
}

} // namespace

DelayParts splitDelays(const StepTimeline& step, const StepGraph& graph, const AccountingInput& input) {
    DelayParts parts;
    std::vector<std::vector<std::size_t>> delayed(step.ranks.size()); // per rank, in its order
    std::vector<bool> wanted(step.ranks.size(), false);
    for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
        if (graph.delay[unit] <= input.clock_error || graph.delay[unit] <= TimeNs{0}) continue;
        delayed[Rank{graph.rank[unit]}.index()].push_back(unit);
        wanted[Rank{graph.rank[unit]}.index()] = true;
    }
    std::vector<std::vector<Interval>> under_way = transfersUnderWay(graph, wanted);
    for (std::size_t r = 0; r < delayed.size(); ++r) {
        if (delayed[r].empty()) continue;
        Coverage moving(std::move(under_way[r]));
        std::vector<Interval> communicating = moving.intervals();
        if (r < step.comm.size()) {
            for (const CommSpan& span : step.comm[r])
                communicating.emplace_back(span.start - step.begin, span.end - step.begin);
        }
        Coverage posted(std::move(communicating));
        std::vector<Interval> explained = posted.intervals();
        if (r < input.replays.size()) {
            for (const Interval& replay : input.replays[r])
                explained.emplace_back(replay.first - step.begin, replay.second - step.begin);
        }
        Coverage recorded(std::move(explained));
        for (const std::size_t unit : delayed[r]) {
            const TimeNs to = graph.start[unit];
            const TimeNs from = to - graph.delay[unit];
            const TimeNs moved = moving.within(from, to);
            const TimeNs blocked = posted.within(from, to);
            const TimeNs known = recorded.within(from, to);
            put(parts.communication, unit, graph.rank.size(), moved);
            put(parts.peer, unit, graph.rank.size(), blocked - moved);
            put(parts.replay, unit, graph.rank.size(), known - blocked);
            const TimeNs late = graph.delay[unit] - known;
            if (late > input.clock_error && !input.records_lost) put(parts.late, unit, graph.rank.size(), late);
        }
    }
    return parts;
}

} // namespace bubblescope
