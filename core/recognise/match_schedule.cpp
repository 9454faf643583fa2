#include "core/recognise/match_schedule.h"

#include "core/schedule/registry.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

/// How far two orders agree from the start of each rank on, and where they first part.
struct Comparison {
    std::size_t common = 0;
    std::optional<Departure> departure; ///< the earliest in the ranks' lists
};

Comparison compare(const Schedule& expected, const Schedule& observed) {
    Comparison out;
    for (std::size_t r = 0; r < observed.ranks.size(); ++r) {
        const auto& wanted = expected.ranks[r];
        const auto& seen = observed.ranks[r];
        const auto [at_wanted, at_seen] = std::mismatch(wanted.begin(), wanted.end(), seen.begin(), seen.end());
        const auto index = static_cast<std::size_t>(at_seen - seen.begin());
        out.common += index;
        if (at_wanted == wanted.end() && at_seen == seen.end()) continue;
        if (out.departure && out.departure->index <= index) continue;
        // An order that merely ends early departs at the last op the other still has.
        const Op expected_op = at_wanted != wanted.end() ? *at_wanted : Op{};
        const Op observed_op = at_seen != seen.end() ? *at_seen : Op{};
        out.departure = Departure{Rank{r}, index, expected_op, observed_op};
    }
    return out;
}

std::vector<ScheduleSpec> candidates(const Schedule& observed) {
    std::vector<ScheduleSpec> specs;
    int slices = 1;
    for (const auto& ops : observed.ranks) {
        for (const Op& op : ops)
            slices = std::max(slices, op.sequence + 1);
    }
    for (const ScheduleFamily& family : scheduleFamilies()) {
        // With one chunk a rank the placements are the same.
        if (family.placement != observed.placement && observed.vpp > 1) continue;
        const auto add = [&](std::string_view flavor) {
            ScheduleSpec spec{std::string(family.name), std::string(flavor), observed.pp, observed.microbatches,
                              observed.vpp};
            spec.sequence_slices = slices;
            specs.push_back(std::move(spec));
        };
        if (family.flavors.empty()) add({});
        for (const std::string_view flavor : family.flavors)
            add(flavor);
    }
    // Where several families have the same order, what the run calls itself is the better name.
    std::stable_partition(specs.begin(), specs.end(), [&observed](const ScheduleSpec& spec) {
        return spec.name == observed.name && (observed.flavor.empty() || spec.flavor == observed.flavor);
    });
    return specs;
}

} // namespace

ScheduleMatch matchSchedule(const Schedule& observed) {
    ScheduleMatch best;
    std::size_t best_common = 0;
    for (const ScheduleSpec& spec : candidates(observed)) {
        auto made = makeSchedule(spec);
        if (!made.ok() || made.value().ranks.size() != observed.ranks.size()) continue;
        Comparison comparison = compare(made.value(), observed);
        if (!comparison.departure) {
            std::string name = made.value().name;
            return {std::move(made).value(), std::nullopt, std::move(name)};
        }
        if (!best.closest.empty() && comparison.common <= best_common) continue;
        best_common = comparison.common;
        best.departure = comparison.departure;
        best.closest = made.value().name;
    }
    best.schedule = observed;
    best.schedule.name = "custom";
    best.schedule.flavor.clear();
    return best;
}

} // namespace bubblescope
