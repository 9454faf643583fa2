#pragma once

#include "core/base/sentence.h"
#include "core/timeline/check_record.h"
#include "core/timeline/step_timeline.h"

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {

/// The position of a rank in the job.
struct CheckPlace {
    int replica = 0;
    Rank rank; ///< in its pipeline
    int tensor_rank = 0;

    friend constexpr auto operator<=>(const CheckPlace&, const CheckPlace&) = default;
};

template <class Record>
[[nodiscard]] CheckPlace placeOf(const Record& record) {
    return {record.replica, record.rank, record.tensor_rank};
}

/// The hardware of a rank; fields are empty where the trace does not name it.
struct CheckedDevice {
    std::string host;
    std::string device; ///< "GPU-3f…": identifies a GPU across restarts

    /// "device GPU-3f… of host node7".
    [[nodiscard]] Sentence text() const;
    friend bool operator==(const CheckedDevice&, const CheckedDevice&) = default;
};

/// The checks and digests of a run's traces, including those of incomplete steps.
struct CheckLog {
    std::vector<CheckRecord> checks;   ///< by place, step and time
    std::vector<DigestRecord> digests; ///< by place, step and time
    std::map<CheckPlace, CheckedDevice> devices;

    [[nodiscard]] bool empty() const { return checks.empty() && digests.empty(); }
    /// Sorts the records as above.
    void sort();
};

/// When the ranks of a step ran checks, on the step's clock: per rank by start, merged where they overlap.
using StepReplays = std::vector<std::vector<std::pair<TimeNs, TimeNs>>>;

/// One entry per step, for the first rank of each tensor-parallel group, as in StepTimeline; empty if no check took any
/// time.
[[nodiscard]] std::vector<StepReplays> replaysOf(const CheckLog& log, std::span<const StepTimeline> steps);

} // namespace bubblescope
