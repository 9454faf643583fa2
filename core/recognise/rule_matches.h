#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/rule_table.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// A slice that a rule's names match, with what they, the args and its thread tell. A pair is two of them.
struct RuleMatch {
    SliceId slice = 0;
    TrackId track = 0;
    bool on_device = false; ///< the range that the profiler mirrored there
    std::int64_t home = 0;
    std::int64_t replica = 0;
    std::optional<std::int64_t> step; ///< where the rule tells it
    std::optional<OpKind> kind;       ///< of an op; nothing for a transfer
    const RecognitionRule::TransferSpelling* transfer = nullptr;
    std::int64_t microbatch = 0;
    std::int64_t part = 0; ///< chunk or stage
    std::int64_t sequence = 0;
    bool overlapped = false;
};

/// By start. Slices that lack what the rule needs to know are left out and counted; so are those of further ranks of a
/// tensor-parallel group, for which the first one stands.
[[nodiscard]] std::vector<RuleMatch> matchRule(const RecognitionRule& rule, const Trace& trace, DiagnosticLog& log);

} // namespace bubblescope
