#pragma once

#include "core/live/live_view.h"
#include "core/live/record_stream.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// Checks of aadiff by step, until their steps close. Memory is bounded.
class OpenChecks {
public:
    using Mismatch = std::pair<std::string, std::string>; ///< rank, and the check with its verdict
    struct OfStep {
        CheckCounts counts;
        std::vector<Mismatch> mismatches;
        std::vector<CheckRecord> records;
    };

    /// Counts one check. False if its step has closed, or too many are open.
    bool count(int step, const CheckCounts& seen, int last_closed);
    /// Only after count() returned true for the step.
    void addMismatch(int step, Mismatch mismatch);
    void keep(CheckRecord record, int last_closed);

    /// Removes and returns the checks of a step that closes.
    [[nodiscard]] OfStep take(int step);
    /// Records of steps that had closed before, since the last call: verdicts may arrive late.
    [[nodiscard]] std::vector<CheckRecord> takeLate() { return std::exchange(late_, {}); }

private:
    struct Counted {
        CheckCounts counts;
        std::vector<Mismatch> mismatches;
    };
    std::map<int, Counted> counted_;
    std::map<int, std::vector<CheckRecord>> records_;
    std::size_t kept_ = 0; ///< in records_
    std::vector<CheckRecord> late_;
};

/// One check, as counts.
[[nodiscard]] CheckCounts countsOf(const SeenCheck& check);

} // namespace bubblescope::live
