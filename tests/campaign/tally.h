#pragma once

#include "tests/campaign/campaign.h"

#include <map>
#include <string>
#include <vector>

namespace bubblescope::campaign {

/// Faults that cost less of a step may remain undetected.
inline constexpr double kCostThatCounts = 0.03;

/// True if BUBBLESCOPE_CAMPAIGN=full is set, which selects many runs of each kind.
[[nodiscard]] bool full();

[[nodiscard]] std::vector<ScheduleSpec> schedules();

/// The fault and all findings.
[[nodiscard]] std::string describe(const Job& job, const RunReport& report);

/// Counts the planted faults that were found, and the ranks that the findings name.
class Tally {
public:
    /// Prints a job whose fault was not found or was attributed to a different rank.
    void add(const Job& job, const RunReport& report, const std::string& where);
    void print() const;

    [[nodiscard]] int due() const; ///< number of faults that cost enough, or whose kind is reported at any cost
    [[nodiscard]] int told() const;
    [[nodiscard]] int
    blamedFirst() const; ///< number of found faults for which the most expensive finding names the right rank and op
    /// Error of the findings' costs, relative to the time that the steps save without the fault: the median over all
    /// faults whose finding has a cost.
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
