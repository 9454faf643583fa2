#pragma once

#include "core/recognise/rule_matches.h"
#include "core/recognise/rule_table.h"

#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// Joins the ranges of a thread that are parts of ops, such as the layers of Megatron-core's combined forward and
/// backward. Ranges must be added in the order of their starts.
///
/// A forward starts with its first part and a backward ends with its last one. A backward whose parts start after the
/// first part of a forward, but before any other work of it, runs in the same call: both are halves of an overlapped
/// pair.
class PartJoiner {
public:
    /// Completed ops are appended to `out`, which must outlive the joiner. A pair has two matches with the slice, start
    /// and end of the call.
    explicit PartJoiner(std::vector<RuleMatch>& out) : out_(out) {}

    /// `kinds` has one entry, or two for a range that contains parts of both halves of a pair.
    void add(const RuleMatch& range, RulePart part, std::span<const OpKind> kinds);
    /// Completes the last call. Must be called at the end of a thread.
    void finish();

private:
    struct Call {
        RuleMatch range; ///< its first range, with the end of the last one
        std::optional<OpKind> forward;
        std::optional<OpKind> backward;
        bool worked = false; ///< true if it has more than the first part of its forward
        bool ended = false;  ///< true if its backward has ended
    };
    [[nodiscard]] static bool belongs(const Call& call, RulePart part, bool forward, bool backward);

    std::vector<RuleMatch>& out_;
    std::optional<Call> call_;
};

} // namespace bubblescope
