#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "profiler/capture/rank_identity.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::profiler {

/// What is recorded of a job that does not know Bubblescope. Options come in the environment, which reaches
/// every process of a job.
struct CaptureOptions {
    enum class Mode : std::uint8_t {
        Full,
        Pipeline, ///< NVTX, NCCL, and of the kernels of an op the first and the last
    };

    std::filesystem::path dir; ///< where traces go; empty: nothing is recorded
    Mode mode = Mode::Full;
    bool nvtx = true;
    bool nccl = true;
    bool cuda = true;
    std::int64_t first_step = 0;
    std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
    std::string step_name; ///< what the names of ranges or marks begin with that begin a step; empty: those known
    TimeNs delay{0};       ///< from a process's first record until the first that is kept
    TimeNs duration{0};    ///< from the first that is kept; 0: without an end
    std::int64_t size = 0; ///< bytes a process may write before its oldest go; 0: without limit
    std::size_t ring_slots = std::size_t{1} << 15; ///< of 64 bytes, for each thread
    TimeNs flush{std::chrono::milliseconds(50)};   ///< what a killed process loses

    [[nodiscard]] bool hasStepWindow() const {
        return first_step > 0 || last_step != std::numeric_limits<std::int64_t>::max();
    }
};

inline constexpr std::string_view kCaptureDirVariable = "BUBBLESCOPE_CAPTURE_DIR";
inline constexpr std::string_view kCaptureVariable = "BUBBLESCOPE_CAPTURE";
inline constexpr std::string_view kCaptureFileVariable = "BUBBLESCOPE_CAPTURE_FILE";

/// Changes what `text` names: "mode=pipeline,steps=10-20,size=2GiB", parts separated by commas or ends of lines; what
/// follows a # in a line is a comment. Keys:
///   mode      full, pipeline
///   record    any of nvtx, nccl, cuda, joined by +
///   steps     10-20, 10- or 10
///   step      what begins the name of a range that begins a step
///   delay, duration, flush   times with a unit
///   size      bytes, or with KiB, MiB, GiB
///   ring      slots of 64 bytes for each thread
/// Error: Usage, naming what is not understood; `options` has what was before it.
[[nodiscard]] Status parseCaptureOptions(std::string_view text, CaptureOptions& options);

/// What parseCaptureOptions() makes these options of, without the folder; empty for the defaults.
[[nodiscard]] std::string captureOptionsText(const CaptureOptions& options);

/// From the environment: the file that BUBBLESCOPE_CAPTURE_FILE names, then BUBBLESCOPE_CAPTURE. What is wrong is left
/// out and reported in `problems`: somebody's job runs, and nobody is there to ask.
[[nodiscard]] CaptureOptions captureOptionsFrom(const ReadVariable& variable, std::vector<std::string>& problems);

} // namespace bubblescope::profiler
