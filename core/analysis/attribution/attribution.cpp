#include "core/analysis/attribution/attribution.h"

#include "core/analysis/attribution/chain_tree.h"
#include "core/analysis/attribution/explained_waits.h"
#include "core/analysis/attribution/step_excess.h"
#include "core/analysis/attribution/step_savings.h"
#include "core/analysis/attribution/worst_causes.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kKindsPacked = 8; // an excess is below 36 years

} // namespace

std::string_view rootCauseKindName(RootCauseKind kind) {
    switch (kind) {
    case RootCauseKind::SlowStage: return "slow-stage";
    case RootCauseKind::SlowOp: return "slow-op";
    case RootCauseKind::SlowLink: return "slow-link";
    case RootCauseKind::InTransfer: return "transfer-delay";
    case RootCauseKind::Blocked: return "blocked";
    case RootCauseKind::ReplayedWork: return "replayed-work";
    case RootCauseKind::LateStart: return "late-start";
    case RootCauseKind::SlowRank: return "slow-rank";
    }
    return "";
}

StepAttribution attributeWaits(const StepTimeline& step, const ObservedStep& observed, const StepReplay& replay,
                               const UnitTimes& usual) {
    const StepExcess excess(observed, usual);
    ExplainedWaits waits(excess);
    StepSavings savings(excess, replay);
    StepAttribution result = waits.explain();
    const auto sum = [&] { waits.sumShares(); };
    const auto replay_observed = [&] {
        if (result.attributed > TimeNs{0}) savings.replayObserved();
    };
    parallelCalls(observed.graph.rank.size(), sum, replay_observed);
    result.ranking = worstCauses(excess, waits, step.vpp);
    savings.find(result.ranking, waits.takeTypicalEnds());
    std::ranges::sort(result.ranking, std::ranges::greater{},
                      [](const RootCause& root_cause) { return std::pair(root_cause.saves, root_cause.waits); });
    return result;
}

void AttributedBubbles::set(std::size_t place, const AttributedBubble& bubble) {
    Packed& packed = packed_[place];
    packed = {bubble.start, bubble.end, bubble.usual, 0, bubble.before, kNoUnit};
    if (!bubble.cause) return;
    packed.excess = bubble.cause->time.count() * kKindsPacked + static_cast<std::int64_t>(bubble.cause->kind);
    packed.unit = bubble.cause->unit;
}

AttributedBubble AttributedBubbles::at(std::size_t place, Rank rank) const {
    const Packed& packed = packed_[place];
    AttributedBubble bubble{rank, packed.before, packed.start, packed.end, packed.usual, std::nullopt};
    if (packed.unit != kNoUnit) {
        const auto kind = static_cast<RootCauseKind>(packed.excess % kKindsPacked);
        bubble.cause = Excess{kind, packed.unit, TimeNs{packed.excess / kKindsPacked}};
    }
    return bubble;
}

void AttributedBubbles::acquit() {
    for (Packed& packed : packed_) {
        packed.usual = packed.end - packed.start;
        packed.unit = kNoUnit;
    }
}

AttributedBubbles::OfRank AttributedBubbles::of(Rank rank) const {
    if (rank.value < 0 || rank.index() >= ranks()) return {end(), end()};
    const std::size_t from = begin_[rank.index()];
    const std::size_t to = begin_[rank.index() + 1];
    return {Iterator(*this, from, rank.index()), Iterator(*this, to, rank.index())};
}

std::optional<AttributedBubble> findAttributed(const StepAttribution& attribution, Rank rank,
                                               const TimeInterval& interval) {
    std::optional<AttributedBubble> best;
    TimeNs most{0};
    for (const AttributedBubble bubble : attribution.bubbles.of(rank)) {
        const TimeNs shared = std::min(interval.end, bubble.end) - std::max(interval.start, bubble.start);
        if (shared <= most) continue;
        most = shared;
        best = bubble;
    }
    return best;
}

std::vector<UnitIndex> waitChain(const StepGraph& graph, const std::vector<Binding>& latest,
                                 const AttributedBubble& bubble) {
    std::vector<UnitIndex> chain;
    if (bubble.before == kNoUnit || bubble.before >= graph.size()) return chain;
    const ChainTree tree(latest, [](std::size_t) { return TimeNs{0}; });
    const UnitIndex previous = graph.previous(StepGraph::at(bubble.before));
    const UnitIndex meeting = previous == kNoUnit ? kNoUnit : tree.meet(bubble.before, previous);
    for (UnitIndex unit = bubble.before; unit != kNoUnit; unit = latest[StepGraph::at(unit)].unit) {
        chain.push_back(unit);
        if (unit == meeting) break;
    }
    return chain;
}

} // namespace bubblescope
