#include "core/aadiff/coverage.h"

#include "core/graph/longest_path.h"
#include "core/graph/step_graph.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// One kind of op in a chunk, over all micro-batches and steps.
struct OpGroup {
    int replica = 0;
    Rank rank;
    Chunk chunk;
    OpKind kind = OpKind::Forward;

    friend constexpr auto operator<=>(const OpGroup&, const OpGroup&) = default;
};

struct TimedGroup {
    TimeNs total{0};
    std::int64_t count = 0;
    [[nodiscard]] double mean() const {
        return count == 0 ? 0 : static_cast<double>(total.count()) / static_cast<double>(count);
    }
};

std::map<OpGroup, TimedGroup> timesOf(std::span<const StepTimeline> steps) {
    std::map<OpGroup, TimedGroup> times;
    for (const StepTimeline& step : steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            for (const TimelineOp& op : step.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer) continue;
                TimedGroup& group = times[{step.replica, Rank{r}, op.op.chunk, op.op.kind}];
                group.total += op.duration();
                ++group.count;
            }
        }
    }
    return times;
}

bool runsAgain(const CheckRecord& check) {
    return check.kind == CheckKind::Replay || check.kind == CheckKind::Elsewhere;
}

using UnitKey = std::tuple<CheckPlace, Chunk, OpKind, int>;

} // namespace

void CheckCounts::add(CheckOutcome outcome) {
    switch (outcome) {
    case CheckOutcome::Equal: ++equal; break;
    case CheckOutcome::Mismatch: ++mismatched; break;
    case CheckOutcome::Aborted: ++aborted; break;
    case CheckOutcome::Skipped: ++skipped; break;
    }
}

std::string_view coveredName(Covered state) {
    switch (state) {
    case Covered::Yes: return "covered";
    case Covered::NotYet: return "not yet";
    case Covered::Never: return "never";
    }
    return "";
}

Covered CoveredUnit::state() const {
    if (counts.done() > 0) return Covered::Yes;
    return counts.planned() > 0 ? Covered::NotYet : Covered::Never;
}

std::int64_t CheckCoverage::unitsThatAre(Covered state) const {
    return std::ranges::count_if(units, [&](const CoveredUnit& unit) { return unit.state() == state; });
}

CheckCounts CheckCoverage::all() const {
    CheckCounts sum;
    for (const CheckCounts& kind : counts) {
        sum.equal += kind.equal;
        sum.mismatched += kind.mismatched;
        sum.aborted += kind.aborted;
        sum.skipped += kind.skipped;
    }
    return sum;
}

double CheckCoverage::replayedFraction() const {
    return work == TimeNs{0} ? 0 : static_cast<double>(replayed.count()) / static_cast<double>(work.count());
}

CheckCoverage coverageOf(const CheckLog& log, std::span<const StepTimeline> steps, int tensor_ranks) {
    CheckCoverage result;
    const std::map<OpGroup, TimedGroup> times = timesOf(steps);
    const auto stageOf = [&](Rank rank, Chunk chunk) {
        return steps.empty() ? Stage{0} : steps.front().stageOf(rank, chunk);
    };
    std::map<Stage, std::set<int>> layers_of;
    const auto learn = [&](const auto& record) {
        if (record.op.kind != OpKind::Optimizer) layers_of[stageOf(record.rank, record.op.chunk)].insert(record.layer);
    };
    for (const CheckRecord& check : log.checks) {
        if (runsAgain(check)) learn(check);
    }
    std::ranges::for_each(log.digests, learn);

    std::map<UnitKey, CoveredUnit> units;
    constexpr int kNoLayer = -1;
    std::set<std::pair<int, Rank>> ranks;
    for (const auto& [group, time] : times) {
        ranks.emplace(group.replica, group.rank);
        result.work += time.total * tensor_ranks;
        std::set<int> layers = layers_of[stageOf(group.rank, group.chunk)];
        if (layers.empty()) layers.insert(kNoLayer);
        for (int tensor = 0; tensor < tensor_ranks; ++tensor) {
            const CheckPlace place{group.replica, group.rank, tensor};
            for (const int layer : layers) {
                CoveredUnit& unit = units[{place, group.chunk, group.kind, layer}];
                unit = {.place = place,
                        .chunk = group.chunk,
                        .kind = group.kind,
                        .layer = layer == kNoLayer ? std::optional<int>() : layer,
                        .counts = {}};
            }
        }
    }
    double replayed = 0;
    for (const CheckRecord& check : log.checks) {
        result.counts[static_cast<std::size_t>(check.kind)].add(check.outcome);
        if (!runsAgain(check)) continue;
        const auto unit = units.find({placeOf(check), check.op.chunk, check.op.kind, check.layer});
        if (unit == units.end()) continue; // an op in an incomplete step
        unit->second.counts.add(check.outcome);
        if (check.outcome != CheckOutcome::Equal && check.outcome != CheckOutcome::Mismatch) continue;
        unit->second.last_step = std::max(unit->second.last_step, check.step);
        replayed += times.at({check.replica, check.rank, check.op.chunk, check.op.kind}).mean() /
                    static_cast<double>(layers_of[stageOf(check.rank, check.op.chunk)].size());
    }
    // Checks may belong to incomplete steps, which are not among `steps`.
    result.replayed = std::min(result.work, TimeNs{static_cast<std::int64_t>(replayed)});
    for (auto& [key, unit] : units)
        result.units.push_back(std::move(unit));
    result.devices = static_cast<int>(ranks.size()) * tensor_ranks;
    std::set<int> numbers;
    for (const StepTimeline& step : steps)
        numbers.insert(step.index);
    result.steps = static_cast<int>(numbers.size());
    return result;
}

