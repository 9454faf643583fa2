#pragma once

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/recognise/raw_trace.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// The times of an activity: disjoint intervals, sorted by start.
struct BusySpans {
    std::vector<TimeInterval> busy;
};

/// The part of an interval that the spans cover. Logarithmic in all spans, linear in those inside the interval.
[[nodiscard]] TimeNs timeWithin(const BusySpans& spans, TimeInterval interval);

/// The activities of a host other than launching ops.
enum class HostActivity : std::uint8_t {
    DataLoading,
    Evaluation,
    Checkpoint,
    GarbageCollection,
    Optimizer,
    WaitForCore, ///< ready to run while all cores run other threads; only the total is exact, see
                 ///< kCaptureWaitForCore
};
inline constexpr std::size_t kHostActivityCount = 6;

/// The name in JSON and for display: "data loading".
[[nodiscard]] std::string_view hostActivityName(HostActivity activity);

/// The times of a rank's host activities.
struct HostActivityTimes {
    std::array<BusySpans, kHostActivityCount> times;

    [[nodiscard]] BusySpans& of(HostActivity activity) { return times[static_cast<std::size_t>(activity)]; }
    [[nodiscard]] const BusySpans& of(HostActivity activity) const { return times[static_cast<std::size_t>(activity)]; }
};
/// By replica and rank, on the run's clock.
using ActivityOfRanks = std::map<std::pair<int, Rank>, HostActivityTimes>;

/// The activity named by a slice; none for most slices. Recognises names in PyTorch's profiler (enumerate(DataLoader),
/// Optimizer.step), timers of Megatron-LM (batch-generator), instructions of DeepSpeed (LoadMicroBatch, OptimizerStep),
/// Python's garbage collector, and common names in training loops.
[[nodiscard]] std::optional<HostActivity> activityNamed(std::string_view name);

/// Recognises activities by slice names.
[[nodiscard]] Result<std::vector<HostActivityTimes>> extractHostActivities(RawTrace& raw);
inline constexpr Extractor<HostActivityTimes> kHostActivities{"host activities", extractHostActivities};

// Serialization in extracts; see core/recognise/extract_values.h. Stores the first start, then gaps and lengths, which
// are small numbers.
void fields(WireWriter& wire, const BusySpans& value);
void fields(WireReader& wire, BusySpans& value);
void fields(WireWriter& wire, const HostActivityTimes& value);
void fields(WireReader& wire, HostActivityTimes& value);

} // namespace bubblescope
