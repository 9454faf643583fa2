#include "core/analysis/comparison/cause.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bubblescope {

namespace {

/// Factors of groups that differ by less count as one factor.
constexpr double kSpread = 0.1;

struct RankChanges {
    TimeNs work_a{0}; ///< per step, of the groups that changed
    TimeNs work_b{0};
    double least = 0;
    double most = 0;
    bool forward = false;
    bool backward = false;

    void add(const Change& change) {
        const double factor = static_cast<double>(change.b.count()) / static_cast<double>(change.a.count());
        const bool first = work_a == TimeNs{0};
        least = first ? factor : std::min(least, factor);
        most = first ? factor : std::max(most, factor);
        work_a += change.a;
        work_b += change.b;
        forward = forward || change.key.kind == OpKind::Forward;
        backward = backward || change.key.kind == OpKind::Backward || change.key.kind == OpKind::BackwardInput;
    }
    [[nodiscard]] bool uniform() const {
        return forward && backward && most - least <= kSpread * least && (least > 1 || most < 1);
    }
    [[nodiscard]] double factor() const {
        return static_cast<double>(work_b.count()) / static_cast<double>(work_a.count());
    }
};

} // namespace

std::optional<RankFactor> rankFactor(const RunComparison& comparison) {
    if (!comparison.tested || comparison.matching != Matching::ByRank) return std::nullopt;
    std::map<std::pair<int, int>, RankChanges> ranks;
    bool transfers = false;
    for (const Change& change : comparison.changes) {
        transfers = transfers || change.key.subject == Subject::Transfer;
        if (change.key.subject == Subject::OpGroup && change.a > TimeNs{0})
            ranks[{change.key.replica, change.key.rank}].add(change);
    }
    const auto size = [](const auto& rank) { return std::chrono::abs(rank.second.work_b - rank.second.work_a); };
    const auto most = std::ranges::max_element(ranks, {}, size);
    if (most == ranks.end() || !most->second.uniform()) return std::nullopt;
    const bool alone = ranks.size() == 1 && !transfers && comparison.order_changes.empty();
    return RankFactor{most->first.first, most->first.second, most->second.factor(), alone};
}

} // namespace bubblescope
