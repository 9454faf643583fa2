#pragma once

#include "core/base/result.h"
#include "core/recognise/name_pattern.h"
#include "core/schedule/op.h"
#include "core/timeline/step_timeline.h"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Where a rank's number comes from when neither name, arg nor thread tell it.
enum class RankSource : std::uint8_t {
    File,      ///< the rank of the file, or its place among the files
    Process,   ///< the process's number
    Processes, ///< its place among the processes that have ops; the file's rank where it has one
    Thread,    ///< the thread's number, counted from 1
    Names,     ///< nowhere: threads that do not tell it are passed over
};

/// One way in which traces spell pipeline ops: a row of the table of rules, which users extend with files of the same
/// form (resources/manual/recognition.md).
struct RecognitionRule {
    struct OpSpelling {
        NamePattern name;
        std::vector<OpKind> kinds; ///< one; two for an overlapped pair; none where {kind} or an arg tells it
    };
    struct TransferSpelling {
        NamePattern name;
        CommKind kind = CommKind::Send;
        Payload payload = Payload::Activation;
    };

    std::string name;                    ///< shown as the way the ops were recognised
    std::string format;                  ///< what it makes of the file's format; empty = nothing
    std::vector<std::string> categories; ///< of the slices; empty = any
    std::vector<OpSpelling> ops;
    std::vector<TransferSpelling> transfers;
    std::map<std::string, OpKind, std::less<>> kinds;     ///< what words for {kind}, or of the arg for it, mean
    std::array<std::string, kRuleFieldNames.size()> args; ///< names of args that tell a field
    std::array<std::string, kRuleFieldNames.size()> transfer_args; ///< those of transfers that differ
    std::optional<NamePattern> thread;                             ///< what names of threads tell
    std::optional<NamePattern> process;                            ///< and those of processes
    RankSource rank = RankSource::File;
    bool one_stage_a_rank = false;          ///< else chunks are told, or stages
    bool backward_splits = false;           ///< where weight gradients have ops of their own, a backward is the input's
    [[nodiscard]] bool tellsStages() const; ///< true if ops say their stage, not their chunk
};

/// Rules from a JSON document; `file` names it in errors. Error: Input, naming file, place and what is wrong there.
[[nodiscard]] Result<std::vector<RecognitionRule>> rulesFrom(std::string_view text, const std::string& file);

/// Rules from a JSON file. Errors as above, or the file cannot be read.
[[nodiscard]] Result<std::vector<RecognitionRule>> readRules(const std::string& file);

/// The rules of the table that comes with the program, in the order in which they are tried.
[[nodiscard]] std::span<const RecognitionRule> builtinRules();

} // namespace bubblescope
