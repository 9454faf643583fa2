#include "core/recognise/join_parts.h"

#include <algorithm>

namespace bubblescope {

bool PartJoiner::belongs(const Call& call, RulePart part, bool forward, bool backward) {
    if (forward) return part != RulePart::First && call.forward && (!backward || !call.ended);
    if (!call.backward) return !call.worked;
    return part != RulePart::First && !call.ended;
}

void PartJoiner::add(const RuleMatch& range, RulePart part, std::span<const OpKind> kinds) {
    const auto find = [kinds](bool forward) -> std::optional<OpKind> {
        const auto found =
            std::ranges::find_if(kinds, [forward](OpKind kind) { return (kind == OpKind::Forward) == forward; });
        return found == kinds.end() ? std::nullopt : std::optional(*found);
    };
    const auto forward = find(true);
    const auto backward = find(false);
    if (call_ && !belongs(*call_, part, forward.has_value(), backward.has_value())) finish();
    if (!call_) {
        Call call;
        call.range = range;
        call_ = call;
    }
    call_->range.end = std::max(call_->range.end, range.end);
    if (forward) call_->forward = forward;
    if (backward) call_->backward = backward;
    call_->worked = call_->worked || backward || part != RulePart::First;
    call_->ended = call_->ended || (backward && part == RulePart::Last);
}

void PartJoiner::finish() {
    if (!call_) return;
    RuleMatch& match = call_->range;
    match.overlapped = call_->forward && call_->backward;
    for (const auto& kind : {call_->forward, call_->backward}) {
        if (!kind) continue;
        match.kind = kind;
        out_.push_back(match);
    }
    call_.reset();
}

} // namespace bubblescope
