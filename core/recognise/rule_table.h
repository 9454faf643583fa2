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

/// The source of a rank's number if neither name, arg nor thread contains it.
enum class RankSource : std::uint8_t {
    File,      ///< the rank of the file, or its index among the files
    Process,   ///< the process's number
    Processes, ///< its index among the processes that have ops; the file's rank if it has one
    Thread,    ///< the thread's number, counted from 1
    Names,     ///< none: threads without a recorded rank are skipped
};

/// One way in which traces spell pipeline ops: a row of the table of rules, which users extend with files of the same
/// format (resources/manual/recognition.md).
struct RecognitionRule {
    struct OpSpelling {
        NamePattern name;
        std::vector<OpKind> kinds; ///< one; two for an overlapped pair; none if {kind} or an arg gives it
    };
    struct TransferSpelling {
        NamePattern name;
        CommKind kind = CommKind::Send;
        Payload payload = Payload::Activation;
    };

    std::string name;                    ///< shown as the way in which the ops were recognised
    std::string format;                  ///< the resulting name of the file's format; empty = unchanged
    std::vector<std::string> categories; ///< categories of the slices; empty = any
    std::vector<OpSpelling> ops;
    std::vector<TransferSpelling> transfers;
    std::map<std::string, OpKind, std::less<>> kinds;              ///< the meaning of words for {kind}, or for its arg
    std::array<std::string, kRuleFieldNames.size()> args;          ///< names of args that contain a field
    std::array<std::string, kRuleFieldNames.size()> transfer_args; ///< args of transfers, if different
    std::optional<NamePattern> thread;                             ///< fields in names of threads
    std::optional<NamePattern> process;                            ///< fields in names of processes
    RankSource rank = RankSource::File;
    bool one_stage_per_rank = false;        ///< otherwise chunks are given, or stages
    bool backward_splits = false;           ///< if weight gradients are separate ops, a backward is the input gradient
    [[nodiscard]] bool namesStages() const; ///< True if ops name their stage, not their chunk.
    /// True if ops do not name their micro-batch, which is then derived from their order.
    [[nodiscard]] bool numbersMicrobatches() const;
};

/// A file of rules.
struct RulesFile {
    std::vector<RecognitionRule> ops; ///< how ops are named
    std::vector<LaneRule> lanes;      ///< the kinds of tracks and kernels
};

/// Parses rules from a JSON document; `file` names it in errors. Error: Input, naming file, place and problem.
[[nodiscard]] Result<RulesFile> rulesFrom(std::string_view text, const std::string& file);

/// Reads rules from a JSON file. Errors: as rulesFrom(), or the file cannot be read.
[[nodiscard]] Result<RulesFile> readRules(const std::string& file);

/// Different for rules with different matches.
[[nodiscard]] std::string keyOf(const RecognitionRule& rule);

/// The built-in rules, in the order in which they are tried.
[[nodiscard]] std::span<const RecognitionRule> builtinRules();

} // namespace bubblescope
