#pragma once

#include "core/base/result.h"
#include "core/recognise/name_pattern.h"
#include "core/schedule/op.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/lanes.h"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The source of a rank's number if no name, arg or thread contains it.
enum class RankSource : std::uint8_t {
    File,      ///< the rank of the file, or its index among the files
    Process,   ///< number of the process
    Processes, ///< rank of the file if recorded, otherwise index among the processes with ops
    Thread,    ///< number of the thread, counted from 1
    Names,     ///< no other source: threads without a recorded rank are skipped
};

/// The role of a range, if an op has several of them; see PartJoiner.
enum class RulePart : std::uint8_t {
    Whole, ///< all of the op
    First, ///< the first of its ranges
    Inner,
    Last,
};

/// One way in which traces name pipeline ops. Each rule is a row in the table of rules, which users extend with files
/// in the same format (resources/manual/recognition.md).
struct RecognitionRule {
    struct OpSpelling {
        NamePattern name;
        std::vector<OpKind> kinds; ///< one, or two for an overlapped pair; none if {kind} or an arg contains them
        RulePart part = RulePart::Whole;
    };
    struct TransferSpelling {
        NamePattern name;
        CommKind kind = CommKind::Send;
        Payload payload = Payload::Activation;
    };

    std::string name;                    ///< displayed as the source of the ops
    std::string format;                  ///< name of the resulting file format; empty = unchanged
    std::vector<std::string> categories; ///< categories of the slices; empty = any
    std::vector<OpSpelling> ops;
    std::vector<TransferSpelling> transfers;
    std::map<std::string, OpKind, std::less<>> kinds;              ///< op kind for each word in {kind} or in its arg
    std::array<std::string, kRuleFieldNames.size()> args;          ///< names of args that contain a field
    std::array<std::string, kRuleFieldNames.size()> transfer_args; ///< args of transfers, if different
    std::optional<NamePattern> thread;                             ///< fields in names of threads
    std::optional<NamePattern> process;                            ///< fields in names of processes
    RankSource rank = RankSource::File;
    bool one_stage_per_rank = false;        ///< false if traces contain chunks or stages
    bool backward_splits = false;           ///< true: if W is separate, an op named backward is an input gradient
    [[nodiscard]] bool namesStages() const; ///< True if op names contain the stage instead of the chunk.
    /// True if op names contain no micro-batch, so it is derived from the op order.
    [[nodiscard]] bool numbersMicrobatches() const;
    [[nodiscard]] bool namesChunks() const; ///< True if names or args contain the chunk.
};

/// A file of rules.
struct RulesFile {
    std::vector<RecognitionRule> ops; ///< naming of ops
    std::vector<LaneRule> lanes;      ///< the kinds of tracks and kernels
};

/// Parses rules from a JSON document; `file` is its name in messages. Error: Input, with file, position and problem.
[[nodiscard]] Result<RulesFile> rulesFrom(std::string_view text, const std::string& file);

/// Reads rules from a JSON file. Errors: as for rulesFrom(); also if the file cannot be read.
[[nodiscard]] Result<RulesFile> readRules(const std::string& file);

/// A key that differs between rules with different matches.
[[nodiscard]] std::string keyOf(const RecognitionRule& rule);

/// The built-in rules, in the order in which they are tried.
[[nodiscard]] std::span<const RecognitionRule> builtinRules();

} // namespace bubblescope