CoverageMap coverageMap(const CheckCoverage& coverage) {
    std::map<CheckPlace, std::map<CoverageMap::Column, CoverageMap::Cell>> cells;
    CoverageMap out;
    for (const CoveredUnit& unit : coverage.units) {
        const CoverageMap::Column column{unit.chunk, unit.kind};
        CoverageMap::Cell& cell = cells[unit.place][column];
        ++cell.units;
        switch (unit.state()) {
        case Covered::Yes: ++cell.covered; break;
        case Covered::NotYet: ++cell.not_yet; break;
        case Covered::Never: ++cell.never; break;
        }
        cell.counts.equal += unit.counts.equal;
        cell.counts.mismatched += unit.counts.mismatched;
        cell.counts.aborted += unit.counts.aborted;
        cell.counts.skipped += unit.counts.skipped;
        if (std::ranges::find(out.columns, column) == out.columns.end()) out.columns.push_back(column);
    }
    std::ranges::sort(out.columns);
    for (auto& [place, of_place] : cells) {
        out.rows.push_back(place);
        for (const CoverageMap::Column& column : out.columns)
            out.cells.push_back(of_place[column]);
    }
    return out;
}

std::vector<StepChecks> checksByStep(const CheckLog& log, std::span<const StepTimeline> steps) {
    std::vector<StepChecks> result;
    if (log.checks.empty()) return result;
    const std::vector<StepReplays> replays = replaysOf(log, steps);
    std::map<std::pair<int, int>, std::vector<const CheckRecord*>> by_step; // and replica
    for (const CheckRecord& check : log.checks)
        by_step[{check.step, check.replica}].push_back(&check);
    std::set<std::tuple<CheckPlace, Chunk, OpKind, int>> covered;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        StepChecks& step = result.emplace_back();
        step.step = steps[i].index;
        step.replica = steps[i].replica;
        for (const CheckRecord* const check : by_step[{step.step, step.replica}]) {
            step.counts.add(check->outcome);
            const bool done = check->outcome == CheckOutcome::Equal || check->outcome == CheckOutcome::Mismatch;
            if (check->kind == CheckKind::Replay && done)
                covered.insert({placeOf(*check), check->op.chunk, check->op.kind, check->layer});
        }
        step.units = covered.size();
        if (i < replays.size()) step.delay = delayByChecks(steps[i], replays[i]);
    }
    return result;
}

std::optional<int> stepsToCover(std::span<const StepChecks> steps) {
    if (steps.empty() || steps.back().units == 0) return std::nullopt;
    int count = 0;
    for (const StepChecks& step : steps) {
        ++count;
        if (step.units == steps.back().units) break;
    }
    return count;
}

