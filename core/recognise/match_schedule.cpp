#include "core/recognise/match_schedule.h"

#include "core/families/no_flush.h"
#include "core/graph/moving_orders.h"
#include "core/graph/validate.h"
#include "core/schedule/order_parts.h"
#include "core/schedule/schedule.h"
#include "core/schedule/weight_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {

Schedule observedOrder(const StepTimeline& step) {
    Schedule order = executedOrder(step);
    bool updates = false;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const std::size_t works = order.ranks[r].size();
        if (works == step.ranks[r].size()) continue;
        std::vector<Op>& ops = order.ranks[r];
        ops.clear();
        for (std::size_t i = 0, done = 0; done < works; ++i) {
            const Op& op = step.ranks[r][i].op;
            const bool update = op.kind == OpKind::Optimizer;
            ops.push_back(update ? Op{OpKind::Optimizer} : op);
            done += update ? 0 : 1;
        }
        updates = updates || ops.size() > works;
    }
    // In other schedules, an optimizer op between others is an artefact of the recording or concerns only some
    // parameters.
    return updates && !weightVersions(order).ok() ? executedOrder(step) : order;
}

OrderComparison compareOrders(const Schedule& expected, const Schedule& observed) {
    OrderComparison out;
    for (std::size_t r = 0; r < observed.ranks.size(); ++r) {
        const auto& wanted = expected.ranks[r];
        const auto& seen = observed.ranks[r];
        const auto [at_wanted, at_seen] = std::mismatch(wanted.begin(), wanted.end(), seen.begin(), seen.end());
        const auto index = static_cast<std::size_t>(at_seen - seen.begin());
        out.common += index;
        if (at_wanted == wanted.end() && at_seen == seen.end()) continue;
        if (out.departure && out.departure->index <= index) continue;
        // An order that merely ends early departs at the other's next op.
        const Op expected_op = at_wanted != wanted.end() ? *at_wanted : Op{};
        const Op observed_op = at_seen != seen.end() ? *at_seen : Op{};
        out.departure = Departure{Rank{r}, index, expected_op, observed_op};
    }
    return out;
}

std::vector<ScheduleSpec> specsLike(const Schedule& observed) {
    std::vector<ScheduleSpec> specs;
    const int slices = slicesOf(observed);
    const int updates = observed.ranks.empty() ? 1 : 1 + updatesWithin(observed.ranks.front()); // orders may be unknown
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (trainsWithDelay(family.name) != (updates > 1)) continue;
        // With one chunk per rank, all placements are equal.
        if (family.placement != observed.placement && observed.vpp > 1) continue;
        for (const std::string_view flavor : flavorsOf(family)) {
            ScheduleSpec spec{std::string(family.name), std::string(flavor), observed.pp, observed.microbatches,
                              observed.vpp};
            spec.sequence_slices = slices;
            spec.encoders = encodersOf(observed.placement);
            if (updates > 1) spec.group_size = observed.microbatches / updates;
            specs.push_back(std::move(spec));
        }
    }
    // If several families have the same order, prefers the name recorded in the run.
    std::stable_partition(specs.begin(), specs.end(), [&observed](const ScheduleSpec& spec) {
        return spec.name == observed.name && (observed.flavor.empty() || spec.flavor == observed.flavor);
    });
    return specs;
}

namespace {

/// Micro-batches that rank 0 runs through its first chunk before the next chunk.
int firstGroup(const Schedule& observed) {
    int group = 0;
    for (const Op& op : observed.ranks.front()) {
        if (op.kind != OpKind::Forward) continue;
        if (op.chunk != Chunk{0}) return group;
        ++group;
    }
    return 0;
}

/// Memory limits that may have led to a peak, likely ones first: orders need not reach theirs, and those whose weight
/// gradients free memory may hold more forwards than that.
std::vector<int> likelyLimits(int peak) {
    constexpr int kAround = 8;
    std::vector<int> limits{peak};
    for (int off = 1; off <= kAround; ++off) {
        if (peak > off) limits.push_back(peak - off);
        limits.push_back(peak + off);
    }
    return limits;
}

/// Above this number of ops, unnamed families are tried only at the most likely memory limit.
constexpr std::size_t kFewOps = 20'000;

/// The kinds of backward in an order, and whether ops overlap: families differ in that, whatever their parameters.
int backwardsOf(const Schedule& schedule) {
    int kinds = 0;
    for (const auto& ops : schedule.ranks) {
        for (const Op& op : ops)
            kinds |= (op.kind == OpKind::BackwardWeight ? 1 : 0) | (op.overlapped ? 2 : 0);
    }
    return kinds;
}

/// Keeps the result while specs are tried one by one.
class Search {
public:
    Search(const Schedule& observed, const std::optional<CostModel>& costs, const JobControl& control)
        : observed_(observed), kinds_(backwardsOf(observed)), costs_(costs), control_(control) {}

    /// True if the order of a family at its defaults is the observed one.
    bool amongDefaults() {
        for (const ScheduleSpec& spec : specsLike(observed_)) {
            const auto made = tryOne(spec);
            if (found_) return true;
            if (!made || backwardsOf(*made) == kinds_) likely_.push_back(spec);
        }
        return false;
    }

    /// Tries the likely families again, with other parameters inferred from the order.
    bool amongParametrised() {
        limits_ = likelyLimits(std::ranges::max(peakActivations(observed_)));
        const int group = firstGroup(observed_);
        // All families that depend on times split the backward.
        const bool timed = costs_ && std::min({costs_->times.forward, costs_->times.input_grad,
                                               costs_->times.weight_grad}) > TimeNs{0};
        for (ScheduleSpec spec : likely_) {
            if (group > 0) {
                spec.group_size = group;
                (void)tryOne(spec);
                spec.group_size = 0;
            }
            if (!found_) tryLimits(spec);
            if (!found_ && timed) {
                spec.times = costs_->times;
                spec.comm = costs_->comm;
                (void)tryOne(spec);
                if (!found_) tryLimits(spec);
            }
            if (found_) return true;
        }
        return false;
    }

