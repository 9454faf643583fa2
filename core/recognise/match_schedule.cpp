#include "core/recognise/match_schedule.h"

#include "core/schedule/registry.h"
#include "core/schedule/validate.h"

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

/// Micro-batches that rank 0 puts through its first chunk before it turns to the next.
int firstGroup(const Schedule& observed) {
    int group = 0;
    for (const Op& op : observed.ranks.front()) {
        if (op.kind != OpKind::Forward) continue;
        if (op.chunk != Chunk{0}) return group;
        ++group;
    }
    return 0;
}

/// Memory limits that may have led to a peak, likely ones first: orders need not reach theirs, and those that make
/// room by weight gradients may hold more forwards than that.
std::vector<int> likelyLimits(int peak) {
    constexpr int kAround = 8;
    std::vector<int> limits{peak};
    for (int off = 1; off <= kAround; ++off) {
        if (peak > off) limits.push_back(peak - off);
        limits.push_back(peak + off);
    }
    return limits;
}

/// The candidates again, with what the order shows of its other parameters; those without effect give the orders
/// already seen.
std::vector<ScheduleSpec> parametrised(const Schedule& observed, const std::optional<CostModel>& costs) {
    const std::vector<int> limits = likelyLimits(std::ranges::max(peakActivations(observed)));
    const int group = firstGroup(observed);
    // All families that look at times split the backward.
    const bool timed =
        costs && std::min({costs->times.forward, costs->times.input_grad, costs->times.weight_grad}) > TimeNs{0};
    std::vector<ScheduleSpec> specs;
    const auto addLimited = [&](ScheduleSpec spec) {
        // Only the family that the run names is worth the search.
        const std::size_t tries = spec.name == observed.name ? limits.size() : 1;
        for (std::size_t i = 0; i < tries; ++i) {
            spec.memory_limit = limits[i];
            specs.push_back(spec);
        }
    };
    for (ScheduleSpec spec : candidates(observed)) {
        if (group > 0) {
            specs.push_back(spec);
            specs.back().group_size = group;
        }
        addLimited(spec);
        if (!timed) continue;
        spec.times = costs->times;
        spec.comm = costs->comm;
        specs.push_back(spec);
        addLimited(spec);
    }
    return specs;
}

/// Keeps what is found while specs are tried one by one.
class Search {
public:
    explicit Search(const Schedule& observed) : observed_(observed) {}

    /// True if a spec's order is the observed one.
    bool among(const std::vector<ScheduleSpec>& specs) {
        return std::ranges::any_of(specs, [this](const ScheduleSpec& spec) { return tryOne(spec); });
    }

    ScheduleMatch result() && { return std::move(best_); }

private:
    bool tryOne(const ScheduleSpec& spec) {
        auto made = makeSchedule(spec);
        if (!made.ok() || made.value().ranks.size() != observed_.ranks.size()) return false;
        Comparison comparison = compare(made.value(), observed_);
        if (!comparison.departure) {
            std::string name = made.value().name;
            best_ = {std::move(made).value(), std::nullopt, std::move(name), std::nullopt};
            return true;
        }
        if (!best_.closest.empty() && comparison.common <= best_common_) return false;
        best_common_ = comparison.common;
        best_.departure = comparison.departure;
        best_.closest = made.value().name;
        best_.closest_order = std::move(made).value();
        return false;
    }

    const Schedule& observed_;
    ScheduleMatch best_;
    std::size_t best_common_ = 0;
};

} // namespace

ScheduleMatch matchSchedule(const Schedule& observed, const std::optional<CostModel>& costs) {
    Search search(observed);
    if (search.among(candidates(observed)) || search.among(parametrised(observed, costs))) {
        return std::move(search).result();
    }
    ScheduleMatch closest = std::move(search).result();
    closest.schedule = observed;
    closest.schedule.name = "custom";
    closest.schedule.flavor.clear();
    return closest;
}

} // namespace bubblescope
