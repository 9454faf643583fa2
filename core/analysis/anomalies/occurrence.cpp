#include "core/analysis/anomalies/occurrence.h"

#include "core/analysis/period/step_period.h"
#include "core/base/field.h"
#include "core/base/median.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace bubblescope {

void Cases::add(std::size_t step, TimeNs cost, std::int64_t cases) {
    OfStep& of_step = steps_[step];
    of_step.cost += cost;
    of_step.cases += cases;
}

void Cases::addAll(std::span<const StepTimeline> steps, std::optional<int> replica, TimeNs cost, int from) {
    for (std::size_t s = 0; s < steps.size(); ++s) {
        if (steps[s].index >= from && steps[s].replica == replica.value_or(steps[s].replica)) add(s, cost);
    }
}

void Cases::merge(const Cases& more) {
    for (const auto& [step, of_step] : more.steps_)
        add(step, of_step.cost, of_step.cases);
}

TimeNs Cases::typicalCost() const {
    std::vector<TimeNs> costs;
    for (const auto& [step, of_step] : steps_)
        costs.push_back(of_step.cost);
    return costs.empty() ? TimeNs{0} : median(std::move(costs));
}

TimeNs Cases::total() const {
    TimeNs total{0};
    for (const auto& [step, of_step] : steps_)
        total += of_step.cost;
    return total;
}

Occurrence Cases::occurrence(std::span<const StepTimeline> steps, std::optional<int> replica) const {
    std::map<int, TimeNs> seen; // by number
    Occurrence out;
    out.cases = 0;
    for (const auto& [step, of_step] : steps_) {
        TimeNs& cost = seen.try_emplace(steps[step].index, TimeNs{0}).first->second;
        cost = std::max(cost, of_step.cost);
        out.cases += of_step.cases;
    }
    if (seen.empty()) return out;
    std::set<int> all;
    for (const StepTimeline& step : steps) {
        if (step.replica == replica.value_or(step.replica)) all.insert(step.index);
    }
    out.steps = static_cast<int>(seen.size());
    out.first = seen.begin()->first;
    out.last = seen.rbegin()->first;
    for (const auto& [number, cost] : seen) {
        out.total += cost;
        const int before = out.last - number;
        if (before < 64) out.latest |= std::uint64_t{1} << before;
    }
    settleOccurrence(out, all);
    return out;
}

void settleOccurrence(Occurrence& seen, const std::set<int>& examined) {
    const auto count = [](auto from, auto to) { return static_cast<int>(std::distance(from, to)); };
    seen.of_steps = static_cast<int>(examined.size());
    seen.since_first = count(examined.lower_bound(seen.first), examined.end());
    const int after = count(examined.upper_bound(seen.last), examined.end());
    const int span = seen.since_first - after; // from the first to the last
    seen.goes_on = std::int64_t{after} * seen.steps < 2 * std::int64_t{span} && (seen.steps > 1 || after == 0);
}

std::optional<int> rhythmOf(const Occurrence& seen) {
    std::vector<int> numbers;
    for (int before = 63; before >= 0; --before) {
        if ((seen.latest >> before & 1U) != 0) numbers.push_back(seen.last - before);
    }
    return rhythmOf(numbers);
}

Sentence occurrenceText(const Occurrence& seen) {
    if (seen.of_steps < 2 || seen.steps == 0) return {};
    Sentence text;
    if (seen.steps == seen.of_steps) {
        text = say("in all {} steps", seen.of_steps);
    } else if (seen.steps == 1) {
        text = say("once in {} steps, in step {}", seen.of_steps, seen.first);
    } else if (seen.steps == seen.since_first) {
        text = say("in all {} steps since step {}", seen.steps, seen.first);
    } else if (const auto every = rhythmOf(seen)) {
        text = say("every {} steps: {} of {}, from step {} to {}", *every, seen.steps, seen.of_steps, seen.first,
                   seen.last);
    } else if (seen.goes_on) {
        text =
            say("in {} of the last {} steps, since step {}, and continuing", seen.steps, seen.since_first, seen.first);
    } else {
        text = say("in {} of {} steps, from step {} to {}, but not since", seen.steps, seen.of_steps, seen.first,
                   seen.last);
    }
    if (seen.total > TimeNs{0} && seen.steps > 1) text = say("{}; {} in total", text, formatTime(seen.total));
    return text;
}

Sentence certaintyText(const Anomaly& anomaly) {
    constexpr double kLeast = 1e-9; // smaller probabilities are shown as an upper bound
    for (const auto& [name, value] : anomaly.evidence) {
        if (name == "p_value" && value <= kLeast) return say("p < 1e-9 under noise alone");
        if (name == "p_value") return say("p = {:.2g} under noise alone", value);
        if (name == "probability") return say("confidence {:.1f} %", std::floor(1000 * value) / 10);
    }
    switch (anomaly.kind) {
    case AnomalyKind::LostRecords:
    case AnomalyKind::MissingOp:
    case AnomalyKind::DuplicateOp:
    case AnomalyKind::OutOfPlaceOp:
    case AnomalyKind::OrderDeparture:
    case AnomalyKind::BlockingReceive:
    case AnomalyKind::MemoryAboveEstimate:
    case AnomalyKind::AadiffMismatch:
    case AnomalyKind::AadiffUnchecked: return say("recorded in the trace");
    default: return say("measured, assuming that the times in the trace are correct");
    }
}

std::string changeWithout(const StepTimeline& shape, const Anomaly& anomaly) {
    if (anomaly.kind == AnomalyKind::ExposedCommunication) return "comm=0";
    if (anomaly.kind == AnomalyKind::BlockingReceive && !anomaly.peer) return "blocked=0"; // not a send that queued
    if (!anomaly.rank) return {};
    switch (anomaly.kind) {
    case AnomalyKind::Straggler:
    case AnomalyKind::HiddenStraggler:
    case AnomalyKind::SlowStage:
    case AnomalyKind::LastStageImbalance:
        if (anomaly.chunk) return fmt::format("stage:{}=usual", shape.stageOf(*anomaly.rank, *anomaly.chunk).value);
        if (anomaly.replica) return fmt::format("worker:{}.{}=usual", *anomaly.replica, anomaly.rank->value);
        return fmt::format("rank:{}=usual", anomaly.rank->value);
    case AnomalyKind::SlowLink:
    case AnomalyKind::DegradingLink:
        return anomaly.peer ? fmt::format("link:{}-{}=usual", anomaly.rank->value, anomaly.peer->value) : std::string();
    default: return {};
    }
}

std::string commandThatShows(const StepTimeline& shape, const Anomaly& anomaly, std::string_view files) {
    if (const std::string change = changeWithout(shape, anomaly); !change.empty())
        return fmt::format("bubblescope whatif {} {}", files, optionOf(Field("if"), change));
    switch (anomaly.kind) {
    case AnomalyKind::LostRecords: return fmt::format("bubblescope info {}", files);
    case AnomalyKind::ClockSkew:
    case AnomalyKind::CausalityViolation:
        return fmt::format("bubblescope analyze {} {}", files, optionOf(Field("clocks"), "align"));
    default: break;
    }
    if (anomaly.step && anomaly.seen.steps == 0) return fmt::format("bubblescope info {}", files); // it was left out
    if (!anomaly.step) return {};
    const std::string replica = anomaly.replica ? fmt::format("/{}", *anomaly.replica) : "";
    return fmt::format("bubblescope analyze {} {}{}", files, optionOf(Field("step"), std::to_string(*anomaly.step)),
                       replica);
}

} // namespace bubblescope
