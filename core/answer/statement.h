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

/// The subject of a statement, in the order in which readers need it.
enum class Concern : std::uint8_t {
    Data,        ///< reasons not to trust the result: records that are missing, damaged or from two runs
    Computation, ///< reasons not to trust the devices' computation: mismatches of checks, losses that are NaN
    Time,        ///< causes of longer steps
    Fine,        ///< checked and found in order
};
[[nodiscard]] std::string_view concernName(Concern concern); ///< "data", "computation", "time", "fine"

/// The place of a problem, as far as known.
struct Place {
    std::optional<std::int64_t> global_rank; ///< rank in the job
    std::optional<Rank> rank;                ///< rank in the pipeline; for a link, the sender
    std::optional<Rank> peer;                ///< for a link, the receiver
    std::optional<int> replica;
    std::optional<Stage> stage;
    std::string host;
    std::string device; ///< a GPU's UUID
};

/// One thing that a reader should know.
struct Statement {
    Concern concern = Concern::Fine;
    Severity severity = Severity::Notice;
    std::string kind; ///< kind of the finding or problem, or the name of a cause; "fine"
    Place where;
    std::optional<int> since;   ///< StepTimeline::index of the first step concerned
    Sentence what;              ///< one or two sentences
    Sentence action;            ///< may be empty
    Sentence certainty;         ///< how certain the statement is; may be empty
    TimeNs cost{0};             ///< cost per typical step; 0 if unknown
    std::optional<TimeNs> gain; ///< time by which the action shortens a typical step, if that can be predicted
    std::string change; ///< the change that the gain is predicted for, in the syntax of parseScenario(); may be empty
    std::optional<std::size_t> finding; ///< index in RunReport::anomalies, if it is one of them

    /// The gain, or the cost if the gain is unknown.
    [[nodiscard]] TimeNs worth() const { return gain.value_or(cost); }
};

/// True if the statement casts doubt on the result: it is about data or computation and more severe than a notice.
[[nodiscard]] bool isDoubt(const Statement& statement);

/// The text that a good colleague would write about a trace: a sentence on its state, then statements, the most
/// important first.
/// Notices about data or computation come last. Nothing is called fine if the data or the computation has a problem.
struct Answer {
    Sentence state; ///< the step time and how much of it is idle; without a pipeline, what the devices did
    std::vector<Statement> statements;
    TimeNs step_time{0}; ///< typical; 0 without a pipeline

    [[nodiscard]] const Statement& first() const { return statements.front(); } ///< there must be at least one
    /// True if a statement casts doubt on the result.
    [[nodiscard]] bool isInDoubt() const;
};

/// Sorts the statements. If no statement costs time, adds `nothing`, which reports that.
void settle(Answer& answer, Statement nothing);

} // namespace bubblescope
