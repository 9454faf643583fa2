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
    Data,        ///< reasons to doubt the data: missing or corrupt records, or records from two runs
    Computation, ///< reasons to doubt the devices' computation: check mismatches, NaN losses
    Time,        ///< causes of longer steps
    Fine,        ///< checked and without problems
};
[[nodiscard]] std::string_view concernName(Concern concern); ///< "data", "computation", "time", "fine"

/// Location of a problem, as far as known.
struct Place {
    std::optional<std::int64_t> global_rank; ///< rank in the job
    std::optional<Rank> rank;                ///< rank in the pipeline; for a link, the sender
    std::optional<Rank> peer;                ///< for a link, the receiver
    std::optional<int> replica;
    std::optional<Stage> stage;
    std::string host;
    std::string device; ///< a GPU's UUID
};

/// One fact that a reader should know.
struct Statement {
    Concern concern = Concern::Fine;
    Severity severity = Severity::Notice;
    std::string kind; ///< kind of the finding or problem, or name of a cause; "fine" if there is no problem
    Place where;
    std::optional<int> since;   ///< StepTimeline::index of the first affected step
    Sentence what;              ///< one or two sentences
    Sentence action;            ///< may be empty
    Sentence certainty;         ///< degree of certainty of the statement; may be empty
    TimeNs cost{0};             ///< cost per typical step; 0 if unknown
    std::optional<TimeNs> gain; ///< predicted time that the action saves per typical step; empty if unknown
    std::string change; ///< the change on which the gain is based, in the syntax of parseScenario(); may be empty
    std::optional<std::size_t> finding; ///< index in RunReport::anomalies if the statement is about an anomaly

    /// The gain, or the cost if the gain is unknown.
    [[nodiscard]] TimeNs worth() const { return gain.value_or(cost); }
};

/// True if the statement is more severe than a notice and casts doubt on the data or the computation.
[[nodiscard]] bool isDoubt(const Statement& statement);

/// Summary of a trace: a sentence on its state, then statements, most important first. Notices about data
/// or computation come last. Nothing is reported as fine if there is a problem with the data or the
/// computation.
struct Answer {
    Sentence state; ///< step time and its idle share; device activity if there is no pipeline
    std::vector<Statement> statements;
    TimeNs step_time{0}; ///< typical step time; 0 if there is no pipeline

    [[nodiscard]] const Statement& first() const { return statements.front(); } ///< requires at least one statement
    /// True if a statement casts doubt on the result.
    [[nodiscard]] bool isInDoubt() const;
};

/// Sorts the statements. Adds the statement `nothing` if no other statement has a cost.
void settle(Answer& answer, Statement nothing);

} // namespace bubblescope
