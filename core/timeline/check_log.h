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

/// Who computed: a rank's place in the job.
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

/// Which hardware that was, as far as the trace tells; empty where it does not.
struct CheckedDevice {
    std::string host;
    std::string device; ///< "GPU-3f…": what names a GPU across restarts

    /// "device GPU-3f… of host node7".
    [[nodiscard]] Sentence text() const;
    friend bool operator==(const CheckedDevice&, const CheckedDevice&) = default;
};

/// All that a run's traces say of checks and digests, beside its steps. Also of steps that are not complete.
struct CheckLog {
    std::vector<CheckRecord> checks;   ///< by place, step and time
    std::vector<DigestRecord> digests; ///< the same
    std::map<CheckPlace, CheckedDevice> devices;

    [[nodiscard]] bool empty() const { return checks.empty() && digests.empty(); }
    /// Puts records in order.
    void sort();
};

/// When the ranks of a step ran checks, on the step's clock: per rank by start, merged where they overlap.
using StepReplays = std::vector<std::vector<std::pair<TimeNs, TimeNs>>>;

/// One per step, of the first rank of each tensor-parallel group, as steps have it; nothing at all where no check took
/// any time.
[[nodiscard]] std::vector<StepReplays> replaysOf(const CheckLog& log, std::span<const StepTimeline> steps);

} // namespace bubblescope