std::span<const PublishedRate> publishedRates() {
    static constexpr std::array kRates{PublishedRate{"Llama 3", 6, 54.0 * 24 * 16'384},
                                       PublishedRate{"AEGIS", 18, 3.5e7}};
    return kRates;
}

FaultOdds faultOdds(int devices, double fraction) {
    const double low = publishedRates().front().perDay(devices);
    const double high = publishedRates().back().perDay(devices);
    return {{low, high}, {fraction * low, fraction * high}};
}

namespace {

/// A step without its checks, as a graph of units. A unit is one op, or the ops of a rank that started together as a
/// pair. The time of a unit is its start.
class StepWithoutChecks {
public:
    StepWithoutChecks(const StepTimeline& step, std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks)
        : step_(step), ops_(executedOrder(step)) {
        for (const auto& list : step.ranks) {
            for (const TimelineOp& op : list) {
                if (op.op.kind != OpKind::Optimizer) timed_.push_back(&op);
            }
        }
        for (int r = 0; r < ops_.rankCount(); ++r)
            formUnits(Rank{r});
        readArrivals();
        linkUnits();
        findDelays(checks);
    }

    [[nodiscard]] TimeNs end() const {
        TimeNs last = step_.begin;
        TaskTimes begins(units_.size(), step_.begin);
        forwardPass(
            graph_, begins, [this](const EdgePlace& edge) { return lags_[edge.edge]; },
            [&](TaskIndex unit, TimeNs ready) {
                const TimeNs begin = ready + units_[at(unit)].delay;
                last = std::max(last, begin + units_[at(unit)].duration);
                return begin;
            });
        return last;
    }

private:
    struct Unit {
        OpIndex first = kNoOp;
        OpIndex end = kNoOp; ///< after its last op
        TimeNs duration{0};  ///< of its longest op
        TimeNs ready{0};     ///< time at which its rank was free and its inputs had arrived
        TimeNs delay{0};     ///< time from `ready` or the end of checks, whichever is later, to the start
    };

    static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] const TimelineOp& timed(OpIndex op) const { return *timed_[at(op)]; }
    [[nodiscard]] TimeNs startOf(const Unit& unit) const { return timed(unit.first).start; }

    void formUnits(Rank rank) {
        for (OpIndex op = ops_.firstOf(rank); op < ops_.endOf(rank);) {
            Unit unit{op, op, TimeNs{0}, op == ops_.firstOf(rank) ? step_.begin : timed(op - 1).end};
            const auto together = [&] {
                return ops_.op(unit.end).overlapped && ops_.op(op).overlapped &&
                       timed(unit.end).start == timed(op).start;
            };
            do {
                unit.duration = std::max(unit.duration, timed(unit.end).duration());
                unit_of_.push_back(static_cast<TaskIndex>(units_.size()));
                ++unit.end;
            } while (unit.end < ops_.endOf(rank) && together());
            op = unit.end;
            units_.push_back(unit);
        }
    }

    /// Determines when each op's input arrived: at the end of the receive, or at the end of its producer if no receive
    /// is recorded.
    void readArrivals() {
        arrived_.resize(timed_.size());
        for (OpIndex op = 0; op < ops_.size(); ++op) {
            if (const OpIndex producer = ops_.producers(op).stage; producer >= 0)
                arrived_[at(op)] = timed(producer).end;
        }
        for (const auto& spans : step_.comm) {
            for (const CommSpan& span : spans) {
                if (span.kind != CommKind::Receive) continue;
                if (const OpIndex fed = fedBy(span, step_, ops_); fed >= 0) arrived_[at(fed)] = span.end;
            }
        }
    }

    void linkUnits() {
        std::vector<TaskEdge> edges;
        std::vector<TimeNs> lags;
        for (TaskIndex unit = 0; at(unit) < units_.size(); ++unit) {
            Unit& to = units_[at(unit)];
            const auto link = [&](TaskIndex from, TimeNs lag) {
                edges.push_back({from, unit});
                lags.push_back(lag);
            };
            if (ops_.previous(to.first) != kNoOp) link(unit - 1, units_[at(unit - 1)].duration);
            for (OpIndex op = to.first; op < to.end; ++op) {
                const OpIndex producer = ops_.producers(op).stage;
                if (producer < 0) continue; // there is no producer, or the timeline contains only part of the pipeline
                to.ready = std::max(to.ready, arrived_[at(op)]);
                link(unit_of_[at(producer)], arrived_[at(op)] - timed(producer).start);
            }
        }
        const TaskLists inputs = predecessorLists(units_.size(), edges); // contains the edges in the same order
        std::vector<TaskIndex> order = topologicalOrder(successorLists(units_.size(), edges), edges);
        std::vector<TaskIndex> begin{0};
        std::vector<TaskIndex> sources;
        for (const TaskIndex unit : order) {
            const auto first = at(inputs.begin()[at(unit)]);
            for (std::size_t edge = first; edge < first + inputs[at(unit)].size(); ++edge) {
                sources.push_back(edges[edge].from);
                lags_.push_back(lags[edge]);
            }
            begin.push_back(static_cast<TaskIndex>(sources.size()));
        }
        graph_ = TaskGraph(TaskLists(std::move(begin), std::move(sources)), std::move(order));
    }

    void findDelays(std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks) {
        for (int r = 0; r < ops_.rankCount(); ++r) {
            TimeNs checked = step_.begin;
            std::size_t next = 0;
            const bool known = Rank{r}.index() < checks.size();
            for (OpIndex op = ops_.firstOf(Rank{r}); op < ops_.endOf(Rank{r}); ++op) {
                Unit& unit = units_[at(unit_of_[at(op)])];
                if (unit.first != op) continue;
                const TimeNs start = startOf(unit);
                for (; known && next < checks[Rank{r}.index()].size(); ++next) {
                    const auto& [begins, ends] = checks[Rank{r}.index()][next];
                    if (begins >= start) break;
                    checked = std::max(checked, ends);
                }
                const TimeNs could = std::max(unit.ready, std::min(checked, start));
                unit.delay = std::max(TimeNs{0}, start - could);
            }
        }
    }

    const StepTimeline& step_;
    OpGraph ops_;                          ///< without optimizers, which are outside the window
    std::vector<const TimelineOp*> timed_; ///< per op
    std::vector<TaskIndex> unit_of_;       ///< per op
    std::vector<TimeNs> arrived_;          ///< per op that has a producer
    std::vector<Unit> units_;
    TaskGraph graph_;
    std::vector<TimeNs> lags_; ///< per edge, from the start of a unit to that of the next
};

} // namespace

TimeNs delayByChecks(const StepTimeline& step, std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks) {
    TimeNs end = step.begin;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops) {
            if (op.op.kind != OpKind::Optimizer) end = std::max(end, op.end);
        }
    }
    return end - StepWithoutChecks(step, checks).end();
}

} // namespace bubblescope
