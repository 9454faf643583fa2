#pragma once

#include "core/base/job.h"
#include "core/recognise/rule_table.h"
#include "core/trace/trace.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A user's label for one slice, such as "this is the forward of micro-batch 3".
struct OpExample {
    std::string name; ///< name of the slice
    OpKind kind = OpKind::Forward;
    std::int64_t microbatch = 0;       ///< ignored for optimizers
    std::optional<std::int64_t> chunk; ///< if given
    std::optional<std::int64_t> stage; ///< if given
    /// Name of the slice's arg with this value.
    std::function<std::optional<std::string>(std::int64_t value)> arg_with;
};

/// The notation for an op in traces: a pattern for its name, and the args that contain the remaining fields.
struct TaughtOp {
    std::string pattern;
    OpKind kind = OpKind::Forward;
    std::array<std::string, kRuleFieldNames.size()> args{}; ///< names of args; empty if the name contains the field

    friend bool operator==(const TaughtOp&, const TaughtOp&) = default;
};

/// Generalises an example. The first number in the name that equals the micro-batch is replaced by {microbatch};
/// likewise for chunk and stage. Other numbers become *. Fields that are not in the name are searched for in the args.
/// Errors: Usage if neither name nor args contain the micro-batch (or the chunk or stage, if specified).
[[nodiscard]] Result<TaughtOp> opByExample(const OpExample& example);

/// A rule created from labelled ops.
struct TaughtRule {
    std::string name;
    std::vector<TaughtOp> ops;
    RankSource rank = RankSource::File;
    bool one_stage_per_rank = false;
};

/// The JSON document that readRules() and `--rules` accept.
[[nodiscard]] std::string rulesDocument(const TaughtRule& rule);

/// The slices of a trace that match the pattern of a labelled op.
struct TaughtMatches {
    std::vector<SliceId> slices; ///< ascending
    std::int64_t first_microbatch = 0;
    std::int64_t last_microbatch = 0;
    std::size_t tracks = 0; ///< number of tracks with such slices
};
/// Matches each distinct name once, and reads the args only of slices with matching names. Errors: Input if the pattern
/// is invalid; Cancelled.
[[nodiscard]] Result<TaughtMatches> matchesOf(const TaughtOp& op, const Trace& trace, const JobControl& control);

/// The most likely source of each slice's rank: the file if several files have matches, otherwise the process if
/// several processes do, otherwise the thread.
[[nodiscard]] RankSource likelyRankSource(const std::vector<TaughtMatches>& matches, const Trace& trace);

} // namespace bubblescope
