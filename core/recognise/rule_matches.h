#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/rule_table.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

class TraceShare;

/// A slice that a rule's names match, with what they, the args and its thread tell. A pair is two of them.
struct RuleMatch {
    std::uint32_t file = 0; ///< among all of the trace
    TrackId track = 0;      ///< within its share
    SliceId slice = 0;      ///< within its share; the halves of a pair have it in common
    std::uint32_t name = 0; ///< its text: number in RuleFinds::names, or in RuleMatches::names
    TimeNs start{0};
    TimeNs end{0};
    std::int64_t pid = 0;   ///< of its track
    bool on_device = false; ///< the range that the profiler mirrored there
    std::int64_t home = 0;
    std::int64_t replica = 0;
    std::optional<std::int64_t> step;      ///< where the rule tells it
    std::optional<OpKind> kind;            ///< of an op; nothing for a transfer
    std::optional<std::uint32_t> transfer; ///< number in RecognitionRule::transfers
    std::int64_t microbatch = 0;
    std::int64_t part = 0; ///< chunk or stage
    std::int64_t sequence = 0;
    bool overlapped = false;
    std::optional<GpuWork::Work> device; ///< of an op's range on the host: what it launched

    [[nodiscard]] std::uint64_t row() const { return std::uint64_t{file} << 32 | track; }
    [[nodiscard]] bool isPairWith(const RuleMatch& other) const { return row() == other.row() && slice == other.slice; }
};

/// What a rule matches in a share of a trace.
struct RuleFinds {
    std::vector<RuleMatch> matches;      ///< by start
    std::vector<std::string> names;      ///< of the slices
    std::int64_t unlabelled = 0;         ///< that lack what the rule needs to know; left out
    std::int64_t other_tensor_ranks = 0; ///< threads of further ranks of a tensor-parallel group; left out
};
[[nodiscard]] RuleFinds findByRule(const RecognitionRule& rule, TraceShare& share);

/// What a rule matches in a whole trace.
struct RuleMatches {
    std::vector<RuleMatch> matches; ///< by start; none where none is an op
    StringPool names;
};
/// Slices that were left out are counted in the log: of a tensor-parallel group the first rank stands for all.
[[nodiscard]] RuleMatches joinFinds(const RecognitionRule& rule, std::vector<RuleFinds> shares,
                                    std::span<const TraceFile> files, DiagnosticLog& log);

} // namespace bubblescope
