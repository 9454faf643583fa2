#include "core/schedule/weight_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace bubblescope {
namespace {

std::size_t lastWork(const std::vector<Op>& ops) {
    std::size_t count = ops.size();
    while (count > 0 && ops[count - 1].kind == OpKind::Optimizer)
        --count;
    return count;
}

/// The updates before each micro-batch's forward and before its last backward, on one stage.
struct Seen {
    std::vector<int> forward;
    std::vector<int> gradient;
};

std::vector<Seen> updatesSeen(const Schedule& schedule) {
    const auto count = static_cast<std::size_t>(schedule.microbatches);
    std::vector<Seen> seen(static_cast<std::size_t>(schedule.stages()),
                           {std::vector<int>(count, -1), std::vector<int>(count, -1)});
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        int updates = 0;
        for (const Op& op : schedule.ranks[r]) {
            if (op.kind == OpKind::Optimizer) {
                ++updates;
                continue;
            }
            const bool known = op.microbatch.value >= 0 && op.microbatch.value < schedule.microbatches &&
                               op.chunk.value >= 0 && op.chunk.value < schedule.vpp;
            if (!known) continue;
            Seen& stage = seen[schedule.stageOf(Rank{r}, op.chunk).index()];
            int& first = stage.forward[op.microbatch.index()];
            if (op.kind == OpKind::Forward && first < 0) first = updates;
            if (op.kind != OpKind::Forward) stage.gradient[op.microbatch.index()] = updates;
        }
    }
    return seen;
}

Error unequalUpdates(const Schedule& schedule) {
    return inputError("schedule " + schedule.name,
                      "the ranks must update their weights after the same micro-batches, in ascending order",
                      "put each O after the backwards of the same micro-batches on every rank");
}

/// The most versions that a rank holds: at each update, those in use by ops to come and the newest.
int mostHeld(const Schedule& schedule, std::size_t rank, const std::vector<std::vector<int>>& used) {
    const std::vector<Op>& ops = schedule.ranks[rank];
    std::multiset<int> needed;
    const auto versionOf = [&](const Op& op) {
        return used[schedule.stageOf(Rank{rank}, op.chunk).index()][op.microbatch.index()];
    };
    const std::size_t count = lastWork(ops);
    for (std::size_t i = 0; i < count; ++i) {
        if (ops[i].kind != OpKind::Optimizer) needed.insert(versionOf(ops[i]));
    }
    int newest = 0;
    int most = 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (ops[i].kind != OpKind::Optimizer) {
            needed.erase(needed.find(versionOf(ops[i])));
            continue;
        }
        ++newest;
        const std::set<int> kept(needed.begin(), needed.lower_bound(newest));
        most = std::max(most, 1 + static_cast<int>(kept.size()));
    }
    return most;
}

} // namespace

int updatesWithin(const std::vector<Op>& ops) {
    const auto end = ops.begin() + static_cast<std::ptrdiff_t>(lastWork(ops));
    return static_cast<int>(std::count_if(ops.begin(), end, [](const Op& op) { return op.kind == OpKind::Optimizer; }));
}

bool updatesWithinStep(const Schedule& order) {
    return std::ranges::any_of(order.ranks, [](const std::vector<Op>& ops) { return updatesWithin(ops) > 0; });
}

int WeightVersions::delay(Stage stage) const {
    int most = 0;
    for (std::size_t m = 0; m < update_of.size(); ++m)
        most = std::max(most, update_of[m] - used[stage.index()][m]);
    return most;
}

Result<WeightVersions> weightVersions(const Schedule& schedule) {
    if (schedule.ranks.empty()) return unequalUpdates(schedule);
    WeightVersions versions;
    versions.updates = 1 + updatesWithin(schedule.ranks.front());
    const std::vector<Seen> seen = updatesSeen(schedule);
    versions.update_of = seen.front().gradient;
    const bool alike =
        std::ranges::all_of(seen, [&](const Seen& stage) { return stage.gradient == versions.update_of; }) &&
        std::ranges::all_of(schedule.ranks,
                            [&](const std::vector<Op>& ops) { return 1 + updatesWithin(ops) == versions.updates; });
    if (!alike || !std::ranges::is_sorted(versions.update_of)) return unequalUpdates(schedule);

    for (const Seen& stage : seen)
        versions.used.push_back(stage.forward);
    if (schedule.name != "pipedream" || schedule.flavor == "vertical-sync") {
        std::vector<int> newest(static_cast<std::size_t>(versions.updates), std::numeric_limits<int>::max());
        for (const Seen& stage : seen) {
            for (std::size_t m = 0; m < stage.forward.size(); ++m) {
                int& version = newest[static_cast<std::size_t>(versions.update_of[m])];
                version = std::min(version, stage.forward[m]);
            }
        }
        for (std::vector<int>& used : versions.used) {
            for (std::size_t m = 0; m < used.size(); ++m)
                used[m] = newest[static_cast<std::size_t>(versions.update_of[m])];
        }
    }
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
        versions.held.push_back(mostHeld(schedule, r, versions.used));
    return versions;
}

} // namespace bubblescope
