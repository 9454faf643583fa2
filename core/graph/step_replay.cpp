#include "core/graph/step_replay.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace bubblescope {
namespace {

using Interval = std::pair<TimeNs, TimeNs>;

/// Computes the part of each of several ascending time ranges that a set of intervals covers.
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

    /// `from` must not be less than in the previous call.
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

/// The intervals in which transfers were in progress, for each rank that has delays.
std::vector<std::vector<Interval>> transfersUnderWay(const StepGraph& graph, const std::vector<bool>& wanted) {
    std::vector<std::vector<Interval>> result(wanted.size());
    for (std::size_t side = 0; side < graph.sides(); ++side) {
        for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
            const UnitIndex from = graph.input(side, unit);
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

/// Caps waits off the critical path at their mean on it.
void relax(DelayParts& parts, const StepGraph& graph, const std::vector<Binding>& bindings) {
    if (parts.peer.empty() && parts.late.empty()) return;
    const std::size_t size = graph.rank.size();
    const std::vector<UnitIndex> path = criticalUnits(graph, bindings);
    std::vector<bool> on_path(size, false);
    for (const UnitIndex unit : path)
        on_path[StepGraph::at(unit)] = true;
    for (std::vector<TimeNs>* const waits : {&parts.peer, &parts.late}) {
        if (waits->empty()) continue;
        TimeNs sum{0};
        for (const UnitIndex unit : path)
            sum += (*waits)[StepGraph::at(unit)];
        const TimeNs mean = sum / static_cast<std::int64_t>(path.size());
        for (std::size_t unit = 0; unit < size; ++unit) {
            if (!on_path[unit]) (*waits)[unit] = std::min((*waits)[unit], mean);
        }
        if (std::ranges::all_of(*waits, [](TimeNs time) { return time == TimeNs{0}; })) waits->clear();
    }
}

} // namespace

std::vector<TimeNs> DelayParts::total() const {
    std::vector<TimeNs> sum;
    for (const std::vector<TimeNs>* const part : {&communication, &peer, &replay, &late}) {
        if (part->empty()) continue;
        if (sum.empty()) {
            sum = *part;
            continue;
        }
        for (std::size_t unit = 0; unit < sum.size(); ++unit)
            sum[unit] += (*part)[unit];
    }
    return sum;
}

DelayParts splitDelays(const StepTimeline& step, const StepGraph& graph, const std::vector<Binding>& bindings,
                       const StepKnowledge& known) {
    DelayParts parts;
    const TimeNs least = std::max(known.clock_error, TimeNs{0});
    std::atomic<bool> any{false};
    parallelPieces(graph.delay.size(), [&](std::size_t from, std::size_t to) {
        const auto delays = std::span(graph.delay).subspan(from, to - from);
        if (!any && std::ranges::any_of(delays, [least](TimeNs delay) { return delay > least; })) any = true;
    });
    if (!any) return parts;
    std::vector<std::vector<std::size_t>> delayed(step.ranks.size()); // units with delays per rank, in its order
    std::vector<bool> wanted(step.ranks.size(), false);
    for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
        if (graph.delay[unit] <= least) continue;
        delayed[Rank{graph.rank[unit]}.index()].push_back(unit);
        wanted[Rank{graph.rank[unit]}.index()] = true;
    }
    std::vector<std::vector<Interval>> under_way = transfersUnderWay(graph, wanted);
    /// The share of a delay that goes to each part of DelayParts.
    struct Split {
        TimeNs moved{0};
        TimeNs blocked{0};
        TimeNs replayed{0};
        TimeNs late{0};
    };
    std::vector<std::vector<Split>> splits(delayed.size()); // laid out as `delayed`
    const auto splitRank = [&](std::size_t r) {
        if (delayed[r].empty()) return;
        Coverage moving(std::move(under_way[r]));
        std::vector<Interval> communicating = moving.intervals();
        if (r < step.comm.size()) {
            for (const CommSpan& span : step.comm[r])
                communicating.emplace_back(span.start - step.begin, span.end - step.begin);
        }
        Coverage posted(std::move(communicating));
        std::vector<Interval> records = posted.intervals();
        if (r < known.replays.size()) {
            for (const Interval& replay : known.replays[r])
                records.emplace_back(replay.first - step.begin, replay.second - step.begin);
        }
        Coverage recorded(std::move(records));
        splits[r].reserve(delayed[r].size());
        for (const std::size_t unit : delayed[r]) {
            const TimeNs to = graph.start[unit];
            const TimeNs from = to - graph.delay[unit];
            const TimeNs moved = moving.within(from, to);
            const TimeNs blocked = posted.within(from, to);
            const TimeNs explained = recorded.within(from, to);
            const TimeNs late = graph.delay[unit] - explained;
            const bool counts = late > known.clock_error && !known.records_lost;
            splits[r].push_back({moved, blocked - moved, explained - blocked, counts ? late : TimeNs{0}});
        }
    };
    parallelGroups(delayed.size(), graph.rank.size(), splitRank);
    for (std::size_t r = 0; r < delayed.size(); ++r) {
        for (std::size_t i = 0; i < delayed[r].size(); ++i) {
            const std::size_t unit = delayed[r][i];
            put(parts.communication, unit, graph.rank.size(), splits[r][i].moved);
            put(parts.peer, unit, graph.rank.size(), splits[r][i].blocked);
            put(parts.replay, unit, graph.rank.size(), splits[r][i].replayed);
            put(parts.late, unit, graph.rank.size(), splits[r][i].late);
        }
    }
    relax(parts, graph, bindings);
    return parts;
}

ObservedStep::ObservedStep(const StepTimeline& step, const StepKnowledge& known,
                           std::shared_ptr<const ExecutedUnits> ran)
    : graph(step, std::move(ran)), latest(bindings(graph)), delays(splitDelays(step, graph, latest, known)) {}

bool ObservedStep::assign(const StepTimeline& step, const StepKnowledge& known,
                          std::shared_ptr<const ExecutedUnits> ran) {
    const bool same_order = graph.assign(step, std::move(ran));
    latest = bindings(graph);
    delays = splitDelays(step, graph, latest, known);
    return same_order;
}

StepReplay::StepReplay(const StepGraph& graph, std::span<const UnitIndex> order)
    : tasks_(graph.sharedTasks()), reordered_(!order.empty()), last_(graph.last.begin(), graph.last.end()), ends_(0) {
    if (order.empty()) return;
    const std::size_t width = tasks_->width();
    std::vector<TaskIndex> rows;
    rows.reserve(width * order.size());
    last_.assign(last_.size(), kNoUnit);
    for (const UnitIndex unit : order) {
        const auto inputs = graph.tasks().predecessors(StepGraph::at(unit)).subspan(1);
        rows.push_back(std::exchange(last_[StepGraph::at(graph.rank[StepGraph::at(unit)])], unit));
        rows.insert(rows.end(), inputs.begin(), inputs.end());
    }
    tasks_ =
        std::make_shared<const TaskGraph>(width, std::move(rows), std::vector<TaskIndex>(order.begin(), order.end()));
}

TimeNs StepReplay::run(const StepTimes& times, TaskTimes& ends) const {
    ends.resize(tasks_->size());
    const auto pass = [&](auto lag) {
        const TimeNs* const durations = times.durations.data();
        if (times.delays.empty()) {
            forwardPass(*tasks_, ends, lag, [=](UnitIndex unit, TimeNs ready) { return ready + durations[unit]; });
        } else {
            const TimeNs* const delays = times.delays.data();
            forwardPass(*tasks_, ends, lag,
                        [=](UnitIndex unit, TimeNs ready) { return ready + (delays[unit] + durations[unit]); });
        }
    };
    if (times.transfers == nullptr) {
        pass(NoLag{});
    } else if (!times.holds.empty() && !reordered_) {
        pass([&](const EdgePlace& edge) {
            if (edge.from == kNoTask) return TimeNs{0};
            return lagOf(times.holds, *times.transfers, edge.slot, StepGraph::at(edge.task));
        });
    } else {
        const std::array<const TimeNs*, 2> transfers{(*times.transfers)[0].data(), (*times.transfers)[1].data()};
        pass([=](const EdgePlace& edge) { return edge.slot == 0 ? TimeNs{0} : transfers[edge.slot - 1][edge.task]; });
    }
    TimeNs length{0};
    for (const UnitIndex last : last_)
        length = std::max(length, ends[last]);
    return length;
}

} // namespace bubblescope
