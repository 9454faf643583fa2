#include "core/diagnose/clocks/transfers.h"

#include <algorithm>
#include <tuple>

namespace bubblescope {
namespace {

struct Side {
    const CommSpan* span = nullptr;
    Rank rank;
};

auto keyOf(const Side& side) {
    const CommSpan& span = *side.span;
    return std::tuple(span.payload, span.stage, span.microbatch, span.sequence);
}

} // namespace

std::vector<MatchedTransfer> matchTransfers(const StepTimeline& step) {
    std::vector<Side> sends;
    std::vector<Side> receives;
    for (std::size_t r = 0; r < step.comm.size(); ++r) {
        for (const CommSpan& span : step.comm[r]) {
            if (span.kind == CommKind::Send) sends.push_back({&span, Rank{r}});
            if (span.kind == CommKind::Receive) receives.push_back({&span, Rank{r}});
        }
    }
    const auto before = [](const Side& a, const Side& b) { return keyOf(a) < keyOf(b); };
    std::ranges::stable_sort(sends, before);
    std::ranges::stable_sort(receives, before);
    std::vector<MatchedTransfer> matched;
    auto send = sends.begin();
    for (auto receive = receives.begin(); receive != receives.end(); ++receive) {
        if (receive != receives.begin() && keyOf(*receive) == keyOf(*(receive - 1))) continue;
        send = std::lower_bound(send, sends.end(), *receive, before);
        if (send == sends.end()) break;
        if (keyOf(*send) == keyOf(*receive)) matched.push_back({send->rank, receive->rank, send->span, receive->span});
    }
    return matched;
}

} // namespace bubblescope
