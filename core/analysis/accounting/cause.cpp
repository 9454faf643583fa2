#include "core/analysis/accounting/cause.h"

#include <algorithm>

namespace bubblescope {
namespace {

struct CauseInfo {
    Cause cause;
    std::string_view name;
    std::string_view key;
    std::string_view word;
};

constexpr PerCause<CauseInfo> kCauses{{
    {Cause::Schedule, "the schedule's own bubble", "schedule_bubble", ""},
    {Cause::Imbalance, "imbalance between stages", "imbalance", "imbalance"},
    {Cause::Slowdown, "common slowdown", "common_slowdown", "slowdown"},
    {Cause::Jitter, "jitter and stragglers", "jitter", "jitter"},
    {Cause::Gaps, "gaps inside ops", "gaps_inside_ops", "gaps"},
    {Cause::Communication, "exposed communication", "exposed_communication", "comm"},
    {Cause::Order, "order departures", "order_departures", "order"},
    {Cause::Peer, "blocked by the peer", "blocked_by_peer", "blocked"},
    {Cause::Replay, "replayed work", "replayed_work", "replays"},
    {Cause::LateStart, "late starts", "late_starts", "late-starts"},
    {Cause::Unknown, "unknown", "unknown", "unknown"},
}};

constexpr bool causesInOrder() {
    for (std::size_t i = 0; i < kCauses.size(); ++i) {
        if (indexOf(kCauses[i].cause) != i) return false;
    }
    return true;
}
static_assert(causesInOrder());

} // namespace

std::string_view causeName(Cause cause) {
    return kCauses[indexOf(cause)].name;
}

std::string_view causeKey(Cause cause) {
    return kCauses[indexOf(cause)].key;
}

std::string_view causeWord(Cause cause) {
    return kCauses[indexOf(cause)].word;
}

std::optional<Cause> causeOfWord(std::string_view word) {
    const auto found = std::ranges::find(kCauses, word, &CauseInfo::word);
    if (word.empty() || found == kCauses.end()) return std::nullopt;
    return found->cause;
}

} // namespace bubblescope
