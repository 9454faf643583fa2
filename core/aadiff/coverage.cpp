#include "core/aadiff/coverage.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// A kind of op of a chunk, in all micro-batches and steps.
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
        if (unit == units.end()) continue; // an op of an incomplete step
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

/// Identifies a transfer by its payload and its consumer.
using Route = std::tuple<Payload, Microbatch, std::int32_t, int>;

class Replay {
public:
    Replay(const StepTimeline& step, std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks)
        : step_(step), checks_(checks), apart_(routes(step.placement)), next_(step.ranks.size()),
          free_(step.ranks.size(), step.begin) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            for (const TimelineOp& op : step.ranks[r]) {
                if (const auto output = outputOf(r, op.op)) produced_later_.insert(*output);
            }
        }
        for (const auto& spans : step.comm) {
            for (const CommSpan& span : spans) {
                if (span.kind == CommKind::Receive)
                    arrivals_[{span.payload, span.microbatch, span.sequence, span.stage.value}] = span.end;
            }
        }
    }

    /// Returns when the last op ends.
    TimeNs run() {
        TimeNs last = step_.begin;
        // An order that was executed can be replayed: some rank can always continue.
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t r = 0; r < step_.ranks.size(); ++r) {
                while (runNext(r)) {
                    moved = true;
                    last = std::max(last, free_[r]);
                }
            }
        }
        return last;
    }

private:
    struct Produced {
        TimeNs was{0};
        TimeNs is{0};
    };

    /// Runs the next op of a rank, or both of a pair; false if it cannot run yet or there is none.
    bool runNext(std::size_t r) {
        const auto& ops = step_.ranks[r];
        const std::size_t first = next_[r];
        if (first >= ops.size()) return false;
        std::size_t last = first + 1;
        while (last < ops.size() && ops[last].op.overlapped && ops[first].op.overlapped &&
               ops[last].start == ops[first].start)
            ++last;
        TimeNs was = first == 0 ? step_.begin : ops[first - 1].end;
        TimeNs is = free_[r];
        for (std::size_t i = first; i < last; ++i) {
            const std::optional<Route> input = inputOf(r, ops[i].op);
            if (!input) continue;
            const auto produced = produced_.find(*input);
            if (produced == produced_.end()) {
                if (produced_later_.contains(*input)) return false;
                continue; // no op produces it: part of a pipeline
            }
            const auto arrival = arrivals_.find(*input);
            const TimeNs came = arrival == arrivals_.end() ? produced->second.was : arrival->second;
            was = std::max(was, came);
            is = std::max(is, produced->second.is + (came - produced->second.was));
        }
        const TimeNs kept = std::max(was, endOfChecks(r, ops[first].start));
        const TimeNs begin = is + std::max(TimeNs{0}, ops[first].start - kept);
        for (std::size_t i = first; i < last; ++i) {
            const TimeNs end = begin + ops[i].duration();
            free_[r] = i == first ? end : std::max(free_[r], end);
            if (const auto output = outputOf(r, ops[i].op)) produced_[*output] = {ops[i].end, end};
        }
        next_[r] = last;
        return true;
    }

    [[nodiscard]] TimeNs endOfChecks(std::size_t r, TimeNs start) const {
        TimeNs end = step_.begin;
        if (r >= checks_.size()) return end;
        for (const auto& [begins, ends] : checks_[r]) {
            if (begins < start) end = std::max(end, std::min(ends, start));
        }
        return end;
    }

    [[nodiscard]] std::optional<Route> inputOf(std::size_t r, const Op& op) const {
        const int stage = step_.stageOf(Rank{r}, op.chunk).value;
        if (op.kind == OpKind::Forward) return Route{Payload::Activation, op.microbatch, op.sequence, stage};
        if (producesInputGradient(op.kind)) return Route{Payload::Gradient, op.microbatch, op.sequence, stage};
        return std::nullopt;
    }

    [[nodiscard]] std::optional<Route> outputOf(std::size_t r, const Op& op) const {
        const int stage = step_.stageOf(Rank{r}, op.chunk).value;
        if (op.kind == OpKind::Forward) return Route{Payload::Activation, op.microbatch, op.sequence, stage + apart_};
        if (producesInputGradient(op.kind)) return Route{Payload::Gradient, op.microbatch, op.sequence, stage - apart_};
        return std::nullopt;
    }

    const StepTimeline& step_;
    std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks_;
    int apart_;
    std::vector<std::size_t> next_; ///< by rank
    std::vector<TimeNs> free_;
    std::map<Route, TimeNs> arrivals_;
    std::map<Route, Produced> produced_;
    std::set<Route> produced_later_; ///< by some op of the step
};

/// Whether the op belongs to the pipeline window.
bool counts(const TimelineOp& op) {
    return op.op.kind != OpKind::Optimizer;
}

} // namespace

TimeNs delayByChecks(const StepTimeline& step, std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks) {
    StepTimeline window = step;
    TimeNs end = step.begin;
    for (auto& ops : window.ranks) {
        std::erase_if(ops, [](const TimelineOp& op) { return !counts(op); });
        for (const TimelineOp& op : ops)
            end = std::max(end, op.end);
    }
    return end - Replay(window, checks).run();
}

} // namespace bubblescope
