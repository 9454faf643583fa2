#pragma once

#include "core/base/job.h"
#include "core/recognise/rule_table.h"
#include "core/trace/trace.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A user's statement about one slice: "this is the forward of micro-batch 3".
struct OpExample {
    std::string name; ///< name of the slice
    OpKind kind = OpKind::Forward;
    std::int64_t microbatch = 0;       ///< ignored for optimizers
    std::optional<std::int64_t> chunk; ///< if given
    std::optional<std::int64_t> stage; ///< if given
    std::function<std::optional<std::string>(std::int64_t value)>
        arg_with; ///< the arg of the slice that has this value
};

/// The spelling of an op's name: a pattern, and the args that contain what the name does not.
struct TaughtOp {
    std::string pattern;
    OpKind kind = OpKind::Forward;
    std::array<std::string, kRuleFieldNames.size()> args{}; ///< names of args; empty if the name contains the field

    friend bool operator==(const TaughtOp&, const TaughtOp&) = default;
};

/// Generalises an example: the first number in the name that equals the micro-batch becomes {microbatch}, likewise
/// chunk and stage; any other number becomes *. A field that is not in the name is searched for in the args. Errors:
/// Usage if neither contains the micro-batch (or the chunk or stage that was given).
[[nodiscard]] Result<TaughtOp> opByExample(const OpExample& example);

/// A rule made from taught ops.
struct TaughtRule {
    std::string name;
    std::vector<TaughtOp> ops;
    RankSource rank = RankSource::File;
    bool one_stage_per_rank = false;
};

/// The document that readRules() and `--rules` read.
[[nodiscard]] std::string rulesDocument(const TaughtRule& rule);

/// The slices of a trace that a taught op matches.
struct TaughtMatches {
    std::vector<SliceId> slices; ///< ascending
    std::int64_t first_microbatch = 0;
    std::int64_t last_microbatch = 0;
    std::size_t tracks = 0; ///< number of tracks that they are on
};
/// Matches each distinct name once; only reads the args of slices whose name matches. Errors: Input for an invalid
/// pattern, Cancelled.
[[nodiscard]] Result<TaughtMatches> matchesOf(const TaughtOp& op, const Trace& trace, const JobControl& control);

/// The most likely source of the ranks of a trace's slices: its files if several have matches, otherwise its processes,
/// otherwise its threads.
[[nodiscard]] RankSource likelyRankSource(const std::vector<TaughtMatches>& matches, const Trace& trace);

} // namespace bubblescope
