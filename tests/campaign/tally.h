#pragma once

#include "tests/campaign/campaign.h"

#include <map>
#include <string>
#include <vector>

namespace bubblescope::campaign {

/// Faults that cost a step less need not be told.
inline constexpr double kCostThatCounts = 0.03;

/// True where BUBBLESCOPE_CAMPAIGN=full is set: many runs of each kind.
[[nodiscard]] bool full();

[[nodiscard]] std::vector<ScheduleSpec> schedules();

/// The fault and all that was told.
[[nodiscard]] std::string describe(const Job& job, const RunReport& report);

/// Counts what was found of the faults put in, and whom the findings blame.
class Tally {
public:
    /// Prints a job whose fault was not found, or blamed on somebody else.
    void add(const Job& job, const RunReport& report, const std::string& where);
    void print() const;

    [[nodiscard]] int due() const; ///< faults that cost enough, or whose kind is told whatever it costs
    [[nodiscard]] int told() const;
    [[nodiscard]] int blamedFirst() const; ///< of those told: what costs most is blamed on the right rank and op
    /// How far the findings' costs are off what the steps save when the fault is taken away, as shares of the latter:
    /// the median over all faults of which the finding names a cost.
    [[nodiscard]] double costError() const;

private:
    struct Row {
        int runs = 0;
        int due = 0;
        int told = 0;
        int blamed_first = 0;
        std::vector<double> cost_errors;
    };
    [[nodiscard]] int sum(int Row::*of) const;

    std::map<FaultKind, Row> rows_;
};

} // namespace bubblescope::campaign
