#pragma once

#include "core/base/time.h"
#include "profiler/cupti/activity.h"

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// Records kernels in every N-th step only, because CUPTI costs time for every kernel. All ranks choose the same steps:
/// those whose number is a multiple of N.
///
/// CUPTI is switched by the recording thread, so that the job never waits for it. That thread sees a step's start late,
/// so CUPTI is on from the step before a chosen one. It stays on during the step after, when the device completes the
/// chosen step's kernels. Records of the other steps are dropped. A step counts as recorded only if CUPTI was on all
/// the time. Until the first step begins, everything is recorded. Not thread-safe; times are CLOCK_MONOTONIC.
class KernelSteps {
public:
    /// A chosen step whose calls and kernels were all recorded.
    struct Step {
        std::int64_t number = 0;
        TimeNs start{0};
        TimeNs end{0};
    };

    /// `every` is at least 2; `lag` is the longest time until the recording thread sees a step's start.
    KernelSteps(std::int64_t every, TimeNs lag) : every_(every), lag_(lag) {}

    /// A step begins, or ends without another one if it has no number. If several kinds of ranges and marks name steps,
    /// only the kind seen first counts.
    void border(std::string_view name, std::optional<std::int64_t> number, TimeNs time);
    /// True if CUPTI should record now.
    [[nodiscard]] bool wanted() const;
    /// CUPTI has recorded since this time, or has stopped at this time.
    void setOn(bool on, TimeNs time);
    [[nodiscard]] bool isOn() const { return on_since_.has_value(); }
    /// The process ends, and with it the current step.
    void finish(TimeNs now);

    /// True if the steps have begun in a process whose kernels are recorded.
    [[nodiscard]] bool applies() const { return first_ && started_; }
    /// True if the activity should be written. Call this in order of time, after the borders of the same time.
    [[nodiscard]] bool keeps(const cupti::Activity& activity);
    /// Chosen steps that have ended since the last call.
    [[nodiscard]] std::vector<Step> takeRecorded() { return std::exchange(recorded_, {}); }
    /// A message for the user, at most once; empty if there is none.
    [[nodiscard]] std::string takeNotice(TimeNs now);

private:
    struct Window {
        Step step;
        std::uint32_t next_call = std::numeric_limits<std::uint32_t>::max(); ///< correlation of the first call after it
    };

    [[nodiscard]] std::int64_t lead() const;
    void close(TimeNs time);

    std::int64_t every_;
    TimeNs lag_;
    std::string kind_; ///< what precedes the number in the names of steps
    std::optional<TimeNs> first_;
    TimeNs latest_{TimeNs::min()};       ///< the latest border
    std::optional<std::int64_t> number_; ///< number of the latest step
    TimeNs length_{0};                   ///< of the step before it; 0 = unknown
    bool in_window_ = false;
    std::deque<Window> windows_; ///< the latest chosen steps, for records that arrive late
    std::vector<Step> recorded_;
    std::optional<TimeNs> on_since_;
    std::optional<TimeNs> started_; ///< time of the first setOn()
    bool told_ = false;
};

} // namespace bubblescope::profiler
