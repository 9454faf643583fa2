#pragma once

#include "core/analysis/anomalies/anomaly.h"
#include "core/base/ids.h"
#include "core/base/sentence.h"
#include "core/base/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// What a statement is about, in the order in which a reader needs it.
enum class Concern : std::uint8_t {
    Data,        ///< whether the result can be trusted: records that are missing, damaged, of two runs
    Computation, ///< whether the devices computed the right thing: mismatches of checks, losses that are not numbers
    Time,        ///< what makes steps longer
    Fine,        ///< what was looked at and is in order
};
[[nodiscard]] std::string_view concernName(Concern concern); ///< "data", "computation", "time", "fine"

/// Where something is wrong, as far as it is known.
struct Place {
    std::optional<std::int64_t> global_rank; ///< of the job
    std::optional<Rank> rank;                ///< of the pipeline; of a link the sender
    std::optional<Rank> peer;                ///< of a link the receiver
    std::optional<int> replica;
    std::optional<Stage> stage;
    std::string host;
    std::string device; ///< a GPU's UUID
};

/// One thing that a reader should know.
struct Statement {
    Concern concern = Concern::Fine;
    Severity severity = Severity::Notice;
    std::string kind; ///< of a finding or a problem, or the name of a cause; "fine"
    Place where;
    std::optional<int> since;           ///< StepTimeline::index of the first step concerned
    Sentence what;                      ///< one sentence or two
    Sentence action;                    ///< may be empty
    Sentence certainty;                 ///< how sure it is; may be empty
    TimeNs cost{0};                     ///< what it costs a typical step; 0 if unknown
    std::optional<TimeNs> gain;         ///< what a typical step wins by the action, if that can be predicted
    std::string change;                 ///< that predicts the gain, in the syntax of parseScenario(); may be empty
    std::optional<std::size_t> finding; ///< place in RunReport::anomalies, if it is one of them

    /// What is to be won as far as it is known.
    [[nodiscard]] TimeNs worth() const { return gain.value_or(cost); }
};

/// Whether it casts doubt on the result: it is about data or computation, and more than a notice.
[[nodiscard]] bool isDoubt(const Statement& statement);

/// What a good colleague would say about a trace: a sentence on its state, then statements, the most important first. A
/// notice on data or computation comes last. Nothing is called fine while something is wrong with the
/// data or the computation.
struct Answer {
    Sentence state; ///< how long a step takes and how much of it is idle, or what devices did
    std::vector<Statement> statements;
    TimeNs step_time{0}; ///< typical; 0 without a pipeline

    [[nodiscard]] const Statement& first() const { return statements.front(); } ///< there must be one
    /// Whether a statement casts doubt on the result.
    [[nodiscard]] bool isInDoubt() const;
};

/// Puts the statements in their order. Adds that nothing costs time if none does; `nothing` says so.
void settle(Answer& answer, Statement nothing);

} // namespace bubblescope