    ScheduleMatch result() && { return std::move(best_); }

private:
    void tryLimits(ScheduleSpec spec) {
        const bool all = spec.name == observed_.name || observed_.opCount() <= kFewOps;
        const auto unlimited = tryOne(spec);
        bool changes = false;
        for (std::size_t i = 0; i < (all ? limits_.size() : 1) && !found_; ++i) {
            spec.memory_limit = limits_[i];
            const auto made = tryOne(spec);
            changes = changes || !made || !unlimited || made->ranks != unlimited->ranks;
            if (i == 1 && !changes) return; // the family ignores limits
        }
    }

    /// The order of a spec; nothing if it has none.
    std::optional<Schedule> tryOne(const ScheduleSpec& spec) {
        if (control_.stopRequested()) return std::nullopt;
        auto made = makeSchedule(spec);
        if (!made.ok() || made.value().ranks.size() != observed_.ranks.size()) return std::nullopt;
        OrderComparison comparison = compareOrders(made.value(), observed_);
        if (!comparison.departure) {
            found_ = true;
            std::string name = made.value().name;
            best_ = {std::move(made).value(), std::nullopt, std::move(name), std::nullopt, {}};
            return std::nullopt;
        }
        if (best_.closest.empty() || comparison.common > best_common_) {
            best_common_ = comparison.common;
            best_.departure = comparison.departure;
            best_.closest = made.value().name;
            best_.closest_order = made.value();
        }
        return std::move(made).value();
    }

    const Schedule& observed_;
    int kinds_;
    const std::optional<CostModel>& costs_;
    const JobControl& control_;
    std::vector<ScheduleSpec> likely_;
    std::vector<int> limits_;
    bool found_ = false;
    ScheduleMatch best_;
    std::size_t best_common_ = 0;
};

/// Compares an order in which stages move. If several schedules have this order, prefers the recorded one.
ScheduleMatch matchMoving(const Schedule& observed) {
    ScheduleMatch match;
    std::vector<Schedule> known = movingOrders(observed.pp, observed.microbatches, observed.vpp);
    std::stable_partition(known.begin(), known.end(),
                          [&](const Schedule& order) { return order.name == observed.name; });
    std::size_t most = 0;
    for (Schedule& order : known) {
        const OrderComparison comparison = compareOrders(order, observed);
        if (!comparison.departure && match.schedule.ranks.empty()) {
            match = {std::move(order), {}, {}, {}, {}};
            match.closest = match.schedule.name;
            if (match.schedule.name == observed.name) match.schedule.flavor = observed.flavor;
        } else if (!comparison.departure) {
            match.same_order.push_back(order.name);
        } else if (match.schedule.ranks.empty() && (match.closest.empty() || comparison.common > most)) {
            most = comparison.common;
            match.departure = comparison.departure;
            match.closest = order.name;
            match.closest_order = std::move(order);
        }
    }
    if (!match.schedule.ranks.empty()) return match;
    match.schedule = observed;
    match.schedule.name = "custom";
    match.schedule.flavor.clear();
    return match;
}

} // namespace

ScheduleMatch matchSchedule(const Schedule& observed, const std::optional<CostModel>& costs,
                            const JobControl& control) {
    if (observed.placement == Placement::Moving) return matchMoving(observed);
    Search search(observed, costs, control);
    if (search.amongDefaults() || search.amongParametrised()) {
        return std::move(search).result();
    }
    ScheduleMatch closest = std::move(search).result();
    closest.schedule = observed;
    closest.schedule.name = "custom";
    closest.schedule.flavor.clear();
    return closest;
}

void nameSchedule(Run& run, Schedule observed, const std::optional<CostModel>& costs) {
    if (run.info) {
        observed.name = run.info->schedule;
        observed.flavor = run.info->flavor;
        run.explanation.source = "stated";
    } else if (!run.explanation.family.empty()) {
        observed.name = run.explanation.family;
        observed.flavor = run.explanation.flavor;
    }
    ScheduleMatch match = matchSchedule(observed, costs);
    run.schedule = std::move(match.schedule);
    run.departure = match.departure;
    run.closest = std::move(match.closest);
    run.closest_order = std::move(match.closest_order);
    if (run.explanation.source == "inferred" && !match.same_order.empty())
        run.explanation.alternatives = std::move(match.same_order);
}

std::int64_t countOtherOrders(std::span<const StepTimeline> steps, const Schedule& observed, DiagnosticLog& log) {
    std::int64_t others = 0;
    for (const StepTimeline& step : steps) {
        if (observedOrder(step).ranks == observed.ranks) continue;
        ++others;
        log.add(
            "order-changes", say("step {}", step.index),
            say("some steps run their ops in a different order than the first step, which determines the schedule"));
    }
    return others;
}

void explainNamedOps(Explanation& explanation, std::int64_t steps, std::int64_t others) {
    explanation.confidence = static_cast<double>(steps - others) / static_cast<double>(steps);
    explanation.evidence.push_back(
        fmt::format("op names are in the trace; {} of {} steps have this order", steps - others, steps));
    if (explanation.called.empty()) return;
    explanation.evidence.push_back(fmt::format("{} calls it {}", explanation.framework, explanation.called));
}

} // namespace bubblescope
