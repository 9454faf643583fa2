#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "profiler/capture/rank_identity.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::profiler {

/// Options for recording an unmodified job. The options are passed in environment variables, which reach every process
/// of a job.
struct CaptureOptions {
    enum class Mode : std::uint8_t {
        Full,
        Pipeline, ///< ranges, NCCL, and the first and last kernel of each op
    };

    std::filesystem::path dir; ///< folder for traces; empty = nothing is recorded
    Mode mode = Mode::Full;
    bool nvtx = true;
    bool nccl = true;
    bool cuda = true;
    std::int64_t kernels_every = 1; ///< N to record kernels only in every N-th step
    bool memory = false;            ///< true to record the allocations of device memory; requires `cuda`
    bool python = true;             ///< true to load the framework adapters in Python processes
    bool python_ranges = false;     ///< true to record only what the job itself reports through bubblescope_ranges
    bool checks = false;            ///< true to re-execute parts of the job in bubbles
    double checks_cost = 0.003;     ///< maximum slowdown of a step due to checks, as a fraction of the step's time
    double checks_margin = 0.1; ///< safety margin, as a fraction of a check's cost: overruns within this margin do not
                                ///< delay the step
    std::optional<std::int64_t> checks_memory; ///< maximum memory of a rank's checks in bytes; none = unlimited
    std::int64_t first_step = 0;
    std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
    std::string step_name; ///< prefix of the ranges or marks that begin a step; empty = the known names
    TimeNs delay{0};       ///< time from a process's first record to the first record kept
    TimeNs duration{0};    ///< time recorded, from the first record kept; 0 = unlimited
    std::int64_t size = 0; ///< size limit of a process's trace in bytes, above which its oldest part is removed; 0 =
                           ///< unlimited
    /// Size of the buffer that holds records of all threads until they are written. Pages that are never touched need
    /// no memory.
    std::int64_t buffer = std::int64_t{128} << 20;
    TimeNs flush{std::chrono::milliseconds(50)}; ///< longest time before a record is written
    std::string watcher; ///< socket of the `record` process that saves the records of killed processes; empty = none

    [[nodiscard]] bool hasStepWindow() const {
        return first_step > 0 || last_step != std::numeric_limits<std::int64_t>::max();
    }
};

inline constexpr std::string_view kCaptureDirVariable = "BUBBLESCOPE_CAPTURE_DIR";
inline constexpr std::string_view kCaptureVariable = "BUBBLESCOPE_CAPTURE";
inline constexpr std::string_view kCaptureFileVariable = "BUBBLESCOPE_CAPTURE_FILE";
inline constexpr std::string_view kCaptureWatcherVariable = "BUBBLESCOPE_CAPTURE_WATCHER";

/// Sets the options that `text` names: "mode=pipeline,steps=10-20,size=2GiB". Parts are separated by commas or
/// newlines; a # begins a comment. Keys:
///   mode      full, pipeline
///   record    any of nvtx, nccl, cuda, python, joined by +
///   kernels   every=10: in every 10th step; all
///   memory    device or none
///   python    frameworks, ranges or none
///   checks    bubbles or none; checks-margin and checks-cost in percent, checks-memory in bytes, or with KiB, MiB, GiB
///   steps     10-20, 10- or 10
///   step      prefix of the names of ranges that begin a step
///   delay, duration, flush   times with a unit
///   size      bytes, or with KiB, MiB, GiB
///   buffer bytes for records of all threads waiting to be written
/// Error: Usage, naming the invalid part; `options` then holds the parts before it.
[[nodiscard]] Status parseCaptureOptions(std::string_view text, CaptureOptions& options);

/// Text from which parseCaptureOptions() would produce these options, except the folder; empty for the defaults.
[[nodiscard]] std::string captureOptionsText(const CaptureOptions& options);

/// Reads the options from the environment: first the file named by BUBBLESCOPE_CAPTURE_FILE, then BUBBLESCOPE_CAPTURE.
/// Skips invalid parts and reports them in `problems`, because a running job cannot prompt a user.
[[nodiscard]] CaptureOptions captureOptionsFrom(const ReadVariable& variable, std::vector<std::string>& problems);

/// Selects the part of a process's run to record: between two steps, after a delay, for a duration. A step begins with
/// a range or mark of a known name; its number comes from the name or, if the name has none, from counting. Not
/// thread-safe.
class CaptureWindow {
public:
    explicit CaptureWindow(const CaptureOptions& options);

    /// Call this for every range and mark in time order, before calling contains() for the same time. Returns the
    /// number of the step that begins, if the options depend on steps.
    std::optional<std::int64_t> observe(std::string_view name, TimeNs time);
    [[nodiscard]] bool contains(TimeNs time) const {
        return state_.from && time >= *state_.from && (!state_.until || time < *state_.until);
    }
    /// True if nothing more will be recorded.
    [[nodiscard]] bool isOver(TimeNs now) const { return state_.until && now >= *state_.until; }
    /// True if a range or mark with this name begins a step.
    [[nodiscard]] bool beginsStep(std::string_view name) const { return numbered(name).has_value(); }

    /// State from which another process can continue the window.
    struct State {
        std::int64_t steps = 0; ///< steps seen so far
        std::optional<TimeNs> first;
        std::optional<TimeNs> from;
        std::optional<TimeNs> until;
    };
    [[nodiscard]] const State& state() const { return state_; }
    void setState(const State& state) { state_ = state; }

private:
    /// The number in a step's name, or −1 if the name has none; empty if it is not the name of a step.
    [[nodiscard]] std::optional<std::int64_t> numbered(std::string_view name) const;

    CaptureOptions options_;
    State state_;
};

} // namespace bubblescope::profiler
