#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/rule_table.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

class RawTrace;

/// Number for ops without a recorded micro-batch.
inline constexpr std::int64_t kUnknownMicrobatch = -1;

/// A slice whose name matches a rule, with fields from its name, args and thread. A pair of ops has two matches.
struct RuleMatch {
    std::uint32_t file = 0; ///< index of the file in the trace
    TrackId track = 0;
    SliceId slice = 0;      ///< slice of the op, shared by the halves of a pair
    std::uint32_t name = 0; ///< index into RuleFinds::names or RuleMatches::names
    TimeNs start{0};
    TimeNs end{0};
    std::int64_t pid = 0;   ///< process number of its track
    bool on_device = false; ///< true for a range that the profiler mirrored onto a device
    bool spilled = false;   ///< true if the slice is on an extra track because it overlaps others on its thread
    std::int64_t owner = 0;
    std::int64_t replica = 0;
    std::optional<std::int64_t> step;      ///< step, if the match contains it
    std::optional<OpKind> kind;            ///< kind of the op; nullopt for a transfer
    std::optional<std::uint32_t> transfer; ///< index in RecognitionRule::transfers
    std::int64_t microbatch = 0;           ///< or kUnknownMicrobatch
    std::int64_t chunk_or_stage = 0;       ///< chunk or stage
    std::int64_t sequence = 0;
    bool overlapped = false;
    /// For a range on the host: the device work of the op, or the kernel of the transfer, that was launched in it.
    std::optional<GpuWork::Work> device;
    /// For a transfer: 1 + index into RuleFinds::communicators, or StringId in RuleMatches::names; 0 if unknown.
    std::uint32_t communicator = 0;

    [[nodiscard]] std::uint64_t row() const { return std::uint64_t{file} << 32 | track; }
    [[nodiscard]] bool isPairWith(const RuleMatch& other) const { return row() == other.row() && slice == other.slice; }
};

/// The matches of a rule in a file.
struct RuleFinds {
    std::vector<RuleMatch> matches; ///< by track, then start
    std::vector<std::string> names; ///< names of the slices
    std::vector<std::string> communicators;
    std::int64_t unlabelled = 0;         ///< number of matches omitted because of missing fields
    std::int64_t other_tensor_ranks = 0; ///< number of threads omitted because they belong to other tensor ranks
};
[[nodiscard]] Result<std::vector<RuleFinds>> extractRuleFinds(RawTrace& raw, const RecognitionRule& rule);

/// The matches of a rule in all files of a trace.
struct RuleMatches {
    std::vector<RuleMatch> matches; ///< by start; empty if none is an op
    StringPool names;               ///< of slices and communicators
    bool owners_are_files = false;  ///< true if owners are the ranks of the files
};
/// `finds` has one entry per file in `files`. Logs the number of omitted slices. The first rank of a tensor-parallel
/// group stands for all.
[[nodiscard]] RuleMatches mergeRuleFinds(const RecognitionRule& rule, std::vector<RuleFinds> finds,
                                         std::span<const TraceFile> files, DiagnosticLog& log);

/// The ops and transfers from a rule's matches; empty if there are none. An op gets the time of the device work
/// launched in its range, or else of the range mirrored on the device, or else the host time minus the wait for its
/// input. Step and micro-batch come from numberMatches(). `marks` has one entry per file.
[[nodiscard]] FoundOps applyRule(const RecognitionRule& rule, const RuleMatches& matches,
                                 const std::vector<ProfilerMarks>& marks, std::span<const TraceFile> files,
                                 DiagnosticLog& log);

} // namespace bubblescope
